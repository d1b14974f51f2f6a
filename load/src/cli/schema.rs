//! `contend-load schema plan|outcome`: what goes in and what comes out, as JSON Schema.

use super::output::{self, Undone};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::workload::registry;
use clap::ValueEnum;
use schemars::SchemaGenerator;
use serde_json::Value;
use std::process::ExitCode;

/// Print the JSON Schema of what `run` reads or writes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    document: SchemaDocument,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemaDocument {
    /// What `run` reads.
    Plan,
    /// Each line that `run` writes.
    Outcome,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, Undone> {
    let schema = match arguments.document {
        SchemaDocument::Plan => plan(),
        SchemaDocument::Outcome => schemars::schema_for!(Outcome).to_value(),
    };
    // The alternate form is the indented one.
    output::whole(&format!("{schema:#}"))
}

/// A plan, with the kinds of workload that there are.
fn plan() -> Value {
    let mut generator = SchemaGenerator::default();
    let workload = registry::schema(&mut generator);
    let mut plan = schemars::schema_for!(Plan).to_value();
    if let Some(definitions) = plan.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.extend(generator.take_definitions(true));
        definitions.insert("Workload".to_owned(), workload);
    }
    plan
}
