//! Reads a plan and refuses what cannot be meant, with one line that says what to do.

mod load;
mod nodes;

pub use nodes::route_of;

use super::nearest::nearest_of;
use crate::plan::{Distribution, PLAN_VERSION, Plan, Protocol, Server, Workload};
use serde::Deserialize;
use std::io::Read;

/// No plan is longer; a file that is was named by mistake.
const PLAN_BYTES_MAX: u64 = 64 << 20;
/// A year: a longer time is a unit mistaken for another.
pub const TIME_S_MAX: f64 = 366.0 * 86_400.0;
/// The protocol counts parameters with two bytes.
const PARAMETERS_MAX: u32 = 65_535;
const TABLES_MAX: u32 = 1_000_000;
/// In one event.
const STATEMENTS_MAX: u64 = 100_000;
const ITER_MAX: u32 = 1000;
const ZIPFIAN_EXP_MAX: f64 = 100.0;

/// Reads the plan at `source`, a path or `-` for standard input.
///
/// # Errors
/// One line for the reader of the plan.
pub fn read(source: &str) -> Result<Plan, String> {
    let mut text = String::new();
    let read = if source == "-" {
        std::io::stdin()
            .take(PLAN_BYTES_MAX)
            .read_to_string(&mut text)
    } else {
        std::fs::File::open(source).and_then(|f| f.take(PLAN_BYTES_MAX).read_to_string(&mut text))
    };
    read.map_err(|error| format!("cannot read the plan {source}: {error}"))?;
    parse(&text)
}

/// A plan from its text, checked.
pub fn parse(text: &str) -> Result<Plan, String> {
    // The version comes first: a plan of another one has other names, and complaining about
    // those would lead astray.
    let version: Version = serde_json::from_str(text).map_err(|error| in_words(&error))?;
    if version.version != PLAN_VERSION {
        return Err(format!(
            "the plan has version {}, this program reads version {PLAN_VERSION}: use the \
             contend-load that came with the contend that wrote it",
            version.version
        ));
    }
    let mut plan: Plan = serde_json::from_str(text).map_err(|error| in_words(&error))?;
    load::limit_by_list(&mut plan)?;
    check_server(&plan.server)?;
    check_workload(&plan.workload)?;
    load::check(&plan.load)?;
    load::check_arms(&plan)?;
    route_of(&plan)?;
    if matches!(plan.workload, Workload::Lua(_)) && plan.load.reconnect_every.is_some() {
        return Err(
            "load.reconnect_every: a script opens and closes its own connections".to_owned(),
        );
    }
    let is_text = plan.load.protocol == Protocol::Text;
    if is_text && matches!(plan.workload, Workload::BulkInsert { bulk_execute, .. } if bulk_execute)
    {
        return Err(
            "workload.bulk_execute: executes what was prepared, and load.protocol is \"text\""
                .to_owned(),
        );
    }
    Ok(plan)
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn check_server(server: &Server) -> Result<(), String> {
    if server.socket.is_none() && server.host.as_deref().unwrap_or_default().is_empty() {
        return Err("server: name a socket or a host".to_owned());
    }
    if server.port == 0 {
        return Err("server.port: 0 is no port to connect to".to_owned());
    }
    time("server.connect_timeout_s", server.connect_timeout_s, 0.001)
}

fn check_workload(workload: &Workload) -> Result<(), String> {
    match workload {
        Workload::PointSelect(of)
        | Workload::UpdateIndex(of)
        | Workload::UpdateNonIndex(of)
        | Workload::Delete(of) => check_rows(&of.table, of.tables, of.rows, &of.distribution),
        Workload::RandomPoints {
            table,
            tables,
            rows,
            points,
            distribution,
        } => {
            range("workload.points", *points, 1, PARAMETERS_MAX)?;
            check_rows(table, *tables, *rows, distribution)
        }
        Workload::RandomRanges {
            table,
            tables,
            rows,
            ranges,
            delta,
            distribution,
        } => {
            range("workload.ranges", *ranges, 1, PARAMETERS_MAX / 2)?;
            range("workload.delta", *delta, 0, i64::MAX as u64)?;
            check_rows(table, *tables, *rows, distribution)
        }
        Workload::Insert {
            table,
            tables,
            rows,
            distribution,
            ..
        } => check_rows(table, *tables, *rows, distribution),
        Workload::BulkInsert {
            table,
            tables,
            rows,
            batch,
            distribution,
            ..
        } => {
            range("workload.batch", *batch, 1, PARAMETERS_MAX / 3)?;
            check_rows(table, *tables, *rows, distribution)
        }
        // Read when the workload is made: its refusals have a place.
        Workload::Sql { .. } => Ok(()),
        Workload::List {
            statements, times, ..
        } => check_list(statements, *times),
        Workload::Lua(script) => {
            range("workload.tables", script.tables.unwrap_or(1), 1, TABLES_MAX)?;
            range(
                "workload.rows",
                script.rows.unwrap_or(1),
                1,
                i64::MAX as u64,
            )
        }
        Workload::ReadOnly(spec) => {
            let (simple, sum) = (spec.simple_ranges, spec.sum_ranges);
            let ranges = [simple, sum, spec.order_ranges, spec.distinct_ranges];
            check_statements(&[&[spec.point_selects], &ranges[..]].concat())?;
            range("workload.range_size", spec.range_size, 1, i64::MAX as u64)?;
            check_rows(&spec.table, spec.tables, spec.rows, &spec.distribution)
        }
        Workload::WriteOnly(spec) => {
            check_statements(&[
                spec.index_updates,
                spec.non_index_updates,
                spec.delete_inserts,
            ])?;
            check_rows(&spec.table, spec.tables, spec.rows, &spec.distribution)
        }
        Workload::ReadWrite(spec) => {
            let (simple, sum) = (spec.simple_ranges, spec.sum_ranges);
            let ranges = [simple, sum, spec.order_ranges, spec.distinct_ranges];
            let writes = [
                spec.index_updates,
                spec.non_index_updates,
                spec.delete_inserts,
            ];
            check_statements(&[&[spec.point_selects], &ranges[..], &writes[..]].concat())?;
            range("workload.range_size", spec.range_size, 1, i64::MAX as u64)?;
            check_rows(&spec.table, spec.tables, spec.rows, &spec.distribution)
        }
    }
}

fn check_list(statements: &[String], times: Option<u64>) -> Result<(), String> {
    let count = statements.len() as u64;
    range(
        "workload.statements: their number",
        count,
        1,
        STATEMENTS_MAX,
    )?;
    let empty = statements.iter().position(|text| text.trim().is_empty());
    if let Some(place) = empty {
        return Err(format!("workload.statements[{place}]: it is empty"));
    }
    range("workload.times", times.unwrap_or(1), 1, u64::MAX)
}

/// The numbers of statements of each kind in one event.
fn check_statements(counts: &[u32]) -> Result<(), String> {
    match counts.iter().map(|count| u64::from(*count)).sum::<u64>() {
        0 => Err("workload: an event asks nothing; raise one of the counts".to_owned()),
        sum => range("workload: statements of an event", sum, 1, STATEMENTS_MAX),
    }
}

fn check_rows(
    table: &str,
    tables: Option<u32>,
    rows: u64,
    distribution: &Distribution,
) -> Result<(), String> {
    check_table(table)?;
    range("workload.tables", tables.unwrap_or(1), 1, TABLES_MAX)?;
    range("workload.rows", rows, 1, i64::MAX as u64)?;
    check_distribution(distribution)
}

/// Names stand in the statements as they are, so they may not hold anything else.
fn check_table(table: &str) -> Result<(), String> {
    let fine = |part: &str| {
        !part.is_empty()
            && part.len() <= 64
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    if table.split('.').count() <= 2 && table.split('.').all(fine) {
        return Ok(());
    }
    Err(format!(
        "workload.table: {table:?} is no plain name; use letters, digits and _, with at most one \
         dot after the database"
    ))
}

fn check_distribution(distribution: &Distribution) -> Result<(), String> {
    match *distribution {
        Distribution::Uniform {} => Ok(()),
        Distribution::Gaussian { iter } => range("workload.distribution.iter", iter, 1, ITER_MAX),
        Distribution::Special { iter, pct, res } => {
            range("workload.distribution.iter", iter, 1, ITER_MAX)?;
            range("workload.distribution.pct", pct, 1, 100)?;
            range("workload.distribution.res", res, 0, 100)
        }
        Distribution::Pareto { h } if h > 0.0 && h < 1.0 => Ok(()),
        Distribution::Pareto { h } => Err(format!(
            "workload.distribution.h: {h} is not between 0 and 1"
        )),
        Distribution::Zipfian { exp } if (0.0..=ZIPFIAN_EXP_MAX).contains(&exp) => Ok(()),
        Distribution::Zipfian { exp } => Err(format!(
            "workload.distribution.exp: {exp} is not between 0 and {ZIPFIAN_EXP_MAX}"
        )),
    }
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

/// The JSON reader's complaint, with the nearest known name where a name is unknown. It repeats
/// what stood in the plan, which may hold anything, and is one line all the same.
fn in_words(error: &serde_json::Error) -> String {
    let mut text = String::new();
    for character in error.to_string().chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    let Some(nearest) = nearest(&text) else {
        return format!("the plan cannot be read: {text}");
    };
    format!("the plan cannot be read: {text}; did you mean `{nearest}`?")
}

/// Of the names that a message gives between backquotes, the one most like the first.
fn nearest(message: &str) -> Option<&str> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    nearest_of(wrong, names)
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
        assert!(with(nothing).unwrap_err().contains("asks nothing"));
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
    fn a_server_must_be_named() {
        let error = refusal("/server/socket", json!(null));
        assert!(error.contains("socket or a host"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = parse(&text);
        }
    }
}
