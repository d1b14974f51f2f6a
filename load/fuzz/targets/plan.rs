//! Plans: every text is refused in words or means a run, and what it means stays within bounds.

use contend_engine::arrival::{Arrivals, Curve};
use contend_load::cli::plan_file;
use contend_plan::{Arrival, Plan, Workload};
use contend_workloads::native::Way;

/// All of it is the plan.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match plan_file::parse(&text) {
        Ok(plan) => {
            is_kept(&plan);
            arrives_in_order(&plan);
            can_be_made(&plan.workload);
        }
        Err(message) => assert!(!message.is_empty() && !message.contains('\n'), "{message}"),
    }
}

/// A plan that is written down is the plan that was read.
fn is_kept(plan: &Plan) {
    let written = serde_json::to_string(plan).unwrap_or_default();
    let Ok(again) = plan_file::parse(&written) else {
        unreachable!("refused when it was written down: {written}");
    };
    // Of numbers with a fraction the last digit is not kept.
    assert_eq!(again.load.errors, plan.load.errors);
    assert_eq!(again.load.connections, plan.load.connections);
    assert_eq!(again.server.init_sql, plan.server.init_sql);
    assert_eq!((again.seed, &again.watch), (plan.seed, &plan.watch));
}

/// Events are due one after the other, and never before the load begins.
fn arrives_in_order(plan: &Plan) {
    let Arrival::Open { process, stages } = &plan.load.arrival else {
        return;
    };
    let curve = Curve::new(plan.load.warmup_s, stages);
    let mut arrivals = Arrivals::new(curve, *process, plan.seed);
    let mut last = 0;
    for _ in 0..50 {
        let Some(arrival) = arrivals.next_arrival() else {
            return;
        };
        assert!(arrival.offset_ns >= last, "{stages:?}");
        last = arrival.offset_ns;
    }
}

/// A workload that was read can be made, or says why not.
fn can_be_made(workload: &Workload) {
    let Ok(told) = plan_file::read_workload(workload) else {
        unreachable!("it was read before");
    };
    // To name a million tables takes too long for a test of its own.
    let is_large = ["tables", "points", "ranges", "batch"].iter().any(|key| {
        let value = workload.keys.get(*key).and_then(serde_json::Value::as_u64);
        value.is_some_and(|value| value > 1000)
    });
    if !is_large && let Err(refusal) = told.build(Way::default()) {
        assert!(refusal.starts_with("workload"), "{refusal}");
    }
}
