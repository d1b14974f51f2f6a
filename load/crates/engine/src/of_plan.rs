//! The meaning of a plan for a run: servers, workers, pace, errors.

use super::job::{
    ArmJob, Codes, ErrorPolicy, Hops, Job, NodeJob, Pacing, SETUP_TIMEOUT_NS, Setup, Several,
};
use crate::arrival::{Curve, Dispenser, Schedule, Share};
use crate::workload::Workload;
use contend_client::request::RequestProtocol;
use contend_client::target::{Target, target_of};
use contend_plan::{Arrival, Compression, Errors, Load, Plan, Server, Watch};
use contend_reactor::clock::{nanoseconds, seconds_ns};
use contend_reactor::threads;
use std::path::PathBuf;
use std::sync::Arc;

/// Answers after a window are waited for as long as the window was, and no longer than this.
const ANSWERS_S: f64 = 60.0;

/// The requests of an arm, and the events that its connections share.
pub type ArmAsks = (Arc<dyn Workload>, Arc<Dispenser>);

/// The job that a plan describes, or this process's share of it. Everything that can be refused
/// without a server is. `ask` makes the requests from the plan of one arm at a time, or from the
/// whole plan if it has none.
///
/// # Errors
/// Something the plan needs is missing; the text names the path in the plan.
pub fn job_of(
    plan: &Plan,
    share: Share,
    ask: &mut dyn FnMut(&mut Plan) -> Result<ArmAsks, String>,
) -> Result<Job, String> {
    let load = &plan.load;
    let mut arms = arms_of(plan, ask)?;
    if !share.is_first() {
        // The processes are those of the first host, if of any.
        arms.iter_mut().for_each(ArmJob::watch_nothing);
    }
    let timeout_ns = nanoseconds(arms.first.nodes.first.target.connect_timeout);
    let hops = load.slices.as_ref().map(|slices| Hops {
        slice_ns: seconds_ns(slices.slice_s),
        settle_ns: seconds_ns(slices.settle_s),
        rest_ns: seconds_ns(slices.rest_s),
        rounds: slices.rounds,
        look_reads_per_s: slices.look_reads_per_s,
    });
    Ok(Job {
        begin_from: None,
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
            share,
            workers: workers_of(load, share),
            seed: plan.seed,
            errors: policy_of(&load.errors),
            reconnect_every: load.reconnect_every,
            idle_seats: load.idle_connections,
            storm: load.storm,
            answer_timeout_ns: load.answer_timeout_s.map(seconds_ns),
            answers_ns: seconds_ns(load.measure_s.min(ANSWERS_S)),
            looks_first: true,
            ..Setup::new(arms, load.connections)
        },
    })
}

fn threads_of(watch: Option<&Watch>) -> Option<String> {
    watch.and_then(|watch| watch.threads.clone())
}

fn pids_of(watch: Option<&Watch>) -> Vec<u32> {
    let pids = watch.map(|watch| std::iter::once(watch.pid).chain(watch.more.iter().copied()));
    pids.into_iter().flatten().collect()
}

/// The plan's arms; without any, the plan itself is the only one.
fn arms_of(
    plan: &Plan,
    ask: &mut dyn FnMut(&mut Plan) -> Result<ArmAsks, String>,
) -> Result<Several<ArmJob>, String> {
    let mut arms = Vec::new();
    for (place, arm) in plan.arms.iter().enumerate() {
        let job = arm_of(plan.of_arm(arm), ask);
        arms.push(ArmJob {
            name: arm.name.clone(),
            enter: arm.enter.clone(),
            ..job.map_err(|words| format!("arms[{place}].{words}"))?
        });
    }
    match Several::of(arms) {
        Some(arms) => Ok(arms),
        None => arm_of(plan.clone(), ask).map(Several::one),
    }
}

/// The only arm of a plan.
fn arm_of(
    mut plan: Plan,
    ask: &mut dyn FnMut(&mut Plan) -> Result<ArmAsks, String>,
) -> Result<ArmJob, String> {
    let (workload, dispenser) = ask(&mut plan)?;
    let depth = plan.load.depth;
    if depth > 1
        && let Some(why) = workload.one_at_a_time()
    {
        return Err(format!(
            "load.depth: this workload allows only one request in flight per connection: {why}"
        ));
    }
    let servers = plan.nodes.iter().filter_map(|node| node.server.as_ref());
    let mut servers = servers.chain([&plan.server]);
    if depth > 1 && servers.any(|server| server.compression != Compression::None) {
        return Err(
            "load.depth: servers lose requests queued behind others on a compressed connection; \
             remove server.compression"
                .to_owned(),
        );
    }
    if workload.request_protocol() == RequestProtocol::HANDLER_SOCKET {
        return Ok(ArmJob {
            watch_pids: pids_of(plan.watch.as_ref()),
            watch_threads: threads_of(plan.watch.as_ref()),
            pacing: pacing_of(&plan.load),
            dispenser,
            depth,
            events_each: plan.load.events_each,
            sql: Some(target_of(&plan.server)?),
            ..ArmJob::of(ports_of(&plan.server)?, workload)
        });
    }
    let mut nodes = Vec::new();
    for (place, node) in plan.nodes.iter().enumerate() {
        let server = node.server.as_ref().unwrap_or(&plan.server);
        nodes.push(NodeJob {
            name: node.name.clone(),
            target: target_of(server).map_err(|words| format!("nodes[{place}].{words}"))?,
            watch_pids: pids_of(node.watch.as_ref()),
        });
    }
    let mut nodes = match Several::of(nodes) {
        Some(nodes) => nodes,
        None => Several::one(NodeJob {
            name: String::new(),
            target: target_of(&plan.server)?,
            watch_pids: Vec::new(),
        }),
    };
    if workload.offers_files() {
        let targets = nodes.iter_mut().map(|node| &mut node.target);
        targets.for_each(|target| target.options.local_infile = true);
    }
    Ok(ArmJob {
        watch_pids: pids_of(plan.watch.as_ref()),
        watch_threads: threads_of(plan.watch.as_ref()),
        pacing: pacing_of(&plan.load),
        dispenser,
        depth,
        events_each: plan.load.events_each,
        ..ArmJob::of_nodes(nodes, workload)
    })
}

/// The ports of HandlerSocket: that for reading, and that for writing.
fn ports_of(server: &Server) -> Result<Several<Target>, String> {
    let ports = server.handler_socket.clone().unwrap_or_default();
    let target = |socket: Option<PathBuf>, port, secret_env: Option<String>| {
        // A server reached by a socket is on this host.
        let host = server.host.clone().or(Some("127.0.0.1".to_owned()));
        let place = Server {
            socket,
            host,
            port,
            password_env: secret_env,
            ..server.clone()
        };
        target_of(&place).map_err(|words| format!("server.handler_socket: {words}"))
    };
    let writes = target(ports.socket_wr, ports.port_wr, ports.secret_wr_env)?;
    Ok(Several {
        first: target(ports.socket, ports.port, ports.secret_env)?,
        more: vec![writes],
    })
}

/// How many workers our share of the connections is spread over.
pub fn workers_of(load: &Load, share: Share) -> u32 {
    let connections = share.of(load.connections.into()) as u32;
    let wanted = load.threads;
    let workers = wanted.unwrap_or_else(|| threads::for_connections(connections));
    workers.min(connections)
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
pub fn dispenser_of(plan: &Plan, share: Share) -> Dispenser {
    let schedule = match &plan.load.arrival {
        Arrival::Closed { .. } => None,
        Arrival::Open { process, stages } => Some(Schedule {
            curve: Curve::new(plan.load.warmup_s, stages),
            process: *process,
            seed: plan.seed,
        }),
    };
    Dispenser::new(schedule, plan.load.events).of(share)
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
