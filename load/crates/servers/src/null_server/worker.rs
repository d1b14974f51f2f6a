//! One thread of the null server: its clients' requests, and the answers that are delayed.

use crate::serve::{Answering, Granted, Received, ServedSession, ServicePace, TAIL_BYTES_MAX};
use contend_figures::Latency;
use contend_reactor;
use contend_reactor::Timers;
use contend_reactor::clock;
use contend_reactor::clock::now_ns;
use contend_reactor::engine::{Engine as _, Epoll, Event};
use contend_reactor::inbox::Inbox;
use contend_reactor::threads::be_punctual;
use contend_reactor::{Handler, Reactor};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// How many clients a worker makes room for. There may be more.
const CLIENTS: usize = 512;

struct LoopClient<A: Answering> {
    session: ServedSession<A>,
    /// The beginning of a packet whose end has not come.
    tail: Vec<u8>,
    /// Delayed answers in order, each with the time at which it is due.
    held: VecDeque<(u64, Vec<u8>)>,
    /// When the last delayed answer was or is due; none before the first.
    last_ns: Option<u64>,
}

/// What a worker did.
#[derive(Debug, Default)]
pub struct Counted {
    pub queries: u64,
    /// How much later than due delayed answers left.
    pub late: Option<Latency>,
    pub granted: Option<Granted>,
}

pub struct NullWorker<A: Answering> {
    reactor: Reactor<Epoll>,
    inbox: Arc<Inbox>,
    clients: LoopClients<A>,
    late: Option<Latency>,
    out: Vec<u8>,
}

/// The clients of a worker and the source of their answers.
struct LoopClients<A: Answering> {
    answers: A,
    pace: ServicePace,
    clients: Vec<Option<LoopClient<A>>>,
    free: Vec<usize>,
    queries: u64,
}

impl<A: Answering> Handler<Epoll> for NullWorker<A> {
    #[inline]
    fn reactor(&mut self) -> &mut Reactor<Epoll> {
        &mut self.reactor
    }

    fn is_over(&self) -> bool {
        self.inbox.is_closed()
    }

    #[inline]
    fn heard(&mut self, index: usize) {
        self.out.clear();
        let (token, event) = self.reactor.engine.event(index);
        let stays = match event {
            Event::Bytes(bytes) => {
                let timers = &mut self.reactor.timers;
                self.clients.hear(token, bytes, timers, &mut self.out)
            }
            Event::Closed(_) => false,
            Event::Woken => return self.welcome(),
            Event::Connected | Event::Nothing => return,
        };
        if !self.out.is_empty() {
            self.reactor.engine.send(token, &self.out);
        }
        if !stays {
            self.reactor.engine.detach(token);
            self.clients.dismiss(token);
        }
    }

    /// A delayed answer is due: sends it.
    fn timer(&mut self, _at_ns: u64, token: usize, _number: u64) {
        let Some((at_ns, answer)) = self.clients.take_due(token, self.reactor.now_ns()) else {
            return;
        };
        self.reactor.engine.send(token, &answer);
        let late_ns = clock::now_ns().saturating_sub(at_ns);
        self.late.get_or_insert_default().record_ns(late_ns);
    }

    fn end_round(&mut self) {
        // Sending took time. Without a new reading of the clock the next answer would be late by
        // that.
        if self.reactor.timers.next_ns().is_some() {
            self.reactor.tick();
        }
    }

    /// Nothing to do: the error shows again with the next wait.
    fn broken(&mut self, _error: io::Error) {}
}

impl<A: Answering> NullWorker<A> {
    pub fn new(answers: A, pace: ServicePace, inbox: Arc<Inbox>) -> io::Result<Self> {
        Ok(Self {
            reactor: Reactor::new(Epoll::new(CLIENTS, inbox.descriptor()?)?),
            inbox,
            clients: LoopClients {
                answers,
                pace,
                clients: Vec::new(),
                free: Vec::new(),
                queries: 0,
            },
            late: None,
            out: Vec::new(),
        })
    }

    /// Serves until the inbox is closed.
    pub fn run(mut self) -> Counted {
        be_punctual();
        contend_reactor::run(&mut self);
        Counted {
            queries: self.clients.queries,
            late: self.late,
            granted: self.clients.pace.granted(),
        }
    }

    /// Takes the new clients from the inbox and sends them the greeting.
    fn welcome(&mut self) {
        for (number, socket) in self.inbox.take() {
            let token = self.clients.place();
            if self.reactor.engine.attach(token, socket, false).is_err() {
                self.clients.free.push(token);
                continue;
            }
            self.out.clear();
            self.clients.greet(token, number, &mut self.out);
            self.reactor.engine.send(token, &self.out);
        }
    }
}

impl<A: Answering> LoopClients<A> {
    /// A free place.
    fn place(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.clients.push(None);
            self.clients.len() - 1
        })
    }

    fn greet(&mut self, token: usize, number: u32, out: &mut Vec<u8>) {
        let client = LoopClient {
            session: ServedSession::greet(number, &mut self.answers, out),
            tail: Vec::new(),
            held: VecDeque::new(),
            last_ns: None,
        };
        if let Some(slot) = self.clients.get_mut(token) {
            *slot = Some(client);
        }
    }

    fn dismiss(&mut self, token: usize) {
        if let Some(slot) = self.clients.get_mut(token)
            && slot.take().is_some()
        {
            self.free.push(token);
        }
    }

    /// Takes an answer that is due. There may be none: if the client has left, its answers were
    /// dropped, and another client may have its token.
    fn take_due(&mut self, token: usize, now_ns: u64) -> Option<(u64, Vec<u8>)> {
        let held = &mut self.clients.get_mut(token)?.as_mut()?.held;
        match held.front() {
            Some((at_ns, _)) if *at_ns <= now_ns => held.pop_front(),
            _ => None,
        }
    }

    /// Reads requests; false if the client must be disconnected.
    #[inline]
    fn hear(&mut self, token: usize, bytes: &[u8], timers: &mut Timers, out: &mut Vec<u8>) -> bool {
        let Some(Some(client)) = self.clients.get_mut(token) else {
            return false;
        };
        let mut tail = std::mem::take(&mut client.tail);
        if !tail.is_empty() {
            tail.extend_from_slice(bytes);
        }
        let whole = if tail.is_empty() { bytes } else { &tail };
        let (answers, pace) = (&mut self.answers, &mut self.pace);
        let Some((left, answered)) = client.read(token, whole, answers, pace, timers, out) else {
            return false;
        };
        self.queries += answered;
        // A buffer that has become empty is freed: otherwise ten thousand idle clients could each
        // keep a large one.
        if tail.is_empty() {
            client.tail.extend_from_slice(left);
        } else if !left.is_empty() {
            let read = tail.len() - left.len();
            tail.drain(..read);
            client.tail = tail;
        }
        client.tail.len() <= TAIL_BYTES_MAX
    }
}

impl<A: Answering> LoopClient<A> {
    /// Reads all complete packets. Returns the bytes left over and the number of answers; none if
    /// the client leaves.
    #[inline]
    fn read<'b>(
        &mut self,
        token: usize,
        bytes: &'b [u8],
        answers: &mut A,
        pace: &mut ServicePace,
        timers: &mut Timers,
        out: &mut Vec<u8>,
    ) -> Option<(&'b [u8], u64)> {
        let mut rest = bytes;
        let mut answered = 0;
        while !rest.is_empty() {
            let start = out.len();
            match self.session.hear(rest, answers, out) {
                Received::More => break,
                Received::Settled { consumed } => rest = rest.get(consumed..)?,
                Received::Answered { consumed } => {
                    let (request, after) = rest.split_at_checked(consumed)?;
                    rest = after;
                    answered += 1;
                    if !pace.is_none() {
                        self.hold(token, request, pace, timers, out.split_off(start));
                    }
                }
                Received::Left => return None,
            }
        }
        Some((rest, answered))
    }

    /// Keeps the answer to a request back until it is due.
    fn hold(
        &mut self,
        token: usize,
        request: &[u8],
        pace: &mut ServicePace,
        timers: &mut Timers,
        answer: Vec<u8>,
    ) {
        let asked = || self.session.asked(request);
        let at_ns = pace.leaves_ns(now_ns(), self.last_ns, asked);
        // Never before the answer to an earlier request of the client.
        let at_ns = at_ns.max(self.last_ns.unwrap_or(0));
        self.last_ns = Some(at_ns);
        self.held.push_back((at_ns, answer));
        timers.set(at_ns, token, 0);
    }
}
