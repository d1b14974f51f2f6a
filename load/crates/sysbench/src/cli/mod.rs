//! `contend-load sysbench …`: the command line of sysbench over the script host.
//!
//! Also what runs when the program is called through a link named `sysbench`. Streams and exit
//! codes are sysbench's: messages and figures on standard output, wrong arguments on standard
//! error; 0 done, 1 failed, 2 ended by force.

mod arguments;
mod command;
mod events;
mod help;
mod hints;
mod hook_thread;
pub mod planned;
mod report;
mod report_sums;
mod script;
mod servers;
mod settings;
mod table;
mod watch;

use crate::host::{BlockingIo, Servers};
use crate::lua::chunks::Chunks;
use crate::lua::figures::ScriptFigures;
use crate::lua::loaded::Loaded;
use crate::lua::log::{Level, Log, write_stdout};
use crate::lua::native_stack::{LastWords, STACK_OVERFLOW};
use crate::lua::options::{
    BadValue, Declared, OptionType, OptionValue, ScriptOptions, normal_name, parse,
};
use crate::lua::run::{Compat, Late, Run, Stop};
use crate::lua::states::States;
use crate::lua::{ScriptError, State};
use arguments::{CommandLine, Given, Refused};
use contend_console::output::{end_with_the_pipe, remark};
use contend_console::secrets;
use contend_engine::arrival::{Dispenser, Schedule};
use script::Found;
use settings::Settings;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

pub const EXIT_DONE: u8 = 0;
pub const EXIT_FAILED: u8 = 1;
pub const EXIT_FORCED: u8 = 2;
const READ_OPTIONS: &str = "sysbench.cmdline.read_cmdline_options";

/// Why a command line failed, and where that is reported.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Words for standard error: the command line is wrong.
    Usage(String),
    /// A fatal message.
    Fatal(String),
    /// It was reported already.
    Reported,
    /// One of these, and what helps.
    Hinted(Box<Halt>, String),
}

impl Halt {
    fn with_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => Self::Hinted(Box::new(self), hint),
            None => self,
        }
    }

    /// Prints it, without the passwords of the command line.
    fn print(&self, log: &Log, arguments: &[String]) {
        match self {
            Self::Usage(words) => remark(&arguments::hidden(words, arguments)),
            Self::Fatal(words) => log.fatal(&arguments::hidden(words, arguments)),
            Self::Reported => {}
            Self::Hinted(halt, hint) => {
                halt.print(log, arguments);
                remark(&format!("hint: {}", arguments::hidden(hint, arguments)));
            }
        }
    }
}

/// Runs a command line, without the name of the program.
pub fn main(arguments: &[String]) -> ExitCode {
    secrets::hide(arguments, arguments::secret_in);
    end_with_the_pipe();
    ExitCode::from(run(arguments))
}

fn run(arguments: &[String]) -> u8 {
    let log = Arc::new(Log::new(verbosity(arguments)));
    serve(arguments, &log).unwrap_or_else(|halt| {
        halt.print(&log, arguments);
        EXIT_FAILED
    })
}

/// Messages may be due before the options are known to be right.
fn verbosity(arguments: &[String]) -> u8 {
    let Ok(line) = CommandLine::parse(arguments) else {
        return Level::Notice as u8;
    };
    if line.is_on("debug") {
        return Level::Debug as u8;
    }
    let given = line
        .last("verbosity")
        .and_then(|given| given.value.as_deref()?.parse().ok());
    given.unwrap_or(Level::Notice as u8)
}

fn serve(arguments: &[String], log: &Arc<Log>) -> Result<u8, Halt> {
    let hint = || hints::of_words(arguments);
    let wrong = |words| Halt::Usage(words).with_hint(hint());
    let mut line = CommandLine::parse(arguments).map_err(wrong)?;
    let compat = line.compat().map_err(Halt::Usage)?;
    if line.is_on("help") {
        write_stdout(&help::usage(compat));
        return Ok(EXIT_DONE);
    }
    if line.is_on("version") {
        write_stdout(&format!("sysbench {}\n", compat.version()));
        return Ok(EXIT_DONE);
    }
    line.add_config_file().map_err(Halt::Usage)?;
    let (mut known, unknown) = match arguments::read_known(&line, compat) {
        Ok(read) => read,
        Err(Refused::Number(words)) => return Err(Halt::Usage(words)),
        Err(Refused::Option(words)) => {
            print_header(log, compat);
            return Err(Halt::Usage(words));
        }
    };
    let unknown = take_test_option(&mut line, unknown);
    for warning in settings::take_deprecated(&mut line, &mut known) {
        log.say(Level::Warning, &warning);
    }
    let level = known.int("verbosity");
    if !settings::is_verbosity(level) {
        write_stdout(&format!("Invalid value for verbosity: {level}\n"));
        return Err(Halt::Reported);
    }
    if settings::is_endless(&known) {
        let words = "Both event and time limits are disabled, running an endless test";
        log.say(Level::Warning, words);
    }
    let draws = settings::draws(&known, compat).map_err(Halt::Fatal)?;
    let settings = Settings::new(&known, compat).map_err(Halt::Fatal)?;
    let database = servers::database(&known).map_err(Halt::Fatal)?;
    print_header(log, compat);

    let script = match script::find(line.test.as_deref()) {
        Found::Script(script) => script,
        Found::BuiltIn(name) => {
            return Err(Halt::Usage(format!(
                "The built-in test '{name}' is not provided, because it measures no database. Use \
                 sysbench itself for it."
            )));
        }
        Found::Missing(words) => {
            let of_test = line.test.as_deref().and_then(hints::of_test);
            return Err(Halt::Fatal(words).with_hint(hint().or(of_test)));
        }
    };
    arm_last_words(script.short_name());
    let servers = servers::servers(&known, &database, compat);
    let run = Arc::new(Run {
        compat,
        known,
        late: OnceLock::new(),
        arguments: std::iter::once("sysbench".to_owned())
            .chain(arguments.iter().cloned())
            .collect(),
        command: line.command.clone(),
        script,
        loaded: Loaded::default(),
        dispenser: Arc::new(dispenser(&settings, draws.seed)),
        draws,
        database,
        log: Arc::clone(log),
        chunks: Chunks::default(),
        figures: ScriptFigures::new(settings.threads as usize),
        errors: Mutex::default(),
        stop: Stop::default(),
        may_block: Mutex::default(),
        states: States::default(),
    });
    command::serve(&run, &settings, servers, &unknown)
}

/// From now on, if a script brings the process down, a message is printed.
fn arm_last_words(script: &str) {
    let line = |words: &str| vec![(1, format!("FATAL: {script}: {words}\n").into_bytes())];
    LastWords {
        overflow: line(STACK_OVERFLOW),
        bad_address: line("it used an invalid address, through the FFI or a C module"),
    }
    .arm();
}

/// The dispenser for `--rate` and `--events`.
fn dispenser(settings: &Settings, seed: u64) -> Dispenser {
    let schedule = (settings.rate > 0).then(|| Schedule::of_rate(settings.rate, seed));
    Dispenser::new(schedule, (settings.events > 0).then_some(settings.events))
}

/// `--test=NAME` is how a script was named in earlier days.
fn take_test_option(line: &mut CommandLine, mut unknown: Vec<Given>) -> Vec<Given> {
    let Some(place) = unknown.iter().position(|given| given.name == "test") else {
        return unknown;
    };
    remark(
        "WARNING: the --test option is deprecated. You can pass a script name or path on the \
         command line without any options.",
    );
    let given = unknown.remove(place);
    // With `--test NAME` the name is the first word already.
    if let Some(name) = given.value {
        // The word after it is then the command.
        if line.command.is_none() {
            line.command = line.test.take();
        }
        line.test = Some(name);
    }
    unknown
}

/// Existing parsers expect no comma here.
fn print_header(log: &Log, compat: Compat) {
    log.notice(&format!(
        "sysbench {} (contend-load {} using bundled LuaJIT {})\n",
        compat.version(),
        env!("CARGO_PKG_VERSION"),
        crate::lua::luajit_version()
    ));
}

/// Gives unknown options to the script: by what it declares, or as text.
pub(crate) fn settle_options(
    run: &Run,
    state: &State,
    unknown: &[Given],
) -> Result<Option<Vec<Declared>>, Halt> {
    let declared = state.declared_options();
    let declared = declared.map_err(|error| fatal(run, READ_OPTIONS, &error))?;
    let mut options = run.known.clone();
    match &declared {
        Some(declared) => read_declared(state, declared, run, unknown, &mut options)?,
        None if run.compat == Compat::V1_0 => {
            for given in unknown {
                let text = given.value.clone().unwrap_or_default();
                options.set(&given.name, OptionValue::Str(text));
            }
        }
        None => {
            if let Some(given) = unknown.first() {
                return Err(Halt::Usage(arguments::invalid_option(given, run.compat)));
            }
        }
    }
    let late = Late {
        options,
        options_help: declared
            .as_deref()
            .map(help::script_options)
            .unwrap_or_default(),
        exports_options: declared.is_none() && run.compat == Compat::V1_0,
    };
    // It is set once, here.
    let _ = run.late.set(late);
    Ok(declared)
}

fn read_declared(
    state: &State,
    declared: &[Declared],
    run: &Run,
    unknown: &[Given],
    options: &mut ScriptOptions,
) -> Result<(), Halt> {
    for option in declared {
        // Without a default it is as if it was given without a value: a switch is on.
        let Ok(value) = parse(option.kind, option.default.as_deref()) else {
            let name = &option.name;
            let words = format!("option '{name}': its default is not a value of its type");
            return Err(Halt::Fatal(words));
        };
        // A file that was not named is not a value.
        if option.default.is_some() || option.kind != OptionType::File {
            options.set(&option.name, value);
        }
    }
    for given in unknown {
        let mut known = declared.iter();
        let Some(option) = known.find(|option| normal_name(&option.name) == given.name) else {
            return Err(Halt::Usage(arguments::invalid_option(given, run.compat)));
        };
        match parse(option.kind, given.value.as_deref()) {
            Ok(value) => options.set(&option.name, value),
            Err(BadValue::Number) => return Err(Halt::Usage(arguments::bad_number(given))),
            Err(BadValue::Bool) => {
                return Err(Halt::Usage(arguments::invalid_option(given, run.compat)));
            }
        }
        let text = given.value.as_deref().unwrap_or("");
        let accepts = state.accepts(&option.name, text);
        if !accepts.map_err(|error| fatal(run, READ_OPTIONS, &error))? {
            return Err(Halt::Usage(arguments::bad_number(given)));
        }
    }
    Ok(())
}

/// A state in addition to those of the events, with the interface in it; it waits by blocking.
fn state(run: &Arc<Run>, number: u32, servers: &Servers) -> Result<State, ScriptError> {
    let io = BlockingIo::new(Arc::clone(run), Arc::new(servers.clone()));
    State::new(Arc::clone(run), number, Box::new(io))
}

/// Reports that a function of the script failed.
pub(crate) fn fatal(run: &Run, function: &str, error: &ScriptError) -> Halt {
    crate::lua::thread::say_failed(run, function, error);
    Halt::Reported
}
