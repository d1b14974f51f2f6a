//! A sysbench script as the workload of a plan. The plan is turned into the options of a sysbench
//! command line; from there on both are handled in the same way.

use super::arguments::{CommandLine, Given, read_known};
use super::settings::OsThreads;
use super::table::{InPlan, Known};
use super::{servers, settle_options};
use crate::cli::settings;
use crate::cli::table;
use crate::host::{Hosted, Servers};
use crate::lua::chunks;
use crate::lua::chunks::Chunks;
use crate::lua::figures::ScriptFigures;
use crate::lua::loaded::{Loaded, Search};
use crate::lua::log::{Level, Log};
use crate::lua::native_stack::{LastWords, STACK_OVERFLOW};
use crate::lua::options::{BadValue, Declared, OptionType, normal_name, parse};
use crate::lua::run::{Compat, LoadedScript, Run, Stop};
use crate::lua::states::States;
use crate::lua::{State, thread};
use contend_client::target::target_of;
use contend_console::output::{descriptor, in_words};
use contend_console::suggestions::nearest_of;
use contend_engine::arrival::Share;
use contend_engine::of_plan::dispenser_of;
use contend_figures::outcome::{Failure, Outcome};
use contend_plan::{Plan, Protocol, Script as Spec, ScriptValue};
use std::fmt::Display;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// An error of a plan's script.
pub fn in_script(error: impl Display) -> String {
    format!("workload.script: {error}")
}

/// A script that was read and given its options. No server has been contacted yet.
pub struct Planned {
    pub run: Arc<Run>,
    /// The Lua state for the functions that are called once: init, done, prepare.
    pub main: State,
    pub servers: Servers,
    pub os_threads: OsThreads,
    pub declared: Option<Vec<Declared>>,
}

/// Reads the script of a plan, runs its body, and gives it its options. The paths in the plan must
/// be absolute. The folder of a script that is not bundled becomes the current one, so that the
/// script finds its modules and data there.
///
/// # Errors
/// The error, as text that names the path in the plan.
pub fn read(plan: &Plan, spec: &Spec, command: &str) -> Result<Planned, String> {
    let script = find(&spec.script)?;
    let unsaid = |error: std::io::Error| error.to_string();
    arm_last_words(&spec.script, false).map_err(unsaid)?;
    if !script.bundled {
        go_beside(&spec.script)?;
    }
    let search = match script.bundled {
        true => Search::Bundled,
        false => Search::Usual,
    };
    let given = given_options(spec)?;
    let mut line = CommandLine {
        // The options given for the script come after these, and win.
        given: words_of(plan),
        test: script.name.clone(),
        command: Some(command.to_owned()),
    };
    line.given.extend(given.iter().cloned());
    let compat = line
        .compat()
        .map_err(|words| format!("workload.options.compat: {words}"))?;
    check_known(&given, compat)?;
    let (known, mut unknown) =
        read_known(&line, compat).map_err(|refused| format!("workload.options: {refused:?}"))?;
    let wrong = |words: String| format!("workload.options: {}", words.trim());
    let mut draws = settings::draws(&known, compat).map_err(wrong)?;
    // Unlike on a command line, 0 is a seed as any other.
    draws.seed = plan.seed;
    let mut database = servers::database(&known).map_err(wrong)?;
    let servers = servers_of(plan)?;
    database.password.clone_from(&servers.credentials.password);
    let os_threads = settings::os_threads(&known).map_err(wrong)?;
    let run = Arc::new(Run {
        compat,
        known,
        late: OnceLock::new(),
        arguments: std::iter::once("sysbench".to_owned())
            .chain(line.given.iter().map(|given| given.text.clone()))
            .chain([spec.script.clone(), command.to_owned()])
            .collect(),
        command: line.command.clone(),
        script,
        loaded: Loaded::new(search),
        dispenser: Arc::new(dispenser_of(plan, Share::WHOLE)),
        draws,
        database,
        // Fatal messages become the failure of the run. Messages below a warning are not wanted.
        log: Arc::new(Log::new(Level::Warning as u8)),
        chunks: Chunks::default(),
        figures: ScriptFigures::new(plan.load.connections as usize),
        errors: Mutex::default(),
        stop: Stop::default(),
        may_block: Mutex::default(),
        states: States::default(),
    });
    let main = super::state(&run, 0, &servers).map_err(|error| error.0)?;
    main.run_script().map_err(in_script)?;
    run.loaded.end_body();
    let declared = main.declared_options().map_err(in_script)?;
    if let Some(declared) = &declared {
        unknown.extend(supplied(spec, declared, &unknown));
        check_declared(&main, spec, declared, &unknown, compat)?;
    } else if compat == Compat::V1_1
        && let Some(given) = unknown.first()
    {
        return Err(unknown_option(spec, &given.name, &[], compat));
    }
    settle_options(&run, &main, &unknown).map_err(|halt| {
        let said = run.log.fatal_messages().join("; ");
        match halt {
            super::Halt::Usage(words) | super::Halt::Fatal(words) => {
                format!("workload.options: {words}")
            }
            super::Halt::Reported | super::Halt::Hinted(..) => format!("workload.script: {said}"),
        }
    })?;
    thread::show_options(&main, &run).map_err(in_script)?;
    if command == "run" && !main.has_function("event").map_err(in_script)? {
        return Err(format!(
            "workload.script: {} has no function event()",
            spec.script
        ));
    }
    Ok(Planned {
        run,
        main,
        servers,
        os_threads,
        declared,
    })
}

/// The options of sysbench that a plan may give among the script's own, by their normal names.
pub fn open_options(compat: Compat) -> impl Iterator<Item = (String, &'static Known)> {
    let open = table::all(compat).filter(|known| known.in_plan == InPlan::Open);
    open.map(|known| (normal_name(known.name), known))
}

/// The script that a name or a path stands for.
fn find(name: &str) -> Result<LoadedScript, String> {
    let script = |chunk_name, source, bundled| LoadedScript {
        name: Some(name.to_owned()),
        chunk_name,
        source,
        bundled,
    };
    if !is_path(name) {
        let source = chunks::bundled(name).ok_or_else(|| {
            let hint = match nearest_of(name, chunks::bundled_names()) {
                Some(nearest) => format!("did you mean \"{nearest}\"?"),
                None => format!(
                    "the bundled scripts are {}",
                    chunks::bundled_names().collect::<Vec<_>>().join(", ")
                ),
            };
            format!(
                "workload.script: no bundled script is named \"{name}\"; {hint} Name your own \
                 file by a path with a slash, or ending in .lua"
            )
        })?;
        return Ok(script(
            format!("={name}.lua"),
            source.as_bytes().to_vec(),
            true,
        ));
    }
    let path = Path::new(name);
    let source = std::fs::read(path)
        .map_err(|error| format!("workload.script: cannot read {name}: {error}"))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(script(format!("@{file}"), source, false))
}

/// Makes the folder of a script the current one.
fn go_beside(script: &str) -> Result<(), String> {
    match Path::new(script).parent().filter(|folder| folder.is_dir()) {
        Some(folder) => std::env::set_current_dir(folder)
            .map_err(|error| format!("workload.script: {}: {error}", folder.display())),
        None => Ok(()),
    }
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".lua")
}

/// The plan's server, load and error rules, as options of sysbench.
fn words_of(plan: &Plan) -> Vec<Given> {
    let mut words = vec![
        word("threads", plan.load.connections),
        word("time", plan.load.measure_s.ceil().clamp(1.0, 2e9)),
        word("mysql_user", &plan.server.user),
        word(
            "mysql_db",
            plan.server.database.as_deref().unwrap_or_default(),
        ),
        word("mysql_port", plan.server.port),
    ];
    match (&plan.server.socket, &plan.server.host) {
        (Some(socket), _) => words.push(word("mysql_socket", socket.display())),
        (None, Some(host)) => words.push(word("mysql_host", host)),
        (None, None) => {}
    }
    if plan.load.protocol == Protocol::Text {
        words.push(word("db_ps_mode", "disable"));
    }
    let errors = &plan.load.errors;
    let codes = errors.retry.iter().chain(&errors.ignore);
    let codes: Vec<String> = codes.map(u16::to_string).collect();
    let ignored = match errors.ignore_all {
        true => "all".to_owned(),
        false => codes.join(","),
    };
    words.push(word("mysql_ignore_errors", ignored));
    words
}

fn word(name: &str, value: impl std::fmt::Display) -> Given {
    Given {
        name: name.to_owned(),
        text: format!("--{}={value}", name.replace('_', "-")),
        value: Some(value.to_string()),
    }
}

fn given_options(spec: &Spec) -> Result<Vec<Given>, String> {
    let mut options: Vec<Given> = Vec::new();
    for (name, value) in &spec.options {
        let name = normal_name(name);
        if options.iter().any(|given| given.name == name) {
            return Err(format!("workload.options.{name}: it is set twice"));
        }
        options.push(match value {
            ScriptValue::Flag(true) => word(&name, "on"),
            ScriptValue::Flag(false) => word(&name, "off"),
            ScriptValue::Whole(number) => word(&name, number),
            ScriptValue::Number(number) => word(&name, number),
            ScriptValue::Text(text) => word(&name, text),
        });
    }
    Ok(options)
}

/// The number of tables and rows from the plan as options, if the script declares these options and
/// they were not given.
fn supplied(spec: &Spec, declared: &[Declared], given: &[Given]) -> Vec<Given> {
    let asks = |name: &str| {
        declared
            .iter()
            .any(|option| normal_name(&option.name) == name)
            && given.iter().all(|given| given.name != name)
    };
    let tables = spec.tables.map(|tables| word("tables", tables));
    let rows = spec.rows.map(|rows| word("table_size", rows));
    let words = tables.into_iter().chain(rows);
    words.filter(|word| asks(&word.name)).collect()
}

/// Refuses options of sysbench, of any version, that the plan sets elsewhere, and values that an
/// option cannot have.
fn check_known(given: &[Given], compat: Compat) -> Result<(), String> {
    for option in given {
        let name = option.name.as_str();
        match table::named_in_either(compat, name) {
            Some(Known {
                in_plan: InPlan::Said(why),
                ..
            }) => return Err(format!("workload.options.{name}: {why}")),
            Some(known) if known.is_of(compat) => check_value(option, known.kind)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_declared(
    state: &State,
    spec: &Spec,
    declared: &[Declared],
    given: &[Given],
    compat: Compat,
) -> Result<(), String> {
    for option in given {
        let found = declared
            .iter()
            .find(|known| normal_name(&known.name) == option.name);
        let Some(found) = found else {
            return Err(unknown_option(spec, &option.name, declared, compat));
        };
        check_value(option, found.kind)?;
        let text = option.value.as_deref().unwrap_or_default();
        let fine = state.accepts(&found.name, text).map_err(in_script)?;
        if !fine {
            return Err(format!(
                "workload.options.{}: {} does not accept \"{text}\"",
                option.name, spec.script
            ));
        }
    }
    Ok(())
}

fn unknown_option(spec: &Spec, name: &str, declared: &[Declared], compat: Compat) -> String {
    let names: Vec<String> = declared
        .iter()
        .map(|option| normal_name(&option.name))
        .chain(open_options(compat).map(|(name, _)| name))
        .collect();
    let hint = nearest_of(name, names.iter().map(String::as_str))
        .map(|nearest| format!("; did you mean \"{nearest}\"?"));
    format!(
        "workload.options.{name}: {} has no such option{}",
        spec.script,
        hint.unwrap_or_default()
    )
}

fn check_value(option: &Given, kind: OptionType) -> Result<(), String> {
    let text = option.value.as_deref();
    let due = match parse(kind, text) {
        Ok(_) => return Ok(()),
        Err(BadValue::Bool) => "true or false",
        Err(BadValue::Number) if kind == OptionType::Int => "a whole number",
        Err(BadValue::Number) => "a number",
    };
    Err(format!(
        "workload.options.{}: \"{}\" is not {due}",
        option.name,
        text.unwrap_or_default()
    ))
}

fn servers_of(plan: &Plan) -> Result<Servers, String> {
    let target = target_of(&plan.server)?;
    Ok(Servers {
        addresses: vec![target.address],
        credentials: target.credentials,
        options: target.options,
        connect_timeout: target.connect_timeout,
    })
}

impl Planned {
    /// As messages name it.
    pub fn name(&self) -> &str {
        self.run.script.name.as_deref().unwrap_or_default()
    }

    /// See [`OsThreads::are_wanted`].
    pub fn wants_os_threads(&self) -> bool {
        self.os_threads.are_wanted(&self.run)
    }

    /// In the form in which `run::script::measure` takes it.
    pub fn hosted(&self) -> Hosted<'_> {
        (&self.main, &self.run)
    }
}

/// From now on, if a script brings the process down, a message goes to standard error. In a run it
/// is also the outcome.
pub fn arm_last_words(scripts: &str, is_run: bool) -> io::Result<()> {
    let overflow = Failure::with_hint(
        format!("the script {scripts} failed: {STACK_OVERFLOW}"),
        "check which of its callbacks call themselves",
    );
    let bad_address = Failure::with_hint(
        format!("the script {scripts} failed: it used an invalid address"),
        "check its use of the FFI and of C modules; if it uses neither, report it",
    );
    let lines = |failure: Failure| -> io::Result<Vec<(RawFd, Vec<u8>)>> {
        let said = format!("contend-load: {}\n", in_words(&failure));
        let mut lines = vec![(io::stderr().as_raw_fd(), said.into_bytes())];
        if is_run {
            let outcome = serde_json::to_string(&Outcome::Error(failure))?;
            lines.push((descriptor(), format!("{outcome}\n").into_bytes()));
        }
        Ok(lines)
    };
    LastWords {
        overflow: lines(overflow)?,
        bad_address: lines(bad_address)?,
    }
    .arm();
    Ok(())
}
