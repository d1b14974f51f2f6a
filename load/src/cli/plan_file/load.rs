//! Refuses what a plan cannot mean by its `load` and its arms.

use super::{check_members, range, time};
use contend_plan::{Arrival, DEPTH_MAX, HOSTS_MAX, LOOK_READS_MAX, Load, Plan, Slices, Stage};

const CONNECTIONS_MAX: u32 = 1_000_000;
const THREADS_MAX: u32 = 1024;
const ARMS_MAX: u64 = 64;
/// Events per second that no host can send.
const RATE_MAX: f64 = 1e9;
const INTERVAL_S_MIN: f64 = 0.01;

pub(super) fn check(load: &Load) -> Result<(), String> {
    range("load.connections", load.connections, 1, CONNECTIONS_MAX)?;
    if let Some(threads) = load.threads {
        range("load.threads", threads, 1, THREADS_MAX)?;
    }
    time("load.warmup_s", load.warmup_s, 0.0)?;
    match &load.slices {
        None => time("load.measure_s", load.measure_s, 0.001)?,
        Some(slices) => check_slices(slices)?,
    }
    if load.interval_s != 0.0 {
        time("load.interval_s", load.interval_s, INTERVAL_S_MIN)?;
    }
    let idle = load.idle_connections;
    range("load.idle_connections", idle, 0, CONNECTIONS_MAX)?;
    let counts = [
        ("load.reconnect_every", load.reconnect_every),
        ("load.events", load.events),
        ("load.events_each", load.events_each),
    ];
    for (path, count) in counts {
        range(path, count.unwrap_or(1), 1, u64::MAX)?;
    }
    if load.events.is_some() && load.events_each.is_some() {
        return Err(
            "load: set either events (all connections together) or events_each (per connection), \
             not both"
                .to_owned(),
        );
    }
    if load.events_each.is_some() && matches!(load.arrival, Arrival::Open { .. }) {
        return Err(
            "load.events_each: in an open loop an event goes to the first free connection; use \
             load.events"
                .to_owned(),
        );
    }
    if let Some(timeout_s) = load.answer_timeout_s {
        time("load.answer_timeout_s", timeout_s, 0.001)?;
    }
    time("load.errors.retry_pause_s", load.errors.retry_pause_s, 0.0)?;
    check_depth(load)?;
    check_hosts(load)?;
    check_arrival(&load.arrival)
}

/// Refuses what cannot be divided by the hosts.
fn check_hosts(load: &Load) -> Result<(), String> {
    range("load.hosts", load.hosts, 1, HOSTS_MAX)?;
    if !load.connections.is_multiple_of(load.hosts) {
        return Err(format!(
            "load.hosts: {} connections cannot be divided by {} hosts; make load.connections a \
             multiple of load.hosts",
            load.connections, load.hosts
        ));
    }
    if load.hosts > 1 && load.slices.is_some() {
        return Err(
            "load.hosts: the hosts' slices would be at different times; use one run per arm"
                .to_owned(),
        );
    }
    if load
        .events
        .is_some_and(|events| events < u64::from(load.hosts))
    {
        return Err("load.events: there are fewer events than load.hosts".to_owned());
    }
    Ok(())
}

pub(super) fn check_depth(load: &Load) -> Result<(), String> {
    range("load.depth", load.depth, 1, DEPTH_MAX)
}

fn check_slices(slices: &Slices) -> Result<(), String> {
    time("load.slices.slice_s", slices.slice_s, 0.001)?;
    time("load.slices.settle_s", slices.settle_s, 0.0)?;
    time("load.slices.rest_s", slices.rest_s, 0.0)?;
    if slices.slice_s < slices.settle_s {
        return Err(format!(
            "load.slices: slice_s, {} s, is shorter than settle_s, {} s: most of the time would \
             not be measured. Increase slice_s, or decrease settle_s",
            slices.slice_s, slices.settle_s
        ));
    }
    if let Some(reads) = slices.look_reads_per_s {
        range("load.slices.look_reads_per_s", reads, 1, LOOK_READS_MAX)?;
    }
    range("load.slices.rounds", slices.rounds, 1, u32::MAX)
}

pub(super) fn check_arms(plan: &Plan) -> Result<(), String> {
    let load = &plan.load;
    if load.slices.is_none() {
        return match plan.arms.is_empty() {
            true => Ok(()),
            false => Err("arms: a run with arms needs load.slices; add it".to_owned()),
        };
    }
    range("arms: their number", plan.arms.len() as u64, 1, ARMS_MAX)
        .map_err(|words| format!("load.slices: {words}; list the arms to hop between"))?;
    let arms = plan.arms.iter();
    check_members(
        "arms",
        "an arm",
        arms.map(|arm| (arm.name.as_str(), arm.server.as_ref())),
    )?;
    for (place, arm) in plan.arms.iter().enumerate() {
        if arm
            .enter
            .iter()
            .any(|statement| statement.trim().is_empty())
        {
            return Err(format!("arms[{place}].enter: a statement is empty"));
        }
    }
    if load.measure_s != 0.0 {
        return Err(
            "load.measure_s: load.slices has the measured time of arms; remove measure_s"
                .to_owned(),
        );
    }
    check_slice_load(load)
}

/// Refuses what a slice cannot be loaded with.
pub(super) fn check_slice_load(load: &Load) -> Result<(), String> {
    let settles = load.slices.is_some_and(|slices| slices.settle_s > 0.0);
    if settles && load.ends_with_its_work() {
        return Err(
            "load.slices.settle_s: the workload has an end, so all of it is measured; use 0"
                .to_owned(),
        );
    }
    let has_ramp = |stage: &Stage| stage.end_rate.is_some() || stage.duration_s > 0.0;
    match &load.arrival {
        Arrival::Open { stages, .. } if stages.len() > 1 || stages.iter().any(has_ramp) => Err(
            "load.arrival.stages: every slice restarts the schedule; use one rate without \
             duration_s"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

pub(super) fn check_arrival(arrival: &Arrival) -> Result<(), String> {
    let stages = match arrival {
        Arrival::Closed { think_s, .. } => return time("load.arrival.think_s", *think_s, 0.0),
        Arrival::Open { stages, .. } => stages,
    };
    if stages.is_empty() {
        return Err("load.arrival.stages: add at least one, such as {\"rate\": 1000}".to_owned());
    }
    for (place, stage) in stages.iter().enumerate() {
        let path = |key: &str| format!("load.arrival.stages[{place}].{key}");
        for (key, rate) in [("rate", Some(stage.rate)), ("end_rate", stage.end_rate)] {
            range(&path(key), rate.unwrap_or(0.0), 0.0, RATE_MAX)?;
        }
        time(&path("duration_s"), stage.duration_s, 0.0)?;
    }
    let is_still = |stage: &Stage| stage.rate == 0.0 && stage.end_rate.unwrap_or(0.0) == 0.0;
    if stages.iter().all(is_still) {
        return Err("load.arrival.stages: every rate is 0; raise one".to_owned());
    }
    Ok(())
}
