//! The request loop allocates nothing: ten times the events, or errors, cost no allocation more.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "run/fake.rs"]
mod fake;

use contend_client::Target;
use contend_engine::arrival::{Curve, Dispenser, Schedule};
use contend_engine::job::{ArmJob, Codes, ErrorPolicy, Job, Pacing, Setup, Several};
use contend_engine::run;
use contend_model::Knobs;
use contend_model::server::{Model, ModelAnswers, ModelService};
use contend_model::variables::ServerVariables;
use contend_plan::{Engine, Process, Protocol, Stage, Workload as Spec};
use contend_reactor::socket::Address;
use contend_servers::serve::ServedSession;
use contend_wire::mysql::{Options, PreparedStatement, command};
use contend_wire::{Capabilities, Credentials, Prepared, Value};
use contend_workloads::native::{Retries, Way};
use contend_workloads::registry;
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

thread_local! {
    /// The thread that starts runs and adds up their figures may allocate; so may servers of ours.
    static IS_CONTROLLER: Cell<bool> = const { Cell::new(false) };
}

/// Allocations of all threads but the controller.
static WORKERS: AtomicU64 = AtomicU64::new(0);

/// Who counts, counts alone.
static COUNTS: Mutex<()> = Mutex::new(());

struct Counting;

fn count() {
    if !IS_CONTROLLER.try_with(Cell::get).unwrap_or(false) {
        WORKERS.fetch_add(1, Relaxed);
    }
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The null server, as a process of its own: its allocations are not ours.
struct NullServer {
    child: Child,
    socket: std::path::PathBuf,
}

impl NullServer {
    fn start() -> Self {
        let name = format!("contend-allocations-{}.sock", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let mut child = Command::new(env!("CARGO_BIN_EXE_contend-load"))
            .args(["null-server", "--socket"])
            .arg(&socket)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert!(line.contains("listening"), "{line}");
        Self { child, socket }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn job(socket: &Path, engine: Engine, spec: &Spec, open: bool, events: u64) -> Job {
    let way = Way {
        protocol: Protocol::Prepared,
        retries: Retries {
            limit: 100,
            pause: Duration::ZERO,
        },
        ..Way::default()
    };
    let schedule = open.then(|| Schedule {
        curve: Curve::new(
            0.0,
            &[Stage {
                rate: 2000.0,
                end_rate: None,
                duration_s: 0.0,
            }],
        ),
        process: Process::Poisson,
        seed: 1,
    });
    let target = Target {
        address: Address::Unix(socket.to_owned()),
        credentials: Credentials::default(),
        options: Options {
            unix_socket: true,
            ..Options::default()
        },
        connect_timeout: Duration::from_secs(60),
    };
    let workload = registry::read(spec).unwrap().build(way).unwrap();
    let arm = ArmJob {
        pacing: match open {
            true => Pacing::Open,
            false => Pacing::WITHOUT_PAUSE,
        },
        dispenser: Arc::new(Dispenser::new(schedule, Some(events))),
        ..ArmJob::of(Several::one(target), workload)
    };
    let setup = Setup {
        workers: 2,
        seed: 1,
        errors: ErrorPolicy {
            retry: vec![1213],
            ignore: Codes::Only(Vec::new()),
            reconnect: true,
        },
        setup_timeout_ns: 60_000_000_000,
        drain_ns: 10_000_000_000,
        ..Setup::new(Several::one(arm), 4)
    };
    Job {
        engine,
        ..Job::new(setup)
    }
}

#[test]
fn the_request_loop_allocates_nothing() {
    IS_CONTROLLER.set(true);
    let _alone = COUNTS.lock();
    let server = NullServer::start();
    let specs = [
        json!({"kind": "point_select", "rows": 1000}),
        // Many statement classes.
        json!({"kind": "read_write", "rows": 1000}),
        // Text that is made for each event.
        json!({"kind": "string_lookup", "rows": 1000}),
    ];
    for spec in specs {
        let spec: Spec = serde_json::from_value(spec).unwrap();
        for engine in [Engine::Epoll, Engine::Auto] {
            for open in [false, true] {
                let allocations = |events: u64, interval_ns: u64| {
                    let before = WORKERS.load(Relaxed);
                    let mut job = job(&server.socket, engine, &spec, open, events);
                    job.interval_ns = interval_ns;
                    let mut intervals = 0;
                    let measured = run(job, &mut |_| intervals += 1).unwrap();
                    assert_eq!(measured.tally.events(), events);
                    (WORKERS.load(Relaxed) - before, intervals)
                };
                let (few, _) = allocations(150, 0);
                let (many, _) = allocations(1500, 0);
                // Buffers that grow to the longest answer, and queues to the longest queue, may
                // grow a few times more.
                assert!(
                    many <= few + 20,
                    "{spec:?} {engine:?} {open}: {few} then {many}"
                );
                if open && spec.kind == "point_select" {
                    // Some 7 intervals of two workers. Their tallies have three histograms, so six
                    // allocations each at the least: but they are swapped. What is left are the
                    // blocks of the channel that they are handed over by, one for some thirty,
                    // and what grows a few times more. Only a host that keeps the controller from
                    // its work for an interval has tallies wait there, and others made in their
                    // place; so it has some tries, all of which would fail without the swap.
                    let mut tries = (0..20).map(|_| allocations(1500, 100_000_000));
                    assert!(
                        tries.any(|(told, intervals)| told <= many + 20 + 2 * intervals),
                        "{spec:?} {engine:?} in intervals"
                    );
                }
            }
        }
    }
}

#[test]
fn requests_under_way_allocate_nothing() {
    IS_CONTROLLER.set(true);
    let _alone = COUNTS.lock();
    let server = NullServer::start();
    let spec: Spec = serde_json::from_value(json!({"kind": "point_select", "rows": 1000})).unwrap();
    for engine in [Engine::Epoll, Engine::Auto] {
        for open in [false, true] {
            let allocations = |events: u64| {
                let before = WORKERS.load(Relaxed);
                let mut job = job(&server.socket, engine, &spec, open, events);
                job.setup.arms.first.depth = 16;
                let measured = run(job, &mut |_| ()).unwrap();
                assert_eq!(measured.tally.events(), events);
                WORKERS.load(Relaxed) - before
            };
            let (few, many) = (allocations(300), allocations(3000));
            // Four links, each with some buffers and queues that grow a few times more.
            assert!(many <= few + 60, "{engine:?} {open}: {few} then {many}");
        }
    }
}

/// Answers every second execution with a deadlock.
struct Deadlocks;

impl fake::Script for Deadlocks {
    fn greet(&self, to: &mut UnixStream) {
        IS_CONTROLLER.set(true);
        to.write_all(&fake::greeting()).unwrap();
    }

    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], number: usize) -> bool {
        let words = "Deadlock found when trying to get lock; try restarting transaction";
        let answer = match (command, number % 2) {
            (0x17, 0) => fake::error(1, 1213, "40001", words),
            _ => fake::right_answer(command),
        };
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn an_error_allocates_nothing() {
    IS_CONTROLLER.set(true);
    let _alone = COUNTS.lock();
    let name = format!("contend-deadlocks-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let server = fake::FakeServer::start(&folder, Deadlocks);
    let spec: Spec = serde_json::from_value(json!({"kind": "point_select", "rows": 1000})).unwrap();
    for engine in [Engine::Epoll, Engine::Auto] {
        let allocations = |events: u64| {
            let before = WORKERS.load(Relaxed);
            let job = job(&server.socket, engine, &spec, false, events);
            let measured = run(job, &mut |_| ()).unwrap();
            assert!(measured.tally.errors.total() >= events / 2);
            assert_eq!(measured.tally.events(), events);
            WORKERS.load(Relaxed) - before
        };
        let (few, many) = (allocations(150), allocations(1500));
        assert!(many <= few + 20, "{engine:?}: {few} then {many}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The model server as a thread for a client would have it, without its socket.
#[test]
fn the_model_server_answers_without_an_allocation() {
    let _alone = COUNTS.lock();
    let service = ModelService {
        socket: None,
        port: None,
        rows: 20_000,
        seed: 1,
        rows_in: None,
        // Smaller than the index, so that pages are read too.
        variables: {
            let mut variables = ServerVariables::default();
            variables.begin_with("key_buffer_size", "128K").unwrap();
            variables
        },
        knobs: Knobs::default(),
        truth: None,
    };
    let model = Arc::new(Model::new(&service).unwrap());
    let mut answers = ModelAnswers::new(&model);
    let mut session = ServedSession::greet(1, &mut answers, &mut Vec::new());
    let mut login = vec![32, 0, 0, 1];
    login.extend_from_slice(&(Capabilities::PROTOCOL_41.0 as u32).to_le_bytes());
    login.extend_from_slice(&[0; 28]);
    let mut out = Vec::with_capacity(1 << 20);
    session.hear(&login, &mut answers, &mut out);
    let mut prepare = Vec::new();
    command::init_db(&mut prepare, "sbtest");
    session.hear(&prepare, &mut answers, &mut out);
    prepare.clear();
    command::prepare(
        &mut prepare,
        b"SELECT * FROM sbtest WHERE k IN (?, ?, ?, ?)",
    );
    session.hear(&prepare, &mut answers, &mut out);
    let mut statement = PreparedStatement::new(Prepared {
        id: 1,
        columns: 4,
        parameters: 4,
    });
    let (mut text, mut request) = (String::with_capacity(200), Vec::with_capacity(500));
    let mut ask = |count: i64| {
        let before = WORKERS.load(Relaxed);
        for number in 1..=count {
            let keys = [7, 1_000, 5_003, 9_001].map(|step| 1 + number * step % 20_000);
            text.clear();
            write!(
                text,
                "SELECT c, id FROM sbtest WHERE k IN ({}, {})",
                keys[0], keys[3]
            )
            .unwrap();
            request.clear();
            command::query(&mut request, text.as_bytes());
            out.clear();
            session.hear(&request, &mut answers, &mut out);
            request.clear();
            statement
                .execute(&mut request, &keys.map(Value::Int))
                .unwrap();
            session.hear(&request, &mut answers, &mut out);
            assert!(out.len() > 900, "six rows");
        }
        WORKERS.load(Relaxed) - before
    };
    ask(10);
    assert_eq!(ask(1_000), 0);
}
