//! Intended start times of an open loop: when each event is due, however fast the server is.
//!
//! A [`Curve`] gives the number of events due by a given time, and [`Arrivals`] gives the events of
//! the schedule in order. Their times depend on the schedule and its seed, and not on the server.
//! So the queue of events that could not begin in time needs no memory. It is the part of the
//! schedule between the last event that began and now. The [`Dispenser`] hands out the events of a
//! run to the connections that are free.

mod dispenser;
mod share;

pub use dispenser::{Dispenser, Due, DueCount, Next, Schedule};
pub use share::Share;

use contend_plan::{Process, Stage};
use contend_random::Stream;

/// The rate in events per second over time. It is constant or changes linearly within a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    start_s: f64,
    /// Infinite for the last one.
    length_s: f64,
    rate: f64,
    /// Change of the rate per second.
    slope: f64,
    /// Events due before this piece.
    before: f64,
}

impl Curve {
    /// The rate of the first stage holds for `lead_s` before it. The stages follow. The last rate
    /// then continues without end.
    pub fn new(lead_s: f64, stages: &[Stage]) -> Self {
        let first = stages.first().map_or(0.0, |stage| stage.rate);
        let mut curve = Self { pieces: Vec::new() };
        curve.push(lead_s, first, first);
        let mut last = first;
        for stage in stages {
            last = stage.end_rate.unwrap_or(stage.rate);
            curve.push(stage.duration_s, stage.rate, last);
        }
        curve.push(f64::INFINITY, last, last);
        curve
    }

    fn push(&mut self, length_s: f64, rate: f64, end_rate: f64) {
        if length_s <= 0.0 {
            return;
        }
        let (start_s, before) = match self.pieces.last() {
            Some(piece) => (
                piece.start_s + piece.length_s,
                piece.before + piece.due(piece.length_s),
            ),
            None => (0.0, 0.0),
        };
        let slope = if length_s.is_finite() {
            (end_rate - rate) / length_s
        } else {
            0.0
        };
        self.pieces.push(Piece {
            start_s,
            length_s,
            rate,
            slope,
            before,
        });
    }

    /// When event number `number` is due, in seconds, and in which piece. The search begins at
    /// piece `from`. None if the event is never due.
    fn time_of(&self, number: f64, from: usize) -> Option<(f64, usize)> {
        for (place, piece) in self.pieces.iter().enumerate().skip(from) {
            let into = piece.time_of(number - piece.before);
            if into <= piece.length_s {
                return into.is_finite().then_some((piece.start_s + into, place));
            }
        }
        None
    }
}

impl Piece {
    /// Events due in the first `into_s` of the piece.
    fn due(&self, into_s: f64) -> f64 {
        self.rate * into_s + self.slope * into_s * into_s / 2.0
    }

    /// Seconds into the piece at which `events` events are due; infinite if they never are.
    fn time_of(&self, events: f64) -> f64 {
        if events <= 0.0 {
            return 0.0;
        }
        // The quadratic formula, rearranged so that it loses no digits if the slope is small. If
        // the rate falls to 0 before these events are due, the root is NaN.
        let root = (self.rate * self.rate + 2.0 * self.slope * events).sqrt();
        let into = 2.0 * events / (self.rate + root);
        if into.is_nan() { f64::INFINITY } else { into }
    }
}

/// The events of a schedule, one after the other.
#[derive(Clone, Debug)]
pub struct Arrivals {
    curve: Curve,
    spacing: Spacing,
    piece: usize,
    /// The place of the last event on the curve, counted in events.
    position: f64,
    taken: u64,
    /// Which of the events are handed out.
    share: Share,
}

#[derive(Clone, Debug)]
enum Spacing {
    Even,
    Poisson(Stream),
}

/// One event of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it is due, counted from the begin of the load.
    pub offset_ns: u64,
    pub number: u64,
}

/// Keeps the stream of the schedule apart from the other long streams of a seed.
const STREAM: u64 = 1 << 48;

impl Arrivals {
    pub fn new(curve: Curve, process: Process, seed: u64) -> Self {
        let spacing = match process {
            Process::Even => Spacing::Even,
            Process::Poisson => Spacing::Poisson(Stream::new(seed, STREAM)),
        };
        Self {
            curve,
            spacing,
            piece: 0,
            position: 0.0,
            taken: 0,
            share: Share::WHOLE,
        }
    }

    /// The events of one host alone. All are drawn on each.
    pub fn of(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// The next event; none if no further event will ever be due.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        loop {
            let arrival = self.next_of_all()?;
            if self.share.has(arrival.number) {
                return Some(arrival);
            }
        }
    }

    fn next_of_all(&mut self) -> Option<Arrival> {
        let number = self.taken;
        self.position = match &mut self.spacing {
            Spacing::Even => number as f64,
            Spacing::Poisson(stream) => self.position + stream.exponential(),
        };
        let (at_s, piece) = self.curve.time_of(self.position, self.piece)?;
        self.piece = piece;
        self.taken += 1;
        Some(Arrival {
            offset_ns: (at_s * 1e9) as u64,
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    impl Curve {
        /// Events due by a time: the inverse of `time_of`.
        fn due_by(&self, at_s: f64) -> f64 {
            match self.pieces.iter().rev().find(|piece| piece.start_s <= at_s) {
                Some(piece) => piece.before + piece.due(at_s - piece.start_s),
                None => 0.0,
            }
        }
    }

    fn stage(rate: f64, end_rate: Option<f64>, duration_s: f64) -> Stage {
        Stage {
            rate,
            end_rate,
            duration_s,
        }
    }

    fn times_s(stages: &[Stage], process: Process, count: usize) -> Vec<f64> {
        let mut arrivals = Arrivals::new(Curve::new(0.0, stages), process, 5);
        std::iter::from_fn(move || arrivals.next_arrival())
            .map(|arrival| arrival.offset_ns as f64 / 1e9)
            .take(count)
            .collect()
    }

    #[test]
    fn an_even_rate_is_even() {
        let times = times_s(&[stage(1000.0, None, 1.0)], Process::Even, 400);
        for (number, time) in times.iter().enumerate() {
            assert!(
                (time - number as f64 / 1000.0).abs() < 1e-8,
                "{number}: {time}"
            );
        }
    }

    #[test]
    fn a_poisson_process_has_the_rate_and_the_scatter() {
        let times = times_s(&[stage(1000.0, None, 1.0)], Process::Poisson, 60_000);
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) * 1000.0)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!((square - 2.0).abs() < 0.12, "{square}");
    }

    #[test]
    fn a_ramp_adds_up_and_a_pause_pauses() {
        let stages = [
            stage(0.0, Some(100.0), 10.0),
            stage(0.0, None, 5.0),
            stage(50.0, None, 1.0),
        ];
        let times = times_s(&stages, Process::Even, 600);
        let inside = |from: f64, to: f64| {
            times
                .iter()
                .filter(|time| (from..to).contains(*time))
                .count()
        };
        // Half of the ramp's 500 events are due after 7.07 s.
        assert!(inside(0.0, 7.0711).abs_diff(250) <= 1);
        assert!(inside(0.0, 10.0 + 1e-6).abs_diff(500) <= 1);
        assert_eq!(inside(10.0 + 1e-6, 15.0), 0);
        assert!(inside(15.0, 16.0).abs_diff(50) <= 1);
    }

    #[test]
    fn a_rate_that_falls_to_nothing_ends() {
        let stages = [stage(100.0, Some(0.0), 2.0)];
        assert_eq!(times_s(&stages, Process::Even, 1000).len(), 101);
        assert!(times_s(&[stage(0.0, None, 1.0)], Process::Poisson, 10).is_empty());
    }

    #[test]
    fn the_warm_up_runs_at_the_first_rate() {
        let curve = Curve::new(2.0, &[stage(10.0, Some(30.0), 2.0)]);
        assert!((curve.due_by(2.0) - 20.0).abs() < 1e-9);
        assert!((curve.due_by(4.0) - 60.0).abs() < 1e-9);
        assert!((curve.due_by(5.0) - 90.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn time_and_number_are_inverse(
            rates in proptest::collection::vec((0.1..1000.0f64, 0.1..1000.0f64, 0.1..10.0f64), 1..5),
            number in 0.0..5000.0f64,
        ) {
            let stages: Vec<Stage> =
                rates.iter().map(|(a, b, d)| stage(*a, Some(*b), *d)).collect();
            let curve = Curve::new(1.0, &stages);
            let (time, _) = curve.time_of(number, 0).unwrap();
            prop_assert!((curve.due_by(time) - number).abs() < 1e-6 * number.max(1.0));
        }
    }
}
