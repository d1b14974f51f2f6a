//! `contend-load part`: one host's part of a run that several hosts share.

use super::asks;
use super::output::Undone;
use super::plan_file;
use super::tell::OutcomeWriter;
use contend_engine::arrival::Share;
use contend_engine::job::Job;
use contend_engine::measured::Progress;
use contend_engine::merge::PartInterval;
use contend_engine::of_plan::job_of;
use contend_engine::run;
use contend_figures::outcome::Outcome;
use contend_plan::Plan;
use serde::Serialize;
use std::io::{self, BufRead};
use std::process::ExitCode;

/// Run one host's part of a plan with load.hosts, and write the input of `merge`.
///
/// The first line of standard input is the plan, as JSON without line breaks. When all connections
/// are open ("hello"), the line "begin NANOSECONDS" sets the start of the load on this host's
/// steady clock (see `clock`). The end of standard input ends the run.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of this host, from 0.
    #[arg(long, value_name = "NUMBER")]
    host: u32,
}

/// A line that only `merge` reads.
#[derive(Serialize)]
struct PartLine<T> {
    r#type: &'static str,
    #[serde(flatten)]
    told: T,
}

/// Longest line that is read; a longer one is not a plan.
const LINE_BYTES_MAX: u64 = 64 << 20;

pub fn main(arguments: &Arguments) -> Result<ExitCode, Undone> {
    let job = job_of_input(arguments.host)?;
    let mut writer = OutcomeWriter::new(&job.setup, None);
    let measured = run(job, &mut |progress| match progress {
        Progress::Interval {
            start_s,
            duration_s,
            tally,
            backlog,
            ..
        } => writer.write_line(&PartLine {
            r#type: "interval",
            told: PartInterval {
                start_s,
                duration_s,
                backlog,
                tally: tally.clone(),
            },
        }),
        other => writer.tell(other),
    });
    match &measured {
        Ok(measured) => writer.write_line(&PartLine {
            r#type: "part",
            told: measured,
        }),
        Err(failure) => writer.write(&Outcome::Error(failure.clone())),
    }
    match (writer.broken(), measured) {
        (Some(error), _) => Err(error.into()),
        (None, Err(failure)) => Err(failure.into()),
        (None, Ok(_)) => Ok(ExitCode::SUCCESS),
    }
}

fn job_of_input(host: u32) -> Result<Job, String> {
    let mut line = String::new();
    let mut input = io::Read::take(io::stdin().lock(), LINE_BYTES_MAX);
    let read = input.read_line(&mut line);
    read.map_err(|error| format!("cannot read the plan: {error}"))?;
    let mut plan = plan_file::parse(&line)?;
    let hosts = plan.load.hosts;
    if host >= hosts {
        return Err(format!("--host: {host} is not below load.hosts, {hosts}"));
    }
    plan.make_paths_absolute()
        .map_err(|error| error.to_string())?;
    let job = job_of_share(&plan, Share { host, hosts })?;
    Ok(Job {
        begin_from: Some(Box::new(io::BufReader::new(io::stdin()))),
        ..job
    })
}

/// The job of one host, from the plan.
pub fn job_of_share(plan: &Plan, share: Share) -> Result<Job, String> {
    job_of(plan, share, &mut |plan| {
        let told = plan_file::read_workload(&plan.workload)?;
        asks::of_native(plan, &*told, share)
    })
}
