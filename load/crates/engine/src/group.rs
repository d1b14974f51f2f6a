//! A group of seats that share their links, so that several requests are under way on each.
//!
//! The first seat that finds a link closed opens it and sets it up. The others wait, and then get
//! the answers it got, as if they had sent those requests themselves.

use super::job::At;
use super::seat::{Seat, WaitsFor};
use super::steps::Reason;
use super::worker::Worker;
use crate::workload::{Answer, Call, Step};
use contend_client::dialect::Dialect;
use contend_client::request::LinkNumber;
use contend_reactor::engine::Engine;
use std::ops::Range;

impl<E: Engine, D: Dialect> Worker<E, D> {
    /// Like `connect_next`, for a seat that shares its links.
    pub(super) fn connect_shared(&mut self, seat_index: usize, at: At) -> Option<Reason> {
        let seat = self.seats.get(seat_index)?;
        let leads_there = |token: &&usize| self.links.at(**token).is_some_and(|one| one.at == at);
        let token = match seat.tokens.iter().find(leads_there) {
            Some(&token) => token,
            None => self.add_shared(seat_index, at)?,
        };
        let one = self.links.at_mut(token)?;
        let shared = one.shared.as_mut()?;
        if shared.opener.is_some_and(|opener| opener != seat_index) {
            self.seats.get_mut(seat_index)?.waits_for = WaitsFor::SharedLink(token);
            return None;
        }
        if shared.is_set_up {
            return self.join(seat_index, token);
        }
        shared.opener = Some(seat_index);
        one.seat = seat_index;
        self.connect_link(seat_index, token)
    }

    /// Adds a link of all seats of a group.
    fn add_shared(&mut self, seat_index: usize, at: At) -> Option<usize> {
        let seat = self.seats.get(seat_index)?;
        let number = LinkNumber::try_from(seat.tokens.len()).ok()?;
        let group = seat.group.clone();
        let token = self.links.add_shared(seat_index, number, at);
        let seats = self.seats.get_mut(group)?;
        seats.iter_mut().for_each(|seat| seat.tokens.push(token));
        Some(token)
    }

    /// A session continues. If it has set up a link, the seats that wait for it may use it.
    #[inline]
    pub(super) fn end_link_setup(&mut self, seat_index: usize) {
        if self.seats.get(seat_index).is_some_and(Seat::shares) {
            self.hand_round(seat_index);
        }
    }

    #[cold]
    fn hand_round(&mut self, seat_index: usize) {
        for token in self.tokens_of(seat_index) {
            let Some(one) = self.links.at_mut(token).filter(|one| one.link.is_open()) else {
                continue;
            };
            let Some(shared) = &mut one.shared else {
                continue;
            };
            if shared.opener == Some(seat_index) {
                (shared.opener, shared.is_set_up) = (None, true);
                self.reactor.engine.pipeline(token);
                for waiting in self.waiting_for(seat_index, token) {
                    if let Some(reason) = self.join(waiting, token) {
                        self.go_on(waiting, reason);
                    }
                }
            }
        }
    }

    /// Reports to a session that its link is ready, with the answers to its setup by another seat.
    fn join(&mut self, seat_index: usize, token: usize) -> Option<Reason> {
        let seat = self.seats.get_mut(seat_index)?;
        let one = self.links.all.get(token)?;
        let (link, capabilities) = (one.number, one.link.capabilities()?);
        let out = &mut self.links.out;
        out.clear();
        let mut step = seat
            .session
            .next(Call::Connected { link, capabilities }, out);
        for &prepared in one.shared.iter().flat_map(|shared| &shared.setup) {
            if !matches!(step, Step::Send(_)) {
                break;
            }
            let answer = Answer {
                prepared,
                ..Answer::default()
            };
            out.clear();
            step = seat.session.next(Call::Answer(&answer), out);
        }
        self.carry_out(seat_index, step)
    }

    /// Before an event of a seat that shares its links: the session's first step. Nothing: it waits
    /// until the others have ended their events, so that the links can be opened again.
    pub(super) fn look_at_links(&mut self, seat_index: usize) -> Option<Option<Reason>> {
        let seat = self.seats.get_mut(seat_index)?;
        if let Some(number) = seat.missed.pop() {
            return Some(Some(Reason::Lost(number)));
        }
        let every = self.setup.reconnect_every?;
        let group = seat.group.clone();
        let seats = self.seats.get(group)?;
        if seats.iter().map(|seat| seat.events_on_link).sum::<u64>() < every {
            return None;
        }
        let is_free = |seat: &Seat| match seat.waits_for {
            WaitsFor::Parked | WaitsFor::Thinking | WaitsFor::Stopped => seat.event.is_none(),
            _ => false,
        };
        match seats.iter().all(is_free) {
            true => Some(self.reconnect_group(seat_index)),
            false => Some(None),
        }
    }

    /// Closes the links of a group between events, to open them again.
    pub(super) fn reconnect_group(&mut self, seat_index: usize) -> Option<Reason> {
        self.hang_up_all(seat_index);
        let seat = self.seats.get(seat_index)?;
        let (group, links) = (seat.group.clone(), seat.tokens.len() as LinkNumber);
        for place in group.clone() {
            let seat = self.seats.get_mut(place)?;
            seat.events_on_link = 0;
            seat.missed = (1..links).collect();
        }
        for other in group.filter(|place| *place != seat_index) {
            let seat = self.seats.get_mut(other)?;
            if seat.waits_for != WaitsFor::Stopped {
                seat.waits_for = WaitsFor::Asking;
                self.go_on(other, Reason::Lost(0));
            }
        }
        Some(Reason::Lost(0))
    }

    /// Reports to the sessions of a shared link that it was lost. A session that is busy with
    /// another link learns of it before its next event.
    pub(super) fn tell_lost(&mut self, token: usize, under_way: &[usize]) {
        let Some(one) = self.links.at_mut(token) else {
            return;
        };
        if let Some(shared) = &mut one.shared {
            shared.opener = None;
        }
        let (number, seat) = (one.number, one.seat);
        for place in self.group_of(seat) {
            let Some(seat) = self.seats.get_mut(place) else {
                return;
            };
            let is_told = match seat.waits_for {
                WaitsFor::Stopped => continue,
                WaitsFor::SharedLink(awaited) if awaited == token => continue,
                WaitsFor::Parked | WaitsFor::Thinking | WaitsFor::Pausing => true,
                _ => under_way.contains(&place),
            };
            if is_told {
                seat.waits_for = WaitsFor::Asking;
                self.go_on(place, Reason::Lost(number));
            } else {
                seat.missed.push(number);
            }
        }
    }

    /// A session has ended. Its links are closed with the last one of its group; a link it was
    /// about to open is left to a different seat.
    pub(super) fn leave_links(&mut self, seat_index: usize) {
        let group = self.group_of(seat_index);
        let has_ended = |seat: &Seat| seat.waits_for == WaitsFor::Stopped;
        if self.seats.get(group).into_iter().flatten().all(has_ended) {
            return self.hang_up_all(seat_index);
        }
        for token in self.tokens_of(seat_index) {
            let Some(shared) = self.links.shared_mut(token) else {
                continue;
            };
            if shared.opener != Some(seat_index) {
                continue;
            }
            shared.opener = None;
            self.hang_up(token);
            let number = self.links.at(token).map_or(0, |one| one.number);
            for waiting in self.waiting_for(seat_index, token) {
                if let Some(seat) = self.seats.get_mut(waiting) {
                    seat.waits_for = WaitsFor::Asking;
                    self.go_on(waiting, Reason::Lost(number));
                }
            }
        }
    }

    fn group_of(&self, seat_index: usize) -> Range<usize> {
        let seat = self.seats.get(seat_index);
        seat.map_or(0..0, |seat| seat.group.clone())
    }

    fn tokens_of(&self, seat_index: usize) -> Vec<usize> {
        let seat = self.seats.get(seat_index);
        seat.map_or(Vec::new(), |seat| seat.tokens.clone())
    }

    /// The seats of a group that wait until one of them has opened the link.
    fn waiting_for(&self, seat_index: usize, token: usize) -> Vec<usize> {
        let waits = |place: &usize| {
            let seat = self.seats.get(*place);
            seat.is_some_and(|seat| seat.waits_for == WaitsFor::SharedLink(token))
        };
        self.group_of(seat_index).filter(waits).collect()
    }
}
