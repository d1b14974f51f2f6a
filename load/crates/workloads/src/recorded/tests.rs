//! What connections send, without a server.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::native::Retries;
use contend_engine::workload::{Answer, Call, Step, Verdict};
use contend_recording::formats::LogFormat;
use contend_recording::{Importer, LogInput};
use contend_sql::Mode;
use contend_wire::{Capabilities, ServerError};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// A recording in a folder that is removed at its end.
struct Recording(PathBuf);

impl Recording {
    /// Made of a general log: milliseconds after its beginning, a session, and what it sends.
    fn of(entries: &[(u64, u32, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("contend-recorded-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let mut log = String::new();
        for session in entries.iter().map(|entry| entry.1).collect::<HashSet<_>>() {
            log += &format!(
                "2026-11-02T10:00:00.000000Z\t    {session} Connect\tapp@localhost on shop using \
                 Socket\n"
            );
        }
        for (ms, session, text) in entries {
            let (second, ms) = (ms / 1000, ms % 1000);
            log += &format!(
                "2026-11-02T10:{:02}:{:02}.{ms:03}000Z\t    {session} Query\t{text}\n",
                second / 60,
                second % 60,
            );
        }
        let from = folder.join("log");
        fs::write(&from, log).unwrap();
        let mut reader = LogFormat::General.reader(Mode::default());
        let mut importer = Importer::new(&folder.join("recording"), Mode::default()).unwrap();
        let input = LogInput::open(&from.display().to_string()).unwrap();
        let mut take = |entry: contend_recording::LogEntry<'_>| importer.take(entry);
        let bytes = input.read(&mut *reader, 0, &mut take, &mut |_| Ok(()));
        importer
            .finish("general", bytes.unwrap(), &*reader)
            .unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("recording")
    }

    fn keys(&self, more: serde_json::Value) -> Keys {
        let mut keys = json!({"recording": self.path()});
        let more = more.as_object().cloned().unwrap_or_default();
        keys.as_object_mut().unwrap().extend(more);
        serde_json::from_value(keys).unwrap()
    }

    fn workload(&self, more: serde_json::Value) -> Arc<dyn Workload> {
        self.keys(more).build(way()).unwrap()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn way() -> Way {
    Way {
        retries: Retries {
            limit: 5,
            ..Retries::default()
        },
        database: "own".into(),
        ..Way::default()
    }
}

/// Ten seconds of 20 transactions each, one every 50 ms.
fn seconds() -> Recording {
    let texts: Vec<String> = (0..200).map(|n| format!("SELECT {n}")).collect();
    let entry = |(place, text)| (place as u64 * 50, 7, text);
    let entries: Vec<_> = texts
        .iter()
        .map(String::as_str)
        .enumerate()
        .map(entry)
        .collect();
    Recording::of(&entries)
}

fn seat(index: u32, seed: u64) -> SeatPlace {
    SeatPlace {
        index,
        count: 4,
        worker: 0,
        seed,
    }
}

/// A connection whose server answers with what `refuses` says.
struct Client<'r> {
    session: Box<dyn Session>,
    refuses: &'r dyn Fn(&str) -> Option<Verdict>,
    sent: Vec<String>,
    /// What the session calls the statements that were refused.
    refused: Vec<String>,
}

impl<'r> Client<'r> {
    fn new(workload: &Arc<dyn Workload>, seat: SeatPlace) -> Self {
        let mut client = Self {
            session: workload.session(seat).unwrap(),
            refuses: &|_| None,
            sent: Vec::new(),
            refused: Vec::new(),
        };
        client.walk(Call::Start);
        client.sent.clear();
        client
    }

    /// Texts that an event sends, and its last step.
    fn event(&mut self, cycle: u64) -> (Vec<String>, Step) {
        self.sent.clear();
        let step = self.walk(Call::Event {
            cycle,
            late_ns: 0,
            counts: true,
        });
        (std::mem::take(&mut self.sent), step)
    }

    fn walk(&mut self, call: Call<'_>) -> Step {
        let mut out = Vec::new();
        let mut step = self.session.next(call, &mut out);
        loop {
            let text = String::from_utf8_lossy(out.get(5..).unwrap_or_default()).into_owned();
            let is_database = out.get(4) == Some(&2);
            out.clear();
            step = match step {
                Step::Send(request) => {
                    let verdict = (self.refuses)(&text);
                    self.sent.push(match is_database {
                        true => format!("USE {text}"),
                        false => text,
                    });
                    if let (Some(_), None) = (request.ends, verdict) {
                        return Step::EventEnd(request.ends.unwrap());
                    }
                    if verdict.is_some() {
                        self.refused.push(self.session.statement());
                    }
                    let error = ServerError::default();
                    let answer = Answer {
                        error: verdict.is_some().then_some(&error),
                        verdict: verdict.unwrap_or_default(),
                        ..Answer::default()
                    };
                    self.session.next(Call::Answer(&answer), &mut out)
                }
                Step::Connect(_) => {
                    let call = Call::Connected {
                        link: 0,
                        capabilities: Capabilities::NONE,
                    };
                    self.session.next(call, &mut out)
                }
                Step::Sleep(time) => {
                    std::thread::sleep(time);
                    self.session.next(Call::Woken, &mut out)
                }
                other => return other,
            };
        }
    }
}

/// The texts of the first events, each sent by the next of four connections.
fn sent(workload: &Arc<dyn Workload>, seed: u64, events: u64) -> Vec<String> {
    let mut clients: Vec<Client<'_>> = (0..4)
        .map(|index| Client::new(workload, seat(index, seed)))
        .collect();
    let texts = (0..events).flat_map(|cycle| clients[(cycle % 4) as usize].event(cycle).0);
    texts.filter(|text| !text.starts_with("USE")).collect()
}

#[test]
fn blocks_stay_together_and_seeds_reproduce() {
    let recording = seconds();
    let workload = || recording.workload(json!({"block_s": 1.0}));
    let texts = sent(&workload(), 3, 2000);
    assert_eq!(sent(&workload(), 3, 2000), texts);
    assert_ne!(sent(&workload(), 4, 2000), texts);
    let numbers: Vec<u64> = texts
        .iter()
        .map(|text| text.strip_prefix("SELECT ").unwrap().parse().unwrap())
        .collect();
    let mut seen = HashSet::new();
    for block in numbers.chunks(20) {
        let first = block[0];
        assert_eq!(first % 20, 0);
        assert_eq!(block, (first..first + 20).collect::<Vec<u64>>());
        seen.insert(first);
    }
    // All ten blocks, in a random order.
    assert_eq!(seen.len(), 10);
}

#[test]
fn a_transaction_is_sent_on_one_connection_in_its_database() {
    let recording = Recording::of(&[
        (0, 7, "BEGIN"),
        (1, 7, "UPDATE t SET a = 1"),
        (2, 7, "COMMIT"),
    ]);
    let workload = recording.workload(json!({"writes": true}));
    let mut client = Client::new(&workload, seat(0, 1));
    let (texts, step) = client.event(0);
    assert_eq!(texts, ["USE shop", "BEGIN", "UPDATE t SET a = 1", "COMMIT"]);
    assert!(matches!(step, Step::EventEnd(ending) if !ending.rolled_back));
    // It has the database then.
    assert_eq!(client.event(5).0, ["BEGIN", "UPDATE t SET a = 1", "COMMIT"]);
    assert_eq!(workload.classes(), ["t0", "t1", "t2", "other"]);
}

#[test]
fn a_statement_is_sent_to_no_other_database_than_its_own() {
    let recording = Recording::of(&[(0, 7, "SELECT 1")]);
    let workload = recording.workload(json!({}));
    let mut client = Client::new(&workload, seat(0, 1));
    client.refuses = &|text| (text == "shop").then_some(Verdict::Ignore);
    let (texts, step) = client.event(0);
    assert_eq!(texts, ["USE shop"]);
    assert!(matches!(step, Step::EventDropped), "{step:?}");
}

#[test]
fn what_the_plan_retries_is_rolled_back_and_sent_again_whole() {
    let recording = Recording::of(&[
        (0, 7, "BEGIN"),
        (1, 7, "UPDATE t SET a = 1"),
        (2, 7, "ROLLBACK"),
    ]);
    let workload = recording.workload(json!({"writes": true}));
    let mut client = Client::new(&workload, seat(0, 1));
    client.refuses = &|text| text.starts_with("UPDATE").then_some(Verdict::Retry);
    let (texts, step) = client.event(0);
    assert_eq!(
        texts,
        ["USE shop", "BEGIN", "UPDATE t SET a = 1", "ROLLBACK"]
    );
    assert!(matches!(step, Step::Retry(_)), "{step:?}");
    client.refuses = &|_| None;
    let (texts, step) = client.event(0);
    assert_eq!(texts, ["BEGIN", "UPDATE t SET a = 1", "ROLLBACK"]);
    assert!(matches!(step, Step::EventEnd(ending) if ending.rolled_back));
}

#[test]
fn errors_are_ignored_unless_nothing_succeeds() {
    let recording = Recording::of(&[
        (0, 7, "START TRANSACTION"),
        (1, 7, "SELECT a FROM gone"),
        (2, 7, "SELECT 1"),
        (3, 7, "COMMIT"),
    ]);
    let workload = recording.workload(json!({}));
    let mut client = Client::new(&workload, seat(0, 1));
    client.refuses = &|text| text.contains("gone").then_some(Verdict::Ignore);
    let (texts, step) = client.event(0);
    assert_eq!(texts, ["USE shop", "SELECT a FROM gone", "SELECT 1"]);
    assert!(matches!(step, Step::EventEnd(_)), "{step:?}");
    client.refuses = &|text| text.contains("SELECT").then_some(Verdict::Ignore);
    let (_, step) = client.event(1);
    assert!(matches!(step, Step::EventDropped), "{step:?}");
    // No value is shown: it stays in the recording.
    assert_eq!(client.refused.last().unwrap(), "SELECT ?");
}

#[test]
fn shares_send_whole_transactions_more_or_less_often() {
    let recording = seconds_of_two();
    let share = |shares: serde_json::Value| {
        let texts = sent(
            &recording.workload(json!({"block_s": 1.0, "shares": shares})),
            1,
            4000,
        );
        let others = texts.iter().filter(|text| text.contains("FROM b")).count();
        others as f64 / texts.len() as f64
    };
    assert!((share(json!({})) - 0.25).abs() < 0.01);
    assert!((share(json!({"t1": 60})) - 0.6).abs() < 0.03);
    assert_eq!(share(json!({"t1": 0})), 0.0);
    assert_eq!(share(json!({"t0": 0, "t1": 100})), 1.0);
}

/// Every fourth statement is of template 1.
fn seconds_of_two() -> Recording {
    let texts: Vec<String> = (0..200)
        .map(|n| format!("SELECT {n} FROM {}", if n % 4 == 1 { "b" } else { "a" }))
        .collect();
    let entry = |(place, text)| (place as u64 * 50, 7, text);
    let entries: Vec<_> = texts
        .iter()
        .map(String::as_str)
        .enumerate()
        .map(entry)
        .collect();
    Recording::of(&entries)
}

#[test]
fn what_cannot_be_is_refused_with_its_path() {
    let recording = seconds_of_two();
    let refusal = |more| recording.keys(more).build(way()).err().unwrap();
    let unknown = refusal(json!({"shares": {"t17": 5}}));
    assert!(unknown.starts_with("workload.shares: "), "{unknown}");
    assert!(
        unknown.contains("\"t17\"") && unknown.contains("t0, t1"),
        "{unknown}"
    );
    assert!(refusal(json!({"shares": {"t0": 60, "t1": 60}})).contains("120 percent"));
    assert!(refusal(json!({"shares": {"t0": 60, "t1": 20}})).contains("80 percent"));
    let gone = Keys {
        recording: "/nowhere/at/all".to_owned(),
        ..recording.keys(json!({}))
    };
    let gone = gone.build(way()).err().unwrap();
    assert!(gone.starts_with("workload.recording: "), "{gone}");
    let writes = Recording::of(&[(0, 7, "UPDATE t SET a = 1")]);
    let refusal = writes.keys(json!({})).build(way()).err().unwrap();
    assert!(refusal.contains("set writes"), "{refusal}");
    assert!(writes.keys(json!({"writes": true})).build(way()).is_ok());
}

#[test]
fn a_recording_that_is_damaged_meanwhile_ends_the_run_and_not_the_program() {
    let recording = seconds();
    let workload = recording.workload(json!({}));
    damage(&recording.path());
    let failure = workload.session(seat(0, 1)).err().unwrap();
    assert!(
        failure.message.contains("is damaged"),
        "{}",
        failure.message
    );
}

/// In place: the file that is open is the one that is damaged.
fn damage(path: &Path) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"damage", 40).unwrap();
}

#[test]
fn the_thread_ends_with_the_workload() {
    let recording = seconds();
    let recorded = RecordedTransactions::open(&recording.path(), 1_000_000, false).unwrap();
    let copies = copies(&BTreeMap::new(), &recorded.counts).unwrap();
    let workload = Recorded::new(recorded, copies, way());
    let ahead = Arc::downgrade(&workload.ahead);
    drop(workload.session(seat(0, 1)).unwrap());
    drop(workload);
    while ahead.strong_count() > 0 {
        std::thread::yield_now();
    }
}
