//! A script that may wait where the host cannot see it: one thread of the operating system for each
//! of its own, and figures from what the threads count themselves.
//!
//! Rows, bytes and the times of single queries are not known here, and stay 0. An event belongs to
//! the window as elsewhere, if it was to begin inside it; the queries of events in progress at an
//! edge count where they were answered.

use super::Servers;
use super::blocking_io::Gang;
use super::gate::GateState;
use super::os_threads::start;
use crate::lua::fiber::NOT_READY;
use crate::lua::run::Run;
use crate::lua::stopping::stop;
use crate::lua::thread::Duty;
use contend_engine::edges::{Edges, WorkerPhase};
use contend_engine::job::{Job, Pacing, Setup};
use contend_engine::measured::{Measured, Progress};
use contend_engine::messages::{Command, Counts, Mailbox, Report};
use contend_engine::{run_on, spawn};
use contend_figures::outcome::Failure;
use contend_figures::{Counter, ErrorTally, Reading, Tally};
use contend_reactor::{clock, threads};
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError};

/// How often, and how many times, threads that are left at the end get the stop request.
const STOP_EVERY_NS: u64 = 100_000_000;
const STOP_TIMES: u32 = 5;

/// Refuses settings that such a script does not support.
///
/// # Errors
/// The text names the path in the plan.
pub fn refuse(job: &Job) -> Result<(), String> {
    let why = "needs operating system threads, and these";
    let setup = &job.setup;
    let thinks = |pacing| matches!(pacing, Pacing::Closed { think_ns, .. } if think_ns > 0);
    if thinks(setup.arms.first.pacing) {
        return Err(format!(
            "load.arrival.think_s: the script {why} have no think time"
        ));
    }
    if setup.arms.first.events_each.is_some() {
        return Err(format!(
            "load.events_each: the script {why} share load.events"
        ));
    }
    if setup.has_arms() {
        return Err(format!(
            "load.slices: the script {why} cannot hop between arms"
        ));
    }
    if setup.idle_seats > 0 || setup.answer_timeout_ns.is_some() {
        return Err(format!(
            "load: the script {why} have neither idle_connections nor answer_timeout_s"
        ));
    }
    Ok(())
}

/// Runs the events of a script until the time is over or there are no more.
///
/// # Errors
/// A thread could not begin, which it reported; or the threads cannot be created.
pub fn run(
    run: &Arc<Run>,
    servers: &Servers,
    job: Job,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, Failure> {
    let engine = ("threads", job.setup.connections);
    run_on(engine, job, tell, |setup, reports| {
        let mailbox = Mailbox::new().map(Arc::new)?;
        let (threads, shape) = (setup.connections, setup.arms.first.shape());
        let told = Arc::clone(&mailbox);
        let gang = start(run, servers, threads, Duty::Events, told, shape)?;
        let (run, setup, told) = (Arc::clone(run), Arc::clone(setup), Arc::clone(&mailbox));
        spawn("worker-0".to_owned(), reports, move |reports| {
            let nothing = |thread| (thread, Reading::default());
            let counts: Counts = (0..threads).map(nothing).collect();
            let worker = ScriptWorker {
                run,
                setup,
                gang,
                mailbox: told,
                reports,
                edges: Edges::new(),
                told_ready: false,
                told_idle: false,
                counts_opened: counts.clone(),
                counts,
                cpu_opened_ns: Vec::new(),
                errors: ErrorTally::default(),
            };
            worker.work();
        })?;
        Ok(vec![mailbox])
    })
}

/// Represents all threads to the controller of the run, as a worker represents its seats.
struct ScriptWorker {
    run: Arc<Run>,
    setup: Arc<Setup>,
    gang: Arc<Gang>,
    mailbox: Arc<Mailbox>,
    reports: Sender<Report>,
    edges: Edges,
    /// The threads got the message to be ready, or to have ended.
    told_ready: bool,
    told_idle: bool,
    /// When the figures were taken last, and when the window opened.
    counts: Counts,
    counts_opened: Counts,
    cpu_opened_ns: Vec<u64>,
    /// All errors so far.
    errors: ErrorTally,
}

impl ScriptWorker {
    fn work(mut self) {
        threads::be_punctual();
        while self.edges.phase != WorkerPhase::Over {
            let seen = self.gang.gate.watch(self.edges.next_ns);
            self.obey();
            self.cross_edges(seen);
            self.look_at(seen);
        }
    }

    fn obey(&mut self) {
        for command in self.mailbox.take() {
            match command {
                Command::Begin(timeline, _) => {
                    // After a warm-up the window opens when the counters have been read, not when
                    // it was due.
                    if timeline.open_ns > timeline.begin_ns {
                        self.run.dispenser.open(u64::MAX);
                    }
                    self.edges.arm(timeline);
                }
                // Its threads ask on their own, in no slice.
                Command::NoteSlow(_) => {}
                Command::CloseBy(at_ns) => self.edges.close_by(at_ns),
                Command::Release(drain_ns) => {
                    let limit_ns = clock::now_ns().saturating_add(drain_ns);
                    self.edges.release(limit_ns);
                }
            }
        }
    }

    fn cross_edges(&mut self, seen: GateState) {
        let mut begins = false;
        while let Some(before) = (self.edges).cross(clock::now_ns(), &self.setup.checkpoints_ns) {
            match before {
                WorkerPhase::Armed => begins = true,
                WorkerPhase::Warmup => self.open_window(),
                WorkerPhase::Measure => self.end_interval(),
                WorkerPhase::Released => return self.end(seen),
                WorkerPhase::Setup | WorkerPhase::Closed | WorkerPhase::Over => {}
            }
        }
        if begins {
            self.gang.gate.open(self.edges.timeline.close_ns);
        }
    }

    /// Reports the state of the threads, if it is time.
    fn look_at(&mut self, seen: GateState) {
        let threads = self.setup.connections;
        let all_ended = seen.ended >= threads;
        match self.edges.phase {
            WorkerPhase::Setup if seen.failed => {
                self.edges.phase = WorkerPhase::Over;
                self.report(Report::Failed(Box::new(Failure::plain(NOT_READY))));
            }
            WorkerPhase::Setup if seen.is_settled(threads) && !self.told_ready => {
                self.told_ready = true;
                let (facts, connects) = (Vec::new(), None);
                self.report(Report::Ready { facts, connects });
            }
            // All may end before their time, by a true value of event() or with the events.
            WorkerPhase::Warmup | WorkerPhase::Measure if all_ended && !self.told_idle => {
                self.told_idle = true;
                let at_ns = seen.ended_ns;
                self.report(Report::Idle { at_ns });
            }
            WorkerPhase::Released if all_ended => self.end(seen),
            _ => {}
        }
    }

    fn open_window(&mut self) {
        let timeline = self.edges.timeline;
        let mut open_ns = timeline.open_ns;
        let (gang, run) = (Arc::clone(&self.gang), Arc::clone(&self.run));
        let before = self.count(|| {
            // All that an event of the window asks is in it: it opens once the counters are read.
            // Without a warm-up no event has begun.
            if timeline.open_ns > timeline.begin_ns {
                open_ns = clock::now_ns();
                gang.recorder.open();
                run.dispenser.open(open_ns);
            }
        });
        self.edges.open_late(open_ns, &self.setup.checkpoints_ns);
        self.counts_opened.clone_from(&self.counts);
        self.cpu_opened_ns = self.gang.cpu.read_ns();
        self.report(Report::Opened {
            worker: 0,
            open_ns,
            before,
            counts: self.counts.clone(),
            begun: self.run.figures.begun(),
        });
    }

    fn end_interval(&mut self) {
        let tally = self.count(|| {});
        self.report(Report::Interval {
            worker: 0,
            tally,
            counts: self.counts.clone(),
            begun: self.run.figures.begun(),
            // The events of a schedule that have not begun are not taken either.
            next_due_ns: None,
        });
        if self.edges.phase == WorkerPhase::Closed {
            let pairs = self.counts.iter().zip(&self.counts_opened);
            self.report(Report::Closed {
                cpu_ns: self.gang.cpu.busiest_since_ns(&self.cpu_opened_ns),
                queries_by_seat: pairs
                    .map(|((thread, last), (_, first))| (*thread, last.since(first).queries()))
                    .collect(),
            });
        }
    }

    /// Threads that compute without end are stopped; those that wait are left behind.
    fn stop_those_left(&self, mut seen: GateState) -> GateState {
        for _ in 0..STOP_TIMES {
            if seen.ended >= self.setup.connections {
                break;
            }
            stop(&self.run.states);
            seen = self.gang.gate.watch(clock::now_ns() + STOP_EVERY_NS);
        }
        seen
    }

    fn end(&mut self, seen: GateState) {
        self.edges.phase = WorkerPhase::Over;
        let seen = self.stop_those_left(seen);
        let left = self.setup.connections.saturating_sub(seen.ended);
        let mut tally = self.count(|| {});
        tally.begun += u64::from(left);
        tally.classes.iter_mut().for_each(|class| class.queries = 0);
        // The report of why a script failed looks for them there.
        let errors = self.run.errors.lock();
        errors
            .unwrap_or_else(PoisonError::into_inner)
            .merge(&self.errors);
        self.report(Report::Ended {
            tally,
            counts: self.counts.clone(),
            stopped_ns: seen.ended_ns.max(self.edges.timeline.close_ns),
            unfinished: left,
            unanswered: left,
            longest_wait_ns: 0,
        });
    }

    /// The counts since the last time. No event ends before `look` was called.
    fn count(&mut self, look: impl FnOnce()) -> Box<Tally> {
        let mut tally = self.mailbox.take_tally(self.setup.arms.first.shape());
        let counts = self.gang.recorder.cut(&mut tally, || {
            let counts = self.run.figures.read();
            look();
            counts
        });
        let mut sum = Reading::default();
        for ((_, now), (_, then)) in counts.iter().zip(&self.counts) {
            sum.merge(&now.since(then));
        }
        let kinds = [Counter::Read, Counter::Write, Counter::Other];
        for (class, counter) in tally.classes.iter_mut().zip(kinds) {
            class.queries = sum.of(counter);
        }
        let errors = self.run.errors.lock();
        tally.errors = std::mem::take(&mut *errors.unwrap_or_else(PoisonError::into_inner));
        self.errors.merge(&tally.errors);
        tally.begun = tally.events();
        self.counts = counts;
        tally
    }

    fn report(&self, report: Report) {
        // The controller only goes away when the process does.
        let _ = self.reports.send(report);
    }
}
