//! A thread of the load generator: it takes all answers that are there, and after each sends the
//! next request of its connection, as contend-load does with epoll.

use super::agenda::Ps;
use super::demands::{ClientPs, Variation};
use super::machine::{Machine, Moment};
use super::sockets::Sockets;
use std::collections::VecDeque;

/// Most answers that one call of the kernel reports.
const BATCH_MAX: usize = 512;

#[derive(Debug)]
pub struct ClientWorker {
    number: usize,
    /// Connections that have not asked anything yet.
    unasked: VecDeque<u32>,
    /// Connections that have an answer and were not looked at.
    batch: VecDeque<u32>,
    stage: ClientStage,
    demands: ClientPs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientStage {
    /// The kernel is asked which answers are there.
    Waiting,
    /// The answer of the first connection of the batch has been read.
    Reading,
    /// The next request of this one is made.
    Asking(u32),
}

/// All requests and answers counted so far, and the recipient of response times.
pub struct ClientEvents<'a> {
    pub begun: u64,
    pub answered: u64,
    /// How often the client woke or looked, and found answers.
    pub batches: u64,
    pub record: &'a mut dyn FnMut(Ps),
}

impl ClientWorker {
    /// A worker that sends the first requests of its connections when it begins.
    pub fn new(number: u32, connections: impl Iterator<Item = u32>, demands: ClientPs) -> Self {
        let mut worker = Self {
            number: number as usize,
            unasked: connections.collect(),
            batch: VecDeque::new(),
            stage: ClientStage::Waiting,
            demands,
        };
        worker.go_on(0);
        worker
    }

    /// The work until now is done: how long the next takes; none if there is nothing to do.
    pub fn step(
        &mut self,
        moment: Moment,
        sockets: &mut Sockets,
        machine: &mut Machine,
        events: &mut ClientEvents<'_>,
        spread: &mut Variation,
    ) -> Option<Ps> {
        let ps = match self.stage {
            ClientStage::Waiting => {
                sockets.take_ready(self.number, &mut self.batch, BATCH_MAX);
                if self.batch.is_empty() {
                    return None;
                }
                events.batches += 1;
                self.go_on(0)
            }
            ClientStage::Reading => {
                let connection = self.batch.pop_front()?;
                events.answered += 1;
                (events.record)(moment.now_ps - sockets.asked_ps(connection));
                self.stage = ClientStage::Asking(connection);
                self.demands.ask_ps
            }
            ClientStage::Asking(connection) => {
                let wakes_ps = sockets.ask(connection, events.begun, moment, machine);
                events.begun += 1;
                self.go_on(wakes_ps)
            }
        };
        Some(spread.vary(ps))
    }

    /// The next step, and how long it takes including the work still to be done before it.
    fn go_on(&mut self, before_ps: Ps) -> Ps {
        let (stage, ps) = match (self.unasked.pop_front(), self.batch.is_empty()) {
            (Some(connection), _) => (ClientStage::Asking(connection), self.demands.ask_ps),
            (None, false) => (ClientStage::Reading, self.demands.answer_ps),
            (None, true) => (ClientStage::Waiting, self.demands.wait_ps),
        };
        self.stage = stage;
        before_ps + ps
    }
}
