//! Runs that ask several servers: each event one of them, and figures for each.

use crate::Torn;
use crate::fake::{self, FakeServer, Script};
use crate::program::{ENGINES, Folder, done, failure, lines, of_events, plan, run};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

fn node(name: &str, server: &FakeServer) -> Value {
    json!({"name": name, "server": {"socket": server.socket, "connect_timeout_s": 60.0}})
}

/// Two folders with a server each, and a plan of 90 events that asks both.
fn two(name: &str, engine: &str, second: impl Script) -> ([FakeServer; 2], [Folder; 2], Value) {
    let folders = [
        Folder::new(&format!("{name}-a")),
        Folder::new(&format!("{name}-b")),
    ];
    let servers = [
        FakeServer::start(&folders[0].0, Torn(1000)),
        FakeServer::start(&folders[1].0, second),
    ];
    let mut plan = of_events(plan(&servers[0].socket, engine), 90);
    plan["nodes"] = json!([node("a", &servers[0]), node("b", &servers[1])]);
    (servers, folders, plan)
}

fn queries(done: &Value) -> [u64; 2] {
    [0, 1].map(|place| done["nodes"][place]["queries"].as_u64().unwrap())
}

#[test]
fn each_event_asks_the_node_of_its_route() {
    for engine in ENGINES {
        let (servers, _folders, mut plan) = two(&format!("nodes-{engine}"), engine, Torn(1000));
        let output = run(&plan);
        let hello = &lines(&output)[0];
        assert_eq!(hello["nodes"][1]["name"], "b");
        assert_eq!(hello["nodes"][1]["server_version"], "10.11.19-fake");
        let in_turn = done(&output);
        assert_eq!(queries(&in_turn), [45, 45]);
        assert_eq!(in_turn["nodes"][0]["latency_us"]["count"], 45);
        // Four connections of the load to each, and the one that looked whether there is room.
        assert_eq!(servers.each_ref().map(FakeServer::connections), [5, 5]);

        plan["load"]["route"] = json!({"by": "chance", "weights": {"a": 0}});
        assert_eq!(queries(&done(&run(&plan))), [0, 90]);
        let owners = json!([{"upto": 10, "node": "b"}, {"upto": 1000, "node": "a"}]);
        plan["load"]["route"] = json!({"by": "key", "owners": owners});
        let [a, b] = queries(&done(&run(&plan)));
        assert!(a > 70 && a + b == 90, "{a} and {b}");
        plan["load"]["route"] = json!({"by": "key"});
        let [a, b] = queries(&done(&run(&plan)));
        assert!(a > 20 && b > 20 && a + b == 90, "{a} and {b}");
    }
}

/// Has room for ten connections.
struct Small;

impl Script for Small {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let answer = if body.starts_with(b"SELECT @@max_connections") {
            fake::table(&[&["10", "1000"]])
        } else if body.starts_with(b"SHOW GLOBAL STATUS") {
            fake::table(&[&["Threads_connected", "1"], &["Prepared_stmt_count", "0"]])
        } else {
            fake::right_answer(command)
        };
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn idle_connections_are_those_of_the_first_node() {
    let (servers, _folders, mut plan) = two("idle-nodes", "auto", Small);
    plan["load"]["idle_connections"] = json!(8);
    assert_eq!(queries(&done(&run(&plan))), [45, 45]);
    // Four of the load each, eight idle ones, and the one that looked whether there is room.
    assert_eq!(servers.each_ref().map(FakeServer::connections), [13, 5]);
    plan["nodes"] = json!([node("b", &servers[1]), node("a", &servers[0])]);
    let failure = failure(&run(&plan));
    let words = "node \"b\": the run needs 12 connections, but the server's max_connections is 10";
    assert_eq!(failure["message"], words);
}

/// Lets nobody in.
struct Closed;

impl Script for Closed {
    fn admit(&self, to: &mut UnixStream) {
        let _ = to.write_all(&fake::error(
            2,
            1045,
            "28000",
            "Access denied for user 'root'",
        ));
    }

    fn answer(&self, _: &mut UnixStream, _: u8, _: &[u8], _: usize) -> bool {
        false
    }
}

#[test]
fn a_node_that_refuses_the_login_is_named() {
    let (_servers, _folders, plan) = two("closed-node", "auto", Closed);
    let failure = failure(&run(&plan));
    let message = failure["message"].as_str().unwrap();
    assert!(message.starts_with("node \"b\": "), "{message}");
    assert_eq!(failure["code"], 1045);
}

#[test]
fn an_unknown_node_is_refused_before_anything_is_connected() {
    let (servers, _folders, mut plan) = two("unknown-node", "auto", Torn(1000));
    plan["load"]["route"] = json!({"by": "chance", "weights": {"c": 1}});
    let output = run(&plan);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("load.route.weights.c: unknown node"),
        "{said}"
    );
    assert_eq!(servers[0].connections(), 0);
}

/// Hangs up on every seventh execution.
struct Drops(AtomicU64);

impl Script for Drops {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        if command == 0x17 && self.0.fetch_add(1, SeqCst) % 7 == 6 {
            return false;
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn losses_of_a_node_are_its_own_and_its_events_are_begun_again() {
    for engine in ENGINES {
        let name = format!("dropping-node-{engine}");
        let (_servers, _folders, plan) = two(&name, engine, Drops(AtomicU64::new(0)));
        let done = done(&run(&plan));
        assert_eq!((&done["events"], &done["failed"]), (&json!(90), &json!(0)));
        let [a, b] = [&done["nodes"][0], &done["nodes"][1]];
        assert_eq!((&a["reconnects"], &a["errors"]), (&json!(0), &json!([])));
        let lost = b["errors"][0]["count"].as_u64().unwrap();
        assert!(lost >= 45 / 7, "{b}");
        assert_eq!(b["errors"][0]["code"], 2013);
        assert_eq!(done["errors"], b["errors"]);
        assert_eq!(done["reconnects"], b["reconnects"]);
        // A connection that was lost at the very end is not opened again.
        assert!(b["reconnects"].as_u64().unwrap().abs_diff(lost) <= 4, "{b}");
        assert_eq!(done["retries"], json!(lost));
    }
}
