//! A plan's native workload, built from its kind and keys.

use super::plan_file::nodes::route_of;
use contend_client::request::Tongue;
use contend_engine::arrival::Share;
use contend_engine::of_plan::{ArmAsks, dispenser_of};
use contend_engine::workload::Workload;
use contend_plan::{Plan, Protocol};
use contend_workloads::native::{Retries, Way};
use contend_workloads::told::Told;
use std::sync::Arc;
use std::time::Duration;

/// The workload of an arm's plan that is not a script, and the dispenser of those of its events
/// that are asked here.
pub fn of_native(plan: &Plan, told: &dyn Told, share: Share) -> Result<ArmAsks, String> {
    let way = Way {
        protocol: plan.load.protocol,
        init: plan.server.init_sql.clone().into(),
        retries: Retries {
            limit: plan.load.errors.retry_limit,
            pause: Duration::from_secs_f64(plan.load.errors.retry_pause_s),
        },
        route: route_of(plan, told)?,
        database: plan.server.database.clone().unwrap_or_default().into(),
    };
    let workload = told.build(way)?;
    if plan.load.protocol == Protocol::HandlerSocket {
        check_keys(plan, &*workload)?;
    }
    Ok((workload, Arc::new(dispenser_of(plan, share))))
}

/// Refuses a plan that HandlerSocket cannot run.
fn check_keys(plan: &Plan, workload: &dyn Workload) -> Result<(), String> {
    let refuse = |words: String| Err(format!("load.protocol: \"handler_socket\" {words}"));
    if workload.tongue() != Tongue::HandlerSocket {
        return refuse(format!(
            "needs a workload of rows by key, and {} needs SQL; use point_select, random_points \
             or update_non_index",
            plan.workload.kind
        ));
    }
    if plan.server.database.is_none() {
        return refuse("needs server.database; add it".to_owned());
    }
    if !plan.nodes.is_empty()
        || plan.load.idle_connections > 0
        || plan.load.reconnect_every.is_some()
    {
        return refuse(
            "keeps its connections to one server open; remove nodes, load.idle_connections and \
             load.reconnect_every"
                .to_owned(),
        );
    }
    if !plan.server.init_sql.is_empty() {
        return refuse("has no statements; remove server.init_sql".to_owned());
    }
    Ok(())
}
