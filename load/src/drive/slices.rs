//! A run of several arms: hops from arm to arm by a seeded schedule of slices.
//!
//! All connections to all arms stay open and warm. A slice is a small run of its own: the seats
//! of its arm begin together, settle, are measured, and end what they have begun. Nothing is run
//! on a server, and no other arm is loaded, before every query of the slice was answered.

use super::blocking::Connection;
use super::clock;
use super::control::{Controller, Left};
use super::counters::ProcessSnapshot;
use super::failure;
use super::job::{ArmJob, Arms};
use super::measured::{ArmSum, Ended, Inside, Measured, Progress, Slice, Visit};
use crate::outcome::{Failure, ProcessDelta};
use crate::random::Stream;
use crate::record::Tally;
use std::time::Duration;

/// From telling the workers to begin until they do.
const BEGIN_IN_NS: u64 = 200_000;
/// How long the answers after a slice, and the statements on entering an arm, may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Slices of an arm in a row without an answer after which the run ends; one may be chance.
const EMPTY_MAX: u32 = 3;
/// Keeps the order of the arms apart from the other long streams of a seed.
const ORDER_STREAM: u64 = (1 << 50) + 1;

/// The counters of our own process and of each arm's.
struct Counters {
    at_ns: u64,
    client: Option<ProcessSnapshot>,
    watched: Vec<Option<ProcessSnapshot>>,
}

/// Their CPU time alone, which is read while the load goes on.
struct Cpu {
    client_ns: u64,
    watched_ns: Vec<Option<u64>>,
}

/// Which slice.
#[derive(Clone, Copy)]
struct Place {
    index: u32,
    arm: u16,
    round: u32,
    position: u16,
}

impl Controller<'_> {
    /// Controls a run of several arms.
    pub(super) fn control_arms(
        &mut self,
        engine: &'static str,
        arms: &Arms,
        warmup_ns: u64,
    ) -> Result<Measured, Failure> {
        self.wait_for_setup(engine)?;
        let mut controls = self.open_controls(arms)?;
        for arm in 0..self.setup.copies() {
            if warmup_ns > 0 && self.ended != Ended::Signal {
                enter(arms, &mut controls, arm).map_err(|f| self.setup.at(arm, f))?;
                self.begin(arm, BEGIN_IN_NS, warmup_ns, 0);
                self.end_visit(arm)?;
            }
        }
        let mut sums: Vec<ArmSum> = Vec::new();
        sums.resize_with(arms.arms.len(), || ArmSum::new(&|| self.setup.tally()));
        let (mut total, mut drained) = (self.setup.tally(), self.setup.tally());
        let mut order: Vec<u16> = (0..self.setup.copies()).collect();
        let mut stream = Stream::new(self.setup.seed, ORDER_STREAM);
        let begun_ns = clock::now_ns();
        let (mut index, mut measured_ns, mut busiest_ns) = (0, 0, 0);
        let mut left: Option<Counters> = None;
        'rounds: for round in 0..arms.rounds {
            shuffle(&mut order, &mut stream);
            for (position, &arm) in order.iter().enumerate() {
                let ran = enter(arms, &mut controls, arm);
                let ran = ran.map_err(|failure| self.setup.at(arm, failure))?;
                // Reading them takes a moment: once is enough if nothing happened since.
                let entered = match left.take() {
                    Some(counters) if !ran => counters,
                    _ => Counters::read(arms),
                };
                let place = Place {
                    index,
                    arm,
                    round,
                    position: position as u16,
                };
                let Some((slice, after)) = self.slice(place, arms, begun_ns, entered)? else {
                    break 'rounds;
                };
                left = Some(after);
                index += 1;
                measured_ns += arms.slice_ns;
                busiest_ns += slice.busiest_worker_cpu_ns;
                total.merge(&slice.tally);
                if let Some(sum) = sums.get_mut(usize::from(arm)) {
                    sum.add(&slice);
                    if sum.empty_in_a_row() >= EMPTY_MAX.min(arms.rounds) {
                        return Err(self.setup.at(arm, too_short(arms)));
                    }
                }
                drained.merge(&slice.drained);
                (self.progress)(Progress::Slice(&slice));
            }
        }
        let left = self.release()?;
        // Everything of a slice was answered; one that a signal cut off is in no figure.
        let sum = self.sum(Left {
            unfinished: 0,
            ..left
        });
        Ok(Measured {
            measured_ns,
            busiest_worker_cpu_ns: busiest_ns,
            tally: total,
            drained,
            arms: sums.into_iter().map(|arm| arm.end(sum.ended)).collect(),
            ..sum
        })
    }

    /// A connection for the statements on entering, to each arm that has some.
    fn open_controls(&self, arms: &Arms) -> Result<Vec<Option<Connection>>, Failure> {
        let open = |(place, arm): (usize, &ArmJob)| {
            if arm.enter.is_empty() {
                return Ok(None);
            }
            let place = place as u16;
            let opened = Connection::open(self.setup.server_at(place));
            opened.map(Some).map_err(|f| self.setup.at(place, f))
        };
        arms.arms.iter().enumerate().map(open).collect()
    }

    /// Measures one slice; none if a signal cut it off.
    fn slice(
        &mut self,
        place: Place,
        arms: &Arms,
        begun_ns: u64,
        entered: Counters,
    ) -> Result<Option<(Slice, Counters)>, Failure> {
        self.begin(place.arm, BEGIN_IN_NS, arms.settle_ns, arms.slice_ns);
        self.listen_until(|controller| controller.timeline.open_ns)?;
        let opened = Cpu::read(arms);
        self.listen_until(|controller| controller.timeline.close_ns)?;
        let closed = Cpu::read(arms);
        let (inside, drained) = self.end_visit(place.arm)?;
        let left = Counters::read(arms);
        if self.ended == Ended::Signal {
            return Ok(None);
        }
        let timeline = self.timeline;
        let mut tally = inside.tally;
        tally.merge(&drained);
        let schedule = self.setup.dispenser.schedule();
        let slice = Slice {
            index: place.index,
            arm: place.arm,
            round: place.round,
            position: place.position,
            start_s: seconds(timeline.open_ns.saturating_sub(begun_ns)),
            duration_s: seconds(timeline.close_ns - timeline.open_ns),
            drained,
            not_begun: schedule.map(|_| inside.due.saturating_sub(tally.begun)),
            tally,
            busiest_worker_cpu_ns: inside.busiest_worker_cpu_ns,
            queries_by_seat: inside.queries_by_seat,
            client_cpu_us: closed.client_ns.saturating_sub(opened.client_ns) as f64 / 1e3,
            watched_cpu_us: closed.since(&opened),
            visit: Visit {
                duration_s: seconds(left.at_ns - entered.at_ns),
                events: inside.begun,
                client: left.client_since(&entered),
                watched: left.watched_since(&entered),
            },
        };
        Ok(Some((slice, left)))
    }

    /// Waits until the window of an arm is closed and everything was answered. Returns what
    /// belongs to it and ended inside, and after it.
    fn end_visit(&mut self, arm: u16) -> Result<(Inside, Tally), Failure> {
        self.listen_until(|controller| controller.timeline.close_ns)?;
        self.wait_for_close()?;
        let limit_ns = clock::now_ns() + clock::nanoseconds(PATIENCE);
        if !self.wait_until_drained(limit_ns)? {
            return Err(self.setup.at(
                arm,
                Failure {
                    hint: Some("see what the server is busy with: SHOW PROCESSLIST".to_owned()),
                    ..failure::plain(format!(
                        "not every query was answered within {} s after its slice",
                        PATIENCE.as_secs()
                    ))
                },
            ));
        }
        Ok(self.take_visit())
    }
}

/// Answers take longer than slices.
fn too_short(arms: &Arms) -> Failure {
    Failure {
        hint: Some("make load.slices.slice_s longer than an answer takes".to_owned()),
        ..failure::plain(format!(
            "slices of {} s are too short: no event ended inside one, all were answered after it",
            seconds(arms.slice_ns)
        ))
    }
}

/// Runs the statements of an arm; false if it has none.
fn enter(arms: &Arms, controls: &mut [Option<Connection>], arm: u16) -> Result<bool, Failure> {
    let place = usize::from(arm);
    let (Some(arm), Some(Some(control))) = (arms.arms.get(place), controls.get_mut(place)) else {
        return Ok(false);
    };
    for statement in &arm.enter {
        let mut patience = |waited| match waited < PATIENCE {
            true => Ok(()),
            false => Err(Failure {
                statement: Some(statement.clone()),
                ..failure::plain(format!(
                    "a statement on entering did not end within {} s",
                    PATIENCE.as_secs()
                ))
            }),
        };
        control.run(statement, &mut patience)?;
    }
    Ok(true)
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

impl Counters {
    fn read(arms: &Arms) -> Self {
        let watched = arms.arms.iter().map(|arm| arm.watch_pid);
        Self {
            at_ns: clock::now_ns(),
            client: ProcessSnapshot::take(std::process::id()),
            watched: watched
                .map(|pid| pid.and_then(ProcessSnapshot::take))
                .collect(),
        }
    }

    fn client_since(&self, before: &Self) -> ProcessDelta {
        let pair = before.client.as_ref().zip(self.client.as_ref());
        pair.map(|(before, after)| before.until(after))
            .unwrap_or_default()
    }

    fn watched_since(&self, before: &Self) -> Vec<Option<ProcessDelta>> {
        let pairs = before.watched.iter().zip(&self.watched);
        let delta = |(before, after): (&Option<ProcessSnapshot>, &Option<ProcessSnapshot>)| {
            Some(before.as_ref()?.until(after.as_ref()?))
        };
        pairs.map(delta).collect()
    }
}

impl Cpu {
    fn read(arms: &Arms) -> Self {
        let watched = arms.arms.iter().map(|arm| arm.watch_pid);
        Self {
            client_ns: clock::process_cpu_ns(std::process::id()).unwrap_or(0),
            watched_ns: watched
                .map(|pid| pid.and_then(clock::process_cpu_ns))
                .collect(),
        }
    }

    fn since(&self, before: &Self) -> Vec<Option<f64>> {
        let pairs = before.watched_ns.iter().zip(&self.watched_ns);
        let delta = |(before, after): (&Option<u64>, &Option<u64>)| {
            Some(after.as_ref()?.saturating_sub(*before.as_ref()?) as f64 / 1e3)
        };
        pairs.map(delta).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
