//! Command lines: parse, call one function, print, exit.
//!
//! Exit codes: 0 done, 1 the work failed, 2 the request was wrong. Results go to standard
//! output, words for people to standard error. A subcommand is one file and one line in
//! [`Command`].

mod fill;
mod null_server;
mod output;
mod plan_file;
mod run;
mod schema;
mod tell;

use crate::drive::parent;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The load generator of contend.
#[derive(Debug, Parser)]
#[command(name = "contend-load", version, propagate_version = true)]
struct Arguments {
    /// End when the parent process, whose number this is, ends in whatever way.
    #[arg(long, value_name = "PID")]
    die_with: Option<u32>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Fill(Box<fill::Arguments>),
    NullServer(null_server::Arguments),
    Run(run::Arguments),
    Schema(schema::Arguments),
}

/// Runs the program named by the command line and returns its exit code.
pub fn main() -> ExitCode {
    // clap leaves with 0 after help and version, and with 2 where the request is wrong.
    let arguments = Arguments::parse();
    if let Some(pid) = arguments.die_with
        && let Err(error) = parent::die_with(pid)
    {
        eprintln!("contend-load: --die-with: {error}");
        return ExitCode::from(2);
    }
    match arguments.command {
        Command::Fill(arguments) => fill::main(&arguments),
        Command::NullServer(arguments) => null_server::main(&arguments),
        Command::Run(arguments) => run::main(&arguments),
        Command::Schema(arguments) => schema::main(&arguments),
    }
}
