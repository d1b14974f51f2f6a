//! Events that are begun again, kinds of event that are recorded apart, lists of statements.

use crate::fake::{self, FakeServer, Script};
use crate::program::{ENGINES, Folder, done, failure, of_events, plan, run};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

/// Answers what has this word in it with a deadlock, so many times in a row, and then well.
struct Deadlocks {
    word: &'static str,
    in_a_row: u64,
    asked: AtomicU64,
}

impl Deadlocks {
    fn new(word: &'static str, in_a_row: u64) -> Self {
        Self {
            word,
            in_a_row,
            asked: AtomicU64::new(0),
        }
    }
}

impl Script for Deadlocks {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let answer = match String::from_utf8_lossy(body).contains(self.word) {
            true if self.asked.fetch_add(1, SeqCst) % (self.in_a_row + 1) < self.in_a_row => {
                std::thread::sleep(Duration::from_millis(5));
                fake::error(1, 1213, "40001", "Deadlock found")
            }
            _ => fake::right_answer(command),
        };
        to.write_all(&answer).is_ok()
    }
}

/// Two kinds of event, of which one may be refused, on one connection.
fn two_kinds(server: &FakeServer, engine: &str) -> Value {
    let mut plan = of_events(plan(&server.socket, engine), 60);
    plan["workload"] = json!({
        "kind": "sql",
        "text": "@read weight 2\nSELECT 1;\n@write\nBEGIN;\nUPDATE t;\nCOMMIT;\n",
    });
    plan["load"]["connections"] = json!(1);
    plan["load"]["protocol"] = json!("text");
    plan
}

fn count(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("{of} is no count"))
}

#[test]
fn kinds_of_event_are_recorded_apart_and_retries_count() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("kinds-{engine}"));
        let server = FakeServer::start(&folder.0, Deadlocks::new("UPDATE", 2));
        let done = done(&run(&two_kinds(&server, engine)));
        let [read, write] = done["kinds"].as_array().unwrap().as_slice() else {
            panic!("{}", done["kinds"]);
        };
        assert_eq!(
            (&read["name"], &write["name"]),
            (&json!("read"), &json!("write"))
        );
        assert_eq!(write["classes"], json!(["write.1", "write.2", "write.3"]));
        assert_eq!((count(&read["retries"]), count(&read["failed"])), (0, 0));
        let writes = count(&write["events"]);
        assert!(
            writes > 0 && count(&read["events"]) + writes == 60,
            "{write}"
        );
        assert_eq!(count(&write["retries"]), 2 * writes);
        assert_eq!(done["retries"], write["retries"]);
        assert_eq!(write["latency_us"]["count"], write["events"]);
        // Two tries that failed took 5 ms each, and are in one of the two.
        let least = |times: &Value| times["min"].as_f64().unwrap();
        assert!(least(&write["latency_us"]) >= 10_000.0, "{write}");
        let without = &write["latency_without_retries_us"];
        assert_eq!(without["count"], write["events"]);
        assert!(
            without["max"].as_f64() < write["latency_us"]["max"].as_f64(),
            "{write}"
        );
        assert!(least(without) < 5_000.0, "{without}");
        assert!(read.get("latency_without_retries_us").is_none());
        assert_eq!(done["errors"][0]["count"], write["retries"]);
    }
}

#[test]
fn an_event_is_given_up_after_its_last_retry() {
    let folder = Folder::new("given-up");
    let server = FakeServer::start(&folder.0, Deadlocks::new("UPDATE", u64::MAX - 1));
    let mut plan = two_kinds(&server, "auto");
    plan["load"]["errors"] = json!({"retry_limit": 3, "retry_pause_s": 0.001});
    let done = done(&run(&plan));
    let write = &done["kinds"][1];
    let failed = count(&write["failed"]);
    assert!(failed > 0);
    assert_eq!(
        (count(&write["events"]), count(&write["retries"])),
        (0, 3 * failed)
    );
    assert_eq!(count(&done["begun"]), count(&done["events"]) + failed);
    assert_eq!(done["failed"], write["failed"]);
}

#[test]
fn a_run_whose_every_event_is_given_up_fails() {
    let folder = Folder::new("none-succeeds");
    let server = FakeServer::start(&folder.0, Deadlocks::new("SELECT", u64::MAX - 1));
    let mut plan = of_events(plan(&server.socket, "auto"), 10);
    plan["load"]["protocol"] = json!("text");
    plan["load"]["errors"] = json!({"retry_limit": 2});
    let failure = failure(&run(&plan));
    assert_eq!(
        failure["message"],
        "no event succeeded: 10 were given up after 20 retries, most often for error 1213: \
         Deadlock found"
    );
    assert!(failure["hint"].as_str().unwrap().contains("retry_limit"));
    assert!(failure["statement"].as_str().unwrap().starts_with("SELECT"));
}

type Asked = Arc<Mutex<HashMap<ThreadId, Vec<String>>>>;

/// Remembers which connection asked what.
struct Notes(Asked);

impl Script for Notes {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let text = String::from_utf8_lossy(body).into_owned();
        if text.starts_with("SELECT 'n") {
            let mut asked = self.0.lock().unwrap();
            asked
                .entry(std::thread::current().id())
                .or_default()
                .push(text);
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

fn asked_of_list(name: &str, shared: bool) -> (Vec<Vec<String>>, Value) {
    let folder = Folder::new(name);
    let asked = Asked::default();
    let server = FakeServer::start(&folder.0, Notes(Arc::clone(&asked)));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["measure_s"] = json!(600);
    plan["load"]["warmup_s"] = json!(0);
    plan["load"]["protocol"] = json!("text");
    let statements = ["SELECT 'n1'", "SELECT 'n2'", "SELECT 'n3'"];
    plan["workload"] = json!(
        {"kind": "list", "statements": statements, "times": 2, "shared": shared}
    );
    let done = done(&run(&plan));
    assert_eq!(done["ended"], "events");
    let asked = asked.lock().unwrap();
    (asked.values().cloned().collect(), done)
}

#[test]
fn every_connection_asks_the_whole_list_in_order() {
    let (asked, done) = asked_of_list("list", false);
    let once = ["SELECT 'n1'", "SELECT 'n2'", "SELECT 'n3'"];
    assert_eq!(asked.len(), 4);
    for own in asked {
        assert_eq!(own, [once, once].concat());
    }
    let classes = done["classes"].as_array().unwrap();
    let names: Vec<_> = classes.iter().map(|class| &class["name"]).collect();
    assert_eq!(names, ["statement_1", "statement_2", "statement_3"]);
    assert!(classes.iter().all(|class| class["queries"] == 8));
}

#[test]
fn connections_may_share_a_list() {
    let (asked, done) = asked_of_list("shared-list", true);
    assert_eq!(asked.iter().map(Vec::len).sum::<usize>(), 6);
    assert!(
        done["classes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|class| class["queries"] == 2)
    );
}
