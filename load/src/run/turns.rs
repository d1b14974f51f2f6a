//! Whose turn it is: lets seats begin events when it is time, and records how they ended.

use super::pace::{Pace, Taken};
use super::seat::{Seat, WaitsFor};
use super::steps::Reason;
use super::worker::{Worker, WorkerPhase};
use crate::arrival::{Due, Next};
use crate::reactor::engine::Engine;
use crate::talk::dialect::Dialect;

impl<E: Engine, D: Dialect> Worker<E, D> {
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
            let parked = |seat: &Seat| seat.waits_for == WaitsFor::Parked && !seat.rests;
            if self.seats.get(seat_index).is_some_and(parked) {
                self.offer_event(seat_index);
            }
        }
    }

    /// When the pace needs the worker awake: when the first event is due that it has taken.
    #[inline]
    pub(super) fn pace_wake_ns(&self) -> u64 {
        match self.phase <= WorkerPhase::Measure {
            true => self.pace.next_due_ns().unwrap_or(u64::MAX),
            false => u64::MAX,
        }
    }

    /// Begins the events that are due.
    #[inline]
    pub(super) fn dispatch(&mut self) {
        while self.pace_wake_ns() <= self.reactor.now_ns() {
            let Some(due) = self.pace.take_kept() else {
                return;
            };
            match self.take_free() {
                Some(seat_index) => {
                    if let Some(reason) = self.begin_event(seat_index, due) {
                        self.go_on(seat_index, reason);
                    }
                }
                // All seats that were free have lost their connections since.
                None => self.setup.dispenser.give_back(due),
            }
            // The next one of a burst begins later than the first, and its lag must say so.
            self.tick();
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
            if seat.waits_for == WaitsFor::Parked {
                return Some(seat_index);
            }
        }
        None
    }

    /// Lets a seat that is between events begin the next one, when it is time.
    #[inline]
    pub(super) fn offer_event(&mut self, seat_index: usize) {
        if let Some(reason) = self.next_event(seat_index) {
            self.go_on(seat_index, reason);
        }
    }

    /// What a seat between events does next; nothing if it has to wait.
    #[inline]
    pub(super) fn next_event(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.waits_for = WaitsFor::Parked;
        match self.phase {
            WorkerPhase::Warmup | WorkerPhase::Measure => {}
            WorkerPhase::Released => return Some(Reason::Finish),
            WorkerPhase::Closed => {
                self.look_whether_drained();
                return None;
            }
            WorkerPhase::Setup | WorkerPhase::Armed | WorkerPhase::Over => return None,
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
            Pace::AtOnce => self.begin_next(seat_index, self.reactor.now_ns()),
            Pace::Thinking { .. } => {
                let is_first = seat.cycle == u64::from(seat.index);
                let pause_ns = self.pace.think_ns(seat_index, is_first);
                seat.waits_for = WaitsFor::Thinking;
                self.alarm(seat_index, pause_ns);
                None
            }
            Pace::Open(_) => self.take_event_of_schedule(seat_index),
        }
    }

    /// A free seat takes the next event of the schedule. If it is not due yet it waits, and the
    /// seat that has been free for longest will begin it.
    fn take_event_of_schedule(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        let Pace::Open(taken) = &mut self.pace else {
            return None;
        };
        if seat.is_queued {
            return None;
        }
        match self.setup.dispenser.take(self.reactor.now_ns()) {
            Next::Event(due) if due.at_ns <= self.reactor.now_ns() => {
                self.begin_event(seat_index, due)
            }
            Next::Event(due) => {
                seat.is_queued = true;
                taken.free.push_back(seat_index);
                taken.keep(due);
                None
            }
            Next::Nothing => None,
            Next::Done => Some(Reason::Finish),
        }
    }

    /// A think time is over.
    pub(super) fn end_think(&mut self, seat_index: usize, at_ns: u64) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        if seat.rests || !matches!(self.phase, WorkerPhase::Warmup | WorkerPhase::Measure) {
            seat.waits_for = WaitsFor::Parked;
            return;
        }
        let reason = match seat.thinks_of.take() {
            Some(number) => self.begin_event(seat_index, Due { at_ns, number }),
            None => self.begin_next(seat_index, at_ns),
        };
        if let Some(reason) = reason {
            self.go_on(seat_index, reason);
        }
    }

    /// Begins the seat's next event under a closed loop.
    #[inline]
    fn begin_next(&mut self, seat_index: usize, at_ns: u64) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        let own = seat.cycle;
        seat.cycle += u64::from(self.setup.seats);
        if own >= self.own_end {
            return Some(Reason::Finish);
        }
        // Usually every seat has its own numbers, so nobody has to be asked for the next.
        let number = match self.shares_events {
            false => own,
            true => match self.setup.dispenser.take(at_ns) {
                Next::Event(due) => due.number,
                Next::Nothing | Next::Done => return Some(Reason::Finish),
            },
        };
        let due = Due { at_ns, number };
        match self.thinks {
            false => self.begin_event(seat_index, due),
            true => self.think(seat_index, due),
        }
    }

    /// Lets the session think before this event, which could begin now.
    #[cold]
    #[inline(never)]
    fn think(&mut self, seat_index: usize, event: Due) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        let at_ns = seat.session.due_ns(event.number, event.at_ns);
        if at_ns <= self.reactor.now_ns() {
            return self.begin_event(seat_index, Due { at_ns, ..event });
        }
        seat.thinks_of = Some(event.number);
        seat.waits_for = WaitsFor::Thinking;
        self.alarm(seat_index, at_ns - self.reactor.now_ns());
        None
    }

    #[inline]
    fn begin_event(&mut self, seat_index: usize, due: Due) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.event = Some(due.number);
        seat.intended_ns = due.at_ns;
        seat.begun_ns = self.reactor.now_ns();
        seat.is_begun = false;
        seat.counts = due.at_ns >= self.timeline.open_ns;
        self.books.begin_event(seat);
        Some(Reason::Event(due.number))
    }
}
