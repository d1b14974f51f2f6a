//! Tallies add up, are emptied, and forget nothing.

#![allow(clippy::unwrap_used)]
use super::*;
use serde_json::{Value, json};

fn of_one(time_ns: u64) -> Latency {
    let mut latency = Latency::new();
    latency.record_ns(time_ns);
    latency
}

const SHAPE: TallyShape = TallyShape {
    kinds: 1,
    classes: 1,
    times_classes: true,
    is_open: true,
    times_lag: true,
    nodes: 1,
};

/// A tally in which every number and every time is a different one, as JSON. So a new count is in
/// these tests without being named here.
fn filled() -> Value {
    let mut tally = Tally::new(SHAPE);
    tally.connect = Some(Box::default());
    tally.kinds[0].retried = Some(Box::default());
    for errors in tally.errors_of(0) {
        errors.record(1213, "40001", "Deadlock", String::new);
    }
    let mut value = serde_json::to_value(&tally).unwrap();
    let mut count = 0;
    each_record(&mut value, &mut |record| {
        count += 1;
        *record = match record {
            Value::String(_) => json!(of_one(1000 * count)),
            Value::Number(number) if number.is_f64() => json!(count as f64),
            _ => json!(count),
        };
    });
    assert!(count > 30, "{count} records");
    value
}

/// Calls `take` with every number and every histogram of a tally.
fn each_record(value: &mut Value, take: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Object(fields) => {
            let counted = |(name, _): &(&String, &mut Value)| {
                !["shape", "code", "sqlstate", "message", "statement"].contains(&name.as_str())
            };
            let fields = fields.iter_mut().filter(counted);
            fields.for_each(|(_, field)| each_record(field, take));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_record(item, take)),
        Value::String(_) | Value::Number(_) => take(value),
        Value::Null | Value::Bool(_) => {}
    }
}

fn read(value: Value) -> Tally {
    serde_json::from_value(value).unwrap()
}

#[test]
fn merging_into_an_empty_one_gives_the_same() {
    let mut merged = read(filled()).empty_like();
    merged.merge(&read(filled()));
    assert_eq!(merged, read(filled()));
}

#[test]
fn merging_twice_doubles_every_record() {
    let mut merged = read(filled());
    merged.merge(&read(filled()));
    let mut twice = filled();
    each_record(&mut twice, &mut |record| {
        *record = match record {
            Value::String(_) => {
                let one: Latency = serde_json::from_value(record.clone()).unwrap();
                let mut both = one.clone();
                both.merge(&one);
                json!(both)
            }
            Value::Number(number) if number.is_f64() => json!(2.0 * number.as_f64().unwrap()),
            _ => json!(2 * record.as_u64().unwrap()),
        };
    });
    assert_eq!(merged, read(twice));
}

#[test]
fn clearing_forgets_every_record_and_keeps_their_memory() {
    let mut tally = read(filled());
    tally.clear();
    assert_eq!(tally.errors.total(), 0);
    let mut cleared = serde_json::to_value(&tally).unwrap();
    each_record(&mut cleared, &mut |record| {
        assert!(
            *record == json!("") || record.as_f64() == Some(0.0),
            "{record}"
        );
    });
    assert!(tally.is_of(SHAPE));
    assert_eq!(tally.kinds[0].without_retries(), None);
}

/// What a workload counts is in the outcome under the same name, whichever count it is.
#[test]
fn every_count_is_in_the_figures() {
    let (value, mut tally) = (filled(), read(filled()));
    // Its times would have to be among those of the events.
    tally.kinds[0].retried = None;
    let [kind, class, node] = ["kinds", "classes", "nodes"].map(|part| value[part][0].clone());
    let whole = json!(tally.figures(Latency::figures));
    let of_kind = json!(tally.kinds[0].figures(Latency::summary));
    let of_class = json!(tally.classes[0].figures(&Latency::new()));
    let of_node = json!(tally.nodes[0].figures());
    let counts: [(&Value, &[&Value]); 5] = [
        (&kind["counts"], &[&whole, &of_kind]),
        (&class["counts"], &[&whole, &of_class]),
        (&value["links"], &[&whole]),
        (&node["queries"]["counts"], &[&of_node]),
        (&node["links"], &[&of_node]),
    ];
    for (counted, places) in counts {
        for (name, count) in counted.as_object().unwrap() {
            assert!(places.iter().all(|place| place[name] == *count), "{name}");
        }
    }
    assert_eq!(
        (&whole["events"], &of_node["events"]),
        (&kind["events"], &node["events"])
    );
    for place in [&whole, &of_kind, &of_class, &of_node] {
        assert_eq!(place["latency_us"]["count"], 1);
    }
}

#[test]
fn queries_in_flight_at_an_edge_count_in_parts_only_with_those_answered_after_it() {
    let (mut tally, mut drained) = (Tally::new(SHAPE), Tally::new(SHAPE));
    tally.classes[0].counts.queries = 9;
    (tally.carried, tally.cut) = (2, -0.5);
    drained.classes[0].counts.queries = 1;
    let window = |drained, seconds| {
        let window = tally.window(drained, seconds).unwrap();
        (window.answered, window.qps)
    };
    assert_eq!(window(None, 2.0), (11, 5.5));
    assert_eq!(window(Some(&drained), 2.0), (10, 4.75));
    assert_eq!(window(None, 0.0), (11, 0.0));
}

#[test]
fn without_retries_an_event_takes_what_its_last_try_took() {
    let mut kind = KindTally::default();
    kind.record_ns(100, 0);
    assert_eq!(kind.without_retries(), None);
    kind.record_ns(9_000, 0);
    kind.record_more(9_000, false, Some(200));
    let times = kind.without_retries().unwrap();
    assert_eq!((times.count(), times.max_ns()), (2, 200));
    assert_eq!(kind.response.max_ns(), 9_007, "the top of its bucket");
}
