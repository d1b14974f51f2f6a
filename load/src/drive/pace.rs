//! When events begin: at once, after a think time, or at the times of a schedule.

use super::engine::Engine;
use super::seat::Stand;
use super::steps::Cue;
use super::worker::{Phase, Worker};
use crate::arrival::{Arrivals, Curve};
use crate::plan::Process;
use crate::random::Stream;
use std::collections::VecDeque;

/// How the events of a run are paced; the same for all workers.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacing {
    /// Each seat begins when its last event has ended, after thinking.
    Closed { think_ns: u64, scatters: bool },
    /// A schedule that does not wait for the server.
    Open { curve: Curve, process: Process },
}

impl Pacing {
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

/// The pace of one worker.
#[derive(Debug)]
pub enum Pace {
    AtOnce,
    Thinking {
        mean_ns: u64,
        scatters: bool,
        streams: Vec<Stream>,
    },
    Open(Schedule),
}

/// Keeps the streams of think times apart from the other long streams of a seed.
const THINK_STREAMS: u64 = 1 << 49;
/// A longer queue is only known to be at least this long.
const BACKLOG_MAX: u64 = 1_000_000;

impl Pace {
    /// The pace of worker number `worker`, whose seats have these indices in the run.
    pub fn new(
        pacing: &Pacing,
        seed: u64,
        worker: u32,
        workers: u32,
        seats: impl Iterator<Item = u32>,
    ) -> Self {
        match pacing {
            Pacing::Closed { think_ns: 0, .. } => Self::AtOnce,
            Pacing::Closed { think_ns, scatters } => Self::Thinking {
                mean_ns: *think_ns,
                scatters: *scatters,
                streams: seats
                    .map(|seat| Stream::new(seed, THINK_STREAMS + u64::from(seat)))
                    .collect(),
            },
            Pacing::Open { curve, process } => Self::Open(Schedule::new(Arrivals::new(
                curve.clone(),
                *process,
                seed,
                worker,
                workers,
            ))),
        }
    }

    /// A think time of the seat, the first one shorter so that seats do not march in step.
    fn think_ns(&mut self, seat: usize, is_first: bool) -> u64 {
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

/// A worker's share of the schedule, and the seats that are free to serve it.
#[derive(Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    begin_ns: u64,
    /// The event that is due next, not yet begun.
    next: Option<Due>,
    free: VecDeque<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub at_ns: u64,
    pub cycle: u64,
}

impl Schedule {
    fn new(arrivals: Arrivals) -> Self {
        Self {
            arrivals,
            begin_ns: u64::MAX,
            next: None,
            free: VecDeque::new(),
        }
    }

    fn begin(&mut self, begin_ns: u64) {
        self.begin_ns = begin_ns;
        self.advance();
    }

    fn advance(&mut self) {
        self.next = next_of(&mut self.arrivals, self.begin_ns);
    }

    /// When the worker must wake to begin an event; never while no seat is free.
    fn wake_ns(&self) -> Option<u64> {
        if self.free.is_empty() {
            None
        } else {
            self.next.map(|due| due.at_ns)
        }
    }

    /// Takes the next event, if it is due.
    fn take_due(&mut self, now_ns: u64) -> Option<Due> {
        let due = self.next.filter(|due| due.at_ns <= now_ns)?;
        self.advance();
        Some(due)
    }

    /// How many events are due and have not begun, and for how long the oldest has waited.
    pub fn backlog(&self, now_ns: u64) -> (u64, u64) {
        let Some(oldest) = self.next.filter(|due| due.at_ns <= now_ns) else {
            return (0, 0);
        };
        let mut arrivals = self.arrivals.clone();
        let mut count = 1;
        while count < BACKLOG_MAX
            && next_of(&mut arrivals, self.begin_ns).is_some_and(|due| due.at_ns <= now_ns)
        {
            count += 1;
        }
        (count, now_ns - oldest.at_ns)
    }
}

fn next_of(arrivals: &mut Arrivals, begin_ns: u64) -> Option<Due> {
    let arrival = arrivals.next_arrival()?;
    Some(Due {
        at_ns: begin_ns.saturating_add(arrival.offset_ns),
        cycle: arrival.cycle,
    })
}

impl<E: Engine> Worker<E> {
    /// The load begins: every seat that is ready may ask.
    pub(super) fn begin_pace(&mut self, begin_ns: u64) {
        if let Pace::Open(schedule) = &mut self.pace {
            schedule.begin(begin_ns);
        }
        for seat_index in 0..self.seats.len() {
            if self
                .seats
                .get(seat_index)
                .is_some_and(|seat| seat.stand == Stand::Parked)
            {
                self.offer_event(seat_index);
            }
        }
    }

    /// When the pace needs the worker awake.
    #[inline]
    pub(super) fn pace_wake_ns(&self) -> u64 {
        match &self.pace {
            Pace::AtOnce | Pace::Thinking { .. } => u64::MAX,
            Pace::Open(schedule) if self.phase <= Phase::Measure => {
                schedule.wake_ns().unwrap_or(u64::MAX)
            }
            Pace::Open(_) => u64::MAX,
        }
    }

    /// Begins the events that are due, as long as seats are free.
    #[inline]
    pub(super) fn dispatch(&mut self) {
        while self.pace_wake_ns() <= self.now_ns {
            let Pace::Open(schedule) = &mut self.pace else {
                return;
            };
            let Some(seat_index) = schedule.free.pop_front() else {
                return;
            };
            let Some(seat) = self.seats.get_mut(seat_index) else {
                return;
            };
            seat.is_queued = false;
            // A free seat may have lost its connection meanwhile: it queues again when it is back.
            if seat.stand == Stand::Parked {
                self.offer_event(seat_index);
                // The next one in a burst begins later than the first, and its lag must say so.
                self.tick();
            }
        }
    }

    /// Lets a seat that is between events begin the next one, when it is time.
    #[inline]
    pub(super) fn offer_event(&mut self, seat_index: usize) {
        if let Some(cue) = self.next_event(seat_index) {
            self.go_on(seat_index, cue);
        }
    }

    /// What a seat between events does next; nothing where it has to wait.
    #[inline]
    pub(super) fn next_event(&mut self, seat_index: usize) -> Option<Cue> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.stand = Stand::Parked;
        match self.phase {
            Phase::Warmup | Phase::Measure => {}
            Phase::Released => return Some(Cue::Finish),
            Phase::Setup | Phase::Armed | Phase::Closed | Phase::Over => return None,
        }
        if seat.is_idle {
            return None;
        }
        if let Some(every) = self.setup.reconnect_every
            && seat.events_on_link >= every
        {
            return self.reconnect(seat_index);
        }
        match &mut self.pace {
            Pace::AtOnce => self.begin_own(seat_index, self.now_ns),
            Pace::Thinking { .. } => {
                let is_first = seat.cycle == u64::from(seat.index);
                let pause_ns = self.pace.think_ns(seat_index, is_first);
                seat.stand = Stand::Thinking;
                self.alarm(seat_index, pause_ns);
                None
            }
            Pace::Open(schedule) => match schedule.take_due(self.now_ns) {
                Some(due) => self.begin_event(seat_index, due),
                None => {
                    if !std::mem::replace(&mut seat.is_queued, true) {
                        schedule.free.push_back(seat_index);
                    }
                    None
                }
            },
        }
    }

    /// A think time is over.
    pub(super) fn end_think(&mut self, seat_index: usize, at_ns: u64) {
        if !matches!(self.phase, Phase::Warmup | Phase::Measure) {
            if let Some(seat) = self.seats.get_mut(seat_index) {
                seat.stand = Stand::Parked;
            }
            return;
        }
        if let Some(cue) = self.begin_own(seat_index, at_ns) {
            self.go_on(seat_index, cue);
        }
    }

    /// Begins the seat's own next event.
    #[inline]
    pub(super) fn begin_own(&mut self, seat_index: usize, at_ns: u64) -> Option<Cue> {
        let seat = self.seats.get_mut(seat_index)?;
        let due = Due {
            at_ns,
            cycle: seat.cycle,
        };
        // Every seat has its own numbers, so nobody has to be asked for the next.
        seat.cycle += u64::from(self.setup.seats);
        self.begin_event(seat_index, due)
    }

    #[inline]
    fn begin_event(&mut self, seat_index: usize, due: Due) -> Option<Cue> {
        if self.setup.events_max.is_some_and(|max| due.cycle >= max) {
            return Some(Cue::Finish);
        }
        let seat = self.seats.get_mut(seat_index)?;
        seat.event = Some(due.cycle);
        seat.intended_ns = due.at_ns;
        seat.begun_ns = self.now_ns;
        seat.is_begun = false;
        Some(Cue::Event(due.cycle))
    }

    /// Records the event in progress.
    #[inline]
    pub(super) fn end_event(&mut self, seat_index: usize) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        seat.event = None;
        seat.events_on_link += 1;
        self.tally.events += 1;
        self.tally
            .response
            .record_ns(self.now_ns.saturating_sub(seat.intended_ns));
        if let Some(open) = &mut self.tally.open {
            open.service
                .record_ns(self.now_ns.saturating_sub(seat.begun_ns));
            open.lag
                .record_ns(seat.begun_ns.saturating_sub(seat.intended_ns));
        }
    }

    /// How many events of this worker are due and have not begun, and the oldest's wait.
    pub(super) fn backlog(&self) -> (u64, u64) {
        match &self.pace {
            Pace::Open(schedule) => schedule.backlog(self.now_ns),
            Pace::AtOnce | Pace::Thinking { .. } => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::plan::Stage;

    fn schedule(rate: f64) -> Schedule {
        let curve = Curve::new(
            0.0,
            &[Stage {
                rate,
                end_rate: None,
                duration_s: 0.0,
            }],
        );
        let mut schedule = Schedule::new(Arrivals::new(curve, Process::Even, 1, 0, 1));
        schedule.begin(1_000);
        schedule
    }

    #[test]
    fn the_queue_is_the_stretch_of_the_schedule_behind_us() {
        let mut schedule = schedule(1000.0);
        assert_eq!(schedule.backlog(999), (0, 0));
        assert_eq!(schedule.backlog(1_000 + 4_500_000), (5, 4_500_000));
        assert_eq!(
            schedule.take_due(2_000),
            Some(Due {
                at_ns: 1_000,
                cycle: 0
            })
        );
        assert_eq!(schedule.take_due(2_000), None);
        assert_eq!(schedule.backlog(1_000 + 4_500_000), (4, 3_500_000));
    }

    #[test]
    fn nobody_wakes_for_an_event_that_no_seat_can_serve() {
        let mut schedule = schedule(10.0);
        assert_eq!(schedule.wake_ns(), None);
        schedule.free.push_back(0);
        assert_eq!(schedule.wake_ns(), Some(1_000));
    }

    #[test]
    fn think_times_scatter_around_their_mean() {
        let pacing = Pacing::Closed {
            think_ns: 1_000_000,
            scatters: true,
        };
        let mut pace = Pace::new(&pacing, 1, 0, 1, 0..1);
        let sum: u64 = (0..10_000).map(|_| pace.think_ns(0, false)).sum();
        assert!((9_500_000_000..10_500_000_000).contains(&sum), "{sum}");
        let pacing = Pacing::Closed {
            think_ns: 1_000_000,
            scatters: false,
        };
        let mut pace = Pace::new(&pacing, 1, 0, 1, 0..1);
        assert!(pace.think_ns(0, true) < 1_000_000);
        assert_eq!(pace.think_ns(0, false), 1_000_000);
    }
}
