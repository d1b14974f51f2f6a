//! Servers that hang, drop, refuse and lie: how a run ends, and what it says.

use crate::fake::{self, FakeServer, Script};
use crate::program::{
    ENGINES, Folder, PROGRAM, done, failure, of_events, plan, run, until_it_ends,
};
use serde_json::json;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

/// Answers some commands on each connection, then never again.
pub struct Hang(pub usize);

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
        let server = FakeServer::start(&folder.0, Hang(5));
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
    let mut plan = plan(&server.socket, "auto");
    plan["server"]["connect_timeout_s"] = json!(1.0);
    let failure = failure(&run(&plan));
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
        // Fifty for each connection.
        let done = done(&run(&of_events(plan(&server.socket, engine), 200)));
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
fn a_limit_of_events_is_counted_from_the_window() {
    for arrival in [
        json!({"kind": "closed"}),
        json!({"kind": "open", "stages": [{"rate": 500.0}]}),
    ] {
        let folder = Folder::new("warm-limit");
        let server = FakeServer::start(&folder.0, Hang(usize::MAX));
        let mut plan = of_events(plan(&server.socket, "auto"), 40);
        plan["load"]["arrival"] = arrival;
        plan["load"]["warmup_s"] = json!(0.2);
        let done = done(&run(&plan));
        assert_eq!(
            (&done["events"], &done["ended"]),
            (&json!(40), &json!("events"))
        );
    }
}

#[test]
fn a_plan_may_forbid_to_reconnect() {
    let folder = Folder::new("no-reconnect");
    let server = FakeServer::start(&folder.0, Drops(20));
    let mut plan = until_it_ends(plan(&server.socket, "auto"));
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
    let done_ = done(&run(&of_events(plan(&server.socket, "auto"), 100)));
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
    let mut plan = until_it_ends(plan(&server.socket, "auto"));
    let fatal = failure(&run(&plan));
    assert_eq!(fatal["code"], 1146);
    assert!(fatal["hint"].is_string());
    plan["load"]["errors"] = json!({"ignore": [1146]});
    let ignored = done(&run(&of_events(plan, 100)));
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
        let failure = failure(&run(&until_it_ends(plan(&server.socket, "auto"))));
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

/// Has room for so many connections and prepared statements, some of them taken.
struct Small(u32, u32);

impl Script for Small {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        let (connections, statements) = (self.0.to_string(), self.1.to_string());
        let answer = match body {
            [b'S', b'E', b'L', b'E', b'C', b'T', b' ', b'@', b'@', ..] => {
                fake::table(&[&[&connections, &statements]])
            }
            [b'S', b'H', b'O', b'W', ..] => {
                fake::table(&[&["Threads_connected", "3"], &["Prepared_stmt_count", "10"]])
            }
            _ => fake::right_answer(command),
        };
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn a_server_without_room_is_found_before_the_load_begins() {
    for (server, variable, value) in [
        (Small(5, 100), "max_connections", "6"),
        (Small(100, 13), "max_prepared_stmt_count", "14"),
    ] {
        let folder = Folder::new(&format!("small-{variable}"));
        let server = FakeServer::start(&folder.0, server);
        let failure = failure(&run(&plan(&server.socket, "auto")));
        let wanted = format!("SET GLOBAL {variable} = {value}");
        assert!(
            failure["hint"].as_str().unwrap().starts_with(&wanted),
            "{failure}"
        );
        assert_eq!(server.connections(), 1);
    }
    let folder = Folder::new("small-enough");
    let server = FakeServer::start(&folder.0, Small(6, 14));
    done(&run(&plan(&server.socket, "auto")));
}

#[test]
fn a_server_that_prepares_no_more_names_the_variable_to_raise() {
    struct Sated;
    impl Script for Sated {
        fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
            let answer = match command {
                0x16 => fake::error(1, 1461, "42000", "Can't create more than 3 statements"),
                _ => fake::right_answer(command),
            };
            to.write_all(&answer).is_ok()
        }
    }
    let folder = Folder::new("sated");
    let server = FakeServer::start(&folder.0, Sated);
    let failure = failure(&run(&plan(&server.socket, "auto")));
    assert_eq!(failure["code"], 1461);
    let hint = failure["hint"].as_str().unwrap();
    assert!(hint.contains("max_prepared_stmt_count"), "{hint}");
    let statement = failure["statement"].as_str().unwrap();
    assert!(statement.starts_with("PREPARE SELECT c"), "{statement}");
}

/// Runs a plan in a shell that has set limits of its own.
fn run_limited(limits: &str, plan: &serde_json::Value) -> std::process::Output {
    let folder = Folder::new("limited");
    let file = folder.0.join("plan.json");
    std::fs::write(&file, plan.to_string()).unwrap();
    Command::new("sh")
        .arg("-c")
        .arg(format!("{limits}; exec \"$0\" run \"$1\""))
        .arg(PROGRAM)
        .arg(file)
        .output()
        .unwrap()
}

#[test]
fn our_own_limit_of_open_files_is_raised_or_named() {
    let folder = Folder::new("files");
    let server = FakeServer::start(&folder.0, Hang(50));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["connections"] = json!(100);
    plan["load"]["events"] = json!(100);
    done(&run_limited("ulimit -S -n 40", &plan));
    let failure = failure(&run_limited("ulimit -n 40", &plan));
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("the hard limit is 40"), "{message}");
    assert!(failure["hint"].as_str().unwrap().contains("ulimit -n"));
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
fn a_server_that_goes_while_a_table_is_filled_is_a_fatal_message_and_no_signal() {
    /// Asks for the rows, and goes before they come.
    struct Goes;
    impl Script for Goes {
        fn answer(&self, to: &mut UnixStream, _: u8, body: &[u8], _: usize) -> bool {
            let (answer, stays) = match body {
                [b'S', b'E', b'L', b'E', b'C', b'T', ..] => (fake::table(&[&["1"]]), true),
                [b'L', b'O', b'A', b'D', ..] => (fake::packet(1, b"\xfbrows"), false),
                _ => (fake::packet(1, fake::OK), true),
            };
            to.write_all(&answer).is_ok() && stays
        }
    }
    let folder = Folder::new("goes");
    let server = FakeServer::start(&folder.0, Goes);
    let output = Command::new(PROGRAM)
        .args(["sysbench", "oltp_read_only", "prepare"])
        .arg("--table-size=200000")
        .arg(format!("--mysql-socket={}", server.socket.display()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("filling table 'sbtest1' failed"), "{said}");
    assert!(said.contains("disconnected"), "{said}");
}
