//! When events begin: at once, after a think time, or at the times of a schedule.

use super::clock::nanoseconds;
use super::engine::Engine;
use super::seat::Stand;
use super::steps::Cue;
use super::worker::{Phase, Worker};
use crate::arrival::{Due, Next};
use crate::random::Stream;
use crate::workload::Ending;
use std::collections::VecDeque;

/// How the events of a run are paced; the same for all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Each seat begins when its last event has ended, after thinking.
    Closed { think_ns: u64, scatters: bool },
    /// The dispenser has a schedule that does not wait for the server.
    Open,
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
    Open(Taken),
}

/// Events that this worker has taken before they are due, one for each of its free seats.
#[derive(Debug, Default)]
pub struct Taken {
    /// The first that is due in front.
    events: VecDeque<Due>,
    /// The seat that has been free for longest in front.
    free: VecDeque<usize>,
}

impl Taken {
    /// Keeps an event until it is due. One that was given back may be due before others.
    fn keep(&mut self, due: Due) {
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

impl<E: Engine> Worker<E> {
    /// The load begins: every seat that is ready may ask.
    pub(super) fn begin_pace(&mut self) {
        self.seats.iter_mut().for_each(|seat| seat.thinks_of = None);
        if let Pace::Open(taken) = &mut self.pace {
            *taken = Taken::default();
            self.seats
                .iter_mut()
                .for_each(|seat| seat.is_queued = false);
        }
        for seat_index in 0..self.seats.len() {
            let parked = |seat: &super::seat::Seat| seat.stand == Stand::Parked && !seat.rests;
            if self.seats.get(seat_index).is_some_and(parked) {
                self.offer_event(seat_index);
            }
        }
    }

    /// When the pace needs the worker awake: when the first event is due that it has taken.
    #[inline]
    pub(super) fn pace_wake_ns(&self) -> u64 {
        match &self.pace {
            Pace::AtOnce | Pace::Thinking { .. } => u64::MAX,
            Pace::Open(taken) if self.phase <= Phase::Measure => {
                taken.events.front().map_or(u64::MAX, |due| due.at_ns)
            }
            Pace::Open(_) => u64::MAX,
        }
    }

    /// Begins the events that are due.
    #[inline]
    pub(super) fn dispatch(&mut self) {
        while self.pace_wake_ns() <= self.now_ns {
            let Some(due) = self.take_kept() else {
                return;
            };
            match self.take_free() {
                Some(seat_index) => {
                    if let Some(cue) = self.begin_event(seat_index, due) {
                        self.go_on(seat_index, cue);
                    }
                }
                // All seats that were free have lost their connections since.
                None => self.setup.dispenser.give_back(due),
            }
            // The next one of a burst begins later than the first, and its lag must say so.
            self.tick();
        }
    }

    fn take_kept(&mut self) -> Option<Due> {
        match &mut self.pace {
            Pace::Open(taken) => taken.events.pop_front(),
            Pace::AtOnce | Pace::Thinking { .. } => None,
        }
    }

    /// The seat that has been free for longest. One that has lost its connection meanwhile asks
    /// for an event again when it is back.
    fn take_free(&mut self) -> Option<usize> {
        let Pace::Open(taken) = &mut self.pace else {
            return None;
        };
        while let Some(seat_index) = taken.free.pop_front() {
            let seat = self.seats.get_mut(seat_index)?;
            seat.is_queued = false;
            if seat.stand == Stand::Parked {
                return Some(seat_index);
            }
        }
        None
    }

    /// Lets a seat that is between events begin the next one, when it is time.
    #[inline]
    pub(super) fn offer_event(&mut self, seat_index: usize) {
        if let Some(cue) = self.next_event(seat_index) {
            self.go_on(seat_index, cue);
        }
    }

    /// What a seat between events does next; nothing if it has to wait.
    #[inline]
    pub(super) fn next_event(&mut self, seat_index: usize) -> Option<Cue> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.stand = Stand::Parked;
        match self.phase {
            Phase::Warmup | Phase::Measure => {}
            Phase::Released => return Some(Cue::Finish),
            Phase::Closed => {
                self.look_whether_drained();
                return None;
            }
            Phase::Setup | Phase::Armed | Phase::Over => return None,
        }
        if seat.rests {
            return None;
        }
        if let Some(every) = self.setup.reconnect_every
            && seat.events_on_link >= every
        {
            return self.reconnect(seat_index);
        }
        match &self.pace {
            Pace::AtOnce => self.begin_next(seat_index, self.now_ns),
            Pace::Thinking { .. } => {
                let is_first = seat.cycle == u64::from(seat.index);
                let pause_ns = self.pace.think_ns(seat_index, is_first);
                seat.stand = Stand::Thinking;
                self.alarm(seat_index, pause_ns);
                None
            }
            Pace::Open(_) => self.take_event_of_schedule(seat_index),
        }
    }

    /// A free seat takes the next event of the schedule. If it is not due yet it waits, and the
    /// seat that has been free for longest will begin it.
    fn take_event_of_schedule(&mut self, seat_index: usize) -> Option<Cue> {
        let seat = self.seats.get_mut(seat_index)?;
        let Pace::Open(taken) = &mut self.pace else {
            return None;
        };
        if seat.is_queued {
            return None;
        }
        match self.setup.dispenser.take(self.now_ns) {
            Next::Event(due) if due.at_ns <= self.now_ns => self.begin_event(seat_index, due),
            Next::Event(due) => {
                seat.is_queued = true;
                taken.free.push_back(seat_index);
                taken.keep(due);
                None
            }
            Next::Nothing => None,
            Next::Done => Some(Cue::Finish),
        }
    }

    /// A think time is over.
    pub(super) fn end_think(&mut self, seat_index: usize, at_ns: u64) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        if seat.rests || !matches!(self.phase, Phase::Warmup | Phase::Measure) {
            seat.stand = Stand::Parked;
            return;
        }
        let cue = match seat.thinks_of.take() {
            Some(number) => self.begin_event(seat_index, Due { at_ns, number }),
            None => self.begin_next(seat_index, at_ns),
        };
        if let Some(cue) = cue {
            self.go_on(seat_index, cue);
        }
    }

    /// Begins the seat's next event under a closed loop.
    #[inline]
    fn begin_next(&mut self, seat_index: usize, at_ns: u64) -> Option<Cue> {
        let seat = self.seats.get_mut(seat_index)?;
        let own = seat.cycle;
        seat.cycle += u64::from(self.setup.seats);
        if own >= self.own_end {
            return Some(Cue::Finish);
        }
        // Usually every seat has its own numbers, so nobody has to be asked for the next.
        let number = match self.shares_events {
            false => own,
            true => match self.setup.dispenser.take(at_ns) {
                Next::Event(due) => due.number,
                Next::Nothing | Next::Done => return Some(Cue::Finish),
            },
        };
        if self.thinks && self.think(seat_index, number) {
            return None;
        }
        self.begin_event(seat_index, Due { at_ns, number })
    }

    /// Lets the session think before this event; false if it has nothing to think about.
    #[cold]
    fn think(&mut self, seat_index: usize, number: u64) -> bool {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return false;
        };
        let time = seat.session.think(number);
        if time.is_zero() {
            return false;
        }
        seat.thinks_of = Some(number);
        seat.stand = Stand::Thinking;
        self.alarm(seat_index, nanoseconds(time));
        true
    }

    #[inline]
    fn begin_event(&mut self, seat_index: usize, due: Due) -> Option<Cue> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.event = Some(due.number);
        seat.intended_ns = due.at_ns;
        seat.begun_ns = self.now_ns;
        seat.is_begun = false;
        seat.counts = due.at_ns >= self.timeline.open_ns;
        self.tally.begun += u64::from(seat.counts);
        self.begun += 1;
        Some(Cue::Event(due.number))
    }

    /// Records the event in progress, which has ended well.
    #[inline]
    pub(super) fn end_event(&mut self, seat_index: usize, ending: Ending) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        seat.event = None;
        seat.events_on_link += 1;
        let tried_again_ns = std::mem::take(&mut seat.tried_again_ns);
        if !std::mem::take(&mut seat.counts) {
            return;
        }
        let Some(tally) = self.tally.kinds.get_mut(usize::from(ending.kind)) else {
            return;
        };
        tally.rolled_back += u64::from(ending.rolled_back);
        let response_ns = self.now_ns.saturating_sub(seat.intended_ns);
        let lag_ns = seat.begun_ns.saturating_sub(seat.intended_ns);
        let last_try_ns = match tried_again_ns {
            0 => None,
            begun_ns => Some(self.now_ns.saturating_sub(begun_ns)),
        };
        tally.record_ns(response_ns, lag_ns, last_try_ns);
    }

    /// Gives up the event in progress, if there is one.
    pub(super) fn drop_event(&mut self, seat_index: usize) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        seat.tried_again_ns = 0;
        if seat.event.take().is_some()
            && std::mem::take(&mut seat.counts)
            && let Some(tally) = self.tally.kinds.get_mut(usize::from(seat.session.kind()))
        {
            tally.failed += 1;
        }
    }

    /// When the first event was due that this worker has taken and has not begun.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        match &self.pace {
            Pace::Open(taken) => taken.events.front().map(|due| due.at_ns),
            Pace::AtOnce | Pace::Thinking { .. } => None,
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
