//! The progress that a run reports, and its result: plain data.

use super::messages::Counts;
use contend_client::dialect::SessionFacts;
use contend_figures::outcome::{ProcessDelta, ThreadTimes};
use contend_figures::{Latency, Reading, Tally};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

/// Reports while the run goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All sessions are ready.
    Ready {
        /// The facts agreed with the server, or with each node; empty if no session connects.
        sessions: &'a [SessionFacts],
        engine: &'static str,
        workers: u32,
        start: SystemTime,
    },
    Phase {
        name: &'static str,
        at_s: f64,
        /// When the phase was due to begin; it is reported a little later.
        at: Instant,
    },
    /// The window is open, since `at`. `counts`: the sessions' own counts from before, by seat.
    Opened {
        at: Instant,
        counts: &'a [(u32, Reading)],
    },
    /// One interval of the window, all workers together.
    Interval {
        index: u32,
        start_s: f64,
        duration_s: f64,
        tally: &'a Tally,
        /// What sessions have counted by themselves at its end.
        counts: &'a [(u32, Reading)],
        /// Events of an open loop that were due at its end and had not begun.
        backlog: u64,
    },
    Slice(&'a MeasuredSlice),
}

/// The measured window.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measured {
    pub ended: Ended,
    pub measured_ns: u64,
    /// Events that were to begin inside the window, wherever they ended.
    pub tally: Tally,
    /// The part of these events that ended after the window.
    pub drained: Tally,
    pub client: ProcessDelta,
    pub server: Option<ProcessDelta>,
    /// In the order of the nodes.
    pub node_servers: Vec<Option<ProcessDelta>>,
    pub busiest_worker_cpu_ns: u64,
    /// Queries of each seat, in no order.
    pub queries_by_seat: Vec<u64>,
    /// Events of the window that had not ended when the run was over.
    pub unfinished: u32,
    /// Requests that were never answered, and how long the oldest had waited at the end.
    pub unanswered: u32,
    pub longest_wait_ns: u64,
    /// Connections that were opened before the load began.
    pub setup_connects: Latency,
    pub queue: Queue,
    /// From the start of the window until the last session has ended.
    pub ended_after_ns: u64,
    /// The sessions' own counts, read after they had ended.
    #[serde(skip)]
    pub counts: Vec<(u32, Reading)>,
    /// In the order of the arms; empty: the run had none.
    #[serde(skip)]
    pub arms: Vec<MeasuredArm>,
}

impl Measured {
    /// A result with these tallies; everything else in it is empty.
    pub(super) fn nothing(tally: Tally, drained: Tally) -> Self {
        Self {
            ended: Ended::Time,
            measured_ns: 0,
            tally,
            drained,
            client: ProcessDelta::default(),
            server: None,
            node_servers: Vec::new(),
            busiest_worker_cpu_ns: 0,
            queries_by_seat: Vec::new(),
            unfinished: 0,
            unanswered: 0,
            longest_wait_ns: 0,
            setup_connects: Latency::default(),
            queue: Queue::default(),
            ended_after_ns: 0,
            counts: Vec::new(),
            arms: Vec::new(),
        }
    }
}

/// Events of an open loop that were due and had not begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// All events that were due inside the window.
    pub due: u64,
    pub opened: u64,
    /// At the end of each interval; the last is the end of the window.
    pub closed: Vec<u64>,
    /// How long the oldest had waited at the end.
    pub oldest_wait_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    Time,
    Events,
    Signal,
}

/// The measurements of one slice.
#[derive(Debug)]
pub struct MeasuredSlice {
    pub index: u32,
    /// The arm's place in the plan, the round, and the slice's place in its round.
    pub arm: u16,
    pub round: u32,
    pub position: u16,
    /// Since the first slice began.
    pub start_s: f64,
    pub duration_s: f64,
    /// `Events`: the arm had no further events.
    pub ended: Ended,
    /// Events that were to begin inside the slice, including those that ended after it.
    pub tally: Tally,
    /// The part of these events that ended after the slice.
    pub drained: Tally,
    /// Under an open loop: events that were due inside and had not begun at its end.
    pub not_begun: Option<u64>,
    /// CPU time used inside the slice: ours, and that of each arm's watched process.
    pub client_cpu_us: f64,
    pub busiest_worker_cpu_ns: u64,
    /// Each seat's index and queries.
    pub queries_by_seat: Vec<(u32, u64)>,
    pub watched_cpu_us: Vec<Option<f64>>,
    /// CPU time that the nodes of the slice's arm used inside the slice.
    pub node_cpu_us: Vec<Option<f64>>,
    pub visit: MeasuredVisit,
    /// If it was looked at.
    pub look: Option<ThreadTimes>,
}

/// From entering an arm until the last answer: settling, slice and drain. No query is in progress
/// at its start or at its end.
#[derive(Debug)]
pub struct MeasuredVisit {
    pub duration_s: f64,
    /// Events that began.
    pub events: u64,
    pub client: ProcessDelta,
    pub watched: Vec<Option<ProcessDelta>>,
    pub nodes: Vec<Option<ProcessDelta>>,
}

/// All slices of one arm.
#[derive(Debug)]
pub struct MeasuredArm {
    pub slices: u32,
    /// As a run of this arm alone has it.
    pub sum: Measured,
}

/// Adds up the slices of one arm.
#[derive(Debug)]
pub(super) struct ArmSum {
    slices: u32,
    /// The number that ended when the events were done.
    whole: u32,
    empty_in_a_row: u32,
    sum: Measured,
    /// Events that began in its visits; each visit contains a slice.
    visit_events: u64,
    client: ProcessDelta,
    server: Option<ProcessDelta>,
    nodes: Vec<Option<ProcessDelta>>,
    queries_by_seat: BTreeMap<u32, u64>,
}

impl ArmSum {
    pub(super) fn new(empty: &Tally) -> Self {
        Self {
            slices: 0,
            whole: 0,
            empty_in_a_row: 0,
            sum: Measured::nothing(empty.empty_like(), empty.empty_like()),
            visit_events: 0,
            client: ProcessDelta::default(),
            server: None,
            nodes: Vec::new(),
            queries_by_seat: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, slice: &MeasuredSlice) {
        self.slices += 1;
        self.whole += u32::from(slice.ended == Ended::Events);
        let is_empty = slice.tally.events() == slice.drained.events();
        let is_answered = slice.drained.events() > 0 || slice.tally.carried > 0;
        self.empty_in_a_row = match is_empty && is_answered {
            true => self.empty_in_a_row + 1,
            false => 0,
        };
        let sum = &mut self.sum;
        sum.measured_ns += (slice.duration_s * 1e9) as u64;
        sum.busiest_worker_cpu_ns += slice.busiest_worker_cpu_ns;
        sum.tally.merge(&slice.tally);
        sum.drained.merge(&slice.drained);
        sum.queue.due += slice.tally.begun + slice.not_begun.unwrap_or(0);
        sum.queue.closed.extend(slice.not_begun);
        sum.client.cpu_us += slice.client_cpu_us;
        for &(seat, queries) in &slice.queries_by_seat {
            *self.queries_by_seat.entry(seat).or_default() += queries;
        }
        self.visit_events += slice.visit.events;
        self.client.add(&slice.visit.client);
        let place = usize::from(slice.arm);
        if let Some(Some(used)) = slice.visit.watched.get(place) {
            self.server.get_or_insert_default().add(used);
        }
        if let Some(Some(cpu_us)) = slice.watched_cpu_us.get(place) {
            sum.server.get_or_insert_default().cpu_us += cpu_us;
        }
        self.nodes.resize(slice.visit.nodes.len(), None);
        for (ours, used) in self.nodes.iter_mut().zip(&slice.visit.nodes) {
            if let Some(used) = used {
                ours.get_or_insert_default().add(used);
            }
        }
        sum.node_servers.resize(slice.node_cpu_us.len(), None);
        for (ours, cpu_us) in sum.node_servers.iter_mut().zip(&slice.node_cpu_us) {
            if let Some(cpu_us) = cpu_us {
                ours.get_or_insert_default().cpu_us += cpu_us;
            }
        }
    }

    /// What 99 of 100 events of the slices so far took no longer than.
    pub(super) fn slow_ns(&self) -> u64 {
        self.sum.tally.whole().response.quantile_ns(0.99)
    }

    /// How many of the last slices, in a row, had only events that began before the slice or ended
    /// after it.
    pub(super) fn empty_in_a_row(&self) -> u32 {
        self.empty_in_a_row
    }

    /// The sum of the slices. CPU time was read at the edges of the slices. All other counters of
    /// processes were read at the edges of the visits; the slices get a share of them, by events.
    pub(super) fn end(self, ended: Ended) -> MeasuredArm {
        let mut sum = self.sum;
        let share = match self.visit_events {
            0 => 0.0,
            visits => sum.tally.begun as f64 / visits as f64,
        };
        sum.ended = match ended {
            Ended::Signal => Ended::Signal,
            _ if self.whole == self.slices && self.slices > 0 => Ended::Events,
            _ => Ended::Time,
        };
        sum.queries_by_seat = self.queries_by_seat.into_values().collect();
        sum.client = self.client.scaled(share, sum.client.cpu_us);
        sum.server = self
            .server
            .zip(sum.server)
            .map(|(all, inside)| all.scaled(share, inside.cpu_us));
        for (inside, all) in sum.node_servers.iter_mut().zip(self.nodes) {
            let both = all.zip(inside.take());
            *inside = both.map(|(all, inside)| all.scaled(share, inside.cpu_us));
        }
        MeasuredArm {
            slices: self.slices,
            sum,
        }
    }
}

/// The requests and events that had not ended when a run was over.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Events of the window.
    pub(super) unfinished: u32,
    /// Requests without an answer, and how long the oldest of them has waited.
    pub(super) unanswered: u32,
    pub(super) longest_wait_ns: u64,
    pub(super) counts: Counts,
    /// When the last session ended.
    pub(super) stopped_ns: u64,
}

/// The figures of a window or slice at its end, without events that ended after it.
pub(super) struct Inside {
    pub(super) tally: Tally,
    /// Events of the schedule that were due inside.
    pub(super) due: u64,
    /// Events that began since the arm was entered.
    pub(super) begun: u64,
    pub(super) busiest_worker_cpu_ns: u64,
    pub(super) queries_by_seat: Vec<(u32, u64)>,
}
