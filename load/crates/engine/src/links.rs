//! The links (connections) of a worker: the seat that each belongs to, the server that it leads to,
//! and the bytes sent and received on it.

use super::job::At;
use super::seat::Seat;
use crate::workload::Session;
use contend_client::dialect::{Dialect, Heard, SessionFacts};
use contend_client::request::{LinkNumber, Reply, Request};
use contend_reactor::engine::Engine;
use contend_wire::WireError;
use std::collections::VecDeque;

/// A link, and whose it is.
pub struct SeatLink<D> {
    pub link: D,
    pub seat: usize,
    /// The slot that opens it, or whose request is answered next.
    pub slot: usize,
    pub number: LinkNumber,
    /// Where it leads.
    pub at: At,
    /// The last request: when the session made it, its bytes, and the bytes of its answer so far.
    /// The engine knows when it was sent.
    pub asked_ns: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Requests that get no answer; they are sent together with the next one that gets one.
    held_back: Vec<u8>,
    /// Pause before the next attempt to connect.
    backoff_ns: u64,
    /// When the link was lost; none unless it is lost.
    pub lost_ns: Option<u64>,
    /// When the present attempt to connect began.
    pub attempt_ns: u64,
    /// If the seat has depth: the requests behind the one whose answer is waited for.
    behind: Option<VecDeque<UnderWay>>,
}

/// A request that was sent behind others.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    slot: usize,
    request: Request,
    sequence: u8,
    asked_ns: u64,
    sent_bytes: u64,
}

/// The shortest and the longest pause between attempts to connect. Each pause is twice as long as
/// the one before.
const BACKOFF_NS_MIN: u64 = 10_000_000;
const BACKOFF_NS_MAX: u64 = 1_000_000_000;

impl<D: Dialect> SeatLink<D> {
    /// A connection that is not open yet.
    pub fn new(seat: usize, number: LinkNumber, at: At) -> Self {
        Self {
            link: D::default(),
            seat,
            slot: 0,
            number,
            at,
            asked_ns: 0,
            sent_bytes: 0,
            received_bytes: 0,
            held_back: Vec::new(),
            backoff_ns: BACKOFF_NS_MIN,
            lost_ns: None,
            attempt_ns: 0,
            behind: None,
        }
    }

    /// The pause before the next attempt; the one after will be twice as long.
    pub fn back_off_ns(&mut self) -> u64 {
        let pause = self.backoff_ns;
        self.backoff_ns = (pause * 2).min(BACKOFF_NS_MAX);
        pause
    }

    /// An attempt succeeded: the next pause is a short one again.
    pub fn forget_back_off(&mut self) {
        self.backoff_ns = BACKOFF_NS_MIN;
    }
}

/// All links of one worker. The place of a link is its token, by which the engine knows its socket.
pub struct Links<D> {
    pub all: Vec<SeatLink<D>>,
    /// Bytes to send: a request of a session, or what a link must send at once.
    pub out: Vec<u8>,
    spare: Vec<u8>,
    /// A local file that a server asked for.
    file: Vec<u8>,
    /// Some link may have several requests under way.
    pub queues: bool,
}

/// What became of a request.
pub enum Sent {
    /// Its answer will come.
    Asked,
    /// It gets no answer, and is sent together with the next one that gets one.
    HeldBack,
    /// The link is not open.
    Closed,
    Failed(WireError),
}

impl<D: Dialect> Links<D> {
    pub fn new() -> Self {
        Self {
            all: Vec::new(),
            out: Vec::with_capacity(4096),
            spare: Vec::new(),
            file: Vec::new(),
            queues: false,
        }
    }

    #[inline]
    pub fn at(&self, token: usize) -> Option<&SeatLink<D>> {
        self.all.get(token)
    }

    #[inline]
    pub fn at_mut(&mut self, token: usize) -> Option<&mut SeatLink<D>> {
        self.all.get_mut(token)
    }

    /// Adds a link; returns its token.
    pub fn add(&mut self, seat: usize, number: LinkNumber, at: At) -> usize {
        self.all.push(SeatLink::new(seat, number, at));
        self.all.len() - 1
    }

    /// Several requests may be under way on a link.
    pub fn queue(&mut self, token: usize) {
        if let Some(one) = self.all.get_mut(token) {
            self.queues = true;
            one.behind = Some(VecDeque::new());
        }
    }

    #[inline]
    pub fn has_queue(&self, token: usize) -> bool {
        self.at(token).is_some_and(|one| one.behind.is_some())
    }

    /// The seat of a link acts for the slot whose request is answered next, or that opens the link.
    pub fn turn(&self, seats: &mut [Seat], token: usize) {
        if let Some(one) = self.at(token)
            && let Some(seat) = seats.get_mut(one.seat)
        {
            seat.turn_to(one.slot);
        }
    }

    /// A closed one of these links: preferably one that led to this server before.
    pub fn closed_one(&self, tokens: &[usize], at: At) -> Option<usize> {
        let is_closed = |token: &usize| self.at(*token).is_none_or(|one| one.link.is_closed());
        let was_there = |token: &usize| self.at(*token).is_some_and(|one| one.at == at);
        let mut closed = tokens.iter().copied().filter(is_closed);
        closed.clone().find(was_there).or_else(|| closed.next())
    }

    /// The first of these links that waits for an answer.
    pub fn waiting_one(&self, tokens: &[usize]) -> Option<usize> {
        let waits = |token: &usize| self.at(*token).is_some_and(|one| one.link.is_waiting());
        tokens.iter().copied().find(waits)
    }

    /// What these links agreed with their servers.
    pub fn facts(&self, tokens: &[usize]) -> Vec<SessionFacts> {
        let links = tokens.iter().filter_map(|token| self.at(*token));
        links.filter_map(|one| one.link.facts()).collect()
    }

    /// Sends `out` as a request that a session made for a slot at `now_ns`.
    #[inline(always)]
    pub fn send<E: Engine>(
        &mut self,
        engine: &mut E,
        (token, slot): (usize, usize),
        request: Request,
        now_ns: u64,
    ) -> Sent {
        let Some(one) = self.all.get_mut(token) else {
            return Sent::Closed;
        };
        if !one.link.is_open() {
            return Sent::Closed;
        }
        if one.behind.is_some() {
            return self.send_behind(engine, (token, slot), request, now_ns);
        }
        one.asked_ns = now_ns;
        let has_answer = request.reply != Reply::Nothing;
        if has_answer {
            one.link.expect(request, D::sequence_after(&self.out));
        }
        let bytes = match one.link.seal(&self.out, &mut self.spare) {
            Ok(bytes) => bytes,
            Err(error) => return Sent::Failed(error),
        };
        one.sent_bytes = bytes.len() as u64;
        one.received_bytes = 0;
        if !has_answer || !one.held_back.is_empty() {
            one.held_back.extend_from_slice(bytes);
        }
        // An engine holds one request of such a link until its answer comes. A request that gets no
        // answer is therefore kept, and sent together with the next one that gets one.
        if !has_answer {
            return Sent::HeldBack;
        }
        if one.held_back.is_empty() {
            engine.send(token, bytes);
        } else {
            engine.send(token, &one.held_back);
            one.held_back.clear();
        }
        Sent::Asked
    }

    /// Like [`Self::send`], behind the requests that are under way. Each such request gets an
    /// answer.
    fn send_behind<E: Engine>(
        &mut self,
        engine: &mut E,
        (token, slot): (usize, usize),
        request: Request,
        asked_ns: u64,
    ) -> Sent {
        let Some(SeatLink {
            link,
            behind: Some(behind),
            ..
        }) = self.all.get_mut(token)
        else {
            return Sent::Closed;
        };
        let sequence = D::sequence_after(&self.out);
        let bytes = match link.seal(&self.out, &mut self.spare) {
            Ok(bytes) => bytes,
            Err(error) => return Sent::Failed(error),
        };
        behind.push_back(UnderWay {
            slot,
            request,
            sequence,
            asked_ns,
            sent_bytes: bytes.len() as u64,
        });
        engine.send(token, bytes);
        match link.is_waiting() {
            true => link.expect_more(true),
            false => self.expect_next(token),
        }
        Sent::Asked
    }

    /// An answer on a link with a queue is about to be looked at: what came after it is not its.
    pub fn begin_answer(&mut self, token: usize) {
        if let Some(one) = self.all.get_mut(token) {
            let left = one.link.left_bytes() as u64;
            one.received_bytes = one.received_bytes.saturating_sub(left);
        }
    }

    /// The answer was looked at: waits for the answer to the next request that is under way. True
    /// if bytes of it are there.
    pub fn end_answer(&mut self, token: usize) -> bool {
        let waits = |one: &SeatLink<D>| one.link.is_waiting();
        if !self.at(token).is_some_and(waits) {
            self.expect_next(token);
        }
        self.at(token).is_some_and(|one| one.link.has_left())
    }

    /// Waits for the answer to the request that is behind the last one that was answered.
    fn expect_next(&mut self, token: usize) {
        if let Some(one) = self.all.get_mut(token)
            && let Some(behind) = &mut one.behind
            && let Some(next) = behind.pop_front()
        {
            (one.slot, one.asked_ns) = (next.slot, next.asked_ns);
            one.sent_bytes = next.sent_bytes;
            one.received_bytes = one.link.left_bytes() as u64;
            one.link.expect(next.request, next.sequence);
            one.link.expect_more(!behind.is_empty());
        }
    }

    /// The slots whose requests are under way, in order.
    pub fn under_way(&self, token: usize) -> Vec<usize> {
        let Some(one) = self.at(token) else {
            return Vec::new();
        };
        let first = one.link.is_waiting().then_some(one.slot);
        let behind = one.behind.iter().flatten().map(|asked| asked.slot);
        first.into_iter().chain(behind).collect()
    }

    /// Takes bytes that came after the last answer.
    pub fn hear_left(&mut self, token: usize) -> Result<Heard, WireError> {
        self.out.clear();
        match self.all.get_mut(token) {
            Some(one) => one.link.hear_left(&mut self.spare),
            None => Ok(Heard::More),
        }
    }

    /// Takes bytes of a socket. What must be sent at once is in `out`.
    #[inline]
    pub fn hear(&mut self, token: usize, bytes: &[u8]) -> Result<Heard, WireError> {
        let Some(one) = self.all.get_mut(token) else {
            return Ok(Heard::More);
        };
        one.received_bytes += bytes.len() as u64;
        self.out.clear();
        one.link.hear(bytes, &mut self.out, &mut self.spare)
    }

    /// The socket is connected. In some protocols the client sends first; its bytes are then in
    /// `out`.
    pub fn greet(&mut self, token: usize) -> Result<Heard, WireError> {
        self.out.clear();
        match self.all.get_mut(token) {
            Some(one) => one.link.greet(&mut self.out),
            None => Ok(Heard::More),
        }
    }

    /// Sends the local file that a server asks for. Its content comes from the session.
    pub fn send_file<E: Engine>(
        &mut self,
        engine: &mut E,
        token: usize,
        session: &mut dyn Session,
    ) -> Result<(), WireError> {
        let Some(one) = self.all.get_mut(token) else {
            return Ok(());
        };
        self.file.clear();
        session.put_local_file(&mut self.file);
        let (out, spare) = (&mut self.out, &mut self.spare);
        if !self.file.is_empty() {
            one.link.put_file_part(&self.file, out, spare)?;
        }
        one.link.put_file_part(&[], out, spare)?;
        one.sent_bytes += out.len() as u64;
        engine.send_more(token, out);
        Ok(())
    }

    /// Closes a link. If it is open and no answer is due, sends the server COM_QUIT first.
    pub fn hang_up<E: Engine>(&mut self, engine: &mut E, token: usize) {
        let Some(one) = self.all.get_mut(token) else {
            return;
        };
        if one.link.is_closed() {
            return;
        }
        self.out.clear();
        one.link.put_goodbye(&mut self.out);
        if !self.out.is_empty()
            && let Ok(bytes) = one.link.seal(&self.out, &mut self.spare)
        {
            one.held_back.extend_from_slice(bytes);
            engine.send(token, &one.held_back);
        }
        one.held_back.clear();
        self.drop(engine, token);
    }

    /// Closes a link without sending anything.
    pub fn drop<E: Engine>(&mut self, engine: &mut E, token: usize) {
        if let Some(one) = self.all.get_mut(token) {
            one.link.close();
            if let Some(behind) = &mut one.behind {
                behind.clear();
            }
            engine.detach(token);
        }
    }

    /// The tokens of the links whose requests have waited for longer than `timeout_ns`.
    pub fn late(&self, now_ns: u64, timeout_ns: u64) -> Vec<usize> {
        let is_late = |one: &SeatLink<D>| {
            one.link.is_waiting() && now_ns.saturating_sub(one.asked_ns) > timeout_ns
        };
        let late = self.all.iter().enumerate().filter(|(_, one)| is_late(one));
        late.map(|(token, _)| token).collect()
    }

    /// How many requests have no answer, and how long the first of them has waited.
    pub fn unanswered(&self, now_ns: u64) -> (u32, u64) {
        let waits = self.all.iter().filter(|one| one.link.is_waiting());
        waits.fold((0, 0), |(count, longest), one| {
            let behind = one.behind.as_ref().map_or(0, VecDeque::len);
            let wait = now_ns.saturating_sub(one.asked_ns);
            (count + 1 + behind as u32, longest.max(wait))
        })
    }
}
