//! The end of a run: every worker closes its window and ends its sessions, or is given up.
//!
//! A session may block its worker for ever, in a function that knows nothing of the run. If each
//! connection has a worker of its own, the run ends without such a worker, and counts its event as
//! unfinished. What it counted until then is known: it has not moved since.

use super::control::{Controller, gone};
use super::measured::Left;
use super::messages::{Command, Counts, Report};
use super::tallies::Tallies;
use contend_figures::outcome::Failure;
use contend_figures::{Counter, Reading, Sum};
use contend_reactor::clock;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How long a worker may take, on an overloaded machine, for something that normally takes no time.
/// A worker that takes longer counts as stuck.
const GRACE_NS: u64 = 10_000_000_000;
/// The same for a worker whose session may block it, and without which a run ends too.
const GRACE_OF_BLOCKED_NS: u64 = 3_000_000_000;
/// How much of that a session may compute before it is stopped, and how often it is asked to stop.
const STOP_AFTER_NS: u64 = 2_000_000_000;
const STOP_EVERY_NS: u64 = 200_000_000;

impl Controller<'_> {
    pub(super) fn wait_for_close(&mut self) -> Result<(), Failure> {
        // A script that computes blocks its worker until its event is over: allow `drain_ns` too.
        let limit_ns = (clock::now_ns() + self.grace_ns()).saturating_add(self.setup.drain_ns);
        while self.workers_closed < self.workers() {
            match self.next_before(limit_ns)? {
                Some(report) => self.take(report)?,
                None => self.close_without_lost()?,
            }
        }
        Ok(())
    }

    pub(super) fn wait_for_end(&mut self, drain_ns: u64) -> Result<Left, Failure> {
        let limit_ns = (clock::now_ns() + self.grace_ns()).saturating_add(drain_ns);
        let mut left = Left::default();
        let mut to_end = self
            .reported
            .iter()
            .filter(|worker| !worker.is_lost)
            .count();
        while to_end > 0 {
            let Some(report) = self.next_before(limit_ns)? else {
                break;
            };
            match report {
                report if self.is_of_lost(&report) => {}
                Report::Ended {
                    worker,
                    tally,
                    unfinished,
                    unanswered,
                    longest_wait_ns,
                    counts,
                    stopped_ns,
                } => {
                    to_end -= 1;
                    if let Some(reported) = self.reported.get_mut(worker as usize) {
                        reported.has_ended = true;
                    }
                    left.counts.extend(counts);
                    left.stopped_ns = left.stopped_ns.max(stopped_ns);
                    left.end.unfinished += unfinished;
                    if let Some(tally) = &tally {
                        self.drained.merge(tally);
                    }
                    left.end.unanswered += unanswered;
                    let longest_wait_s = longest_wait_ns as f64 / 1e9;
                    left.end.longest_wait_s = left.end.longest_wait_s.max(longest_wait_s);
                }
                // After a signal, the wait is no longer than if the signal had ended the run.
                Report::Signal if drain_ns > self.setup.drain_ns => {
                    self.tell(Command::Release(self.setup.drain_ns));
                }
                report => self.take(report)?,
            }
        }
        for worker in 0..self.workers() {
            if !self.has_ended(worker) {
                left.end.unfinished += 1;
                left.end.unanswered += 1;
                left.counts.extend(self.counts_of(worker));
                left.stopped_ns = left.stopped_ns.max(self.timeline.close_ns);
            }
        }
        self.take_shared_rest();
        Ok(left)
    }

    /// The next report. Sessions that compute without end are stopped some time before the limit.
    /// None if workers that have not come back by then are given up.
    fn next_before(&mut self, limit_ns: u64) -> Result<Option<Report>, Failure> {
        let mut until_ns = limit_ns.saturating_sub(self.grace_ns() - STOP_AFTER_NS);
        let mut computes = false;
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(clock::now_ns()));
            match self.reports.recv_timeout(left) {
                Ok(report) => return Ok(Some(report)),
                Err(RecvTimeoutError::Timeout) if until_ns < limit_ns => {
                    for arm in self.setup.arms.iter() {
                        computes |= arm.workload.stop();
                    }
                    until_ns = match computes {
                        true => limit_ns.min(clock::now_ns() + STOP_EVERY_NS),
                        false => limit_ns,
                    };
                }
                Err(RecvTimeoutError::Timeout) if self.gives_up() => return Ok(None),
                Err(RecvTimeoutError::Timeout) if computes => return Err(never_back()),
                Err(_) => return Err(gone()),
            }
        }
    }

    /// Whether a run ends without workers that do not come back.
    fn gives_up(&self) -> bool {
        self.setup.blocks && !self.setup.has_arms()
    }

    fn grace_ns(&self) -> u64 {
        match self.gives_up() {
            true => GRACE_OF_BLOCKED_NS,
            false => GRACE_NS,
        }
    }

    pub(super) fn is_of_lost(&self, report: &Report) -> bool {
        let reported = |worker| self.reported.get(worker as usize);
        report
            .worker()
            .and_then(reported)
            .is_some_and(|worker| worker.is_lost)
    }

    fn has_ended(&self, worker: u32) -> bool {
        let reported = self.reported.get(worker as usize);
        reported.is_some_and(|worker| worker.has_ended)
    }

    /// Gives up the workers that have not closed their window, and reports for each what it would
    /// have reported at each edge: the same at all of them.
    fn close_without_lost(&mut self) -> Result<(), Failure> {
        let intervals = self.intervals_of_window();
        for worker in 0..self.workers() {
            let Some(reported) = self.reported.get(worker as usize).copied() else {
                continue;
            };
            if reported.has_closed {
                continue;
            }
            let counts = self.counts_of(worker);
            let begun = reported.opened.unwrap_or(0) + begun_of(&counts);
            if reported.opened.is_none() {
                let counts = counts.clone();
                self.take(Report::Opened {
                    worker,
                    before: None,
                    counts,
                    begun,
                })?;
            }
            for interval in reported.intervals..intervals {
                // The first edge is that at which the window opened.
                let tallies = self.shared();
                let tally = tallies.and_then(|shared| shared.hand_over(interval + 2));
                self.take_interval(worker, tally, counts.clone(), begun, None);
            }
            self.take(Report::Closed {
                worker,
                cpu_ns: 0,
                queries_by_seat: Vec::new(),
            })?;
            if let Some(reported) = self.reported.get_mut(worker as usize) {
                reported.is_lost = true;
            }
        }
        Ok(())
    }

    fn intervals_of_window(&self) -> u32 {
        let (timeline, checkpoints_ns) = (self.timeline, &self.setup.checkpoints_ns);
        let (mut intervals, mut end_ns) = (0, timeline.open_ns);
        loop {
            end_ns = timeline.interval_end_ns(end_ns, checkpoints_ns);
            intervals += 1;
            if end_ns >= timeline.close_ns {
                return intervals;
            }
        }
    }

    /// What the sessions of a worker have counted so far.
    fn counts_of(&self, worker: u32) -> Counts {
        let (setup, arm) = (&self.setup, self.arm);
        let mut seats = setup.connections_of(worker % setup.workers.max(1));
        setup.arms.at(arm).workload.read_counts(&mut seats)
    }

    /// The tallies that all workers share, if they do.
    pub(super) fn shared(&self) -> Option<&Tallies> {
        let first = self.mailboxes.first().filter(|_| self.setup.blocks);
        first.map(|mailbox| &*mailbox.tallies)
    }

    /// All events have ended: takes what ended after the last edge.
    pub(super) fn take_shared_rest(&mut self) {
        let mut drained = std::mem::take(&mut self.drained);
        if let Some(tallies) = self.shared() {
            tallies.hand_over_rest(&mut drained);
        }
        self.drained = drained;
    }
}

/// Events of the window that sessions have begun.
fn begun_of(counts: &Counts) -> u64 {
    let begun = |reading: &Reading| reading.of(Counter::Events) + u64::from(reading.in_event);
    counts.iter().map(|(_, reading)| begun(reading)).sum()
}

/// A session could not be stopped: it is in a function that knows nothing of being stopped.
fn never_back() -> Failure {
    Failure::with_hint(
        "a thread of the script did not return after the end of the run",
        "check which function of C or of Lua's library its event() is in",
    )
}
