//! `contend-load schema plan|outcome`: what goes in and what comes out, as JSON Schema.

use super::output;
use crate::outcome::Outcome;
use crate::plan::Plan;
use clap::ValueEnum;
use std::process::ExitCode;

/// Print the JSON Schema of what `run` reads or writes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    document: Document,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Document {
    /// What `run` reads.
    Plan,
    /// Each line that `run` writes.
    Outcome,
}

pub fn main(arguments: &Arguments) -> ExitCode {
    let schema = match arguments.document {
        Document::Plan => schemars::schema_for!(Plan),
        Document::Outcome => schemars::schema_for!(Outcome),
    };
    // The alternate form is the indented one.
    output::whole(&format!("{:#}", schema.as_value()))
}
