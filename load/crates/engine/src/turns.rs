//! Whose turn it is: which event a free seat begins next, and when.

use super::job::{ArmJob, Setup};
use super::pace::{Pace, Taken};
use super::seat::Seat;
use crate::arrival::{Dispenser, Due, Next};
use std::sync::Arc;

/// The turns of one worker's seats in one arm.
pub(super) struct Turns {
    pub(super) arm: u16,
    /// Events may begin later than they were due.
    pub(super) times_lag: bool,
    pace: Pace,
    dispenser: Arc<Dispenser>,
    /// The number of events of the whole run is limited: the dispenser numbers them, not the seats.
    shares_events: bool,
    /// A seat that numbers its own events counts up in steps of `connections`, and stops at
    /// `own_end`.
    connections: u64,
    own_end: u64,
    /// The events of the seats have an end; if each counts its own, this is the number for all.
    pub(super) ends: bool,
    of_all: Option<u64>,
    /// Sessions think before their events.
    thinks: bool,
}

/// What a free seat does next.
pub(super) enum NextTurn {
    Begin(Due),
    /// It thinks for this number of ns, and then continues by itself.
    Think(u64),
    /// It waits until the worker gives it an event.
    Wait,
    /// There are no more events for it.
    Finish,
}

impl Turns {
    /// The turns in the arm of this number, of all seats of a worker.
    pub(super) fn new(setup: &Setup, arm: u16, job: &ArmJob, seats: &[Seat]) -> Self {
        let indices = seats.iter().map(|seat| seat.index);
        Self {
            arm,
            times_lag: job.times_lag(),
            pace: Pace::new(job.pacing, setup.seed, indices),
            dispenser: Arc::clone(&job.dispenser),
            shares_events: job.dispenser.is_limited(),
            connections: setup.connections.into(),
            own_end: job.events_each.map_or(u64::MAX, |_| 0),
            ends: job.ends(),
            of_all: job
                .events_each
                .map(|each| each.saturating_mul(setup.connections.into())),
            thinks: job.workload.thinks(),
        }
    }

    /// The load begins: no seat waits for an event, and no event is taken. Seats that number their
    /// own events go on, each with as many as it may have at most.
    pub(super) fn begin(&mut self, seats: &mut [Seat]) {
        let first = self.own_end;
        if let Some(of_all) = self.of_all {
            self.own_end = first.saturating_add(of_all);
        }
        for seat in seats {
            for slot in seat.each_slot_mut() {
                (slot.thinks_of, slot.is_queued, slot.is_done) = (None, false, false);
            }
            if self.of_all.is_some() && seat.arm == self.arm {
                seat.cycle = first + u64::from(seat.index);
            }
        }
        if let Pace::Open(taken) = &mut self.pace {
            *taken = Taken::default();
        }
    }

    /// When the earliest event is or was due that this worker has taken and not begun.
    #[inline]
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.pace.next_due_ns()
    }

    /// Takes the earliest of those events, and turns to the slot that has been free for longest. If
    /// all free slots have lost their connections since, the event goes back to the dispenser.
    pub(super) fn take_due(&mut self, seats: &mut [Seat]) -> Option<(usize, Due)> {
        let Pace::Open(taken) = &mut self.pace else {
            return None;
        };
        let due = taken.events.pop_front()?;
        while let Some((seat_index, slot)) = taken.free.pop_front() {
            let seat = seats.get_mut(seat_index)?;
            seat.turn_to(slot);
            seat.slot.is_queued = false;
            if seat.is_free() {
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
                let is_first = seat.slot.begun_ns == 0;
                NextTurn::Think(self.pace.think_ns(seat_index, is_first))
            }
            Pace::Open(_) => self.next_of_schedule(seat, seat_index, now_ns),
        }
    }

    /// The think time of a seat ended at `at_ns`.
    pub(super) fn end_think(&mut self, seat: &mut Seat, at_ns: u64, now_ns: u64) -> NextTurn {
        match seat.slot.thinks_of.take() {
            Some(number) => NextTurn::Begin(Due { at_ns, number }),
            None => self.next_own(seat, at_ns, now_ns),
        }
    }

    /// Takes the next event of the schedule for a free seat. If the event is not due yet, both are
    /// queued: when it is due, the seat that has been free for longest begins it.
    #[inline(never)]
    fn next_of_schedule(&mut self, seat: &mut Seat, seat_index: usize, now_ns: u64) -> NextTurn {
        let Pace::Open(taken) = &mut self.pace else {
            return NextTurn::Wait;
        };
        if seat.slot.is_queued {
            return NextTurn::Wait;
        }
        match self.dispenser.take(now_ns) {
            Next::Event(due) if due.at_ns <= now_ns => NextTurn::Begin(due),
            Next::Event(due) => {
                seat.slot.is_queued = true;
                taken.free.push_back((seat_index, seat.slot.number));
                taken.keep(due);
                NextTurn::Wait
            }
            Next::Nothing => NextTurn::Wait,
            Next::Done => NextTurn::Finish,
        }
    }

    /// The seat's next event under a closed loop, due at `at_ns`.
    #[inline(always)]
    fn next_own(&mut self, seat: &mut Seat, at_ns: u64, now_ns: u64) -> NextTurn {
        let own = seat.cycle;
        seat.cycle += self.connections;
        if own >= self.own_end {
            return NextTurn::Finish;
        }
        // Without a limit for the whole run every seat numbers its own events, and the shared
        // dispenser is not asked.
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
        seat.slot.thinks_of = Some(event.number);
        NextTurn::Think(at_ns - now_ns)
    }
}
