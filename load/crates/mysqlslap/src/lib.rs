//! `contend-load mysqlslap …`: the command line of mysqlslap and mariadb-slap.
//!
//! Also what runs when the program is called through a link of such a name. Report, CSV and
//! `--only-print` are mysqlslap's; faults of it that mislead are fixed. Exit codes: 0 done, 1
//! failed, 2 the request was wrong.
//!
//! ```
//! let code = contend_mysqlslap::main("mysqlslap", &["--no-such-option".to_owned()]);
//! assert_eq!(code, 2.into());
//! ```

mod arguments;
mod auto;
mod defaults;
mod load;
mod option_file;
mod options;
mod report;
mod run;
mod servers;
mod settings;
mod split;
mod texts;
mod values;

pub mod fuzzed {
    //! The readers of what users write, for the fuzz target.
    pub use super::option_file::read as read_option_file;
    pub use super::split::split;
}

use contend_client::Target;
use contend_client::blocking::ControlConnection;
use contend_client::failure;
use contend_console::output::{end_with_the_pipe, remark};
use contend_console::secrets;
use contend_figures::outcome::{Failure, one_line};
use load::SlapProgress;
use report::Writers;
use run::{Control, MadeHere, Runner};
use settings::SlapSettings;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Names of links that this is called through.
pub const LINKS: [&str; 2] = ["mysqlslap", "mariadb-slap"];
const FAILED: u8 = 1;
const WRONG: u8 = 2;

/// Why a command line came to nothing.
#[derive(Debug)]
enum SlapHalt {
    /// The command line or an option file is wrong.
    Request(String),
    /// The work failed.
    Failed(String),
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
    match serve(program, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(halt) => ExitCode::from(print_error(program, &halt)),
    }
}

fn serve(program: &str, arguments: &[String]) -> Result<(), SlapHalt> {
    let words = defaults::read(arguments).map_err(SlapHalt::Request)?;
    words.warnings.iter().for_each(|warning| remark(warning));
    if words.prints {
        let words: String = words.words.iter().map(|word| shown(word) + " ").collect();
        print(&format!(
            "{program} would have been started with the following arguments:\n{words}\n"
        ));
        return Ok(());
    }
    let options = arguments::parse(&words.words, words.from_files).map_err(SlapHalt::Request)?;
    options.warnings.iter().for_each(|warning| remark(warning));
    if options.has("help") {
        print(&(options::version(program) + &options::usage(program)));
        return Ok(());
    }
    if options.has("version") {
        print(&options::version(program));
        return Ok(());
    }
    if let Some(place) = options.strays.first() {
        return Err(SlapHalt::Request(arguments::refusal_of_stray(
            &words.words,
            *place,
        )));
    }
    let settings = SlapSettings::new(&options).map_err(SlapHalt::Request)?;
    let password = match options.has("password") && options.text("password").is_none() {
        true => Some(servers::prompt().map_err(|error| SlapHalt::Failed(error.to_string()))?),
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
    };
    runner.run()
}

/// A word without its password.
fn shown(word: &str) -> String {
    secrets::cut(word, arguments::secret_in(word)).into_owned()
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
fn print_error(program: &str, halt: &SlapHalt) -> u8 {
    let (words, code) = match halt {
        SlapHalt::Request(words) => (words.clone(), WRONG),
        SlapHalt::Failed(words) => (words.clone(), FAILED),
        SlapHalt::Control(failed) => {
            let (what, failure) = &**failed;
            (format!("{what} {}", in_words(failure)), FAILED)
        }
        SlapHalt::Load(failure) => (in_words(failure), FAILED),
    };
    remark(&format!("{program}: {words}"));
    if let SlapHalt::Load(Failure {
        statement: Some(statement),
        ..
    }) = halt
    {
        remark(&format!("{program}: the statement was: {statement}"));
    }
    code
}

/// A failure with its code, its place and a hint.
fn in_words(failure: &Failure) -> String {
    let (Some(code), Some(state)) = (failure.code, &failure.sqlstate) else {
        return one_line(&failure.message).into_owned();
    };
    let code_in_words = format!("{code} ({state}): ");
    let message = failure.message.rsplit_once(&code_in_words);
    let message = one_line(message.map_or(failure.message.as_str(), |(_, message)| message));
    // For a failed client, this hint names the client.
    let own = failure.hint.as_deref();
    let hint = failure::hint(code).filter(|hint| own != Some(*hint));
    let hints = own.into_iter().chain(hint);
    let more: String = hints.map(|words| format!("; {words}")).collect();
    format!("error {code_in_words}{message}{more}")
}

/// Prints a statement as `--only-print` does.
fn print_statement(sql: &str) {
    print(&format!("{sql};\n"));
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
