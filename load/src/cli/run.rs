//! `contend-load run PLAN`: one plan in, outcomes out as JSON lines.

use super::plan_file::nodes::route_of;
use super::sysbench::planned::{self, Planned};
use super::tell::OutcomeWriter;
use super::{output, plan_file};
use crate::lua::workload::ScriptWorkload;
use crate::outcome::{Outcome, Validated};
use crate::plan::Plan;
use crate::run::job::Job;
use crate::run::of_plan::{dispenser_of, job_of};
use crate::run::run;
use crate::run::script;
use crate::run::validate::validate;
use crate::workload::Workload;
use crate::workload::native::{Retries, Way};
use crate::workload::told::Told;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Run one plan and write what it measured as JSON lines.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The plan, a JSON file; - for standard input.
    plan: String,
    /// Write every interval's histograms to this file, in HdrHistogram's log format.
    #[arg(long, value_name = "FILE")]
    hdr_log: Option<PathBuf>,
    /// Measure nothing: replay the first events of the seed (1000 if not said) on one connection
    /// and check every answer. What the events write stays written.
    #[arg(
        long,
        value_name = "EVENTS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1000",
        conflicts_with = "hdr_log"
    )]
    validate: Option<u64>,
    /// Only read the plan, and make of it what needs no server. Prints nothing if it is fine.
    #[arg(long, conflicts_with_all = ["hdr_log", "validate"])]
    check: bool,
}

pub fn main(arguments: &Arguments) -> ExitCode {
    let prepared = plan_file::read(&arguments.plan).and_then(|mut plan| {
        // Before the script's folder becomes the current one.
        let log = arguments.hdr_log.as_ref().map(std::path::absolute);
        let log = log.transpose().map_err(|error| error.to_string())?;
        let told = plan_file::read_workload(&plan.workload)?;
        let script = told.script().map(|script| read_script(&mut plan, script));
        let script = script.transpose()?;
        let workload = workload_of(&plan, &*told, script.as_ref())?;
        let dispenser = match &script {
            // Its threads may be asked for events elsewhere than on the loop.
            Some(script) => Arc::clone(&script.run.dispenser),
            None => Arc::new(dispenser_of(&plan)),
        };
        let job = job_of(&plan, workload, dispenser)?;
        if script.as_ref().is_some_and(Planned::wants_os_threads) {
            script::threads::refuse(&job)?;
        }
        let log = log.as_ref().map(create).transpose()?;
        Ok((job, log, script))
    });
    match prepared {
        Ok(_) if arguments.check => ExitCode::SUCCESS,
        Ok((job, log, script)) => match arguments.validate {
            Some(events) => replay(&job, events),
            None => measure(job, log, script),
        },
        Err(message) => {
            eprintln!("contend-load: {message}");
            ExitCode::from(2)
        }
    }
}

fn read_script(plan: &mut Plan, spec: &crate::plan::Script) -> Result<Planned, String> {
    output::keep_from_scripts().map_err(|error| format!("standard output: {error}"))?;
    planned::read(plan, spec, "run")
}

fn create(path: &PathBuf) -> Result<BufWriter<File>, String> {
    File::create(path)
        .map(BufWriter::new)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn workload_of(
    plan: &Plan,
    told: &dyn Told,
    script: Option<&Planned>,
) -> Result<Arc<dyn Workload>, String> {
    if let Some(script) = script {
        return Ok(Arc::new(ScriptWorkload::new(Arc::clone(&script.run))));
    }
    let way = Way {
        protocol: plan.load.protocol,
        init: plan.server.init_sql.clone().into(),
        retries: Retries {
            limit: plan.load.errors.retry_limit,
            pause: Duration::from_secs_f64(plan.load.errors.retry_pause_s),
        },
        route: route_of(plan, told)?,
    };
    told.build(way)
}

fn measure(job: Job, log: Option<BufWriter<File>>, script: Option<Planned>) -> ExitCode {
    let mut writer = OutcomeWriter::new(&job.setup, log);
    let measured = match script {
        None => run(job, &mut |progress| writer.tell(progress)),
        Some(script) => script.measure(job, &mut |progress| writer.tell(progress)),
    };
    let outcome = match measured {
        Ok(measured) => Outcome::Done(Box::new(writer.done(&measured))),
        Err(failure) => Outcome::Error(failure),
    };
    writer.write(&outcome);
    match (writer.broken(), outcome) {
        (Some(error), _) => output::failed(&error),
        (None, Outcome::Error(failure)) => {
            eprintln!("contend-load: {}", output::in_words(&failure));
            ExitCode::FAILURE
        }
        (None, _) => ExitCode::SUCCESS,
    }
}

/// Replays events and tells whether they were answered right.
fn replay(job: &Job, events: u64) -> ExitCode {
    let outcome = match validate(&job.setup, events) {
        Ok(found) => Outcome::Validated(found),
        Err(failure) => Outcome::Error(failure),
    };
    if let Err(error) = output::outcome(&outcome) {
        return output::failed(&error);
    }
    match outcome {
        Outcome::Validated(found) if found.wrong == 0 => ExitCode::SUCCESS,
        Outcome::Validated(found) => {
            eprintln!("contend-load: {}", wrong_in_words(&found));
            ExitCode::FAILURE
        }
        Outcome::Error(failure) => {
            eprintln!("contend-load: {}", output::in_words(&failure));
            ExitCode::FAILURE
        }
        _ => ExitCode::FAILURE,
    }
}

fn wrong_in_words(found: &Validated) -> String {
    let mut words = format!("{} of {} answers are wrong", found.wrong, found.statements);
    if let Some(first) = found.examples.first() {
        words.push_str(&format!(
            "\n  event {}: {}\n  expected: {}\n  found: {}",
            first.cycle, first.statement, first.expected, first.found
        ));
    }
    words
}
