//! How a worker handles the bytes it receives: count them, judge them, pass them on.

use super::edges::WorkerPhase;
use super::seat::{Seat, WaitsFor};
use super::steps::Reason;
use super::worker::Worker;
use crate::workload::Verdict;
use contend_client::dialect::{Dialect, Heard};
use contend_client::failure;
use contend_client::failure::{LOST, MALFORMED, client_error};
use contend_client::request::{Class, Request};
use contend_figures::Query;
use contend_figures::outcome::Failure;
use contend_reactor::engine::Engine;
use contend_wire::WireError;
use std::io;
use std::time::Duration;

/// Places of the classes of a workload that counts by answer.
const READ: usize = 0;
const WRITE: usize = 1;
const OTHER: usize = 2;

impl<E: Engine, D: Dialect> Worker<E, D> {
    /// Takes the bytes received on a link with a queue: there may be several answers in it.
    #[inline(never)]
    pub(super) fn take_answers(&mut self, token: usize, heard: Result<Heard, WireError>) {
        let mut heard = heard;
        loop {
            let is_answer = matches!(heard, Ok(Heard::Answered(_)));
            if is_answer {
                self.reactor.engine.answered(token);
                self.links.begin_answer(token);
            } else if matches!(heard, Ok(Heard::LocalFile)) {
                heard = Err(WireError::theirs("it requests a file that was not offered"));
            }
            self.take_heard(token, heard);
            if !is_answer || !self.links.end_answer(token) {
                return;
            }
            self.links.turn(&mut self.seats, token);
            heard = self.links.hear_left(token);
        }
    }

    #[inline(always)]
    pub(super) fn take_heard(&mut self, token: usize, heard: Result<Heard, WireError>) {
        match heard {
            Ok(Heard::Answered(request)) => self.answered(token, request),
            Ok(Heard::More) => {
                if !self.links.out.is_empty() {
                    self.reactor.engine.send_more(token, &self.links.out);
                }
            }
            Ok(Heard::Opened) => {
                if !self.links.out.is_empty() {
                    self.reactor.engine.send(token, &self.links.out);
                }
                self.opened(token);
            }
            Ok(Heard::LocalFile) => self.send_file(token),
            Err(error) => self.broken(token, &error),
        }
    }

    /// Files are only offered if the plan or the workload says so. The server then gets the content
    /// that the session has for it: a name it sends opens no file of ours.
    fn send_file(&mut self, token: usize) {
        let seat_index = self.links.at(token).map(|connection| connection.seat);
        let Some(seat) = seat_index.and_then(|seat| self.seats.get_mut(seat)) else {
            return;
        };
        let engine = &mut self.reactor.engine;
        if let Err(error) = self.links.send_file(engine, token, &mut *seat.session) {
            self.broken(token, &error);
        }
    }

    #[inline(always)]
    fn answered(&mut self, token: usize, request: Request) {
        self.tick();
        if self.turns.times_lag {
            self.note_begin(token);
        }
        let Some(connection) = self.links.at(token) else {
            return;
        };
        let (seat_index, node) = (connection.seat, connection.number);
        if connection.link.summary().failed {
            return self.refused(token, request);
        }
        self.count(token, request);
        let Some(ending) = request.ends else {
            return self.go_on(seat_index, Reason::Answer(token, Verdict::Ignore));
        };
        if let Some(seat) = self.seats.get_mut(seat_index) {
            self.stats.count_event_of_node(seat, node);
            let timeline = &self.edges.timeline;
            self.stats
                .end_event(seat, ending, self.reactor.now_ns(), timeline);
        }
        self.end_event(seat_index);
    }

    /// The event of a request that was sent began with it, if it was the first.
    #[inline]
    fn note_begin(&mut self, token: usize) {
        if let Some(connection) = self.links.at(token)
            && let Some(seat) = self.seats.get_mut(connection.seat)
            && !seat.slot.is_begun
            && let Some(sent_ns) = self.reactor.engine.sent_ns(token)
        {
            seat.slot.begun_ns = sent_ns;
            seat.slot.is_begun = true;
        }
    }

    /// Counts a query that was answered, well or not.
    #[inline(always)]
    fn count(&mut self, token: usize, request: Request) {
        let Some(connection) = self.links.at(token) else {
            return;
        };
        let summary = connection.link.summary();
        let class = match request.class {
            Class::Of(class) => usize::from(class),
            Class::ByAnswer if summary.columns > 0 => READ,
            Class::ByAnswer if summary.affected_rows > 0 => WRITE,
            Class::ByAnswer => OTHER,
            Class::Uncounted => return,
        };
        let Some(seat) = self.seats.get_mut(connection.seat) else {
            return;
        };
        let query = Query {
            rows: summary.rows,
            failed: summary.failed,
            bytes_sent: connection.sent_bytes,
            bytes_received: connection.received_bytes,
        };
        let (engine, now_ns) = (&self.reactor.engine, self.reactor.now_ns());
        let time_ns = || now_ns.saturating_sub(engine.sent_ns(token).unwrap_or(now_ns));
        let node = connection.at.node;
        self.stats.add_query(seat, class, node, &query, time_ns);
        let asked_ns = connection.asked_ns;
        if self.edges.timeline.may_cut(asked_ns, now_ns) {
            self.count_cut(asked_ns);
        }
    }

    /// A query was answered that may have been under way at an edge of the window.
    #[cold]
    fn count_cut(&mut self, asked_ns: u64) {
        if self.edges.phase >= WorkerPhase::Measure {
            let cut = self.edges.timeline.cut(asked_ns, self.reactor.now_ns());
            self.stats.add_cut(cut);
        }
    }

    /// The server answered with an error.
    #[cold]
    fn refused(&mut self, token: usize, request: Request) {
        self.count(token, request);
        self.recall(token);
        let Some(connection) = self.links.at(token) else {
            return;
        };
        let (Some(error), Some(seat)) = (connection.link.error(), self.seats.get(connection.seat))
        else {
            return;
        };
        let seat_index = connection.seat;
        let verdict = if seat.judges {
            Some(Verdict::Ignore)
        } else if self.edges.phase == WorkerPhase::Setup || request.class == Class::Uncounted {
            // After a failed prepare or rollback there is nothing to measure.
            None
        } else {
            self.setup.errors.verdict(error.code)
        };
        let Some(verdict) = verdict else {
            let failure = failure::of_statement(error, seat.statement());
            return self.fail(self.setup.named(connection.at, failure));
        };
        if self.is_inside(seat) {
            let (code, sqlstate) = (error.code, error.sqlstate());
            let node = connection.at.node;
            self.stats
                .add_error(seat, node, code, sqlstate, &error.message);
        }
        let next = match seat.is_busy() {
            true => self.retry(seat_index, Duration::ZERO),
            false => Some(Reason::Answer(token, verdict)),
        };
        if let Some(reason) = next {
            self.go_on(seat_index, reason);
        }
    }

    /// Lets the session of a seat with depth make the request of the slot again, which is not sent:
    /// it has made those of other slots since.
    #[cold]
    fn recall(&mut self, token: usize) {
        if let Some(connection) = self.links.at(token)
            && let Some(seat) = self.seats.get_mut(connection.seat)
            && seat.is_deep()
            && seat.sets_up.is_none()
            && let Some(cycle) = seat.slot.event
        {
            self.links.out.clear();
            let call = seat.slot.begin(cycle);
            seat.session.next(call, &mut self.links.out);
        }
    }

    /// A connection is open and logged in.
    fn opened(&mut self, token: usize) {
        self.tick();
        let Some(connection) = self.links.at_mut(token) else {
            return;
        };
        let seat_index = connection.seat;
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        connection.forget_back_off();
        seat.slot.next_alarm();
        seat.events_on_link = 0;
        let lost_ns = connection.lost_ns.take();
        if self.edges.phase <= WorkerPhase::Measure {
            let now_ns = self.reactor.now_ns();
            let took_ns = now_ns.saturating_sub(connection.attempt_ns);
            let outage_ns = lost_ns.map(|lost_ns| now_ns.saturating_sub(lost_ns));
            self.stats
                .add_connect(connection.at.node, took_ns, outage_ns);
        }
        self.go_on(seat_index, Reason::Connected(token));
    }

    /// The other side closed, or the socket failed.
    #[cold]
    pub(super) fn closed(&mut self, token: usize, error: Option<io::Error>) {
        let Some(connection) = self.links.at(token) else {
            return;
        };
        if connection.link.is_open() {
            let why = error.map_or("the server closed the connection".to_owned(), |e| {
                e.to_string()
            });
            return self.lost(token, LOST, "HY000", &why);
        }
        let error = error.unwrap_or_else(|| io::ErrorKind::ConnectionReset.into());
        self.not_connected(token, &error);
    }

    /// The conversation cannot go on.
    #[cold]
    fn broken(&mut self, token: usize, error: &WireError) {
        self.tick();
        let Some(connection) = self.links.at(token) else {
            return;
        };
        if self.judges(connection.seat) {
            let error = match error {
                WireError::Refused(refusal) => refusal.clone(),
                other => client_error(MALFORMED, other.to_string()),
            };
            return self.tell_trouble(token, error);
        }
        if self.edges.phase == WorkerPhase::Setup || !matches!(error, WireError::Refused(_)) {
            // Before the load begins every connection must be open. If the server breaks the
            // protocol, or a setting cannot work, trying again does not help.
            return self.fail_at(token, |address| failure::of_wire(address, error));
        }
        let WireError::Refused(refusal) = error else {
            return;
        };
        if connection.link.is_open() {
            return self.lost(token, refusal.code, refusal.sqlstate(), &refusal.message);
        }
        self.count_error(token, refusal.code, refusal.sqlstate(), &refusal.message);
        self.connect_later(token);
    }

    /// An open connection is gone.
    #[cold]
    fn lost(&mut self, token: usize, code: u16, sqlstate: &str, why: &str) {
        self.tick();
        let Some(connection) = self.links.at(token) else {
            return;
        };
        let (seat_index, number, at) = (connection.seat, connection.number, connection.at);
        let under_way = self.links.under_way(token);
        for &slot in &under_way {
            self.turn(seat_index, slot);
            self.reactor.engine.answered(token);
            self.note_begin(token);
        }
        if self.judges(seat_index) {
            return self.tell_trouble(token, client_error(code, why));
        }
        // An arm without all its connections would be measured under a different load.
        if self.edges.phase == WorkerPhase::Setup
            || (self.edges.phase < WorkerPhase::Closed && !self.setup.errors.reconnect)
            || (self.edges.phase < WorkerPhase::Released && self.setup.has_arms())
        {
            let mut failure = Failure::plain(format!(
                "a connection to {} was lost: {why}",
                self.address_of(token)
            ));
            failure.code = Some(code);
            failure.sqlstate = Some(sqlstate.to_owned());
            self.turn(seat_index, under_way.first().copied().unwrap_or(0));
            self.recall(token);
            failure.statement = self.seats.get(seat_index).map(Seat::statement);
            failure.hint = failure::hint(code)
                .or(failure::hint(LOST))
                .map(str::to_owned);
            return self.fail(self.setup.named(at, failure));
        }
        if under_way.is_empty() {
            self.count_error(token, code, sqlstate, why);
        }
        for &slot in &under_way {
            self.turn(seat_index, slot);
            self.recall(token);
            self.count_error(token, code, sqlstate, why);
        }
        self.hang_up(token);
        if let Some(connection) = self.links.at_mut(token) {
            connection.lost_ns.get_or_insert(self.reactor.now_ns());
        }
        let is_closed = self.edges.phase >= WorkerPhase::Closed;
        for &slot in &under_way {
            self.turn(seat_index, slot);
            if is_closed {
                self.stop(seat_index);
            } else if let Some(seat) = self.seats.get_mut(seat_index) {
                seat.slot.waits_for = WaitsFor::Parked;
            }
        }
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        // The session is busy with a different link: it learns of this one when it uses it.
        let is_busy = match seat.sets_up {
            Some(slot) => !under_way.contains(&slot),
            None => under_way.is_empty() && seat.tokens.len() > 1,
        };
        if is_closed || is_busy {
            return;
        }
        seat.turn_to_live();
        seat.slot.waits_for = WaitsFor::Asking;
        self.go_on(seat_index, Reason::Lost(number));
    }

    /// Gives up connections whose requests have waited too long.
    #[cold]
    pub(super) fn give_up_waiting(&mut self, timeout_ns: u64) {
        if self.edges.phase == WorkerPhase::Setup {
            return;
        }
        let why = format!("no answer within {} s", timeout_ns as f64 / 1e9);
        for token in self.links.late(self.reactor.now_ns(), timeout_ns) {
            self.lost(token, LOST, "HY000", &why);
        }
    }

    /// Counts an error that is not the answer to a statement.
    #[cold]
    pub(super) fn count_error(&mut self, token: usize, code: u16, sqlstate: &str, message: &str) {
        if let Some(connection) = self.links.at(token)
            && let Some(seat) = self.seats.get(connection.seat)
            && self.is_inside(seat)
        {
            let node = connection.at.node;
            self.stats.add_error(seat, node, code, sqlstate, message);
        }
    }

    /// Whether the session of a seat judges errors itself.
    pub(super) fn judges(&self, seat_index: usize) -> bool {
        self.seats.get(seat_index).is_some_and(|seat| seat.judges)
    }

    /// Whether events of a seat belong to the window: its event does, or it has none.
    fn is_inside(&self, seat: &Seat) -> bool {
        match seat.slot.event {
            Some(_) => seat.slot.counts,
            None => self.edges.phase == WorkerPhase::Measure,
        }
    }
}
