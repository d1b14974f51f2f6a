//! One run from start to end: workers, the shared clock, the edges of the window, the sum.

use super::control::Controller;
use super::engine::choice::{Sockets, choose};
use super::engine::{Alone, Engine, Epoll, Uring};
use super::failure;
use super::limits;
use super::preflight;
use super::setup::{Mailbox, Report, SessionFacts, Setup};
use super::signals::Signals;
use super::socket::Address;
use super::threads;
use super::worker::Worker;
use crate::outcome::{Failure, ProcessDelta};
use crate::plan;
use crate::record::{Latency, Tally};
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
    /// The process whose counters are read at both edges of the window.
    pub watch_pid: Option<u32>,
}

/// What is told while the run goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All sessions are ready.
    Ready {
        session: &'a SessionFacts,
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
    /// Of the connections that were opened before the load began.
    pub setup_connects: Latency,
    pub queue: Queue,
}

/// Events of an open loop that were due and had not begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
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
    limits::make_room_for(u64::from(job.setup.seats) + u64::from(job.setup.idle_seats)).map_err(
        |error| Failure {
            hint: Some("raise it (ulimit -n), or ask for fewer connections".to_owned()),
            ..failure::plain(error.to_string())
        },
    )?;
    let engine = choose(job.engine, sockets_of(&job.setup))?.name;
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
    let measured = controller.control(engine, job.warmup_ns, job.measure_ns, job.watch_pid);
    drop(signals);
    measured
}

fn sockets_of(setup: &Setup) -> Sockets {
    let is_unix = matches!(setup.address, Address::Unix(_));
    Sockets {
        of_a_worker: setup.sockets_of(0),
        is_alone: is_unix && setup.seats.saturating_add(setup.idle_seats) == 1,
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
            let work = match engine {
                Uring::NAME => work::<Uring>,
                Alone::NAME => work::<Alone>,
                _ => work::<Epoll>,
            };
            work(number, setup, mailbox, reports);
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
            if setup.pacing.is_open() || !setup.workload.is_single_query() {
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
