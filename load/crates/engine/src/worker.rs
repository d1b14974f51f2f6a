//! One worker: one thread, one engine, and the seats that are its own.
//!
//! The loop is made so that a query costs two movements of bytes, one reading of the clock and some
//! arithmetic: no lock, no allocation, no shared memory, no formatting. Rare work (edges of
//! intervals, commands, lost connections) is kept out of its way.

use super::edges::{Edges, Timeline, WorkerPhase};
use super::idle::Idle;
use super::job::{At, Setup};
use super::links::Links;
use super::messages::{Command, Counts, Mailbox, Report};
use super::seat::{Seat, Slot, WaitsFor};
use super::slow::SlowEvent;
use super::turns::Turns;
use super::worker_stats::WorkerStats;
use crate::workload;
use contend_client::dialect::Dialect;
use contend_figures::outcome::Failure;
use contend_reactor::clock;
use contend_reactor::engine::{Engine, Event};
use contend_reactor::socket::Address;
use contend_reactor::{Handler, Reactor};
use contend_wire::ServerError;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// How often, within one answer timeout, the worker looks for requests that have waited too long. A
/// request is thus given up at most 1/20 of the timeout too late.
const SWEEPS_PER_TIMEOUT: u64 = 20;
/// Connections of one worker that are opened at the same time before the load begins.
const SETUP_AT_ONCE: usize = 64;

pub struct Worker<E, D> {
    pub(super) number: u32,
    pub(super) setup: Arc<Setup>,
    pub(super) reactor: Reactor<E>,
    pub(super) links: Links<D>,
    pub(super) seats: Vec<Seat>,
    /// The turns of the arm that is loaded, and those of all other arms.
    pub(super) turns: Turns,
    turns_of_others: Vec<Turns>,
    pub(super) stats: WorkerStats,
    pub(super) edges: Edges,
    /// The error to pass on to a session that judges errors itself.
    pub(super) trouble: Option<ServerError>,
    reports: Sender<Report>,
    mailbox: Arc<Mailbox>,
    /// After the window: all seats before this one have ended their events.
    drained: usize,
    /// When to look for requests that have waited too long; never, unless the plan limits them.
    next_sweep_ns: u64,
    cpu_opened_ns: u64,
    /// Seats that have not begun their setup.
    pub(super) unborn: std::ops::Range<usize>,
    /// Seats that are in it.
    pub(super) in_setup: usize,
    /// How many seats send nothing (idle connections), and how many sessions have ended.
    idle: usize,
    stopped: usize,
    /// Slots of the loaded arm that may still begin events, if its events have an end.
    left: usize,
    /// When the last session ended so far.
    stopped_ns: u64,
}

impl<E: Engine, D: Dialect> Worker<E, D> {
    /// Makes a worker and its seats, on the thread that will run it. Workers are numbered protocol by
    /// protocol: first all workers of one, then all workers of the next.
    ///
    /// # Errors
    /// If a session cannot be made.
    pub fn new(
        number: u32,
        setup: Arc<Setup>,
        engine: E,
        mailbox: Arc<Mailbox>,
        reports: Sender<Report>,
    ) -> Result<Self, Box<Failure>> {
        let mut seats = Vec::new();
        for (arm, job) in (0..).zip(setup.arms.iter()) {
            if job.workload.request_protocol() != D::PROTOCOL {
                continue;
            }
            let judges = job.workload.judges_errors();
            let worker = number % setup.workers.max(1);
            for connection in setup.connections_of(worker) {
                let seat = workload::SeatPlace {
                    index: connection,
                    count: setup.connections,
                    worker,
                    seed: setup.seed,
                };
                let session = job.workload.session(seat).map_err(Box::new)?;
                seats.push(Seat {
                    judges,
                    ..Seat::new(session, connection, arm, job.depth)
                });
            }
            seats.extend(setup.idle_seats_of(worker).map(|index| Seat {
                is_idle: true,
                judges,
                ..Seat::new(Box::new(Idle), index, arm, 1)
            }));
        }
        let next_sweep_ns = if setup.answer_timeout_ns.is_some() {
            0
        } else {
            u64::MAX
        };
        let turns = |(arm, job)| Turns::new(&setup, arm, job, &seats);
        Ok(Self {
            number,
            stats: WorkerStats::new(number, Arc::clone(&mailbox.tallies), &setup),
            turns: turns((0, &setup.arms.first)),
            turns_of_others: (1..).zip(&setup.arms.more).map(turns).collect(),
            drained: 0,
            reactor: Reactor::new(engine),
            links: Links::new(),
            edges: Edges::new(),
            trouble: None,
            setup,
            reports,
            mailbox,
            next_sweep_ns,
            cpu_opened_ns: 0,
            unborn: 0..seats.len(),
            in_setup: 0,
            idle: seats.iter().filter(|seat| seat.is_idle).count(),
            stopped: 0,
            left: 0,
            stopped_ns: 0,
            seats,
        })
    }

    /// Works until the run is over.
    pub fn run(mut self) {
        contend_reactor::run(&mut self);
    }

    /// Begins as many setups as may go on at the same time.
    pub(super) fn begin_setups(&mut self) {
        let at_once = if self.setup.storm {
            usize::MAX
        } else {
            SETUP_AT_ONCE
        };
        while self.edges.phase == WorkerPhase::Setup && self.in_setup < at_once {
            let Some(seat) = self.unborn.next() else {
                break;
            };
            self.in_setup += 1;
            self.start(seat);
        }
    }

    /// A seat of the setup is ready.
    pub(super) fn count_ready(&mut self, seat: usize) {
        self.in_setup -= 1;
        if self.in_setup > 0 || !self.unborn.is_empty() {
            return;
        }
        // A script that opens no connection has no server either.
        let tokens = self.seats.get(seat).map(|seat| seat.tokens.as_slice());
        let facts = self.links.facts(tokens.unwrap_or_default());
        let connects = self.stats.take_connects();
        self.report(Report::Ready { facts, connects });
    }

    /// All seats of all workers are ready.
    pub(super) fn end_setup(&mut self) {
        // Each connection and each statement of the setup set an alarm, in case the server is
        // silent. Without this, all of them would go off inside the window, to no use.
        self.reactor.timers.clear();
    }

    /// Looks for requests that have waited too long.
    fn sweep(&mut self) {
        let Some(timeout_ns) = self.setup.answer_timeout_ns else {
            return;
        };
        self.next_sweep_ns = self.reactor.now_ns() + timeout_ns / SWEEPS_PER_TIMEOUT;
        self.give_up_waiting(timeout_ns);
    }

    /// Reads the clock, and does the due work of the timeline.
    #[inline]
    pub(super) fn tick(&mut self) {
        self.reactor.tick();
        if self.reactor.now_ns() >= self.edges.next_ns {
            self.cross_edges();
        }
    }

    /// A session that may block was called: its next step is taken now, however long it took.
    pub(super) fn look_up(&mut self) {
        self.reactor.tick();
        if matches!(self.edges.phase, WorkerPhase::Warmup | WorkerPhase::Measure) {
            self.cross_edges();
        }
    }

    fn cross_edges(&mut self) {
        let mut begins = false;
        while let Some(before) =
            (self.edges).cross(self.reactor.now_ns(), &self.setup.checkpoints_ns)
        {
            match before {
                WorkerPhase::Armed => begins = true,
                WorkerPhase::Warmup => self.open_window(),
                WorkerPhase::Measure => self.end_interval(),
                WorkerPhase::Released => return self.end(),
                WorkerPhase::Setup | WorkerPhase::Closed | WorkerPhase::Over => {}
            }
        }
        // Without a warm-up the window opens before the first request, not after it.
        if begins && self.reactor.now_ns() < self.edges.timeline.close_ns {
            self.begin_turns();
        }
    }

    fn open_window(&mut self) {
        // Records from before the window do not belong to it.
        let before = self.stats.hand_over();
        self.seats.iter_mut().for_each(|seat| seat.queries = 0);
        self.cpu_opened_ns = clock::thread_cpu_ns();
        self.report(Report::Opened {
            worker: self.number,
            before,
            counts: self.counts(),
            begun: self.stats.begun,
        });
    }

    fn end_interval(&mut self) {
        let tally = self.stats.hand_over();
        self.report(Report::Interval {
            worker: self.number,
            tally,
            counts: self.counts(),
            begun: self.stats.begun,
            next_due_ns: self.turns.next_due_ns(),
        });
        if self.edges.phase == WorkerPhase::Closed {
            self.report(Report::Closed {
                worker: self.number,
                cpu_ns: clock::thread_cpu_ns().saturating_sub(self.cpu_opened_ns),
                queries_by_seat: self.queries_by_connection(),
            });
            self.drained = 0;
            self.look_whether_drained();
        }
    }

    fn queries_by_connection(&self) -> Vec<(u32, u64)> {
        let loaded = self.seats.iter().filter(|seat| !seat.rests);
        loaded.map(|seat| (seat.index, seat.queries)).collect()
    }

    /// What the seats have counted by themselves.
    fn counts(&self) -> Counts {
        let arm = self.turns.arm;
        let seats = self.seats.iter();
        let seats = seats.filter(|seat| !seat.is_idle && seat.arm == arm);
        let workload = &self.setup.arms.at(arm).workload;
        workload.read_counts(&mut seats.map(|seat| seat.index))
    }

    /// After the window of an arm: reports, once, when all events have ended.
    #[cold]
    pub(super) fn look_whether_drained(&mut self) {
        if !self.setup.has_arms() || self.drained > self.seats.len() {
            return;
        }
        let in_event = |seat: &Seat| seat.each_slot().any(|slot| slot.event.is_some());
        while self.seats.get(self.drained).is_some_and(|s| !in_event(s)) {
            self.drained += 1;
        }
        if self.drained == self.seats.len() {
            self.drained += 1;
            let tally = self.stats.hand_over_rest();
            let slow = self.take_slow();
            self.report(Report::Drained {
                worker: self.number,
                tally,
                slow,
            });
        }
    }

    /// The slow events that were noted, with the numbers of their connections.
    fn take_slow(&mut self) -> Vec<SlowEvent> {
        let (seats, links, arm) = (&self.seats, &self.links, self.turns.arm);
        self.stats.slow.take(|index| {
            let seat = seats.iter().find(|s| s.index == index && s.arm == arm)?;
            let token = seat.tokens.first()?;
            links.at(*token)?.link.connection_number()
        })
    }

    pub(super) fn report(&self, report: Report) {
        // The controller only goes away when the process does.
        let _ = self.reports.send(report);
    }

    /// Ends the run with a failure of the server at this connection; names its node and arm.
    pub(super) fn fail_at(&mut self, token: usize, failure: impl FnOnce(&Address) -> Failure) {
        let failure = failure(self.address_of(token));
        let at = self.links.at(token).map_or(At::default(), |link| link.at);
        self.fail(self.setup.named(at, failure));
    }

    /// Ends the run with a failure.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.edges.phase = WorkerPhase::Over;
        self.report(Report::Failed(Box::new(failure)));
    }

    fn obey(&mut self) {
        for command in self.mailbox.take() {
            self.reactor.tick();
            match command {
                Command::Begin(timeline, arm) => self.arm(timeline, arm),
                Command::NoteSlow(over_ns) => self.stats.slow.note_over(over_ns),
                Command::CloseBy(at_ns) => {
                    self.edges.close_by(at_ns);
                    self.cross_edges();
                }
                Command::Release(drain_ns) => self.release(drain_ns),
            }
        }
    }

    fn arm(&mut self, timeline: Timeline, arm: u16) {
        if self.edges.phase == WorkerPhase::Setup {
            self.end_setup();
        }
        self.edges.arm(timeline);
        let other = self.turns_of_others.iter_mut().find(|of| of.arm == arm);
        if let Some(other) = other {
            std::mem::swap(&mut self.turns, other);
        }
        self.stats.turn_to(self.setup.arms.at(arm));
        for seat in &mut self.seats {
            seat.rests = seat.is_idle || seat.arm != arm;
        }
        self.cross_edges();
    }

    /// Lets the sessions end. Those that wait for nothing end at once; the others have `drain_ns`.
    fn release(&mut self, drain_ns: u64) {
        let limit_ns = self.reactor.now_ns().saturating_add(drain_ns);
        self.edges.release(limit_ns);
        for seat in 0..self.seats.len() {
            self.for_slots(seat, Self::finish_if_free);
        }
        self.end_if_all_stopped();
    }

    /// One more session has ended.
    pub(super) fn count_stopped(&mut self) {
        self.stopped += 1;
        // A script may have computed for long before it ended: check again which timers are due.
        self.reactor.tick();
        self.stopped_ns = self.reactor.now_ns();
        // Those that ask nothing stay until all are released.
        if self.stopped + self.idle == self.seats.len() && self.edges.phase < WorkerPhase::Closed {
            self.report(Report::Idle {
                at_ns: self.stopped_ns,
            });
        }
        self.end_if_all_stopped();
    }

    /// An arm is loaded: how many slots are to end their events, if these have an end.
    pub(super) fn count_left(&mut self) {
        let loaded = self.seats.iter().filter(|seat| !seat.rests);
        let slots = loaded.flat_map(Seat::each_slot);
        let works = |slot: &&Slot| slot.waits_for != WaitsFor::Stopped;
        self.left = slots.filter(works).count();
        self.look_whether_done();
    }

    /// There are no more events for the slot of this seat.
    #[cold]
    pub(super) fn count_done(&mut self, seat: usize) {
        let Some(seat) = self.seats.get_mut(seat) else {
            return;
        };
        if !seat.rests && !std::mem::replace(&mut seat.slot.is_done, true) {
            self.left = self.left.saturating_sub(1);
            self.look_whether_done();
        }
    }

    /// Reports that the seats of an arm are done, so that its slice ends.
    fn look_whether_done(&self) {
        let is_loaded = matches!(self.edges.phase, WorkerPhase::Warmup | WorkerPhase::Measure);
        if self.setup.has_arms() && self.turns.ends && self.left == 0 && is_loaded {
            let at_ns = self.reactor.now_ns();
            self.report(Report::Idle { at_ns });
        }
    }

    fn end_if_all_stopped(&mut self) {
        if self.edges.phase == WorkerPhase::Released && self.stopped == self.seats.len() {
            self.end();
        }
    }

    /// Ends this worker's run: closes all connections, and reports the last figures and how many
    /// requests had no answer.
    fn end(&mut self) {
        let slots = self.seats.iter().flat_map(Seat::each_slot);
        let unfinished = slots.filter(|slot| slot.counts).count() as u32;
        let (unanswered, longest_wait_ns) = self.links.unanswered(self.reactor.now_ns());
        for token in 0..self.links.all.len() {
            self.hang_up(token);
        }
        self.edges.phase = WorkerPhase::Over;
        let tally = self.stats.hand_over_rest();
        self.report(Report::Ended {
            worker: self.number,
            tally,
            counts: self.counts(),
            stopped_ns: self.stopped_ns,
            unfinished,
            unanswered,
            longest_wait_ns,
        });
    }
}

impl<E: Engine, D: Dialect> Handler<E> for Worker<E, D> {
    #[inline]
    fn reactor(&mut self) -> &mut Reactor<E> {
        &mut self.reactor
    }

    fn is_over(&self) -> bool {
        self.edges.phase == WorkerPhase::Over
    }

    fn due_ns(&mut self) -> u64 {
        self.begin_setups();
        let edge_ns = self.edges.next_ns.min(self.next_sweep_ns);
        edge_ns.min(self.event_due_ns())
    }

    #[inline]
    fn heard(&mut self, index: usize) {
        let (token, event) = self.reactor.engine.event(index);
        if self.links.queues {
            self.links.turn(&mut self.seats, token);
        }
        match event {
            Event::Bytes(bytes) => {
                let heard = self.links.hear(token, bytes);
                if self.links.queues && self.links.has_queue(token) {
                    self.take_answers(token, heard);
                } else {
                    self.take_heard(token, heard);
                }
            }
            Event::Connected => self.greet(token),
            Event::Nothing => {}
            Event::Woken => self.obey(),
            Event::Closed(error) => self.closed(token, error),
        }
    }

    fn look_at_clock(&mut self) {
        self.cross_edges();
    }

    fn timer(&mut self, at_ns: u64, seat: usize, alarm: u64) {
        self.wake_seat(at_ns, seat, alarm);
    }

    fn end_round(&mut self) {
        self.dispatch();
        if self.reactor.now_ns() >= self.next_sweep_ns {
            self.sweep();
        }
    }

    fn broken(&mut self, error: io::Error) {
        self.fail(Failure::plain(format!("waiting for sockets: {error}")));
    }
}
