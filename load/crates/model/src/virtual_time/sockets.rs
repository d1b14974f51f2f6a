//! The connections between the client and the server's threads, each with at most one request
//! under way.

use super::agenda::Ps;
use super::machine::{Machine, Moment};
use std::collections::VecDeque;

#[derive(Debug)]
pub struct Sockets {
    connections: Vec<VirtualConnection>,
    workers: Vec<WorkerSide>,
}

#[derive(Clone, Copy, Debug)]
struct VirtualConnection {
    /// The number of the event that is asked and not yet read by the server.
    unread: Option<u64>,
    asked_ps: Ps,
    /// The server's thread sleeps until something comes.
    waits: bool,
    answers: u64,
}

/// The client's side: one thread for the connections of every `workers`-th number.
#[derive(Debug, Default)]
struct WorkerSide {
    /// Connections with an answer that has not been read.
    ready: VecDeque<u32>,
    waits: bool,
}

impl Sockets {
    /// The threads of the server have the numbers of their connections, those of the client the
    /// numbers behind these. All of the former sleep.
    pub fn new(connections: u32, workers: u32) -> Self {
        let connection = VirtualConnection {
            unread: None,
            asked_ps: 0,
            waits: true,
            answers: 0,
        };
        Self {
            connections: vec![connection; connections as usize],
            workers: (0..workers.max(1)).map(|_| WorkerSide::default()).collect(),
        }
    }

    /// The client sends the event `cycle`; the result is the cost of waking the server's thread.
    pub fn ask(
        &mut self,
        connection: u32,
        cycle: u64,
        moment: Moment,
        machine: &mut Machine,
    ) -> Ps {
        let one = &mut self.connections[connection as usize];
        one.unread = Some(cycle);
        one.asked_ps = moment.now_ps;
        match std::mem::take(&mut one.waits) {
            true => machine.wake(moment, connection),
            false => 0,
        }
    }

    /// What the server's thread reads; without anything it waits from here on.
    pub fn read(&mut self, connection: u32) -> Option<u64> {
        let one = &mut self.connections[connection as usize];
        let cycle = one.unread.take();
        one.waits = cycle.is_none();
        cycle
    }

    /// The server sends its answer; the result is the cost of waking the client's thread.
    pub fn answer(&mut self, connection: u32, moment: Moment, machine: &mut Machine) -> Ps {
        let number = connection as usize % self.workers.len();
        self.connections[connection as usize].answers += 1;
        let worker = &mut self.workers[number];
        worker.ready.push_back(connection);
        match std::mem::take(&mut worker.waits) {
            true => machine.wake(moment, (self.connections.len() + number) as u32),
            false => 0,
        }
    }

    /// Moves up to `at_most` connections of a worker that have an answer to `batch`. Without any
    /// the worker waits from here on.
    pub fn take_ready(&mut self, worker: usize, batch: &mut VecDeque<u32>, at_most: usize) {
        let worker = &mut self.workers[worker];
        let count = worker.ready.len().min(at_most);
        batch.extend(worker.ready.drain(..count));
        worker.waits = count == 0;
    }

    /// Answers that were sent on each connection.
    pub fn answers(&self) -> impl Iterator<Item = u64> {
        self.connections.iter().map(|one| one.answers)
    }

    /// When the request of a connection was sent.
    pub fn asked_ps(&self, connection: u32) -> Ps {
        self.connections[connection as usize].asked_ps
    }
}
