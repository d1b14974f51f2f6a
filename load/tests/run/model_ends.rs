//! The model server under load: its cache is changed, clients break off, it is told to end.

use crate::model_server::{Control, Model};
use crate::program::{self, PROGRAM};
use contend_random::Stream;
use contend_wire::mysql::command;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn points(points: u32) -> Value {
    json!({"kind": "random_points", "rows": 10_000, "points": points})
}

/// Waits until the server says so.
fn until(control: &mut Control, name: &str, is: impl Fn(u64) -> bool) {
    while !is(control.status(name)) {
        sleep(Duration::from_millis(2));
    }
}

/// A client without a library that has logged in, to the database of the table.
fn raw(server: &Model) -> UnixStream {
    let (mut socket, greeting) = greeted(server);
    assert_eq!(greeting[0], GREETING, "{greeting:?}");
    log_in(&mut socket);
    socket
}

/// What the packet begins with that asks for a login; one that turns away has another.
const GREETING: u8 = 10;

/// A client that has connected, and the first packet that it got.
fn greeted(server: &Model) -> (UnixStream, Vec<u8>) {
    let mut socket = UnixStream::connect(server.socket()).unwrap();
    let first = packet(&mut socket);
    (socket, first)
}

fn log_in(socket: &mut UnixStream) {
    // PROTOCOL_41, CONNECT_WITH_DB, SECURE_CONNECTION.
    let mut login = 0x0000_8208u32.to_le_bytes().to_vec();
    login.extend_from_slice(&[0; 28]);
    login.extend_from_slice(b"root\0\0sbtest\0");
    let mut packet_out = (login.len() as u32).to_le_bytes();
    packet_out[3] = 1;
    socket.write_all(&packet_out).unwrap();
    socket.write_all(&login).unwrap();
    assert_eq!(packet(socket)[0], 0, "let in");
}

/// The next packet.
fn packet(socket: &mut UnixStream) -> Vec<u8> {
    let mut head = [0; 4];
    socket.read_exact(&mut head).unwrap();
    head[3] = 0;
    let mut payload = vec![0; u32::from_le_bytes(head) as usize];
    socket.read_exact(&mut payload).unwrap();
    payload
}

fn query(sql: &str) -> Vec<u8> {
    let mut out = Vec::new();
    command::query(&mut out, sql.as_bytes());
    out
}

/// Packets of an answer to a select of `id` with so many rows: the count of columns, the column,
/// a mark, the rows, a mark.
const fn packets_of(rows: usize) -> usize {
    rows + 4
}

#[test]
fn segments_can_be_changed_under_load_and_no_query_is_lost() {
    let server = Model::start("segments", &["--rows=10000"]);
    let load = json!({"connections": 8, "measure_s": 600, "events": 15_000});
    let plan = server.plan(points(5), load);
    let child = program::begun(
        Command::new(PROGRAM)
            .args(["run", "-"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
        &plan.to_string(),
    );
    let mut control = server.control();
    until(&mut control, "Handler_read_key", |keys| keys > 0);
    let mut random = Stream::new(5, 0);
    for _ in 0..50 {
        let segments = random.below(65);
        control.run(&format!("SET GLOBAL key_cache_segments = {segments}"));
        let rows = control.rows("SELECT SEGMENT_NUMBER FROM information_schema.KEY_CACHES");
        let wanted = if segments == 0 {
            1
        } else {
            segments as usize + 1
        };
        assert_eq!(rows.len(), wanted);
    }
    let done = program::done(&child.wait_with_output().unwrap());
    assert_eq!(
        (&done["events"], &done["errors"]),
        (&json!(15_000), &json!([])),
        "{done}"
    );
    assert_eq!(
        (&done["reconnects"], &done["ended"]),
        (&json!(0), &json!("events"))
    );
    let (_, truth) = server.stop();
    assert_eq!(
        (&truth["queries"], &truth["epoch"]),
        (&json!(15_000), &json!(50))
    );
}

#[test]
fn at_the_end_it_answers_what_it_has_taken() {
    let server = Model::start("answers-taken", &["--rows=10000", "--knob=delay_us=300000"]);
    let mut client = raw(&server);
    let mut control = server.control();
    let before = control.status("Handler_read_key");
    client
        .write_all(&query("SELECT id FROM sbtest WHERE k IN (1, 2, 3)"))
        .unwrap();
    until(&mut control, "Handler_read_key", |keys| keys >= before + 3);
    let stopping = std::thread::spawn(move || server.stop());
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(packets(&answer), packets_of(3));
    let (served, _) = stopping.join().unwrap();
    assert_eq!(served["queries"], 1);
}

fn packets(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        bytes = rest.get(length..).expect("a whole packet");
        count += 1;
    }
    count
}

#[test]
fn it_ends_under_load_and_the_load_is_told() {
    let server = Model::start("ends", &["--rows=10000"]);
    let plan = server.plan(points(10), json!({"connections": 16, "measure_s": 600}));
    let child = program::begun(
        Command::new(PROGRAM)
            .args(["run", "-"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
        &plan.to_string(),
    );
    let mut control = server.control();
    until(&mut control, "Handler_read_key", |keys| keys > 1_000);
    drop(control);
    let (served, truth) = server.stop();
    assert_eq!(served["queries"], truth["queries"]);
    // The load would look for it until its time is over.
    // SAFETY: the child is ours and has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let done = program::done(&child.wait_with_output().unwrap());
    assert!(
        done["queries"].as_u64() <= served["queries"].as_u64(),
        "{done}"
    );
}

#[test]
fn clients_that_break_off_anywhere_leave_nothing_behind() {
    let server = Model::start("broken", &["--rows=10000"]);
    let mut control = server.control();
    let keys: Vec<String> = (1..=500).map(|key| key.to_string()).collect();
    let long = query(&format!(
        "SELECT id, c, pad FROM sbtest WHERE k IN ({})",
        keys.join(",")
    ));
    for round in 0..30usize {
        // Before the greeting is read, within the login, within a command.
        drop(UnixStream::connect(server.socket()).unwrap());
        let mut torn = UnixStream::connect(server.socket()).unwrap();
        torn.write_all(&[40, 0, 0, 1, 8, 2][..1 + round % 6])
            .unwrap();
        drop(torn);
        let mut torn = raw(&server);
        torn.write_all(&long[..1 + round * long.len() / 31])
            .unwrap();
        drop(torn);
        // Within an answer, of which more is to come than the socket holds.
        let mut deaf = raw(&server);
        for _ in 0..20 {
            deaf.write_all(&long).unwrap();
        }
        deaf.read_exact(&mut [0; 100]).unwrap();
        drop(deaf);
    }
    until(&mut control, "Threads_connected", |connected| {
        connected == 1
    });
    assert_eq!(control.rows("SELECT id FROM sbtest WHERE k = 7"), [["7"]]);
    let rubbish = b"\x05\0\0\0\xee????";
    let mut wrong = raw(&server);
    wrong.write_all(rubbish).unwrap();
    assert_eq!(packet(&mut wrong)[..3], [0xff, 0x17, 0x04], "error 1047");
    server.stop();
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_it_from_ending() {
    let server = Model::start("deaf", &["--rows=10000"]);
    let keys: Vec<String> = (1..=1_000).map(|key| key.to_string()).collect();
    let long = query(&format!(
        "SELECT c FROM sbtest WHERE k IN ({})",
        keys.join(",")
    ));
    let mut deaf = raw(&server);
    for _ in 0..20 {
        deaf.write_all(&long).unwrap();
    }
    let mut control = server.control();
    until(&mut control, "Handler_read_key", |keys| keys >= 1_000);
    server.stop();
}

#[test]
fn more_connections_than_it_may_have_are_turned_away() {
    let options = ["--rows=10", "--variable=max_connections=10"];
    let server = Model::start("full", &options);
    let mut clients: Vec<UnixStream> = (0..10).map(|_| raw(&server)).collect();
    let mut one_more = UnixStream::connect(server.socket()).unwrap();
    assert_eq!(packet(&mut one_more)[..3], [0xff, 0x10, 0x04], "error 1040");
    // When one has left there is room again.
    clients.pop();
    let mut again = loop {
        let mut client = UnixStream::connect(server.socket()).unwrap();
        if packet(&mut client)[0] == 10 {
            break client;
        }
    };
    again.write_all(&[0]).unwrap();
    let (_, truth) = server.stop();
    assert!(truth["turned_away"].as_u64().unwrap() >= 1);
}

#[test]
fn more_connections_than_threads_can_be_had_are_turned_away() {
    let mut command = Command::new("sh");
    // Kilobytes of address space, of which each thread takes a part.
    command.args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\"", PROGRAM]);
    let options = [
        "--rows=10",
        "--variable=max_connections=5000",
        "--variable=key_buffer_size=1M",
    ];
    let server = Model::start_by("threads", command, &options);
    let mut clients = Vec::new();
    let code = loop {
        let (client, said) = greeted(&server);
        match said[0] {
            GREETING => clients.push(client),
            _ => break u16::from_le_bytes([said[1], said[2]]),
        }
        assert!(clients.len() < 5_000, "every one has a thread");
    };
    assert_eq!(code, 1135);
    // Whoever has one is served, as soon as one of the others has ended.
    drop(clients);
    let mut client = loop {
        match greeted(&server) {
            (client, said) if said[0] == GREETING => break client,
            _ => sleep(Duration::from_millis(2)),
        }
    };
    log_in(&mut client);
    client
        .write_all(&query("SELECT id FROM sbtest WHERE k IN (1, 2)"))
        .unwrap();
    for _ in 0..packets_of(2) {
        packet(&mut client);
    }
    server.stop();
}

/// The most memory that it has had.
fn most_kb(server: &Model) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    most.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_key_cache_takes_the_memory_of_what_is_in_it_however_often_it_is_changed() {
    let server = Model::start(
        "memory",
        &["--rows=10000", "--variable=key_buffer_size=512M"],
    );
    let mut kept = Vec::new();
    for round in 0..24 {
        // Each by a thread of its own.
        let mut control = server.control();
        let segments = [64, 0, 32][round % 3];
        control.run(&format!("SET GLOBAL key_cache_segments = {segments}"));
        control.run("LOAD INDEX INTO CACHE sbtest");
        kept.push(control);
    }
    // The control blocks of two caches, of which one is being made, and a little.
    let most_kb = most_kb(&server);
    assert!(most_kb < 150_000, "{most_kb} kB");
}

#[test]
fn a_thousand_connections_fit_into_200_megabytes() {
    let server = Model::start(
        "thousand",
        &["--rows=10000", "--variable=max_connections=1100"],
    );
    let load = json!({"connections": 1_000, "measure_s": 600, "events_each": 5});
    let done = server.load(points(10), load);
    assert_eq!(
        (&done["events"], &done["errors"]),
        (&json!(5_000), &json!([])),
        "{done}"
    );
    let most_kb = most_kb(&server);
    assert!(most_kb < 200_000, "{most_kb} kB");
    let mut control = server.control();
    assert!(control.status("Max_used_connections") >= 1_000);
    server.stop();
}
