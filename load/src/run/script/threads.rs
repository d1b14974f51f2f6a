//! A script that may wait where the host cannot see it: one thread of the operating system for each
//! of its own, and figures from what the threads count themselves.
//!
//! Rows, bytes and the times of single queries are not known here, and stay 0. An event belongs to
//! the window as elsewhere, if it was to begin inside it; the queries of events in progress at an
//! edge count where they were answered.

use super::Servers;
use super::blocking_io::Gang;
use super::cpu::CpuClocks;
use super::os_threads::start;
use crate::arrival::DueCount;
use crate::lua::fiber::NOT_READY;
use crate::lua::run::Run;
use crate::lua::thread::Duty;
use crate::outcome::Failure;
use crate::reactor::clock;
use crate::record::{Counter, ErrorTally, Latency, Reading, Tally};
use crate::run::job::{Job, Pacing};
use crate::run::measured::{Ended, Measured, Progress, Queue};
use crate::run::messages::{Counts, Timeline};
use crate::run::processes::Processes;
use std::sync::{Arc, PoisonError};
use std::time::{Instant, SystemTime};

/// What such a script cannot be asked for.
///
/// # Errors
/// Words that name the path in the plan.
pub fn refuse(job: &Job) -> Result<(), String> {
    let why = "needs a thread of the operating system for each of its own, and those";
    let setup = &job.setup;
    let thinks = |pacing| matches!(pacing, Pacing::Closed { think_ns, .. } if think_ns > 0);
    if thinks(setup.arms.first.pacing) {
        return Err(format!(
            "load.arrival.think_s: the script {why} do not think"
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
/// A thread could not begin, which it said; or the threads cannot be had.
pub fn run(
    run: &Arc<Run>,
    servers: &Servers,
    job: &Job,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, Failure> {
    let threads = job.setup.connections;
    let cpu = Arc::new(CpuClocks::new(threads));
    let gang = start(
        run,
        servers,
        threads,
        Duty::Events,
        &cpu,
        &job.setup.tally(0),
    )?;
    let gate = &gang.gate;
    if !gate.wait_until_ready(threads) {
        return Err(Failure::plain(NOT_READY));
    }
    tell(Progress::Ready {
        sessions: &[],
        engine: "threads",
        workers: threads,
        start: SystemTime::now(),
    });
    let begin_ns = clock::now_ns();
    let open_ns = begin_ns.saturating_add(job.warmup_ns);
    // After a warm-up the window opens when the counters have been read, not when it was due.
    let limit_from_ns = if job.warmup_ns > 0 { u64::MAX } else { open_ns };
    run.dispenser.begin(begin_ns, limit_from_ns);
    let mut timeline = Timeline {
        begin_ns,
        open_ns,
        close_ns: open_ns.saturating_add(job.measure_ns),
        interval_ns: job.interval_ns,
    };
    gate.open(moment(timeline.close_ns));
    phase(tell, "warmup", &timeline, begin_ns);
    if job.warmup_ns > 0 {
        gate.wait_until_ended(threads, moment(open_ns));
    }
    let mut ledger = Ledger::open(run, &gang, job);
    if job.warmup_ns > 0 {
        timeline.open_ns = clock::now_ns();
    }
    let open_ns = timeline.open_ns;
    let processes = Processes::of(&job.setup);
    let opened = processes.read();
    let cpu_opened_ns = cpu.read_ns();
    let counts_opened = ledger.counts.clone();
    phase(tell, "measure", &timeline, open_ns);
    tell(Progress::Opened {
        counts: &counts_opened,
    });
    let mut tally = job.setup.tally(0);
    let mut ended = Ended::Time;
    let (mut index, mut start_ns, mut left) = (0, open_ns, threads);
    while start_ns < timeline.close_ns {
        let due_ns = timeline.interval_end_ns(start_ns, &job.setup.checkpoints_ns);
        left = gate.wait_until_ended(threads, moment(due_ns));
        let now_ns = clock::now_ns();
        // Threads may all end before their time, by a true value of event() or with the events.
        if left == 0 && now_ns < timeline.close_ns {
            ended = Ended::Events;
            timeline.close_ns = now_ns;
        }
        let end_ns = due_ns.min(timeline.close_ns);
        let interval = ledger.cut(end_ns);
        tally.merge(&interval);
        tell(Progress::Interval {
            index,
            start_s: seconds(start_ns - open_ns),
            duration_s: seconds(end_ns.saturating_sub(start_ns)),
            tally: &interval,
            counts: &ledger.counts,
            backlog: ledger.queue.closed.last().copied().unwrap_or(0),
        });
        (index, start_ns) = (index + 1, end_ns);
    }
    let closed = processes.read();
    let busiest_worker_cpu_ns = cpu.busiest_since_ns(&cpu_opened_ns);
    let counts_closed = ledger.counts.clone();
    run.stop.end();
    phase(tell, "end", &timeline, timeline.close_ns);
    if left > 0 {
        let limit_ns = clock::now_ns().saturating_add(job.setup.drain_ns);
        left = gate.wait_until_ended(threads, moment(limit_ns));
    }
    let ended_ns = gate
        .last_ended_ns()
        .max(timeline.close_ns.min(clock::now_ns()));
    let mut drained = ledger.count();
    let classes = drained.classes.iter_mut();
    classes.for_each(|class| class.queries = 0);
    tally.merge(&drained);
    tally.begun = tally.events() + u64::from(left);
    put_errors_back(run, &tally.errors);
    let (client, server, node_servers) = closed.used_since(&opened).alone();
    let pairs = counts_closed.iter().zip(&counts_opened);
    let queries = pairs.map(|((_, last), (_, first))| last.since(first).queries());
    Ok(Measured {
        ended,
        measured_ns: timeline.close_ns - open_ns,
        tally,
        drained,
        busiest_worker_cpu_ns,
        client,
        server,
        node_servers,
        queries_by_seat: queries.collect(),
        unfinished: left,
        unanswered: left,
        longest_wait_ns: 0,
        setup_connects: Latency::new(),
        queue: ledger.queue,
        ended_after_ns: ended_ns.saturating_sub(open_ns),
        counts: ledger.counts,
        arms: Vec::new(),
    })
}

/// What the threads counted, cut at the ends of intervals.
struct Ledger<'a> {
    run: &'a Run,
    gang: &'a Gang,
    empty: Tally,
    /// By the last cut.
    counts: Counts,
    /// Events that have fallen due, if there is a schedule, and how many had by the window's begin.
    due: Option<DueCount>,
    due_opened: u64,
    queue: Queue,
}

impl<'a> Ledger<'a> {
    /// Opens the window. Without a warm-up it opened when the load began: threads may have begun
    /// already, and everything they did counts.
    fn open(run: &'a Run, gang: &'a Gang, job: &Job) -> Self {
        let mut ledger = Self {
            run,
            gang,
            empty: job.setup.tally(0),
            counts: (0..job.setup.connections)
                .map(|thread| (thread, Reading::default()))
                .collect(),
            due: run.dispenser.due_count(),
            due_opened: 0,
            queue: Queue::default(),
        };
        if job.warmup_ns > 0 {
            // All that an event of the window asks is in it: it opens once the counters are read.
            let (_, counts) = gang.recorder.cut(&ledger.empty, || {
                let counts = run.figures.read();
                gang.recorder.open();
                run.dispenser.open(clock::now_ns());
                counts
            });
            ledger.counts = counts;
            take_errors(run);
            let since_ns = clock::now_ns().saturating_sub(run.dispenser.begin_ns());
            ledger.due_opened = ledger.due.as_mut().map_or(0, |due| due.open(since_ns));
            ledger.queue.opened = ledger.due_opened.saturating_sub(run.figures.begun());
        } else if let Some(due) = &mut ledger.due {
            due.open(0);
        }
        ledger
    }

    /// Ends an interval that was to end at this time.
    fn cut(&mut self, end_ns: u64) -> Tally {
        let tally = self.count();
        let (due, begun) = self.behind(end_ns);
        self.queue.due = due - self.due_opened;
        self.queue.closed.push(due.saturating_sub(begun));
        tally
    }

    /// What was counted since the last time.
    fn count(&mut self) -> Tally {
        let (mut tally, counts) = self
            .gang
            .recorder
            .cut(&self.empty, || self.run.figures.read());
        let mut sum = Reading::default();
        for ((_, now), (_, then)) in counts.iter().zip(&self.counts) {
            sum.merge(&now.since(then));
        }
        let kinds = [Counter::Read, Counter::Write, Counter::Other];
        for (class, counter) in tally.classes.iter_mut().zip(kinds) {
            class.queries = sum.of(counter);
        }
        tally.errors = take_errors(self.run);
        self.counts = counts;
        tally
    }

    /// Events that were due by then, and those that have begun; asked of times that go forward.
    fn behind(&mut self, at_ns: u64) -> (u64, u64) {
        let since_ns = at_ns.saturating_sub(self.run.dispenser.begin_ns());
        let due = self.due.as_mut().map_or(0, |due| due.before(since_ns));
        (due, self.run.figures.begun())
    }
}

fn take_errors(run: &Run) -> ErrorTally {
    let errors = run.errors.lock();
    std::mem::take(&mut *errors.unwrap_or_else(PoisonError::into_inner))
}

/// Whoever tells why a script failed looks for them there.
fn put_errors_back(run: &Run, taken: &ErrorTally) {
    let errors = run.errors.lock();
    errors.unwrap_or_else(PoisonError::into_inner).merge(taken);
}

/// None: never.
fn moment(at_ns: u64) -> Option<Instant> {
    (at_ns != u64::MAX).then(|| clock::instant_of(at_ns))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn phase(tell: &mut dyn FnMut(Progress<'_>), name: &'static str, timeline: &Timeline, at_ns: u64) {
    tell(Progress::Phase {
        name,
        at_s: seconds(at_ns.saturating_sub(timeline.begin_ns)),
        at: clock::instant_of(at_ns),
    });
}
