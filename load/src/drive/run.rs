//! One run from start to end: workers, the shared clock, the edges of the window, the sum.

use super::clock;
use super::counters::ProcessSnapshot;
use super::engine::{Engine, Epoll, Uring};
use super::failure;
use super::limits;
use super::setup::{Command, Mailbox, Report, Setup, Timeline};
use super::signals::Signals;
use super::worker::Worker;
use crate::outcome::{Failure, ProcessDelta};
use crate::record::Tally;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

/// From telling the workers to begin until they do: enough for all to hear of it.
const BEGIN_IN_NS: u64 = 2_000_000;
/// How long a worker may take for what takes no time. One that takes longer is stuck.
const WORKER_GRACE_NS: u64 = 2_000_000_000;

/// What to run, for how long, on which engine.
pub struct Job {
    pub setup: Setup,
    pub engine: EngineChoice,
    pub warmup_ns: u64,
    /// `u64::MAX`: until the events are done or a signal comes.
    pub measure_ns: u64,
    pub interval_ns: u64,
    /// The process whose counters are read at both edges of the window.
    pub watch_pid: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring where the kernel allows it, else epoll.
    Auto,
    Epoll,
    Uring,
}

/// What is told while the run goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All sessions are ready.
    Ready {
        server_version: &'a str,
        engine: &'static str,
        workers: u32,
        start: SystemTime,
    },
    Phase {
        name: &'static str,
        at_s: f64,
    },
    /// One interval of the window, all workers together.
    Interval {
        index: u32,
        start_s: f64,
        duration_s: f64,
        tally: &'a Tally,
    },
}

/// The measured window.
#[derive(Debug)]
pub struct Measured {
    pub ended: Ended,
    pub measured_ns: u64,
    pub tally: Tally,
    pub client: ProcessDelta,
    pub server: Option<ProcessDelta>,
    pub busiest_worker_cpu_ns: u64,
    /// Queries of each seat, in no order.
    pub queries_by_seat: Vec<u64>,
    /// Requests that were never answered, and how long the oldest had waited at the end.
    pub unanswered: u32,
    pub longest_wait_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Time,
    Events,
    Signal,
}

/// Runs a job and tells how it goes.
///
/// # Errors
/// Whatever keeps the run from giving figures.
pub fn run(job: Job, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Measured, Failure> {
    limits::make_room_for(u64::from(job.setup.seats)).map_err(|error| Failure {
        hint: Some("raise it (ulimit -n), or ask for fewer connections".to_owned()),
        ..failure::plain(error.to_string())
    })?;
    let engine = choose(job.engine)?;
    let (sender, reports) = mpsc::channel();
    let told = sender.clone();
    let signals = Signals::listen(move || told.send(Report::Signal).is_ok())
        .map_err(|error| failure::plain(format!("listening for signals: {error}")))?;
    let setup = Arc::new(job.setup);
    let mut mailboxes = Vec::new();
    for number in 0..setup.workers {
        let mailbox = Mailbox::new()
            .map(Arc::new)
            .map_err(|error| failure::plain(format!("making a worker: {error}")))?;
        mailboxes.push(Arc::clone(&mailbox));
        spawn(number, Arc::clone(&setup), engine, mailbox, sender.clone())
            .map_err(|error| failure::plain(format!("starting a worker: {error}")))?;
    }
    let mut controller = Controller {
        tally: setup.tally(),
        mailboxes,
        reports,
        progress,
        intervals: VecDeque::new(),
        interval: 0,
        handed_over: vec![0; setup.workers as usize],
        timeline: Timeline {
            begin_ns: 0,
            open_ns: u64::MAX,
            close_ns: u64::MAX,
            interval_ns: job.interval_ns,
        },
        ended: Ended::Time,
        workers_closed: 0,
        workers_idle: 0,
        busiest_worker_cpu_ns: 0,
        queries_by_seat: Vec::new(),
        setup,
    };
    let measured = controller.control(engine, job.warmup_ns, job.measure_ns, job.watch_pid);
    drop(signals);
    measured
}

/// The name of the engine to use: io_uring only where a ring can be had.
fn choose(choice: EngineChoice) -> Result<&'static str, Failure> {
    let uring = || Uring::new(1, Mailbox::new()?.bell()?);
    match choice {
        EngineChoice::Epoll => Ok(Epoll::NAME),
        EngineChoice::Auto => Ok(uring().map_or(Epoll::NAME, |_| Uring::NAME)),
        EngineChoice::Uring => match uring() {
            Ok(_) => Ok(Uring::NAME),
            Err(error) => Err(Failure {
                hint: Some("let the engine be chosen: engine = \"auto\"".to_owned()),
                ..failure::plain(format!("the kernel refuses io_uring: {error}"))
            }),
        },
    }
}

fn spawn(
    number: u32,
    setup: Arc<Setup>,
    engine: &'static str,
    mailbox: Arc<Mailbox>,
    reports: Sender<Report>,
) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || {
            if engine == Uring::NAME {
                work::<Uring>(number, setup, mailbox, reports);
            } else {
                work::<Epoll>(number, setup, mailbox, reports);
            }
        })?;
    Ok(())
}

fn work<E: Engine>(number: u32, setup: Arc<Setup>, mailbox: Arc<Mailbox>, reports: Sender<Report>) {
    let sockets = setup.seats_of(number).count();
    let made = mailbox
        .bell()
        .and_then(|bell| E::new(sockets, bell))
        .map_err(|error| Box::new(failure::plain(format!("making a worker: {error}"))))
        .and_then(|engine| Worker::new(number, setup, engine, mailbox, reports.clone()));
    match made {
        Ok(worker) => worker.run(),
        // The controller only goes away when the process does.
        Err(failure) => drop(reports.send(Report::Failed(failure))),
    }
}

struct Controller<'a> {
    setup: Arc<Setup>,
    mailboxes: Vec<Arc<Mailbox>>,
    reports: Receiver<Report>,
    progress: &'a mut dyn FnMut(Progress<'_>),
    /// Intervals that not every worker has handed over, with the number of those that have.
    intervals: VecDeque<(Tally, u32)>,
    /// Number of the first of them.
    interval: u32,
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

impl Controller<'_> {
    fn control(
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
        })
    }

    fn wait_for_setup(&mut self, engine: &'static str) -> Result<(), Failure> {
        let mut version = String::new();
        let mut ready = 0;
        while ready < self.setup.workers && self.ended != Ended::Signal {
            // Every step of a setup has its own time limit, so this ends.
            match self.reports.recv() {
                Ok(Report::Ready { server_version }) => {
                    version = server_version;
                    ready += 1;
                }
                Ok(report) => self.take(report)?,
                Err(_) => return Err(gone()),
            }
        }
        (self.progress)(Progress::Ready {
            server_version: &version,
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
        let limit_ns = clock::now_ns() + WORKER_GRACE_NS;
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
            Report::Interval { worker, tally } => self.take_interval(worker, &tally),
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
    fn take_interval(&mut self, worker: u32, tally: &Tally) {
        self.tally.merge(tally);
        let Some(handed_over) = self.handed_over.get_mut(worker as usize) else {
            return;
        };
        let place = (*handed_over - self.interval) as usize;
        *handed_over += 1;
        match self.intervals.get_mut(place) {
            Some((sum, workers)) => {
                sum.merge(tally);
                *workers += 1;
            }
            None => self.intervals.push_back((tally.clone(), 1)),
        }
        while self
            .intervals
            .front()
            .is_some_and(|(_, workers)| *workers == self.setup.workers)
        {
            let Some((sum, _)) = self.intervals.pop_front() else {
                break;
            };
            self.tell_interval(&sum);
        }
    }

    fn tell_interval(&mut self, tally: &Tally) {
        let timeline = self.timeline;
        let start_ns = match self.interval {
            0 => timeline.open_ns,
            index => timeline.interval_end_ns(index - 1),
        };
        let end_ns = timeline.interval_end_ns(self.interval);
        let seconds = |ns: u64| ns as f64 / 1e9;
        (self.progress)(Progress::Interval {
            index: self.interval,
            start_s: seconds(start_ns.saturating_sub(timeline.open_ns)),
            duration_s: seconds(end_ns.saturating_sub(start_ns)),
            tally,
        });
        self.interval += 1;
    }

    fn phase(&mut self, name: &'static str, at_ns: u64) {
        let at_s = at_ns.saturating_sub(self.timeline.begin_ns) as f64 / 1e9;
        (self.progress)(Progress::Phase { name, at_s });
    }
}

fn gone() -> Failure {
    Failure {
        hint: Some("this is a fault of contend-load: please report it with the plan".to_owned()),
        ..failure::plain("a worker has ended or is stuck")
    }
}
