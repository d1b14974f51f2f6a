//! Whose turn it is: which event a free seat begins next, and when.

use super::job::{ArmJob, Setup};
use super::pace::{Pace, Taken};
use super::seat::{Seat, WaitsFor};
use crate::arrival::{Dispenser, Due, Next};
use std::sync::Arc;

/// The turns of one worker's seats in one arm.
pub(super) struct Turns {
    pub(super) arm: u16,
    /// Events may begin later than they were due.
    pub(super) times_lag: bool,
    pace: Pace,
    dispenser: Arc<Dispenser>,
    /// Seats do not number their events: the dispenser does.
    shares_events: bool,
    /// The numbers of a seat's own events are so far apart, and end here.
    seats: u64,
    own_end: u64,
    /// Sessions think before their events.
    thinks: bool,
}

/// What a free seat does next.
pub(super) enum NextTurn {
    Begin(Due),
    /// It goes on by itself after so many ns.
    Think(u64),
    /// It waits until it is called.
    Wait,
    /// There are no more events for it.
    Finish,
}

impl Turns {
    /// The turns in the arm of this number, of all seats of a worker.
    pub(super) fn new(setup: &Setup, arm: u16, job: &ArmJob, seats: &[Seat]) -> Self {
        let count = u64::from(setup.seats);
        let indices = seats.iter().map(|seat| seat.index);
        Self {
            arm,
            times_lag: job.times_lag(),
            pace: Pace::new(job.pacing, setup.seed, indices),
            dispenser: Arc::clone(&job.dispenser),
            shares_events: job.dispenser.is_limited(),
            seats: count,
            own_end: setup
                .events_each
                .map_or(u64::MAX, |each| each.saturating_mul(count)),
            thinks: job.workload.thinks(),
        }
    }

    /// The load begins: nobody waits for an event, and none is taken.
    pub(super) fn begin(&mut self, seats: &mut [Seat]) {
        for seat in seats {
            (seat.thinks_of, seat.is_queued) = (None, false);
        }
        if let Pace::Open(taken) = &mut self.pace {
            *taken = Taken::default();
        }
    }

    /// When the first event was or is due that was taken and has not begun.
    #[inline]
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.pace.next_due_ns()
    }

    /// Takes the first of those events, and the seat that has been free for longest. If all that
    /// were free have lost their connections since, others may have the event.
    pub(super) fn take_due(&mut self, seats: &mut [Seat]) -> Option<(usize, Due)> {
        let Pace::Open(taken) = &mut self.pace else {
            return None;
        };
        let due = taken.events.pop_front()?;
        while let Some(seat_index) = taken.free.pop_front() {
            let seat = seats.get_mut(seat_index)?;
            seat.is_queued = false;
            if seat.waits_for == WaitsFor::Parked {
                return Some((seat_index, due));
            }
        }
        self.dispenser.give_back(due);
        None
    }

    /// What a seat between events does next.
    #[inline(always)]
    pub(super) fn next(&mut self, seat: &mut Seat, seat_index: usize, now_ns: u64) -> NextTurn {
        match &self.pace {
            Pace::AtOnce => self.next_own(seat, now_ns, now_ns),
            Pace::Thinking { .. } => {
                let is_first = seat.cycle == u64::from(seat.index);
                NextTurn::Think(self.pace.think_ns(seat_index, is_first))
            }
            Pace::Open(_) => self.next_of_schedule(seat, seat_index, now_ns),
        }
    }

    /// A think time was to end at this time.
    pub(super) fn end_think(&mut self, seat: &mut Seat, at_ns: u64, now_ns: u64) -> NextTurn {
        match seat.thinks_of.take() {
            Some(number) => NextTurn::Begin(Due { at_ns, number }),
            None => self.next_own(seat, at_ns, now_ns),
        }
    }

    /// A free seat takes the next event of the schedule. If it is not due yet it waits, and the
    /// seat that has been free for longest will begin it.
    #[inline(never)]
    fn next_of_schedule(&mut self, seat: &mut Seat, seat_index: usize, now_ns: u64) -> NextTurn {
        let Pace::Open(taken) = &mut self.pace else {
            return NextTurn::Wait;
        };
        if seat.is_queued {
            return NextTurn::Wait;
        }
        match self.dispenser.take(now_ns) {
            Next::Event(due) if due.at_ns <= now_ns => NextTurn::Begin(due),
            Next::Event(due) => {
                seat.is_queued = true;
                taken.free.push_back(seat_index);
                taken.keep(due);
                NextTurn::Wait
            }
            Next::Nothing => NextTurn::Wait,
            Next::Done => NextTurn::Finish,
        }
    }

    /// The seat's next event under a closed loop, due at this time.
    #[inline(always)]
    fn next_own(&mut self, seat: &mut Seat, at_ns: u64, now_ns: u64) -> NextTurn {
        let own = seat.cycle;
        seat.cycle += self.seats;
        if own >= self.own_end {
            return NextTurn::Finish;
        }
        // Usually every seat has its own numbers, so nobody has to be asked for the next.
        let number = match self.shares_events {
            false => own,
            true => match self.dispenser.take(at_ns) {
                Next::Event(due) => due.number,
                Next::Nothing | Next::Done => return NextTurn::Finish,
            },
        };
        let due = Due { at_ns, number };
        match self.thinks {
            false => NextTurn::Begin(due),
            true => Self::think(seat, due, now_ns),
        }
    }

    /// Lets the session think before this event, which could begin now.
    #[cold]
    #[inline(never)]
    fn think(seat: &mut Seat, event: Due, now_ns: u64) -> NextTurn {
        let at_ns = seat.session.due_ns(event.number, event.at_ns);
        if at_ns <= now_ns {
            return NextTurn::Begin(Due { at_ns, ..event });
        }
        seat.thinks_of = Some(event.number);
        NextTurn::Think(at_ns - now_ns)
    }
}
