//! How a worker connects its sessions, waits where the server has no place, and hangs up.

use super::edges::WorkerPhase;
use super::job::At;
use super::seat::WaitsFor;
use super::steps::Reason;
use super::worker::Worker;
use crate::workload;
use contend_client::dialect::{Dialect, Heard};
use contend_client::failure;
use contend_client::failure::CANNOT_CONNECT;
use contend_figures::outcome::Failure;
use contend_reactor::clock::nanoseconds;
use contend_reactor::engine::Engine;
use contend_reactor::socket::Address;
use contend_wire::ServerError;
use std::io;

/// A Unix socket whose queue is full gives no signal when it has room: try again after this time.
const QUEUE_FULL_NS: u64 = 1_000_000;

impl<E: Engine, D: Dialect> Worker<E, D> {
    /// Where a link leads.
    pub(super) fn address_of(&self, token: usize) -> &Address {
        let at = self.links.at(token).map_or(At::default(), |link| link.at);
        &self.setup.target(at).address
    }

    /// Closes the links of a seat between two events, to open them again; one that is not the
    /// first when the session uses it next.
    pub(super) fn reconnect(&mut self, seat_index: usize) -> Option<Reason> {
        self.seats.get_mut(seat_index)?.events_on_link = 0;
        self.hang_up_all(seat_index);
        Some(Reason::Lost(0))
    }

    /// Connects the first link of the session that is not open, or a new one.
    pub(super) fn connect_next(&mut self, seat_index: usize, node: u16) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        let at = At {
            arm: seat.arm,
            node,
        };
        if seat.is_deep() {
            seat.sets_up = Some(seat.slot.number);
        }
        let closed = self.links.closed_one(&seat.tokens, at);
        let number = workload::LinkNumber::try_from(seat.tokens.len());
        let token = match (closed, number) {
            (Some(token), _) => token,
            (None, Ok(number)) => {
                let token = self.links.add(seat_index, number, at);
                seat.tokens.push(token);
                if seat.is_deep() {
                    self.links.queue(token);
                }
                token
            }
            (None, Err(_)) => return self.refuse_link(seat_index),
        };
        if let Some(connection) = self.links.at_mut(token) {
            (connection.at, connection.slot) = (at, seat.slot.number);
        }
        if self.edges.phase >= WorkerPhase::Closed && !self.judges(seat_index) {
            return self.finish(seat_index);
        }
        // Not at once, if it was lost.
        if self.links.at(token)?.lost_ns.is_some() {
            self.connect_later(token);
        } else {
            self.connect(token);
        }
        None
    }

    /// A session has all the links that it can have numbers for.
    #[cold]
    fn refuse_link(&mut self, seat_index: usize) -> Option<Reason> {
        let error = failure::too_many_links();
        if self.judges(seat_index) {
            self.trouble = Some(error);
            return Some(Reason::Broken);
        }
        self.fail(Failure::plain(error.message));
        None
    }

    pub(super) fn connect(&mut self, token: usize) {
        if let Some(connection) = self.links.at_mut(token) {
            connection.attempt_ns = self.reactor.now_ns();
        }
        self.open_socket(token);
    }

    /// Opens the socket of a link. The result is an event.
    pub(super) fn open_socket(&mut self, token: usize) {
        let Some(connection) = self.links.at_mut(token) else {
            return;
        };
        let seat_index = connection.seat;
        let target = self.setup.target(connection.at);
        let connected = target.address.connect();
        let (socket, connecting) = match connected {
            Ok(opened) => opened,
            Err(error) => return self.not_connected(token, &error),
        };
        if let Err(error) = self.reactor.engine.attach(token, socket, connecting) {
            return self.fail_at(token, |address| failure::of_connect(address, &error));
        }
        // If the server speaks first, the login may wait for it from now on.
        connection.link.open(target);
        let timeout_ns = nanoseconds(target.connect_timeout);
        if let Some(seat) = self.seats.get_mut(seat_index) {
            seat.slot.waits_for = WaitsFor::Connecting(token);
        }
        self.alarm(seat_index, timeout_ns);
        if !connecting {
            self.greet(token);
        }
    }

    /// A connection is open: in some protocols the client sends first.
    pub(super) fn greet(&mut self, token: usize) {
        let heard = match self.links.greet(token) {
            Ok(Heard::More) if self.links.out.is_empty() => return,
            // No answer had come yet to which more could belong.
            Ok(Heard::More) => return self.reactor.engine.send(token, &self.links.out),
            heard => heard,
        };
        self.take_heard(token, heard);
    }

    /// A connection could not be made.
    #[cold]
    pub(super) fn not_connected(&mut self, token: usize, error: &io::Error) {
        self.tick();
        let Some(connection) = self.links.at_mut(token) else {
            return;
        };
        let seat_index = connection.seat;
        self.links.drop(&mut self.reactor.engine, token);
        if error.kind() == io::ErrorKind::WouldBlock {
            return self.wait_for_socket_queue(token);
        }
        if self.judges(seat_index) {
            let error = failure::not_connected(self.address_of(token), error);
            return self.tell_trouble(token, error);
        }
        if self.edges.phase == WorkerPhase::Setup || self.setup.has_arms() {
            return self.fail_at(token, |address| failure::of_connect(address, error));
        }
        self.count_error(token, CANNOT_CONNECT, "HY000", &error.to_string());
        self.connect_later(token);
    }

    /// Reports the result of a request or connection to a session that judges errors.
    #[cold]
    pub(super) fn tell_trouble(&mut self, token: usize, error: ServerError) {
        let Some(connection) = self.links.at(token) else {
            return;
        };
        let seat_index = connection.seat;
        let waits = connection.link.is_waiting() || !connection.link.is_open();
        self.count_error(token, error.code, error.sqlstate(), &error.message);
        self.hang_up(token);
        // A link that breaks while its session is busy elsewhere is noticed when it is used.
        if waits {
            if let Some(seat) = self.seats.get_mut(seat_index) {
                seat.slot.next_alarm();
                seat.slot.waits_for = WaitsFor::Asking;
            }
            self.trouble = Some(error);
            self.go_on(seat_index, Reason::Broken);
        }
    }

    /// The queue of the server's socket is full: waits for room, but not for ever.
    fn wait_for_socket_queue(&mut self, token: usize) {
        let Some(connection) = self.links.at(token) else {
            return;
        };
        let seat_index = connection.seat;
        let Some(seat) = self.seats.get_mut(seat_index) else {
            return;
        };
        let timeout = self.setup.target(connection.at).connect_timeout;
        if self.reactor.now_ns().saturating_sub(connection.attempt_ns) > nanoseconds(timeout) {
            return self.not_connected(token, &io::ErrorKind::TimedOut.into());
        }
        seat.slot.waits_for = WaitsFor::SocketQueueFull(token);
        self.alarm(seat_index, QUEUE_FULL_NS);
    }

    /// Tries to connect after a pause that grows with every attempt.
    pub(super) fn connect_later(&mut self, token: usize) {
        let Some(connection) = self.links.at_mut(token) else {
            return;
        };
        let (seat_index, pause_ns) = (connection.seat, connection.back_off_ns());
        self.links.drop(&mut self.reactor.engine, token);
        if self.edges.phase >= WorkerPhase::Closed {
            return self.stop(seat_index);
        }
        if let Some(seat) = self.seats.get_mut(seat_index) {
            seat.slot.waits_for = WaitsFor::BackingOff(token);
        }
        self.alarm(seat_index, pause_ns);
    }

    /// Closes a link; an idle one says goodbye first.
    pub(super) fn hang_up(&mut self, token: usize) {
        self.links.hang_up(&mut self.reactor.engine, token);
    }
}
