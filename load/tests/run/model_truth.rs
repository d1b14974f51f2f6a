//! What the model server counts of itself is what it was told to do.

use crate::model_server::Model;
use serde_json::{Value, json};

const ROWS: u32 = 20_000;
const EVENTS: u64 = 300;

/// The truth after a load of 5 points a query.
fn truth(name: &str, knobs: &[&str], connections: u32) -> Value {
    let rows = format!("--rows={ROWS}");
    let server = Model::start(name, &[knobs, &[rows.as_str()]].concat());
    let load = json!({"connections": connections, "measure_s": 600, "events": EVENTS});
    let workload = json!({"kind": "random_points", "rows": ROWS, "points": 5});
    let done = server.load(workload, load);
    assert_eq!(
        (&done["events"], &done["errors"]),
        (&json!(EVENTS), &json!([])),
        "{done}"
    );
    let (_, truth) = server.stop();
    assert_eq!(truth["queries"], EVENTS);
    assert_eq!(
        (&truth["rows"], &truth["points"]),
        (&done["rows"], &done["rows"])
    );
    truth
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// How often something was done and how long it took, in nanoseconds.
fn timed(truth: &Value, name: &str) -> (u64, u64) {
    (number(&truth[name]["times"]), number(&truth[name]["ns"]))
}

fn of_segments(truth: &Value, name: &str) -> u64 {
    truth["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| number(&one[name]))
        .sum()
}

/// What was spun is no less than asked for, but for the grain of the counter, and at most one
/// reading of it and a short interruption more.
fn spun(truth: &Value, name: &str, times: u64, each_ns: u64) {
    let (found, ns) = timed(truth, name);
    assert_eq!(found, times, "{name}");
    let asked = times * each_ns;
    assert!(ns as f64 >= asked as f64 * 0.999, "{name}: {ns} of {asked}");
    assert!(ns <= asked + times * 10_000, "{name}: {ns} of {asked}");
}

#[test]
fn work_under_and_outside_the_lock_is_what_was_asked_and_is_held() {
    let plain = truth("plain", &["--variable=key_cache_segments=8"], 1);
    let knobs = [
        "--variable=key_cache_segments=8",
        "--knob=under_lock_ns=20000",
        "--knob=outside_lock_ns=5000",
    ];
    let turned = truth("turned", &knobs, 1);
    let requests = of_segments(&turned, "read_requests");
    assert_eq!(requests, of_segments(&plain, "read_requests"));
    for name in [
        "under_lock",
        "outside_lock",
        "leak",
        "speed",
        "delays",
        "second_lock",
        "row_lock",
    ] {
        assert_eq!(timed(&plain, name), (0, 0), "{name}");
    }
    spun(&turned, "under_lock", requests, 20_000);
    spun(&turned, "outside_lock", requests, 5_000);
    // A request visits twice, and a miss once more.
    let visits = of_segments(&turned, "visits");
    assert_eq!(visits, 2 * requests + of_segments(&turned, "reads"));
    let sampled = of_segments(&turned, "sampled");
    assert!(
        (visits / 64 - 1..=visits / 64 + 1).contains(&sampled),
        "{sampled} of {visits}"
    );
    // Held is what was spun and a little more; it is told from a sample, of which half the visits
    // are those with the work.
    let held_ns = of_segments(&turned, "held_ns") as f64 * visits as f64 / sampled as f64;
    let under_ns = timed(&turned, "under_lock").1 as f64;
    assert!(held_ns > under_ns * 0.85, "{held_ns} of {under_ns}");
}

#[test]
fn a_lock_that_is_held_long_is_waited_for() {
    for lock in ["adaptive", "normal", "std", "parking_lot", "fair"] {
        let knobs = [
            format!("--knob=lock={lock}"),
            "--knob=second_lock_ns=200000".to_owned(),
        ];
        let knobs: Vec<&str> = knobs.iter().map(String::as_str).collect();
        // On a busy host four connections may take turns and never meet: they try until they do.
        let waited = (0..50).any(|_| {
            let truth = truth("second", &knobs, 4);
            spun(&truth, "second_lock", EVENTS, 200_000);
            assert_eq!(truth["knobs"]["lock"], lock);
            number(&truth["second_lock_waits"]) > 0
        });
        assert!(waited, "{lock}");
    }
}

#[test]
fn only_the_middle_row_has_a_lock() {
    let server = Model::start("row", &["--rows=1001", "--knob=row_lock_ns=3000"]);
    let mut control = server.control();
    for _ in 0..20 {
        control.rows("SELECT id FROM sbtest WHERE k IN (1, 500, 501, 502, 1001)");
    }
    let (_, truth) = server.stop();
    spun(&truth, "row_lock", 20, 3_000);
    assert_eq!(
        (&truth["rows"], &truth["row_lock_waits"]),
        (&json!(100), &json!(0))
    );
}

#[test]
fn sleeps_misses_and_leaks_are_counted_as_long_as_they_were() {
    let knobs = [
        "--variable=key_buffer_size=128K",
        "--knob=miss_ns=100000",
        "--knob=delay_us=500",
        "--knob=leak_ns_per_s=100000",
    ];
    let truth = truth("slept", &knobs, 2);
    let (misses, miss_ns) = timed(&truth, "misses");
    assert_eq!(misses, of_segments(&truth, "reads"));
    assert!(misses > EVENTS && miss_ns >= misses * 100_000, "{truth}");
    let (delays, delay_ns) = timed(&truth, "delays");
    assert!(delays == EVENTS && delay_ns >= EVENTS * 500_000, "{truth}");
    let (leaks, leak_ns) = timed(&truth, "leak");
    assert!(leaks == EVENTS && leak_ns > 0, "{truth}");
    // No query leaks more than the last one.
    let most_ns = number(&truth["uptime_ns"]) / 10_000 + 10_000;
    assert!(leak_ns <= EVENTS * most_ns, "{truth}");
}

#[test]
fn more_threads_than_blocks_wait_for_one_another_and_find_every_row() {
    for lock in ["adaptive", "std", "fair"] {
        let lock = format!("--knob=lock={lock}");
        let knobs = [
            "--variable=key_buffer_size=20K",
            "--knob=miss_ns=50000",
            &lock,
        ];
        let truth = truth("few-blocks", &knobs, 24);
        assert_eq!(truth["rows"], truth["points"]);
        let blocks = number(&truth["key_buffer_size"]) / 1_024;
        assert!(blocks <= 20, "{blocks}");
        assert!(timed(&truth, "block_waits").0 > 0, "{truth}");
        assert!(timed(&truth, "page_waits").0 > 0, "{truth}");
    }
}

#[test]
fn pages_can_come_from_a_real_file() {
    let folder = crate::program::Folder::new("model-pages");
    let at = format!("--rows-in={}", folder.0.display());
    let knobs = ["--knob=miss=read", "--variable=key_buffer_size=128K", &at];
    let truth = truth("read", &knobs, 3);
    let (misses, ns) = timed(&truth, "misses");
    assert!(misses > EVENTS && ns > 0, "{truth}");
    let index = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|file| file.unwrap().path());
    let index = index.filter(|path| path.extension().is_some_and(|end| end == "index"));
    let bytes: Vec<u64> = index.map(|path| path.metadata().unwrap().len()).collect();
    assert_eq!(bytes, [number(&truth["index"]["pages"]) * 1024]);
}

#[test]
fn a_speed_is_kept_in_cpu_time() {
    for (speed, more) in [("1.0", 0.1), ("1.05", 1.1 / 1.05 - 1.0), ("1.1", 0.0)] {
        let truth = truth("speed", &[&format!("--knob=speed={speed}")], 2);
        let natural_ns = number(&truth["natural_cpu_ns"]) as f64;
        let (times, ns) = timed(&truth, "speed");
        assert_eq!(times, EVENTS);
        let wanted_ns = natural_ns * more;
        let (least, most) = (
            wanted_ns * 0.999,
            wanted_ns * 1.001 + EVENTS as f64 * 10_000.0,
        );
        assert!((least..=most).contains(&(ns as f64)), "{ns} of {wanted_ns}");
    }
}

#[test]
fn all_queries_stand_still_in_a_stall() {
    let knobs = [
        "--rows=5000",
        "--knob=stall_every_s=0.4",
        "--knob=stall_ms=150",
    ];
    let server = Model::start("stall", &knobs);
    let workload = json!({"kind": "random_points", "rows": 5000, "points": 1});
    let done = server.load(workload, json!({"connections": 3, "measure_s": 1.2}));
    assert_eq!(done["errors"], json!([]), "{done}");
    assert!(
        done["latency_us"]["max"].as_f64().unwrap() >= 140_000.0,
        "{done}"
    );
    let (_, truth) = server.stop();
    let (stalls, ns) = timed(&truth, "stalls");
    assert!(stalls >= 2 && ns >= (stalls - 1) * 150_000_000, "{truth}");
    let (waits, waited_ns) = timed(&truth, "waits_for_changes");
    assert!(waits >= 3 && waited_ns > 100_000_000, "{truth}");
}

#[test]
fn the_truth_is_told_whenever_it_is_asked_for_and_before_the_cache_is_changed() {
    let server = Model::start("asked", &["--rows=5000"]);
    let mut control = server.control();
    control.rows("SELECT id FROM sbtest WHERE k IN (1, 2, 3)");
    let wait = |count: usize| {
        while server.truths().len() < count {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        server.truths().pop().unwrap()
    };
    server.signal(libc::SIGUSR1);
    let first = wait(1);
    assert_eq!(
        (&first["ended"], &first["points"]),
        (&json!(false), &json!(3))
    );
    assert_eq!(
        (&first["epoch"], &first["key_cache_segments"]),
        (&json!(0), &json!(0))
    );
    control.rows("SELECT id FROM sbtest WHERE k IN (4)");
    control.run("SET GLOBAL key_cache_segments = 3");
    let before = wait(2);
    assert_eq!(
        (&before["points"], &before["epoch"]),
        (&json!(4), &json!(0))
    );
    assert!(of_segments(&before, "visits") > of_segments(&first, "visits"));
    let (_, last) = server.stop();
    // Counts go on, those of the segments begin anew.
    assert_eq!((&last["points"], &last["epoch"]), (&json!(4), &json!(1)));
    assert_eq!(last["segments"].as_array().unwrap().len(), 3);
    assert_eq!(of_segments(&last, "visits"), 0);
    let last_time = number(&last["uptime_ns"]);
    assert!(
        last_time > number(&before["uptime_ns"])
            && number(&before["uptime_ns"]) > number(&first["uptime_ns"])
    );
}
