//! The input of a run: plain data, the same for all of its workers.

use crate::arrival::{Dispenser, Share};
use crate::workload::{Verdict, Workload};
use contend_client::Target;
use contend_client::request::RequestProtocol;
use contend_figures::outcome::Failure;
use contend_figures::{Tally, TallyShape};
use contend_reactor::threads;
use std::io::BufRead;
use std::sync::Arc;

/// What to run, for how long, on which engine.
pub struct Job {
    pub setup: Setup,
    /// None: the load begins when all are ready. Else a line of this gives the time, as
    /// `begin NANOSECONDS` of this host's steady clock, and the end of it ends the run.
    pub begin_from: Option<Box<dyn BufRead + Send>>,
    pub engine: contend_plan::Engine,
    pub warmup_ns: u64,
    /// `u64::MAX`: until the events are done or a signal comes.
    pub measure_ns: u64,
    pub interval_ns: u64,
}

impl Job {
    /// A run until its events are done, in one interval.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            begin_from: None,
            engine: contend_plan::Engine::Auto,
            warmup_ns: 0,
            measure_ns: u64::MAX,
            interval_ns: 0,
        }
    }
}

/// How a run hops between its arms.
#[derive(Clone, Copy, Debug)]
pub struct Hops {
    /// An upper limit if the arm's events have an end: its slice is then all of them.
    pub slice_ns: u64,
    /// Before each slice, under its load, in no figure.
    pub settle_ns: u64,
    /// The longest wait after each slice for the watched processes to be at rest.
    pub rest_ns: u64,
    /// In each round every arm has one slice.
    pub rounds: u32,
    /// Samples per second of the threads of the watched process, in half of the rounds.
    pub look_reads_per_s: Option<u32>,
}

/// The requests, their servers and their times: one of the arms that a run hops between. A run
/// without arms has exactly one of these.
pub struct ArmJob {
    /// Empty if the run has no arms.
    pub name: String,
    /// Its servers. A session names one by its place in this list.
    pub nodes: Several<NodeJob>,
    /// Statements on entering the arm.
    pub enter: Vec<String>,
    /// The processes whose counters are read for all of its nodes together.
    pub watch_pids: Vec<u32>,
    /// A statement that answers the numbers of its connections, each with that of its thread.
    pub watch_threads: Option<String>,
    pub workload: Arc<dyn Workload>,
    pub pacing: Pacing,
    /// Hands out the events that all seats share: those of a schedule, or of a run whose number of
    /// events is limited.
    pub dispenser: Arc<Dispenser>,
    /// Requests that may be under way on a connection. Each has a slot of its seat.
    pub depth: u32,
    /// Events of each connection, if they are limited: in a run that hops, those of each slice.
    pub events_each: Option<u64>,
    /// Where its server speaks SQL, if its workload does not.
    pub sql: Option<Target>,
}

/// One of the servers that an arm asks.
#[derive(Debug)]
pub struct NodeJob {
    /// Empty if it has no figures of its own.
    pub name: String,
    pub target: Target,
    /// The processes whose counters are read for this node.
    pub watch_pids: Vec<u32>,
}

impl ArmJob {
    /// An arm with these servers. They have no names, and no process counters are read for them.
    /// Events follow one another without a pause, and their number is not limited.
    pub fn of(targets: Several<Target>, workload: Arc<dyn Workload>) -> Self {
        let nodes = targets.map(|target| NodeJob {
            name: String::new(),
            target,
            watch_pids: Vec::new(),
        });
        Self::of_nodes(nodes, workload)
    }

    /// An arm with these nodes. Events follow one another without a pause, and their number is not
    /// limited.
    pub fn of_nodes(nodes: Several<NodeJob>, workload: Arc<dyn Workload>) -> Self {
        Self {
            name: String::new(),
            nodes,
            enter: Vec::new(),
            watch_pids: Vec::new(),
            watch_threads: None,
            workload,
            pacing: Pacing::WITHOUT_PAUSE,
            dispenser: Arc::new(Dispenser::new(None, None)),
            depth: 1,
            events_each: None,
            sql: None,
        }
    }

    /// Reads the counters of no process but our own.
    pub fn watch_nothing(&mut self) {
        self.watch_pids.clear();
        self.nodes
            .iter_mut()
            .for_each(|node| node.watch_pids.clear());
    }

    /// Events may begin later than they were due.
    pub fn times_lag(&self) -> bool {
        self.pacing == Pacing::Open || self.workload.thinks()
    }

    /// Whether the engine must note when it sends a request. If not, every recorded time starts at
    /// the end of the answer before.
    pub fn times_sends(&self) -> bool {
        let has_nodes = self.named_nodes().next().is_some();
        self.times_lag() || !self.workload.is_single_query() || has_nodes
    }

    /// The events have an end.
    pub fn ends(&self) -> bool {
        self.dispenser.ends() || self.events_each.is_some()
    }

    /// The shape of its records.
    pub fn shape(&self) -> TallyShape {
        TallyShape {
            kinds: self.workload.kinds().len(),
            classes: self.workload.classes().len(),
            times_classes: !self.workload.is_single_query(),
            is_open: self.pacing == Pacing::Open,
            times_lag: self.times_lag(),
            nodes: self.named_nodes().count(),
        }
    }

    /// The nodes that have figures of their own.
    pub fn named_nodes(&self) -> impl Iterator<Item = &NodeJob> {
        self.nodes.iter().filter(|node| !node.name.is_empty())
    }
}

/// At least one of something.
#[derive(Clone, Debug)]
pub struct Several<T> {
    pub first: T,
    pub more: Vec<T>,
}

impl<T> Several<T> {
    pub fn one(first: T) -> Self {
        let more = Vec::new();
        Self { first, more }
    }

    /// None if `all` is empty.
    pub fn of(all: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut all = all.into_iter();
        let first = all.next()?;
        let more = all.collect();
        Some(Self { first, more })
    }

    /// The one at a place; the first if the place is past the end.
    pub fn at(&self, place: u16) -> &T {
        let place = usize::from(place).checked_sub(1);
        place
            .and_then(|place| self.more.get(place))
            .unwrap_or(&self.first)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.more)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.more)
    }

    pub fn count(&self) -> u16 {
        u16::try_from(self.more.len()).map_or(u16::MAX, |more| more.saturating_add(1))
    }

    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Several<U> {
        let mut change = change;
        Several {
            first: change(self.first),
            more: self.more.into_iter().map(change).collect(),
        }
    }
}

/// The run as all workers see it. Read only.
pub struct Setup {
    /// The arms: one, or those that the run hops between.
    pub arms: Several<ArmJob>,
    /// None: one window, in which the first arm is the only load.
    pub hops: Option<Hops>,
    /// Connections that are loaded at the same time, on all hosts together; which of them are ours;
    /// and the workers that ours are spread over. Each protocol has this many workers of its own.
    pub connections: u32,
    pub share: Share,
    pub workers: u32,
    /// Sessions may block their thread: each connection has a worker of its own.
    pub blocks: bool,
    pub seed: u64,
    pub errors: ErrorPolicy,
    /// For each answer before the load begins.
    pub setup_timeout_ns: u64,
    /// Time limit, after the load, for events that sessions have begun.
    pub drain_ns: u64,
    /// The same after a window that ended by the clock, if it is longer.
    pub answers_ns: u64,
    /// Close and open each connection after this number of events.
    pub reconnect_every: Option<u64>,
    /// Extra connections, which ask nothing. Each has a seat of its own.
    pub idle_seats: u32,
    /// Open all connections at the same time.
    pub storm: bool,
    /// A request without an answer after this time counts as a lost connection.
    pub answer_timeout_ns: Option<u64>,
    /// Further times at which an interval ends, counted from the start of the window.
    pub checkpoints_ns: Vec<u64>,
    /// Look whether the server has room for the run before anything else.
    pub looks_first: bool,
}

/// Time enough for a statement of the setup.
pub const SETUP_TIMEOUT_NS: u64 = 30_000_000_000;
/// Time enough for a request that is on its way.
pub const DRAIN_NS: u64 = 1_000_000_000;

impl Setup {
    /// A run with this many connections and no limit on events. Errors of the server are counted
    /// and ignored, and a lost connection is opened again.
    pub fn new(arms: Several<ArmJob>, connections: u32) -> Self {
        Self {
            arms,
            hops: None,
            connections,
            share: Share::WHOLE,
            workers: threads::for_connections(connections),
            blocks: false,
            seed: 0,
            errors: ErrorPolicy {
                retry: Vec::new(),
                ignore: Codes::All,
                reconnect: true,
            },
            setup_timeout_ns: SETUP_TIMEOUT_NS,
            drain_ns: DRAIN_NS,
            answers_ns: 0,
            reconnect_every: None,
            idle_seats: 0,
            storm: false,
            answer_timeout_ns: None,
            checkpoints_ns: Vec::new(),
            looks_first: false,
        }
    }

    /// Gives each connection a worker of its own, because its sessions may block their thread.
    pub fn block(&mut self) {
        self.workers = self.own_connections().max(1);
        self.blocks = true;
    }

    /// How to reach a server.
    pub fn target(&self, at: At) -> &Target {
        &self.arms.at(at.arm).nodes.at(at.node).target
    }

    /// The server on which the statements on entering an arm are run.
    pub fn sql_of(&self, arm: u16) -> &Target {
        let job = self.arms.at(arm);
        job.sql.as_ref().unwrap_or(&job.nodes.first.target)
    }

    /// The protocols of the arms, each once. Each has workers of its own.
    pub fn protocols(&self) -> Vec<RequestProtocol> {
        let mut protocols = Vec::new();
        for request_protocol in self.arms.iter().map(|arm| arm.workload.request_protocol()) {
            if !protocols.contains(&request_protocol) {
                protocols.push(request_protocol);
            }
        }
        protocols
    }

    /// Says in which arm, and on which node, a run failed, if they have names.
    pub fn named(&self, at: At, failure: Failure) -> Failure {
        let arm = self.arms.at(at.arm);
        let names = [("node", &arm.nodes.at(at.node).name), ("arm", &arm.name)];
        let named = names.into_iter().filter(|(_, name)| !name.is_empty());
        named.fold(failure, |failure, (what, name)| Failure {
            message: format!("{what} \"{name}\": {}", failure.message),
            ..failure
        })
    }

    /// How often each seat is there: once for each arm.
    pub fn copies(&self) -> u16 {
        self.arms.count()
    }

    /// Whether the run hops from arm to arm.
    pub fn has_arms(&self) -> bool {
        self.hops.is_some()
    }

    /// The connections of one worker of a protocol in one arm, numbered through all hosts. Two
    /// workers differ by one at most.
    pub fn connections_of(&self, worker: u32) -> impl Iterator<Item = u32> + use<> {
        self.of_worker(worker, self.connections)
    }

    /// A worker's share of `all` items.
    fn of_worker(&self, worker: u32, all: u32) -> impl Iterator<Item = u32> + use<> {
        let workers = self.workers.max(1) as usize;
        let ours = self.share.numbers(all);
        ours.skip(worker as usize).step_by(workers)
    }

    /// How many of the connections are ours.
    pub fn own_connections(&self) -> u32 {
        self.share.of(self.connections.into()) as u32
    }

    /// The idle seats of one worker in one arm, numbered after all others.
    pub fn idle_seats_of(&self, worker: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.connections;
        self.of_worker(worker, self.idle_seats)
            .map(move |i| first + i)
    }

    /// How many connections a worker opens at most: each session has one, or one to each node.
    pub fn sockets_of(&self, worker: u32) -> usize {
        let connections = self.connections_of(worker).count();
        let idle = self.idle_seats_of(worker).count();
        let links = self
            .arms
            .iter()
            .map(|arm| match arm.workload.request_protocol() {
                RequestProtocol::SQL => arm.named_nodes().count().max(1),
                _ => usize::from(arm.nodes.count()),
            });
        links.map(|links| connections * links + idle).sum()
    }

    /// An empty tally of an arm.
    pub fn tally(&self, arm: u16) -> Tally {
        Tally::new(self.arms.at(arm).shape())
    }

    /// An empty tally for all arms together.
    pub fn tally_of_all(&self) -> Tally {
        let first = self.arms.first.shape();
        let shapes = self.arms.more.iter().map(ArmJob::shape);
        Tally::new(shapes.fold(first, TallyShape::with))
    }
}

/// Which server of a run: an arm, and one of its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    pub arm: u16,
    pub node: u16,
}

/// How the events of a run are paced; the same for all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Each seat begins when its last event has ended, after thinking.
    Closed { think_ns: u64, scatters: bool },
    /// The dispenser has a schedule that does not wait for the server.
    Open,
}

impl Pacing {
    /// Each seat begins the next event when its last one has ended.
    pub const WITHOUT_PAUSE: Self = Self::Closed {
        think_ns: 0,
        scatters: false,
    };
}

/// The reaction to an error of the server, by its code.
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
