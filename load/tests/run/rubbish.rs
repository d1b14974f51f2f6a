//! Servers that say what no server should: at the login, in the middle of an answer, without end.

use crate::fake::{self, FakeServer, Script, packet};
use crate::program::{
    ENGINES, Folder, PROGRAM, begun, done, failure, of_events, plan, run, until_it_ends,
};
use serde_json::json;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a login is told.
#[derive(Clone)]
enum Said {
    Bytes(Vec<u8>),
    /// And then nothing more.
    Then(Vec<u8>),
}

impl Said {
    fn say(&self, to: &mut UnixStream) {
        let (bytes, closes) = match self {
            Self::Bytes(bytes) => (bytes, false),
            Self::Then(bytes) => (bytes, true),
        };
        let _ = to.write_all(bytes);
        if closes {
            let _ = to.shutdown(Shutdown::Both);
        }
    }
}

struct Login {
    greeting: Said,
    admission: Said,
}

impl Script for Login {
    fn greet(&self, to: &mut UnixStream) {
        self.greeting.say(to);
    }
    fn admit(&self, to: &mut UnixStream) {
        self.admission.say(to);
    }
    fn answer(&self, _: &mut UnixStream, _: u8, _: &[u8], _: usize) -> bool {
        false
    }
}

#[test]
fn a_login_of_rubbish_is_a_clear_failure() {
    let greeting = |said| Login {
        greeting: said,
        admission: Said::Bytes(Vec::new()),
    };
    let admission = |said| Login {
        greeting: Said::Bytes(fake::greeting()),
        admission: said,
    };
    let half = fake::greeting()[..20].to_vec();
    let wrong_number = [&fake::greeting()[..3], &[7], &fake::greeting()[4..]].concat();
    let switch = packet(2, b"\xfeno_such_plugin\0abcdefghijklmnopqrst\0");
    let protocol = "broke the protocol";
    for (name, login, words) in [
        (
            "ssh",
            greeting(Said::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())),
            protocol,
        ),
        ("zero", greeting(Said::Bytes(packet(0, b""))), protocol),
        ("number", greeting(Said::Bytes(wrong_number)), protocol),
        ("torn", greeting(Said::Then(half.clone())), "cannot connect"),
        ("silent", greeting(Said::Bytes(half)), "cannot connect"),
        ("closed", greeting(Said::Then(Vec::new())), "cannot connect"),
        ("plugin", admission(Said::Bytes(switch)), "no_such_plugin"),
        (
            "unknown",
            admission(Said::Bytes(packet(2, b"\x42what"))),
            protocol,
        ),
        ("empty", admission(Said::Bytes(packet(2, b""))), protocol),
        ("again", admission(Said::Bytes(fake::greeting())), protocol),
        ("gone", admission(Said::Then(vec![7, 0])), "cannot connect"),
    ] {
        let folder = Folder::new(&format!("login-{name}"));
        let server = FakeServer::start(&folder.0, login);
        let mut plan = plan(&server.socket, "auto");
        if name == "silent" {
            plan["server"]["connect_timeout_s"] = json!(1.0);
        }
        let output = run(&plan);
        let failure = failure(&output);
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains(words), "{name}: {message}");
        assert!(message.contains("fake.sock"), "{name}: {message}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    }
}

/// Answers so many bytes of a result, then closes.
struct Cuts(usize);

impl Script for Cuts {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        let answer = fake::right_answer(command);
        if command == 0x17 && number > 3 {
            let _ = to.write_all(&answer[..self.0.min(answer.len() - 1)]);
            return false;
        }
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn a_close_in_the_middle_of_an_answer_is_a_lost_connection() {
    // In the header, between packets, in a definition, one byte before the end.
    for (engine, cut) in ENGINES
        .iter()
        .flat_map(|engine| [2, 5, 20, 999].map(|c| (engine, c)))
    {
        let folder = Folder::new(&format!("cut-{engine}-{cut}"));
        let server = FakeServer::start(&folder.0, Cuts(cut));
        // Ten for each connection, which is more than it answers.
        let done = done(&run(&of_events(plan(&server.socket, engine), 40)));
        assert!(done["reconnects"].as_u64().unwrap() > 0);
        assert!(done["queries"].as_u64().unwrap() > 0);
        let error = &done["errors"][0];
        assert_eq!(error["code"], 2013);
        assert!(
            error["hint"]
                .as_str()
                .unwrap()
                .contains("max_allowed_packet")
        );
    }
}

/// Answers half and then keeps silent.
struct Stops;

impl Script for Stops {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        let answer = fake::right_answer(command);
        if number > 3 {
            let _ = to.write_all(&answer[..answer.len() / 2]);
            std::thread::sleep(Duration::from_secs(3600));
        }
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn half_an_answer_does_not_keep_the_run() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("half-{engine}"));
        let server = FakeServer::start(&folder.0, Stops);
        // On a busy host not every connection comes as far as that in its time.
        let all_hang = (0..10).any(|_| {
            let done = done(&run(&plan(&server.socket, engine)));
            assert_eq!(done["ended"], "time");
            done["unanswered"] == 4
        });
        assert!(all_hang);
    }
}

/// Prepares, and reads nothing after.
struct Deaf;

thread_local! {
    /// Whether the connection that this thread serves has prepared.
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

impl Script for Deaf {
    fn listen(&self, _: usize) {
        if PREPARED.get() {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        // Three parameters of each of 20,000 rows, and no columns.
        let prepared = [
            &b"\0\x01\0\0\0\0\0"[..],
            &60_000u16.to_le_bytes(),
            &[0, 0, 0],
        ]
        .concat();
        let definitions = (0..60_000u32).map(|n| packet((2 + n) as u8, fake::COLUMN));
        let end = packet((2 + 60_000u32) as u8, fake::EOF);
        PREPARED.set(command == 0x16);
        let answer = match command {
            0x16 => [packet(1, &prepared), definitions.flatten().collect(), end].concat(),
            _ => fake::right_answer(command),
        };
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn a_server_that_stops_reading_does_not_keep_the_run() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("deaf-{engine}"));
        let server = FakeServer::start(&folder.0, Deaf);
        let mut plan = plan(&server.socket, engine);
        // Requests of some megabytes fit into no socket.
        plan["workload"] = json!({"kind": "bulk_insert", "rows": 1000, "batch": 20_000});
        plan["load"]["measure_s"] = json!(1.0);
        let ended = done(&run(&plan));
        assert_eq!(
            (&ended["ended"], &ended["unanswered"]),
            (&json!("time"), &json!(4))
        );
        plan["load"]["answer_timeout_s"] = json!(0.1);
        plan["load"]["errors"] = json!({"reconnect": false});
        let given_up = failure(&run(&until_it_ends(plan)));
        assert_eq!(given_up["code"], 2013);
    }
}

/// Answers an execution with a beginning, and then the same again and again.
struct Endless {
    begin: Vec<u8>,
    again: fn(u8) -> Vec<u8>,
}

impl Script for Endless {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        if command != 0x17 {
            return to.write_all(&fake::right_answer(command)).is_ok();
        }
        let mut sequence = 4;
        let mut sent = to.write_all(&self.begin);
        while sent.is_ok() {
            let mut bytes = Vec::new();
            while bytes.len() < 64 << 10 {
                bytes.extend((self.again)(sequence));
                sequence = sequence.wrapping_add(1);
            }
            sent = to.write_all(&bytes);
        }
        false
    }
}

/// Nothing that a server sends may make us keep more than a little.
const RESIDENT_KB_MAX: u64 = 100 << 10;

#[test]
fn what_never_ends_is_passed_over_and_the_run_ends() {
    let head = fake::row()[..fake::row().len() - 18].to_vec();
    // A packet of the greatest length, after which its next part must follow.
    fn part(sequence: u8) -> Vec<u8> {
        let mut part = vec![0xff, 0xff, 0xff, sequence];
        part.resize(4 + 0xff_ffff, 0);
        part
    }
    for (name, again) in [
        (
            "rows",
            (|sequence| packet(sequence, b"\0\0\x04text")) as fn(u8) -> Vec<u8>,
        ),
        ("row", part as fn(u8) -> Vec<u8>),
    ] {
        for engine in ENGINES {
            let folder = Folder::new(&format!("endless-{name}-{engine}"));
            let begin = head.clone();
            let server = FakeServer::start(&folder.0, Endless { begin, again });
            let mut plan = plan(&server.socket, engine);
            plan["load"]["measure_s"] = json!(0.5);
            let (last, resident_kb) = measured(&plan);
            assert_eq!(last["type"], "done", "{name}: {last}");
            assert_eq!(
                (&last["ended"], &last["unanswered"]),
                (&json!("time"), &json!(4))
            );
            assert!(resident_kb < RESIDENT_KB_MAX, "{name}: {resident_kb} KB");
        }
    }
}

/// Runs a plan: its last line, and the most memory that the program had, in KB.
fn measured(plan: &serde_json::Value) -> (serde_json::Value, u64) {
    let mut command = Command::new(PROGRAM);
    command.args(["run", "-"]).stdout(Stdio::piped());
    let mut child = begun(command.stderr(Stdio::null()), &plan.to_string());
    let status = format!("/proc/{}/status", child.id());
    let (mut last, mut resident_kb) = (serde_json::Value::Null, 0);
    // A line comes with every interval; what was used most is looked at with each.
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        last = serde_json::from_str(&line.unwrap()).unwrap();
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let high = high.and_then(|high| high.split_whitespace().next()?.parse().ok());
        resident_kb = high.unwrap_or(0).max(resident_kb);
    }
    assert!(child.wait().unwrap().success());
    assert!(resident_kb > 0);
    (last, resident_kb)
}
