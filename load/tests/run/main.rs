//! `contend-load run` as a program, against servers that behave as a test wants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fake;

use fake::{FakeServer, Script};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_contend-load");
const ENGINES: [&str; 2] = ["epoll", "auto"];

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("contend-load-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn plan(socket: &Path, engine: &str) -> Value {
    json!({
        "version": 1,
        "server": {"socket": socket, "connect_timeout_s": 1.0},
        "workload": {"kind": "point_select", "rows": 1000},
        "load": {
            "connections": 4, "warmup_s": 0.05, "measure_s": 0.3, "interval_s": 0.1,
            "engine": engine,
        },
        "seed": 7,
    })
}

fn run(plan: &Value) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(["run", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(plan.to_string().as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The last line, which must be `done`.
fn done(output: &Output) -> Value {
    let lines = lines(output);
    let last = lines.last().expect("no line at all").clone();
    assert_eq!(
        last["type"],
        "done",
        "{last}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0));
    last
}

/// The failure of a run that must not have gone well.
fn failure(output: &Output) -> Value {
    let last = lines(output).last().expect("no line at all").clone();
    assert_eq!(last["type"], "error", "{last}");
    assert_eq!(output.status.code(), Some(1));
    last
}

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
            let output = run(&plan(&server.socket, engine));
            let done = done(&output);
            assert!(done["queries"].as_u64().unwrap() > 0);
            assert_eq!(done["queries"], done["rows"]);
            assert_eq!(done["queries"], done["latency_us"]["count"]);
            assert_eq!(done["errors"], json!([]));
            let intervals: u64 = lines(&output)
                .iter()
                .filter(|line| line["type"] == "interval")
                .map(|line| line["queries"].as_u64().unwrap())
                .sum();
            assert_eq!(done["queries"], intervals);
            assert_eq!(server.connections(), 4);
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

/// Answers some commands on each connection, then never again.
struct Hang(usize);

impl Script for Hang {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        if number >= self.0 {
            std::thread::sleep(Duration::from_secs(3600));
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn a_hanging_server_does_not_keep_the_run() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("hang-{engine}"));
        let server = FakeServer::start(&folder.0, Hang(50));
        let done = done(&run(&plan(&server.socket, engine)));
        assert_eq!(done["unanswered"], 4);
        assert!(done["longest_wait_s"].as_f64().unwrap() > 0.0);
        assert_eq!(done["ended"], "time");
    }
}

#[test]
fn a_server_that_hangs_in_the_setup_is_a_failure() {
    struct Mute;
    impl Script for Mute {
        fn greet(&self, _: &mut UnixStream) {
            std::thread::sleep(Duration::from_secs(3600));
        }
        fn answer(&self, _: &mut UnixStream, _: u8, _: &[u8], _: usize) -> bool {
            false
        }
    }
    let folder = Folder::new("mute");
    let server = FakeServer::start(&folder.0, Mute);
    let failure = failure(&run(&plan(&server.socket, "auto")));
    assert!(
        failure["message"]
            .as_str()
            .unwrap()
            .contains("cannot connect"),
        "{failure}"
    );
}

/// Closes each connection after some commands.
struct Drops(usize);

impl Script for Drops {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        number < self.0 && to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn lost_connections_are_opened_again_and_counted() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("drops-{engine}"));
        let server = FakeServer::start(&folder.0, Drops(20));
        let done = done(&run(&plan(&server.socket, engine)));
        let reconnects = done["reconnects"].as_u64().unwrap();
        assert!(reconnects > 0);
        assert!(done["outage_s"].as_f64().unwrap() > 0.0);
        assert_eq!(done["errors"][0]["code"], 2013);
        assert!(
            done["errors"][0]["statement"]
                .as_str()
                .unwrap()
                .starts_with("SELECT c")
        );
        assert!(server.connections() as u64 >= 4 + reconnects);
    }
}

#[test]
fn a_plan_may_forbid_to_reconnect() {
    let folder = Folder::new("no-reconnect");
    let server = FakeServer::start(&folder.0, Drops(20));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["errors"] = json!({"reconnect": false});
    let failure = failure(&run(&plan));
    assert_eq!(failure["code"], 2013);
}

/// Refuses every tenth execution.
struct Refuses(u16);

impl Script for Refuses {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        let answer = match number % 10 {
            9 if command == 0x17 => fake::error(1, self.0, "40001", "Try again"),
            _ => fake::right_answer(command),
        };
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn errors_are_retried_ignored_or_fatal_as_the_plan_says() {
    let folder = Folder::new("refuses");
    let server = FakeServer::start(&folder.0, Refuses(1213));
    let done_ = done(&run(&plan(&server.socket, "auto")));
    let error = &done_["errors"][0];
    assert_eq!(
        (&error["code"], &error["sqlstate"]),
        (&json!(1213), &json!("40001"))
    );
    assert!(
        error["statement"]
            .as_str()
            .unwrap()
            .starts_with("SELECT c FROM sbtest")
    );
    // A retried event ends once, after its good answer.
    let queries = done_["queries"].as_u64().unwrap();
    let events = done_["events"].as_u64().unwrap();
    assert!(queries.abs_diff(events + error["count"].as_u64().unwrap()) <= 4);

    let folder = Folder::new("refuses-fatal");
    let server = FakeServer::start(&folder.0, Refuses(1146));
    let mut plan = plan(&server.socket, "auto");
    let fatal = failure(&run(&plan));
    assert_eq!(fatal["code"], 1146);
    assert!(fatal["hint"].is_string());
    plan["load"]["errors"] = json!({"ignore": [1146]});
    let ignored = done(&run(&plan));
    assert_eq!(ignored["errors"][0]["code"], 1146);
}

/// Says these bytes instead of the answer to an execution.
struct Rubbish(Vec<u8>);

impl Script for Rubbish {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        let bytes = if command == 0x17 {
            self.0.clone()
        } else {
            fake::right_answer(command)
        };
        to.write_all(&bytes).is_ok()
    }
}

#[test]
fn rubbish_is_a_clear_failure() {
    let many_columns = fake::packet(1, b"\xfe\0\0\0\0\0\0\0\x10");
    let twice = [fake::row(), fake::row()].concat();
    for (name, bytes) in [
        ("http", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("empty", fake::packet(1, b"")),
        ("sequence", fake::packet(9, fake::OK)),
        ("columns", many_columns),
        ("twice", twice),
    ] {
        let folder = Folder::new(&format!("rubbish-{name}"));
        let server = FakeServer::start(&folder.0, Rubbish(bytes));
        let failure = failure(&run(&plan(&server.socket, "auto")));
        assert!(
            failure["message"]
                .as_str()
                .unwrap()
                .contains("broke the protocol"),
            "{failure}"
        );
    }
}

#[test]
fn a_full_server_names_the_variable_to_raise() {
    struct Full;
    impl Script for Full {
        fn greet(&self, to: &mut UnixStream) {
            let _ = to.write_all(&fake::packet(0, b"\xff\x10\x04Too many connections"));
        }
        fn answer(&self, _: &mut UnixStream, _: u8, _: &[u8], _: usize) -> bool {
            false
        }
    }
    let folder = Folder::new("full");
    let server = FakeServer::start(&folder.0, Full);
    let failure = failure(&run(&plan(&server.socket, "auto")));
    assert_eq!(failure["code"], 1040);
    assert!(
        failure["hint"]
            .as_str()
            .unwrap()
            .contains("max_connections")
    );
}

#[test]
fn nobody_listening_is_a_failure_with_the_place() {
    let folder = Folder::new("nobody");
    let socket = folder.0.join("none.sock");
    let output = run(&plan(&socket, "auto"));
    assert!(
        failure(&output)["message"]
            .as_str()
            .unwrap()
            .contains("none.sock")
    );
    assert!(String::from_utf8(output.stderr).unwrap().contains("hint: "));
}

#[test]
fn a_signal_ends_the_run_with_its_figures() {
    let folder = Folder::new("signal");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["measure_s"] = json!(3600.0);
    let mut child = Command::new(PROGRAM)
        .args(["run", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(plan.to_string().as_bytes())
        .unwrap();
    // The first line comes when every session is ready, and the signals are listened to.
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    // SAFETY: the child is ours and has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let mut output = child.wait_with_output().unwrap();
    stdout.read_to_end(&mut output.stdout).unwrap();
    let done = done(&output);
    assert_eq!(done["ended"], "signal");
    assert!(done["measured_s"].as_f64().unwrap() < 3600.0);
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
        let mut plan = plan(&server.socket, "auto");
        plan["load"]["protocol"] = json!("text");
        plan["load"]["threads"] = json!(threads);
        done(&run(&plan));
        let heard = heard.0.lock().unwrap();
        let mut seats: Vec<Vec<String>> = heard.values().map(|texts| texts[..5].into()).collect();
        seats.sort();
        seats
    };
    let one = asked(1);
    assert_eq!(one.len(), 4);
    assert_eq!(one, asked(4));
}

/// Answers right, each after a pause.
struct Slow(Duration);

impl Script for Slow {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        if command == 0x17 {
            std::thread::sleep(self.0);
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn an_open_loop_counts_from_the_intended_time() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("open-{engine}"));
        let server = FakeServer::start(&folder.0, Slow(Duration::from_millis(1)));
        let mut plan = plan(&server.socket, engine);
        plan["load"]["arrival"] =
            json!({"kind": "open", "process": "even", "stages": [{"rate": 200}]});
        let done = done(&run(&plan));
        assert_eq!(done["arrival"], "open-loop");
        let open = &done["open"];
        assert!(
            (open["due_per_s"].as_f64().unwrap() - 200.0).abs() < 20.0,
            "{done}"
        );
        assert_eq!(open["service_us"]["count"], done["latency_us"]["count"]);
        assert_eq!(open["lag_us"]["count"], done["latency_us"]["count"]);
        assert!(open["service_us"]["min"].as_f64().unwrap() >= 1000.0);
    }
}

#[test]
fn a_rate_that_cannot_be_kept_is_called_overload() {
    let folder = Folder::new("overload");
    let server = FakeServer::start(&folder.0, Slow(Duration::from_millis(10)));
    let mut plan = plan(&server.socket, "auto");
    // Four connections answer 400 a second at the very most.
    plan["load"]["arrival"] = json!({"kind": "open", "stages": [{"rate": 4000}]});
    let done = done(&run(&plan));
    let open = &done["open"];
    assert_eq!(open["overloaded"], true, "{done}");
    assert!(open["backlog_growth_per_s"].as_f64().unwrap() > 2000.0);
    assert!(open["oldest_wait_s"].as_f64().unwrap() > 0.1);
    let (response, service) = (
        &done["latency_us"]["p99"],
        open["service_us"]["p50"].as_f64().unwrap(),
    );
    assert!(response.as_f64().unwrap() > 5.0 * service);
}

#[test]
fn think_time_paces_a_closed_loop() {
    let folder = Folder::new("think");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["arrival"] = json!({"kind": "closed", "think_s": 0.05});
    let done = done(&run(&plan));
    let events = done["events"].as_u64().unwrap();
    // Four connections, 0.3 s, one event each 0.05 s and a bit.
    assert!(events > 0 && events <= 28, "{events}");
}

#[test]
fn connections_churn_and_idle_ones_only_stand() {
    let folder = Folder::new("churn");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["reconnect_every"] = json!(5);
    plan["load"]["idle_connections"] = json!(3);
    plan["load"]["storm"] = json!(true);
    let done = done(&run(&plan));
    assert_eq!(done["setup_connect_us"]["count"], 7);
    let connects = done["connect_us"]["count"].as_u64().unwrap();
    assert!(connects > 0);
    assert!(server.connections() as u64 >= 7 + connects);
    assert_eq!(
        (&done["reconnects"], &done["errors"]),
        (&json!(0), &json!([]))
    );
    // Each connection had five events, the ones in progress at the edges fewer.
    let events = done["events"].as_u64().unwrap();
    assert!(
        events.abs_diff(connects * 5) <= 40,
        "{events} events, {connects} connects"
    );
}

#[test]
fn an_answer_that_takes_too_long_costs_the_connection() {
    let folder = Folder::new("too-long");
    let server = FakeServer::start(&folder.0, Hang(10));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["answer_timeout_s"] = json!(0.05);
    let done = done(&run(&plan));
    assert!(done["reconnects"].as_u64().unwrap() > 0);
    let error = &done["errors"][0];
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no answer within 0.05 s"),
        "{error}"
    );
}

#[test]
fn a_run_of_so_many_events_has_so_many() {
    for (threads, arrival) in [
        (1, json!({"kind": "closed"})),
        (3, json!({"kind": "closed"})),
        (2, json!({"kind": "open", "stages": [{"rate": 100_000}]})),
    ] {
        let folder = Folder::new(&format!("events-{threads}"));
        let server = FakeServer::start(&folder.0, Torn(1000));
        let mut plan = plan(&server.socket, "auto");
        plan["load"]["warmup_s"] = json!(0);
        plan["load"]["measure_s"] = json!(600);
        plan["load"]["events"] = json!(101);
        plan["load"]["threads"] = json!(threads);
        plan["load"]["arrival"] = arrival;
        let done = done(&run(&plan));
        assert_eq!(
            (&done["events"], &done["ended"]),
            (&json!(101), &json!("events"))
        );
    }
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
    done(&output);
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!(
        text.lines().filter(|line| line.contains(",HIST")).count(),
        3
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
        let mut child = Command::new(PROGRAM)
            .args(["run", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
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
