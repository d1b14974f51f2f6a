//! The progress that a run reports, and its result: plain data.

use super::messages::Counts;
use super::workload::Workload;
use contend_client::dialect::SessionFacts;
use contend_client::failure;
use contend_figures::outcome::{Ended, ErrorCount, KindFigures, ProcessDelta, Slice, WindowEnd};
use contend_figures::{ErrorTally, Latency, Reading, Sum, Tally};
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
    /// `tally` has all events of the slice, also those that ended after it.
    Slice { slice: Box<Slice>, tally: &'a Tally },
}

/// The measured window.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub end: WindowEnd,
    /// Events that were to begin inside the window, wherever they ended.
    pub tally: Tally,
    /// The part of these events that ended after the window.
    pub drained: Tally,
    /// In the order of the nodes.
    pub node_servers: Vec<Option<ProcessDelta>>,
    pub busiest_worker_cpu_ns: u64,
    /// Queries of each seat, in no order.
    pub queries_by_seat: Vec<u64>,
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

/// All slices of one arm.
#[derive(Debug)]
pub struct MeasuredArm {
    pub slices: u32,
    /// As a run of this arm alone has it.
    pub sum: Measured,
}

/// Adds up the slices of one arm.
#[derive(Debug, Default)]
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
            sum: Measured {
                tally: empty.empty_like(),
                drained: empty.empty_like(),
                ..Measured::default()
            },
            ..Self::default()
        }
    }

    /// Adds a slice, the records in it, and what its nodes used.
    pub(super) fn add(&mut self, slice: &Slice, inside: &Inside, nodes: &NodesUsed) {
        self.slices += 1;
        self.whole += u32::from(slice.ended == Ended::Events);
        let is_empty = inside.tally.events() == slice.drained;
        let is_answered = slice.drained > 0 || inside.tally.carried > 0;
        self.empty_in_a_row = match is_empty && is_answered {
            true => self.empty_in_a_row + 1,
            false => 0,
        };
        let sum = &mut self.sum;
        sum.end.measured_s += slice.duration_s;
        sum.busiest_worker_cpu_ns += inside.busiest_worker_cpu_ns;
        sum.tally.merge(&inside.tally);
        sum.drained.merge(&inside.drained);
        sum.queue.due += inside.tally.begun + slice.not_begun.unwrap_or(0);
        sum.queue.closed.extend(slice.not_begun);
        sum.end.client.cpu_us += slice.client_cpu_us;
        for &(seat, queries) in &inside.queries_by_seat {
            *self.queries_by_seat.entry(seat).or_default() += queries;
        }
        self.visit_events += slice.visit.events;
        self.client.merge(&slice.visit.client);
        let place = usize::from(slice.arm_index);
        if let Some(Some(used)) = slice.visit.watched.get(place) {
            self.server.get_or_insert_default().merge(used);
        }
        if let Some(Some(cpu_us)) = slice.watched_cpu_us.get(place) {
            sum.end.server.get_or_insert_default().cpu_us += cpu_us;
        }
        self.nodes.resize(nodes.visit.len(), None);
        for (ours, used) in self.nodes.iter_mut().zip(&nodes.visit) {
            if let Some(used) = used {
                ours.get_or_insert_default().merge(used);
            }
        }
        sum.node_servers.resize(nodes.cpu_us.len(), None);
        for (ours, cpu_us) in sum.node_servers.iter_mut().zip(&nodes.cpu_us) {
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
        let end = &mut sum.end;
        end.ended = match ended {
            Ended::Signal => Ended::Signal,
            _ if self.whole == self.slices && self.slices > 0 => Ended::Events,
            _ => Ended::Time,
        };
        sum.queries_by_seat = self.queries_by_seat.into_values().collect();
        end.client = self.client.scaled(share, end.client.cpu_us);
        let server = self.server.zip(end.server.take());
        end.server = server.map(|(all, inside)| all.scaled(share, inside.cpu_us));
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

/// What had not ended when a run was over.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Its events and requests.
    pub(super) end: WindowEnd,
    pub(super) counts: Counts,
    /// When the last session ended.
    pub(super) stopped_ns: u64,
}

/// The records of a window or slice.
pub(super) struct Inside {
    pub(super) tally: Tally,
    /// The part of it that ended after the window or slice.
    pub(super) drained: Tally,
    /// Events of the schedule that were due inside.
    pub(super) due: u64,
    /// Events that began since the arm was entered.
    pub(super) begun: u64,
    pub(super) busiest_worker_cpu_ns: u64,
    pub(super) queries_by_seat: Vec<(u32, u64)>,
}

/// What the nodes of an arm used: CPU time inside a slice, and all in its visit.
pub(super) struct NodesUsed {
    pub(super) cpu_us: Vec<Option<f64>>,
    pub(super) visit: Vec<Option<ProcessDelta>>,
}

/// Each kind of event, for an outcome; of a workload with one, the figures of all events are its
/// own.
pub fn kind_figures(workload: &dyn Workload, tally: &Tally) -> Vec<KindFigures> {
    let kinds = workload.kinds().iter().zip(&tally.kinds);
    let kinds = kinds.filter(|_| tally.kinds.len() > 1);
    let figures = kinds.map(|(kind, tally)| {
        let open = tally.open.as_ref();
        KindFigures {
            name: kind.name.clone(),
            figures: tally.figures(Latency::figures),
            service_us: open.map(|open| open.service.percentiles_us()),
            lag_us: open.map(|open| open.lag.percentiles_us()),
            classes: kind.classes.clone(),
        }
    });
    figures.collect()
}

/// The errors for an outcome, each with what can be done about it.
pub fn with_hints(errors: &ErrorTally) -> Vec<ErrorCount> {
    let mut errors = errors.counts();
    for error in &mut errors {
        error.hint = failure::hint(error.code).map(str::to_owned);
    }
    errors
}
