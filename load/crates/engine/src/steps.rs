//! What a worker does for its sessions: carries out their steps, wakes them, connects them.

use super::edges::WorkerPhase;
use super::links::{SeatLink, Sent};
use super::seat::{Seat, Slot, WaitsFor};
use super::turns::NextTurn;
use super::worker::Worker;
use crate::arrival::Due;
use crate::workload;
use crate::workload::{Answer, Call, Step, Verdict};
use contend_client::dialect::Dialect;
use contend_client::failure;
use contend_client::failure::{GONE, client_error};
use contend_client::request::Request;
use contend_figures::outcome::Failure;
use contend_reactor::clock::{nanoseconds, seconds_ns};
use contend_reactor::engine::Engine;
use std::io;
use std::time::Duration;

/// Why a session is called: like [`Call`], without the borrowed parts.
#[derive(Clone, Copy, Debug)]
pub enum Reason {
    Start,
    Connected(usize),
    Lost(workload::LinkNumber),
    /// The error is in the worker's `trouble`.
    Broken,
    Event(u64),
    /// The answer on this link.
    Answer(usize, Verdict),
    /// An empty answer, to a request that the server does not answer.
    NoAnswer,
    Woken,
    Finish,
}

impl<E: Engine, D: Dialect> Worker<E, D> {
    pub(super) fn start(&mut self, seat: usize) {
        self.go_on(seat, Reason::Start);
    }

    /// Calls the session, and calls it again until a step makes it wait.
    #[inline]
    pub(super) fn go_on(&mut self, seat_index: usize, first: Reason) {
        let mut reason = first;
        loop {
            if self.edges.phase == WorkerPhase::Over {
                return;
            }
            self.links.out.clear();
            let Some(seat) = self.seats.get_mut(seat_index) else {
                return;
            };
            let answer;
            let trouble;
            let call = match reason {
                Reason::Event(cycle) => seat.slot.begin(cycle),
                Reason::Answer(token, verdict) => {
                    let Some(SeatLink { link, .. }) = self.links.all.get(token) else {
                        return;
                    };
                    answer = Answer {
                        summary: *link.summary(),
                        error: link.error(),
                        verdict,
                        tries: seat.slot.tries,
                        prepared: link.prepared(),
                        bytes: Some(link.whole()),
                    };
                    Call::Answer(&answer)
                }
                Reason::NoAnswer => {
                    answer = Answer::default();
                    Call::Answer(&answer)
                }
                Reason::Start => Call::Start,
                Reason::Connected(token) => {
                    let Some(connection) = self.links.all.get(token) else {
                        return;
                    };
                    let Some(capabilities) = connection.link.capabilities() else {
                        return;
                    };
                    Call::Connected {
                        link: connection.number,
                        capabilities,
                    }
                }
                Reason::Lost(link) => Call::Lost(link),
                Reason::Broken => {
                    trouble = self.trouble.take();
                    let Some(error) = &trouble else {
                        return;
                    };
                    Call::Broken(error)
                }
                Reason::Woken => Call::Woken,
                Reason::Finish => Call::Finish,
            };
            let step = seat.session.next(call, &mut self.links.out);
            if self.setup.blocks {
                self.look_up();
            }
            match self.carry_out(seat_index, step) {
                Some(next) => reason = next,
                None => return,
            }
        }
    }

    /// Carries out one step. Returns why to call the session again at once; none if it must wait.
    #[inline(always)]
    pub(super) fn carry_out(&mut self, seat_index: usize, step: Step) -> Option<Reason> {
        match step {
            Step::Send(request) => self.send(seat_index, request),
            Step::EventEnd(ending) => {
                let seat = self.seats.get_mut(seat_index)?;
                let timeline = &self.edges.timeline;
                self.stats
                    .end_event(seat, ending, self.reactor.now_ns(), timeline);
                self.next_event(seat_index)
            }
            Step::EventTimed(times) => {
                let (now_ns, timeline) = (self.reactor.now_ns(), &self.edges.timeline);
                let seat = self.seats.get_mut(seat_index)?;
                self.stats.end_timed_event(seat, times, now_ns, timeline);
                self.next_event(seat_index)
            }
            Step::EventMore(times) => {
                let (now_ns, timeline) = (self.reactor.now_ns(), &self.edges.timeline);
                let seat = self.seats.get(seat_index)?;
                self.stats.add_event(seat, times, now_ns, timeline);
                Some(Reason::Woken)
            }
            Step::Retry(pause) => self.retry(seat_index, pause),
            Step::EventDropped => {
                self.stats.drop_event(self.seats.get_mut(seat_index)?);
                self.next_event(seat_index)
            }
            Step::Ready => self.ready(seat_index),
            Step::Connect(server) => self.connect_next(seat_index, server),
            Step::Disconnect(number) => {
                let token = *self
                    .seats
                    .get(seat_index)?
                    .tokens
                    .get(usize::from(number))?;
                self.hang_up(token);
                Some(Reason::Lost(number))
            }
            Step::Sleep(time) => {
                self.sleep(seat_index, time);
                None
            }
            Step::Stop => {
                self.for_slots(seat_index, Self::stop);
                None
            }
            Step::Fail(failure) => {
                self.fail(*failure);
                None
            }
        }
    }

    #[inline(always)]
    fn send(&mut self, seat_index: usize, request: Request) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        let Some(&token) = seat.tokens.get(usize::from(request.link)) else {
            self.fail(Failure::plain(
                "a session uses a connection that it never opened",
            ));
            return None;
        };
        if let Some(ending) = request.ends {
            seat.slot.kind = ending.kind;
        }
        let now_ns = self.reactor.now_ns();
        match self.links.send(
            &mut self.reactor.engine,
            (token, seat.slot.number),
            request,
            now_ns,
        ) {
            Sent::Asked => seat.slot.waits_for = WaitsFor::Asking,
            Sent::HeldBack => {
                seat.slot.waits_for = WaitsFor::Asking;
                return Some(Reason::NoAnswer);
            }
            // The link was lost while the session slept, or the session closed it itself.
            Sent::Closed if seat.judges => {
                self.trouble = Some(client_error(GONE, "the server closed the connection"));
                return Some(Reason::Broken);
            }
            Sent::Closed => return Some(Reason::Lost(request.link)),
            Sent::Failed(error) => {
                self.fail_at(token, |address| failure::of_wire(address, &error));
                return None;
            }
        }
        if self.edges.phase == WorkerPhase::Setup {
            // Only the setup needs this alarm: a silent server would block it for ever. Later the
            // window ends on time regardless of the server.
            self.alarm(seat_index, self.setup.setup_timeout_ns);
        }
        None
    }

    /// The session is set up, or set up again after its link was lost.
    fn ready(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.sets_up = None;
        seat.slot.next_alarm();
        seat.slot.waits_for = WaitsFor::Parked;
        if seat.is_deep() {
            let links = seat.tokens.iter();
            links.for_each(|token| self.reactor.engine.pipeline(*token));
        }
        if self.edges.phase == WorkerPhase::Setup {
            let slots = seat.each_slot_mut();
            slots.for_each(|slot| slot.waits_for = WaitsFor::Parked);
            self.count_ready(seat_index);
            return None;
        }
        if seat.is_deep() {
            self.for_slots(seat_index, Self::offer_event);
            return None;
        }
        self.proceed(seat_index)
    }

    /// A seat acts for this slot from now on.
    pub(super) fn turn(&mut self, seat_index: usize, slot: usize) {
        if let Some(seat) = self.seats.get_mut(seat_index) {
            seat.turn_to(slot);
        }
    }

    /// Does something for each slot of a seat in turn.
    pub(super) fn for_slots(&mut self, seat_index: usize, act: impl Fn(&mut Self, usize)) {
        for number in 0..self.seats.get(seat_index).map_or(0, Seat::depth) {
            self.turn(seat_index, number);
            act(self, seat_index);
        }
    }

    fn sleep(&mut self, seat_index: usize, time: Duration) {
        if let Some(seat) = self.seats.get_mut(seat_index) {
            seat.slot.waits_for = WaitsFor::Sleeping;
        }
        // Even a sleep of 0 sets an alarm: so other seats go on, and the worker gets its commands.
        let pause_ns = seconds_ns(time.as_secs_f64()).max(1);
        self.alarm(seat_index, pause_ns);
    }

    /// Begins the event in progress again after a pause. The pause counts in its response time.
    #[cold]
    pub(super) fn retry(&mut self, seat_index: usize, pause: Duration) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.slot.tries += 1;
        if pause.is_zero() {
            return self.try_again(seat_index);
        }
        seat.slot.waits_for = WaitsFor::Pausing;
        self.alarm(seat_index, nanoseconds(pause));
        None
    }

    /// Begins the event in progress again, or leaves that to [`Self::ready`].
    #[cold]
    fn try_again(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        let cycle = seat.slot.event?;
        if seat.sets_up.is_some() {
            seat.slot.waits_for = WaitsFor::Parked;
            return None;
        }
        seat.slot.tried_again_ns = self.reactor.now_ns().max(1);
        self.stats.retry_event(seat);
        Some(Reason::Event(cycle))
    }

    /// The load begins: every seat that is ready may ask.
    pub(super) fn begin_turns(&mut self) {
        self.turns.begin(&mut self.seats);
        self.count_left();
        for seat_index in 0..self.seats.len() {
            if self.seats.get(seat_index).is_some_and(|seat| !seat.rests) {
                self.for_slots(seat_index, Self::offer_event);
            }
        }
    }

    /// Lets a slot begin its next event, when it is time, or begin its event again.
    fn offer_event(&mut self, seat_index: usize) {
        if self.seats.get(seat_index).is_some_and(Seat::is_free)
            && let Some(reason) = self.proceed(seat_index)
        {
            self.go_on(seat_index, reason);
        }
    }

    fn proceed(&mut self, seat_index: usize) -> Option<Reason> {
        match self.seats.get(seat_index)?.slot.event {
            // The loss of a link broke it.
            Some(_) => self.try_again(seat_index),
            None => self.next_event(seat_index),
        }
    }

    /// When the earliest event is due that this worker has taken and not begun; `u64::MAX` if there
    /// is none, or if the window is over.
    #[inline]
    pub(super) fn event_due_ns(&self) -> u64 {
        match self.edges.phase <= WorkerPhase::Measure {
            true => self.turns.next_due_ns().unwrap_or(u64::MAX),
            false => u64::MAX,
        }
    }

    /// Begins the events that are due.
    #[inline]
    pub(super) fn dispatch(&mut self) {
        while self.event_due_ns() <= self.reactor.now_ns() {
            if let Some((seat_index, due)) = self.turns.take_due(&mut self.seats)
                && let Some(reason) = self.begin_event(seat_index, due)
            {
                self.go_on(seat_index, reason);
            }
            // Read the clock for each event of a burst: the later ones begin later, and their lag
            // must show it.
            self.tick();
        }
    }

    /// An event has ended: begins the next one, when it is time.
    #[inline(always)]
    pub(super) fn end_event(&mut self, seat_index: usize) {
        if let Some(reason) = self.after_event(seat_index) {
            self.go_on(seat_index, reason);
        }
    }

    /// The next step of a slot between events; nothing if it has to wait.
    #[inline(never)]
    fn next_event(&mut self, seat_index: usize) -> Option<Reason> {
        self.after_event(seat_index)
    }

    /// Like [`Self::next_event`], without the cost of a call: for the answer that ends an event.
    #[inline(always)]
    fn after_event(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.slot.waits_for = WaitsFor::Parked;
        match self.edges.phase {
            WorkerPhase::Warmup | WorkerPhase::Measure => {}
            WorkerPhase::Released => return self.finish(seat_index),
            WorkerPhase::Closed => {
                self.look_whether_drained();
                return None;
            }
            WorkerPhase::Setup | WorkerPhase::Armed | WorkerPhase::Over => return None,
        }
        if seat.rests {
            return None;
        }
        if seat.is_deep() {
            return self.next_of_slot(seat_index);
        }
        self.next_turn(seat_index)
    }

    /// Like [`Self::next_turn`], if other slots use the links too. It waits until the session is
    /// ready, and, before links are opened again, until no event is in progress on them.
    #[inline(never)]
    fn next_of_slot(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get(seat_index)?;
        let every = self.setup.reconnect_every;
        let is_due = every.is_some_and(|every| seat.events_on_link >= every);
        let waits = is_due && seat.each_slot().any(|slot| slot.event.is_some());
        match waits || seat.sets_up.is_some() {
            true => None,
            false => self.next_turn(seat_index),
        }
    }

    #[inline(always)]
    fn next_turn(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        if let Some(every) = self.setup.reconnect_every
            && seat.events_on_link >= every
        {
            return self.reconnect(seat_index);
        }
        let turn = self.turns.next(seat, seat_index, self.reactor.now_ns());
        self.take_turn(seat_index, turn)
    }

    /// A think time is over.
    fn end_think(&mut self, seat_index: usize, at_ns: u64) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        let is_loaded = matches!(self.edges.phase, WorkerPhase::Warmup | WorkerPhase::Measure);
        if seat.rests || seat.sets_up.is_some() || !is_loaded {
            seat.slot.waits_for = WaitsFor::Parked;
            return;
        }
        let turn = self.turns.end_think(seat, at_ns, self.reactor.now_ns());
        if let Some(reason) = self.take_turn(seat_index, turn) {
            self.go_on(seat_index, reason);
        }
    }

    #[inline(always)]
    fn take_turn(&mut self, seat_index: usize, turn: NextTurn) -> Option<Reason> {
        match turn {
            NextTurn::Begin(due) => self.begin_event(seat_index, due),
            NextTurn::Think(pause_ns) => {
                self.seats.get_mut(seat_index)?.slot.waits_for = WaitsFor::Thinking;
                self.alarm(seat_index, pause_ns);
                None
            }
            NextTurn::Wait => None,
            NextTurn::Finish if self.setup.has_arms() => {
                self.count_done(seat_index);
                None
            }
            NextTurn::Finish => self.finish(seat_index),
        }
    }

    #[inline(always)]
    fn begin_event(&mut self, seat_index: usize, due: Due) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        seat.slot.event = Some(due.number);
        seat.slot.intended_ns = due.at_ns;
        seat.slot.begun_ns = self.reactor.now_ns();
        (seat.slot.is_begun, seat.slot.tries) = (false, 0);
        seat.slot.counts = due.at_ns >= self.edges.timeline.open_ns;
        self.stats.begin_event(seat);
        Some(Reason::Event(due.number))
    }

    /// Rings for a slot after `pause_ns`, unless another alarm is set before.
    pub(super) fn alarm(&mut self, seat_index: usize, pause_ns: u64) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        let at_ns = self.reactor.now_ns().saturating_add(pause_ns);
        let alarm = seat.slot.next_alarm();
        self.reactor.timers.set(at_ns, seat_index, alarm);
    }

    /// An alarm rang.
    pub(super) fn wake_seat(&mut self, at_ns: u64, seat_index: usize, alarm: u64) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        seat.turn_to(Slot::of_alarm(alarm));
        if seat.slot.alarm != alarm {
            return;
        }
        match seat.slot.waits_for {
            WaitsFor::Sleeping => self.go_on(seat_index, Reason::Woken),
            // The think time ended when the alarm was due. If the alarm was late, that is our delay
            // and not the user's.
            WaitsFor::Thinking => self.end_think(seat_index, at_ns),
            WaitsFor::Pausing => {
                if let Some(reason) = self.try_again(seat_index) {
                    self.go_on(seat_index, reason);
                }
            }
            WaitsFor::BackingOff(token) => self.connect(token),
            WaitsFor::SocketQueueFull(token) => self.open_socket(token),
            WaitsFor::Asking if self.edges.phase == WorkerPhase::Setup => {
                let statement = seat.statement();
                let token = self.links.waiting_one(&seat.tokens).unwrap_or(0);
                self.fail_at(token, |address| failure::of_silence(address, statement));
            }
            WaitsFor::Connecting(token) => {
                self.not_connected(token, &io::ErrorKind::TimedOut.into())
            }
            WaitsFor::Unborn | WaitsFor::Asking | WaitsFor::Parked | WaitsFor::Stopped => {}
        }
    }

    /// There are no more events for a slot. The session ends with the last one.
    #[cold]
    pub(super) fn finish(&mut self, seat_index: usize) -> Option<Reason> {
        let seat = self.seats.get(seat_index)?;
        if !seat.is_busy() && seat.is_last_slot() {
            return Some(Reason::Finish);
        }
        self.stop(seat_index);
        None
    }

    /// Ends a slot: gives up its event, if it is in one. With the last one of a seat its
    /// connections are closed.
    pub(super) fn stop(&mut self, seat_index: usize) {
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        if seat.slot.waits_for == WaitsFor::Stopped {
            return;
        }
        let born_in_setup = self.edges.phase == WorkerPhase::Setup;
        let is_last = seat.is_last_slot();
        seat.slot.waits_for = WaitsFor::Stopped;
        self.stats.drop_event(seat);
        if is_last {
            self.hang_up_all(seat_index);
        }
        if is_last && born_in_setup {
            self.count_ready(seat_index);
        }
        if self.edges.phase == WorkerPhase::Closed {
            self.look_whether_drained();
        }
        self.count_done(seat_index);
        if is_last {
            self.count_stopped();
        }
    }

    pub(super) fn hang_up_all(&mut self, seat_index: usize) {
        let links = self
            .seats
            .get(seat_index)
            .map_or(0, |seat| seat.tokens.len());
        for place in 0..links {
            let token = self
                .seats
                .get(seat_index)
                .and_then(|seat| seat.tokens.get(place));
            if let Some(token) = token.copied() {
                self.hang_up(token);
            }
        }
    }

    /// After the release: ends a slot, unless it waits for an answer or its event may still end.
    pub(super) fn finish_if_free(&mut self, seat_index: usize) {
        let Some(seat) = self.seats.get(seat_index) else {
            return;
        };
        match seat.slot.waits_for {
            WaitsFor::Parked => {
                if let Some(reason) = self.finish(seat_index) {
                    self.go_on(seat_index, reason);
                }
            }
            WaitsFor::Sleeping if seat.judges => self.go_on(seat_index, Reason::Finish),
            // These have begun an event, which may still end well.
            WaitsFor::Pausing => {}
            WaitsFor::Sleeping if seat.slot.event.is_some() => {}
            // These go on when their attempt to connect has succeeded or failed.
            WaitsFor::Connecting(_) | WaitsFor::SocketQueueFull(_) if seat.judges => {}
            WaitsFor::Sleeping
            | WaitsFor::Thinking
            | WaitsFor::BackingOff(_)
            | WaitsFor::SocketQueueFull(_)
            | WaitsFor::Connecting(_)
            | WaitsFor::Unborn => self.stop(seat_index),
            WaitsFor::Asking | WaitsFor::Stopped => {}
        }
    }
}
