//! `--rate`: when events are due, and who takes which.
//!
//! There is one schedule for all threads. A thread that is free takes the next moment of it: it
//! waits until then, or begins late and counts the delay. That is what a queue in front of the
//! threads would do, without a queue that can overflow and without a thread that fills it. The
//! moments themselves never depend on how the load goes.

use crate::random::Stream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Stream of the run's seed that the gaps come from: no thread has this number.
const STREAM: u64 = 1 << 40;

/// The schedule of a run, if it has one.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    shared: Option<Arc<Mutex<Schedule>>>,
}

#[derive(Debug)]
struct Schedule {
    gaps: Gaps,
    /// Where the schedule begins.
    begun: Instant,
    taken: u64,
}

/// Moments of a Poisson process.
#[derive(Clone, Debug)]
struct Gaps {
    stream: Stream,
    mean_s: f64,
    /// Of the moment that was given last.
    at_s: f64,
}

impl Gaps {
    fn next_s(&mut self) -> f64 {
        self.at_s += self.stream.exponential() * self.mean_s;
        self.at_s
    }
}

impl Pace {
    /// Events at this mean rate a second; none for a rate of 0.
    pub fn new(rate: f64, seed: u64) -> Self {
        if rate <= 0.0 {
            return Self::default();
        }
        let gaps = Gaps {
            stream: Stream::new(seed, STREAM),
            mean_s: 1.0 / rate,
            at_s: 0.0,
        };
        let schedule = Schedule {
            gaps,
            begun: Instant::now(),
            taken: 0,
        };
        Self {
            shared: Some(Arc::new(Mutex::new(schedule))),
        }
    }

    pub fn is_set(&self) -> bool {
        self.shared.is_some()
    }

    /// Begins the schedule now: the load begins.
    pub fn begin(&self, now: Instant) {
        self.with(|schedule| schedule.begun = now);
    }

    /// Takes the next moment; none without a schedule.
    pub fn next_due(&self) -> Option<Instant> {
        self.with(|schedule| {
            schedule.taken += 1;
            let at_s = schedule.gaps.next_s();
            schedule.begun + Duration::from_secs_f64(at_s.min(1e9))
        })
    }

    /// Events that are due by `now` and that nobody has taken.
    pub fn waiting(&self, now: Instant) -> u64 {
        self.with(|schedule| {
            let now_s = now.saturating_duration_since(schedule.begun).as_secs_f64();
            let mut gaps = schedule.gaps.clone();
            let mut waiting = 0;
            while gaps.next_s() <= now_s {
                waiting += 1;
            }
            waiting
        })
        .unwrap_or(0)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Schedule) -> T) -> Option<T> {
        let shared = self.shared.as_ref()?;
        Some(work(
            &mut shared.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn without_a_rate_nothing_is_due_at_any_time() {
        assert_eq!(Pace::new(0.0, 1).next_due(), None);
        assert_eq!(Pace::default().waiting(Instant::now()), 0);
    }

    #[test]
    fn a_seed_gives_the_same_moments_and_the_rate_is_kept() {
        let (a, b) = (Pace::new(1000.0, 7), Pace::new(1000.0, 7));
        let now = Instant::now();
        a.begin(now);
        b.begin(now);
        let moments: Vec<_> = (0..10_000).map(|_| a.next_due().unwrap()).collect();
        assert!((0..10_000).all(|n| b.next_due().unwrap() == moments[n]));
        assert!(moments.windows(2).all(|pair| pair[0] <= pair[1]));
        let last_s = (moments[9999] - now).as_secs_f64();
        assert!((last_s - 10.0).abs() < 0.5, "{last_s}");
    }

    #[test]
    fn what_is_due_and_not_taken_waits() {
        let pace = Pace::new(100.0, 3);
        let now = Instant::now();
        pace.begin(now);
        let later = now + Duration::from_secs(10);
        let due = pace.waiting(later);
        assert!((900..1100).contains(&due), "{due}");
        for _ in 0..due {
            assert!(pace.next_due().unwrap() <= later);
        }
        assert_eq!(pace.waiting(later), 0);
    }
}
