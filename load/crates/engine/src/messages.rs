//! The messages between the workers of a run and its controller.

use super::edges::Timeline;
use super::slow::SlowEvent;
use super::tallies::Tallies;
use contend_client::dialect::SessionFacts;
use contend_figures::outcome::Failure;
use contend_figures::{Latency, Reading, Tally};
use contend_reactor::wait::Waker;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// A command from the controller to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// All seats are ready, and nothing is asked: load the seats of this arm.
    Begin(Timeline, u16),
    /// Note the events that take longer than this number of ns, until another arm is loaded.
    NoteSlow(u64),
    /// Close the window at this time at the latest.
    CloseBy(u64),
    /// Both edges were measured: end the sessions, then the connections. An event that has begun
    /// may take up to this number of ns more.
    Release(u64),
}

/// Each seat's own counts, by the seat's index; empty unless sessions count.
pub type Counts = Vec<(u32, Reading)>;

/// A report from a worker to the controller. A tally is none if the worker shares it with others,
/// and one of them hands it over.
#[derive(Debug)]
pub enum Report {
    /// Every session is ready; the facts that one of them agreed with each of its servers, and the
    /// times that connecting took.
    Ready {
        facts: Vec<SessionFacts>,
        connects: Option<Box<Latency>>,
    },
    /// One interval of the window, in order.
    Interval {
        worker: u32,
        tally: Option<Box<Tally>>,
        counts: Counts,
        /// Events of the schedule that have begun since the load did.
        begun: u64,
        /// When the first event was due that the worker has and has not begun.
        next_due_ns: Option<u64>,
    },
    /// The window is open; earlier records, and the number of events begun before, do not belong
    /// to it.
    Opened {
        worker: u32,
        before: Option<Box<Tally>>,
        counts: Counts,
        begun: u64,
    },
    /// The window is closed; every interval was sent before.
    Closed {
        worker: u32,
        cpu_ns: u64,
        /// Each seat's index and queries.
        queries_by_seat: Vec<(u32, u64)>,
    },
    /// After the window of an arm every event has ended; these are those that ended since.
    Drained {
        worker: u32,
        tally: Option<Box<Tally>>,
        slow: Vec<SlowEvent>,
    },
    /// Every session of the worker has ended by itself, or has no more events in this slice; the
    /// last one at this time.
    Idle {
        at_ns: u64,
    },
    /// The connections are closed. `tally` has the events that ended since the window was closed;
    /// `unfinished` events of it did not. `unanswered` requests, also of earlier events, had no
    /// answer; the longest waited `longest_wait_ns`. The last session stopped at `stopped_ns`.
    Ended {
        worker: u32,
        tally: Option<Box<Tally>>,
        counts: Counts,
        stopped_ns: u64,
        unfinished: u32,
        unanswered: u32,
        longest_wait_ns: u64,
    },
    Failed(Box<Failure>),
    /// Not from a worker: the load must begin at this time.
    Begin {
        at_ns: u64,
    },
    /// Not of a worker: the process was asked to end.
    Signal,
}

/// Where the controller leaves commands for one worker, and empty tallies. It is only read when the
/// waker woke it, or at the edge of an interval, so the request loop shares nothing.
pub struct Mailbox {
    commands: Mutex<Vec<Command>>,
    pub(super) tallies: Arc<Tallies>,
    waker: Waker,
}

impl Report {
    /// The worker that it is from, if it tells.
    pub fn worker(&self) -> Option<u32> {
        match self {
            Self::Interval { worker, .. }
            | Self::Opened { worker, .. }
            | Self::Closed { worker, .. }
            | Self::Drained { worker, .. }
            | Self::Ended { worker, .. } => Some(*worker),
            Self::Ready { .. }
            | Self::Idle { .. }
            | Self::Failed(_)
            | Self::Begin { .. }
            | Self::Signal => None,
        }
    }
}

impl Mailbox {
    pub fn new(tallies: Arc<Tallies>) -> io::Result<Self> {
        Ok(Self {
            commands: Mutex::new(Vec::new()),
            tallies,
            waker: Waker::new()?,
        })
    }

    /// A descriptor that becomes readable when a command comes.
    pub fn waker(&self) -> io::Result<OwnedFd> {
        self.waker.descriptor()
    }

    pub fn put(&self, command: Command) {
        self.commands
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(command);
        self.waker.wake();
    }

    pub fn take(&self) -> Vec<Command> {
        std::mem::take(&mut self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a worker has reported of the load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported {
    /// Events that it had begun when its window opened.
    pub(super) opened: Option<u64>,
    /// Intervals that it has handed over.
    pub(super) intervals: u32,
    pub(super) has_closed: bool,
    pub(super) has_ended: bool,
    /// It was given up: what it reports later comes too late.
    pub(super) is_lost: bool,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_command_rings_the_bell() {
        let mailbox = Mailbox::new(Arc::default()).unwrap();
        mailbox.put(Command::Release(7));
        mailbox.put(Command::CloseBy(5));
        assert_eq!(mailbox.take(), [Command::Release(7), Command::CloseBy(5)]);
        assert!(mailbox.take().is_empty());
        let mut count = [0u8; 8];
        use std::io::Read as _;
        std::fs::File::from(mailbox.waker().unwrap())
            .read_exact(&mut count)
            .unwrap();
        assert_eq!(u64::from_ne_bytes(count), 2);
    }
}
