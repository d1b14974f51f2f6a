//! A lock in virtual time: which thread gets it, and the cost of waiting for it.
//!
//! A barging lock works like glibc's: a word that is 0 (free), 1 (taken) or 2 (taken, and a thread
//! may sleep). A thread that finds it taken retries, with pauses that double, and sleeps after a
//! number of them. It is woken when the lock is released, and may find that a different thread was
//! faster. A handed-over lock goes to the thread that has waited longest, asleep or not.

use super::agenda::Ps;
use super::costs::{HostCosts, ps};
use super::line::{Distances, SharedLine};
use super::machine::Moment;
use contend_random::Stream;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Which thread gets a lock that becomes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Handing {
    /// The first to come: a running thread is faster than one that must be woken.
    Barging,
    /// The same, with one pause between two looks: glibc before 2.36.
    #[serde(rename = "barging_2010")]
    Barging2010,
    /// The thread that has waited longest.
    InTurn,
}

/// How locks are waited for.
#[derive(Clone, Copy, Debug)]
pub struct LockWaiting {
    pub handing: Handing,
    /// Most pauses before a thread sleeps; 0: it sleeps at once.
    pub spins: u32,
    pub pause_ps: Ps,
    pub syscall_ps: Ps,
}

impl LockWaiting {
    pub fn new(handing: Handing, spins: u32, costs: &HostCosts) -> Self {
        Self {
            handing,
            spins,
            pause_ps: ps(costs.pause_ns),
            syscall_ps: ps(costs.syscall_ns),
        }
    }
}

/// What a lock counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockVisits {
    pub visits: u64,
    /// Visits that found it taken, and how long they waited in all.
    pub waits: u64,
    pub wait_ps: Ps,
    /// How many of those slept at least once.
    pub sleeps: u64,
    pub held_ps: Ps,
}

/// What became of looking at a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is ours, after this CPU time.
    Taken(Ps),
    /// Look again after this CPU time.
    Again(Ps),
    /// We wait to be woken, and look again then.
    Asleep,
}

/// What giving a lock back takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenBack {
    pub takes_ps: Ps,
    /// The kernel must be asked, after this time, to wake a thread.
    pub wakes: bool,
}

/// How far a thread is that wants a lock.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    stage: AttemptStage,
    since_ps: Ps,
    pauses: u32,
    pauses_max: u32,
    backoff: u32,
    slept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptStage {
    Fresh,
    Spinning,
    /// In the kernel, which looks at the word before it has the thread sleep.
    Falling,
    Asleep,
}

/// What a thread does after it has looked.
enum AttemptNext {
    Take,
    /// Look again after this number of pauses.
    Pause(u32),
    /// Call the kernel, to sleep.
    Fall,
    Sleep,
}

impl Attempt {
    pub const fn fresh() -> Self {
        Self {
            stage: AttemptStage::Fresh,
            since_ps: 0,
            pauses: 0,
            pauses_max: 0,
            backoff: 1,
            slept: false,
        }
    }
}

#[derive(Debug)]
pub struct VirtualLock {
    line: SharedLine,
    word: u8,
    /// Like in glibc: the number of pauses that were enough, on average.
    enough: i32,
    /// In turn: the thread it has been handed to. Barging: none.
    handed_to: Option<u32>,
    /// The waiting threads: in turn all of them, else those that sleep.
    queue: VecDeque<Waiter>,
    taken_ps: Ps,
    pub counts: LockVisits,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: u32,
    asleep: bool,
}

/// Pauses between two looks, at most.
const BACKOFF_MAX: u32 = 16;

impl VirtualLock {
    /// A free lock.
    pub fn free() -> Self {
        Self {
            line: SharedLine::new(),
            word: 0,
            enough: 0,
            handed_to: None,
            queue: VecDeque::new(),
            taken_ps: 0,
            counts: LockVisits::default(),
        }
    }

    /// A thread whose step is due looks at the lock, for the first time or again.
    #[inline]
    pub fn look(
        &mut self,
        attempt: &mut Attempt,
        moment: Moment,
        how: &LockWaiting,
        distances: &mut Distances,
        chance: &mut Stream,
    ) -> Tried {
        let moves_ps = self.line.take(moment.cpu, moment.now_ps, distances);
        let taken_ps = moment.now_ps + moves_ps;
        if attempt.stage == AttemptStage::Fresh {
            self.counts.visits += 1;
            if self.word == 0 {
                self.word = 1;
                self.taken_ps = taken_ps;
                return Tried::Taken(moves_ps);
            }
            self.begin_to_wait(attempt, moment, how);
        }
        let next = match how.handing {
            Handing::Barging | Handing::Barging2010 => {
                self.barge(attempt, moment.thread, how, chance)
            }
            Handing::InTurn => self.await_turn(attempt, moment.thread, chance),
        };
        match next {
            AttemptNext::Take => {
                self.taken_ps = taken_ps;
                self.counts.wait_ps += taken_ps - attempt.since_ps;
                self.counts.sleeps += u64::from(attempt.slept);
                Tried::Taken(moves_ps)
            }
            AttemptNext::Pause(pauses) => {
                attempt.stage = AttemptStage::Spinning;
                Tried::Again(moves_ps + Ps::from(pauses) * how.pause_ps)
            }
            AttemptNext::Fall => {
                attempt.stage = AttemptStage::Falling;
                Tried::Again(moves_ps + how.syscall_ps)
            }
            AttemptNext::Sleep => {
                attempt.stage = AttemptStage::Asleep;
                attempt.slept = true;
                Tried::Asleep
            }
        }
    }

    fn begin_to_wait(&mut self, attempt: &mut Attempt, moment: Moment, how: &LockWaiting) {
        self.counts.waits += 1;
        attempt.since_ps = moment.now_ps;
        attempt.pauses_max = how.spins;
        match how.handing {
            Handing::Barging | Handing::Barging2010 => {
                let enough = self.enough.max(0) as u32 * 2 + 10;
                attempt.pauses_max = how.spins.min(enough);
            }
            Handing::InTurn => self.queue.push_back(Waiter {
                thread: moment.thread,
                asleep: false,
            }),
        }
    }

    fn barge(
        &mut self,
        attempt: &mut Attempt,
        thread: u32,
        how: &LockWaiting,
        chance: &mut Stream,
    ) -> AttemptNext {
        match attempt.stage {
            AttemptStage::Fresh | AttemptStage::Spinning => {
                if self.word == 0 {
                    self.learn(attempt);
                    self.word = 1;
                    return AttemptNext::Take;
                }
                let pauses = match how.handing {
                    Handing::Barging2010 => attempt.pause_once(),
                    _ => attempt.pause(chance),
                };
                if let Some(pauses) = pauses {
                    return AttemptNext::Pause(pauses);
                }
                if how.spins > 0 {
                    self.learn(attempt);
                }
            }
            AttemptStage::Falling if self.word == 2 => {
                self.queue.push_back(Waiter {
                    thread,
                    asleep: true,
                });
                return AttemptNext::Sleep;
            }
            AttemptStage::Falling | AttemptStage::Asleep => {}
        }
        // A thread that takes it from here on marks that others may sleep: it cannot know.
        match std::mem::replace(&mut self.word, 2) {
            0 => AttemptNext::Take,
            _ => AttemptNext::Fall,
        }
    }

    fn await_turn(
        &mut self,
        attempt: &mut Attempt,
        thread: u32,
        chance: &mut Stream,
    ) -> AttemptNext {
        if self.handed_to == Some(thread) {
            self.handed_to = None;
            return AttemptNext::Take;
        }
        if attempt.stage != AttemptStage::Falling {
            return match attempt.pause(chance) {
                Some(pauses) => AttemptNext::Pause(pauses),
                None => AttemptNext::Fall,
            };
        }
        let mut queue = self.queue.iter_mut();
        if let Some(own) = queue.find(|waiter| waiter.thread == thread) {
            own.asleep = true;
        }
        AttemptNext::Sleep
    }

    fn learn(&mut self, attempt: &Attempt) {
        self.enough += (attempt.pauses as i32 - self.enough) / 8;
    }

    /// The thread that has it gives it back.
    #[inline]
    pub fn give_back(
        &mut self,
        moment: Moment,
        how: &LockWaiting,
        distances: &mut Distances,
    ) -> GivenBack {
        self.counts.held_ps += moment.now_ps.saturating_sub(self.taken_ps);
        let takes_ps = self.line.take(moment.cpu, moment.now_ps, distances);
        let was = std::mem::replace(&mut self.word, 0);
        let wakes = match how.handing {
            Handing::Barging | Handing::Barging2010 => was == 2,
            Handing::InTurn => self.hand_over(),
        };
        GivenBack { takes_ps, wakes }
    }

    /// It goes to the thread that has waited longest; true if that one sleeps.
    fn hand_over(&mut self) -> bool {
        let Some(first) = self.queue.front().copied() else {
            return false;
        };
        self.word = 1;
        self.handed_to = Some(first.thread);
        if !first.asleep {
            self.queue.pop_front();
        }
        first.asleep
    }

    /// The thread to wake now; none if all who may have slept are awake.
    pub fn wakes(&mut self) -> Option<u32> {
        self.queue.pop_front().map(|waiter| waiter.thread)
    }
}

impl Attempt {
    /// How many pauses to make before the next look; none if there were enough.
    fn pause(&mut self, chance: &mut Stream) -> Option<u32> {
        let jitter = chance.next_u64() as u32 & (self.backoff - 1);
        let pauses = self.backoff + jitter;
        self.pauses += pauses;
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
        (self.pauses < self.pauses_max).then_some(pauses)
    }

    /// The same for pauses that do not grow.
    fn pause_once(&mut self) -> Option<u32> {
        let again = self.pauses < self.pauses_max;
        self.pauses += u32::from(again);
        again.then_some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: Ps = 1_000;

    struct Door {
        lock: VirtualLock,
        how: LockWaiting,
        distances: Distances,
        chance: Stream,
    }

    impl Door {
        fn new(handing: Handing, spins: u32) -> Self {
            let host = HostCosts {
                handover_near_ns: 0.0,
                pause_ns: 10.0,
                syscall_ns: 100.0,
                ..HostCosts::default()
            };
            Self {
                lock: VirtualLock::free(),
                how: LockWaiting::new(handing, spins, &host),
                distances: Distances::new(&host),
                chance: Stream::new(1, 0),
            }
        }

        fn look(&mut self, attempt: &mut Attempt, thread: u32, now_ps: Ps) -> Tried {
            let (distances, chance) = (&mut self.distances, &mut self.chance);
            self.lock
                .look(attempt, at(thread, now_ps), &self.how, distances, chance)
        }

        fn give_back(&mut self, thread: u32, now_ps: Ps) -> bool {
            let moment = at(thread, now_ps);
            self.lock
                .give_back(moment, &self.how, &mut self.distances)
                .wakes
        }

        /// Looks until the thread has the lock or sleeps; when that is.
        fn until_settled(
            &mut self,
            attempt: &mut Attempt,
            thread: u32,
            from_ps: Ps,
        ) -> (Tried, Ps) {
            let mut now_ps = from_ps;
            loop {
                match self.look(attempt, thread, now_ps) {
                    Tried::Again(ps) => now_ps += ps,
                    settled => return (settled, now_ps),
                }
            }
        }
    }

    fn at(thread: u32, now_ps: Ps) -> Moment {
        Moment {
            now_ps,
            cpu: thread as u16,
            thread,
        }
    }

    #[test]
    fn a_free_lock_is_taken_at_once_and_given_back_without_a_call() {
        for handing in [Handing::Barging, Handing::Barging2010, Handing::InTurn] {
            let mut door = Door::new(handing, 100);
            assert_eq!(door.look(&mut Attempt::fresh(), 1, 0), Tried::Taken(0));
            assert!(!door.give_back(1, 7 * NS));
            let LockVisits {
                visits,
                waits,
                held_ps,
                ..
            } = door.lock.counts;
            assert_eq!((visits, waits, held_ps), (1, 0, 7 * NS), "{handing:?}");
        }
    }

    #[test]
    fn who_waits_spins_for_a_while_and_then_sleeps() {
        // With pauses of 10 ns: at once, after 10 that glibc begins with, after 100.
        for (handing, spins, most_ns) in [
            (Handing::Barging, 0, 100),
            (Handing::Barging, 100, 200),
            (Handing::Barging2010, 100, 200),
            (Handing::InTurn, 100, 1_100),
        ] {
            let mut door = Door::new(handing, spins);
            door.look(&mut Attempt::fresh(), 1, 0);
            let (settled, at_ps) = door.until_settled(&mut Attempt::fresh(), 2, 0);
            assert_eq!(settled, Tried::Asleep);
            assert!(
                (100 * NS..=most_ns * NS).contains(&at_ps),
                "{handing:?} {spins}: {at_ps}"
            );
            assert!(door.give_back(1, 5_000 * NS));
            assert_eq!(door.lock.wakes(), Some(2));
        }
    }

    #[test]
    fn one_that_comes_is_faster_than_one_that_is_woken_unless_it_is_handed_over() {
        for (handing, barges) in [(Handing::Barging, true), (Handing::InTurn, false)] {
            let mut door = Door::new(handing, 0);
            door.look(&mut Attempt::fresh(), 1, 0);
            let mut sleeper = Attempt::fresh();
            door.until_settled(&mut sleeper, 2, 0);
            assert!(door.give_back(1, 1_000 * NS));
            assert_eq!(door.lock.wakes(), Some(2));
            let came = door.look(&mut Attempt::fresh(), 3, 1_001 * NS);
            assert_eq!(came == Tried::Taken(0), barges);
            let (settled, _) = door.until_settled(&mut sleeper, 2, 2_000 * NS);
            assert_eq!(settled == Tried::Asleep, barges);
        }
    }

    #[test]
    fn a_lock_that_is_given_back_while_one_falls_asleep_is_not_missed() {
        let mut door = Door::new(Handing::Barging, 0);
        door.look(&mut Attempt::fresh(), 1, 0);
        let mut falling = Attempt::fresh();
        assert_eq!(door.look(&mut falling, 2, 0), Tried::Again(100 * NS));
        // No thread sleeps yet, but the call is made: the word says that one may.
        assert!(door.give_back(1, 50 * NS));
        assert_eq!(door.lock.wakes(), None);
        assert_eq!(door.look(&mut falling, 2, 100 * NS), Tried::Taken(0));
        // And again: a thread that has slept cannot know that it was alone.
        assert!(door.give_back(2, 200 * NS));
    }

    #[test]
    fn in_turn_the_order_of_coming_is_the_order_of_going() {
        let mut door = Door::new(Handing::InTurn, 50);
        door.look(&mut Attempt::fresh(), 9, 0);
        let mut waiting: Vec<_> = (0..5).map(|thread| (thread, Attempt::fresh())).collect();
        for (thread, attempt) in &mut waiting {
            // Some are asleep by then, some have just begun to spin.
            match *thread < 3 {
                true => door.until_settled(attempt, *thread, Ps::from(*thread)).0,
                false => door.look(attempt, *thread, 5_000 * NS),
            };
        }
        let mut holder = 9;
        for next in 0..5 {
            let woken = match door.give_back(holder, 6_000 * NS) {
                true => door.lock.wakes(),
                false => None,
            };
            let took = waiting.iter_mut().filter_map(|(thread, attempt)| {
                if attempt.stage == AttemptStage::Asleep && woken != Some(*thread) {
                    return None;
                }
                let taken = matches!(door.look(attempt, *thread, 7_000 * NS), Tried::Taken(_));
                taken.then_some(*thread)
            });
            assert_eq!(took.collect::<Vec<_>>(), [next]);
            waiting.retain(|(thread, _)| *thread != next);
            holder = next;
        }
    }
}
