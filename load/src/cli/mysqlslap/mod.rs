//! `contend-load mysqlslap …`: the command line of mysqlslap and mariadb-slap.
//!
//! Also what runs when the program is called through a link of such a name. Report, CSV and
//! `--only-print` are mysqlslap's; faults of it that mislead are mended, unless `--strict-compat`
//! asks for them. Exit codes: 0 done, 1 failed, 2 the request was wrong; under `--strict-compat`
//! those of mysqlslap.

mod arguments;
mod auto;
mod control;
mod defaults;
mod glibc_random;
mod help;
mod load;
mod option_file;
mod options;
mod password;
mod progress;
mod report;
mod run;
mod servers;
mod settings;
mod split;
mod stray;
mod texts;
mod values;

pub mod fuzzed {
    //! The readers of what users write, for the fuzz target.
    pub use super::option_file::read as read_option_file;
    pub use super::split::{as_mysqlslap, split};
}

use crate::cli::output::{end_with_the_pipe, remark};
use crate::cli::secrets;
use arguments::SlapRefusal;
use contend_client::Target;
use contend_client::blocking::ControlConnection;
use contend_client::failure;
use contend_figures::outcome::{Failure, one_line};
use control::Control;
use progress::SlapProgress;
use report::Writers;
use run::{MadeHere, Runner};
use settings::SlapSettings;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Names of links that this is called through.
pub const LINKS: [&str; 2] = ["mysqlslap", "mariadb-slap"];
const STRICT: &str = "--strict-compat";
const FAILED: u8 = 1;
const WRONG: u8 = 2;

/// Why a command line came to nothing.
#[derive(Debug)]
enum SlapHalt {
    /// The line is wrong.
    Line(SlapRefusal),
    /// The request is wrong.
    Request(String),
    /// The work failed.
    Failed(String),
    /// An option file is wrong.
    File(String),
    /// The server refused a statement of the control connection; the text is that statement.
    Control(Box<(String, Failure)>),
    /// A client failed.
    Load(Failure),
}

impl SlapHalt {
    fn control(what: impl Into<String>, failure: Failure) -> Self {
        Self::Control(Box::new((what.into(), failure)))
    }

    fn query(sql: &str, failure: Failure) -> Self {
        Self::control(format!("Cannot run query {sql} ERROR :"), failure)
    }
}

/// Runs a command line, without the name of the program.
pub fn main(program: &str, arguments: &[String]) -> ExitCode {
    secrets::hide(arguments, arguments::secret_in);
    end_with_the_pipe();
    let strict = arguments.iter().any(|word| word == STRICT);
    let arguments = arguments.iter().filter(|word| *word != STRICT);
    match serve(program, &arguments.cloned().collect::<Vec<_>>(), strict) {
        Ok(()) => ExitCode::SUCCESS,
        Err(halt) => ExitCode::from(say(program, &halt, strict)),
    }
}

fn serve(program: &str, arguments: &[String], strict: bool) -> Result<(), SlapHalt> {
    let words = defaults::read(arguments).map_err(SlapHalt::File)?;
    say_all(&words.warnings);
    if words.prints {
        let words: String = words.words.iter().map(|word| shown(word) + " ").collect();
        print(&format!(
            "{program} would have been started with the following arguments:\n{words}\n"
        ));
        return Ok(());
    }
    let options =
        arguments::parse(&words.words, words.from_files, strict).map_err(SlapHalt::Line)?;
    say_all(&options.warnings);
    // The exact words were taken before anything was read, since they decide how to read.
    if options.is_on("strict-compat") {
        return Err(SlapHalt::Request(
            "write --strict-compat exactly like this, on the command line, without a value".into(),
        ));
    }
    if options.has("help") {
        print(&help::version(program));
        print(&help::usage(program));
        return Ok(());
    }
    if options.has("version") {
        print(&help::version(program));
        return Ok(());
    }
    match (options.strays.as_slice(), strict) {
        // mysqlslap swallows two.
        ([] | [_] | [_, _], true) | ([], false) => {}
        (_, true) => return Err(SlapHalt::Request("Too many arguments".to_owned())),
        ([place, ..], false) => {
            return Err(SlapHalt::Request(stray::refusal(&words.words, *place)));
        }
    }
    let settings = SlapSettings::new(&options, strict).map_err(SlapHalt::Request)?;
    let password = match options.has("password") && options.text("password").is_none() {
        true => Some(password::ask().map_err(|error| SlapHalt::Failed(error.to_string()))?),
        false => options.text("password").map(str::to_owned),
    };
    let target = servers::target(&options, password).map_err(SlapHalt::Request)?;
    if settings.says.verbosity >= 2 && options.is_on("auto-generate-sql") {
        print("Building Create Statements for Auto\nBuilding Query Statements for Auto\n");
    }
    let control = control(&settings, &target)?;
    let mut runner = Runner {
        control,
        target: (!settings.only_prints).then_some(target),
        writers: Writers::open(&settings)?,
        progress: SlapProgress::new(options.is_on("silent")),
        made: MadeHere::Nothing,
        settings: &settings,
        program,
    };
    runner.run()
}

/// A word without its password.
fn shown(word: &str) -> String {
    secrets::cut(word, arguments::secret_in(word)).into_owned()
}

fn say_all(warnings: &[String]) {
    warnings.iter().for_each(|warning| remark(warning));
}

fn control(settings: &SlapSettings, target: &Target) -> Result<Control, SlapHalt> {
    if settings.only_prints {
        return Ok(Control::Paper);
    }
    let connection = ControlConnection::open(target)
        .map_err(|failure| SlapHalt::control("Error when connecting to server:", failure))?;
    Ok(Control::Server {
        connection: Box::new(connection),
        shows: settings.says.verbosity >= 3,
    })
}

/// Prints the error, and returns the exit code.
fn say(program: &str, halt: &SlapHalt, strict: bool) -> u8 {
    match halt {
        SlapHalt::Line(refused) => {
            if let Some(before) = &refused.before {
                remark(before);
            }
            remark(&format!("{program}: {}", refused.words));
            if strict { refused.code } else { WRONG }
        }
        SlapHalt::File(words) => {
            remark(&format!(
                "{words}\nFatal error in defaults handling. Program aborted"
            ));
            if strict { FAILED } else { WRONG }
        }
        SlapHalt::Request(words) => {
            remark(&format!("{program}: {words}"));
            if strict { FAILED } else { WRONG }
        }
        SlapHalt::Failed(words) => {
            remark(&format!("{program}: {words}"));
            FAILED
        }
        SlapHalt::Control(failed) => {
            let (what, failure) = &**failed;
            remark(&format!("{program}: {what} {}", in_words(failure, strict)));
            FAILED
        }
        SlapHalt::Load(failure) if strict => {
            let (sql, words) = (failure.statement.as_deref(), one_line(&failure.message));
            let sql = sql.unwrap_or_default();
            remark(&format!(
                "{program}: Cannot run query {sql} ERROR : {words}"
            ));
            // As if nothing had happened.
            0
        }
        SlapHalt::Load(failure) => {
            remark(&format!("{program}: {}", in_words(failure, strict)));
            if let Some(statement) = &failure.statement {
                remark(&format!("{program}: the statement was: {statement}"));
            }
            FAILED
        }
    }
}

/// A failure with its code, its place and a hint; or only the server's message, as mysqlslap shows
/// it.
fn in_words(failure: &Failure, strict: bool) -> String {
    let (Some(code), Some(state)) = (failure.code, &failure.sqlstate) else {
        return one_line(&failure.message).into_owned();
    };
    let code_in_words = format!("{code} ({state}): ");
    let said = failure.message.rsplit_once(&code_in_words);
    let said = one_line(said.map_or(failure.message.as_str(), |(_, said)| said));
    if strict {
        return said.into_owned();
    }
    // For a failed client, this hint names the client.
    let own = failure.hint.as_deref();
    let hint = failure::hint(code).filter(|hint| own != Some(*hint));
    let hints = own.into_iter().chain(hint);
    let more: String = hints.map(|words| format!("; {words}")).collect();
    format!("error {code_in_words}{said}{more}")
}

/// Writes to standard output at once.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written {
        remark(&format!(
            "contend-load: writing to standard output: {error}"
        ));
        std::process::exit(i32::from(FAILED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_compat_in_other_words_is_not_passed_over() {
        for word in ["--strict_compat", "--strict-compat=1", "--strict-compat=0"] {
            let line = ["--no-defaults", "--only-print", "--query=x", word];
            let halt = serve("mysqlslap", &line.map(str::to_owned), false).err();
            let is_refused =
                matches!(&halt, Some(SlapHalt::Request(why)) if why.contains("--strict-compat"));
            assert_eq!(is_refused, !word.ends_with('0'), "{word}: {halt:?}");
        }
    }
}
