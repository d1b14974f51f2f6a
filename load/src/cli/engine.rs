//! `contend-load engine PLAN`: which engine a run of the plan gets on this host.

use super::output::Undone;
use super::plan_file;
use crate::cli::output;
use contend_engine::arrival::Share;
use contend_engine::choice::{Choice, choose};
use contend_engine::of_plan::workers_of;
use contend_plan::Plan;
use serde::Serialize;
use std::process::ExitCode;

/// Print the engine that a run of a plan gets on this host as one line of JSON.
///
/// No server is contacted. To compare runs with different numbers of connections, query the engine
/// once, for the largest number, and set it in all plans.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The plan, a JSON file; - for standard input.
    plan: String,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "engine")]
struct EngineAnswer {
    engine: &'static str,
    /// Why it is not io_uring, if the kernel refused that.
    refused: Option<String>,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, Undone> {
    let plan = plan_file::read(&arguments.plan)?;
    match choose(plan.load.engine, sockets_of(&plan)) {
        Ok(choice) => output::whole_json(&answer(choice)),
        Err(failure) => output::run_failed(failure),
    }
}

fn answer(choice: Choice) -> EngineAnswer {
    EngineAnswer {
        engine: choice.name,
        refused: choice.refused.map(|error| error.to_string()),
    }
}

/// The sockets of one worker, as the run itself will count them.
fn sockets_of(plan: &Plan) -> usize {
    let load = &plan.load;
    let workers = workers_of(load, Share::WHOLE);
    let most = load.connections.div_ceil(workers) + load.idle_connections.div_ceil(workers);
    most as usize * plan.arms.len().max(1)
}
