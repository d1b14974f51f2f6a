//! What every worker of a run is given, and what workers and controller say to one another.

use super::bell::Bell;
use super::blocking::Target;
use super::pace::Pacing;
use crate::arrival::Dispenser;
use crate::outcome::Failure;
use crate::record::{Latency, Shape, Tally};
use crate::workload::{Verdict, Workload};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The run as all workers see it. Read only.
pub struct Setup {
    pub server: Target,
    /// More servers: a session chooses by the place, see [`Self::server_at`]. In a run with arms
    /// each arm has the server at its own place.
    pub more_servers: Vec<Target>,
    /// Names of the arms; empty: the run has no arms, and all its seats are loaded at once.
    pub arms: Vec<String>,
    /// Names of the nodes, the servers that the events of a run choose from; empty: there is one.
    pub nodes: Vec<String>,
    pub workload: Arc<dyn Workload>,
    /// Seats that are loaded at the same time, and the workers they are spread over.
    pub seats: u32,
    pub workers: u32,
    pub seed: u64,
    pub errors: ErrorPolicy,
    /// For each answer before the load begins.
    pub setup_timeout_ns: u64,
    /// For what sessions have begun when the load is over.
    pub drain_ns: u64,
    /// Events of each seat, if they are limited.
    pub events_each: Option<u64>,
    pub pacing: Pacing,
    /// Has the events that all seats share: those of a schedule, or of a run that has so many.
    pub dispenser: Arc<Dispenser>,
    /// Close and open each connection after so many events.
    pub reconnect_every: Option<u64>,
    /// Seats beside the others that ask nothing.
    pub idle_seats: u32,
    /// Open all connections at the same time.
    pub storm: bool,
    /// A request without an answer for so long counts as a lost connection.
    pub answer_timeout_ns: Option<u64>,
    /// Look whether the server has room for the run before anything else.
    pub looks_first: bool,
}

/// Time enough for a request that is on its way.
pub const DRAIN_NS: u64 = 1_000_000_000;

impl Setup {
    /// The server at a place of the run's list; the first one if there are not so many.
    pub fn server_at(&self, place: u16) -> &Target {
        let place = usize::from(place).checked_sub(1);
        place
            .and_then(|place| self.more_servers.get(place))
            .unwrap_or(&self.server)
    }

    /// Says in which arm, or on which node, a run failed, if it has any.
    pub fn at(&self, place: u16, failure: Failure) -> Failure {
        let place = usize::from(place);
        let arm = self.arms.get(place).map(|name| ("arm", name));
        let node = self.nodes.get(place).map(|name| ("node", name));
        match arm.or(node) {
            Some((what, name)) => Failure {
                message: format!("{what} \"{name}\": {}", failure.message),
                ..failure
            },
            None => failure,
        }
    }

    /// How often each seat is there: once for each arm.
    pub fn copies(&self) -> u16 {
        self.arms.len().clamp(1, usize::from(u16::MAX)) as u16
    }

    /// Whether the run hops from arm to arm.
    pub fn has_arms(&self) -> bool {
        !self.arms.is_empty()
    }

    /// The seats of one worker in one arm: as many as the others', give or take one.
    pub fn seats_of(&self, worker: u32) -> impl Iterator<Item = u32> + use<> {
        (worker..self.seats).step_by(self.workers.max(1) as usize)
    }

    /// The idle seats of one worker in one arm, numbered after all others.
    pub fn idle_seats_of(&self, worker: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.seats;
        (worker..self.idle_seats)
            .step_by(self.workers.max(1) as usize)
            .map(move |i| first + i)
    }

    /// How many connections a worker opens: each session has one, or one to each node.
    pub fn sockets_of(&self, worker: u32) -> usize {
        let seats = self.seats_of(worker).count() * self.nodes.len().max(1);
        (seats + self.idle_seats_of(worker).count()) * usize::from(self.copies())
    }

    /// An empty tally of this run.
    pub fn tally(&self) -> Tally {
        Tally::new(Shape {
            kinds: self.workload.kinds().len(),
            classes: self.workload.classes().len(),
            times_classes: !self.workload.is_single_query(),
            is_open: self.pacing == Pacing::Open,
            nodes: self.nodes.len(),
        })
    }
}

/// What is done about an error of the server, by its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPolicy {
    pub retry: Vec<u16>,
    pub ignore: Codes,
    /// Open a lost connection again, or end the run.
    pub reconnect: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    All,
    Only(Vec<u16>),
}

impl ErrorPolicy {
    /// None where the error ends the run.
    pub fn verdict(&self, code: u16) -> Option<Verdict> {
        if self.retry.contains(&code) {
            return Some(Verdict::Retry);
        }
        match &self.ignore {
            Codes::All => Some(Verdict::Ignore),
            Codes::Only(codes) => codes.contains(&code).then_some(Verdict::Ignore),
        }
    }
}

/// The moments that all workers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    pub begin_ns: u64,
    /// End of the warm-up, begin of the window.
    pub open_ns: u64,
    pub close_ns: u64,
    /// 0: the whole window is one interval.
    pub interval_ns: u64,
}

impl Timeline {
    /// Where interval number `index` of the window ends.
    pub fn interval_end_ns(&self, index: u32) -> u64 {
        if self.interval_ns == 0 {
            return self.close_ns;
        }
        let end = self
            .interval_ns
            .checked_mul(u64::from(index) + 1)
            .and_then(|length| length.checked_add(self.open_ns))
            .unwrap_or(u64::MAX);
        // A last interval of next to no length would hold next to nothing.
        if end.saturating_add(self.interval_ns / 100) >= self.close_ns {
            self.close_ns
        } else {
            end
        }
    }
}

/// What the controller tells a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// All seats are ready, and nothing is asked: load the seats of this arm.
    Begin(Timeline, u16),
    /// Close the window at this time at the latest.
    CloseBy(u64),
    /// Both edges were measured: end the sessions, then the connections.
    Release,
}

/// What a session found out about its server and agreed with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    pub server_version: String,
    /// In the words of an outcome's `session`.
    pub agreed: Vec<&'static str>,
}

/// What a worker tells the controller.
#[derive(Debug)]
pub enum Report {
    /// Every session is ready; what one of them agreed with each of its servers, and the times that
    /// connecting took.
    Ready {
        facts: Vec<SessionFacts>,
        connects: Option<Box<Latency>>,
    },
    /// One interval of the window, in order.
    Interval {
        worker: u32,
        tally: Box<Tally>,
        /// Events of the schedule that have begun since the load did.
        begun: u64,
        /// When the first event was due that the worker has and has not begun.
        next_due_ns: Option<u64>,
    },
    /// The window is open; what was recorded before, and so many events have begun, is no part
    /// of it.
    Opened {
        worker: u32,
        before: Box<Tally>,
        begun: u64,
    },
    /// The window is closed; every interval was sent before.
    Closed {
        cpu_ns: u64,
        queries_by_seat: Vec<u64>,
    },
    /// After the window of an arm every event has ended; these are those that ended since.
    Drained {
        worker: u32,
        tally: Box<Tally>,
    },
    /// Every session of the worker has ended by itself.
    Idle,
    /// The connections are closed. `tally` has what ended since the window was closed;
    /// `unfinished` events of it did not. `unanswered` requests, those of earlier events too, had
    /// no answer, and the longest of them waited so long.
    Ended {
        tally: Box<Tally>,
        unfinished: u32,
        unanswered: u32,
        longest_wait_ns: u64,
    },
    Failed(Box<Failure>),
    /// Not of a worker: the process was asked to end.
    Signal,
}

/// Where the controller leaves commands for one worker, and empty tallies. Only looked at when
/// the bell rang, or at the edge of an interval, so the request loop shares nothing with anybody.
pub struct Mailbox {
    commands: Mutex<Vec<Command>>,
    /// The worker takes one when it hands over its own, so an interval allocates nothing.
    #[allow(clippy::vec_box, reason = "they go to and fro as they are, uncopied")]
    tallies: Mutex<Vec<Box<Tally>>>,
    bell: Bell,
}

impl Mailbox {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            commands: Mutex::new(Vec::new()),
            tallies: Mutex::new(Vec::new()),
            bell: Bell::new()?,
        })
    }

    /// A descriptor that becomes readable when a command comes.
    pub fn bell(&self) -> io::Result<OwnedFd> {
        self.bell.heard()
    }

    pub fn put(&self, command: Command) {
        self.commands
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(command);
        self.bell.ring();
    }

    pub fn take(&self) -> Vec<Command> {
        std::mem::take(&mut self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves an empty tally.
    pub fn put_tally(&self, tally: Box<Tally>) {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.push(tally);
    }

    /// An empty tally; none if the controller has not returned one yet.
    pub fn take_tally(&self) -> Option<Box<Tally>> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.pop()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn intervals_end_at_the_window_and_the_last_is_not_a_sliver() {
        let timeline = Timeline {
            begin_ns: 0,
            open_ns: 1_000,
            close_ns: 3_505,
            interval_ns: 1_000,
        };
        assert_eq!(timeline.interval_end_ns(0), 2_000);
        assert_eq!(timeline.interval_end_ns(1), 3_000);
        assert_eq!(timeline.interval_end_ns(2), 3_505);
        let sliver = Timeline {
            close_ns: 3_005,
            ..timeline
        };
        assert_eq!(sliver.interval_end_ns(1), 3_005);
        let whole = Timeline {
            interval_ns: 0,
            ..timeline
        };
        assert_eq!(whole.interval_end_ns(0), 3_505);
        assert_eq!(timeline.interval_end_ns(u32::MAX), 3_505);
    }

    #[test]
    fn the_policy_knows_three_classes() {
        let policy = ErrorPolicy {
            retry: vec![1213],
            ignore: Codes::Only(vec![1062]),
            reconnect: true,
        };
        assert_eq!(policy.verdict(1213), Some(Verdict::Retry));
        assert_eq!(policy.verdict(1062), Some(Verdict::Ignore));
        assert_eq!(policy.verdict(1146), None);
        let lenient = ErrorPolicy {
            ignore: Codes::All,
            ..policy
        };
        assert_eq!(lenient.verdict(1146), Some(Verdict::Ignore));
        assert_eq!(lenient.verdict(1213), Some(Verdict::Retry));
    }

    #[test]
    fn a_command_rings_the_bell() {
        let mailbox = Mailbox::new().unwrap();
        mailbox.put(Command::Release);
        mailbox.put(Command::CloseBy(5));
        assert_eq!(mailbox.take(), [Command::Release, Command::CloseBy(5)]);
        assert!(mailbox.take().is_empty());
        let mut count = [0u8; 8];
        use std::io::Read as _;
        std::fs::File::from(mailbox.bell().unwrap())
            .read_exact(&mut count)
            .unwrap();
        assert_eq!(u64::from_ne_bytes(count), 2);
    }
}
