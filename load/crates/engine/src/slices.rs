//! A run of several arms: hops from arm to arm by a seeded schedule of slices.
//!
//! All connections to all arms stay open and warm. A slice is a small run of its own: the seats of
//! its arm begin together, settle, are measured, and end their events. The next arm is entered and
//! loaded only after every query of the slice was answered. If an arm's events have an end, its
//! slice is all of them, to the end of the last event.

use super::control::Controller;
use super::job::{ArmJob, At, Hops};
use super::look::{LookedAt, Looking};
use super::measured;
use super::measured::{ArmSum, Inside, Measured, MeasuredArm, NodesUsed, Progress};
use super::messages::Command;
use super::processes::{Counters, Processes};
use crate::look;
use contend_client::blocking::ControlConnection;
use contend_figures::outcome::{Ended, Failure, Figures, Slice, Visit, WindowEnd};
use contend_figures::{Latency, Sum};
use contend_random::Stream;
use contend_reactor::clock;
use std::time::Duration;

/// Time from the command to begin until the slice begins.
const BEGIN_IN_NS: u64 = 200_000;
/// How long the answers after a slice, and the statements on entering an arm, may take at least.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between checks that the watched processes are at rest, and the share of a CPU below
/// which they are, together.
const REST_STEP_NS: u64 = 5_000_000;
const AT_REST: f64 = 0.05;
/// The run ends after this number of slices of an arm in a row that held no event. One such slice
/// may be chance.
const EMPTY_MAX: u32 = 3;
/// The random stream for the order of the arms; no long stream of a seed shares its number.
const ORDER_STREAM: u64 = (1 << 50) + 1;

/// Which slice.
#[derive(Clone, Copy)]
struct SlicePlace {
    index: u32,
    arm: u16,
    round: u32,
    position: u16,
}

impl Controller<'_> {
    /// Controls a run of several arms.
    pub(super) fn control_arms(&mut self, hops: Hops, warmup_ns: u64) -> Result<Measured, Failure> {
        self.wait_for_setup()?;
        let processes = Processes::of(&self.setup);
        let mut controls = self.open_controls()?;
        for arm in 0..self.setup.copies() {
            if warmup_ns > 0 && self.ended != Ended::Signal {
                self.enter(&mut controls, arm)?;
                self.begin(arm, clock::now_ns() + BEGIN_IN_NS, warmup_ns, 0);
                self.end_visit(arm, PATIENCE)?;
            }
        }
        let sums = (0..self.setup.copies()).map(|arm| ArmSum::new(&self.setup.tally(arm)));
        let mut sums: Vec<ArmSum> = sums.collect();
        let mut all = Measured {
            tally: self.setup.tally_of_all(),
            drained: self.setup.tally_of_all(),
            ..Measured::default()
        };
        let mut order: Vec<u16> = (0..self.setup.copies()).collect();
        let mut stream = Stream::new(self.setup.seed, ORDER_STREAM);
        let begun_ns = clock::now_ns();
        let mut index = 0;
        let mut left: Option<Counters> = None;
        let mut looks = match hops.look_reads_per_s {
            Some(_) => self.looks()?,
            None => Vec::new(),
        };
        'rounds: for round in 0..hops.rounds {
            shuffle(&mut order, &mut stream);
            for (position, &arm) in order.iter().enumerate() {
                let ran = self.enter(&mut controls, arm)?;
                // Reading the counters takes a moment. If no statements were run on entering, the
                // reading taken after the slice before is used.
                let entered = match left.take() {
                    Some(counters) if !ran => counters,
                    _ => processes.read(),
                };
                let place = SlicePlace {
                    index,
                    arm,
                    round,
                    position: position as u16,
                };
                let looked = looks.get_mut(usize::from(arm)).and_then(Option::as_mut);
                let looked = looked.filter(|_| look::is_looked(round));
                let slow_ns = sums.get(usize::from(arm)).map_or(0, ArmSum::slow_ns);
                let looked = looked.map(|looked| (looked, slow_ns));
                let Some((slice, inside, nodes, after)) =
                    self.slice(place, hops, &processes, begun_ns, entered, looked)?
                else {
                    break 'rounds;
                };
                left = Some(after);
                index += 1;
                all.end.measured_s += slice.duration_s;
                all.busiest_worker_cpu_ns += inside.busiest_worker_cpu_ns;
                all.tally.merge(&inside.tally);
                all.drained.merge(&inside.drained);
                if let Some(sum) = sums.get_mut(usize::from(arm)) {
                    sum.add(&slice, &inside, &nodes);
                    if sum.empty_in_a_row() >= EMPTY_MAX.min(hops.rounds) {
                        return Err(self.setup.named(first_of(arm), too_short(hops)));
                    }
                }
                (self.progress)(Progress::Slice {
                    slice: Box::new(slice),
                    tally: &inside.tally,
                });
                if self.rest(&processes, hops.rest_ns)? {
                    left = None;
                }
            }
        }
        let left = self.release(self.setup.drain_ns)?;
        let sum = self.sum(left);
        let arms = sums.into_iter().map(|arm| arm.end(sum.end.ended));
        let arms: Vec<MeasuredArm> = arms.collect();
        let all_done = arms.iter().all(|arm| arm.sum.end.ended == Ended::Events);
        Ok(Measured {
            end: WindowEnd {
                ended: match sum.end.ended {
                    Ended::Signal => Ended::Signal,
                    _ if all_done => Ended::Events,
                    _ => Ended::Time,
                },
                measured_s: all.end.measured_s,
                // All events of a measured slice have ended. A slice that a signal cut off is in no
                // figure.
                unfinished: 0,
                ..sum.end
            },
            arms,
            tally: all.tally,
            drained: all.drained,
            busiest_worker_cpu_ns: all.busiest_worker_cpu_ns,
            ..sum
        })
    }

    /// Waits until the watched processes use next to no CPU, at most `most_ns`; false if that took
    /// no time.
    fn rest(&mut self, processes: &Processes, most_ns: u64) -> Result<bool, Failure> {
        let limit_ns = clock::now_ns().saturating_add(most_ns);
        while self.ended != Ended::Signal && clock::now_ns() < limit_ns {
            let before = processes.read_cpu();
            let until_ns = before.at_ns.saturating_add(REST_STEP_NS);
            self.listen_until(|_| until_ns)?;
            let after = processes.read_cpu();
            let used_us = after
                .us_since(&before)
                .servers()
                .into_iter()
                .flatten()
                .sum();
            if is_at_rest(used_us, after.at_ns - before.at_ns) {
                break;
            }
        }
        Ok(most_ns > 0)
    }

    /// Each arm's watched process for the diagnostic pass. Its threads are queried now that all
    /// connections are open; if the server does not list them, the arm has no slow events.
    fn looks(&self) -> Result<Vec<Option<LookedAt>>, Failure> {
        let look = |(arm, job): (u16, &ArmJob)| {
            // With several processes it is unknown which thread serves which connection.
            let &[pid] = job.watch_pids.as_slice() else {
                return Ok(None);
            };
            let connections = match &job.watch_threads {
                Some(statement) => {
                    let opened = ControlConnection::open(self.setup.sql_of(arm));
                    let mut control = opened.map_err(|f| self.setup.named(first_of(arm), f))?;
                    let rows = control.rows(statement, &mut |waited| in_time(waited, statement));
                    rows.map(|rows| look::connections_in(&rows)).ok()
                }
                None => None,
            };
            Ok(Some(LookedAt::new(pid, connections)))
        };
        (0..).zip(self.setup.arms.iter()).map(look).collect()
    }

    /// A connection for the statements on entering, to each arm that has some.
    fn open_controls(&self) -> Result<Vec<Option<ControlConnection>>, Failure> {
        let open = |(arm, job): (u16, &ArmJob)| {
            if job.enter.is_empty() {
                return Ok(None);
            }
            let at = first_of(arm);
            let opened = ControlConnection::open(self.setup.sql_of(arm));
            opened.map(Some).map_err(|f| self.setup.named(at, f))
        };
        (0..).zip(self.setup.arms.iter()).map(open).collect()
    }

    /// Runs the statements of an arm; false if it has none.
    fn enter(&self, controls: &mut [Option<ControlConnection>], arm: u16) -> Result<bool, Failure> {
        let Some(Some(control)) = controls.get_mut(usize::from(arm)) else {
            return Ok(false);
        };
        for statement in &self.setup.arms.at(arm).enter {
            let ran = run_in_time(control, statement);
            ran.map_err(|failure| self.setup.named(first_of(arm), failure))?;
        }
        Ok(true)
    }

    /// Measures one slice; none if a signal cut it off. `looked` is the diagnostic pass and the
    /// time from which an event is slow.
    fn slice(
        &mut self,
        place: SlicePlace,
        hops: Hops,
        processes: &Processes,
        begun_ns: u64,
        entered: Counters,
        looked: Option<(&mut LookedAt, u64)>,
    ) -> Result<Option<(Slice, Inside, NodesUsed, Counters)>, Failure> {
        let slow_ns = looked.as_ref().map_or(u64::MAX, |(_, slow_ns)| *slow_ns);
        let connections = looked.as_ref().and_then(|(look, _)| look.connections());
        let prepared = looked.map(|(look, _)| look.prepare());
        if connections.is_some() {
            self.tell(Command::NoteSlow(slow_ns));
        }
        let begin_ns = clock::now_ns() + BEGIN_IN_NS;
        self.begin(place.arm, begin_ns, hops.settle_ns, hops.slice_ns);
        self.listen_until(|controller| controller.timeline.open_ns)?;
        let opened = processes.read_cpu();
        let (reads, seed) = (hops.look_reads_per_s.unwrap_or(1), self.setup.seed);
        let looking = prepared.map(|look| look.begin(reads, seed, place.index));
        if looking.is_some() {
            self.listen_until(|controller| {
                let timeline = controller.timeline;
                look::until_ns(timeline.open_ns, timeline.close_ns)
            })?;
        }
        let look = looking.map(Looking::end);
        self.listen_until(|controller| controller.timeline.close_ns)?;
        let closed = processes.read_cpu();
        // Statements may take as long as the statements that this slice length was chosen for.
        let patience = Duration::from_nanos(hops.slice_ns).max(PATIENCE);
        let inside = self.end_visit(place.arm, patience)?;
        let left = processes.read();
        let look = look.map(|look| match &connections {
            Some(connections) => {
                let events = std::mem::take(&mut self.slow);
                look.with_slow(connections, &events, slow_ns)
            }
            None => look.times,
        });
        if connections.is_some() {
            self.tell(Command::NoteSlow(u64::MAX));
        }
        if self.ended == Ended::Signal {
            return Ok(None);
        }
        let timeline = self.timeline;
        let duration_s = seconds(timeline.close_ns - timeline.open_ns);
        let job = self.setup.arms.at(place.arm);
        let tally = &inside.tally;
        let schedule = job.dispenser.schedule();
        let cpu_us = closed.us_since(&opened);
        let used = left.used_since(&entered);
        let nodes = NodesUsed {
            cpu_us: cpu_us.nodes_of(place.arm),
            visit: used.nodes_of(place.arm),
        };
        let slice = Slice {
            index: place.index,
            arm: job.name.clone(),
            arm_index: place.arm,
            round: place.round,
            position: place.position,
            start_s: seconds(timeline.open_ns.saturating_sub(begun_ns)),
            duration_s,
            ended: self.ended,
            figures: Figures {
                window: tally.window(Some(&inside.drained), duration_s),
                ..tally.figures(Latency::figures)
            },
            drained: inside.drained.events(),
            kinds: measured::kind_figures(&*job.workload, tally),
            not_begun: schedule.map(|_| inside.due.saturating_sub(tally.begun)),
            errors: measured::with_hints(&tally.errors),
            client_cpu_us: cpu_us.client.unwrap_or_default(),
            watched_cpu_us: cpu_us.servers(),
            visit: Visit {
                duration_s: seconds(left.at_ns - entered.at_ns),
                events: inside.begun,
                client: used.client.clone().unwrap_or_default(),
                watched: used.servers(),
            },
            look,
        };
        Ok(Some((slice, inside, nodes, left)))
    }

    /// Waits until the window of an arm is closed and all its events have ended. Returns their
    /// records.
    fn end_visit(&mut self, arm: u16, patience: Duration) -> Result<Inside, Failure> {
        self.listen_until(|controller| controller.timeline.close_ns)?;
        self.wait_for_close()?;
        let limit_ns = clock::now_ns() + clock::nanoseconds(patience);
        if !self.wait_until_drained(limit_ns)? {
            return Err(self.setup.named(
                first_of(arm),
                Failure {
                    hint: Some("check what the server is doing: SHOW PROCESSLIST".to_owned()),
                    ..Failure::plain(format!(
                        "not every query was answered within {} s after its slice",
                        patience.as_secs()
                    ))
                },
            ));
        }
        Ok(self.take_visit())
    }
}

/// The failure of a run whose answers take longer than its slices.
fn too_short(hops: Hops) -> Failure {
    Failure {
        hint: Some("increase load.slices.slice_s above the time of an answer".to_owned()),
        ..Failure::plain(format!(
            "slices of {} s are too short: no event both began and ended inside one",
            seconds(hops.slice_ns)
        ))
    }
}

/// The first server of an arm, by which the failures of the arm are named.
fn first_of(arm: u16) -> At {
    At { arm, node: 0 }
}

fn run_in_time(control: &mut ControlConnection, statement: &str) -> Result<(), Failure> {
    let ran = control.run(statement, &mut |waited| in_time(waited, statement));
    ran.map(drop)
}

/// The patience with a statement of ours.
fn in_time(waited: Duration, statement: &str) -> Result<(), Failure> {
    if waited < PATIENCE {
        return Ok(());
    }
    Err(Failure {
        statement: Some(statement.to_owned()),
        ..Failure::plain(format!(
            "a statement of `enter` did not end within {} s",
            PATIENCE.as_secs()
        ))
    })
}

/// Whether processes that used `used_us` of CPU in this time have finished their work.
fn is_at_rest(used_us: f64, time_ns: u64) -> bool {
    used_us * 1e3 <= AT_REST * time_ns as f64
}

/// Each order is equally likely.
fn shuffle(order: &mut [u16], stream: &mut Stream) {
    for end in (1..order.len()).rev() {
        let place = stream.below(end as u64 + 1) as usize;
        order.swap(end, place);
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_of_a_cpu_is_rest() {
        assert!(is_at_rest(0.0, 5_000_000));
        assert!(is_at_rest(250.0, 5_000_000));
        assert!(!is_at_rest(251.0, 5_000_000));
    }

    #[test]
    fn every_order_of_the_arms_is_equally_likely() {
        let mut stream = Stream::new(7, ORDER_STREAM);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..6_000 {
            let mut order = [0, 1, 2];
            shuffle(&mut order, &mut stream);
            *counts.entry(order).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1150).contains(count)));
    }
}
