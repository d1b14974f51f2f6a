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

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The load generator of contend.
#[derive(Debug, Parser)]
#[command(name = "contend-load", version, propagate_version = true)]
struct Arguments {
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
    match Arguments::parse().command {
        Command::Fill(arguments) => fill::main(&arguments),
        Command::NullServer(arguments) => null_server::main(&arguments),
        Command::Run(arguments) => run::main(&arguments),
        Command::Schema(arguments) => schema::main(&arguments),
    }
}
