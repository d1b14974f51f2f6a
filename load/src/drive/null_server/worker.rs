//! One thread of the server: its clients, their requests, the answers that wait for their time.

use crate::drive::clock::{self, now_ns};
use crate::drive::engine::{Engine, Event};
use crate::drive::inbox::Inbox;
use crate::drive::threads::be_punctual;
use crate::drive::timers::Timers;
use crate::record::Latency;
use crate::serve::{Answer, Granted, Heard, Pace, Session};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// A client that sends more than this without a whole packet is no client.
const TAIL_BYTES_MAX: usize = 17 << 20;

struct Client<S> {
    session: Session<S>,
    /// The beginning of a packet whose end has not come.
    tail: Vec<u8>,
    /// Answers that wait, each with its time; in order.
    held: VecDeque<(u64, Vec<u8>)>,
    /// When the last answer that had to wait was due, or is; none before the first.
    last_ns: Option<u64>,
}

pub struct Worker<E, A: Answer> {
    engine: Option<E>,
    inbox: Arc<Inbox>,
    make_answers: fn() -> A,
    pace: Pace,
    clients: Vec<Option<Client<A::Statement>>>,
    free: Vec<usize>,
    timers: Timers,
    counted: Counted,
}

/// What a worker did.
#[derive(Debug, Default)]
pub struct Counted {
    pub queries: u64,
    /// How late answers left, of those that had to wait for their time.
    pub late: Option<Latency>,
    pub granted: Option<Granted>,
}

impl<E: Engine + Send, A: Answer> Worker<E, A> {
    pub fn new(inbox: Arc<Inbox>, make_answers: fn() -> A, pace: Pace) -> io::Result<Self> {
        let engine = E::new(0, inbox.heard()?)?;
        Ok(Self {
            engine: Some(engine),
            inbox,
            make_answers,
            pace,
            clients: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
            counted: Counted::default(),
        })
    }

    /// Serves until the inbox is closed.
    pub fn run(mut self) -> Counted {
        be_punctual();
        let Some(mut engine) = self.engine.take() else {
            return self.counted;
        };
        let mut answers = (self.make_answers)();
        let mut out = Vec::new();
        while !self.inbox.is_closed() {
            let timeout_ns = self
                .timers
                .next_ns()
                .map(|at_ns| at_ns.saturating_sub(now_ns()));
            // A wait that fails has no events; what is wrong shows again with the next.
            let events = engine.wait(timeout_ns).unwrap_or(0);
            for place in 0..events {
                out.clear();
                let (token, stays) = match engine.event(place) {
                    (token, Event::Bytes(bytes)) => {
                        (token, self.hear(token, bytes, &mut answers, &mut out))
                    }
                    (token, Event::Closed(_)) => (token, false),
                    (_, Event::Woken) => {
                        self.welcome(&mut engine);
                        continue;
                    }
                    (_, Event::Connected | Event::Nothing) => continue,
                };
                if !out.is_empty() {
                    engine.send(token, &out);
                }
                if !stays {
                    self.dismiss(token, &mut engine);
                }
            }
            self.send_due(&mut engine);
        }
        self.counted.granted = self.pace.granted();
        self.counted
    }

    /// Takes in the clients that came.
    fn welcome(&mut self, engine: &mut E) {
        for (number, socket) in self.inbox.take() {
            let token = self.free.pop().unwrap_or(self.clients.len());
            if token == self.clients.len() {
                self.clients.push(None);
            }
            let mut greeting = Vec::new();
            let client = Client {
                session: Session::greet(number, &mut greeting),
                tail: Vec::new(),
                held: VecDeque::new(),
                last_ns: None,
            };
            if engine.attach(token, socket, false).is_err() {
                self.free.push(token);
                continue;
            }
            if let Some(slot) = self.clients.get_mut(token) {
                *slot = Some(client);
            }
            engine.send(token, &greeting);
        }
    }

    fn dismiss(&mut self, token: usize, engine: &mut E) {
        engine.detach(token);
        if let Some(slot) = self.clients.get_mut(token)
            && slot.take().is_some()
        {
            self.free.push(token);
        }
    }

    /// Reads requests; false if the client is to go.
    fn hear(&mut self, token: usize, bytes: &[u8], answers: &mut A, out: &mut Vec<u8>) -> bool {
        let Some(Some(client)) = self.clients.get_mut(token) else {
            return false;
        };
        if client.tail.is_empty() {
            let left = client.read(token, bytes, answers, &mut self.pace, &mut self.timers, out);
            let Some((left, answered)) = left else {
                return false;
            };
            self.counted.queries += answered;
            client.tail.extend_from_slice(left);
            return true;
        }
        client.tail.extend_from_slice(bytes);
        let tail = std::mem::take(&mut client.tail);
        let left = client.read(token, &tail, answers, &mut self.pace, &mut self.timers, out);
        let Some((left, answered)) = left else {
            return false;
        };
        self.counted.queries += answered;
        let read = tail.len() - left.len();
        client.tail = tail;
        client.tail.drain(..read);
        if client.tail.is_empty() {
            // Ten thousand idle clients shall not keep what one long packet took.
            client.tail = Vec::new();
        }
        client.tail.len() <= TAIL_BYTES_MAX
    }

    fn send_due(&mut self, engine: &mut E) {
        let Some(next_ns) = self.timers.next_ns() else {
            return;
        };
        let now_ns = now_ns();
        if next_ns > now_ns {
            return;
        }
        let late = self.counted.late.get_or_insert_default();
        while let Some((_, token, _)) = self.timers.pop_due(now_ns) {
            // A client that left takes its answers along; another may sit in its place.
            if let Some(Some(client)) = self.clients.get_mut(token)
                && client
                    .held
                    .front()
                    .is_some_and(|(at_ns, _)| *at_ns <= now_ns)
                && let Some((at_ns, answer)) = client.held.pop_front()
            {
                engine.send(token, &answer);
                late.record_ns(clock::now_ns().saturating_sub(at_ns));
            }
        }
    }
}

impl<S> Client<S> {
    /// Reads all whole packets; gives the bytes left over and the number of answers, or none where
    /// the client leaves.
    #[inline]
    fn read<'b, A: Answer<Statement = S>>(
        &mut self,
        token: usize,
        bytes: &'b [u8],
        answers: &mut A,
        pace: &mut Pace,
        timers: &mut Timers,
        out: &mut Vec<u8>,
    ) -> Option<(&'b [u8], u64)> {
        let mut rest = bytes;
        let mut answered = 0;
        while !rest.is_empty() {
            let start = out.len();
            match self.session.hear(rest, answers, out) {
                Heard::More { consumed } => {
                    return Some((rest.get(consumed..)?, answered));
                }
                Heard::Settled { consumed } => rest = rest.get(consumed..)?,
                Heard::Answered { consumed } => {
                    let (request, after) = rest.split_at_checked(consumed)?;
                    rest = after;
                    answered += 1;
                    if !pace.is_none() {
                        let answer = out.split_off(start);
                        let asked = || self.session.asked(request, answers);
                        let at_ns = pace.leaves_ns(now_ns(), self.last_ns, asked);
                        // Never before an answer to what was asked earlier.
                        let at_ns = at_ns.max(self.last_ns.unwrap_or(0));
                        self.last_ns = Some(at_ns);
                        self.held.push_back((at_ns, answer));
                        timers.set(at_ns, token, 0);
                    }
                }
                Heard::Left => return None,
            }
        }
        Some((rest, answered))
    }
}
