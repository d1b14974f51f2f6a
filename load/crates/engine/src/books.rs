//! What a worker records: events, their queries, errors. It hands its figures over at the end of
//! each interval.

use super::edges::Timeline;
use super::job::{ArmJob, Several};
use super::messages::Mailbox;
use super::seat::Seat;
use super::slow::SlowEvents;
use crate::workload::EventTimes;
use contend_client::request::Ending;
use contend_figures::{Latency, Query, Tally};
use std::sync::Arc;

/// Spare tallies of each shape. They go to the controller and come back empty, so that no interval
/// has to allocate one.
const ON_THEIR_WAY: usize = 2;

/// The books of one worker.
pub(super) struct Books {
    tally: Box<Tally>,
    /// The controller returns empty tallies here.
    mailbox: Arc<Mailbox>,
    /// Events that have begun since the load did.
    pub(super) begun: u64,
    pub(super) slow: SlowEvents,
}

impl Books {
    /// The books of a run with these arms; the first is loaded.
    pub(super) fn new(mailbox: Arc<Mailbox>, arms: &Several<ArmJob>) -> Self {
        let mut known = Vec::new();
        for shape in arms.iter().map(ArmJob::shape) {
            if !known.contains(&shape) {
                known.push(shape);
                (0..ON_THEIR_WAY).for_each(|_| mailbox.put_tally(Box::new(Tally::new(shape))));
            }
        }
        Self {
            tally: Box::new(Tally::new(arms.first.shape())),
            mailbox,
            begun: 0,
            slow: SlowEvents::none(),
        }
    }

    /// Records for this arm from now on. All figures of the arm before were handed over.
    pub(super) fn turn_to(&mut self, arm: &ArmJob) {
        self.begun = 0;
        let shape = arm.shape();
        if shape != self.tally.shape() {
            let mut left = std::mem::replace(&mut self.tally, self.mailbox.take_tally(shape));
            left.clear();
            self.mailbox.put_tally(left);
        }
    }

    /// Returns the tally so far. From now on the worker records in an empty one.
    pub(super) fn hand_over(&mut self) -> Box<Tally> {
        let empty = self.mailbox.take_tally(self.tally.shape());
        std::mem::replace(&mut self.tally, empty)
    }

    /// The seat's event has begun.
    #[inline]
    pub(super) fn begin_event(&mut self, seat: &Seat) {
        self.tally.begun += u64::from(seat.slot.counts);
        self.begun += 1;
    }

    /// The seat's event begins again.
    #[cold]
    pub(super) fn retry_event(&mut self, seat: &Seat) {
        if seat.slot.counts
            && let Some(tally) = self.tally.kinds.get_mut(usize::from(seat.kind()))
        {
            tally.retries += 1;
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
        let Some(tally) = self.tally.kinds.get_mut(usize::from(ending.kind)) else {
            return;
        };
        let response_ns = now_ns.saturating_sub(seat.slot.intended_ns);
        tally.record_ns(
            response_ns,
            seat.slot.begun_ns.saturating_sub(seat.slot.intended_ns),
        );
        self.slow.see(
            seat.index,
            seat.slot.intended_ns,
            seat.slot.begun_ns,
            now_ns,
        );
        if tried_again_ns > 0 || ending.rolled_back {
            let last_try_ns = now_ns.saturating_sub(tried_again_ns);
            let last_try_ns = (tried_again_ns > 0).then_some(last_try_ns);
            tally.record_more(response_ns, ending.rolled_back, last_try_ns);
        }
    }

    /// An event ends well that may have been under way at an edge of the window.
    #[cold]
    fn cut_event(&mut self, seat: &Seat, kind: u8, part_inside: f64) {
        if let Some(tally) = self.tally.kinds.get_mut(usize::from(kind)) {
            tally.cut += part_inside - f64::from(u8::from(seat.slot.counts));
        }
    }

    /// The seat's event ends well with an answer of this node.
    #[inline]
    pub(super) fn count_event_of_node(&mut self, seat: &Seat, node: u16) {
        if seat.slot.counts
            && let Some(tally) = self.tally.nodes.get_mut(usize::from(node))
        {
            tally.events += 1;
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
            self.tally.begun += 1;
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
        if let Some(tally) = self.tally.kinds.first_mut() {
            tally.record_ns(times.response_ns, times.lag_ns);
        }
    }

    /// The seat's event is given up, if it is in one.
    pub(super) fn drop_event(&mut self, seat: &mut Seat) {
        seat.slot.tried_again_ns = 0;
        if seat.slot.event.take().is_some()
            && std::mem::take(&mut seat.slot.counts)
            && let Some(tally) = self.tally.kinds.get_mut(usize::from(seat.kind()))
        {
            tally.failed += 1;
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
            self.tally.carried += 1;
            return;
        }
        seat.queries += 1;
        if let Some(tally) = self.tally.classes.get_mut(class) {
            tally.add(query, &time_ns);
        }
        if !self.tally.nodes.is_empty() {
            self.add_query_of_node(usize::from(node), query, time_ns());
        }
    }

    /// A query that was under way at an edge of the window was answered.
    #[cold]
    pub(super) fn add_cut(&mut self, cut: f64) {
        self.tally.cut += cut;
    }

    #[inline(never)]
    fn add_query_of_node(&mut self, node: usize, query: &Query, time_ns: u64) {
        if let Some(node) = self.tally.nodes.get_mut(node) {
            node.queries.add(query, || time_ns);
        }
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
        for errors in self.tally.errors_of(usize::from(node)) {
            errors.record(code, sqlstate, message, statement);
        }
    }

    /// A connection was opened in `took_ns`. If it had been lost, it was gone for `outage_ns`.
    pub(super) fn add_connect(&mut self, node: u16, took_ns: u64, outage_ns: Option<u64>) {
        let connects = self.tally.connect.get_or_insert_default();
        connects.record_ns(took_ns);
        if let Some(outage_ns) = outage_ns {
            self.tally.add_outage(usize::from(node), outage_ns);
        }
    }

    /// Takes the connect times that were recorded so far.
    pub(super) fn take_connects(&mut self) -> Option<Box<Latency>> {
        self.tally.connect.take()
    }
}
