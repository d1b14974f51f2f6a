//! What a plan means for a run: servers, workers, pace, errors.

use super::job::{
    ArmJob, Codes, ErrorPolicy, Hops, Job, NodeJob, Pacing, SETUP_TIMEOUT_NS, Setup, Several,
};
use crate::arrival::{Curve, Dispenser, Schedule};
use crate::plan::{Arrival, Compression, Errors, Load, Plan, Server, Watch};
use crate::reactor::clock::{nanoseconds, seconds_ns};
use crate::reactor::socket::Address;
use crate::reactor::threads;
use crate::talk::Target;
use crate::talk::tls::tls_of;
use crate::wire::WireError;
use crate::wire::mysql::{Algorithm, Charset, Credentials, Options};
use crate::workload::Workload;
use std::sync::Arc;
use std::time::Duration;

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
    let mut arms = arms_of(plan)?;
    if workload.offers_files() {
        for node in arms.iter_mut().flat_map(|arm| arm.nodes.iter_mut()) {
            node.target.options.local_infile = true;
        }
    }
    let timeout_ns = nanoseconds(arms.first.nodes.first.target.connect_timeout);
    let hops = load.slices.as_ref().map(|slices| Hops {
        slice_ns: seconds_ns(slices.slice_s),
        settle_ns: seconds_ns(slices.settle_s),
        rounds: slices.rounds,
    });
    Ok(Job {
        engine: load.engine,
        warmup_ns: seconds_ns(load.warmup_s),
        measure_ns: seconds_ns(load.measure_s),
        interval_ns: match hops {
            None => seconds_ns(load.interval_s),
            Some(_) => 0,
        },
        setup: Setup {
            hops,
            setup_timeout_ns: timeout_ns.max(SETUP_TIMEOUT_NS),
            workers: workers_of(load),
            seed: plan.seed,
            errors: policy_of(&load.errors),
            events_each: load.events_each,
            pacing: pacing_of(load),
            dispenser,
            reconnect_every: load.reconnect_every,
            idle_seats: load.idle_connections,
            storm: load.storm,
            answer_timeout_ns: load.answer_timeout_s.map(seconds_ns),
            looks_first: true,
            ..Setup::new(arms, workload, load.connections)
        },
    })
}

fn pid_of(watch: Option<&Watch>) -> Option<u32> {
    watch.map(|watch| watch.pid)
}

/// The plan's arms; without any the one that has its nodes, or its server.
fn arms_of(plan: &Plan) -> Result<Several<ArmJob>, String> {
    let arms: Result<Vec<_>, String> = plan
        .arms
        .iter()
        .enumerate()
        .map(|(place, arm)| {
            let server = arm.server.as_ref().unwrap_or(&plan.server);
            let target = target_of(server).map_err(|words| format!("arms[{place}].{words}"))?;
            Ok(ArmJob {
                name: arm.name.clone(),
                enter: arm.enter.clone(),
                watch_pid: pid_of(arm.watch.as_ref().or(plan.watch.as_ref())),
                ..ArmJob::of(Several::one(target))
            })
        })
        .collect();
    if let Some(arms) = Several::of(arms?) {
        return Ok(arms);
    }
    let nodes: Result<Vec<_>, String> = plan
        .nodes
        .iter()
        .enumerate()
        .map(|(place, node)| {
            let server = node.server.as_ref().unwrap_or(&plan.server);
            Ok(NodeJob {
                name: node.name.clone(),
                target: target_of(server).map_err(|words| format!("nodes[{place}].{words}"))?,
                watch_pid: pid_of(node.watch.as_ref()),
            })
        })
        .collect();
    let of_nodes = Several::of(nodes?).map(|nodes| ArmJob {
        name: String::new(),
        nodes,
        enter: Vec::new(),
        watch_pid: None,
    });
    let arm = match of_nodes {
        Some(arm) => arm,
        None => ArmJob::of(Several::one(target_of(&plan.server)?)),
    };
    Ok(Several::one(ArmJob {
        watch_pid: pid_of(plan.watch.as_ref()),
        ..arm
    }))
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
        options: options_of(server).map_err(|error| format!("server: {error}"))?,
        connect_timeout: Duration::from_secs_f64(server.connect_timeout_s),
    })
}

/// What is asked of the sessions with a server.
fn options_of(server: &Server) -> Result<Options, WireError> {
    let host = server.host.as_deref().unwrap_or("localhost");
    Ok(Options {
        database: server.database.clone(),
        charset: Charset::named(&server.charset)?,
        unix_socket: server.socket.is_some(),
        local_infile: server.local_infile,
        cache_metadata: server.cache_metadata,
        compression: match server.compression {
            Compression::None => None,
            Compression::Zlib => Some(Algorithm::Zlib),
            Compression::Zstd => Some(Algorithm::Zstd),
        },
        tls: tls_of(&server.tls, host)?,
        ..Options::default()
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
