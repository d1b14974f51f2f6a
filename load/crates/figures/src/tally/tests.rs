//! Tallies add up, are emptied, and forget nothing.

#![allow(clippy::unwrap_used)]
use super::*;

fn of_one(time_ns: u64) -> Latency {
    let mut latency = Latency::new();
    latency.record_ns(time_ns);
    latency
}

fn filled() -> Tally {
    let mut tally = Tally::new(TallyShape {
        kinds: 2,
        classes: 2,
        times_classes: true,
        is_open: true,
        times_lag: true,
        nodes: 2,
    });
    tally.begun = 12;
    tally.carried = 14;
    tally.cut = 0.25;
    tally.add_outage(1, 60);
    tally.connect.get_or_insert_default().record_ns(77);
    let kind = &mut tally.kinds[1];
    kind.record_ns(1000, 100);
    kind.record_more(1000, true, Some(400));
    kind.cut = 0.75;
    kind.failed = 13;
    kind.retries = 15;
    let class = &mut tally.classes[1];
    class.queries = 7;
    class.rows = 8;
    class.errors = 9;
    class.bytes_sent = 10;
    class.bytes_received = 11;
    class.times = ClassTimes::Recorded(Box::new(of_one(500)));
    let query = Query {
        rows: 2,
        failed: true,
        bytes_sent: 3,
        bytes_received: 4,
    };
    tally.nodes[1].queries.add(&query, || 70);
    for errors in tally.errors_of(1) {
        errors.record(1213, "40001", "Deadlock", String::new);
    }
    tally
}

#[test]
fn merging_into_an_empty_one_gives_the_same() {
    let mut merged = filled().empty_like();
    merged.merge(&filled());
    assert_eq!(merged, filled());
}

#[test]
fn merging_twice_doubles_every_figure() {
    let mut merged = filled();
    merged.merge(&filled());
    assert_eq!((merged.begun, merged.carried, merged.cut), (24, 28, 0.5));
    assert_eq!((merged.reconnects, merged.outage_ns), (2, 120));
    let node = &merged.nodes[1];
    assert_eq!((node.reconnects, node.outage_ns), (2, 120));
    assert_eq!((node.queries.queries, node.queries.rows), (2, 4));
    assert_eq!((node.queries.errors, node.errors.total()), (2, 2));
    assert_eq!(merged.nodes[0].queries.queries, 0);
    assert_eq!((merged.events(), merged.whole().rolled_back), (2, 2));
    assert_eq!((merged.failed(), merged.retries()), (26, 30));
    assert_eq!((merged.queries(), merged.rows()), (14, 16));
    assert_eq!((merged.bytes_sent(), merged.bytes_received()), (20, 22));
    let whole = merged.whole();
    assert_eq!(whole.response.count(), 2);
    assert_eq!(whole.open.as_ref().unwrap().lag.count(), 2);
    assert_eq!(whole.retried.as_ref().unwrap().last_try.count(), 2);
    assert_eq!(merged.classes[1].times.latency().unwrap().count(), 2);
    assert_eq!(merged.errors.total(), 2);
}

#[test]
fn clearing_leaves_an_empty_tally_of_the_same_shape() {
    let mut tally = filled();
    tally.clear();
    assert_eq!(tally, filled().empty_like());
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
