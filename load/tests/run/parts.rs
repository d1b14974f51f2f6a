//! Hosts that share a run: each asks its part, the parts add up to what one host would have asked.

use crate::null_server::{self, Server};
use crate::program::{PROGRAM, done, failure, fed, lines, run};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

/// One host of a run.
struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    hello: String,
}

impl Host {
    /// Starts it, and waits until it is ready.
    fn start(plan: &Value, number: usize) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["part", "--host", &number.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{plan}").unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut hello = String::new();
        out.read_line(&mut hello).unwrap();
        Self {
            child,
            stdin: Some(stdin),
            out,
            hello,
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// All lines to its end.
    fn heard(mut self) -> Vec<String> {
        let lines = (&mut self.out).lines().map(Result::unwrap).collect();
        self.child.wait().unwrap();
        lines
    }
}

/// The steady clock, as a test reads it.
fn now_ns() -> u64 {
    contend_reactor::clock::now_ns()
}

fn merged(plan: &Value, parts: &[Vec<String>]) -> Output {
    let names: Vec<String> = (0..parts.len()).map(|host| format!("host{host}")).collect();
    let mut text = format!("{}\n", json!({"plan": plan, "hosts": names}));
    for (host, lines) in parts.iter().enumerate() {
        for line in lines {
            text.push_str(&format!("{host}\t{line}\n"));
        }
    }
    fed(
        Command::new(PROGRAM)
            .arg("merge")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
        &text,
    )
}

/// What all hosts of a plan told, each from its hello to its end.
fn parts_of(plan: &Value, hosts: usize) -> Vec<Vec<String>> {
    let mut started: Vec<Host> = (0..hosts).map(|host| Host::start(plan, host)).collect();
    let begin = format!("begin {}", now_ns() + 300_000_000);
    started.iter_mut().for_each(|host| host.say(&begin));
    let told = started.into_iter().map(|host| {
        let mut lines = vec![host.hello.trim().to_owned()];
        lines.extend(host.heard());
        lines
    });
    told.collect()
}

fn plan(server: &Server, load: Value) -> Value {
    let workload = json!({"kind": "read_only", "rows": 1000});
    null_server::plan(json!({"socket": server.socket}), workload, load)
}

/// The events of a seed are the same on one host and on three: so is all that was asked.
#[test]
fn three_hosts_ask_what_one_would_have_asked() {
    let server = Server::start("parts-whole", &["--threads", "1"]);
    let load = |hosts| {
        json!({
            "connections": 6, "hosts": hosts, "events": 100, "measure_s": 600, "interval_s": 0,
            // A prepared statement sends its types once for each connection that had an event.
            "protocol": "text",
        })
    };
    let one = done(&run(&plan(&server, load(1))));
    let shared = plan(&server, load(3));
    let sum = done(&merged(&shared, &parts_of(&shared, 3)));
    for figure in [
        "events",
        "begun",
        "queries",
        "rows",
        "bytes_sent",
        "bytes_received",
        "connections",
        "ended",
        "arrival",
    ] {
        assert_eq!(sum[figure], one[figure], "{figure}");
    }
    assert_eq!(sum["latency_us"]["count"], 100);
    let queries = |document: &Value| -> Vec<(Value, Value)> {
        let classes = document["classes"].as_array().unwrap().iter();
        classes
            .map(|class| (class["name"].clone(), class["queries"].clone()))
            .collect()
    };
    assert_eq!(queries(&sum), queries(&one));
    let hosts = sum["hosts"].as_array().unwrap();
    let events: Vec<&Value> = hosts.iter().map(|host| &host["events"]).collect();
    assert_eq!(events, [34, 33, 33]);
    assert!(hosts.iter().all(|host| host["connections"] == 2));
}

#[test]
fn an_open_loop_is_due_as_on_one_host() {
    let server = Server::start("parts-open", &["--threads", "1"]);
    let arrival = json!({"kind": "open", "stages": [{"rate": 500.0}]});
    let load = json!({
        "connections": 4, "hosts": 2, "measure_s": 1.0, "interval_s": 0.25, "arrival": arrival,
    });
    let plan = plan(&server, load);
    let output = merged(&plan, &parts_of(&plan, 2));
    let sum = done(&output);
    let due = sum["open"]["due"].as_u64().unwrap();
    let own = |host: usize, key: &str| sum["hosts"][host][key].as_u64().unwrap();
    assert!((350..650).contains(&due), "{due}");
    let begun = sum["begun"].as_u64().unwrap();
    assert_eq!(begun + own(0, "not_begun") + own(1, "not_begun"), due);
    // They have every other event of one schedule.
    assert!(
        own(0, "events").abs_diff(own(1, "events"))
            <= 1 + own(0, "not_begun") + own(1, "not_begun")
    );
    let lines = lines(&output);
    let types: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(types[0], "hello");
    let intervals = || lines.iter().filter(|line| line["type"] == "interval");
    assert_eq!(intervals().count(), 4);
    let queries: u64 = intervals().map(|i| i["queries"].as_u64().unwrap()).sum();
    assert!(queries <= sum["queries"].as_u64().unwrap());
}

#[test]
fn a_host_that_is_lost_fails_the_run_or_is_left_out_of_it() {
    let server = Server::start("parts-lost", &["--threads", "1"]);
    let load = json!({"connections": 4, "hosts": 2, "events": 40, "measure_s": 600});
    let mut plan = plan(&server, load);
    let mut parts = parts_of(&plan, 2);
    let lost = json!({"type": "lost", "why": "its worker died"}).to_string();
    parts[1] = vec![parts[1][0].clone(), lost];
    let failed = failure(&merged(&plan, &parts));
    assert_eq!(failed["message"], "host host1 was lost: its worker died");
    assert!(failed["hint"].as_str().unwrap().contains("host_lost"));
    plan["load"]["host_lost"] = json!("go_on");
    let sum = done(&merged(&plan, &parts));
    assert_eq!(
        (&sum["events"], &sum["connections"]),
        (&json!(20), &json!(2))
    );
    assert_eq!(sum["hosts"][1]["lost"], "its worker died");
    assert_eq!(sum["hosts"][0]["lost"], Value::Null);
    // A failure of the server is told with the host that met it.
    parts[1][1] = json!({"type": "error", "message": "no server", "code": 2003}).to_string();
    plan["load"]["host_lost"] = json!("fail");
    let failed = failure(&merged(&plan, &parts));
    assert_eq!(
        (&failed["message"], &failed["code"]),
        (&json!("host host1: no server"), &json!(2003))
    );
}

#[test]
fn the_begin_is_waited_for_and_must_not_have_passed() {
    let server = Server::start("parts-begin", &["--threads", "1"]);
    let load = json!({"connections": 2, "hosts": 2, "measure_s": 0.2});
    let plan = plan(&server, load);
    let mut late = Host::start(&plan, 0);
    assert!(late.hello.contains("hello"));
    late.say("begin 1000");
    let heard = late.heard();
    assert!(
        heard
            .last()
            .unwrap()
            .contains("the agreed start reached this host"),
        "{heard:?}"
    );
    // Whoever was to say it has gone: the run is over, and its connections are closed.
    let mut left = Host::start(&plan, 1);
    drop(left.stdin.take());
    let heard = left.heard();
    assert!(
        heard.last().unwrap().contains("\"ended\":\"signal\""),
        "{heard:?}"
    );
    let mut stopped = Host::start(&plan, 1);
    stopped.say(&format!("begin {}", now_ns() + 600_000_000_000));
    drop(stopped.stdin.take());
    assert!(
        stopped
            .heard()
            .last()
            .unwrap()
            .contains("\"type\":\"part\"")
    );
}

#[test]
fn what_cannot_be_shared_is_refused_by_its_path() {
    let refused = |load: Value, workload: Value, command: &[&str]| {
        let server = json!({"socket": "/nowhere"});
        let plan = null_server::plan(server, workload, load);
        let output = fed(
            Command::new(PROGRAM)
                .args(command)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped()),
            &format!("{plan}\n"),
        );
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let select = || json!({"kind": "point_select", "rows": 10});
    let check = ["run", "-", "--check"];
    let load = |hosts: u32| json!({"connections": 6, "hosts": hosts, "measure_s": 1});
    let said = refused(load(4), select(), &check);
    assert!(
        said.contains("load.hosts: 6 connections cannot be divided by 4 hosts"),
        "{said}"
    );
    let said = refused(load(2), select(), &["run", "-"]);
    assert!(said.contains("`contend-load part`"), "{said}");
    let said = refused(load(2), select(), &["part", "--host", "2"]);
    assert!(
        said.contains("--host: 2 is not below load.hosts, 2"),
        "{said}"
    );
    let script = json!({"kind": "lua", "script": "oltp_read_only"});
    let said = refused(load(2), script, &check);
    assert!(said.contains("load.hosts: a script"), "{said}");
}
