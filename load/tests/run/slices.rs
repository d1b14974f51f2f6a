//! Runs that hop between arms.

use crate::fake::{self, FakeServer, Script};
use crate::program::{ENGINES, Folder, done, failure, lines, plan, run};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::Output;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What several servers saw together.
#[derive(Default)]
pub struct Seen {
    /// Queries that were asked and not answered.
    asked: AtomicI64,
    /// Statements on entering, each with how many were.
    entered: Mutex<Vec<(String, i64)>>,
}

pub struct Watched {
    seen: Arc<Seen>,
    pub pause: Duration,
    /// Closes the connection of this query.
    ends_at: u64,
    number: AtomicU64,
}

impl Watched {
    pub fn of(seen: &Arc<Seen>) -> Self {
        Self {
            seen: Arc::clone(seen),
            pause: Duration::from_millis(1),
            ends_at: u64::MAX,
            number: AtomicU64::new(0),
        }
    }
}

impl Script for Watched {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let text = String::from_utf8_lossy(body).into_owned();
        if command == 0x03 && text.starts_with("SET ") {
            let asked = self.seen.asked.load(SeqCst);
            self.seen
                .entered
                .lock()
                .unwrap()
                .push((text.clone(), asked));
            if text.contains("wrong") {
                let error = fake::error(1, 1193, "HY000", "Unknown system variable");
                return to.write_all(&error).is_ok();
            }
            return to.write_all(&fake::packet(1, fake::OK)).is_ok();
        }
        if command != 0x17 {
            return to.write_all(&fake::right_answer(command)).is_ok();
        }
        self.seen.asked.fetch_add(1, SeqCst);
        if self.number.fetch_add(1, SeqCst) >= self.ends_at {
            return false;
        }
        std::thread::sleep(self.pause);
        self.seen.asked.fetch_sub(1, SeqCst);
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

pub struct Two {
    folders: [Folder; 2],
    servers: [FakeServer; 2],
}

pub fn two<S: Script>(name: &str, scripts: [S; 2]) -> Two {
    let folders = ["a", "b"].map(|arm| Folder::new(&format!("{name}-{arm}")));
    let [a, b] = scripts;
    let servers = [
        FakeServer::start(&folders[0].0, a),
        FakeServer::start(&folders[1].0, b),
    ];
    Two { folders, servers }
}

pub fn in_slices(two: &Two, engine: &str) -> Value {
    let mut plan = plan(&two.servers[0].socket, engine);
    let load = plan["load"].as_object_mut().unwrap();
    load.remove("measure_s");
    load.insert(
        "slices".to_owned(),
        json!({"slice_s": 0.1, "settle_s": 0.005, "rounds": 6}),
    );
    let pid = std::process::id();
    plan["arms"] = json!([
        {"name": "off", "enter": ["SET x = 0", "SET y = 0"], "watch": {"pid": pid}},
        {
            "name": "on",
            "enter": ["SET x = 1"],
            "server": {"socket": two.servers[1].socket, "connect_timeout_s": 60.0}
        },
    ]);
    plan
}

/// Fewer slices, each long enough for an event of several statements on a crowded host.
fn few_long(plan: &mut Value) {
    plan["load"]["slices"]["slice_s"] = json!(0.4);
    plan["load"]["slices"]["rounds"] = json!(3);
}

pub fn slices(output: &Output) -> Vec<Value> {
    let lines = lines(output);
    let slices = lines.into_iter().filter(|line| line["type"] == "slice");
    slices.collect()
}

#[test]
fn each_arm_has_one_slice_a_round_and_nothing_is_asked_while_an_arm_is_entered() {
    for engine in ENGINES {
        let seen = Arc::new(Seen::default());
        let two = two(
            &format!("slices-{engine}"),
            [Watched::of(&seen), Watched::of(&seen)],
        );
        let output = run(&in_slices(&two, engine));
        let (done, slices) = (done(&output), slices(&output));
        assert_eq!(slices.len(), 12);
        for (index, slice) in slices.iter().enumerate() {
            assert_eq!(slice["index"], index);
            assert_eq!(slice["round"], index / 2);
            assert_eq!(slice["position"], index % 2);
            assert_eq!(slice["duration_s"], 0.1);
            assert_eq!(slice["begun"], slice["events"]);
            assert_eq!(slice["latency_us"]["count"], slice["events"]);
            let (events, drained) = (slice["events"].as_u64(), slice["drained"].as_u64());
            // On a host that stalls, a slice may have no answer but those it had to wait for.
            assert!(events >= drained && drained <= Some(4), "{slice}");
            // Settling is in the visit and in no other figure.
            assert!(slice["visit"]["events"].as_u64() >= events, "{slice}");
            assert!(slice["watched_cpu_us"][0].is_number(), "{slice}");
            assert!(slice["visit"]["watched"][0]["voluntary_switches"].is_number());
        }
        for round in slices.chunks(2) {
            let mut arms = [&round[0]["arm"], &round[1]["arm"]];
            arms.sort_by_key(|arm| arm.to_string());
            assert_eq!(arms, ["off", "on"]);
        }
        // Before the first round each arm warms up; all that was entered found nothing asked.
        let entered = seen.entered.lock().unwrap();
        assert_eq!(entered.len(), 7 * 3);
        assert!(entered.iter().all(|(_, asked)| *asked == 0), "{entered:?}");
        let sum = |key: &str| {
            let counts = slices.iter().map(|slice| slice[key].as_u64().unwrap());
            counts.sum::<u64>()
        };
        assert!(sum("events") > sum("drained"));
        assert_eq!(done["events"], sum("events"));
        assert_eq!(done["drained"]["events"], sum("drained"));
        assert_eq!(done["arms"][0]["arm"], "off");
        assert_eq!(done["arms"][1]["slices"], 6);
        // Each arm has the figures of a run of its own, and together they are those of the run.
        let of_arms = |key: &str| {
            let arms = done["arms"].as_array().unwrap().iter();
            arms.map(|arm| arm["done"][key].as_u64().unwrap())
                .sum::<u64>()
        };
        for key in ["events", "queries", "answered", "begun", "rows"] {
            assert_eq!(done[key], of_arms(key), "{key}");
        }
        let off = &done["arms"][0]["done"];
        assert_eq!(off["latency_us"]["count"], off["events"]);
        assert_eq!(off["classes"][0]["queries"], off["queries"]);
        assert_eq!(off["ended"], "time");
        assert!((off["measured_s"].as_f64().unwrap() - 0.6).abs() < 1e-6);
        assert!(off["server"]["cpu_us"].as_f64().unwrap() > 0.0);
        assert!(off["server"]["voluntary_switches"].is_number());
        assert!(off["client_busiest_thread_share"].as_f64().unwrap() > 0.0);
        assert!(off["fairness"].as_f64().unwrap() > 0.1);
        assert_eq!(done["arms"][1]["done"]["server"], Value::Null);
        // The load, the look for room and the statements; nothing was connected anew.
        assert!(two.servers.iter().all(|server| server.connections() == 6));
    }
}

#[test]
fn the_order_of_the_arms_is_the_seeds() {
    let seen = Arc::new(Seen::default());
    let two = two("slices-order", [Watched::of(&seen), Watched::of(&seen)]);
    let order = |seed: u64| {
        let mut plan = in_slices(&two, "auto");
        plan["seed"] = json!(seed);
        let slices = slices(&run(&plan));
        let arms = slices
            .iter()
            .map(|slice| slice["arm_index"].as_u64().unwrap());
        arms.collect::<Vec<u64>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn an_open_loop_hops_too() {
    let seen = Arc::new(Seen::default());
    let two = two("slices-open", [Watched::of(&seen), Watched::of(&seen)]);
    let mut plan = in_slices(&two, "auto");
    plan["load"]["arrival"] =
        json!({"kind": "open", "process": "even", "stages": [{"rate": 1000}]});
    let output = run(&plan);
    done(&output);
    for slice in slices(&output) {
        let due = slice["begun"].as_u64().unwrap() + slice["not_begun"].as_u64().unwrap();
        assert_eq!(due, 100, "{slice}");
        assert_eq!(slice["begun"], slice["events"]);
    }
}

#[test]
fn an_arm_asks_in_its_own_way() {
    for engine in ENGINES {
        let seen = Arc::new(Seen::default());
        let name = format!("slices-own-{engine}");
        let two = two(&name, [Watched::of(&seen), Watched::of(&seen)]);
        let mut plan = in_slices(&two, engine);
        let second = json!({"socket": two.servers[1].socket, "connect_timeout_s": 60.0});
        plan["arms"] = json!([
            {"name": "as the plan"},
            {"name": "text", "protocol": "text"},
            {"name": "points", "protocol": "text",
             "workload": {"kind": "random_points", "rows": 1000, "points": 3}},
            {"name": "parts", "protocol": "text",
             "workload": {"kind": "read_only", "rows": 1000, "point_selects": 1}},
            {"name": "open", "arrival": {"kind": "open", "stages": [{"rate": 200}]}},
            {"name": "nodes", "nodes": [{"name": "a"}, {"name": "b", "server": second}]},
        ]);
        few_long(&mut plan);
        let output = run(&plan);
        let (done, slices) = (done(&output), slices(&output));
        assert_eq!(slices.len(), 18);
        let of = |place: usize| &done["arms"][place]["done"];
        let classes = |place: usize| of(place)["classes"].as_array().unwrap().len();
        assert_eq!([0, 1, 2, 3, 4, 5].map(classes), [1, 1, 1, 7, 1, 1]);
        assert_eq!(of(2)["classes"][0]["name"], "random_points");
        let parts = of(3);
        assert!(parts["queries"].as_u64().unwrap() > parts["events"].as_u64().unwrap());
        assert_eq!(parts["latency_us"]["count"], parts["events"]);
        // Only one of them has a schedule, and only one has nodes.
        let has = |key: &str| [0, 1, 2, 3, 4, 5].map(|place| !of(place)[key].is_null());
        assert_eq!(has("open"), [false, false, false, false, true, false]);
        let nodes = |place: usize| of(place)["nodes"].as_array().map_or(0, Vec::len);
        assert_eq!([0, 1, 2, 3, 4, 5].map(nodes), [0, 0, 0, 0, 0, 2]);
        let shares = [0, 1].map(|node| of(5)["nodes"][node]["queries"].as_u64().unwrap());
        assert!(shares.iter().all(|queries| *queries > 0), "{shares:?}");
        assert_eq!(shares[0] + shares[1], of(5)["queries"].as_u64().unwrap());
        // Together they have events and queries, and no classes in common.
        let sum = |key: &str| {
            let arms = [0, 1, 2, 3, 4, 5].map(|place| of(place)[key].as_u64().unwrap());
            arms.iter().sum::<u64>()
        };
        for key in ["events", "queries", "answered", "begun", "rows"] {
            assert_eq!(done[key], sum(key), "{key}");
        }
        assert_eq!(done["classes"], json!([]));
        assert_eq!(done["nodes"], Value::Null);
    }
}

#[test]
fn scripts_of_several_arms_run_side_by_side() {
    let seen = Arc::new(Seen::default());
    let two = two("slices-scripts", [Watched::of(&seen), Watched::of(&seen)]);
    let mut plan = in_slices(&two, "auto");
    let script = |points: u32| {
        let options = json!({"tables": 1, "table_size": 100, "skip_trx": true,
            "point_selects": points, "range_selects": false, "db_ps_mode": "disable"});
        json!({"kind": "lua", "script": "oltp_read_only", "options": options})
    };
    plan["arms"] = json!([
        {"name": "one", "workload": script(1)},
        {"name": "four", "workload": script(4)},
        {"name": "native"},
    ]);
    few_long(&mut plan);
    let output = run(&plan);
    let done = done(&output);
    let per_event = |place: usize| {
        let of = &done["arms"][place]["done"];
        of["queries"].as_u64().unwrap() as f64 / of["events"].as_u64().unwrap() as f64
    };
    assert!((per_event(0) - 1.0).abs() < 0.05, "{done}");
    assert!((per_event(1) - 4.0).abs() < 0.2, "{done}");
    assert!((per_event(2) - 1.0).abs() < 1e-9, "{done}");
}

#[test]
fn an_arm_that_cannot_be_reached_is_named() {
    let seen = Arc::new(Seen::default());
    let two = two("slices-nobody", [Watched::of(&seen), Watched::of(&seen)]);
    let mut plan = in_slices(&two, "auto");
    plan["arms"][1]["server"]["socket"] = json!(two.folders[1].0.join("nobody.sock"));
    let failure = failure(&run(&plan));
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.starts_with("arm \"on\": cannot connect to"),
        "{message}"
    );
    assert!(message.contains("nobody.sock"), "{message}");
}

#[test]
fn an_arm_that_dies_ends_the_run_with_what_was_measured() {
    for engine in ENGINES {
        let seen = Arc::new(Seen::default());
        let mut dies = Watched::of(&seen);
        // In its third slice or so: 4 connections ask some 400 queries each in one.
        dies.ends_at = 4000;
        let two = two(&format!("slices-dies-{engine}"), [Watched::of(&seen), dies]);
        let mut plan = in_slices(&two, engine);
        plan["load"]["warmup_s"] = json!(0);
        // Each long enough for an answer on a host that stands still for a moment.
        plan["load"]["slices"]["slice_s"] = json!(0.5);
        plan["load"]["slices"]["rounds"] = json!(1000);
        let output = run(&plan);
        assert!(!slices(&output).is_empty());
        let message = failure(&output)["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("arm \"on\": a connection to "),
            "{message}"
        );
    }
}

#[test]
fn a_statement_that_fails_on_entering_is_told_with_its_arm() {
    let seen = Arc::new(Seen::default());
    let two = two("slices-enter", [Watched::of(&seen), Watched::of(&seen)]);
    let mut plan = in_slices(&two, "auto");
    plan["arms"][1]["enter"] = json!(["SET wrong = 1"]);
    let failure = failure(&run(&plan));
    assert!(
        failure["message"]
            .as_str()
            .unwrap()
            .starts_with("arm \"on\": "),
        "{failure}"
    );
    assert_eq!(failure["code"], 1193);
    assert_eq!(failure["statement"], "SET wrong = 1");
}

#[test]
fn a_slice_that_no_answer_fits_in_is_refused() {
    for settle_s in [0.0, 0.02] {
        let seen = Arc::new(Seen::default());
        let mut slow = Watched::of(&seen);
        slow.pause = Duration::from_millis(300);
        let two = two("slices-slow", [slow, Watched::of(&seen)]);
        let mut plan = in_slices(&two, "auto");
        plan["load"]["slices"]["settle_s"] = json!(settle_s);
        let failure = failure(&run(&plan));
        let message = failure["message"].as_str().unwrap();
        assert!(
            message.starts_with("arm \"off\": slices of 0.1 s are too short"),
            "{message}"
        );
        assert!(failure["hint"].as_str().unwrap().contains("slice_s"));
    }
}

#[test]
fn a_long_query_counts_by_the_part_of_its_time_inside() {
    // A pause is never too short, so there are at most ten queries a second on each connection.
    // Whole ones would be three in each slice, twelve a second.
    // Each is an event too.
    let is_right = |figures: &Value, duration: &str, connections: f64| {
        let [queries, events, duration] =
            ["qps", "events_in_parts", duration].map(|name| figures[name].as_f64().unwrap());
        for rate in [queries, events / duration] {
            let each = rate / connections;
            assert!((5.0..=10.0).contains(&each), "{each} a second: {figures}");
        }
    };
    let seen = Arc::new(Seen::default());
    let slow = || Watched {
        pause: Duration::from_millis(100),
        ..Watched::of(&seen)
    };
    let two = two("slices-parts", [slow(), slow()]);
    let mut plan = in_slices(&two, "auto");
    let connections = plan["load"]["connections"].as_f64().unwrap();
    plan["load"]["slices"] = json!({"slice_s": 0.25, "settle_s": 0.19, "rounds": 4});
    let output = run(&plan);
    slices(&output)
        .iter()
        .for_each(|slice| is_right(slice, "duration_s", connections));
    is_right(&done(&output), "measured_s", connections);
    let mut whole = crate::program::plan(&two.servers[0].socket, "auto");
    whole["load"]["warmup_s"] = json!(0.19);
    whole["load"]["measure_s"] = json!(0.25);
    is_right(&done(&run(&whole)), "measured_s", connections);
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_asked() {
    let seen = Arc::new(Seen::default());
    let two = two("slices-refused", [Watched::of(&seen), Watched::of(&seen)]);
    let refused = |change: &dyn Fn(&mut Value), words: &str| {
        let mut plan = in_slices(&two, "auto");
        change(&mut plan);
        let output = run(&plan);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    };
    refused(
        &|p| p["load"]["slices"]["rounds"] = json!(0),
        "load.slices.rounds: 0",
    );
    refused(
        &|p| p["load"]["slices"]["settle_s"] = json!(0.2),
        "load.slices: slice_s, 0.1 s, is shorter than settle_s, 0.2 s",
    );
    refused(
        &|p| p["load"]["slices"]["rest_s"] = json!(-1),
        "load.slices.rest_s: -1",
    );
    refused(&|p| p["load"]["measure_s"] = json!(1), "load.measure_s: ");
    refused(
        &|p| p["load"]["events"] = json!(10),
        "load.slices.settle_s: the workload has an end",
    );
    refused(&|p| p["arms"] = json!([]), "load.slices: ");
    refused(&|p| p["arms"][1]["name"] = json!("off"), "arms[1].name: ");
    refused(&|p| p["arms"][0]["enter"] = json!([" "]), "arms[0].enter: ");
    refused(&|p| p["arms"][1]["server"] = json!({}), "arms[1].server: ");
    let arm = |key: &str, value: Value| {
        let key = key.to_owned();
        move |p: &mut Value| p["arms"][1][key.as_str()] = value.clone()
    };
    refused(
        &arm("workload", json!({"kind": "point_select", "rows": 0})),
        "arms[1]: workload.rows: 0",
    );
    refused(
        &arm(
            "workload",
            json!({"kind": "list", "statements": ["SELECT 1"], "times": 2}),
        ),
        "arms[1]: load.slices.settle_s: ",
    );
    refused(
        &arm(
            "workload",
            json!({"kind": "scan", "parts": [{"name": "a", "statement": "SELECT 1"}]}),
        ),
        "arms[1]: workload.kind: a scan reads each range once",
    );
    refused(
        &arm("arrival", json!({"kind": "open", "stages": []})),
        "arms[1]: load.arrival.stages: ",
    );
    refused(
        &arm("route", json!({"by": "round_robin"})),
        "arms[1]: load.route: ",
    );
    refused(
        &|p| p["nodes"] = json!([{"name": "a"}]),
        "nodes: in a run with arms each arm has its own",
    );
    refused(
        &|p| {
            p["load"].as_object_mut().unwrap().remove("slices");
            p["load"]["measure_s"] = json!(1);
        },
        "arms: a run with arms needs load.slices",
    );
    refused(
        &|p| {
            let stages = json!([{"rate": 10, "duration_s": 1}, {"rate": 20}]);
            p["load"]["arrival"] = json!({"kind": "open", "stages": stages});
        },
        "load.arrival.stages: ",
    );
    assert!(two.servers.iter().all(|server| server.connections() == 0));
}

#[test]
fn servers_that_are_at_rest_are_not_waited_for() {
    let seen = Arc::new(Seen::default());
    let two = two("slices-rest", [Watched::of(&seen), Watched::of(&seen)]);
    let mut plan = in_slices(&two, "auto");
    plan["load"]["slices"]["rounds"] = json!(2);
    // Nobody is watched, so nothing works on after a slice; an hour would be noticed.
    plan["arms"][0].as_object_mut().unwrap().remove("watch");
    plan["load"]["slices"]["rest_s"] = json!(3600);
    let output = run(&plan);
    done(&output);
    assert_eq!(slices(&output).len(), 4);
}
