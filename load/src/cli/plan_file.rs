//! Reads a plan and refuses one that makes no sense, with one line of advice.

pub mod ask;
mod load;
pub mod nodes;

use contend_client::request::RequestProtocol;
use contend_console::suggestions::nearest_of;
use contend_engine::arrival::Share;
use contend_engine::of_plan::{ArmAsks, dispenser_of};
use contend_engine::workload::Workload;
use contend_plan;
use contend_plan::{PLAN_VERSION, Plan, Protocol, Server};
use contend_workloads::config::WorkloadConfig;
use contend_workloads::native::{Retries, Way};
use contend_workloads::registry;
use serde::Deserialize;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// Read no more of a plan than this: a file that is longer was named by mistake.
const PLAN_BYTES_MAX: u64 = 64 << 20;
/// A year: a longer time is probably a mistaken unit.
pub const TIME_S_MAX: f64 = 366.0 * 86_400.0;

/// Reads the plan at `source`, a path or `-` for standard input.
///
/// # Errors
/// One line for the reader of the plan.
pub fn read(source: &str) -> Result<Plan, String> {
    parse(&text_of(source)?)
}

fn text_of(source: &str) -> Result<String, String> {
    let mut text = String::new();
    let read = match source {
        "-" => std::io::stdin()
            .take(PLAN_BYTES_MAX)
            .read_to_string(&mut text),
        _ => std::fs::File::open(source)
            .and_then(|file| file.take(PLAN_BYTES_MAX).read_to_string(&mut text)),
    };
    read.map_err(|error| format!("cannot read the plan {source}: {error}"))?;
    Ok(text)
}

/// A plan from its text, checked.
pub fn parse(text: &str) -> Result<Plan, String> {
    // The version is checked first: a plan of a different version has different names, and errors
    // about those names would mislead.
    let wrong = |error: serde_json::Error| in_words(&error.to_string());
    let Version { version } = serde_json::from_str(text).map_err(wrong)?;
    if version != PLAN_VERSION {
        return Err(format!(
            "the plan has version {version}, but this program reads version {PLAN_VERSION}; use \
             the contend-load installed with the contend that wrote the plan"
        ));
    }
    let mut plan: Plan = serde_json::from_str(text).map_err(wrong)?;
    check_server(&plan.server)?;
    let told = read_workload(&plan.workload)?;
    let mut load = plan.load.clone();
    told.fit(&mut load)?;
    if plan.arms.is_empty() {
        plan.load = load;
    } else {
        // Each arm fits the rest to what it asks itself; errors have one policy for all arms.
        plan.load.errors = load.errors;
    }
    load::check(&plan.load)?;
    load::check_arms(&plan)?;
    nodes::route_of(&plan, &*told)?;
    for (place, arm) in plan.arms.iter().enumerate() {
        check_arm(plan.of_arm(arm)).map_err(|words| format!("arms[{place}]: {words}"))?;
    }
    Ok(plan)
}

/// Checks the plan of one arm.
fn check_arm(mut plan: Plan) -> Result<(), String> {
    let told = read_workload(&plan.workload)?;
    told.fit(&mut plan.load)?;
    load::check_depth(&plan.load)?;
    load::check_arrival(&plan.load.arrival)?;
    load::check_slice_load(&plan.load)?;
    nodes::route_of(&plan, &*told).map(drop)
}

/// The plan's workload.
///
/// # Errors
/// One line for the reader of the plan.
pub fn read_workload(workload: &contend_plan::Workload) -> Result<Box<dyn WorkloadConfig>, String> {
    registry::read(workload).map_err(|refusal| match refusal.starts_with("workload") {
        true => refusal,
        false => in_words(&format!("workload: {refusal}")),
    })
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Checks the names of arms or nodes, which must differ, and their servers.
fn check_members<'p>(
    list: &str,
    what: &str,
    members: impl Iterator<Item = (&'p str, Option<&'p Server>)>,
) -> Result<(), String> {
    let mut names = Vec::new();
    for (place, (name, server)) in members.enumerate() {
        let path = format!("{list}[{place}]");
        if name.is_empty() {
            return Err(format!("{path}.name: it is empty"));
        }
        if names.contains(&name) {
            return Err(format!("{path}.name: {what} named {name:?} exists already"));
        }
        names.push(name);
        if let Some(server) = server {
            check_server(server).map_err(|words| format!("{path}.{words}"))?;
        }
    }
    Ok(())
}

fn check_server(server: &Server) -> Result<(), String> {
    if server.socket.is_none() && server.host.as_deref().unwrap_or_default().is_empty() {
        return Err("server: set socket or host".to_owned());
    }
    if server.port == 0 {
        return Err("server.port: 0 is not a port".to_owned());
    }
    time("server.connect_timeout_s", server.connect_timeout_s, 0.001)
}

fn range<N: PartialOrd + std::fmt::Display>(
    path: &str,
    value: N,
    min: N,
    max: N,
) -> Result<(), String> {
    if value >= min && value <= max {
        return Ok(());
    }
    Err(format!("{path}: {value} is not between {min} and {max}"))
}

fn time(path: &str, value_s: f64, min_s: f64) -> Result<(), String> {
    if (min_s..=TIME_S_MAX).contains(&value_s) {
        return Ok(());
    }
    Err(format!(
        "{path}: {value_s} seconds are not between {min_s} and {TIME_S_MAX}"
    ))
}

/// The error of the JSON reader, with the nearest known name if a name is unknown. The error quotes
/// the plan, so control characters are escaped: the message stays one line.
fn in_words(error: &str) -> String {
    let mut text = String::new();
    for character in error.chars() {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    let hint = nearest(&text).map(|nearest| format!("; did you mean `{nearest}`?"));
    format!(
        "the plan cannot be read: {text}{}",
        hint.unwrap_or_default()
    )
}

/// The suggestion for a message about an unknown name: the message gives names between backquotes,
/// first the unknown one, then the known ones. Returns the known one that is nearest.
fn nearest(message: &str) -> Option<&str> {
    let message = message.strip_prefix("workload: ").unwrap_or(message);
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    nearest_of(wrong, names)
}

/// The workload of an arm's plan that is not a script, and the dispenser of the events
/// that this host begins.
pub fn native_arm(plan: &Plan, told: &dyn WorkloadConfig, share: Share) -> Result<ArmAsks, String> {
    let way = Way {
        protocol: plan.load.protocol,
        init: plan.server.init_sql.clone().into(),
        retries: Retries {
            limit: plan.load.errors.retry_limit,
            pause: Duration::from_secs_f64(plan.load.errors.retry_pause_s),
        },
        route: nodes::route_of(plan, told)?,
        database: plan.server.database.clone().unwrap_or_default().into(),
    };
    let workload = told.build(way)?;
    if plan.load.protocol == Protocol::HandlerSocket {
        check_by_key(plan, &*workload)?;
    }
    Ok((workload, Arc::new(dispenser_of(plan, share))))
}

/// Refuses a plan that HandlerSocket cannot run.
fn check_by_key(plan: &Plan, workload: &dyn Workload) -> Result<(), String> {
    let refuse = |words: String| Err(format!("load.protocol: \"handler_socket\" {words}"));
    if workload.request_protocol() != RequestProtocol::HANDLER_SOCKET {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn plan() -> serde_json::Value {
        json!({
            "version": PLAN_VERSION,
            "server": {"socket": "/run/db.sock"},
            "workload": {"kind": "point_select", "rows": 1000},
            "load": {"connections": 8, "measure_s": 1.0},
        })
    }

    fn refusal(pointer: &str, value: serde_json::Value) -> String {
        let mut plan = plan();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        plan.pointer_mut(parent).unwrap()[key] = value;
        parse(&plan.to_string()).unwrap_err()
    }

    #[test]
    fn a_small_plan_is_read() {
        let plan = parse(&plan().to_string()).unwrap();
        assert_eq!(plan.load.connections, 8);
        assert_eq!(plan.load.errors.retry, [1020, 1205, 1213]);
    }

    #[test]
    fn another_version_is_refused_before_its_names() {
        let error = parse(r#"{"version": 99, "colour": "red"}"#).unwrap_err();
        assert!(
            error.contains("99") && error.contains("version 1"),
            "{error}"
        );
    }

    #[test]
    fn unknown_names_come_with_the_nearest_known() {
        let error = refusal("/load/conections", json!(5));
        assert!(error.contains("did you mean `connections`?"), "{error}");
        let error = refusal("/workload/kind", json!("point_selects"));
        assert!(error.contains("did you mean `point_select`?"), "{error}");
        let error = refusal("/load/xyzzy", json!(5));
        assert!(
            error.contains("xyzzy") && !error.contains("did you mean"),
            "{error}"
        );
    }

    #[test]
    fn a_refusal_is_one_line_whatever_the_plan_holds() {
        let error = refusal("/load/x\ny\u{1b}[2J", json!(5));
        assert!(error.contains(r"x\ny\u{1b}[2J"), "{error}");
        assert!(!error.contains(char::is_control), "{error}");
    }

    #[test]
    fn absurd_values_are_refused_by_path() {
        for (pointer, value) in [
            ("/load/connections", json!(0)),
            ("/load/measure_s", json!(0)),
            ("/load/measure_s", json!(-3.5)),
            ("/load/measure_s", json!(1e300)),
            ("/load/warmup_s", json!(-1)),
            ("/load/interval_s", json!(1e-9)),
            ("/load/threads", json!(1_000_000)),
            ("/workload/rows", json!(0)),
            ("/workload/table", json!("a; DROP TABLE b")),
            ("/workload/table", json!("a.b.c")),
            ("/server/port", json!(0)),
            ("/server/connect_timeout_s", json!(0)),
        ] {
            let error = refusal(pointer, value.clone());
            let path = pointer.trim_start_matches('/').replace('/', ".");
            assert!(error.starts_with(&path), "{pointer} {value}: {error}");
            assert!(!error.contains('\n'));
        }
        for value in [
            json!({"kind": "pareto", "h": 1.0}),
            json!({"kind": "zipfian", "exp": -0.1}),
            json!({"kind": "gaussian", "iter": 0}),
            json!({"kind": "special", "pct": 101}),
        ] {
            let error = refusal("/workload/distribution", value);
            assert!(error.starts_with("workload.distribution."), "{error}");
        }
    }

    #[test]
    fn counts_of_what_a_workload_never_makes_are_refused() {
        let with = |workload: serde_json::Value| {
            let mut plan = plan();
            plan["workload"] = workload;
            parse(&plan.to_string())
        };
        assert!(with(json!({"kind": "read_write", "rows": 9, "index_updates": 3})).is_ok());
        let error = with(json!({"kind": "read_only", "rows": 9, "index_updates": 3}));
        assert!(error.unwrap_err().contains("index_updates"));
        let nothing = json!({
            "kind": "write_only", "rows": 9,
            "index_updates": 0, "non_index_updates": 0, "delete_inserts": 0,
        });
        assert!(with(nothing).unwrap_err().contains("raise one"));
        let error = with(json!({"kind": "update_index", "rows": 9, "points": 3})).unwrap_err();
        assert!(error.contains("points"), "{error}");
        let error = with(json!({"kind": "bulk_insert", "rows": 9, "batch": 100_000}));
        assert!(error.unwrap_err().starts_with("workload.batch"));
    }

    #[test]
    fn text_cannot_be_executed_in_bulk() {
        let mut plan = plan();
        plan["workload"] = json!({"kind": "bulk_insert", "rows": 9, "bulk_execute": true});
        assert!(parse(&plan.to_string()).is_ok());
        plan["load"]["protocol"] = json!("text");
        let error = parse(&plan.to_string()).unwrap_err();
        assert!(error.starts_with("workload.bulk_execute"), "{error}");
    }

    #[test]
    fn paths_of_every_server_are_made_absolute() {
        let server = json!({
            "socket": "run/b.sock",
            "tls": {"mode": "verify-ca", "ca": "ca.pem", "certificate": "c.pem", "key": "k.pem"},
        });
        let mut with_nodes = plan();
        with_nodes["nodes"] = json!([{"name": "a"}, {"name": "b", "server": server}]);
        let mut plan = parse(&with_nodes.to_string()).unwrap();
        plan.make_paths_absolute().unwrap();
        assert_eq!(plan.server.socket, Some("/run/db.sock".into()));
        let here = std::env::current_dir().unwrap();
        let Server { socket, tls, .. } = plan.nodes[1].server.clone().unwrap();
        let found = [socket, tls.ca, tls.certificate, tls.key];
        let names = ["run/b.sock", "ca.pem", "c.pem", "k.pem"];
        assert_eq!(found, names.map(|name| Some(here.join(name))));
    }

    #[test]
    fn a_server_must_be_named() {
        let error = refusal("/server/socket", json!(null));
        assert!(error.contains("socket or host"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = parse(&text);
        }
    }
}
