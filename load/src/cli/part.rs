//! `contend-load part`: one host's part of a run that several hosts share; `contend-load clock`:
//! the difference between the clocks of two of them.

use super::outcome_lines::OutcomeWriter;
use super::plan_file;
use contend_console::output;
use contend_console::output::CommandError;
use contend_engine::arrival::Share;
use contend_engine::job::Job;
use contend_engine::measured::Progress;
use contend_engine::merge::PartInterval;
use contend_engine::of_plan::job_of;
use contend_engine::run;
use contend_figures::outcome::{ClockOffset, Failure, Outcome};
use contend_plan::Plan;
use contend_servers::clock;
use serde::Serialize;
use serde_json::json;
use std::io::{self, BufRead};
use std::net::SocketAddr;
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
    content: T,
}

/// Longest line that is read; a longer one is not a plan.
const LINE_BYTES_MAX: u64 = 64 << 20;

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
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
            content: PartInterval {
                start_s,
                duration_s,
                backlog,
                tally: tally.clone(),
            },
        }),
        other => writer.take(other),
    });
    match &measured {
        Ok(measured) => writer.write_line(&PartLine {
            r#type: "part",
            content: measured,
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
        plan_file::native_arm(plan, &*told, share)
    })
}

/// Print the offset between this host's clocks and those of a second host as one line of JSON, or
/// answer such queries.
///
/// The offset is taken from the shortest of all round trips; half of its duration is the maximum
/// error.
#[derive(Debug, clap::Args)]
pub struct ClockArguments {
    /// HOST:PORT where another contend-load answers (--answer).
    #[arg(required_unless_present = "answer")]
    address: Option<String>,
    /// Answer queries at ADDRESS:PORT until the process ends. Port 0 selects a free port and prints
    /// it.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "address")]
    answer: Option<SocketAddr>,
    /// Round trips.
    #[arg(
        long,
        value_name = "TIMES",
        default_value_t = 200,
        conflicts_with = "answer"
    )]
    times: u32,
}

#[derive(Serialize)]
struct ClockLine {
    r#type: &'static str,
    #[serde(flatten)]
    offset: ClockOffset,
}

pub fn main_of_clock(arguments: &ClockArguments) -> Result<ExitCode, CommandError> {
    let (Some(address), times) = (&arguments.address, arguments.times) else {
        return answer(arguments.answer.unwrap_or(([127, 0, 0, 1], 0).into()));
    };
    let offset = match clock::ask(address, times) {
        Ok(offset) => offset,
        Err(error) => {
            let failure = Failure::with_hint(
                format!("the clock at {address} does not answer: {error}"),
                "check for a firewall between the two hosts",
            );
            output::outcome(&Outcome::Error(failure.clone()))?;
            return Err(failure.into());
        }
    };
    output::whole_json(&ClockLine {
        r#type: "clock",
        offset,
    })
}

fn answer(address: SocketAddr) -> Result<ExitCode, CommandError> {
    let listener = clock::listen(address)?;
    let port = listener.local_addr()?.port();
    output::line(&json!({"type": "listening", "port": port}).to_string())?;
    clock::answer(&listener)?;
    Ok(ExitCode::SUCCESS)
}
