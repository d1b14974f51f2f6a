//! One run from start to end: workers, the shared clock, the edges of the window, the sum.

use super::control::Controller;
use super::counters::ProcessSnapshot;
use super::engine::choice::choose;
use super::engine::{Engine, Epoll, Uring};
use super::failure;
use super::limits;
use super::pace::Pacing;
use super::preflight;
use super::setup::{Mailbox, Report, SessionFacts, Setup};
use super::signals::Signals;
use super::slices::Slice;
use super::threads;
use super::worker::Worker;
use crate::outcome::{Failure, ProcessDelta};
use crate::plan;
use crate::record::{Latency, Tally};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::{Instant, SystemTime};

/// What to run, for how long, on which engine.
pub struct Job {
    pub setup: Setup,
    pub engine: plan::Engine,
    pub warmup_ns: u64,
    /// `u64::MAX`: until the events are done or a signal comes.
    pub measure_ns: u64,
    pub interval_ns: u64,
    pub watched: Watched,
    /// Hops between the arms of the setup, in place of one window.
    pub arms: Option<Arms>,
}

/// The processes whose counters are read at both edges of the window.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    pub server: Option<u32>,
    /// Of each node, in order.
    pub nodes: Vec<Option<u32>>,
}

impl Watched {
    /// The counters of our own process, of the server, and of each node.
    pub(super) fn read(&self) -> Vec<Option<ProcessSnapshot>> {
        let pids = [Some(std::process::id()), self.server].into_iter();
        let pids = pids.chain(self.nodes.iter().copied());
        pids.map(|pid| pid.and_then(ProcessSnapshot::take)).collect()
    }
}

/// How a run hops between its arms.
pub struct Arms {
    /// In the order of the setup's names.
    pub arms: Vec<ArmJob>,
    pub slice_ns: u64,
    /// Before each slice, under its load, in no figure.
    pub settle_ns: u64,
    /// In each round every arm has one slice.
    pub rounds: u32,
}

/// What is done on entering an arm, and the process to watch.
pub struct ArmJob {
    pub enter: Vec<String>,
    pub watch_pid: Option<u32>,
}

/// All slices of one arm.
#[derive(Debug)]
pub struct ArmSum {
    pub slices: u32,
    pub measured_s: f64,
    /// Queries that were answered inside the slices.
    pub answered: u64,
    pub tally: Tally,
}

impl ArmSum {
    pub(super) fn new(empty: Tally) -> Self {
        Self {
            slices: 0,
            measured_s: 0.0,
            answered: 0,
            tally: empty,
        }
    }

    pub(super) fn add(&mut self, slice: &Slice) {
        self.slices += 1;
        self.measured_s += slice.duration_s;
        self.answered += slice.tally.answered_before(&slice.drained);
        self.tally.merge(&slice.tally);
    }
}

/// What is told while the run goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All sessions are ready.
    Ready {
        /// What was agreed with the server, or with each node; empty if nobody connects.
        sessions: &'a [SessionFacts],
        engine: &'static str,
        workers: u32,
        start: SystemTime,
    },
    Phase {
        name: &'static str,
        at_s: f64,
        /// When it was due: it is told a little later.
        at: Instant,
    },
    /// One interval of the window, all workers together.
    Interval {
        index: u32,
        start_s: f64,
        duration_s: f64,
        tally: &'a Tally,
        /// Events of an open loop that were due at its end and had not begun.
        backlog: u64,
    },
    Slice(&'a Slice),
}

/// The measured window.
#[derive(Debug)]
pub struct Measured {
    pub ended: Ended,
    pub measured_ns: u64,
    /// Of the events that were to begin inside the window, wherever they ended.
    pub tally: Tally,
    /// Of those of them that ended after it.
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
    /// Of the connections that were opened before the load began.
    pub setup_connects: Latency,
    pub queue: Queue,
    /// In the order of the arms; empty: the run had none.
    pub arms: Vec<ArmSum>,
}

/// Events of an open loop that were due and had not begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// All events that were due inside the window.
    pub due: u64,
    pub opened: u64,
    /// At the end of each interval; the last is the end of the window.
    pub closed: Vec<u64>,
    /// How long the oldest had waited at the end.
    pub oldest_wait_ns: u64,
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
    let sockets = (0..job.setup.workers).map(|worker| job.setup.sockets_of(worker) as u64);
    limits::make_room_for(sockets.sum()).map_err(|error| Failure {
        hint: Some("raise it (ulimit -n), or ask for fewer connections".to_owned()),
        ..failure::plain(error.to_string())
    })?;
    let engine = choose(job.engine, job.setup.sockets_of(0))?.name;
    let (sender, reports) = mpsc::channel();
    let told = sender.clone();
    let signals = Signals::listen(move || told.send(Report::Signal).is_ok())
        .map_err(|error| failure::plain(format!("listening for signals: {error}")))?;
    let setup = Arc::new(job.setup);
    if setup.looks_first {
        preflight::check(&setup)?;
    }
    let mut mailboxes = Vec::new();
    for number in 0..setup.workers {
        let mailbox = Mailbox::new()
            .map(Arc::new)
            .map_err(|error| failure::plain(format!("making a worker: {error}")))?;
        mailboxes.push(Arc::clone(&mailbox));
        spawn(number, Arc::clone(&setup), engine, mailbox, sender.clone())
            .map_err(|error| failure::plain(format!("starting a worker: {error}")))?;
    }
    let mut controller = Controller::new(setup, mailboxes, reports, progress, job.interval_ns);
    let measured = match &job.arms {
        Some(arms) => controller.control_arms(engine, arms, job.warmup_ns),
        None => controller.control(engine, job.warmup_ns, job.measure_ns, &job.watched),
    };
    drop(signals);
    measured.and_then(|measured| match given_up(&measured.tally) {
        Some(failure) => Err(failure),
        None => Ok(measured),
    })
}

/// A run whose every event was begun again until it was given up has measured nothing.
fn given_up(tally: &Tally) -> Option<Failure> {
    let (failed, retries) = (tally.failed(), tally.retries());
    if tally.events() > 0 || failed == 0 || retries == 0 {
        return None;
    }
    let errors = tally.errors.counts();
    let most = errors.iter().max_by_key(|error| error.count);
    let why = most.map_or(String::new(), |error| {
        format!(", most often for error {}: {}", error.code, error.message)
    });
    Some(Failure {
        code: most.map(|error| error.code),
        sqlstate: most.map(|error| error.sqlstate.clone()),
        statement: most.map(|error| error.statement.clone()),
        hint: Some(
            "take the error out of load.errors.retry to stop at the first one, or raise \
             load.errors.retry_limit"
                .to_owned(),
        ),
        ..failure::plain(format!(
            "no event succeeded: {failed} were given up after {retries} retries{why}"
        ))
    })
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
            let work = match engine {
                Uring::NAME => work::<Uring>,
                _ => work::<Epoll>,
            };
            let told = reports.clone();
            let lives = || work(number, setup, mailbox, reports);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(lives)) {
                let failure = failure::of_panic(&format!("worker {number}"), &*panic);
                // The controller only goes away when the process does.
                drop(told.send(Report::Failed(Box::new(failure))));
            }
        })?;
    Ok(())
}

fn work<E: Engine>(number: u32, setup: Arc<Setup>, mailbox: Arc<Mailbox>, reports: Sender<Report>) {
    threads::keep_apart(number, setup.workers);
    // Without this the kernel lets events begin up to 50 µs after they are due.
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let sockets = setup.sockets_of(number);
    let made = mailbox
        .bell()
        .and_then(|bell| E::new(sockets, bell))
        .map(|mut engine| {
            // Otherwise all that is recorded runs from the end of the answer before.
            if setup.pacing == Pacing::Open
                || !setup.workload.is_single_query()
                || !setup.nodes.is_empty()
            {
                engine.time_sends();
            }
            engine
        })
        .map_err(|error| Box::new(failure::plain(format!("making a worker: {error}"))))
        .and_then(|engine| Worker::new(number, setup, engine, mailbox, reports.clone()));
    match made {
        Ok(worker) => worker.run(),
        // The controller only goes away when the process does.
        Err(failure) => drop(reports.send(Report::Failed(failure))),
    }
}

#[cfg(test)]
mod tests;
