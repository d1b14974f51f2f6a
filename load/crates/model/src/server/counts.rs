//! What the threads of the model server count, piece by piece: the truth.
//!
//! Each thread writes counters of its own, so that counting shares no line of memory; a reader of a
//! sum reads them all. A time is counted in ticks of the processor's counter, and becomes
//! nanoseconds when it is reported.

use crate::sizes::SEGMENTS_MAX;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A number that one thread changes and others may read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn add(&self, more: u64) {
        // One writer: no need for an addition that is locked.
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(more);
        self.0.store(sum, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often something was done, and how long it took altogether.
#[derive(Debug, Default)]
pub struct Timed {
    times: Count,
    ticks: Count,
}

impl Timed {
    #[inline]
    pub fn add(&self, ticks: u64) {
        self.times.add(1);
        self.ticks.add(ticks);
    }
}

/// The timings, each taken as often as the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    UnderLock,
    OutsideLock,
    SecondLock,
    RowLock,
    Leak,
    /// Spun so that the server has the speed that was asked for.
    Speed,
    Misses,
    Delays,
    /// Waits for a page that another thread is reading.
    PageWaits,
    /// Waits for an unused block.
    BlockWaits,
    /// Waits while the cache was changed, or all stood still.
    Outside,
}

const TIMINGS: [(Timing, &str); 11] = [
    (Timing::UnderLock, "under_lock"),
    (Timing::OutsideLock, "outside_lock"),
    (Timing::SecondLock, "second_lock"),
    (Timing::RowLock, "row_lock"),
    (Timing::Leak, "leak"),
    (Timing::Speed, "speed"),
    (Timing::Misses, "misses"),
    (Timing::Delays, "delays"),
    (Timing::PageWaits, "page_waits"),
    (Timing::BlockWaits, "block_waits"),
    (Timing::Outside, "waits_for_changes"),
];

/// The counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    Questions,
    /// Point selects that were answered.
    Queries,
    /// Points that they looked up.
    Points,
    Rows,
    /// Waits for the second lock, and for the lock of the row.
    SecondLockWaits,
    RowLockWaits,
    /// CPU time that the thread used for its queries without the time spun for the speed, in
    /// nanoseconds; counted if a speed was asked for.
    NaturalCpu,
}

const COUNTINGS: [(Counting, &str); 7] = [
    (Counting::Questions, "questions"),
    (Counting::Queries, "queries"),
    (Counting::Points, "points"),
    (Counting::Rows, "rows"),
    (Counting::SecondLockWaits, "second_lock_waits"),
    (Counting::RowLockWaits, "row_lock_waits"),
    (Counting::NaturalCpu, "natural_cpu_ns"),
];

/// Visits to a segment.
#[derive(Debug, Default)]
pub struct Visits {
    pub visits: Count,
    /// Those that found its lock taken.
    pub waits: Count,
    /// One visit in 64: how long these held the lock, and how long they waited for it.
    pub sampled: Count,
    pub held_ticks: Count,
    pub waited_ticks: Count,
}

/// What one thread has counted.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct ThreadCounts {
    counts: [Count; COUNTINGS.len()],
    timings: [Timed; TIMINGS.len()],
    segments: Box<[Visits]>,
}

impl ThreadCounts {
    fn new() -> Self {
        Self {
            segments: (0..SEGMENTS_MAX).map(|_| Visits::default()).collect(),
            ..Self::default()
        }
    }

    #[inline]
    pub fn count(&self, what: Counting, more: u64) {
        if let Some(count) = self.counts.get(what as usize) {
            count.add(more);
        }
    }

    #[inline]
    pub fn time(&self, what: Timing, ticks: u64) {
        if let Some(timed) = self.timings.get(what as usize) {
            timed.add(ticks);
        }
    }

    #[inline]
    pub fn visits(&self, segment: usize) -> Option<&Visits> {
        self.segments.get(segment)
    }
}

/// Sums over threads, and differences of sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountSum(Vec<u64>);

const OF_SEGMENT: [&str; 5] = ["visits", "waits", "sampled", "held_ns", "waited_ns"];

impl CountSum {
    fn add(&mut self, counts: &ThreadCounts) {
        let timed = counts
            .timings
            .iter()
            .flat_map(|timed| [&timed.times, &timed.ticks]);
        let visits = counts.segments.iter().flat_map(|one| {
            [
                &one.visits,
                &one.waits,
                &one.sampled,
                &one.held_ticks,
                &one.waited_ticks,
            ]
        });
        let all = counts.counts.iter().chain(timed).chain(visits);
        for (place, count) in all.enumerate() {
            if self.0.len() == place {
                self.0.push(0);
            }
            if let Some(sum) = self.0.get_mut(place) {
                *sum = sum.wrapping_add(count.get());
            }
        }
    }

    /// The counts since an earlier sum.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.0.iter().copied().chain(std::iter::repeat(0));
        Self(
            self.0
                .iter()
                .zip(before)
                .map(|(now, before)| now.wrapping_sub(before))
                .collect(),
        )
    }

    fn at(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    pub fn count(&self, what: Counting) -> u64 {
        self.at(what as usize)
    }

    /// The counts and timings by name, times in nanoseconds.
    pub fn told(&self, ticks_per_ns: f64) -> Value {
        let mut told = json!({});
        for (what, name) in COUNTINGS {
            told[name] = self.count(what).into();
        }
        for (what, name) in TIMINGS {
            let place = COUNTINGS.len() + 2 * what as usize;
            told[name] = timed(self.at(place), self.at(place + 1), ticks_per_ns);
        }
        told
    }

    /// The visits to each of the segments.
    pub fn told_of_segments(&self, segments: u32, ticks_per_ns: f64) -> Vec<Value> {
        let first = COUNTINGS.len() + 2 * TIMINGS.len();
        let one = |segment: usize| {
            let mut one = json!({"segment": segment});
            for (offset, name) in OF_SEGMENT.into_iter().enumerate() {
                let value = self.at(first + OF_SEGMENT.len() * segment + offset);
                let is_time = name.ends_with("_ns");
                one[name] = if is_time {
                    ns(value, ticks_per_ns)
                } else {
                    value
                }
                .into();
            }
            one
        };
        (0..segments as usize).map(one).collect()
    }
}

fn ns(ticks: u64, ticks_per_ns: f64) -> u64 {
    (ticks as f64 / ticks_per_ns).round() as u64
}

fn timed(times: u64, ticks: u64, ticks_per_ns: f64) -> Value {
    json!({"times": times, "ns": ns(ticks, ticks_per_ns)})
}

/// The number of stalls, and how long the cache was shut altogether.
#[derive(Debug, Default)]
pub struct StallCounts {
    pub times: AtomicU64,
    pub ticks: AtomicU64,
}

impl StallCounts {
    pub fn told(&self, ticks_per_ns: f64) -> Value {
        let [times, ticks] = [&self.times, &self.ticks].map(|one| one.load(Ordering::Relaxed));
        timed(times, ticks, ticks_per_ns)
    }
}

/// The counters of all threads, those that have ended included.
#[derive(Debug, Default)]
pub struct TruthCounts(Mutex<CountedThreads>);

#[derive(Debug, Default)]
struct CountedThreads {
    ended: CountSum,
    threads: Vec<Arc<ThreadCounts>>,
}

impl TruthCounts {
    /// Counters for a thread that begins.
    pub fn begin(&self) -> Arc<ThreadCounts> {
        let counts = Arc::new(ThreadCounts::new());
        self.locked().threads.push(Arc::clone(&counts));
        counts
    }

    /// The thread of these has ended.
    pub fn end(&self, counts: &Arc<ThreadCounts>) {
        let mut counted = self.locked();
        counted.ended.add(counts);
        counted.threads.retain(|one| !Arc::ptr_eq(one, counts));
    }

    pub fn sum(&self) -> CountSum {
        let counted = self.locked();
        let mut sum = counted.ended.clone();
        counted.threads.iter().for_each(|one| sum.add(one));
        sum
    }

    fn locked(&self) -> MutexGuard<'_, CountedThreads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_stand_at_their_places() {
        for (place, (what, _)) in TIMINGS.iter().enumerate() {
            assert_eq!(*what as usize, place);
        }
        for (place, (what, _)) in COUNTINGS.iter().enumerate() {
            assert_eq!(*what as usize, place);
        }
    }

    #[test]
    fn threads_that_ended_and_threads_that_run_add_up() {
        let counts = TruthCounts::default();
        let (first, second) = (counts.begin(), counts.begin());
        first.count(Counting::Points, 3);
        first.time(Timing::Leak, 40);
        first.visits(1).unwrap().visits.add(7);
        first.visits(1).unwrap().held_ticks.add(9);
        counts.end(&first);
        second.count(Counting::Points, 4);
        second.time(Timing::Leak, 10);
        let sum = counts.sum();
        second.count(Counting::Points, 1);
        let (told, segments) = (sum.told(2.0), sum.told_of_segments(2, 2.0));
        assert_eq!(told["points"], 7);
        assert_eq!(told["leak"], json!({"times": 2, "ns": 25}));
        assert_eq!((segments.len(), &segments[1]["visits"]), (2, &json!(7)));
        assert_eq!(
            (&segments[1]["held_ns"], &segments[0]["visits"]),
            (&json!(5), &json!(0))
        );
        let since = counts.sum().since(&sum);
        assert_eq!(
            (since.count(Counting::Points), since.count(Counting::Rows)),
            (1, 0)
        );
    }
}
