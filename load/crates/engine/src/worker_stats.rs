//! What a worker records: events, their queries, errors. It hands its figures over at the end of
//! each interval.

use super::edges::Timeline;
use super::job::{ArmJob, Setup};
use super::seat::Seat;
use super::slow::SlowEvents;
use super::tallies::Tallies;
use crate::workload::EventTimes;
use contend_client::request::Ending;
use contend_figures::{KindTally, Latency, Query, Sum, Tally};
use std::sync::Arc;

/// Spare tallies of each shape. They go to the controller and come back empty, so that no interval
/// has to allocate one.
const ON_THEIR_WAY: usize = 2;

/// What one worker has recorded since it last handed over.
pub(super) struct WorkerStats {
    /// Without fields if the worker shares a tally with others.
    tally: Box<Tally>,
    shares: bool,
    worker: u32,
    /// Edges of the load so far.
    edges: u32,
    /// The controller returns empty tallies here.
    tallies: Arc<Tallies>,
    /// Events that have begun since the load did.
    pub(super) begun: u64,
    pub(super) slow: SlowEvents,
}

impl WorkerStats {
    /// The records of a run; the first arm is loaded.
    pub(super) fn new(worker: u32, tallies: Arc<Tallies>, setup: &Setup) -> Self {
        let (shares, mut known) = (setup.blocks, Vec::new());
        for shape in setup.arms.iter().map(ArmJob::shape) {
            if !shares && !known.contains(&shape) {
                known.push(shape);
                (0..ON_THEIR_WAY).for_each(|_| tallies.put(Box::new(Tally::new(shape))));
            }
        }
        let shape = (!shares).then(|| setup.arms.first.shape());
        Self {
            tally: Box::new(Tally::new(shape.unwrap_or_default())),
            shares,
            worker,
            edges: 0,
            tallies,
            begun: 0,
            slow: SlowEvents::none(),
        }
    }

    /// Records for this arm from now on. All figures of the arm before were handed over.
    pub(super) fn turn_to(&mut self, arm: &ArmJob) {
        (self.begun, self.edges) = (0, 0);
        let shape = arm.shape();
        if !self.shares && shape != self.tally.shape() {
            let mut left = std::mem::replace(&mut self.tally, self.tallies.take(shape));
            left.clear();
            self.tallies.put(left);
        }
    }

    /// Returns the tally so far, at an edge of the load. From now on the worker records in an empty
    /// one. None if a worker with the same tally was there before.
    pub(super) fn hand_over(&mut self) -> Option<Box<Tally>> {
        self.edges += 1;
        match self.shares {
            true => self.tallies.hand_over(self.edges),
            false => self.hand_over_rest(),
        }
    }

    /// Returns the records after the last edge. None if the controller takes them from a shared
    /// tally, when all have ended.
    pub(super) fn hand_over_rest(&mut self) -> Option<Box<Tally>> {
        if self.shares {
            return None;
        }
        let empty = self.tallies.take(self.tally.shape());
        Some(std::mem::replace(&mut self.tally, empty))
    }

    #[inline(always)]
    fn record(&mut self, record: impl FnOnce(&mut Tally)) {
        match self.shares {
            false => record(&mut self.tally),
            true => self.share(record),
        }
    }

    #[cold]
    #[inline(never)]
    fn share(&self, record: impl FnOnce(&mut Tally)) {
        self.tallies.share(self.worker, record);
    }

    #[inline(always)]
    fn record_kind(&mut self, kind: u8, record: impl FnOnce(&mut KindTally)) {
        self.record(|tally| {
            if let Some(tally) = tally.kinds.get_mut(usize::from(kind)) {
                record(tally);
            }
        });
    }

    /// The seat's event has begun.
    #[inline]
    pub(super) fn begin_event(&mut self, seat: &Seat) {
        let counts = u64::from(seat.slot.counts);
        self.record(|tally| tally.begun += counts);
        self.begun += 1;
    }

    /// The seat's event begins again.
    #[cold]
    pub(super) fn retry_event(&mut self, seat: &Seat) {
        if seat.slot.counts {
            let kind = seat.kind();
            self.record_kind(kind, |tally| tally.counts.retries += 1);
        }
    }

    /// The seat's event has ended well.
    #[inline]
    pub(super) fn end_event(
        &mut self,
        seat: &mut Seat,
        ending: Ending,
        now_ns: u64,
        timeline: &Timeline,
    ) {
        if timeline.may_cut(seat.slot.begun_ns, now_ns) {
            let part = timeline.part_inside(seat.slot.begun_ns, now_ns);
            self.cut_event(seat, ending.kind, part);
        }
        seat.slot.event = None;
        seat.events_on_link += 1;
        let tried_again_ns = std::mem::take(&mut seat.slot.tried_again_ns);
        if !std::mem::take(&mut seat.slot.counts) {
            return;
        }
        self.slow.see(
            seat.index,
            seat.slot.intended_ns,
            seat.slot.begun_ns,
            now_ns,
        );
        let response_ns = now_ns.saturating_sub(seat.slot.intended_ns);
        let lag_ns = seat.slot.begun_ns.saturating_sub(seat.slot.intended_ns);
        self.record_kind(ending.kind, |tally| {
            tally.record_ns(response_ns, lag_ns);
            if tried_again_ns > 0 || ending.rolled_back {
                let last_try_ns = now_ns.saturating_sub(tried_again_ns);
                let last_try_ns = (tried_again_ns > 0).then_some(last_try_ns);
                tally.record_more(response_ns, ending.rolled_back, last_try_ns);
            }
        });
    }

    /// An event ends well that may have been under way at an edge of the window.
    #[cold]
    fn cut_event(&mut self, seat: &Seat, kind: u8, part_inside: f64) {
        let cut = part_inside - f64::from(u8::from(seat.slot.counts));
        self.record_kind(kind, |tally| tally.cut += cut);
    }

    /// The seat's event ends well with an answer of this node.
    #[inline]
    pub(super) fn count_event_of_node(&mut self, seat: &Seat, node: u16) {
        if seat.slot.counts {
            self.record(|tally| {
                if let Some(tally) = tally.nodes.get_mut(usize::from(node)) {
                    tally.events += 1;
                }
            });
        }
    }

    /// The seat's event has ended well, by the session's own clock.
    pub(super) fn end_timed_event(
        &mut self,
        seat: &mut Seat,
        times: EventTimes,
        now_ns: u64,
        timeline: &Timeline,
    ) {
        self.cut_timed_event(seat, times, now_ns, timeline);
        seat.slot.event = None;
        seat.events_on_link += 1;
        // The time before its first request is lag: until then no server worked for this event.
        let lag_ns = seat.slot.begun_ns.saturating_sub(seat.slot.intended_ns);
        if std::mem::take(&mut seat.slot.counts) {
            self.record_times(EventTimes {
                lag_ns: lag_ns.clamp(times.lag_ns, times.response_ns.max(times.lag_ns)),
                ..times
            });
        }
    }

    /// One more event has ended inside the one in progress.
    #[cold]
    pub(super) fn add_event(
        &mut self,
        seat: &Seat,
        times: EventTimes,
        now_ns: u64,
        timeline: &Timeline,
    ) {
        self.cut_timed_event(seat, times, now_ns, timeline);
        if seat.slot.counts {
            self.record(|tally| tally.begun += 1);
            self.record_times(times);
        }
    }

    fn cut_timed_event(
        &mut self,
        seat: &Seat,
        times: EventTimes,
        now_ns: u64,
        timeline: &Timeline,
    ) {
        let service_ns = times.response_ns.saturating_sub(times.lag_ns);
        let begun_ns = now_ns.saturating_sub(service_ns);
        // In a loop of the script's own, events of the window may follow one that does not count.
        if !seat.slot.counts || timeline.may_cut(begun_ns, now_ns) {
            let part = timeline.part_inside(begun_ns, now_ns);
            self.cut_event(seat, 0, part);
        }
    }

    fn record_times(&mut self, times: EventTimes) {
        self.record_kind(0, |tally| tally.record_ns(times.response_ns, times.lag_ns));
    }

    /// The seat's event is given up, if it is in one.
    pub(super) fn drop_event(&mut self, seat: &mut Seat) {
        seat.slot.tried_again_ns = 0;
        if seat.slot.event.take().is_some() && std::mem::take(&mut seat.slot.counts) {
            self.record_kind(seat.kind(), |tally| tally.counts.failed += 1);
        }
    }

    /// A query of the seat was answered, well or not.
    #[inline]
    pub(super) fn add_query(
        &mut self,
        seat: &mut Seat,
        class: usize,
        node: u16,
        query: &Query,
        time_ns: impl Fn() -> u64,
    ) {
        // A query counts in the window in which its event was due to begin.
        if !seat.slot.counts {
            self.record(|tally| tally.carried += 1);
            return;
        }
        seat.queries += 1;
        self.record(|tally| {
            if let Some(tally) = tally.classes.get_mut(class) {
                tally.add(query, &time_ns);
            }
            if !tally.nodes.is_empty() {
                add_query_of_node(tally, usize::from(node), query, time_ns());
            }
        });
    }

    /// A query that was under way at an edge of the window was answered.
    #[cold]
    pub(super) fn add_cut(&mut self, cut: f64) {
        self.record(|tally| tally.cut += cut);
    }

    /// Counts an error of a server or of a connection.
    #[cold]
    pub(super) fn add_error(
        &mut self,
        seat: &Seat,
        node: u16,
        code: u16,
        sqlstate: &str,
        message: &str,
    ) {
        let statement = || seat.statement();
        self.record(|tally| {
            for errors in tally.errors_of(usize::from(node)) {
                errors.record(code, sqlstate, message, statement);
            }
        });
    }

    /// A connection was opened in `took_ns`. If it had been lost, it was gone for `outage_ns`.
    pub(super) fn add_connect(&mut self, node: u16, took_ns: u64, outage_ns: Option<u64>) {
        self.record(|tally| {
            let connects = tally.connect.get_or_insert_default();
            connects.record_ns(took_ns);
            if let Some(outage_ns) = outage_ns {
                tally.add_outage(usize::from(node), outage_ns as f64 / 1e9);
            }
        });
    }

    /// Takes the connect times that were recorded so far, unless they are shared.
    pub(super) fn take_connects(&mut self) -> Option<Box<Latency>> {
        self.tally.connect.take()
    }
}

#[inline(never)]
fn add_query_of_node(tally: &mut Tally, node: usize, query: &Query, time_ns: u64) {
    if let Some(node) = tally.nodes.get_mut(node) {
        node.queries.add(query, || time_ns);
    }
}
