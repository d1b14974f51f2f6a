//! HostParts of a run, written and read, add up to the whole.

#![allow(clippy::unwrap_used)]
use super::*;
use contend_figures::Query;
use contend_figures::outcome::WindowEnd;
use proptest::prelude::*;

const SHAPE: TallyShape = TallyShape {
    kinds: 2,
    classes: 3,
    times_classes: true,
    is_open: true,
    times_lag: true,
    nodes: 2,
};

/// One record: its kind, class and node, and its time in ns.
#[derive(Clone, Debug)]
struct Happened {
    host: usize,
    kind: usize,
    class: usize,
    node: usize,
    took_ns: u64,
    lag_ns: u64,
    fails: bool,
    is_retried: bool,
}

fn happened(hosts: usize) -> impl Strategy<Value = Happened> {
    let places = (0..hosts, 0..2usize, 0..3usize, 0..2usize);
    let times = (1..10_000_000_000u64, 0..1_000u64);
    (places, times, any::<bool>(), any::<bool>()).prop_map(
        |((host, kind, class, node), (took_ns, lag_ns), fails, is_retried)| Happened {
            host,
            kind,
            class,
            node,
            took_ns,
            lag_ns,
            fails,
            is_retried,
        },
    )
}

fn record(tally: &mut Tally, one: &Happened) {
    tally.begun += 1;
    let kind = &mut tally.kinds[one.kind];
    match one.fails {
        true => kind.counts.failed += 1,
        false => kind.record_ns(one.took_ns, one.lag_ns),
    }
    if one.is_retried {
        kind.counts.retries += 1;
        kind.record_more(one.took_ns, false, (!one.fails).then_some(one.took_ns / 2));
        // A sum of these is exact, in whichever order.
        tally.add_outage(one.node, one.lag_ns as f64 / 1024.0);
        tally
            .connect
            .get_or_insert_default()
            .record_ns(one.lag_ns + 1);
    }
    let query = Query {
        rows: one.lag_ns,
        failed: one.fails,
        bytes_sent: 3,
        bytes_received: 4,
    };
    tally.classes[one.class].add(&query, || one.took_ns);
    tally.nodes[one.node].queries.add(&query, || one.took_ns);
    if one.fails {
        let code = 1200 + one.class as u16;
        for errors in tally.errors_of(one.node) {
            errors.record(code, "40001", "Deadlock found", || "UPDATE t".to_owned());
        }
    }
}

fn measured(tally: Tally, host: u64) -> Measured {
    Measured {
        end: WindowEnd {
            measured_s: 1.5,
            unfinished: 1,
            longest_wait_s: host as f64,
            ..WindowEnd::default()
        },
        queries_by_seat: vec![host; 2],
        queue: Queue {
            due: tally.begun,
            opened: 1,
            closed: vec![1, 2],
            oldest_wait_ns: host,
        },
        tally,
        drained: Tally::new(SHAPE),
        ..Measured::default()
    }
}

/// The form it has after it went from one host to the other.
fn sent(measured: &Measured) -> Measured {
    serde_json::from_str(&serde_json::to_string(measured).unwrap()).unwrap()
}

proptest! {
    // Each draws dozens of histograms of a quarter of a megabyte.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_parts_add_up_to_the_whole(
        hosts in 1usize..5,
        all in proptest::collection::vec(happened(4), 0..60),
    ) {
        let mut whole = Tally::new(SHAPE);
        let mut parts = vec![Tally::new(SHAPE); hosts];
        for one in &all {
            record(&mut whole, one);
            record(&mut parts[one.host % hosts], one);
        }
        let begun = whole.begun;
        let parts = (0..).zip(parts).map(|(host, tally)| sent(&measured(tally, host)));
        let sum = parts.reduce(|mut sum, part| { sum.merge(part); sum }).unwrap();
        prop_assert_eq!(&sum.tally, &whole);
        prop_assert_eq!(sum.queue.due, begun);
        let hosts = hosts as u64;
        prop_assert_eq!(&sum.queue.closed, &[hosts, 2 * hosts]);
        prop_assert_eq!(sum.queue.oldest_wait_ns, hosts - 1);
        prop_assert_eq!(sum.queries_by_seat.len() as u64, 2 * hosts);
        prop_assert_eq!((sum.end.unfinished, sum.end.measured_s), (hosts as u32, 1.5));
        prop_assert_eq!(sum.end.longest_wait_s, (hosts - 1) as f64);
    }

    /// Hosts may report in any order: an interval is the sum of those of all hosts that report it.
    #[test]
    fn intervals_wait_for_the_last_host(
        order in proptest::collection::vec(0usize..3, 0..40),
        ends in 0usize..40,
    ) {
        let mut parts = HostParts::new(3, SHAPE);
        let mut told: Vec<(u32, u64)> = Vec::new();
        let mut given: [Vec<u64>; 3] = Default::default();
        for (step, host) in order.into_iter().enumerate() {
            let tell = &mut |index, sum: PartInterval| told.push((index, sum.backlog));
            // The last host goes away at some time.
            if step == ends {
                parts.end(2, tell).unwrap();
            }
            if step < ends || host < 2 {
                let backlog = 1 + step as u64;
                given[host].push(backlog);
                let (start_s, duration_s) = (step as f64, 1.0);
                let tally = Tally::new(SHAPE);
                let interval = PartInterval { start_s, duration_s, backlog, tally };
                parts.take(host, interval, tell).unwrap();
            }
        }
        for host in 0..3 {
            let tell = &mut |index, sum: PartInterval| told.push((index, sum.backlog));
            parts.end(host, tell).unwrap();
        }
        let longest = given.iter().map(Vec::len).max().unwrap();
        let indices: Vec<u32> = told.iter().map(|(index, _)| *index).collect();
        prop_assert_eq!(indices, (0..longest as u32).collect::<Vec<_>>());
        let sum: u64 = told.iter().map(|(_, backlog)| backlog).sum();
        prop_assert_eq!(sum, given.iter().flatten().sum::<u64>());
    }
}

#[test]
fn what_is_of_another_run_is_refused() {
    let mut parts = HostParts::new(2, SHAPE);
    let other = Tally::new(TallyShape { kinds: 1, ..SHAPE });
    assert!(parts.check(&other).is_err());
    assert!(parts.check(&Tally::new(SHAPE)).is_ok());
    // The shape in a different program's text may not match its content.
    let text = serde_json::to_string(&Tally::new(SHAPE)).unwrap();
    let mut read: serde_json::Value = serde_json::from_str(&text).unwrap();
    read["classes"] = serde_json::json!([]);
    assert!(parts.check(&serde_json::from_value(read).unwrap()).is_err());
    assert!(parts.end(2, &mut |_, _| ()).is_err());
}

#[test]
fn a_run_that_somebody_stopped_was_stopped() {
    let ended = |one, other| {
        let with = |ended| {
            let mut one = measured(Tally::new(SHAPE), 0);
            one.end.ended = ended;
            one
        };
        let mut sum = with(one);
        sum.merge(with(other));
        sum.end.ended
    };
    assert_eq!(ended(Ended::Events, Ended::Events), Ended::Events);
    assert_eq!(ended(Ended::Events, Ended::Time), Ended::Time);
    assert_eq!(ended(Ended::Time, Ended::Signal), Ended::Signal);
}
