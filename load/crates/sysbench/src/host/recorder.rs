//! Where threads of the operating system record the events of a script.

use crate::lua::figures::ThreadFigures;
use contend_engine::workload::EventTimes;
use contend_figures::{Tally, TallyShape};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Tallies that the threads share out among them, so that those on different cores seldom meet.
/// Histograms are large: there are no more of them than cores that commonly write at once.
pub struct Recorder {
    lanes: Box<[Mutex<Tally>]>,
    /// Events that were to begin before this do not count.
    opened: OnceLock<Instant>,
}

const LANES_MAX: usize = 16;

impl Recorder {
    pub fn new(threads: u32, shape: TallyShape) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let lanes = cores.min(threads as usize).clamp(1, LANES_MAX);
        Self {
            lanes: (0..lanes).map(|_| Mutex::new(Tally::new(shape))).collect(),
            opened: OnceLock::new(),
        }
    }

    /// The window opens now; to be called while a cut looks.
    pub fn open(&self) {
        // It opens once.
        let _ = self.opened.set(Instant::now());
    }

    /// An event of a thread has ended. Whether it counts is decided while no cut is under way.
    pub fn event_ended(
        &self,
        thread: u32,
        due: Instant,
        times: EventTimes,
        figures: &ThreadFigures,
    ) {
        let Some(lane) = self.lanes.get(thread as usize % self.lanes.len().max(1)) else {
            return;
        };
        let mut tally = locked(lane);
        if self.opened.get().is_some_and(|opened| due < *opened) {
            return figures.leave();
        }
        if let Some(kind) = tally.kinds.first_mut() {
            kind.record_ns(times.response_ns, times.lag_ns);
        }
        figures.finish(due, times.response_ns);
    }

    /// Adds to `sum` the records since the last cut. Returns the result of `look`, called
    /// meanwhile: no event ends before it has looked, so both cover the same events.
    pub fn cut<T>(&self, sum: &mut Tally, look: impl FnOnce() -> T) -> T {
        // Made before, so that the threads are held up by nothing but the looking.
        let mut taken: Vec<Tally> = self.lanes.iter().map(|_| sum.empty_like()).collect();
        let mut held: Vec<_> = self.lanes.iter().map(locked).collect();
        for (tally, taken) in held.iter_mut().zip(&mut taken) {
            std::mem::swap(&mut **tally, taken);
        }
        let seen = look();
        drop(held);
        taken.iter().for_each(|taken| sum.merge(taken));
        seen
    }
}

fn locked(lane: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lua::figures::Figures;
    use contend_figures::Counter;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    const TIMES: EventTimes = EventTimes {
        response_ns: 1000,
        lag_ns: 100,
    };

    const SHAPE: TallyShape = TallyShape {
        kinds: 1,
        classes: 0,
        times_classes: false,
        is_open: false,
        times_lag: false,
        nodes: 0,
    };

    fn cut<T>(recorder: &Recorder, look: impl FnOnce() -> T) -> (Tally, T) {
        let mut tally = Tally::new(SHAPE);
        let seen = recorder.cut(&mut tally, look);
        (tally, seen)
    }

    #[test]
    fn what_begins_before_the_window_does_not_count() {
        let (recorder, figures) = (Recorder::new(40, SHAPE), Figures::new(40));
        let before = Instant::now();
        recorder.event_ended(39, before, TIMES, figures.of(39));
        let (tally, ()) = cut(&recorder, || recorder.open());
        assert_eq!(tally.events(), 1);
        recorder.event_ended(39, before, TIMES, figures.of(39));
        recorder.event_ended(0, Instant::now(), TIMES, figures.of(0));
        let (tally, ()) = cut(&recorder, || ());
        assert_eq!(tally.events(), 1);
        assert_eq!(cut(&recorder, || ()).0, Tally::new(SHAPE));
    }

    #[test]
    fn a_cut_has_as_many_times_as_events_however_busy_the_threads_are() {
        let (recorder, figures) = (Recorder::new(4, SHAPE), Figures::new(4));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (recorder, figures, stop) = (&recorder, &figures, &stop);
                scope.spawn(move || {
                    while !stop.load(Relaxed) {
                        let now = Instant::now();
                        recorder.event_ended(thread, now, TIMES, figures.of(thread));
                    }
                });
            }
            let mut times = 0;
            for _ in 0..200 {
                let look = || figures.threads.iter().map(|thread| thread.read());
                let (tally, events) = cut(&recorder, || {
                    look().map(|thread| thread.of(Counter::Events)).sum::<u64>()
                });
                times += tally.events();
                assert_eq!(events, times);
            }
            stop.store(true, Relaxed);
        });
    }
}
