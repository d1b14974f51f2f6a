//! `contend-load schema DOCUMENT`: input and output, as JSON Schema.

use clap::ValueEnum;
use contend_console::output;
use contend_console::output::CommandError;
use contend_figures::outcome::{AskOutcome, Outcome};
use contend_model::Knobs;
use contend_model::variables::ServerVariables;
use contend_plan::{AskPlan, Plan};
use contend_workloads::registry;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Print the JSON Schema of plans, of outcomes, or of the model server's settings.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    document: SchemaDocument,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemaDocument {
    /// The input of `run`.
    Plan,
    /// The lines that `run` writes.
    Outcome,
    /// The input of `recording ask`.
    #[value(name = "ask_plan")]
    AskPlan,
    /// The lines that `recording ask` writes.
    #[value(name = "ask_outcome")]
    AskOutcome,
    /// The variables and the knobs of `model-server`.
    Model,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let schema = match arguments.document {
        SchemaDocument::Plan => plan(),
        SchemaDocument::Outcome => schemars::schema_for!(Outcome).to_value(),
        SchemaDocument::AskPlan => schemars::schema_for!(AskPlan).to_value(),
        SchemaDocument::AskOutcome => schemars::schema_for!(AskOutcome).to_value(),
        SchemaDocument::Model => model(),
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

/// The settings of a model server: its variables with their defaults, its knobs as properties.
fn model() -> Value {
    let variables = ServerVariables::default();
    let variables: Map<String, Value> = variables
        .settable()
        .map(|told| (told.name.to_owned(), json!({"default": told.value})))
        .collect();
    let mut settings = SchemaSettings::draft2020_12();
    // The values that a knob can have are listed with the knob.
    settings.inline_subschemas = true;
    let knobs = settings.into_generator().into_root_schema_for::<Knobs>();
    json!({"variables": variables, "knobs": knobs.get("properties")})
}
