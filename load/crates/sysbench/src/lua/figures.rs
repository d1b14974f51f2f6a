//! The counts of each thread, readable by all threads while it runs.
//!
//! One writer (the thread itself) and any number of readers, so plain loads and stores of atomics
//! do: no locked instruction in the path of an event. A script may write another thread's counters;
//! a lost increment is then its own affair, as under sysbench. The runner of the threads records
//! how long each event took, in a [`contend_figures::Tally`].

use contend_figures::{COUNTERS, Counter, Reading};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// One thread's counters. Lines of the cache are not shared between threads.
#[derive(Debug)]
#[repr(align(128))]
pub struct ThreadFigures {
    /// The base of `ended_ns`, and the end of the last event counted from it; 0: none has ended.
    since: Instant,
    ended_ns: AtomicU64,
    counters: [AtomicU64; COUNTERS],
    time_ns: AtomicU64,
    time_ns_max: AtomicU64,
    /// One more than the shortest time, so that 0 can mean "none yet".
    time_ns_min: AtomicU64,
    in_event: AtomicBool,
    running: AtomicBool,
    /// The time was over, and nothing else, when it ended.
    ran_to_the_end: AtomicBool,
}

impl ThreadFigures {
    fn new(since: Instant) -> Self {
        Self {
            since,
            ended_ns: AtomicU64::new(0),
            counters: Default::default(),
            time_ns: AtomicU64::new(0),
            time_ns_max: AtomicU64::new(0),
            time_ns_min: AtomicU64::new(0),
            in_event: AtomicBool::new(false),
            running: AtomicBool::new(false),
            ran_to_the_end: AtomicBool::new(false),
        }
    }

    #[inline]
    pub fn add(&self, counter: usize, count: u64) {
        if let Some(cell) = self.counters.get(counter) {
            cell.store(cell.load(Relaxed).wrapping_add(count), Relaxed);
        }
    }

    #[inline]
    pub fn count(&self, counter: Counter) {
        self.add(counter as usize, 1);
    }

    pub fn value(&self, counter: usize) -> u64 {
        self.counters
            .get(counter)
            .map_or(0, |cell| cell.load(Relaxed))
    }

    /// An event has begun.
    #[inline]
    pub fn enter(&self) {
        self.in_event.store(true, Relaxed);
    }

    /// An event has ended that is not counted.
    #[inline]
    pub fn leave(&self) {
        self.in_event.store(false, Relaxed);
    }

    /// An event has ended that was due at this time, `time_ns` after it.
    #[inline]
    pub fn finish(&self, due: Instant, time_ns: u64) {
        self.count(Counter::Events);
        let due_ns = due.saturating_duration_since(self.since).as_nanos() as u64;
        self.ended_ns.store(due_ns + time_ns, Relaxed);
        self.time_ns
            .store(self.time_ns.load(Relaxed).wrapping_add(time_ns), Relaxed);
        if time_ns > self.time_ns_max.load(Relaxed) {
            self.time_ns_max.store(time_ns, Relaxed);
        }
        let shortest = self.time_ns_min.load(Relaxed);
        if shortest == 0 || time_ns < shortest - 1 {
            self.time_ns_min.store(time_ns.saturating_add(1), Relaxed);
        }
        self.leave();
    }

    pub fn set_running(&self, running: bool) {
        self.running.store(running, Relaxed);
    }

    /// The time is over: the last interval still includes this thread.
    pub fn keep_running(&self) {
        self.ran_to_the_end.store(true, Relaxed);
    }

    /// The counts since the start, with the extremes since the last call.
    pub fn read(&self) -> Reading {
        let runs = self.running.load(Relaxed) || self.ran_to_the_end.load(Relaxed);
        Reading {
            counters: std::array::from_fn(|n| self.value(n)),
            time_ns: self.time_ns.load(Relaxed),
            time_ns_max: self.time_ns_max.swap(0, Relaxed),
            time_ns_min: self.time_ns_min.swap(0, Relaxed).checked_sub(1),
            running: runs.into(),
            in_event: self.in_event.load(Relaxed).into(),
        }
    }
}

/// The counters of all threads of a run.
#[derive(Debug)]
pub struct ScriptFigures {
    pub threads: Box<[ThreadFigures]>,
    /// Counters of states that are not workers: they appear in no report.
    aside: ThreadFigures,
}

impl ScriptFigures {
    pub fn new(threads: usize) -> Self {
        let since = Instant::now();
        Self {
            threads: (0..threads).map(|_| ThreadFigures::new(since)).collect(),
            aside: ThreadFigures::new(since),
        }
    }

    /// The counters of one thread.
    #[inline]
    pub fn of(&self, thread: u32) -> &ThreadFigures {
        self.threads.get(thread as usize).unwrap_or(&self.aside)
    }

    /// The counts of each thread, by its number; see [`ThreadFigures::read`].
    pub fn read(&self) -> Vec<(u32, Reading)> {
        let threads = (0..).zip(&self.threads);
        threads
            .map(|(number, thread)| (number, thread.read()))
            .collect()
    }

    /// When the last event of all threads ended that counts.
    pub fn last_end(&self) -> Option<Instant> {
        let ended = |thread: &ThreadFigures| {
            let ended_ns = thread.ended_ns.load(Relaxed);
            (ended_ns > 0).then(|| thread.since + Duration::from_nanos(ended_ns))
        };
        self.threads.iter().filter_map(ended).max()
    }

    /// Threads that have begun and not ended.
    pub fn left(&self) -> u32 {
        let runs = |thread: &&ThreadFigures| thread.running.load(Relaxed);
        self.threads.iter().filter(runs).count() as u32
    }

    /// True if one of the threads was to go on with events when the time was over.
    pub fn were_cut_off(&self) -> bool {
        let was = |thread: &ThreadFigures| {
            thread.ran_to_the_end.load(Relaxed) || thread.in_event.load(Relaxed)
        };
        self.threads.iter().any(was)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_its_events_and_their_times() {
        let all = ScriptFigures::new(2);
        let figures = all.of(1);
        assert_eq!((figures.read().time_ns_min, all.last_end()), (None, None));
        let due = figures.since + Duration::from_secs(1);
        for time_ns in [30, 0, 20] {
            figures.enter();
            assert_eq!((figures.read().in_event, all.were_cut_off()), (1, true));
            figures.finish(due, time_ns);
        }
        assert_eq!(all.last_end(), Some(due + Duration::from_nanos(20)));
        assert!(!all.were_cut_off());
        let reading = figures.read();
        assert_eq!(reading.of(Counter::Events), 3);
        assert_eq!((reading.time_ns, reading.in_event), (50, 0));
    }

    #[test]
    fn extremes_are_those_since_the_last_reading() {
        let due = Instant::now();
        let figures = ThreadFigures::new(due);
        let extremes = |reading: Reading| (reading.time_ns_min, reading.time_ns_max);
        figures.finish(due, 30);
        figures.finish(due, 10);
        assert_eq!(extremes(figures.read()), (Some(10), 30));
        figures.finish(due, 20);
        assert_eq!(extremes(figures.read()), (Some(20), 20));
        assert_eq!(extremes(figures.read()), (None, 0));
    }
}
