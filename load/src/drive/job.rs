//! What a run is told: plain data, the same for all of its workers.

use super::blocking::Target;
use super::counters::ProcessSnapshot;
use crate::arrival::Dispenser;
use crate::outcome::{Failure, ProcessDelta};
use crate::plan;
use crate::record::{Shape, Tally};
use crate::workload::{Verdict, Workload};
use std::sync::Arc;

/// What to run, for how long, on which engine.
pub struct Job {
    pub setup: Setup,
    pub engine: plan::Engine,
    pub warmup_ns: u64,
    /// `u64::MAX`: until the events are done or a signal comes.
    pub measure_ns: u64,
    pub interval_ns: u64,
    pub watched: Watched,
    /// Hops between the arms of the setup, in place of one window.
    pub arms: Option<Arms>,
}

/// The processes whose counters are read at both edges of the window.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    pub server: Option<u32>,
    /// Of each node, in order.
    pub nodes: Vec<Option<u32>>,
}

impl Watched {
    /// The counters of our own process, of the server, and of each node.
    pub(super) fn read(&self) -> Vec<Option<ProcessSnapshot>> {
        let pids = [Some(std::process::id()), self.server].into_iter();
        let pids = pids.chain(self.nodes.iter().copied());
        pids.map(|pid| pid.and_then(ProcessSnapshot::take))
            .collect()
    }

    /// What each of these processes used between two times that they were read.
    pub(super) fn used(
        opened: &[Option<ProcessSnapshot>],
        closed: &[Option<ProcessSnapshot>],
    ) -> ProcessesUsed {
        let pairs = opened.iter().zip(closed);
        let mut used = pairs.map(|(before, after)| Some(before.as_ref()?.until(after.as_ref()?)));
        ProcessesUsed {
            client: used.next().flatten().unwrap_or_default(),
            server: used.next().flatten(),
            nodes: used.collect(),
        }
    }
}

/// What the watched processes used.
pub(super) struct ProcessesUsed {
    pub(super) client: ProcessDelta,
    pub(super) server: Option<ProcessDelta>,
    pub(super) nodes: Vec<Option<ProcessDelta>>,
}

/// How a run hops between its arms.
pub struct Arms {
    /// In the order of the setup's names.
    pub arms: Vec<ArmJob>,
    pub slice_ns: u64,
    /// Before each slice, under its load, in no figure.
    pub settle_ns: u64,
    /// In each round every arm has one slice.
    pub rounds: u32,
}

/// What is done on entering an arm, and the process to watch.
pub struct ArmJob {
    pub enter: Vec<String>,
    pub watch_pid: Option<u32>,
}

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
    /// Moments of the window, since its begin, at which an interval ends too.
    pub checkpoints_ns: Vec<u64>,
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

    /// Events may begin later than they were due.
    pub fn times_lag(&self) -> bool {
        self.pacing == Pacing::Open || self.workload.thinks()
    }

    /// An empty tally of this run.
    pub fn tally(&self) -> Tally {
        Tally::new(Shape {
            kinds: self.workload.kinds().len(),
            classes: self.workload.classes().len(),
            times_classes: !self.workload.is_single_query(),
            is_open: self.pacing == Pacing::Open,
            times_lag: self.times_lag(),
            nodes: self.nodes.len(),
        })
    }
}

/// How the events of a run are paced; the same for all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Each seat begins when its last event has ended, after thinking.
    Closed { think_ns: u64, scatters: bool },
    /// The dispenser has a schedule that does not wait for the server.
    Open,
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
    /// None if the error ends the run.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
