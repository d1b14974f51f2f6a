//! The controller of a run: it waits for the workers, keeps the time, reads the counters at the
//! edges of the window, and adds up the workers' figures.

use super::edges::Timeline;
use super::job::Setup;
use super::measured::{Inside, Left, Measured, Progress, Queue};
use super::messages::{Command, Counts, Mailbox, Report, Reported};
use super::processes::Processes;
use super::slow::SlowEvent;
use crate::arrival::DueCount;
use contend_client::dialect::SessionFacts;
use contend_figures::outcome::{Ended, Failure, WindowEnd};
use contend_figures::{Latency, Sum, Tally};
use contend_reactor::clock;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

/// Time from the begin command until the workers begin: enough for all to receive it.
const BEGIN_IN_NS: u64 = 2_000_000;
/// One interval, as far as the workers have handed it over.
struct OpenInterval {
    /// The first tally that was handed over, and by whom; the others are added to it.
    tally: Option<(Box<Tally>, u32)>,
    counts: Counts,
    workers: u32,
    begun: u64,
    next_due_ns: Option<u64>,
}

/// When the load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    WhenReady,
    /// A later report says when.
    Awaited,
    At(u64),
}

pub(super) struct Controller<'a> {
    pub(super) setup: Arc<Setup>,
    begin: Begin,
    /// Its name, and how many threads there are of it.
    engine: (&'static str, u32),
    pub(super) mailboxes: Vec<Arc<Mailbox>>,
    pub(super) reports: Receiver<Report>,
    pub(super) progress: &'a mut dyn FnMut(Progress<'_>),
    /// Intervals that not every worker has handed over.
    intervals: VecDeque<OpenInterval>,
    /// Due events of the schedule, if there is a schedule.
    due: Option<DueCount>,
    /// Events of the schedule that were due, and events that had begun, when the window opened.
    due_opened: u64,
    begun_opened: u64,
    workers_opened: u32,
    counts_opened: Counts,
    /// When the last reported interval ended.
    interval_ended_ns: u64,
    /// For each reported interval: events that were due and had not begun at its end.
    backlogs: Vec<u64>,
    /// Events that were due, and events that had begun, at the end of the last reported interval.
    due_closed: u64,
    begun_closed: u64,
    /// How long the oldest event had waited that was due and had not begun at that end.
    oldest_wait_ns: u64,
    setup_connects: Latency,
    /// What each worker has reported.
    pub(super) reported: Vec<Reported>,
    /// The arm that is loaded.
    pub(super) arm: u16,
    /// The sum of the window, and of the events that ended after it.
    pub(super) tally: Tally,
    pub(super) drained: Tally,
    /// Events of the visit that took longer than was asked for.
    pub(super) slow: Vec<SlowEvent>,
    pub(super) timeline: Timeline,
    pub(super) ended: Ended,
    pub(super) workers_closed: u32,
    workers_drained: u32,
    workers_idle: u32,
    /// When the last of them became idle.
    idle_ns: u64,
    pub(super) busiest_worker_cpu_ns: u64,
    pub(super) queries_by_seat: Vec<(u32, u64)>,
}

impl<'a> Controller<'a> {
    pub(super) fn new(
        setup: Arc<Setup>,
        engine: (&'static str, u32),
        mailboxes: Vec<Arc<Mailbox>>,
        reports: Receiver<Report>,
        progress: &'a mut dyn FnMut(Progress<'_>),
        interval_ns: u64,
        begin: Begin,
    ) -> Self {
        Self {
            begin,
            engine,
            reports,
            progress,
            intervals: VecDeque::new(),
            due: None,
            due_opened: 0,
            begun_opened: 0,
            workers_opened: 0,
            counts_opened: Counts::new(),
            interval_ended_ns: 0,
            backlogs: Vec::new(),
            due_closed: 0,
            begun_closed: 0,
            oldest_wait_ns: 0,
            setup_connects: Latency::new(),
            reported: vec![Reported::default(); mailboxes.len()],
            arm: 0,
            tally: setup.tally(0),
            drained: setup.tally(0),
            slow: Vec::new(),
            timeline: Timeline::ahead(interval_ns),
            ended: Ended::Time,
            workers_closed: 0,
            workers_drained: 0,
            workers_idle: 0,
            idle_ns: 0,
            busiest_worker_cpu_ns: 0,
            queries_by_seat: Vec::new(),
            mailboxes,
            setup,
        }
    }

    /// How many workers there are, of all protocols.
    pub(super) fn workers(&self) -> u32 {
        self.mailboxes.len() as u32
    }

    /// Controls the run from the first connection to the last.
    pub(super) fn control(&mut self, warmup_ns: u64, measure_ns: u64) -> Result<Measured, Failure> {
        self.wait_for_setup()?;
        let begin_ns = self.wait_for_begin()?;
        self.begin(0, begin_ns, warmup_ns, measure_ns);
        self.phase("warmup", self.timeline.begin_ns);
        self.listen_until(|controller| controller.timeline.open_ns)?;
        let processes = Processes::of(&self.setup);
        let opened = processes.read();
        self.phase("measure", self.timeline.open_ns);
        self.listen_until(|controller| controller.timeline.close_ns)?;
        let closed = processes.read();
        self.phase("end", self.timeline.close_ns);
        self.wait_for_close()?;
        // Events in flight count by the part of their time inside, so they are waited for.
        let drain_ns = match self.ended {
            Ended::Time => self.setup.drain_ns.max(self.setup.answers_ns),
            Ended::Events | Ended::Signal => self.setup.drain_ns,
        };
        let left = self.release(drain_ns)?;
        let (client, server, node_servers) = closed.used_since(&opened).alone();
        let sum = self.sum(left);
        Ok(Measured {
            end: WindowEnd {
                client,
                server,
                measured_s: (self.timeline.close_ns - self.timeline.open_ns) as f64 / 1e9,
                ..sum.end
            },
            node_servers,
            ..sum
        })
    }

    /// When all seats are to begin; a command may decide that.
    fn wait_for_begin(&mut self) -> Result<u64, Failure> {
        while self.begin == Begin::Awaited && self.ended != Ended::Signal {
            match self.reports.recv() {
                Ok(report) => self.take(report)?,
                Err(_) => return Err(gone()),
            }
        }
        let now_ns = clock::now_ns();
        match self.begin {
            Begin::At(at_ns) if at_ns < now_ns => Err(Failure::plain(format!(
                "the agreed start reached this host {:.1} ms too late",
                (now_ns - at_ns) as f64 / 1e6
            ))),
            Begin::At(at_ns) => Ok(at_ns),
            Begin::WhenReady | Begin::Awaited => Ok(now_ns + BEGIN_IN_NS),
        }
    }

    /// Lets the seats of an arm begin together at `begin_ns`.
    pub(super) fn begin(&mut self, arm: u16, begin_ns: u64, warmup_ns: u64, measure_ns: u64) {
        let open_ns = begin_ns.saturating_add(warmup_ns);
        self.timeline = Timeline {
            begin_ns,
            open_ns,
            close_ns: open_ns.saturating_add(measure_ns),
            ..self.timeline
        };
        if self.ended == Ended::Signal {
            self.timeline.open_ns = begin_ns;
            self.timeline.close_ns = begin_ns;
        } else if self.setup.has_arms() {
            self.ended = Ended::Time;
            (self.workers_idle, self.idle_ns) = (0, 0);
        }
        self.arm = arm;
        let job = self.setup.arms.at(arm);
        if self.tally.shape() != job.shape() {
            (self.tally, self.drained) = (self.setup.tally(arm), self.setup.tally(arm));
        }
        self.due = job.dispenser.due_count();
        (self.due_opened, self.due_closed) = (0, 0);
        (self.begun_opened, self.workers_opened) = (0, 0);
        (self.workers_closed, self.workers_drained) = (0, 0);
        self.backlogs.clear();
        self.reported.fill(Reported::default());
        let job = self.setup.arms.at(arm);
        if let Some(shared) = self.shared() {
            shared.begin(job.shape());
        }
        job.dispenser.begin(begin_ns, self.timeline.open_ns);
        self.tell(Command::Begin(self.timeline, arm));
    }

    /// Ends the sessions; an event that has begun may take up to `drain_ns` more. Returns the
    /// requests left unanswered then.
    pub(super) fn release(&mut self, drain_ns: u64) -> Result<Left, Failure> {
        self.tell(Command::Release(drain_ns));
        self.wait_for_end(drain_ns)
    }

    /// The result of the run, except the counters of processes and the length of the window.
    pub(super) fn sum(&mut self, left: Left) -> Measured {
        let inside = self.take_visit();
        let by_seat = inside.queries_by_seat.into_iter();
        Measured {
            end: WindowEnd {
                ended: self.ended,
                ..left.end
            },
            tally: inside.tally,
            drained: inside.drained,
            busiest_worker_cpu_ns: inside.busiest_worker_cpu_ns,
            queries_by_seat: by_seat.map(|(_, queries)| queries).collect(),
            setup_connects: std::mem::take(&mut self.setup_connects),
            queue: Queue {
                due: inside.due,
                opened: self.due_opened.saturating_sub(self.begun_opened),
                closed: std::mem::take(&mut self.backlogs),
                oldest_wait_ns: self.oldest_wait_ns,
            },
            ended_after_ns: left.stopped_ns.saturating_sub(self.timeline.open_ns),
            counts: left.counts,
            ..Measured::default()
        }
    }

    /// Waits until all sessions have connected and prepared.
    pub(super) fn wait_for_setup(&mut self) -> Result<(), Failure> {
        let mut sessions = Vec::new();
        let mut ready = 0;
        while ready < self.workers() && self.ended != Ended::Signal {
            // Every step of a setup has its own time limit, so this ends.
            match self.reports.recv() {
                Ok(Report::Ready { facts, connects }) => {
                    // Not every protocol names the server.
                    let tells = |facts: &SessionFacts| !facts.server_version.is_empty();
                    if sessions.is_empty() || facts.iter().any(tells) {
                        sessions = facts;
                    }
                    ready += 1;
                    if let Some(connects) = connects {
                        self.setup_connects.merge(&connects);
                    }
                }
                Ok(report) => self.take(report)?,
                Err(_) => return Err(gone()),
            }
        }
        let mut connects = std::mem::take(&mut self.setup_connects);
        if let Some(shared) = self.shared() {
            shared.take_connects(&mut connects);
        }
        self.setup_connects = connects;
        (self.progress)(Progress::Ready {
            sessions: &sessions,
            engine: self.engine.0,
            workers: self.engine.1,
            start: SystemTime::now(),
        });
        Ok(())
    }

    /// Handles reports until a time of the timeline. A report may move that time to an earlier one.
    pub(super) fn listen_until(&mut self, moment: impl Fn(&Self) -> u64) -> Result<(), Failure> {
        loop {
            let left_ns = moment(self).saturating_sub(clock::now_ns());
            if left_ns == 0 {
                return Ok(());
            }
            match self.reports.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok(report) => self.take(report)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }

    /// After the window of an arm: waits until every event has ended. False if some have not ended
    /// by `limit_ns`.
    pub(super) fn wait_until_drained(&mut self, limit_ns: u64) -> Result<bool, Failure> {
        while self.workers_drained < self.workers() {
            let left_ns = limit_ns.saturating_sub(clock::now_ns());
            match self.reports.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok(report) => self.take(report)?,
                Err(RecvTimeoutError::Timeout) => return Ok(false),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
        self.take_shared_rest();
        Ok(true)
    }

    /// Takes the records of a window, with those of the events that ended after it.
    pub(super) fn take_visit(&mut self) -> Inside {
        let empty = || self.tally.empty_like();
        let (mut tally, drained) = (empty(), empty());
        std::mem::swap(&mut tally, &mut self.tally);
        let drained = std::mem::replace(&mut self.drained, drained);
        tally.merge(&drained);
        Inside {
            tally,
            drained,
            due: self.due_closed.saturating_sub(self.due_opened),
            begun: self.begun_closed,
            busiest_worker_cpu_ns: std::mem::take(&mut self.busiest_worker_cpu_ns),
            queries_by_seat: std::mem::take(&mut self.queries_by_seat),
        }
    }

    pub(super) fn take(&mut self, report: Report) -> Result<(), Failure> {
        if self.is_of_lost(&report) {
            return Ok(());
        }
        match report {
            Report::Interval {
                worker,
                tally,
                counts,
                begun,
                next_due_ns,
            } => {
                self.take_interval(worker, tally, counts, begun, next_due_ns);
            }
            Report::Opened {
                worker,
                before,
                counts,
                begun,
            } => {
                self.give_back(worker, before);
                if let Some(reported) = self.reported.get_mut(worker as usize) {
                    reported.opened = Some(begun);
                }
                self.begun_opened += begun;
                self.workers_opened += 1;
                self.counts_opened.extend(counts);
                if self.workers_opened == self.workers() {
                    let open_ns = self.timeline.open_ns.saturating_sub(self.timeline.begin_ns);
                    self.due_opened = self.due.as_mut().map_or(0, |due| due.open(open_ns));
                    let counts = &std::mem::take(&mut self.counts_opened);
                    let at = clock::instant_of(self.timeline.open_ns);
                    (self.progress)(Progress::Opened { at, counts });
                }
            }
            Report::Drained {
                worker,
                tally,
                slow,
            } => {
                if let Some(tally) = &tally {
                    self.drained.merge(tally);
                }
                self.slow.extend(slow);
                self.give_back(worker, tally);
                self.workers_drained += 1;
            }
            Report::Closed {
                worker,
                cpu_ns,
                queries_by_seat,
            } => {
                if let Some(reported) = self.reported.get_mut(worker as usize) {
                    reported.has_closed = true;
                }
                self.workers_closed += 1;
                self.busiest_worker_cpu_ns = self.busiest_worker_cpu_ns.max(cpu_ns);
                self.queries_by_seat.extend(queries_by_seat);
            }
            Report::Idle { at_ns } => {
                self.workers_idle += 1;
                self.idle_ns = self.idle_ns.max(at_ns);
                if self.workers_idle == self.workers() {
                    // A slice is its events, to the last end. A run also reports intervals, and may
                    // have reported one that ended since.
                    let at_ns = match self.setup.has_arms() {
                        true => self.idle_ns,
                        false => clock::now_ns(),
                    };
                    self.close_at(at_ns, Ended::Events);
                }
            }
            Report::Begin { at_ns } => self.begin = Begin::At(at_ns),
            Report::Signal => self.close_at(clock::now_ns(), Ended::Signal),
            Report::Failed(failure) => return Err(*failure),
            Report::Ready { .. } | Report::Ended { .. } => {}
        }
        Ok(())
    }

    /// Ends the window before its time.
    fn close_at(&mut self, at_ns: u64, why: Ended) {
        if at_ns >= self.timeline.close_ns {
            return;
        }
        self.ended = why;
        self.timeline.open_ns = self.timeline.open_ns.min(at_ns);
        self.timeline.close_ns = at_ns;
        self.tell(Command::CloseBy(at_ns));
    }

    pub(super) fn tell(&self, command: Command) {
        self.mailboxes
            .iter()
            .for_each(|mailbox| mailbox.put(command));
    }

    /// Adds a worker's next interval to those of the others. Reports each interval that is now
    /// handed over by all workers.
    pub(super) fn take_interval(
        &mut self,
        worker: u32,
        tally: Option<Box<Tally>>,
        counts: Counts,
        begun: u64,
        next_due_ns: Option<u64>,
    ) {
        if let Some(tally) = &tally {
            self.tally.merge(tally);
        }
        let Some(reported) = self.reported.get_mut(worker as usize) else {
            return;
        };
        let place = (reported.intervals - self.backlogs.len() as u32) as usize;
        reported.intervals += 1;
        match self.intervals.get_mut(place) {
            Some(interval) => {
                interval.counts.extend(counts);
                interval.workers += 1;
                interval.begun += begun;
                let earliest = [interval.next_due_ns, next_due_ns];
                interval.next_due_ns = earliest.into_iter().flatten().min();
                match (&mut interval.tally, tally) {
                    (Some((sum, _)), Some(tally)) => {
                        sum.merge(&tally);
                        self.give_back(worker, Some(tally));
                    }
                    (none, tally) => *none = none.take().or(tally.map(|tally| (tally, worker))),
                }
            }
            None => self.intervals.push_back(OpenInterval {
                tally: tally.map(|tally| (tally, worker)),
                counts,
                workers: 1,
                begun,
                next_due_ns,
            }),
        }
        while self
            .intervals
            .front()
            .is_some_and(|i| i.workers == self.workers())
        {
            let Some(interval) = self.intervals.pop_front() else {
                break;
            };
            self.tell_interval(&interval);
            if let Some((tally, owner)) = interval.tally {
                self.give_back(owner, Some(tally));
            }
        }
    }

    /// Clears a tally and returns it to its worker. It is cleared here so that the worker need not.
    fn give_back(&self, worker: u32, tally: Option<Box<Tally>>) {
        if let Some(mut tally) = tally
            && let Some(mailbox) = self.mailboxes.get(worker as usize)
        {
            tally.clear();
            mailbox.tallies.put(tally);
        }
    }

    /// Events of the schedule that were due before `at_ns`, which must not go back between calls.
    fn due_before(&mut self, at_ns: u64) -> u64 {
        let offset_ns = at_ns.saturating_sub(self.timeline.begin_ns);
        let due = self.due.as_mut();
        due.map_or(0, |due| due.before(offset_ns))
    }

    fn tell_interval(&mut self, interval: &OpenInterval) {
        let timeline = self.timeline;
        let index = self.backlogs.len() as u32;
        let start_ns = match index {
            0 => timeline.open_ns,
            _ => self.interval_ended_ns,
        };
        let end_ns = timeline.interval_end_ns(start_ns, &self.setup.checkpoints_ns);
        self.interval_ended_ns = end_ns;
        self.due_closed = self.due_before(end_ns);
        let backlog = self.due_closed.saturating_sub(interval.begun);
        let seconds = |ns: u64| ns as f64 / 1e9;
        if !self.setup.has_arms()
            && let Some((tally, _)) = &interval.tally
        {
            (self.progress)(Progress::Interval {
                index,
                start_s: seconds(start_ns.saturating_sub(timeline.open_ns)),
                duration_s: seconds(end_ns.saturating_sub(start_ns)),
                tally,
                counts: &interval.counts,
                backlog,
            });
        }
        self.begun_closed = interval.begun;
        self.backlogs.push(backlog);
        let nobodys = self.setup.arms.at(self.arm).dispenser.next_due_ns();
        let oldest = [nobodys, interval.next_due_ns].into_iter().flatten().min();
        self.oldest_wait_ns = end_ns.saturating_sub(oldest.unwrap_or(u64::MAX));
    }

    fn phase(&mut self, name: &'static str, at_ns: u64) {
        let at_s = at_ns.saturating_sub(self.timeline.begin_ns) as f64 / 1e9;
        let at = clock::instant_of(at_ns);
        (self.progress)(Progress::Phase { name, at_s, at });
    }
}

pub(super) fn gone() -> Failure {
    Failure {
        hint: Some("this is a fault of contend-load; report it with the plan".to_owned()),
        ..Failure::plain("a worker has exited or hangs")
    }
}
