//! The pace of a worker's events: a think time to wait, or events taken from a schedule.

use super::job::Pacing;
use crate::arrival::Due;
use contend_random::Stream;
use std::collections::VecDeque;

/// The pace of one worker.
#[derive(Debug)]
pub enum Pace {
    AtOnce,
    Thinking {
        mean_ns: u64,
        scatters: bool,
        streams: Vec<Stream>,
    },
    Open(Taken),
}

/// Events that this worker has taken before they are due, one for each of its free slots.
#[derive(Debug, Default)]
pub struct Taken {
    /// The first that is due in front.
    pub events: VecDeque<Due>,
    /// The seat and the slot that has been free for longest in front.
    pub free: VecDeque<(usize, usize)>,
}

impl Taken {
    /// Keeps an event until it is due. A returned one may be due before others.
    pub fn keep(&mut self, due: Due) {
        let place = self.events.partition_point(|kept| kept.at_ns <= due.at_ns);
        self.events.insert(place, due);
    }
}

/// Keeps the streams of think times apart from the other long streams of a seed.
const THINK_STREAMS: u64 = 1 << 49;

impl Pace {
    /// The pace of a worker whose seats have these indices in the run.
    pub fn new(pacing: Pacing, seed: u64, seats: impl Iterator<Item = u32>) -> Self {
        match pacing {
            Pacing::Closed { think_ns: 0, .. } => Self::AtOnce,
            Pacing::Closed { think_ns, scatters } => Self::Thinking {
                mean_ns: think_ns,
                scatters,
                streams: seats
                    .map(|seat| Stream::new(seed, THINK_STREAMS + u64::from(seat)))
                    .collect(),
            },
            Pacing::Open => Self::Open(Taken::default()),
        }
    }

    /// When the first event was or is due that was taken and has not begun.
    #[inline]
    pub fn next_due_ns(&self) -> Option<u64> {
        match self {
            Self::Open(taken) => taken.events.front().map(|due| due.at_ns),
            Self::AtOnce | Self::Thinking { .. } => None,
        }
    }

    /// A think time of the seat, the first one shorter so that seats do not march in step.
    pub fn think_ns(&mut self, seat: usize, is_first: bool) -> u64 {
        let Self::Thinking {
            mean_ns,
            scatters,
            streams,
        } = self
        else {
            return 0;
        };
        let Some(stream) = streams.get_mut(seat) else {
            return 0;
        };
        match (*scatters, is_first) {
            (true, _) => (stream.exponential() * *mean_ns as f64) as u64,
            (false, true) => stream.below(*mean_ns),
            (false, false) => *mean_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn events_are_kept_in_the_order_in_which_they_are_due() {
        let mut taken = Taken::default();
        for at_ns in [20, 30, 10, 20] {
            taken.keep(Due { at_ns, number: 0 });
        }
        let times: Vec<u64> = taken.events.iter().map(|due| due.at_ns).collect();
        assert_eq!(times, [10, 20, 20, 30]);
    }

    #[test]
    fn think_times_scatter_around_their_mean() {
        let pacing = Pacing::Closed {
            think_ns: 1_000_000,
            scatters: true,
        };
        let mut pace = Pace::new(pacing, 1, 0..1);
        let sum: u64 = (0..10_000).map(|_| pace.think_ns(0, false)).sum();
        assert!((9_500_000_000..10_500_000_000).contains(&sum), "{sum}");
        let pacing = Pacing::Closed {
            think_ns: 1_000_000,
            scatters: false,
        };
        let mut pace = Pace::new(pacing, 1, 0..1);
        assert!(pace.think_ns(0, true) < 1_000_000);
        assert_eq!(pace.think_ns(0, false), 1_000_000);
    }
}
