//! Turns the progress of a run into outcome lines, and its result into the last line.

mod figures;

use super::new_file::NewFile;
use contend_console::output;
use contend_console::output::ratio;
use contend_engine::job::{ArmJob, Setup};
use contend_engine::measured::{Measured, Progress, Queue, kind_figures, with_hints};
use contend_engine::workload::Workload;
use contend_figures::outcome::{
    ArmFigures, Done, Figures, Hello, HostFigures, Interval, OUTCOME_VERSION, OpenLoop, Outcome,
    Phase,
};
use contend_figures::{HdrLog, Latency, OpenTally, Tally};
use serde::Serialize;
use std::io::{self, BufWriter};
use std::sync::Arc;

/// Turns progress into lines.
pub struct OutcomeWriter {
    arms: Vec<ArmWords>,
    connections: u32,
    /// The run hops between them.
    hops: bool,
    log: HistogramLog,
    /// Why a line or the log could not be written. The run goes on to its end without more lines.
    broken: Option<io::Error>,
}

/// Names for the figures of an arm, and the arm's depth.
struct ArmWords {
    name: String,
    depth: u32,
    workload: Arc<dyn Workload>,
    nodes: Vec<String>,
}

impl ArmWords {
    fn of(job: &ArmJob) -> Self {
        Self {
            name: job.name.clone(),
            depth: job.depth,
            workload: Arc::clone(&job.workload),
            nodes: job.named_nodes().map(|node| node.name.clone()).collect(),
        }
    }

    fn asks_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.workload, &other.workload);
        ours.kinds() == theirs.kinds() && ours.classes() == theirs.classes()
    }
}

/// The histogram log. It can only begin when the start time of the run is known.
enum HistogramLog {
    None,
    Waiting(BufWriter<NewFile>),
    Open(HdrLog<BufWriter<NewFile>>),
}

impl OutcomeWriter {
    pub fn new(setup: &Setup, log: Option<BufWriter<NewFile>>) -> Self {
        Self {
            arms: setup.arms.iter().map(ArmWords::of).collect(),
            connections: setup.own_connections(),
            hops: setup.has_arms(),
            log: log.map_or(HistogramLog::None, HistogramLog::Waiting),
            broken: None,
        }
    }

    /// Why not every line could be written.
    pub fn broken(self) -> Option<io::Error> {
        self.broken
    }

    pub fn write(&mut self, outcome: &Outcome) {
        self.write_line(outcome);
    }

    /// Writes anything as one line of JSON.
    pub fn write_line(&mut self, line: &impl Serialize) {
        if self.broken.is_some() {
            return;
        }
        let text = serde_json::to_string(line).map_err(io::Error::from);
        self.broken = text.and_then(|text| output::line(&text)).err();
    }

    pub fn take(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Ready {
                sessions,
                engine,
                workers,
                start,
            } => {
                self.log = match std::mem::replace(&mut self.log, HistogramLog::None) {
                    HistogramLog::Waiting(file) => match HdrLog::begin(file, start) {
                        Ok(log) => HistogramLog::Open(log),
                        Err(error) => {
                            self.broken = Some(error);
                            HistogramLog::None
                        }
                    },
                    other => other,
                };
                let session = sessions.first().cloned().unwrap_or_default();
                let nodes = match self.arms.first() {
                    Some(alone) if !self.hops => alone.nodes.as_slice(),
                    _ => &[],
                };
                let nodes = nodes.iter().zip(sessions).map(figures::node_hello);
                let nodes = nodes.collect();
                self.write(&Outcome::Hello(Hello {
                    version: OUTCOME_VERSION,
                    program_version: env!("CARGO_PKG_VERSION").to_owned(),
                    pid: std::process::id(),
                    threads: workers,
                    engine: engine.to_owned(),
                    server_version: session.server_version,
                    session: figures::words(&session.agreed),
                    nodes,
                }));
            }
            Progress::Phase { name, at_s, .. } => {
                self.write(&Outcome::Phase(Phase {
                    phase: name.to_owned(),
                    at_s,
                }));
            }
            Progress::Interval {
                index,
                start_s,
                duration_s,
                tally,
                backlog,
                ..
            } => {
                self.log_interval(0, start_s, duration_s, tally);
                let workload = self.arms.first().map(|arm| Arc::clone(&arm.workload));
                self.write(&Outcome::Interval(Box::new(Interval {
                    index,
                    start_s,
                    duration_s,
                    figures: Figures {
                        window: tally.window(None, duration_s),
                        ..tally.figures(Latency::summary)
                    },
                    errors: tally.errors.total(),
                    classes: match &workload {
                        Some(workload) if tally.classes.len() > 1 => {
                            figures::of_classes(&**workload, tally)
                        }
                        _ => Vec::new(),
                    },
                    backlog: tally.is_open().then_some(backlog),
                    scanned: workload.and_then(|workload| workload.scanned()),
                })));
            }
            Progress::Opened { .. } => {}
            Progress::Slice { slice, tally } => {
                let arm = usize::from(slice.arm_index);
                self.log_interval(arm, slice.start_s, slice.duration_s, tally);
                self.write(&Outcome::Slice(slice));
            }
        }
    }

    fn log_interval(&mut self, arm: usize, start_s: f64, duration_s: f64, tally: &Tally) {
        let (HistogramLog::Open(log), Some(arm)) = (&mut self.log, self.arms.get(arm)) else {
            return;
        };
        let mut written = log.write(None, start_s, duration_s, &tally.whole().response);
        if tally.kinds.len() > 1 {
            for (kind, tally) in arm.workload.kinds().iter().zip(&tally.kinds) {
                let tag = format!("event.{}", kind.name);
                written = written
                    .and_then(|()| log.write(Some(&tag), start_s, duration_s, &tally.response));
            }
        }
        for (name, class) in arm.workload.classes().iter().zip(&tally.classes) {
            if let Some(times) = &class.times {
                written = written.and_then(|()| log.write(Some(name), start_s, duration_s, times));
            }
        }
        let written = written.and_then(|()| log.to().get_mut().keep());
        if let Err(error) = written {
            self.broken = Some(error);
            self.log = HistogramLog::None;
        }
    }

    pub fn done(&mut self, measured: &Measured) -> Done {
        // Events that ended after the window get the last line of the log, so that its lines add up
        // to all events.
        if measured.drained.events() > 0 && measured.arms.is_empty() {
            self.log_interval(0, measured.end.measured_s, 0.0, &measured.drained);
        }
        let arms = self.arms.iter().zip(&measured.arms);
        let arms = arms.map(|(words, arm)| ArmFigures {
            arm: words.name.clone(),
            slices: arm.slices,
            done: self.sum(&arm.sum, Some(words)),
        });
        let mut words = self.arms.iter();
        // If the arms ask different things, their common figures have neither kinds nor classes.
        let first = words.next();
        let common = first.filter(|first| words.all(|other| first.asks_as(other)));
        let depth = self.arms.first().map(|first| first.depth);
        let depth = depth.filter(|depth| self.arms.iter().all(|arm| arm.depth == *depth));
        Done {
            arms: arms.collect(),
            depth,
            nodes: match (common, self.hops) {
                (Some(alone), false) => figures::of_nodes(&alone.nodes, measured),
                _ => Vec::new(),
            },
            ..self.sum(measured, common)
        }
    }

    /// All figures but those of arms.
    fn sum(&self, measured: &Measured, words: Option<&ArmWords>) -> Done {
        let tally = &measured.tally;
        let whole = tally.whole();
        let (of_schedule, after_thinking) = match tally.is_open() {
            true => (whole.open.as_ref(), None),
            false => (None, whole.open.as_ref()),
        };
        let connect = tally.connect.as_deref();
        let served = || measured.queries_by_seat.iter().copied();
        let arrival = match tally.is_open() {
            true => "open-loop",
            false => "closed-loop",
        };
        Done {
            end: measured.end.clone(),
            figures: figures_of(measured, Latency::figures),
            kinds: words.map_or(Vec::new(), |arm| kind_figures(&*arm.workload, tally)),
            drained: measured.drained.figures(Latency::figures),
            arrival: arrival.to_owned(),
            connections: self.connections,
            depth: words.map(|arm| arm.depth),
            classes: words.map_or(Vec::new(), |arm| figures::of_classes(&*arm.workload, tally)),
            errors: with_hints(&tally.errors),
            setup_connect_us: measured.setup_connects.percentiles_us(),
            connect_us: connect.map(Latency::percentiles_us).unwrap_or_default(),
            open: of_schedule.map(|open| open_loop(open, measured)),
            lag_us: after_thinking.map(|open| open.lag.percentiles_us()),
            nodes: words.map_or(Vec::new(), |arm| figures::of_nodes(&arm.nodes, measured)),
            client_busiest_thread_share: busiest_share(measured),
            fairness: jain(&measured.queries_by_seat),
            least_served: served().min().unwrap_or_default(),
            most_served: served().max().unwrap_or_default(),
            scanned: words.and_then(|arm| arm.workload.scanned()),
            arms: Vec::new(),
            files: Vec::new(),
            hosts: Vec::new(),
        }
    }
}

/// The figures of one of several hosts, without its name, its connections and its clocks.
pub fn host_figures(measured: &Measured) -> HostFigures {
    let tally = &measured.tally;
    let due = tally.is_open().then_some(measured.queue.due);
    let whole = tally.whole();
    HostFigures {
        figures: figures_of(measured, Latency::summary),
        lag_us: whole.open.as_ref().map(|open| open.lag.percentiles_us()),
        not_begun: due.map(|due| due.saturating_sub(tally.begun)),
        client: measured.end.client.clone(),
        client_busiest_thread_share: busiest_share(measured),
        ..HostFigures::default()
    }
}

fn figures_of(measured: &Measured, times: impl Fn(&Latency) -> Figures) -> Figures {
    let tally = &measured.tally;
    Figures {
        window: tally.window(Some(&measured.drained), measured.end.measured_s),
        ..tally.figures(times)
    }
}

fn busiest_share(measured: &Measured) -> f64 {
    let busiest_s = measured.busiest_worker_cpu_ns as f64 / 1e9;
    ratio(busiest_s, measured.end.measured_s)
}

/// Additional figures of an open loop.
fn open_loop(open: &OpenTally, measured: &Measured) -> OpenLoop {
    let queue = &measured.queue;
    let measured_s = measured.end.measured_s;
    let closed = queue.closed.last().copied().unwrap_or(queue.opened);
    let growth = closed as f64 - queue.opened as f64;
    let due_per_s = ratio(queue.due as f64, measured_s);
    OpenLoop {
        due: queue.due,
        not_begun: queue.due.saturating_sub(measured.tally.begun),
        service_us: open.service.percentiles_us(),
        service_hdr_ns: open.service.encode(),
        lag_us: open.lag.percentiles_us(),
        lag_hdr_ns: open.lag.encode(),
        due_per_s,
        backlog_open: queue.opened,
        backlog_close: closed,
        backlog_growth_per_s: ratio(growth, measured_s),
        oldest_wait_s: queue.oldest_wait_ns as f64 / 1e9,
        overloaded: is_overloaded(queue, due_per_s),
    }
}

/// The run is overloaded if its queue grew by more than the events of this time.
const OVERLOAD_S: f64 = 0.01;

/// Whether the queue grew over the window. After a stall, even a long one, the queue empties again.
/// So this compares the median length in the second half of the window with that in the first.
fn is_overloaded(queue: &Queue, due_per_s: f64) -> bool {
    let lengths = &queue.closed;
    let (early, late) = lengths.split_at(lengths.len() / 2);
    let before = median(early).unwrap_or(queue.opened);
    let after = median(late).unwrap_or(before);
    after as f64 > before as f64 + OVERLOAD_S * due_per_s
}

fn median(lengths: &[u64]) -> Option<u64> {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    // For an even number, the lower of the two middle ones: in doubt it is not an overload.
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// Jain's index: 1 if all have the same, 1/n if one of n has everything.
fn jain(counts: &[u64]) -> f64 {
    let sum: f64 = counts.iter().map(|count| *count as f64).sum();
    let squares: f64 = counts.iter().map(|count| (*count as f64).powi(2)).sum();
    // All counts are 0, so all are the same.
    if squares == 0.0 {
        1.0
    } else {
        sum * sum / (counts.len() as f64 * squares)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn fairness_is_one_when_even_and_falls_to_one_of_n() {
        assert!((jain(&[5, 5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((jain(&[0, 0, 0, 8]) - 0.25).abs() < 1e-12);
        assert!((jain(&[0, 0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_growing_queue_is_overload_and_a_stall_is_not() {
        let queue = |closed: &[u64]| Queue {
            due: 0,
            opened: 0,
            closed: closed.into(),
            oldest_wait_ns: 0,
        };
        assert!(is_overloaded(&queue(&[100, 200, 300, 400]), 1000.0));
        assert!(is_overloaded(&queue(&[500]), 1000.0));
        assert!(!is_overloaded(&queue(&[0, 0, 0, 200]), 1000.0));
        assert!(!is_overloaded(&queue(&[0, 200, 0, 0]), 1000.0));
        assert!(!is_overloaded(&queue(&[3, 1, 4, 2]), 1000.0));
        assert!(!is_overloaded(&queue(&[]), 0.0));
    }
}
