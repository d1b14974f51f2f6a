//! A script that may wait where the host cannot see it, as the workload of a plan: one thread of
//! the operating system for each of its own, and figures from what the threads count themselves.
//!
//! Rows, bytes and the times of single queries are not known here, and stay 0. An event belongs to
//! the window as elsewhere, if it was to begin inside it; the queries of events in progress at an
//! edge count where they were answered.

use super::{Servers, Stage, Ticker};
use crate::arrival::DueCount;
use crate::drive::clock;
use crate::drive::counters::ProcessSnapshot;
use crate::drive::job::{Job, Pacing};
use crate::drive::measured::{Ended, Measured, Progress, Queue};
use crate::lua::figures::{Counter, Reading};
use crate::lua::run::Run;
use crate::outcome::Failure;
use crate::record::{Latency, Tally};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Longer than any run: the answers of a run without intervals come as one.
const NO_INTERVAL: Duration = Duration::from_secs(1 << 32);

/// An interval shorter than this part of the one before is none of its own.
const SLIVER: u32 = 10;

/// What the threads counted, cut at the ends of intervals.
struct Ledger {
    run: Arc<Run>,
    empty: Tally,
    at: Instant,
    readings: Vec<Reading>,
    intervals: Vec<(Duration, Tally)>,
    /// Events that have fallen due, if there is a schedule.
    due: Option<DueCount>,
    /// Those that were due, and those that had begun, at the begin of the window and at the end of
    /// each interval.
    behind: Vec<(u64, u64)>,
}

impl Ledger {
    fn new(run: &Arc<Run>, empty: Tally) -> Self {
        Self {
            run: Arc::clone(run),
            empty,
            at: Instant::now(),
            readings: read(run),
            intervals: Vec::new(),
            due: run.dispenser.schedule().map(DueCount::new),
            behind: Vec::new(),
        }
    }

    /// How far the events are behind their schedule.
    fn look_behind(&mut self) {
        let since_ns = clock::now_ns().saturating_sub(self.run.dispenser.begin_ns());
        let due = self.due.as_mut().map_or(0, |due| due.before(since_ns));
        self.behind.push((due, self.run.figures.begun()));
    }

    fn queue(&self) -> Queue {
        let backlog = |(due, begun): &(u64, u64)| due.saturating_sub(*begun);
        let (first, last) = (self.behind.first(), self.behind.last());
        let due = |at: Option<&(u64, u64)>| at.map_or(0, |(due, _)| *due);
        match self.due {
            None => Queue::default(),
            Some(_) => Queue {
                due: due(last) - due(first),
                opened: first.map_or(0, backlog),
                closed: self.behind.iter().skip(1).map(backlog).collect(),
                // Which event is the oldest is known to the threads alone.
                oldest_wait_ns: 0,
            },
        }
    }

    /// Without a warm-up the window opened when the load began: threads may have begun already,
    /// and everything they did counts.
    fn open_since(&mut self, begun: Instant) -> Instant {
        self.at = begun;
        self.behind.push((0, 0));
        begun
    }

    /// Forgets what was counted so far: the window opens at the moment returned.
    fn open(&mut self) -> Instant {
        self.cut(Instant::now());
        self.intervals.clear();
        self.behind.clear();
        (self.readings, self.at) = self.run.open_window();
        self.look_behind();
        self.at
    }

    /// Ends an interval.
    fn cut(&mut self, now: Instant) {
        let tally = self.count();
        self.look_behind();
        let length = now.saturating_duration_since(self.at);
        self.at = now;
        match self.intervals.last_mut() {
            // What is left when the last interval has just ended belongs to it.
            Some((before, last)) if length * SLIVER < *before => {
                *before += length;
                last.merge(&tally);
                let last = self.behind.pop();
                self.behind.pop();
                self.behind.extend(last);
            }
            _ => self.intervals.push((length, tally)),
        }
    }

    /// What was counted since the last time.
    fn count(&mut self) -> Tally {
        let (readings, times) = self.run.figures.cut();
        let mut sum = Reading::default();
        for (now, then) in readings.iter().zip(&self.readings) {
            sum.merge(&now.since(then));
        }
        let mut tally = self.empty.clone();
        if let Some(kind) = tally.kinds.first_mut() {
            kind.events = sum.of(Counter::Events);
            kind.response = times.response;
            kind.open = times.open;
        }
        tally.reconnects = sum.of(Counter::Reconnects);
        let kinds = [Counter::Read, Counter::Write, Counter::Other];
        for (class, counter) in tally.classes.iter_mut().zip(kinds) {
            class.queries = sum.of(counter);
        }
        let mut errors = self
            .run
            .errors
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tally.errors = std::mem::take(&mut *errors);
        drop(errors);
        self.readings = readings;
        tally
    }
}

fn read(run: &Run) -> Vec<Reading> {
    run.figures
        .threads
        .iter()
        .map(|thread| thread.read())
        .collect()
}

fn queries(reading: &Reading) -> u64 {
    let kinds = [Counter::Read, Counter::Write, Counter::Other];
    kinds.into_iter().map(|counter| reading.of(counter)).sum()
}

/// What such a script cannot be asked for.
///
/// # Errors
/// Words that name the path in the plan.
pub fn refuse(job: &Job) -> Result<(), String> {
    let why = "needs a thread of the operating system for each of its own, and those";
    let setup = &job.setup;
    let thinks = |pacing| matches!(pacing, Pacing::Closed { think_ns, .. } if think_ns > 0);
    if thinks(setup.pacing) {
        return Err(format!(
            "load.arrival.think_s: the script {why} do not think"
        ));
    }
    if setup.events_each.is_some() {
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

/// Runs the events of a script until the time is over.
///
/// # Errors
/// A thread could not begin, which it said; or the threads cannot be had.
pub fn run(
    run: &Arc<Run>,
    servers: &Servers,
    job: &Job,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, Failure> {
    let threads = job.setup.seats;
    let ledger = Arc::new(Mutex::new(Ledger::new(run, job.setup.tally())));
    let locked = || ledger.lock().unwrap_or_else(PoisonError::into_inner);
    let ours = std::process::id();
    let look = || {
        (
            ProcessSnapshot::take(ours),
            job.watched.server.and_then(ProcessSnapshot::take),
        )
    };
    let mut edges = [(None, None), (None, None)];
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let mut ticker = None;
    let mut measured = Duration::ZERO;
    let mut begun = Instant::now();
    let mut opened = begun;
    let mut due = begun;
    let mut ended = Ended::Time;
    let ran = super::run(host_job(run, servers, job), &mut |stage| match stage {
        Stage::Ready => {
            begun = Instant::now();
            tell(Progress::Ready {
                sessions: &[],
                engine: "threads",
                workers: threads,
                start: SystemTime::now(),
            });
            phase(tell, "warmup", Duration::ZERO);
        }
        Stage::Measuring(since) => {
            due = since + Duration::from_nanos(job.measure_ns);
            edges[0] = look();
            opened = match job.warmup_ns {
                0 => locked().open_since(since),
                _ => locked().open(),
            };
            first = locked().readings.clone();
            phase(tell, "measure", opened - begun);
            ticker = interval_ticker(&ledger, job.interval_ns, since);
        }
        Stage::Over => {
            let now = Instant::now();
            edges[1] = look();
            measured = now - opened;
            // The ticker cuts the last interval where that is due now; then little is left.
            drop(ticker.take());
            locked().cut(now);
            last = locked().readings.clone();
            // Threads may all end before their time, by a true value of event().
            if now < due {
                ended = Ended::Events;
            }
            phase(tell, "end", now - begun);
        }
    })?;
    let mut drained = locked().count();
    drained
        .classes
        .iter_mut()
        .for_each(|class| class.queries = 0);
    let queue = locked().queue();
    let mut tally = job.setup.tally();
    tally.merge(&drained);
    let mut start_s = 0.0;
    for (index, (length, interval)) in locked().intervals.drain(..).enumerate() {
        tally.merge(&interval);
        tell(Progress::Interval {
            index: index as u32,
            start_s,
            duration_s: length.as_secs_f64(),
            tally: &interval,
            backlog: queue.closed.get(index).copied().unwrap_or(0),
        });
        start_s += length.as_secs_f64();
    }
    tally.begun = tally.events() + u64::from(ran.unfinished);
    let [opened, closed] = edges;
    let between = |before: Option<ProcessSnapshot>, after: Option<ProcessSnapshot>| {
        Some(before?.until(&after?))
    };
    let client = between(opened.0, closed.0).unwrap_or_default();
    Ok(Measured {
        ended,
        measured_ns: measured.as_nanos() as u64,
        tally,
        drained,
        busiest_worker_cpu_ns: ran.busiest_cpu_ns,
        client,
        server: between(opened.1, closed.1),
        node_servers: Vec::new(),
        queries_by_seat: last
            .iter()
            .zip(&first)
            .map(|(last, first)| queries(&last.since(first)))
            .collect(),
        unfinished: ran.unfinished,
        unanswered: ran.unfinished,
        longest_wait_ns: 0,
        setup_connects: Latency::new(),
        queue,
        arms: Vec::new(),
    })
}

fn host_job(run: &Arc<Run>, servers: &Servers, job: &Job) -> super::Job {
    super::Job {
        run: Arc::clone(run),
        servers: servers.clone(),
        threads: job.setup.seats,
        warmup: Duration::from_nanos(job.warmup_ns),
        time: Some(Duration::from_nanos(job.measure_ns)),
        drain: Duration::from_nanos(job.setup.drain_ns),
        os_threads: true,
    }
}

fn phase(tell: &mut dyn FnMut(Progress<'_>), name: &'static str, at: Duration) {
    let at_s = at.as_secs_f64();
    let at = Instant::now();
    tell(Progress::Phase { name, at_s, at });
}

/// Cuts the ledger at the end of each interval.
fn interval_ticker(
    ledger: &Arc<Mutex<Ledger>>,
    interval_ns: u64,
    opened: Instant,
) -> Option<Ticker> {
    let every = match interval_ns {
        0 => NO_INTERVAL,
        length => Duration::from_nanos(length),
    };
    let ledger = Arc::clone(ledger);
    let start = Ticker::start("intervals", move || {
        let work = move |due: Instant| {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.cut(Instant::now());
            Some(due + every)
        };
        (work, Some(opened + every))
    });
    // Without it the window is one interval.
    start.ok()
}
