//! Hands out the events of a run: the next one goes to the connection that is free first.
//!
//! Under an open loop a free connection takes the next event of the schedule. If the event is not
//! due yet, the connection waits for it. Events are handed out in the order in which they are due,
//! each to the connection that has been free for longest. So there is one queue in front of all
//! connections of all workers (first come, first served). It takes no memory that could overflow,
//! and no thread has to fill it.
//!
//! A closed loop uses the dispenser if its events are limited in number and shared. These are the
//! events of a run with a limit, the statements of a shared list, or the ranges of a scan. A closed
//! loop without such a limit does not use it.

use super::{Arrivals, Curve, Share};
use contend_plan::{Process, Stage};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An event that a connection is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// When it is to begin, on the clock of the run.
    pub at_ns: u64,
    pub number: u64,
}

/// The next step of a free connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It begins this event when it is due.
    Event(Due),
    /// Nothing: the schedule has no further event, or it has not begun.
    Nothing,
    /// Nothing: as many events as the limit allows were handed out.
    Done,
}

/// When the events of an open loop are due.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    pub curve: Curve,
    pub process: Process,
    pub seed: u64,
}

impl Schedule {
    /// `rate` events per second, at times that are independent of one another.
    pub fn of_rate(rate: u64, seed: u64) -> Self {
        let stage = Stage {
            rate: rate as f64,
            end_rate: None,
            duration_s: 0.0,
        };
        Self {
            curve: Curve::new(0.0, &[stage]),
            process: Process::Poisson,
            seed,
        }
    }

    fn arrivals(&self, share: Share) -> Arrivals {
        Arrivals::new(self.curve.clone(), self.process, self.seed).of(share)
    }
}

/// The events of a run that all its connections share.
#[derive(Debug)]
pub struct Dispenser {
    schedule: Option<Schedule>,
    /// Which of the events are asked here.
    share: Share,
    queue: Mutex<DispenserQueue>,
    /// The number that the next event without a schedule gets.
    next: AtomicU64,
    /// Number of events handed out that count towards the limit, if there is no schedule.
    taken: AtomicU64,
    limit: u64,
    is_limited: bool,
    /// When the warm-up ends. Events that are due before do not count towards the limit.
    open_ns: AtomicU64,
}

/// The events of a schedule that no connection has taken.
#[derive(Debug, Default)]
struct DispenserQueue {
    arrivals: Option<Arrivals>,
    begin_ns: u64,
    /// When the next one is due, and its number.
    next_ns: Option<u64>,
    number: u64,
    /// Number of events taken that count towards the limit.
    taken: u64,
    /// Events that were taken and given back.
    returned: Vec<Due>,
}

impl DispenserQueue {
    fn advance(&mut self) {
        let arrival = self.arrivals.as_mut().and_then(Arrivals::next_arrival);
        self.next_ns = arrival.map(|arrival| self.begin_ns.saturating_add(arrival.offset_ns));
    }
}

impl Dispenser {
    /// `limit`: number of events after the warm-up, if they are limited.
    pub fn new(schedule: Option<Schedule>, limit: Option<u64>) -> Self {
        Self {
            schedule,
            share: Share::WHOLE,
            queue: Mutex::default(),
            next: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            limit: limit.unwrap_or(u64::MAX),
            is_limited: limit.is_some(),
            open_ns: AtomicU64::new(0),
        }
    }

    /// Hands out the events of one host alone. Each has as many of a limit as the others.
    pub fn of(self, share: Share) -> Self {
        let limit = match self.limit {
            u64::MAX => u64::MAX,
            limit => share.of(limit),
        };
        Self {
            share,
            limit,
            ..self
        }
    }

    /// Whether there is a limit, and be it more events than any run has: then all connections share
    /// the numbers of the events.
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    pub fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_ref()
    }

    /// Counts the events of the schedule, if there is one, as they fall due.
    pub fn due_count(&self) -> Option<DueCount> {
        let schedule = self.schedule.as_ref()?;
        Some(DueCount::new(schedule, self.limit, self.share))
    }

    /// Begins the schedule at `begin_ns`, from its start, and the count towards the limit at 0.
    /// Event numbers continue, so a schedule that begins again sends new queries. If there is a
    /// limit, they continue at a multiple of it, so a list begins with its first statement. Events
    /// due from `open_ns` on count towards the limit.
    pub fn begin(&self, begin_ns: u64, open_ns: u64) {
        self.open_ns.store(open_ns, Relaxed);
        let next = self.whole_turns(self.next.load(Relaxed));
        self.next.store(next, Relaxed);
        self.taken.store(0, Relaxed);
        let Some(schedule) = &self.schedule else {
            return;
        };
        let mut queue = self.queue();
        queue.number = self.whole_turns(queue.number);
        queue.taken = 0;
        queue.arrivals = Some(schedule.arrivals(self.share));
        queue.begin_ns = begin_ns;
        queue.returned.clear();
        queue.advance();
    }

    /// This number of events, rounded up to a multiple of the limit.
    fn whole_turns(&self, number: u64) -> u64 {
        let whole = number.checked_next_multiple_of(self.limit);
        whole.filter(|_| self.ends()).unwrap_or(number)
    }

    /// Whether the number of events is limited.
    pub fn ends(&self) -> bool {
        self.limit < u64::MAX
    }

    /// The next event for a connection that is free at `now_ns`.
    #[inline]
    pub fn take(&self, now_ns: u64) -> Next {
        let open_ns = self.open_ns.load(Relaxed);
        if self.schedule.is_none() {
            if now_ns >= open_ns && self.take_range(1).is_empty() {
                return Next::Done;
            }
            return Next::Event(Due {
                at_ns: now_ns,
                number: self.share.number(self.next.fetch_add(1, Relaxed)),
            });
        }
        let mut queue = self.queue();
        if let Some(due) = queue.returned.pop() {
            return Next::Event(due);
        }
        let Some(at_ns) = queue.next_ns else {
            return Next::Nothing;
        };
        if at_ns >= open_ns {
            if queue.taken >= self.limit {
                return Next::Done;
            }
            queue.taken += 1;
        }
        let number = self.share.number(queue.number);
        queue.number += 1;
        queue.advance();
        Next::Event(Due { at_ns, number })
    }

    /// The next `most` numbers up to the limit; fewer at the end, and none once all were handed
    /// out. For events without a schedule.
    #[inline]
    pub fn take_range(&self, most: u64) -> Range<u64> {
        let end = self.limit;
        // Checked first, so that calls after the end cannot make the counter overflow.
        if self.taken.load(Relaxed) >= end {
            return end..end;
        }
        let start = self.taken.fetch_add(most, Relaxed).min(end);
        start..start.saturating_add(most).min(end)
    }

    /// Takes back an event that could not begin. The next call of [`Self::take`] gives out the
    /// earliest event that was given back.
    pub fn give_back(&self, due: Due) {
        let mut queue = self.queue();
        queue.returned.push(due);
        // The earliest is last, because `take` pops from the end.
        queue.returned.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// When the first event is due that no connection has taken.
    pub fn next_due_ns(&self) -> Option<u64> {
        let queue = self.queue();
        let returned = queue.returned.last().map(|due| due.at_ns);
        returned.or(queue.next_ns)
    }

    fn queue(&self) -> MutexGuard<'_, DispenserQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the events of a schedule as they fall due. It goes through the schedule by itself and
/// shares nothing with the workers, so using it does not hold them up.
#[derive(Clone, Debug)]
pub struct DueCount {
    arrivals: Arrivals,
    /// When the first event is due that is not counted yet, from the begin of the load.
    next: Option<u64>,
    count: u64,
    /// The limit of events after the warm-up; and the limit of all events, known when the warm-up
    /// is over.
    limit: u64,
    most: u64,
}

impl DueCount {
    fn new(schedule: &Schedule, limit: u64, share: Share) -> Self {
        let mut arrivals = schedule.arrivals(share);
        let next = arrivals.next_arrival().map(|arrival| arrival.offset_ns);
        Self {
            arrivals,
            next,
            count: 0,
            limit,
            most: u64::MAX,
        }
    }

    /// Ends the warm-up at `offset_ns` after the begin of the load. Returns how many events are due
    /// before. From then on no more than the limit are counted.
    pub fn open(&mut self, offset_ns: u64) -> u64 {
        let before = self.before(offset_ns);
        self.most = before.saturating_add(self.limit);
        before
    }

    /// Number of events due before `offset_ns` after the begin of the load. Each event is counted
    /// once, so `offset_ns` must not decrease from call to call.
    pub fn before(&mut self, offset_ns: u64) -> u64 {
        while self.count < self.most && self.next.is_some_and(|due_ns| due_ns < offset_ns) {
            self.count += 1;
            let arrival = self.arrivals.next_arrival();
            self.next = arrival.map(|arrival| arrival.offset_ns);
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    fn schedule(rate: f64, process: Process) -> Schedule {
        let stage = Stage {
            rate,
            end_rate: None,
            duration_s: 0.0,
        };
        Schedule {
            curve: Curve::new(0.0, &[stage]),
            process,
            seed: 5,
        }
    }

    fn due(next: Next) -> Due {
        match next {
            Next::Event(due) => Some(due),
            _ => None,
        }
        .unwrap()
    }

    #[test]
    fn events_come_in_order_and_one_that_was_given_back_comes_first() {
        let dispenser = Dispenser::new(Some(schedule(1000.0, Process::Even)), None);
        assert_eq!(dispenser.take(0), Next::Nothing);
        dispenser.begin(500, 0);
        assert_eq!(dispenser.next_due_ns(), Some(500));
        let taken: Vec<Due> = (0..4).map(|_| due(dispenser.take(0))).collect();
        let times: Vec<_> = taken.iter().map(|due| (due.number, due.at_ns)).collect();
        assert_eq!(
            times,
            [(0, 500), (1, 1_000_500), (2, 2_000_500), (3, 3_000_500)]
        );
        dispenser.give_back(taken[3]);
        dispenser.give_back(taken[1]);
        assert_eq!(dispenser.next_due_ns(), Some(1_000_500));
        assert_eq!(due(dispenser.take(0)).number, 1);
        assert_eq!(due(dispenser.take(0)).number, 3);
        assert_eq!(due(dispenser.take(0)).number, 4);
    }

    #[test]
    fn a_schedule_that_begins_again_goes_on_with_its_numbers() {
        let dispenser = Dispenser::new(Some(schedule(10.0, Process::Poisson)), None);
        dispenser.begin(0, 0);
        let first: Vec<Due> = (0..3).map(|_| due(dispenser.take(0))).collect();
        dispenser.begin(1_000, 0);
        let again = due(dispenser.take(0));
        assert_eq!((again.number, again.at_ns), (3, first[0].at_ns + 1_000));
    }

    #[test]
    fn each_begin_hands_out_as_many_as_the_limit_from_a_multiple_of_it_on() {
        for schedule in [None, Some(schedule(1000.0, Process::Even))] {
            let dispenser = Dispenser::new(schedule, Some(3));
            // The number of events handed out in a warm-up, even 0, leaves the numbers whole.
            for (handed_out, first) in [(2, 0), (5, 3), (0, 6), (4, 6)] {
                dispenser.begin(0, 0);
                let mut taken = Vec::new();
                while taken.len() < handed_out
                    && let Next::Event(due) = dispenser.take(u64::MAX)
                {
                    taken.push(due.number);
                }
                let expected: Vec<u64> = (first..).take(handed_out.min(3)).collect();
                assert_eq!(taken, expected);
            }
        }
        assert!(!Dispenser::new(None, Some(u64::MAX)).ends());
        assert!(Dispenser::new(None, Some(3)).ends());
    }

    #[test]
    fn a_limit_that_is_never_reached_is_one() {
        assert!(!Dispenser::new(None, None).is_limited());
        assert!(Dispenser::new(None, Some(u64::MAX)).is_limited());
    }

    #[test]
    fn a_limit_ends_what_is_handed_out_after_the_warm_up() {
        for schedule in [None, Some(schedule(1000.0, Process::Even))] {
            let dispenser = Dispenser::new(schedule, Some(3));
            dispenser.begin(0, 2_000_000);
            // By its schedule each is due a millisecond after the one before.
            let mut at_ns = 0;
            let mut take = || {
                at_ns += 999_999;
                dispenser.take(at_ns)
            };
            let numbers: Vec<u64> = (0..5).map(|_| due(take()).number).collect();
            assert_eq!(numbers, [0, 1, 2, 3, 4]);
            assert_eq!(take(), Next::Done);
        }
    }

    #[test]
    fn ranges_leave_no_hole_and_hand_out_nothing_twice() {
        let dispenser = Dispenser::new(None, Some(100_003));
        let mut ranges: Vec<Range<u64>> = std::thread::scope(|scope| {
            let work = || {
                let ranges = std::iter::repeat_with(|| dispenser.take_range(10));
                ranges.take_while(|range| !range.is_empty()).collect()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            let taken = threads.into_iter().map(|thread| thread.join().unwrap());
            taken.collect::<Vec<Vec<_>>>().concat()
        });
        ranges.sort_by_key(|range| range.start);
        let mut end = 0;
        for range in ranges {
            assert_eq!(range.start, end);
            end = range.end;
        }
        assert_eq!(end, 100_003);
    }

    #[test]
    fn what_falls_due_is_counted_once() {
        let count_of = |schedule| Dispenser::new(Some(schedule), None).due_count().unwrap();
        let mut count = count_of(schedule(1000.0, Process::Even));
        assert_eq!(count.before(0), 0);
        assert_eq!(count.before(1), 1);
        assert_eq!(count.before(4_500_000), 5);
        assert_eq!(count.before(4_500_000), 5);
        let mut never = count_of(schedule(0.0, Process::Poisson));
        assert_eq!(never.before(u64::MAX), 0);
    }

    #[test]
    fn what_is_beyond_the_limit_never_falls_due() {
        let limited = Dispenser::new(Some(schedule(1000.0, Process::Even)), Some(3));
        let mut count = limited.due_count().unwrap();
        // Events of the warm-up do not count towards the limit.
        assert_eq!(count.open(4_500_000), 5);
        assert_eq!(count.before(6_500_000), 7);
        assert_eq!(count.before(1_000_000_000), 8);
    }

    /// Everything that is handed out, earliest first.
    fn handed_out(dispenser: &Dispenser, most: usize) -> Vec<Due> {
        let next = || match dispenser.take(u64::MAX) {
            Next::Event(due) => Some(due),
            _ => None,
        };
        std::iter::from_fn(next).take(most).collect()
    }

    proptest! {
        /// The hosts that share a run have all of its events, each once and when it is due.
        #[test]
        fn hosts_share_the_events_of_a_run(hosts in 1u32..6, limit in 6u64..40, is_open: bool) {
            let dispenser = || {
                let schedule = is_open.then(|| schedule(1000.0, Process::Poisson));
                Dispenser::new(schedule, Some(limit))
            };
            let whole = dispenser();
            whole.begin(0, 0);
            let mut parts = Vec::new();
            for host in 0..hosts {
                let part = dispenser().of(Share { host, hosts });
                part.begin(0, 0);
                let own = handed_out(&part, 1000);
                let due = part.due_count().map(|mut due| {
                    due.open(0);
                    due.before(u64::MAX)
                });
                prop_assert_eq!(due.unwrap_or(own.len() as u64), own.len() as u64);
                parts.extend(own);
            }
            parts.sort_unstable_by_key(|due| due.number);
            prop_assert_eq!(parts, handed_out(&whole, 1000));
        }

        /// Each free server takes the next event and waits until it is due. The waiting times are
        /// those of one queue in front of all `servers` servers.
        #[test]
        fn taking_when_free_is_one_queue(
            servers in 1usize..9,
            services in proptest::collection::vec(0u64..20_000_000, 1..200),
        ) {
            let dispenser = Dispenser::new(Some(schedule(1000.0, Process::Poisson)), None);
            dispenser.begin(0, 0);
            let mut free: BinaryHeap<Reverse<u64>> = (0..servers).map(|_| Reverse(0)).collect();
            let mut taken = Vec::new();
            for service in &services {
                let Reverse(since) = free.pop().unwrap();
                let due = due(dispenser.take(since));
                let start = due.at_ns.max(since);
                taken.push(start - due.at_ns);
                free.push(Reverse(start + service));
            }
            // The recursion of Kiefer and Wolfowitz: each arrival finds the work left before it.
            let mut work = vec![0u64; servers];
            let mut arrivals = schedule(1000.0, Process::Poisson).arrivals(Share::WHOLE);
            let mut last = 0;
            for (service, wait) in services.iter().zip(taken) {
                let at = arrivals.next_arrival().unwrap().offset_ns;
                work.iter_mut().for_each(|left| *left = left.saturating_sub(at - last));
                work.sort_unstable();
                prop_assert_eq!(work[0], wait);
                work[0] += service;
                last = at;
            }
        }
    }
}
