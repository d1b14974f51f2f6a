//! What each thread counts, readable by everybody while it runs.
//!
//! One writer (the thread itself) and any number of readers, so plain loads and stores of atomics
//! do: no locked instruction in the path of an event. A script may write another thread's
//! counters; a lost increment is then its own affair, as it is under sysbench.

use crate::record::{Latency, OpenTally};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kinds of counter; the numbers are those that scripts see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    Other = 0,
    Read = 1,
    Write = 2,
    Events = 3,
    Errors = 4,
    Reconnects = 5,
    BytesRead = 6,
    BytesWritten = 7,
}

pub const COUNTERS: usize = 8;

/// One thread's figures. Lines of the cache are not shared between threads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct ThreadFigures {
    counters: [AtomicU64; COUNTERS],
    time_ns: AtomicU64,
    time_ns_max: AtomicU64,
    /// One more than the shortest time, so that 0 can mean "none yet".
    time_ns_min: AtomicU64,
    /// Events that have begun.
    begun: AtomicU64,
    in_event: AtomicBool,
    running: AtomicBool,
    /// The time was over, and nothing else, when it ended.
    ran_to_the_end: AtomicBool,
}

impl ThreadFigures {
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
        self.begun.store(self.begun.load(Relaxed) + 1, Relaxed);
        self.in_event.store(true, Relaxed);
    }

    /// An event has ended that was not counted.
    #[inline]
    pub fn leave(&self) {
        self.in_event.store(false, Relaxed);
    }

    /// An event has ended after `time_ns`.
    #[inline]
    fn finish(&self, time_ns: u64) {
        self.count(Counter::Events);
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

    /// The time is over: the last interval still tells of this thread.
    pub fn keep_running(&self) {
        self.ran_to_the_end.store(true, Relaxed);
    }

    fn is_running_or_kept(&self) -> bool {
        self.is_running() || self.ran_to_the_end.load(Relaxed)
    }

    pub fn is_running(&self) -> bool {
        self.running.load(Relaxed)
    }

    pub fn is_in_event(&self) -> bool {
        self.in_event.load(Relaxed)
    }

    /// What was counted since the start, with the extremes since they were last forgotten.
    pub fn read(&self) -> Reading {
        Reading {
            counters: std::array::from_fn(|n| self.value(n)),
            time_ns: self.time_ns.load(Relaxed),
            time_ns_max: self.time_ns_max.load(Relaxed),
            time_ns_min: self.time_ns_min.load(Relaxed).checked_sub(1),
        }
    }

    /// Begins new extremes: a checkpoint was reported.
    fn forget_extremes(&self) {
        self.time_ns_max.store(0, Relaxed);
        self.time_ns_min.store(0, Relaxed);
    }
}

/// The figures of a thread, or of all, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub counters: [u64; COUNTERS],
    pub time_ns: u64,
    pub time_ns_max: u64,
    pub time_ns_min: Option<u64>,
}

impl Reading {
    pub fn of(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).copied().unwrap_or(0)
    }

    /// What was counted since `earlier`. Extremes are as they stand.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            counters: std::array::from_fn(|n| {
                let before = earlier.counters.get(n).copied().unwrap_or(0);
                self.counters
                    .get(n)
                    .copied()
                    .unwrap_or(0)
                    .saturating_sub(before)
            }),
            time_ns: self.time_ns.saturating_sub(earlier.time_ns),
            ..self.clone()
        }
    }

    /// Adds another thread's figures.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.counters.iter_mut().zip(other.counters) {
            *ours += theirs;
        }
        self.time_ns += other.time_ns;
        self.time_ns_max = self.time_ns_max.max(other.time_ns_max);
        self.time_ns_min = match (self.time_ns_min, other.time_ns_min) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// Times of events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    pub response: Latency,
    /// Under an open loop the two parts of it.
    pub open: Option<Box<OpenTally>>,
}

impl Times {
    fn new(open: bool) -> Self {
        Self {
            response: Latency::new(),
            open: open.then(Box::default),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        if let (Some(ours), Some(theirs)) = (&mut self.open, &other.open) {
            ours.merge(theirs);
        }
    }
}

/// The figures of all threads of a run, and the times of their events.
#[derive(Debug)]
pub struct Figures {
    pub threads: Box<[ThreadFigures]>,
    /// Where states that are no worker count: in no report.
    aside: ThreadFigures,
    /// Times of events, shared out over a few so that threads on different cores seldom meet.
    recorders: Box<[Mutex<Times>]>,
    /// Events are due by a schedule.
    open: bool,
}

/// Histograms are large; there are as many as cores commonly write at once.
const RECORDERS_MAX: usize = 16;

impl Figures {
    pub fn new(threads: usize, open: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let recorders = threads.min(cores).clamp(1, RECORDERS_MAX);
        Self {
            threads: (0..threads).map(|_| ThreadFigures::default()).collect(),
            aside: ThreadFigures::default(),
            recorders: (0..recorders)
                .map(|_| Mutex::new(Times::new(open)))
                .collect(),
            open,
        }
    }

    /// The figures of one thread.
    #[inline]
    pub fn of(&self, thread: u32) -> &ThreadFigures {
        self.threads.get(thread as usize).unwrap_or(&self.aside)
    }

    /// An event of a thread has ended. `times_ns`: since it was due, and how much of that was over
    /// when it began. It is counted if `counts` says so, which is asked while nobody cuts. Threads
    /// of different lanes seldom wait for one another.
    #[inline]
    pub fn finish(
        &self,
        thread: u32,
        lane: usize,
        times_ns: (u64, u64),
        counts: impl FnOnce() -> bool,
    ) {
        let (time_ns, lag_ns) = times_ns;
        let recorder = self.recorders.get(lane % self.recorders.len().max(1));
        let mut times = recorder.map(|recorder| locked(recorder));
        if !counts() {
            return self.of(thread).leave();
        }
        if let Some(times) = &mut times {
            times.response.record_ns(time_ns);
            if let Some(open) = &mut times.open {
                open.record_ns(time_ns, lag_ns);
            }
        }
        self.of(thread).finish(time_ns);
    }

    /// What each thread has counted, and the times that were recorded since the last call.
    ///
    /// No event ends while this reads, so what is told of events is told of the same ones by
    /// counters and times.
    pub fn cut(&self) -> (Vec<Reading>, Times) {
        self.cut_and(|| ())
    }

    /// As [`Figures::cut`], and does something more before any event can end.
    pub fn cut_and(&self, also: impl FnOnce()) -> (Vec<Reading>, Times) {
        // Made before, so that the threads are held up by nothing but the reading.
        let empty = || Times::new(self.open);
        let mut taken: Vec<_> = self.recorders.iter().map(|_| empty()).collect();
        let mut readings = Vec::with_capacity(self.threads.len());
        let mut held: Vec<_> = self.recorders.iter().map(|each| locked(each)).collect();
        readings.extend(self.threads.iter().map(|thread| thread.read()));
        for (times, taken) in held.iter_mut().zip(&mut taken) {
            std::mem::swap(&mut **times, taken);
        }
        also();
        drop(held);
        let mut sum = empty();
        taken.iter().for_each(|taken| sum.merge(taken));
        (readings, sum)
    }

    /// As [`Figures::cut`]; new extremes begin.
    pub fn cut_extremes(&self) -> (Vec<Reading>, Times) {
        self.cut_and(|| self.forget_extremes())
    }

    pub fn forget_extremes(&self) {
        self.threads
            .iter()
            .for_each(|thread| thread.forget_extremes());
    }

    pub fn running(&self) -> usize {
        self.threads
            .iter()
            .filter(|thread| thread.is_running())
            .count()
    }

    /// Threads that run, or ran until the time was over.
    pub fn running_or_kept(&self) -> usize {
        self.threads
            .iter()
            .filter(|thread| thread.is_running_or_kept())
            .count()
    }

    /// Events of all threads that have begun.
    pub fn begun(&self) -> u64 {
        let threads = self.threads.iter();
        threads.map(|thread| thread.begun.load(Relaxed)).sum()
    }

    pub fn in_event(&self) -> usize {
        self.threads
            .iter()
            .filter(|thread| thread.is_in_event())
            .count()
    }
}

fn locked(recorder: &Mutex<Times>) -> MutexGuard<'_, Times> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_thread_counts_its_events_and_their_times() {
        let figures = ThreadFigures::default();
        assert_eq!(figures.read().time_ns_min, None);
        for time_ns in [30, 0, 20] {
            figures.enter();
            figures.finish(time_ns);
        }
        let reading = figures.read();
        assert_eq!(reading.of(Counter::Events), 3);
        assert_eq!((reading.time_ns, reading.time_ns_max), (50, 30));
        assert_eq!(reading.time_ns_min, Some(0));
        assert!(!figures.is_in_event());
    }

    #[test]
    fn who_runs_to_the_end_is_told_of_in_the_last_interval() {
        let figures = Figures::new(3, false);
        figures.threads.iter().for_each(|t| t.set_running(true));
        figures.of(0).set_running(false);
        figures.of(1).keep_running();
        assert_eq!(figures.running_or_kept(), 2);
        figures.of(1).set_running(false);
        assert_eq!((figures.running(), figures.running_or_kept()), (1, 2));
    }

    #[test]
    fn readings_subtract_and_add() {
        let figures = ThreadFigures::default();
        figures.count(Counter::Read);
        figures.finish(10);
        let first = figures.read();
        figures.count(Counter::Read);
        figures.finish(7);
        let since = figures.read().since(&first);
        assert_eq!((since.of(Counter::Read), since.time_ns), (1, 7));
        let mut sum = first.clone();
        sum.merge(&since);
        assert_eq!((sum.of(Counter::Events), sum.time_ns), (2, 17));
        assert_eq!((sum.time_ns_min, sum.time_ns_max), (Some(7), 10));
    }

    #[test]
    fn a_cut_leaves_no_times() {
        let figures = Figures::new(40, true);
        for thread in 0..40 {
            figures.finish(thread, thread as usize, (1000, 100), || true);
        }
        figures.finish(0, 0, (1000, 100), || false);
        let (readings, times) = figures.cut();
        assert_eq!((readings.len(), times.response.count()), (40, 40));
        assert_eq!(times.open.as_ref().map(|open| open.lag.count()), Some(40));
        assert_eq!(figures.cut(), (readings, Times::new(true)));
    }

    #[test]
    fn a_cut_has_as_many_times_as_events_however_busy_the_threads_are() {
        let figures = Figures::new(4, false);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (figures, stop) = (&figures, &stop);
                scope.spawn(move || {
                    while !stop.load(Relaxed) {
                        figures.finish(thread, thread as usize, (1000, 100), || true);
                    }
                });
            }
            let mut times = 0;
            for _ in 0..200 {
                let (readings, since) = figures.cut();
                times += since.response.count();
                let events = readings.iter().map(|thread| thread.of(Counter::Events));
                assert_eq!(events.sum::<u64>(), times);
            }
            stop.store(true, Relaxed);
        });
    }
}
