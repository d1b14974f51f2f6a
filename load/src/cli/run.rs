//! `contend-load run PLAN`: one plan in, outcomes out as JSON lines.

use super::sysbench::planned::{self, Planned};
use super::plan_file::nodes::route_of;
use super::tell::Teller;
use super::{output, plan_file, script, script_threads};
use crate::arrival::{Curve, Dispenser, Schedule};
use crate::drive::blocking::Target;
use crate::drive::clock::{nanoseconds, seconds_ns};
use crate::drive::pace::Pacing;
use crate::drive::run::{ArmJob, Arms, Job, Watched, run};
use crate::drive::setup::{Codes, DRAIN_NS, ErrorPolicy, Setup};
use crate::drive::socket::Address;
use crate::drive::threads;
use crate::drive::validate::validate;
use crate::lua::workload::ScriptWorkload;
use crate::outcome::{Failure, Outcome, Validated};
use crate::plan::{Arrival, Errors, Load, Plan, Server, Watch};
use crate::wire::{Credentials, Options};
use crate::workload::native::{Retries, Way};
use crate::workload::Workload;
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
    /// Only read the plan, and make of it what needs no server. Prints nothing where it is fine.
    #[arg(long, conflicts_with_all = ["hdr_log", "validate"])]
    check: bool,
}

/// Answers before the load begins come within this, where connecting is allowed less.
const SETUP_TIMEOUT_S_MIN: f64 = 30.0;

pub fn main(arguments: &Arguments) -> ExitCode {
    let prepared = plan_file::read(&arguments.plan).and_then(|plan| {
        // Before the script's folder becomes the current one.
        let log = arguments.hdr_log.as_ref().map(std::path::absolute);
        let log = log.transpose().map_err(|error| error.to_string())?;
        let told = plan_file::read_workload(&plan.workload)?;
        let script = told.script().map(|script| read_script(&plan, script));
        let script = script.transpose()?;
        let job = job_of(&plan, script.as_ref())?;
        if script.as_ref().is_some_and(Planned::wants_os_threads) {
            script_threads::refuse(&job)?;
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

fn read_script(plan: &Plan, spec: &crate::plan::Script) -> Result<Planned, String> {
    output::keep_from_scripts().map_err(|error| format!("standard output: {error}"))?;
    planned::read(plan, spec, "run")
}

fn create(path: &PathBuf) -> Result<BufWriter<File>, String> {
    File::create(path)
        .map(BufWriter::new)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// What the drive room is to do. Everything that can be refused without a server is.
fn job_of(plan: &Plan, script: Option<&Planned>) -> Result<Job, String> {
    let load = &plan.load;
    let (server, more_servers) = servers_of(plan)?;
    Ok(Job {
        setup: Setup {
            setup_timeout_ns: nanoseconds(server.connect_timeout)
                .max(seconds_ns(SETUP_TIMEOUT_S_MIN)),
            server,
            more_servers,
            arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
            nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            workload: workload_of(plan, script)?,
            seats: load.connections,
            workers: workers_of(load),
            seed: plan.seed,
            errors: policy_of(&load.errors),
            drain_ns: DRAIN_NS,
            events_each: load.events_each,
            pacing: pacing_of(load),
            dispenser: match script {
                // Its threads may be asked for events elsewhere than on the loop.
                Some(script) => Arc::clone(&script.run.dispenser),
                None => Arc::new(dispenser_of(plan)),
            },
            reconnect_every: load.reconnect_every,
            idle_seats: load.idle_connections,
            storm: load.storm,
            answer_timeout_ns: load.answer_timeout_s.map(seconds_ns),
            looks_first: true,
        },
        engine: load.engine,
        warmup_ns: seconds_ns(load.warmup_s),
        measure_ns: seconds_ns(load.measure_s),
        interval_ns: match plan.arms.is_empty() {
            true => seconds_ns(load.interval_s),
            false => 0,
        },
        watched: Watched {
            server: pid_of(plan.watch.as_ref()),
            nodes: plan.nodes.iter().map(|node| pid_of(node.watch.as_ref())).collect(),
        },
        arms: arms_of(plan),
    })
}

fn pid_of(watch: Option<&Watch>) -> Option<u32> {
    watch.map(|watch| watch.pid)
}

/// The plan's server, or those of its arms or nodes.
fn servers_of(plan: &Plan) -> Result<(Target, Vec<Target>), String> {
    let arms = plan.arms.iter().map(|arm| ("arms", &arm.server));
    let nodes = plan.nodes.iter().map(|node| ("nodes", &node.server));
    let named = |(place, (list, server)): (usize, (&str, &Option<Server>))| {
        let server = server.as_ref().unwrap_or(&plan.server);
        target_of(server).map_err(|words| format!("{list}[{place}].{words}"))
    };
    // A plan has arms or nodes, never both.
    let targets: Result<Vec<_>, _> = arms.chain(nodes).enumerate().map(named).collect();
    let mut targets = targets?.into_iter();
    match targets.next() {
        Some(first) => Ok((first, targets.collect())),
        None => Ok((target_of(&plan.server)?, Vec::new())),
    }
}

fn arms_of(plan: &Plan) -> Option<Arms> {
    let slices = plan.load.slices.as_ref()?;
    let arms = plan.arms.iter().map(|arm| ArmJob {
        enter: arm.enter.clone(),
        watch_pid: pid_of(arm.watch.as_ref().or(plan.watch.as_ref())),
    });
    Some(Arms {
        arms: arms.collect(),
        slice_ns: seconds_ns(slices.slice_s),
        settle_ns: seconds_ns(slices.settle_s),
        rounds: slices.rounds,
    })
}

/// How many workers the connections are spread over.
pub(super) fn workers_of(load: &Load) -> u32 {
    let wanted = load.threads;
    let workers = wanted.unwrap_or_else(|| threads::for_connections(load.connections));
    workers.min(load.connections)
}

fn workload_of(plan: &Plan, script: Option<&Planned>) -> Result<Arc<dyn Workload>, String> {
    if let Some(script) = script {
        return Ok(Arc::new(ScriptWorkload::new(Arc::clone(&script.run))));
    }
    let told = plan_file::read_workload(&plan.workload)?;
    let way = Way {
        protocol: plan.load.protocol,
        init: plan.server.init_sql.clone().into(),
        retries: Retries {
            limit: plan.load.errors.retry_limit,
            pause: Duration::from_secs_f64(plan.load.errors.retry_pause_s),
        },
        route: route_of(plan, &*told)?,
    };
    told.build(way)
}

/// Where a server is and who enters.
pub(super) fn target_of(server: &Server) -> Result<Target, String> {
    Ok(Target {
        address: address_of(server)?,
        credentials: Credentials {
            user: server.user.clone(),
            password: password_of(server)?,
        },
        options: Options::from_plan(server).map_err(|error| format!("server: {error}"))?,
        connect_timeout: Duration::from_secs_f64(server.connect_timeout_s),
    })
}

pub(super) fn password_of(server: &Server) -> Result<String, String> {
    match &server.password_env {
        None => Ok(String::new()),
        Some(name) => std::env::var(name).map_err(|_| {
            format!("server.password_env: the environment variable {name} is not set")
        }),
    }
}

pub(super) fn address_of(server: &Server) -> Result<Address, String> {
    if let Some(socket) = &server.socket {
        return Ok(Address::Unix(socket.clone()));
    }
    let host = server.host.as_deref().unwrap_or_default();
    Address::of_host(host, server.port)
        .map_err(|error| format!("server.host: {host} cannot be looked up: {error}"))
}

fn pacing_of(load: &Load) -> Pacing {
    match &load.arrival {
        Arrival::Closed {
            think_s,
            think_scatters,
        } => Pacing::Closed {
            think_ns: seconds_ns(*think_s),
            scatters: *think_scatters,
        },
        Arrival::Open { .. } => Pacing::Open,
    }
}

/// The events that all connections share.
pub(super) fn dispenser_of(plan: &Plan) -> Dispenser {
    let schedule = match &plan.load.arrival {
        Arrival::Closed { .. } => None,
        Arrival::Open { process, stages } => Some(Schedule {
            curve: Curve::new(plan.load.warmup_s, stages),
            process: *process,
            seed: plan.seed,
        }),
    };
    Dispenser::new(schedule, plan.load.events)
}

fn policy_of(errors: &Errors) -> ErrorPolicy {
    ErrorPolicy {
        retry: errors.retry.clone(),
        ignore: if errors.ignore_all {
            Codes::All
        } else {
            Codes::Only(errors.ignore.clone())
        },
        reconnect: errors.reconnect,
    }
}

fn measure(job: Job, log: Option<BufWriter<File>>, script: Option<Planned>) -> ExitCode {
    let mut teller = Teller::new(&job.setup, log);
    let measured = match script {
        None => run(job, &mut |progress| teller.tell(progress)),
        Some(script) => script::run(&script, job, &mut |progress| teller.tell(progress)),
    };
    let outcome = match measured {
        Ok(measured) => Outcome::Done(Box::new(teller.done(&measured))),
        Err(failure) => Outcome::Error(failure),
    };
    teller.write(&outcome);
    match (teller.broken(), outcome) {
        (Some(error), _) => output::failed(&error),
        (None, Outcome::Error(failure)) => {
            eprintln!("contend-load: {}", in_words(&failure));
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
            eprintln!("contend-load: {}", in_words(&failure));
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

/// Says why something failed, to programs and to people.
pub(super) fn failed(failure: Failure) -> ExitCode {
    eprintln!("contend-load: {}", in_words(&failure));
    match output::outcome(&Outcome::Error(failure)) {
        Ok(()) => ExitCode::FAILURE,
        Err(error) => output::failed(&error),
    }
}

pub(super) fn in_words(failure: &Failure) -> String {
    let mut words = failure.message.clone();
    if let Some(statement) = &failure.statement {
        words.push_str(&format!("\n  statement: {statement}"));
    }
    if let Some(hint) = &failure.hint {
        words.push_str(&format!("\n  hint: {hint}"));
    }
    words
}
