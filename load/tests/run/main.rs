//! contend-load as a program, against servers that behave as a test wants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod broken_scripts;
mod cpus;
mod depth;
mod ends;
mod fake;
mod model_command;
mod model_ends;
mod model_server;
mod model_truth;
mod nodes;
mod null_server;
mod pacing;
mod parts;
mod program;
mod refusals;
mod retries;
mod rubbish;
mod script_ends;
mod script_files;
mod script_threads;
mod scripts;
mod slices;
mod station;
mod turns;
mod window;

use fake::{FakeServer, Script};
use program::{ENGINES, Folder, PROGRAM, begun, done, failure, fed, lines, of_events, plan, run};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// Right answers, cut to pieces.
struct Torn(usize);

impl Script for Torn {
    fn greet(&self, to: &mut UnixStream) {
        fake::dribble(to, &fake::greeting(), self.0);
    }
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        fake::dribble(to, &fake::right_answer(command), self.0);
        true
    }
}

#[test]
fn answers_in_any_pieces_are_counted_right() {
    for engine in ENGINES {
        for piece in [1, 3, 7, 1000] {
            let folder = Folder::new(&format!("torn-{engine}-{piece}"));
            let server = FakeServer::start(&folder.0, Torn(piece));
            let output = run(&of_events(plan(&server.socket, engine), 40));
            let done = done(&output);
            assert_eq!(done["queries"], 40);
            assert_eq!(done["queries"], done["rows"]);
            assert_eq!(done["queries"], done["latency_us"]["count"]);
            assert_eq!(done["errors"], json!([]));
            let intervals: u64 = lines(&output)
                .iter()
                .filter(|line| line["type"] == "interval")
                .map(|line| line["queries"].as_u64().unwrap())
                .sum();
            assert_eq!(done["queries"], intervals);
            // Four of the load, and the one that looked whether there is room for them.
            assert_eq!(server.connections(), 5);
        }
    }
}

#[test]
fn lines_come_in_their_order() {
    let folder = Folder::new("order");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let output = run(&plan(&server.socket, "auto"));
    let kinds: Vec<String> = lines(&output)
        .iter()
        .map(|line| match line["type"].as_str().unwrap() {
            "phase" => line["phase"].as_str().unwrap().to_owned(),
            "interval" => format!("interval {}", line["index"]),
            other => other.to_owned(),
        })
        .collect();
    let wanted = [
        "hello",
        "warmup",
        "measure",
        "interval 0",
        "interval 1",
        "interval 2",
        "done",
    ];
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind != "end")
            .collect::<Vec<_>>(),
        wanted
    );
    assert!(kinds.contains(&"end".to_owned()));
}

#[test]
fn a_signal_ends_the_run_with_its_figures() {
    let folder = Folder::new("signal");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["measure_s"] = json!(3600.0);
    let done = interrupted(&plan);
    assert_eq!(done["ended"], "signal");
    assert!(done["measured_s"].as_f64().unwrap() < 3600.0);
}

/// What a run tells at its end that is asked to end as soon as its load begins.
fn interrupted(plan: &Value) -> Value {
    let mut command = Command::new(PROGRAM);
    command.args(["run", "-"]).stdout(Stdio::piped());
    let mut child = begun(&mut command, &plan.to_string());
    // The first line comes when every session is ready, and the signals are listened to.
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    // SAFETY: the child is ours and has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let mut output = child.wait_with_output().unwrap();
    stdout.read_to_end(&mut output.stdout).unwrap();
    done(&output)
}

/// Knows no limits, and never answers what a workload wants to know before the load; says on a
/// pipe that it was asked.
struct Silent(Mutex<Option<std::io::PipeWriter>>);

impl Script for Silent {
    fn answer(&self, to: &mut UnixStream, _: u8, body: &[u8], _: usize) -> bool {
        if body.starts_with(b"SELECT name, value") {
            drop(self.0.lock().unwrap().take());
            return true;
        }
        to.write_all(&fake::error(1, 1193, "HY000", "no such variable"))
            .is_ok()
    }
}

#[test]
fn a_signal_ends_a_look_at_a_server_that_does_not_answer() {
    let folder = Folder::new("signal-look");
    let (mut asked, asks) = std::io::pipe().unwrap();
    let server = FakeServer::start(&folder.0, Silent(Mutex::new(Some(asks))));
    let mut plan = plan(&server.socket, "auto");
    plan["workload"] = json!({"kind": "tpcc"});
    let mut command = Command::new(PROGRAM);
    command.args(["run", "-"]).stdout(Stdio::piped());
    let child = begun(&mut command, &plan.to_string());
    asked.read_to_end(&mut Vec::new()).unwrap();
    // SAFETY: the child is ours and has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let failure = failure(&child.wait_with_output().unwrap());
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.contains("ended by a signal before the load began"),
        "{message}"
    );
}

/// What each connection asked, in order.
#[derive(Clone, Default)]
struct Listens(Arc<Mutex<HashMap<ThreadId, Vec<String>>>>);

impl Script for Listens {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let text = String::from_utf8_lossy(body).into_owned();
        self.0
            .lock()
            .unwrap()
            .entry(std::thread::current().id())
            .or_default()
            .push(text);
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn a_seed_asks_the_same_on_any_number_of_threads() {
    let asked = |threads: u32| {
        let folder = Folder::new(&format!("seed-{threads}"));
        let heard = Listens::default();
        let server = FakeServer::start(&folder.0, heard.clone());
        let mut plan = of_events(plan(&server.socket, "auto"), 40);
        plan["load"]["protocol"] = json!("text");
        plan["load"]["threads"] = json!(threads);
        done(&run(&plan));
        let heard = heard.0.lock().unwrap();
        // Beside what is asked about the server's room.
        let of_the_load = |text: &&String| !text.contains("@@") && !text.starts_with("SHOW");
        let asked = heard.values().flatten().filter(of_the_load);
        let mut asked: Vec<String> = asked.cloned().collect();
        asked.sort();
        asked
    };
    let one = asked(1);
    assert_eq!(one.len(), 40);
    assert_eq!(one, asked(4));
}

#[test]
fn measuring_draws_nothing_from_the_streams_of_the_workload() {
    let asked = |name: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let folder = Folder::new(&format!("draws-{name}"));
        let heard = Listens::default();
        let server = FakeServer::start(&folder.0, heard.clone());
        let mut plan = of_events(plan(&server.socket, "auto"), 60);
        plan["workload"] = json!({"kind": "sql", "text": "@a weight 3\nSELECT \
            {n:zipfian(1, 1000000)}, {t:text('####')};\n@b\nDO {n:uniform(1, 1000000)};"});
        plan["load"]["protocol"] = json!("text");
        change(&mut plan);
        let log = folder.0.join("log.hdr");
        let file = folder.0.join("plan.json");
        std::fs::write(&file, plan.to_string()).unwrap();
        let mut command = Command::new(PROGRAM);
        command.arg("run").arg(&file);
        if name == "logged" {
            command.arg("--hdr-log").arg(&log);
        }
        done(&command.output().unwrap());
        let heard = heard.0.lock().unwrap();
        let of_the_load = |text: &&String| !text.contains("@@") && !text.starts_with("SHOW");
        let mut texts: Vec<String> = heard
            .values()
            .flatten()
            .filter(of_the_load)
            .cloned()
            .collect();
        texts.sort();
        texts
    };
    let plain = asked("plain", &|_| ());
    assert_eq!(plain.len(), 60);
    let open =
        |process: &str| json!({"kind": "open", "process": process, "stages": [{"rate": 5000}]});
    assert_eq!(asked("logged", &|_| ()), plain);
    assert_eq!(
        asked("threads", &|plan| plan["load"]["threads"] = json!(3)),
        plain
    );
    assert_eq!(
        asked("poisson", &|plan| plan["load"]["arrival"] = open("poisson")),
        plain
    );
    assert_eq!(
        asked("even", &|plan| plan["load"]["arrival"] = open("even")),
        plain
    );
    assert_eq!(
        asked("more", &|plan| plan["load"]["connections"] = json!(7)),
        plain
    );
    let thinking = json!({"kind": "closed", "think_s": 0.001, "think_scatters": true});
    assert_eq!(
        asked("think", &|plan| plan["load"]["arrival"] = thinking.clone()),
        plain
    );
    assert_ne!(asked("seed", &|plan| plan["seed"] = json!(8)), plain);
}

#[test]
fn the_histogram_log_has_a_line_for_each_interval() {
    let folder = Folder::new("hdr");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let log = folder.0.join("log.hdr");
    let plan_file = folder.0.join("plan.json");
    std::fs::write(&plan_file, plan(&server.socket, "auto").to_string()).unwrap();
    let output = Command::new(PROGRAM)
        .arg("run")
        .arg(&plan_file)
        .arg("--hdr-log")
        .arg(&log)
        .output()
        .unwrap();
    let done = done(&output);
    // And one for what ended after the last of them, if something did.
    let after = usize::from(done["drained"]["events"] != 0);
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!(
        text.lines().filter(|line| line.contains(",HIST")).count(),
        3 + after
    );
}

#[test]
fn a_wrong_plan_is_refused_with_one_line() {
    for text in [
        "",
        "{",
        "[]",
        r#"{"version": 7}"#,
        r#"{"version": 1, "sever": {}}"#,
    ] {
        let output = fed(Command::new(PROGRAM).args(["run", "-"]), text);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
        assert!(output.stdout.is_empty());
    }
    let output = Command::new(PROGRAM)
        .args(["run", "/nonexistent.json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// Needs a real server: set CONTEND_TEST_MYSQLD_SOCKET to its socket (root without password).
#[test]
fn a_real_server_answers() {
    let Ok(socket) = std::env::var("CONTEND_TEST_MYSQLD_SOCKET") else {
        return;
    };
    for engine in ENGINES {
        for protocol in ["text", "prepared"] {
            let mut plan = plan(Path::new(&socket), engine);
            plan["load"]["protocol"] = json!(protocol);
            plan["workload"]["table"] = json!("no_such_database_of_contend.sbtest");
            let failure = failure(&run(&plan));
            assert!(
                [1049, 1146].contains(&failure["code"].as_u64().unwrap()),
                "{failure}"
            );
        }
    }
}
