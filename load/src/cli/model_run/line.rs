//! One line of a file of runs: a JSON object that changes some of the options.

use super::{
    AGE_THRESHOLD, Arguments, DIVISION_LIMIT, LockWord, POINTS, ROWS, SECONDS_MAX, VirtualCosts,
    distribution, run_of,
};
use clap::ValueEnum;
use contend_model::virtual_time::VirtualRun;
use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;

/// The run of a line: the options, changed by its keys.
///
/// # Errors
/// A text that names the key.
pub fn parse(text: &str, options: &Arguments, costs: &VirtualCosts) -> Result<VirtualRun, String> {
    let object: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
    let (mut options, mut costs) = (options.clone(), costs.clone());
    for (key, value) in &object {
        match key.as_str() {
            "costs" => costs = changed(&costs, value)?,
            _ => set(&mut options, key, value).map_err(|words| format!("{key}: {words}"))?,
        }
    }
    run_of(&options, costs)
}

fn set(options: &mut Arguments, key: &str, value: &Value) -> Result<(), String> {
    const ANY: RangeInclusive<i64> = 0..=u32::MAX as i64;
    match key {
        "cpus" => options.cpus = number(value, ANY)?,
        "client_cpus" => options.client_cpus = number(value, ANY)?,
        "connections" => options.connections = number(value, ANY)?,
        "workers" => options.workers = Some(number(value, ANY)?),
        "rows" => options.rows = number(value, ROWS)?,
        "points" => options.points = number(value, POINTS)?,
        "distribution" => options.distribution = distribution(word(value)?)?,
        "seed" => options.seed = whole(value)?,
        "segments" => options.segments = number(value, ANY)?,
        "key_buffer_size" => options.key_buffer_size = whole(value)?,
        "division_limit" => options.division_limit = number(value, DIVISION_LIMIT)?,
        "age_threshold" => options.age_threshold = number(value, AGE_THRESHOLD)?,
        "descriptors" => {
            let list = value.as_array().ok_or("use a list of numbers")?;
            let numbers = list.iter().map(|one| number(one, ANY));
            options.descriptors = numbers.collect::<Result<_, _>>()?;
        }
        "lock" => options.lock = LockWord::from_str(word(value)?, false)?,
        "spins" => options.spins = number(value, ANY)?,
        "seconds" => options.seconds = seconds(value)?,
        "warmup" => options.warmup = seconds(value)?,
        _ => return Err("unknown key".to_owned()),
    }
    Ok(())
}

fn number(value: &Value, range: RangeInclusive<i64>) -> Result<u32, String> {
    let number = value.as_i64().filter(|number| range.contains(number));
    (number.and_then(|number| u32::try_from(number).ok())).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        format!("{value}; use a whole number, {least} to {most}")
    })
}

fn whole(value: &Value) -> Result<u64, String> {
    (value.as_u64()).ok_or_else(|| format!("{value}; use a whole number, not negative"))
}

fn word(value: &Value) -> Result<&str, String> {
    (value.as_str()).ok_or_else(|| format!("{value}; use a text"))
}

fn seconds(value: &Value) -> Result<f64, String> {
    let time = value.as_f64();
    (time.filter(|time| (0.0..=SECONDS_MAX).contains(time)))
        .ok_or_else(|| format!("{value}; use seconds, 0 to {SECONDS_MAX}"))
}

/// The costs, changed by `{"host": {…}, "demands": {…}}`.
fn changed(costs: &VirtualCosts, changes: &Value) -> Result<VirtualCosts, String> {
    let mut changed = json!(costs);
    let groups = changes.as_object().ok_or("costs: use an object")?;
    for (group, changes) in groups {
        let into = (changed.get_mut(group).and_then(Value::as_object_mut))
            .ok_or_else(|| format!("costs.{group}: unknown key"))?;
        let changes =
            (changes.as_object()).ok_or_else(|| format!("costs.{group}: use an object"))?;
        for (key, value) in changes {
            // By itself: the error of the whole would not name the key.
            serde_json::from_value::<VirtualCosts>(json!({ group: { key: value } }))
                .map_err(|error| format!("costs.{group}.{key}: {error}"))?;
            into.insert(key.clone(), value.clone());
        }
    }
    serde_json::from_value(changed).map_err(|error| format!("costs: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;
    use contend_model::virtual_time::lock::Handing;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn run(text: &str) -> Result<VirtualRun, String> {
        let line = Line::try_parse_from(["model-run", "--cpus", "24", "--points", "7"]).unwrap();
        let mut costs = VirtualCosts::default();
        costs.host.near_cpus = 12;
        parse(text, &line.arguments, &costs)
    }

    #[test]
    fn a_line_changes_the_options_that_it_names() {
        let run = run(
            r#"{"connections": 128, "lock": "in_turn", "descriptors": [3, 4], "segments": 2,
                "distribution": "uniform", "seconds": 0.005, "key_buffer_size": 65536,
                "costs": {"host": {"preempt_ns": 5}, "demands": {"find_ns": 77.5}}}"#,
        )
        .unwrap();
        assert_eq!((run.cpus, run.points, run.connections), (24, 7, 128));
        assert_eq!((run.workers, run.handing), (24, Handing::InTurn));
        assert_eq!((run.descriptors, run.measure_s), (vec![3, 4], 0.005));
        assert_eq!(run.key_cache.key_buffer_size, 65_536);
        assert_eq!(run.host.near_cpus, 12);
        assert_eq!(
            (run.host.preempt_ns, run.demands.find_ns),
            (Some(5.0), 77.5)
        );
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_key() {
        for (text, said) in [
            ("", "JSON object"),
            ("[1]", "JSON object"),
            (r#"{"cpu": 1}"#, "cpu: unknown key"),
            (r#"{"cpus": "1"}"#, "cpus: \"1\""),
            (r#"{"cpus": 0}"#, "0 CPUs"),
            (r#"{"points": 65536}"#, "points: 65536"),
            (r#"{"rows": -1}"#, "rows: -1"),
            (r#"{"seed": 1.5}"#, "seed: 1.5"),
            (r#"{"distribution": "bell"}"#, "distribution: "),
            (r#"{"lock": "fair"}"#, "lock: "),
            (r#"{"seconds": 3601}"#, "seconds: 3601"),
            (r#"{"descriptors": []}"#, "descriptor"),
            (r#"{"segments": 65}"#, "key_cache_segments = 65"),
            (r#"{"costs": {"guest": {}}}"#, "costs.guest: unknown key"),
            (r#"{"costs": {"host": {"pause": 1}}}"#, "costs.host.pause: "),
            (
                r#"{"costs": {"demands": {"row_ns": []}}}"#,
                "costs.demands.row_ns: ",
            ),
            (
                r#"{"costs": {"demands": {"row_ns": -1}}}"#,
                "demands.row_ns: ",
            ),
        ] {
            let words = run(text).unwrap_err();
            assert!(words.contains(said), "{text}: {words}");
        }
    }
}
