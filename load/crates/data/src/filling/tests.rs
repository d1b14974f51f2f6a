//! Filling judged by what the server would see: statements, rows, refusals.

#![allow(clippy::unwrap_used)]
use super::tables::fill_tables;
use super::*;
use crate::{KeyColumn, Rows, Sbtest, StorageEngine};
use contend_servers::null_server::testing::NullServer;
use contend_servers::serve::{Answering, ColumnOut, Refusal, ReplyWriter, ServiceTime};
use contend_wire::mysql::BoundValues;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

#[test]
fn one_key_made_the_slow_way_is_enough_to_say_so() {
    let sorted = |states: &[&str]| sorted_by_states(states.iter().copied());
    assert_eq!(sorted(&["Reading file", "End bulk insert"]), None);
    assert_eq!(sorted(&["Creating index", "Repair by sorting"]), Some(true));
    assert_eq!(
        sorted(&["Repair by sorting", "Repair with keycache"]),
        Some(false)
    );
}

#[test]
fn a_full_disk_is_known_by_code_and_by_words() {
    for (code, message) in [
        (Some(1114), "The table 't' is full"),
        (Some(3), "Error writing file 't.MYD' (Errcode: 28)"),
        (Some(1030), "Got error 28 from storage engine"),
    ] {
        let told = explain(Failure {
            code,
            statement: Some("LOAD DATA".to_owned()),
            ..Failure::plain(message)
        });
        assert!(told.message.contains("disk is full"), "{message}");
        assert!(told.hint.is_some());
    }
    let other = Failure::plain("syntax");
    assert_eq!(explain(other.clone()), other);
}

fn order(name: &str, engine: StorageEngine, rows: u64) -> TableLoad {
    TableLoad {
        table: Sbtest::Study.table(name, engine, "").unwrap(),
        content: Arc::new(Rows::new(1, rows, &KeyColumn::RowNumber)),
        pipe_folder: None,
    }
}

#[test]
fn every_engine_gets_all_rows_and_the_same_content() {
    let server = NullServer::quick();
    let stop = AtomicBool::new(false);
    let mut sums = Vec::new();
    for engine in [
        StorageEngine::MyIsam,
        StorageEngine::Aria,
        StorageEngine::InnoDb,
        StorageEngine::RocksDb,
        StorageEngine::Other("Memory".to_owned()),
    ] {
        let mut phases = Vec::new();
        let mut tell = |progress: LoadProgress| phases.push(progress.phase);
        let filled = fill(
            &server.target(),
            &order("t", engine, 5_000),
            &mut tell,
            &stop,
        )
        .unwrap();
        assert_eq!((filled.rows, filled.transport), (5_000, Transport::Local));
        assert!(filled.total_s >= filled.load_s);
        assert_eq!(phases.first(), Some(&FillPhase::Load));
        assert_eq!(phases.last(), Some(&FillPhase::Done));
        sums.push((filled.checksum, filled.bytes));
    }
    assert!(sums.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_pipe_that_the_server_does_not_open_is_no_obstacle() {
    let server = NullServer::quick();
    let mut order = order("t", StorageEngine::MyIsam, 1_000);
    order.pipe_folder = Some(std::env::temp_dir());
    let stop = AtomicBool::new(false);
    let filled = fill(&server.target(), &order, &mut |_| {}, &stop).unwrap();
    assert_eq!((filled.rows, filled.transport), (1_000, Transport::Local));
    order.pipe_folder = Some("/nonexistent/folder".into());
    let problem = fill(&server.target(), &order, &mut |_| {}, &stop).unwrap_err();
    assert!(problem.failure().message.contains("/nonexistent/folder"));
}

#[test]
fn a_signal_stops_a_fill_that_waits() {
    let hour = 3_600_000_000_000;
    let server = NullServer::start(ServiceTime::Fixed { ns: hour }, None);
    let stop = AtomicBool::new(false);
    let problem = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
        });
        let order = order("t", StorageEngine::InnoDb, 10);
        fill(&server.target(), &order, &mut |_| {}, &stop).unwrap_err()
    });
    assert!(matches!(problem, FillError::Stopped(failure) if failure.message.contains("signal")));
}

#[test]
fn several_tables_keep_their_order_and_are_all_told_of() {
    let server = NullServer::quick();
    let orders: Vec<TableLoad> = (1..=5)
        .map(|number| order(&format!("t{number}"), StorageEngine::InnoDb, 100 * number))
        .collect();
    let told = Mutex::new([0u64; 5]);
    let tell = |place: usize, progress: LoadProgress| told.lock().unwrap()[place] = progress.rows;
    let stop = AtomicBool::new(false);
    let filled = fill_tables(&server.target(), &orders, 3, &tell, &|_| Ok(()), &stop).unwrap();
    let rows: Vec<u64> = filled.iter().map(|table| table.rows).collect();
    assert_eq!(rows, [100, 200, 300, 400, 500]);
    assert_eq!(*told.lock().unwrap(), [100, 200, 300, 400, 500]);
}

#[test]
fn a_stop_before_the_first_table_is_a_stop() {
    let server = NullServer::quick();
    let stop = AtomicBool::new(true);
    let orders = [order("t", StorageEngine::InnoDb, 10)];
    let problem =
        fill_tables(&server.target(), &orders, 1, &|_, _| {}, &|_| Ok(()), &stop).unwrap_err();
    assert!(matches!(problem, FillError::Stopped(_)));
}

/// Says to every INSERT that it kept as many rows as can be said.
struct KeepsTooMany;

impl Answering for KeepsTooMany {
    const VERSION: &str = "10.11.0-MariaDB-too-many";
    type Client = ();
    type Statement = ();

    fn welcome(&mut self, _number: u32) {}

    fn query(&mut self, _client: &mut (), sql: &[u8], reply: &mut ReplyWriter<'_>) {
        match sql {
            b"SELECT @@GLOBAL.local_infile" => {
                reply.error(&Refusal::new(1193, b"HY000", "Unknown system variable"));
            }
            _ if sql.starts_with(b"INSERT") => reply.ok(u64::MAX),
            _ => reply.ok(0),
        }
    }

    fn prepare(&mut self, _client: &mut (), _sql: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }

    fn shape<'s>(&'s self, _statement: &'s ()) -> (u16, &'s [ColumnOut]) {
        (0, &[])
    }

    fn execute(
        &mut self,
        _client: &mut (),
        _statement: &(),
        _values: BoundValues<'_>,
        _reply: &mut ReplyWriter<'_>,
    ) {
    }
}

#[test]
fn a_server_that_says_it_kept_too_many_rows_is_not_believed() {
    let server = NullServer::answering(ServiceTime::None, None, || KeepsTooMany);
    let made = Made {
        table: Sbtest::Study.table("t", StorageEngine::InnoDb, "").unwrap(),
        rows: Rows::new(1, 5_000, &KeyColumn::RowNumber),
        sessions: 2,
    };
    let failure = fill_made(&server.target(), &made).unwrap_err();
    let told = format!("5000 rows were sent, but the server kept {}", u64::MAX);
    assert_eq!(failure.message, told);
}
