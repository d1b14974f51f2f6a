//! What a plan means for a run: servers, workers, pace, errors.

use super::blocking::Target;
use super::clock::{nanoseconds, seconds_ns};
use super::job::{ArmJob, Arms, Codes, DRAIN_NS, ErrorPolicy, Job, Pacing, Setup, Watched};
use super::socket::Address;
use super::threads;
use crate::arrival::{Curve, Dispenser, Schedule};
use crate::plan::{Arrival, Errors, Load, Plan, Server, Watch};
use crate::wire::{Credentials, Options};
use crate::workload::Workload;
use std::sync::Arc;
use std::time::Duration;

/// Answers before the load begins come within this, where connecting is allowed less.
const SETUP_TIMEOUT_S_MIN: f64 = 30.0;

/// What a plan tells a run. Everything that can be refused without a server is.
///
/// # Errors
/// What cannot be had, in words that name the path in the plan.
pub fn job_of(
    plan: &Plan,
    workload: Arc<dyn Workload>,
    dispenser: Arc<Dispenser>,
) -> Result<Job, String> {
    let load = &plan.load;
    let (mut server, mut more_servers) = servers_of(plan)?;
    if workload.offers_files() {
        let targets = std::iter::once(&mut server).chain(&mut more_servers);
        targets.for_each(|target| target.options.local_infile = true);
    }
    Ok(Job {
        setup: Setup {
            setup_timeout_ns: nanoseconds(server.connect_timeout)
                .max(seconds_ns(SETUP_TIMEOUT_S_MIN)),
            server,
            more_servers,
            arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
            nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            workload,
            seats: load.connections,
            workers: workers_of(load),
            seed: plan.seed,
            errors: policy_of(&load.errors),
            drain_ns: DRAIN_NS,
            events_each: load.events_each,
            pacing: pacing_of(load),
            dispenser,
            reconnect_every: load.reconnect_every,
            idle_seats: load.idle_connections,
            storm: load.storm,
            answer_timeout_ns: load.answer_timeout_s.map(seconds_ns),
            checkpoints_ns: Vec::new(),
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
            nodes: plan
                .nodes
                .iter()
                .map(|node| pid_of(node.watch.as_ref()))
                .collect(),
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
pub fn workers_of(load: &Load) -> u32 {
    let wanted = load.threads;
    let workers = wanted.unwrap_or_else(|| threads::for_connections(load.connections));
    workers.min(load.connections)
}

/// Where a server is and who enters.
///
/// # Errors
/// The password or the address cannot be had, in words that name the path in the plan.
pub fn target_of(server: &Server) -> Result<Target, String> {
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

/// The password, out of the environment.
///
/// # Errors
/// The variable is not set.
pub fn password_of(server: &Server) -> Result<String, String> {
    match &server.password_env {
        None => Ok(String::new()),
        Some(name) => std::env::var(name).map_err(|_| {
            format!("server.password_env: the environment variable {name} is not set")
        }),
    }
}

/// # Errors
/// The host cannot be looked up.
pub fn address_of(server: &Server) -> Result<Address, String> {
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
pub fn dispenser_of(plan: &Plan) -> Dispenser {
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
