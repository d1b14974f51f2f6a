//! One result of the parts of a run that several hosts shared.
//!
//! Each host hands over its tallies as its workers do theirs, and they are added up in the same way.
//! So nothing is lost: percentiles are those of all times, and never made of percentiles.

use super::measured::{Measured, Queue};
use contend_figures::outcome::Ended;
use contend_figures::{Sum, Tally, TallyShape};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One interval of one host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartInterval {
    pub start_s: f64,
    pub duration_s: f64,
    pub backlog: u64,
    pub tally: Tally,
}

/// The hosts of a run, with their reports so far. Reports are added up when they come: the tally of
/// one host has some hundred kilobytes for each kind of time.
#[derive(Debug)]
pub struct HostParts {
    hosts: Vec<HostPart>,
    shape: TallyShape,
    /// How many intervals all of them have reported.
    told: usize,
    /// The sums of those that not every host has reported.
    sums: VecDeque<PartInterval>,
}

/// The reports of one host.
#[derive(Clone, Copy, Debug, Default)]
struct HostPart {
    /// How many intervals.
    intervals: usize,
    /// No more reports come from it.
    is_over: bool,
}

impl HostParts {
    /// For this number of hosts, whose tallies have this shape.
    pub fn new(hosts: usize, shape: TallyShape) -> Self {
        Self {
            hosts: vec![HostPart::default(); hosts],
            shape,
            told: 0,
            sums: VecDeque::new(),
        }
    }

    /// Takes the next interval of a host; `tell` is called with the number and the sum of each
    /// interval that all hosts have reported.
    ///
    /// # Errors
    /// The host does not exist, it had ended, or the interval is of a different run.
    pub fn take(
        &mut self,
        host: usize,
        interval: PartInterval,
        tell: &mut dyn FnMut(u32, PartInterval),
    ) -> Result<(), String> {
        self.check(&interval.tally)?;
        let told = self.told;
        let part = self.part(host)?;
        if part.is_over {
            return Err(format!("host {host} sent an interval after its end"));
        }
        let place = part.intervals - told;
        part.intervals += 1;
        match self.sums.get_mut(place) {
            Some(sum) => add(sum, &interval),
            None => self.sums.push_back(interval),
        }
        self.tell(tell);
        Ok(())
    }

    /// No more intervals of this host come: the others go on without it.
    ///
    /// # Errors
    /// The host does not exist.
    pub fn end(
        &mut self,
        host: usize,
        tell: &mut dyn FnMut(u32, PartInterval),
    ) -> Result<(), String> {
        self.part(host)?.is_over = true;
        self.tell(tell);
        Ok(())
    }

    /// Whether a tally is one of this run.
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self, tally: &Tally) -> Result<(), String> {
        match tally.is_of(self.shape) {
            true => Ok(()),
            false => Err("a host sent the result of a different plan".to_owned()),
        }
    }

    fn part(&mut self, host: usize) -> Result<&mut HostPart, String> {
        let hosts = self.hosts.len();
        let part = self.hosts.get_mut(host);
        part.ok_or_else(|| format!("host {host} does not exist; there are {hosts}"))
    }

    fn tell(&mut self, tell: &mut dyn FnMut(u32, PartInterval)) {
        let told_by_all = |told: usize, hosts: &[HostPart]| {
            let mut hosts = hosts.iter();
            hosts.all(|part| part.is_over || part.intervals > told)
        };
        while told_by_all(self.told, &self.hosts) {
            let Some(sum) = self.sums.pop_front() else {
                return;
            };
            tell(self.told as u32, sum);
            self.told += 1;
        }
    }
}

fn add(sum: &mut PartInterval, other: &PartInterval) {
    sum.tally.merge(&other.tally);
    sum.backlog += other.backlog;
    sum.start_s = sum.start_s.min(other.start_s);
    sum.duration_s = sum.duration_s.max(other.duration_s);
}

impl Measured {
    /// Adds another host's measurements of the same window.
    pub fn merge(&mut self, other: Self) {
        let (end, more) = (&mut self.end, other.end);
        end.ended = match (end.ended, more.ended) {
            (Ended::Signal, _) | (_, Ended::Signal) => Ended::Signal,
            (Ended::Events, Ended::Events) => Ended::Events,
            _ => Ended::Time,
        };
        end.measured_s = end.measured_s.max(more.measured_s);
        end.unfinished += more.unfinished;
        end.unanswered += more.unanswered;
        end.longest_wait_s = end.longest_wait_s.max(more.longest_wait_s);
        end.client.merge(&more.client);
        // One host looks at the processes of servers.
        end.server = end.server.take().or(more.server);
        if self.node_servers.iter().all(Option::is_none) {
            self.node_servers = other.node_servers;
        }
        self.tally.merge(&other.tally);
        self.drained.merge(&other.drained);
        let busiest_ns = &mut self.busiest_worker_cpu_ns;
        *busiest_ns = (*busiest_ns).max(other.busiest_worker_cpu_ns);
        self.queries_by_seat.extend(other.queries_by_seat);
        self.setup_connects.merge(&other.setup_connects);
        self.queue.merge(other.queue);
        self.ended_after_ns = self.ended_after_ns.max(other.ended_after_ns);
    }
}

impl Queue {
    /// Adds the queue of another host.
    fn merge(&mut self, other: Self) {
        let Self {
            due,
            opened,
            mut closed,
            oldest_wait_ns,
        } = other;
        self.due += due;
        self.opened += opened;
        self.oldest_wait_ns = self.oldest_wait_ns.max(oldest_wait_ns);
        // For a host that was done earlier, its last length counts.
        let longer = self.closed.len().max(closed.len());
        for lengths in [&mut self.closed, &mut closed] {
            let last = lengths.last().copied().unwrap_or_default();
            lengths.resize(longer, last);
        }
        for (ours, theirs) in self.closed.iter_mut().zip(closed) {
            *ours += theirs;
        }
    }
}

#[cfg(test)]
mod tests;
