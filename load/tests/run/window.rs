//! Every event that was begun, or due, is in the outcome exactly once, whatever stalls it.

use crate::fake::{self, FakeServer, Script};
use crate::pacing::Slow;
use crate::program::{ENGINES, Folder, done, plan, run};
use serde_json::{Value, json};
use std::io::Write;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Stands still, hangs up or falls silent, by a seed.
struct Moody {
    seed: u64,
    asked: AtomicU64,
    answered: Arc<AtomicU64>,
}

impl Script for Moody {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        if command != 0x17 {
            return to.write_all(&fake::right_answer(command)).is_ok();
        }
        let number = self.asked.fetch_add(1, SeqCst);
        let mood = (number ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let pause_ms = match mood % 64 {
            0 => return false,
            1 => 3_600_000,
            2..8 => mood / 64 % 200,
            8..24 => mood / 64 % 20,
            _ => 0,
        };
        std::thread::sleep(Duration::from_millis(pause_ms));
        self.answered.fetch_add(1, SeqCst);
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

fn count(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("{of} is no count"))
}

/// Runs of these seeds, each of which must account for its events: how many ended after the window,
/// how many did not end, and how many that were due did not begin.
fn sums_over_stalls(seeds: Range<u64>) -> [u64; 3] {
    let arrivals = [
        json!({"kind": "closed"}),
        json!({"kind": "closed", "think_s": 0.003, "think_scatters": true}),
        json!({"kind": "open", "stages": [{"rate": 400}]}),
        json!({"kind": "open", "stages": [{"rate": 4000}]}),
    ];
    let (mut drained, mut unfinished, mut not_begun) = (0, 0, 0);
    for seed in seeds {
        let engine = ENGINES[seed as usize % 2];
        let folder = Folder::new(&format!("window-{seed}"));
        let answered = Arc::new(AtomicU64::new(0));
        let server = FakeServer::start(
            &folder.0,
            Moody {
                seed,
                asked: AtomicU64::new(0),
                answered: Arc::clone(&answered),
            },
        );
        let mut plan = plan(&server.socket, engine);
        plan["seed"] = json!(seed);
        plan["load"]["connections"] = json!(8);
        plan["load"]["threads"] = json!(1 + seed % 3);
        plan["load"]["warmup_s"] = json!(0.1);
        plan["load"]["arrival"] = arrivals[seed as usize % 4].clone();
        let done = done(&run(&plan));
        let ended = count(&done["events"]) + count(&done["failed"]);
        assert_eq!(
            count(&done["begun"]),
            ended + count(&done["unfinished"]),
            "{done}"
        );
        assert_eq!(done["latency_us"]["count"], done["events"]);
        assert_eq!(done["queries"], done["events"]);
        assert_eq!(
            done["drained"]["latency_us"]["count"],
            done["drained"]["events"]
        );
        // Those of the warm-up were answered too.
        assert!(count(&done["queries"]) <= answered.load(SeqCst), "{done}");
        drained += count(&done["drained"]["events"]);
        unfinished += count(&done["unfinished"]);
        if let Some(open) = done["open"].as_object() {
            let begun = count(&done["begun"]);
            assert_eq!(
                count(&open["due"]),
                begun + count(&open["not_begun"]),
                "{done}"
            );
            assert_eq!(open["lag_us"]["count"], done["events"]);
            not_begun += count(&open["not_begun"]);
        }
    }
    [drained, unfinished, not_begun]
}

#[test]
fn the_sum_holds_over_stalls_at_every_edge() {
    // They wait most of their time, so they wait together.
    let parts = std::thread::scope(|scope| {
        let parts = [0..4, 4..8, 8..12].map(|seeds| scope.spawn(|| sums_over_stalls(seeds)));
        parts.map(|part| part.join().unwrap())
    });
    // Each way to end was seen.
    let sums = [0, 1, 2].map(|way| parts.iter().map(|part| part[way]).sum::<u64>());
    assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
}

#[test]
fn an_event_belongs_to_the_window_its_intended_start_lies_in() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("belongs-{engine}"));
        // The first event of each connection is of the warm-up; the second begins inside the
        // window and ends after it.
        let server = FakeServer::start(&folder.0, Slow(Duration::from_millis(600)));
        let mut plan = plan(&server.socket, engine);
        plan["load"]["warmup_s"] = json!(0.4);
        plan["load"]["measure_s"] = json!(0.5);
        // On a busy host a connection may begin its second one too late.
        let done = (0..10)
            .map(|_| done(&run(&plan)))
            .find(|done| done["begun"] == 4)
            .expect("all four begin one inside the window");
        assert_eq!(done["events"], 4, "{done}");
        assert_eq!(done["drained"]["events"], 4);
        assert!(done["latency_us"]["min"].as_f64().unwrap() >= 599_000.0);
        assert_eq!(done["unanswered"], 0);
    }
}

/// Answers the first query of each connection after a second, and no other.
struct Once(Slow);

impl Script for Once {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], number: usize) -> bool {
        // Before it the statement was prepared.
        if command == 0x17 && number > 1 {
            std::thread::sleep(Duration::from_secs(3600));
        }
        self.0.answer(to, command, body, number)
    }
}

#[test]
fn a_query_is_in_the_throughput_of_the_window_that_it_is_answered_in() {
    let folder = Folder::new("throughput");
    // Asked in the warm-up, answered in the window; what is asked then has no answer.
    let server = FakeServer::start(&folder.0, Once(Slow(Duration::from_secs(1))));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["warmup_s"] = json!(0.5);
    plan["load"]["measure_s"] = json!(2.0);
    let done = done(&run(&plan));
    assert_eq!(
        (&done["answered"], &done["queries"], &done["unfinished"]),
        (&json!(4), &json!(0), &json!(4)),
        "{done}"
    );
    assert!(done["qps"].as_f64().unwrap() > 0.0, "{done}");
}
