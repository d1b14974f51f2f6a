//! The controller of a run: it waits for the workers, keeps the time, reads the counters at the
//! edges of the window, and adds up what it is handed.

use super::clock;
use super::counters::ProcessSnapshot;
use super::failure;
use super::run::{Ended, Measured, Progress, Queue};
use super::setup::{Command, Mailbox, Report, SessionFacts, Setup, Timeline};
use crate::outcome::Failure;
use crate::record::{Latency, Tally};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

/// From telling the workers to begin until they do: enough for all to hear of it.
const BEGIN_IN_NS: u64 = 2_000_000;
/// How long a worker may take for what takes no time, on a machine that has none to spare. One
/// that takes longer is stuck.
const WORKER_GRACE_NS: u64 = 10_000_000_000;

/// One interval, as far as the workers have handed it over.
struct OpenInterval {
    tally: Tally,
    workers: u32,
    backlog: u64,
    oldest_wait_ns: u64,
}

pub(super) struct Controller<'a> {
    setup: Arc<Setup>,
    mailboxes: Vec<Arc<Mailbox>>,
    reports: Receiver<Report>,
    progress: &'a mut dyn FnMut(Progress<'_>),
    /// Intervals that not every worker has handed over.
    intervals: VecDeque<OpenInterval>,
    /// Events behind at the window's begin, and at the end of each interval told.
    backlog_opened: u64,
    backlogs: Vec<u64>,
    /// Of the oldest of those behind at the end.
    oldest_wait_ns: u64,
    setup_connects: Latency,
    /// Intervals that each worker has handed over.
    handed_over: Vec<u32>,
    /// The sum of the window.
    tally: Tally,
    timeline: Timeline,
    ended: Ended,
    workers_closed: u32,
    workers_idle: u32,
    busiest_worker_cpu_ns: u64,
    queries_by_seat: Vec<u64>,
}

impl<'a> Controller<'a> {
    pub(super) fn new(
        setup: Arc<Setup>,
        mailboxes: Vec<Arc<Mailbox>>,
        reports: Receiver<Report>,
        progress: &'a mut dyn FnMut(Progress<'_>),
        interval_ns: u64,
    ) -> Self {
        Self {
            mailboxes,
            reports,
            progress,
            intervals: VecDeque::new(),
            backlog_opened: 0,
            backlogs: Vec::new(),
            oldest_wait_ns: 0,
            setup_connects: Latency::new(),
            handed_over: vec![0; setup.workers as usize],
            tally: setup.tally(),
            timeline: Timeline {
                begin_ns: 0,
                open_ns: u64::MAX,
                close_ns: u64::MAX,
                interval_ns,
            },
            ended: Ended::Time,
            workers_closed: 0,
            workers_idle: 0,
            busiest_worker_cpu_ns: 0,
            queries_by_seat: Vec::new(),
            setup,
        }
    }

    /// Controls the run from the first connection to the last.
    pub(super) fn control(
        &mut self,
        engine: &'static str,
        warmup_ns: u64,
        measure_ns: u64,
        watch_pid: Option<u32>,
    ) -> Result<Measured, Failure> {
        self.wait_for_setup(engine)?;
        let begin_ns = clock::now_ns() + BEGIN_IN_NS;
        self.timeline.begin_ns = begin_ns;
        self.timeline.open_ns = begin_ns.saturating_add(warmup_ns);
        self.timeline.close_ns = self.timeline.open_ns.saturating_add(measure_ns);
        if self.ended == Ended::Signal {
            self.timeline.open_ns = begin_ns;
            self.timeline.close_ns = begin_ns;
        }
        self.tell(Command::Begin(self.timeline));
        self.phase("warmup", self.timeline.begin_ns);
        self.listen_until(|controller| controller.timeline.open_ns)?;
        let ours = std::process::id();
        let opened = (
            ProcessSnapshot::take(ours),
            watch_pid.and_then(ProcessSnapshot::take),
        );
        self.phase("measure", self.timeline.open_ns);
        self.listen_until(|controller| controller.timeline.close_ns)?;
        let closed = (
            ProcessSnapshot::take(ours),
            watch_pid.and_then(ProcessSnapshot::take),
        );
        self.phase("end", self.timeline.close_ns);
        self.wait_for_close()?;
        self.tell(Command::Release);
        let (unanswered, longest_wait_ns) = self.wait_for_end()?;
        let delta = |before: Option<ProcessSnapshot>, after: Option<ProcessSnapshot>| {
            Some(before?.until(&after?))
        };
        Ok(Measured {
            ended: self.ended,
            measured_ns: self.timeline.close_ns - self.timeline.open_ns,
            tally: std::mem::replace(&mut self.tally, self.setup.tally()),
            client: delta(opened.0, closed.0).unwrap_or_default(),
            server: delta(opened.1, closed.1),
            busiest_worker_cpu_ns: self.busiest_worker_cpu_ns,
            queries_by_seat: std::mem::take(&mut self.queries_by_seat),
            unanswered,
            longest_wait_ns,
            setup_connects: std::mem::take(&mut self.setup_connects),
            queue: Queue {
                opened: self.backlog_opened,
                closed: std::mem::take(&mut self.backlogs),
                oldest_wait_ns: self.oldest_wait_ns,
            },
        })
    }

    fn wait_for_setup(&mut self, engine: &'static str) -> Result<(), Failure> {
        let mut session = SessionFacts::default();
        let mut ready = 0;
        while ready < self.setup.workers && self.ended != Ended::Signal {
            // Every step of a setup has its own time limit, so this ends.
            match self.reports.recv() {
                Ok(Report::Ready { facts, connects }) => {
                    session = facts;
                    ready += 1;
                    if let Some(connects) = connects {
                        self.setup_connects.merge(&connects);
                    }
                }
                Ok(report) => self.take(report)?,
                Err(_) => return Err(gone()),
            }
        }
        (self.progress)(Progress::Ready {
            session: &session,
            engine,
            workers: self.setup.workers,
            start: SystemTime::now(),
        });
        Ok(())
    }

    /// Takes reports until a moment of the timeline, which a report may bring nearer.
    fn listen_until(&mut self, moment: impl Fn(&Self) -> u64) -> Result<(), Failure> {
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

    fn wait_for_close(&mut self) -> Result<(), Failure> {
        // A script that computes keeps its worker until its event is over.
        let limit_ns = (clock::now_ns() + WORKER_GRACE_NS).saturating_add(self.setup.drain_ns);
        while self.workers_closed < self.setup.workers {
            let report = self.next_before(limit_ns)?;
            self.take(report)?;
        }
        Ok(())
    }

    fn wait_for_end(&mut self) -> Result<(u32, u64), Failure> {
        let limit_ns = (clock::now_ns() + WORKER_GRACE_NS).saturating_add(self.setup.drain_ns);
        let (mut ended, mut unanswered, mut longest_ns) = (0, 0, 0);
        while ended < self.setup.workers {
            match self.next_before(limit_ns)? {
                Report::Ended {
                    unanswered: more,
                    longest_wait_ns,
                } => {
                    ended += 1;
                    unanswered += more;
                    longest_ns = longest_ns.max(longest_wait_ns);
                }
                report => self.take(report)?,
            }
        }
        Ok((unanswered, longest_ns))
    }

    fn next_before(&mut self, limit_ns: u64) -> Result<Report, Failure> {
        let left = Duration::from_nanos(limit_ns.saturating_sub(clock::now_ns()));
        self.reports.recv_timeout(left).map_err(|_| gone())
    }

    fn take(&mut self, report: Report) -> Result<(), Failure> {
        match report {
            Report::Interval {
                worker,
                tally,
                backlog,
                oldest_wait_ns,
            } => {
                self.take_interval(worker, &tally, backlog, oldest_wait_ns);
            }
            Report::Opened { backlog } => self.backlog_opened += backlog,
            Report::Closed {
                cpu_ns,
                queries_by_seat,
            } => {
                self.workers_closed += 1;
                self.busiest_worker_cpu_ns = self.busiest_worker_cpu_ns.max(cpu_ns);
                self.queries_by_seat.extend(queries_by_seat);
            }
            Report::Idle => {
                self.workers_idle += 1;
                if self.workers_idle == self.setup.workers {
                    self.close_now(Ended::Events);
                }
            }
            Report::Signal => self.close_now(Ended::Signal),
            Report::Failed(failure) => return Err(*failure),
            Report::Ready { .. } | Report::Ended { .. } => {}
        }
        Ok(())
    }

    /// Ends the window before its time.
    fn close_now(&mut self, why: Ended) {
        let now_ns = clock::now_ns();
        if now_ns >= self.timeline.close_ns {
            return;
        }
        self.ended = why;
        self.timeline.open_ns = self.timeline.open_ns.min(now_ns);
        self.timeline.close_ns = now_ns;
        self.tell(Command::CloseBy(now_ns));
    }

    fn tell(&self, command: Command) {
        self.mailboxes
            .iter()
            .for_each(|mailbox| mailbox.put(command));
    }

    /// Adds a worker's next interval to the others', and tells of those that are whole.
    fn take_interval(&mut self, worker: u32, tally: &Tally, backlog: u64, oldest_wait_ns: u64) {
        self.tally.merge(tally);
        let Some(handed_over) = self.handed_over.get_mut(worker as usize) else {
            return;
        };
        let place = (*handed_over - self.backlogs.len() as u32) as usize;
        *handed_over += 1;
        if self.intervals.len() <= place {
            self.intervals.push_back(OpenInterval {
                tally: tally.empty_like(),
                workers: 0,
                backlog: 0,
                oldest_wait_ns: 0,
            });
        }
        if let Some(interval) = self.intervals.get_mut(place) {
            interval.tally.merge(tally);
            interval.workers += 1;
            interval.backlog += backlog;
            interval.oldest_wait_ns = interval.oldest_wait_ns.max(oldest_wait_ns);
        }
        while self
            .intervals
            .front()
            .is_some_and(|i| i.workers == self.setup.workers)
        {
            let Some(interval) = self.intervals.pop_front() else {
                break;
            };
            self.tell_interval(&interval);
        }
    }

    fn tell_interval(&mut self, interval: &OpenInterval) {
        let timeline = self.timeline;
        let index = self.backlogs.len() as u32;
        let start_ns = match index {
            0 => timeline.open_ns,
            index => timeline.interval_end_ns(index - 1),
        };
        let end_ns = timeline.interval_end_ns(index);
        let seconds = |ns: u64| ns as f64 / 1e9;
        (self.progress)(Progress::Interval {
            index,
            start_s: seconds(start_ns.saturating_sub(timeline.open_ns)),
            duration_s: seconds(end_ns.saturating_sub(start_ns)),
            tally: &interval.tally,
            backlog: interval.backlog,
        });
        self.backlogs.push(interval.backlog);
        self.oldest_wait_ns = interval.oldest_wait_ns;
    }

    fn phase(&mut self, name: &'static str, at_ns: u64) {
        let at_s = at_ns.saturating_sub(self.timeline.begin_ns) as f64 / 1e9;
        let at = clock::instant_of(at_ns);
        (self.progress)(Progress::Phase { name, at_s, at });
    }
}

fn gone() -> Failure {
    Failure {
        hint: Some("this is a fault of contend-load: please report it with the plan".to_owned()),
        ..failure::plain("a worker has ended or is stuck")
    }
}
