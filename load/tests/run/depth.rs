//! Several requests under way on a connection.

use crate::fake::{self, FakeServer, Script};
use crate::null_server::{Server, plan as asked, run as last, socket};
use crate::program::{ENGINES, Folder, done, of_events, plan, run};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn points() -> Value {
    json!({"kind": "point_select", "rows": 1000})
}

/// What the program says of a plan that it refuses.
fn refusal(plan: &Value) -> String {
    let output = run(plan);
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

/// Every event begun has ended, failed, or not ended; every query is one of an event.
fn add_up(done: &Value) {
    let count = |name: &str| done[name].as_u64().unwrap();
    assert_eq!(
        count("begun"),
        count("events") + count("failed") + count("unfinished"),
        "{done}"
    );
    assert_eq!(done["latency_us"]["count"], done["events"], "{done}");
}

#[test]
fn events_are_counted_exactly_at_any_depth() {
    let server = Server::start("depth", &["--threads", "2"]);
    for engine in ENGINES {
        for (depth, connections, protocol) in [
            (1, 3, "prepared"),
            (8, 1, "text"),
            (8, 3, "prepared"),
            (64, 1, "prepared"),
            (64, 5, "text"),
        ] {
            let load = |limit: &str, count: u64| {
                let mut load = json!({"connections": connections, "depth": depth, "engine": engine,
                    "protocol": protocol, "measure_s": 600});
                load[limit] = json!(count);
                load
            };
            let what = format!("{engine} {depth} {connections} {protocol}");
            for (limit, events) in [("events", 3_001), ("events_each", 3_001 * connections)] {
                let done = last(&asked(socket(&server.socket), points(), load(limit, 3_001)));
                add_up(&done);
                assert_eq!(done["events"], json!(events), "{what}");
                assert_eq!(
                    (&done["rows"], &done["queries"]),
                    (&json!(events), &json!(events))
                );
                assert_eq!(
                    done["setup_connect_us"]["count"],
                    json!(connections),
                    "{what}"
                );
                assert_eq!(
                    (&done["connections"], &done["depth"]),
                    (&json!(connections), &json!(depth))
                );
                if limit == "events_each" {
                    assert_eq!(done["least_served"], json!(3_001), "{what}");
                }
            }
            let mut load = load("events", 1);
            (load["measure_s"], load["warmup_s"]) = (json!(0.2), json!(0.1));
            load.as_object_mut().unwrap().remove("events");
            let done = last(&asked(socket(&server.socket), points(), load));
            add_up(&done);
            assert_eq!(
                (&done["failed"], &done["unfinished"]),
                (&json!(0), &json!(0)),
                "{what}"
            );
            assert_eq!(done["errors"], json!([]));
        }
    }
}

#[test]
fn bytes_of_several_answers_are_those_of_each() {
    let server = Server::start("depth-bytes", &[]);
    let bytes = |depth: u32| {
        let load = json!({"connections": 2, "depth": depth, "measure_s": 600, "events": 500,
            "protocol": "text"});
        let done = last(&asked(socket(&server.socket), points(), load));
        (done["bytes_sent"].clone(), done["bytes_received"].clone())
    };
    assert_eq!(bytes(1), bytes(16));
}

/// Sleeps as the server that answers one request after the other, and notes how many of them it
/// has read before it answered the first.
#[derive(Clone, Default)]
struct Slow(Arc<AtomicUsize>);

impl Script for Slow {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        if number > 0 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn each_request_is_timed_from_its_own_start() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("depth-slow-{engine}"));
        let server = FakeServer::start(&folder.0, Slow::default());
        let mut plan = of_events(plan(&server.socket, engine), 24);
        (plan["load"]["connections"], plan["load"]["depth"]) = (json!(1), json!(4));
        let slow = done(&run(&plan));
        add_up(&slow);
        // The first waits for one service, the others for those before them too: three for the
        // fourth, and each of all that follow comes behind three others.
        let latency = &slow["latency_us"];
        let us = |name: &str| latency[name].as_f64().unwrap();
        assert!(us("min") >= 19_900.0 && us("p50") >= 79_000.0, "{latency}");
        let sum = us("mean") * 24.0;
        assert!(
            sum >= 20_000.0 * (1.0 + 2.0 + 3.0 + 21.0 * 4.0) * 0.99,
            "{latency}"
        );
    }
}

#[test]
fn an_open_loop_begins_its_events_on_time_behind_others() {
    let server = Server::start("depth-open", &["--service-us", "2000"]);
    // One answer in 2 ms a connection, whatever is under way: 250 a second leave room, and an
    // event that is due begins although others are not answered.
    for engine in ENGINES {
        let arrival = json!({"kind": "open", "stages": [{"rate": 250.0}]});
        let load = json!({"connections": 1, "depth": 8, "measure_s": 2.0, "engine": engine,
            "arrival": arrival});
        let done = last(&asked(socket(&server.socket), points(), load));
        add_up(&done);
        let open = &done["open"];
        assert_eq!(
            open["due"].as_u64().unwrap(),
            done["begun"].as_u64().unwrap() + open["not_begun"].as_u64().unwrap()
        );
        let service = open["service_us"]["p50"].as_f64().unwrap();
        assert!(service >= 1_990.0, "{open}");
    }
}

/// Answers so many requests on a connection, and closes it then with others unread.
struct Drops(usize);

impl Script for Drops {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        number < self.0 && to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn what_is_under_way_on_a_lost_connection_is_begun_again() {
    for engine in ENGINES {
        for depth in [1, 8, 64] {
            let folder = Folder::new(&format!("depth-drops-{engine}-{depth}"));
            let server = FakeServer::start(&folder.0, Drops(150));
            let mut plan = of_events(plan(&server.socket, engine), 600);
            (plan["load"]["connections"], plan["load"]["depth"]) = (json!(2), json!(depth));
            let lost = done(&run(&plan));
            add_up(&lost);
            assert_eq!(lost["events"], 600);
            assert_eq!(lost["queries"], 600, "what is begun again is answered once");
            let reconnects = lost["reconnects"].as_u64().unwrap();
            assert!(reconnects >= 2, "{lost}");
            let retries = lost["retries"].as_u64().unwrap();
            assert!(
                retries <= reconnects * depth && retries >= reconnects,
                "{lost}"
            );
            assert_eq!(lost["errors"][0]["code"], 2013);
            assert_eq!(
                lost["errors"][0]["count"], lost["retries"],
                "one for each request"
            );
        }
    }
}

/// Answers some requests, then never again on this connection; others may do better.
struct Hangs(usize);

impl Script for Hangs {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        if number >= self.0 {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn requests_without_an_answer_are_all_counted() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("depth-hang-{engine}"));
        let server = FakeServer::start(&folder.0, Hangs(4));
        let mut plan = plan(&server.socket, engine);
        (plan["load"]["connections"], plan["load"]["depth"]) = (json!(3), json!(8));
        // Nothing is asked in most of it: all three hang by then, on however slow a host.
        plan["load"]["measure_s"] = json!(1.5);
        let done = done(&run(&plan));
        add_up(&done);
        assert_eq!(done["unanswered"], 24);
        assert!(done["longest_wait_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_silent_connection_is_given_up_with_all_that_is_under_way() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("depth-silent-{engine}"));
        let server = FakeServer::start(&folder.0, Hangs(50));
        let mut plan = of_events(plan(&server.socket, engine), 200);
        (plan["load"]["connections"], plan["load"]["depth"]) = (json!(1), json!(8));
        plan["load"]["answer_timeout_s"] = json!(0.1);
        let done = done(&run(&plan));
        add_up(&done);
        assert_eq!(done["events"], 200);
        let reconnects = done["reconnects"].as_u64().unwrap();
        assert!(reconnects >= 3, "{done}");
        assert!(
            done["retries"].as_u64().unwrap() <= 8 * reconnects,
            "{done}"
        );
    }
}

/// Counts the commands of each connection, by their byte.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<Vec<(std::thread::ThreadId, u8)>>>);

impl Script for Counts {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        let id = std::thread::current().id();
        self.0.lock().unwrap().push((id, command));
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn a_connection_is_set_up_once_and_opened_again_between_events() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("depth-again-{engine}"));
        let heard = Counts::default();
        let server = FakeServer::start(&folder.0, heard.clone());
        let mut plan = of_events(plan(&server.socket, engine), 1_000);
        (plan["load"]["connections"], plan["load"]["depth"]) = (json!(2), json!(8));
        (plan["load"]["reconnect_every"], plan["server"]["init_sql"]) =
            (json!(50), json!(["SET @a = 1"]));
        let done = done(&run(&plan));
        add_up(&done);
        assert_eq!(
            (&done["events"], &done["retries"]),
            (&json!(1_000), &json!(0))
        );
        assert_eq!(done["errors"], json!([]));
        let heard = heard.0.lock().unwrap();
        let mut ids: Vec<_> = heard
            .iter()
            .filter(|(_, command)| *command == 0x17)
            .map(|(id, _)| *id)
            .collect();
        ids.sort_by_key(|id| format!("{id:?}"));
        ids.dedup();
        assert!(ids.len() >= 1_000 / 57, "{}", ids.len());
        for id in ids {
            let count = |byte: u8| heard.iter().filter(|one| **one == (id, byte)).count();
            assert_eq!((count(0x16), count(0x03)), (1, 1));
            // Those that were under way when the last of fifty ended are answered there too.
            assert!(count(0x17) <= 50 + 7, "{}", count(0x17));
        }
    }
}

/// Refuses the statements whose key is divisible by 3.
struct Refuses;

impl Script for Refuses {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let text = String::from_utf8_lossy(body);
        let key = text
            .rsplit(' ')
            .next()
            .and_then(|key| key.parse::<u64>().ok());
        let answer = match key {
            Some(key) if key % 3 == 0 => fake::error(1, 1205, "HY000", &format!("lock {key}")),
            _ => fake::right_answer(command),
        };
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn an_error_is_that_of_the_request_that_it_answers() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("depth-error-{engine}"));
        let server = FakeServer::start(&folder.0, Refuses);
        let mut plan = of_events(plan(&server.socket, engine), 400);
        (plan["load"]["connections"], plan["load"]["depth"]) = (json!(1), json!(16));
        plan["load"]["protocol"] = json!("text");
        plan["load"]["errors"] = json!({"retry_limit": 2});
        let done = done(&run(&plan));
        add_up(&done);
        let failed = done["failed"].as_u64().unwrap();
        assert!(failed > 80 && failed < 190, "{done}");
        assert_eq!(done["retries"].as_u64().unwrap(), 2 * failed);
        let error = &done["errors"][0];
        assert_eq!(error["count"].as_u64().unwrap(), 3 * failed);
        let key = error["message"]
            .as_str()
            .unwrap()
            .rsplit(' ')
            .next()
            .unwrap();
        let statement = error["statement"].as_str().unwrap();
        assert!(statement.ends_with(&format!(" {key}")), "{error}");
    }
}

#[test]
fn nodes_and_their_routes_are_kept_at_depth() {
    let servers = [
        Server::start("depth-node-a", &[]),
        Server::start("depth-node-b", &[]),
    ];
    for engine in ENGINES {
        let load = json!({"connections": 3, "depth": 8, "measure_s": 600, "events": 3_000,
            "engine": engine, "route": {"by": "key"}});
        let mut plan = asked(socket(&servers[0].socket), points(), load);
        plan["nodes"] = json!([
            {"name": "a"},
            {"name": "b", "server": {"socket": servers[1].socket}},
        ]);
        let done = last(&plan);
        add_up(&done);
        let queries: Vec<u64> = (0..2)
            .map(|n| done["nodes"][n]["queries"].as_u64().unwrap())
            .collect();
        assert_eq!(queries.iter().sum::<u64>(), 3_000);
        assert!(
            queries.iter().all(|queries| *queries > 1_000),
            "{queries:?}"
        );
        assert_eq!(done["setup_connect_us"]["count"], 6);
    }
}

#[test]
fn a_node_that_drops_connections_takes_nothing_from_the_books() {
    let folder = Folder::new("depth-node-drops");
    let server = FakeServer::start(&folder.0, Drops(40));
    let good = Server::start("depth-node-good", &[]);
    for engine in ENGINES {
        let load = json!({"connections": 2, "depth": 8, "measure_s": 600, "events": 1_500,
            "engine": engine});
        let mut plan = asked(socket(&server.socket), points(), load);
        plan["nodes"] = json!([
            {"name": "bad"},
            {"name": "good", "server": {"socket": good.socket}},
        ]);
        let done = last(&plan);
        add_up(&done);
        assert_eq!(
            (&done["events"], &done["queries"]),
            (&json!(1_500), &json!(1_500))
        );
        assert!(done["reconnects"].as_u64().unwrap() > 5, "{done}");
    }
}

#[test]
fn errors_of_a_node_are_kept_while_a_different_one_is_connected_again() {
    let folders = ["bad", "refusing"].map(|name| Folder::new(&format!("depth-node-{name}")));
    let bad = FakeServer::start(&folders[0].0, Drops(40));
    let refusing = FakeServer::start(&folders[1].0, Refuses);
    for engine in ENGINES {
        let load = json!({"connections": 1, "depth": 16, "measure_s": 600, "events": 1_500,
            "engine": engine, "protocol": "text", "errors": {"retry_limit": 2}});
        let mut plan = asked(socket(&bad.socket), points(), load);
        plan["nodes"] = json!([
            {"name": "bad"},
            {"name": "refusing", "server": {"socket": refusing.socket}},
        ]);
        let done = last(&plan);
        add_up(&done);
        assert!(done["reconnects"].as_u64().unwrap() > 5, "{done}");
        let failed = done["failed"].as_u64().unwrap();
        assert!((100..400).contains(&failed), "{done}");
        let errors = done["errors"].as_array().unwrap();
        let refused = errors.iter().find(|error| error["code"] == 1205).unwrap();
        // Three tries of each; one more if a try was refused while the session could not be asked.
        let count = refused["count"].as_u64().unwrap();
        assert!((3 * failed..4 * failed).contains(&count), "{done}");
    }
}

#[test]
fn depths_are_compared_in_slices() {
    let server = Server::start("depth-slices", &["--threads", "2"]);
    for engine in ENGINES {
        let load = json!({"connections": 2, "warmup_s": 0.05, "engine": engine,
            "slices": {"slice_s": 0.2, "rounds": 2}});
        let mut plan = asked(socket(&server.socket), points(), load);
        plan["arms"] = json!([
            {"name": "one"},
            {"name": "eight", "depth": 8},
            {"name": "many", "depth": 64, "protocol": "text"},
        ]);
        let done = last(&plan);
        add_up(&done);
        assert_eq!(done.get("depth"), None, "they differ");
        for (arm, depth) in done["arms"].as_array().unwrap().iter().zip([1, 8, 64]) {
            add_up(&arm["done"]);
            assert_eq!(
                (&arm["done"]["depth"], &arm["done"]["connections"]),
                (&json!(depth), &json!(2))
            );
            assert_eq!(arm["slices"], 2);
            let unended = [&arm["done"]["failed"], &arm["done"]["unfinished"]];
            assert_eq!(unended, [&json!(0); 2]);
        }
    }
}

#[test]
fn a_list_is_asked_in_order_by_each_connection() {
    let statements: Vec<String> = (0..7).map(|n| format!("SELECT {n}")).collect();
    let folder = Folder::new("depth-list");
    let heard: Arc<Mutex<Vec<(std::thread::ThreadId, String)>>> = Arc::default();
    struct Listens(Arc<Mutex<Vec<(std::thread::ThreadId, String)>>>);
    impl Script for Listens {
        fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
            let text = String::from_utf8_lossy(body).into_owned();
            self.0
                .lock()
                .unwrap()
                .push((std::thread::current().id(), text));
            to.write_all(&fake::right_answer(command)).is_ok()
        }
    }
    let server = FakeServer::start(&folder.0, Listens(Arc::clone(&heard)));
    let mut plan = plan(&server.socket, "auto");
    plan["workload"] = json!({"kind": "list", "statements": statements, "times": 6});
    plan["load"] = json!({"connections": 2, "depth": 5, "measure_s": 600, "protocol": "text"});
    let done = done(&run(&plan));
    assert_eq!(done["events"], 84);
    let heard = heard.lock().unwrap();
    let own = heard
        .iter()
        .filter(|(_, text)| text.starts_with("SELECT ") && !text.contains("@@"));
    let own: Vec<_> = own.collect();
    let mut ids: Vec<_> = own.iter().map(|(id, _)| *id).collect();
    ids.sort_by_key(|id| format!("{id:?}"));
    ids.dedup();
    assert_eq!(ids.len(), 2);
    for id in ids {
        let texts: Vec<&String> = own
            .iter()
            .filter(|(of, _)| *of == id)
            .map(|(_, text)| text)
            .collect();
        let wanted: Vec<&String> = (0..6).flat_map(|_| &statements).collect();
        assert_eq!(texts, wanted);
    }
}

#[test]
fn what_cannot_be_under_way_together_is_refused() {
    let refused = |workload: Value, load: Value| {
        let mut plan = asked(json!({"socket": "/run/db.sock"}), workload, load);
        plan["load"]["measure_s"] = json!(1.0);
        refusal(&plan)
    };
    let deep = || json!({"connections": 2, "depth": 4});
    for (workload, why) in [
        (json!({"kind": "tpcc"}), "several statements"),
        (
            json!({"kind": "read_only", "rows": 1000}),
            "several statements",
        ),
        (
            json!({"kind": "sql", "text": "@a\nSELECT 1;\nSELECT 2;"}),
            "several statements",
        ),
        (
            json!({"kind": "sql", "text": "SET @a = 1;"}),
            "does not begin with SELECT",
        ),
        (
            json!({"kind": "list", "statements": ["SELECT 1", "BEGIN"]}),
            "does not begin with SELECT",
        ),
        (
            json!({"kind": "lua", "script": "oltp_point_select"}),
            "depends on the answer",
        ),
        (
            json!({"kind": "batch_insert", "rows": 1000, "insert_by": "pipeline", "batch_rows": 10}),
            "several requests",
        ),
    ] {
        let said = refused(workload, deep());
        assert!(said.contains("load.depth") && said.contains(why), "{said}");
    }
    let mut compressed = asked(
        json!({"socket": "/run/db.sock", "compression": "zlib"}),
        points(),
        deep(),
    );
    compressed["load"]["measure_s"] = json!(1.0);
    assert!(refusal(&compressed).contains("remove server.compression"));
    let shallow = |depth: Value| refused(points(), json!({"connections": 2, "depth": depth}));
    assert!(shallow(json!(0)).contains("load.depth: 0 is not between 1 and 64"));
    assert!(shallow(json!(65)).contains("load.depth: 65 is not between 1 and 64"));
    assert!(shallow(json!("x")).contains("invalid type: string \"x\""));
    let mut in_arm = asked(
        json!({"socket": "/run/db.sock"}),
        points(),
        json!({"connections": 2}),
    );
    in_arm["load"]["slices"] = json!({"slice_s": 0.1, "rounds": 1});
    in_arm["arms"] = json!([{"name": "a"}, {"name": "b", "depth": 65}]);
    let said = refusal(&in_arm);
    assert!(
        said.contains("arms[1]") && said.contains("65 is not between"),
        "{said}"
    );
}
