//! Command lines: parse, call one function, print, exit.
//!
//! Exit codes: 0 done, 1 the work failed, 2 the request was wrong. Results go to standard output,
//! messages to standard error. Each subcommand is one line in [`CliCommand`].

mod arrivals;
mod cpus;
mod far;
mod fill;
mod merge;
mod model_run;
mod model_server;
mod new_file;
mod null_server;
mod outcome_lines;
mod part;
pub mod plan_file;
mod recording;
mod run;
mod schema;
mod script;
mod service_time;

use clap::{Parser, Subcommand};
use contend_console::output::{self, CommandError};
use contend_console::secrets;
use contend_mysqlslap as mysqlslap;
use contend_reactor::listeners::Listening;
use contend_sysbench::cli as sysbench;
use serde_json::json;
use std::ffi::OsString;
use std::process::ExitCode;

/// The load generator of contend.
#[derive(Debug, Parser)]
#[command(name = "contend-load", version, propagate_version = true)]
struct Arguments {
    /// End when the parent process, which has this number, ends for any reason.
    #[arg(long, value_name = "PID")]
    die_with: Option<u32>,
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Arrivals(arrivals::Arguments),
    Clock(part::ClockArguments),
    Cpus(cpus::Arguments),
    Engine(run::EngineArguments),
    Far(far::Arguments),
    Fill(Box<fill::Arguments>),
    Merge(merge::Arguments),
    ModelRun(Box<model_run::Arguments>),
    /// Run a mysqlslap command line, with its options, option files and output.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Mysqlslap {
        /// Arguments of mysqlslap.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    ModelServer(Box<model_server::Arguments>),
    NullServer(null_server::Arguments),
    Part(part::Arguments),
    Recording(recording::Arguments),
    Run(run::Arguments),
    Schema(schema::Arguments),
    Script(script::Arguments),
    /// Run a sysbench command line, with its scripts, options and output.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Sysbench {
        /// Arguments of sysbench.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// Runs the program named by the command line and returns its exit code.
pub fn main() -> ExitCode {
    if let Some((_, arguments)) = of_link(&["sysbench"]) {
        return sysbench::main(&arguments);
    }
    if let Some((program, arguments)) = of_link(&mysqlslap::LINKS) {
        return mysqlslap::main(&program, &arguments);
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            output::remark(secrets::hidden(&error.to_string()).trim_end());
            return ExitCode::from(2);
        }
        // Help, or the version.
        Err(error) => error.exit(),
    };
    if let Some(pid) = arguments.die_with
        && let Err(error) = contend_reactor::signals::die_with(pid)
    {
        return CommandError::Wrong(format!("--die-with: {error}")).print();
    }
    let done = match arguments.command {
        CliCommand::Arrivals(arguments) => arrivals::main(&arguments),
        CliCommand::Clock(arguments) => part::main_of_clock(&arguments),
        CliCommand::Cpus(arguments) => cpus::main(&arguments),
        CliCommand::Engine(arguments) => run::main_of_engine(&arguments),
        CliCommand::Far(arguments) => far::main(&arguments),
        CliCommand::Fill(arguments) => fill::main(&arguments),
        CliCommand::Merge(arguments) => merge::main(&arguments),
        CliCommand::ModelRun(arguments) => model_run::main(&arguments),
        CliCommand::Mysqlslap { arguments } => {
            return mysqlslap::main("mysqlslap", &words(arguments));
        }
        CliCommand::ModelServer(arguments) => model_server::main(&arguments),
        CliCommand::NullServer(arguments) => null_server::main(&arguments),
        CliCommand::Part(arguments) => part::main(&arguments),
        CliCommand::Recording(arguments) => recording::main(&arguments),
        CliCommand::Run(arguments) => run::main(&arguments),
        CliCommand::Schema(arguments) => schema::main(&arguments),
        CliCommand::Script(arguments) => script::main(&arguments),
        CliCommand::Sysbench { arguments } => return sysbench::main(&words(arguments)),
    };
    done.unwrap_or_else(|error| error.print())
}

/// How the program was called and its arguments, if it was called through a link of such a name.
fn of_link(names: &[&str]) -> Option<(String, Vec<String>)> {
    let mut arguments = std::env::args_os();
    let program = arguments.next()?;
    let called = std::path::Path::new(&program).file_name()?;
    let is_one = names.iter().any(|name| called == *name);
    is_one.then(|| (program.to_string_lossy().into_owned(), words(arguments)))
}

/// The arguments as text; bytes that are not UTF-8 become U+FFFD.
fn words(arguments: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let text = |word: OsString| word.to_string_lossy().into_owned();
    arguments.into_iter().map(text).collect()
}

/// Prints where clients can connect.
fn listening(listening: &Listening) {
    let said = json!({
        "type": "listening",
        "pid": std::process::id(),
        "socket": listening.socket,
        "port": listening.port,
    });
    // A program that does not read it waits for the socket instead.
    let _ = output::line(&said.to_string());
}
