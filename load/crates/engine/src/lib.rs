//! One run from start to end: starts the workers, keeps the time for them, opens and closes the
//! measured window, and adds up the figures.
//!
//! The input of a run is a [`job`], made from a plan in [`of_plan`]. Its result is in [`measured`].
//! One controller ([`control`]) keeps the time for all workers ([`worker`]). In a run with arms it
//! hops from arm to arm ([`slices`]).
//!
//! ```no_run
//! # fn of_plan(job: contend_engine::job::Job) -> Result<(), contend_figures::outcome::Failure> {
//! let measured = contend_engine::run(job, &mut |_progress| {})?;
//! println!("{} events", measured.tally.events());
//! # Ok(()) }
//! ```

mod answers;
pub mod arrival;
pub mod choice;
mod connect;
mod control;
pub mod counters;
mod edges;
mod ending;
mod idle;
pub mod job;
mod links;
mod look;
pub mod measured;
pub mod merge;
mod messages;
pub mod of_plan;
mod pace;
mod preflight;
mod processes;
pub mod seat;
mod slices;
mod slow;
mod steps;
mod tallies;
mod turns;
pub mod worker;
mod worker_stats;
pub mod workload;

use crate::choice::choose;
use contend_client::dialect::Dialect;
use contend_client::failure;
use contend_client::handler_socket::KeyLink;
use contend_client::link::Link;
use contend_client::request::RequestProtocol;
use contend_figures::Tally;
use contend_figures::outcome::{Ended, EventCounts, Failure};
use contend_reactor::engine::{Engine, Epoll, Uring};
use contend_reactor::limits;
use contend_reactor::signals::Signals;
use contend_reactor::threads;
use control::{Begin, Controller};
use job::{ArmJob, Job, Setup};
use measured::{Measured, Progress};
use messages::{Mailbox, Report};
use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use tallies::Tallies;
use worker::Worker;

/// The work of a worker: its number, the run, its mailbox, and where it reports.
type Work = fn(u32, Arc<Setup>, Arc<Mailbox>, Sender<Report>);

/// A dialect that workers can speak, on each engine.
struct DialectEntry {
    protocol: RequestProtocol,
    on_epoll: Work,
    on_uring: Work,
}

impl DialectEntry {
    const fn of<D: Dialect>() -> Self {
        Self {
            protocol: D::PROTOCOL,
            on_epoll: work::<Epoll, D>,
            on_uring: work::<Uring, D>,
        }
    }
}

/// All dialects. Add a new one here.
const DIALECTS: &[DialectEntry] = &[DialectEntry::of::<Link>(), DialectEntry::of::<KeyLink>()];

/// Files of a worker besides its connections: its event queue, and both ends of its waker.
const FILES_PER_WORKER: u64 = 3;
/// The stack of a worker. Sessions that need more have one of their own.
const STACK_BYTES: usize = 512 << 10;

/// Runs a job, reports its progress and returns the measurements.
///
/// # Errors
/// The run failed, or it measured nothing.
pub fn run(job: Job, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Measured, Failure> {
    run_with(DIALECTS, job, progress)
}

fn run_with(
    dialects: &'static [DialectEntry],
    job: Job,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, Failure> {
    // With a ring for each of many threads, most rings would be empty.
    let name = match job.setup.blocks {
        true => Epoll::NAME,
        false => choose(job.engine, job.setup.sockets_of(0))?.name,
    };
    let sockets = (0..job.setup.workers).map(|worker| job.setup.sockets_of(worker) as u64);
    let files = sockets.sum::<u64>() + u64::from(job.setup.workers) * FILES_PER_WORKER;
    limits::make_room_for(files).map_err(|error| Failure {
        hint: Some("raise it (ulimit -n), or use fewer connections".to_owned()),
        ..Failure::plain(error.to_string())
    })?;
    let (sender, reports) = mpsc::channel();
    let told = sender.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let tell = move || {
        raised.store(true, Ordering::Relaxed);
        told.send(Report::Signal).is_ok()
    };
    let signals = Signals::listen(tell)
        .map_err(|error| Failure::plain(format!("listening for signals: {error}")))?;
    let setup = Arc::new(job.setup);
    if setup.looks_first {
        preflight::check(&setup, &stop)?;
    }
    let mailboxes = start(dialects, name, &setup, &sender)
        .map_err(|error| Failure::plain(format!("starting a worker: {error}")))?;
    let engine = match setup.blocks {
        true => "threads",
        false => name,
    };
    let engine = (engine, mailboxes.len() as u32);
    let begin = match job.begin_from {
        None => Begin::WhenReady,
        Some(input) => {
            spawn("begin".to_owned(), &sender, move |told| hear(input, &told))
                .map_err(|error| Failure::plain(format!("starting a thread: {error}")))?;
            Begin::Awaited
        }
    };
    let thinks = setup.arms.iter().any(|arm| arm.workload.thinks());
    let interval_ns = job.interval_ns;
    let mut controller = Controller::new(
        setup,
        engine,
        mailboxes,
        reports,
        progress,
        interval_ns,
        begin,
    );
    let measured = match controller.setup.hops {
        Some(hops) => controller.control_arms(hops, job.warmup_ns),
        None => controller.control(job.warmup_ns, job.measure_ns),
    };
    drop(signals);
    let measured = measured?;
    let nothing = given_up(&measured.tally).or_else(|| still_thinking(thinks, &measured));
    nothing.map_or(Ok(measured), Err)
}

/// Passes on the lines about the start, and at the end that the sender has gone.
fn hear(input: Box<dyn BufRead + Send>, told: &Sender<Report>) {
    for line in input.lines().map_while(Result::ok) {
        let at_ns = line.strip_prefix("begin ").map(str::parse);
        let Some(Ok(at_ns)) = at_ns else {
            break;
        };
        // The controller only goes away when the process does.
        drop(told.send(Report::Begin { at_ns }));
    }
    drop(told.send(Report::Signal));
}

/// The failure of a run in which every connection was still thinking when it ended: no event began.
fn still_thinking(thinks: bool, measured: &Measured) -> Option<Failure> {
    let is_one = thinks && measured.end.ended == Ended::Time && measured.tally.begun == 0;
    is_one.then(|| Failure {
        hint: Some("increase load.measure_s above the think times".to_owned()),
        ..Failure::plain(format!(
            "no event began within {} s: every connection was in its think time",
            measured.end.measured_s
        ))
    })
}

/// The failure of a run in which every event was retried until it was given up: none succeeded.
fn given_up(tally: &Tally) -> Option<Failure> {
    let EventCounts {
        failed, retries, ..
    } = tally.whole().counts;
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
            "remove the error from load.errors.retry to stop at the first one, or raise \
             load.errors.retry_limit"
                .to_owned(),
        ),
        ..Failure::plain(format!(
            "no event succeeded: {failed} were given up after {retries} retries{why}"
        ))
    })
}

/// Starts the workers of a run, each with its mailbox.
fn start(
    dialects: &'static [DialectEntry],
    engine: &'static str,
    setup: &Arc<Setup>,
    reports: &Sender<Report>,
) -> std::io::Result<Vec<Arc<Mailbox>>> {
    let protocols = setup.protocols();
    let workers = setup.workers * protocols.len() as u32;
    let shared = setup.blocks.then(|| Arc::new(Tallies::shared_by(workers)));
    let protocols = protocols.into_iter();
    let protocols = protocols
        .flat_map(|request_protocol| std::iter::repeat_n(request_protocol, setup.workers as usize));
    let start = |(number, request_protocol)| {
        let spoken = dialects.iter().find(|one| one.protocol == request_protocol);
        let RequestProtocol(protocol) = request_protocol;
        let spoken =
            spoken.ok_or_else(|| std::io::Error::other(format!("no {protocol} dialect")))?;
        let work = match engine {
            Uring::NAME => spoken.on_uring,
            _ => spoken.on_epoll,
        };
        let mailbox = Arc::new(Mailbox::new(shared.clone().unwrap_or_default())?);
        let (setup, told) = (Arc::clone(setup), Arc::clone(&mailbox));
        spawn(format!("worker-{number}"), reports, move |reports| {
            work(number, setup, told, reports);
        })?;
        Ok(mailbox)
    };
    (0..).zip(protocols).map(start).collect()
}

/// Does the work on a thread of its own.
fn spawn(
    name: String,
    reports: &Sender<Report>,
    work: impl FnOnce(Sender<Report>) + Send + 'static,
) -> std::io::Result<()> {
    let (reports, told) = (reports.clone(), reports.clone());
    let lives = {
        let name = name.replace('-', " ");
        move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(reports))) {
                let failure = failure::of_panic(&name, &*panic);
                // The controller only goes away when the process does.
                drop(told.send(Report::Failed(Box::new(failure))));
            }
        }
    };
    let thread = std::thread::Builder::new().name(name);
    thread.stack_size(STACK_BYTES).spawn(lives)?;
    Ok(())
}

fn work<E: Engine, D: Dialect>(
    number: u32,
    setup: Arc<Setup>,
    mailbox: Arc<Mailbox>,
    reports: Sender<Report>,
) {
    let place = number % setup.workers.max(1);
    if !setup.blocks {
        threads::keep_apart(place, setup.workers);
    }
    threads::be_punctual();
    let sockets = setup.sockets_of(place);
    let made = mailbox
        .waker()
        .and_then(|waker| E::new(sockets, waker))
        .map(|mut engine| {
            if setup.arms.iter().any(ArmJob::times_sends) {
                engine.time_sends();
            }
            engine
        })
        .map_err(|error| Box::new(Failure::plain(format!("making a worker: {error}"))))
        .and_then(|engine| Worker::<E, D>::new(number, setup, engine, mailbox, reports.clone()));
    match made {
        Ok(worker) => worker.run(),
        // The controller only goes away when the process does.
        Err(failure) => drop(reports.send(Report::Failed(failure))),
    }
}

#[cfg(test)]
mod tests;
