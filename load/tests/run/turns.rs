//! Runs that hop between arms whose work has an end: a slice is all of it.

use crate::fake::{self, Script};
use crate::program::{ENGINES, done, run};
use crate::slices::{Seen, Two, Watched, in_slices, slices, two};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

/// What the statements of the lists begin with.
const LISTED: &str = "SELECT 'list', ";

/// Notes which statement each of its connections asks.
#[derive(Default)]
struct Lists {
    /// By connection, in the order of their logins.
    asked: Mutex<HashMap<ThreadId, Vec<String>>>,
}

struct Noting(Arc<Lists>);

impl Script for Noting {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let text = String::from_utf8_lossy(body).into_owned();
        if command == 0x03 && text.starts_with(LISTED) {
            let mut asked = self.0.asked.lock().unwrap();
            let mine = asked.entry(std::thread::current().id()).or_default();
            mine.push(text.trim_start_matches(LISTED).to_owned());
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

/// A plan whose arms take turns with work that has an end.
fn in_turns(two: &Two, engine: &str, workload: Value) -> Value {
    let mut plan = in_slices(two, engine);
    plan["load"]["warmup_s"] = json!(0);
    plan["load"]["slices"] = json!({"slice_s": 600.0, "settle_s": 0, "rounds": 5});
    plan["workload"] = workload;
    plan
}

fn list(statements: usize, more: Value) -> Value {
    let texts: Vec<String> = (0..statements).map(|n| format!("{LISTED}{n}")).collect();
    let mut list = json!({"kind": "list", "statements": texts});
    let keys = list.as_object_mut().unwrap();
    keys.extend(more.as_object().unwrap().clone());
    list
}

/// Each slice is all events of its arm, and nothing else.
fn are_whole(slices: &[Value], events_of: &[u64]) {
    assert_eq!(slices.len(), 5 * events_of.len());
    for slice in slices {
        let expected = json!(events_of[slice["arm_index"].as_u64().unwrap() as usize]);
        assert_eq!(slice["ended"], "events", "{slice}");
        assert_eq!(slice["drained"], 0);
        for key in ["events", "begun", "queries", "answered"] {
            assert_eq!(slice[key], expected, "{key}: {slice}");
        }
        assert_eq!(slice["visit"]["events"], expected);
        assert_eq!(slice["latency_us"]["count"], expected);
        let took_s = slice["duration_s"].as_f64().unwrap();
        assert!(took_s > 0.0 && took_s <= slice["visit"]["duration_s"].as_f64().unwrap());
        // Nobody is asked after the last answer has come. A recorded time is the upper end of its
        // step, which is at most a thousandth of it; it can be all of the slice.
        let longest_s = slice["latency_us"]["max"].as_f64().unwrap() / 1e6;
        assert!(longest_s <= took_s * 1.001, "{longest_s} s: {slice}");
    }
}

#[test]
fn a_slice_of_work_that_has_an_end_is_all_of_it() {
    for engine in ENGINES {
        let lists = [Arc::new(Lists::default()), Arc::new(Lists::default())];
        let two = two(&format!("turns-{engine}"), lists.clone().map(Noting));
        let mut plan = in_turns(&two, engine, list(3, json!({"times": 2})));
        plan["load"]["connections"] = json!(5);
        plan["load"]["threads"] = json!(2);
        plan["load"]["protocol"] = json!("text");
        let output = run(&plan);
        let (done, slices) = (done(&output), slices(&output));
        are_whole(&slices, &[30, 30]);
        for (place, list) in lists.iter().enumerate() {
            // Each connection has asked its list twice a turn, from the first statement on.
            let asked = list.asked.lock().unwrap();
            assert_eq!(asked.len(), 5);
            let whole = ["0", "1", "2"].repeat(2 * 5);
            assert!(asked.values().all(|mine| *mine == whole), "{asked:?}");
            let arm = &done["arms"][place];
            assert_eq!(arm["slices"], 5);
            assert_eq!(arm["done"]["ended"], "events");
            assert_eq!(arm["done"]["events"], 150);
            assert_eq!(arm["done"]["unfinished"], 0);
            let mine = slices.iter().filter(|slice| slice["arm_index"] == place);
            let took_s: f64 = mine.map(|one| one["duration_s"].as_f64().unwrap()).sum();
            assert!((arm["done"]["measured_s"].as_f64().unwrap() - took_s).abs() < 1e-6);
        }
        assert_eq!(done["ended"], "events");
        assert_eq!(done["events"], 300);
    }
}

#[test]
fn work_that_connections_share_is_done_once_a_turn() {
    let lists = [Arc::new(Lists::default()), Arc::new(Lists::default())];
    let two = two("turns-shared", lists.clone().map(Noting));
    let mut plan = in_turns(&two, "auto", list(7, json!({"times": 3, "shared": true})));
    plan["load"]["protocol"] = json!("text");
    // As many as there are workers, and fewer than them.
    for connections in [4, 1] {
        plan["load"]["connections"] = json!(connections);
        lists
            .iter()
            .for_each(|one| one.asked.lock().unwrap().clear());
        are_whole(&slices(&run(&plan)), &[21, 21]);
        for list in &lists {
            let asked = list.asked.lock().unwrap();
            let mut counts = HashMap::new();
            for statement in asked.values().flatten() {
                *counts.entry(statement.as_str()).or_insert(0) += 1;
            }
            assert_eq!(counts.len(), 7);
            assert!(counts.values().all(|count| *count == 3 * 5), "{counts:?}");
        }
    }
    // A number of events that no list has, under a schedule too.
    let points = json!({"kind": "point_select", "rows": 1000});
    let mut plan = in_turns(&two, "auto", points);
    plan["load"]["events"] = json!(10);
    are_whole(&slices(&run(&plan)), &[10, 10]);
    plan["load"]["arrival"] = json!({"kind": "open", "stages": [{"rate": 2000}]});
    are_whole(&slices(&run(&plan)), &[10, 10]);
}

#[test]
fn work_that_has_an_end_is_whole_at_depth() {
    for engine in ENGINES {
        let lists = [Arc::new(Lists::default()), Arc::new(Lists::default())];
        let two = two(&format!("turns-depth-{engine}"), lists.clone().map(Noting));
        let mut plan = in_turns(&two, engine, list(3, json!({"times": 4})));
        plan["load"]["protocol"] = json!("text");
        plan["load"]["connections"] = json!(2);
        plan["load"]["depth"] = json!(8);
        are_whole(&slices(&run(&plan)), &[24, 24]);
        for list in &lists {
            let asked = list.asked.lock().unwrap();
            assert_eq!(asked.len(), 2);
            // A turn begins when all answers of the turn before have come.
            let whole = ["0", "1", "2"].repeat(4 * 5);
            assert!(asked.values().all(|mine| *mine == whole), "{asked:?}");
        }
        // A number of events for all connections, fewer than may be under way.
        plan["workload"] = json!({"kind": "point_select", "rows": 1000});
        plan["load"]["events"] = json!(10);
        are_whole(&slices(&run(&plan)), &[10, 10]);
    }
}

#[test]
fn arms_have_lists_of_their_own_length_and_a_warm_up_leaves_them_whole() {
    let lists = [Arc::new(Lists::default()), Arc::new(Lists::default())];
    let two = two("turns-lengths", lists.clone().map(Noting));
    let mut plan = in_turns(&two, "auto", list(3, json!({"times": 1})));
    plan["load"]["protocol"] = json!("text");
    plan["arms"][1]["workload"] = list(5, json!({"times": 2, "shared": true}));
    are_whole(&slices(&run(&plan)), &[12, 10]);
    plan["load"]["warmup_s"] = json!(0.02);
    are_whole(&slices(&run(&plan)), &[12, 10]);
    for mine in lists[0].asked.lock().unwrap().values() {
        // A warm-up may end within the list.
        assert_eq!(mine.last().unwrap(), "2");
    }
}

#[test]
fn work_that_is_not_done_in_time_is_told_and_the_next_turn_is_whole_again() {
    let seen = Arc::new(Seen::default());
    let mut slow = Watched::of(&seen);
    slow.pause = Duration::from_millis(20);
    let two = two("turns-late", [slow, Watched::of(&seen)]);
    let mut plan = in_turns(&two, "auto", json!({"kind": "point_select", "rows": 1000}));
    plan["load"]["events_each"] = json!(1000);
    plan["load"]["slices"] = json!({"slice_s": 0.2, "settle_s": 0, "rounds": 3});
    let output = run(&plan);
    let (done, slices) = (done(&output), slices(&output));
    for slice in slices.iter().filter(|slice| slice["arm"] == "off") {
        assert_eq!(
            (&slice["ended"], &slice["duration_s"]),
            (&json!("time"), &json!(0.2))
        );
        assert_eq!(slice["begun"], slice["events"]);
    }
    assert_eq!(done["arms"][0]["done"]["ended"], "time");
    assert_eq!(done["ended"], "time");
}

#[test]
fn a_list_without_an_end_that_is_shared_is_cut_by_time() {
    let seen = Arc::new(Seen::default());
    let two = two("turns-endless", [Watched::of(&seen), Watched::of(&seen)]);
    let mut plan = in_slices(&two, "auto");
    plan["workload"] = list(3, json!({"shared": true}));
    plan["load"]["protocol"] = json!("text");
    let slices = slices(&run(&plan));
    assert_eq!(slices.len(), 12);
    assert!(slices.iter().all(|slice| slice["ended"] == "time"));
    assert!(slices.iter().all(|slice| slice["duration_s"] == 0.1));
}
