//! How far apart two CPUs are: the time to hand over a cache line, and the time to wake a thread.
//!
//! The hypervisor moves virtual CPUs between cores that are near to one another and cores that are
//! far apart. This changes the speed of a server whose threads share locks. It does not change the
//! speed of arithmetic.

use super::stay_on;
use contend_random::Permutation;
use serde::Serialize;
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Batches of hand-overs, each of [`IN_A_BATCH`]. The median of the batches is the result, since a
/// batch in which a thread was interrupted means nothing.
const BATCHES: usize = 20;
const IN_A_BATCH: u32 = 100;

const WAKES: usize = 50;

/// Time between two wake-ups, so that the thread sleeps by then. A thread that is woken earlier
/// may not sleep yet: the time is then that of handing over a cache line.
const REST: Duration = Duration::from_micros(20);

/// Time limit for each of the two measurements. If it is reached, the median is that of the values
/// measured until then.
const AT_MOST: Duration = Duration::from_micros(4500);

/// With fewer values than this there is no result: on a busy host the CPUs are sometimes in use by
/// others.
const AT_LEAST: usize = 5;

/// Reads of the shared flag between two readings of the clock: some 10 us.
const LOOKS: u32 = 4096;

/// Two CPUs and how far they are apart.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Distance {
    pub cpus: (usize, usize),
    /// Time for a cache line to go to the other CPU and back, in nanoseconds.
    pub handover_ns: f64,
    /// Time until a thread that sleeps on the other CPU runs after it was woken, in microseconds.
    pub wake_us: f64,
}

/// The pairs of CPUs to measure.
#[derive(Debug)]
pub struct Sample {
    pub pairs: Vec<(usize, usize)>,
    /// Number of all pairs.
    pub of: u64,
}

impl Sample {
    /// All pairs of `cpus`, or a sample of `at_most` of them. The sample is the same each time, so
    /// that two measurements can be compared. It is random, so that it has near and far pairs.
    pub fn new(cpus: &[usize], at_most: usize) -> Self {
        let all: Vec<(usize, usize)> = cpus
            .iter()
            .enumerate()
            .flat_map(|(place, &one)| cpus[..place].iter().map(move |&other| (other, one)))
            .collect();
        let of = all.len() as u64;
        let order = Permutation::new(0, 0, of);
        let mut pairs: Vec<_> = (0..of)
            .map(|place| order.number_at(place) as usize)
            .filter_map(|number| all.get(number).copied())
            .take(at_most)
            .collect();
        pairs.sort_unstable();
        Self { pairs, of }
    }
}

/// How far two CPUs are apart. None if our threads cannot be kept on these CPUs, or if one of the
/// two measurements had too few values in its time.
///
/// # Errors
/// One of the measuring threads panicked.
pub fn distance(cpus: (usize, usize)) -> io::Result<Option<Distance>> {
    let meeting = Meeting {
        here: OnceLock::new(),
        there: OnceLock::new(),
        both: Barrier::new(2),
        line: CacheLine::default(),
        bed: Bed::default(),
    };
    let found = thread::scope(|scope| {
        let there = scope.spawn(|| {
            if meeting.arrive(PairSide::There, cpus.1).is_some() {
                meeting.line.answer();
                meeting.bed.answer();
            }
        });
        let here = scope.spawn(|| {
            let other = meeting.arrive(PairSide::Here, cpus.0)?;
            // Both measurements are always made, since the other thread waits for both.
            let (handover_ns, wake_us) = (meeting.line.ask(), meeting.bed.ask(other));
            Some(Distance {
                cpus,
                handover_ns: handover_ns?,
                wake_us: wake_us?,
            })
        });
        there.join().and_then(|()| here.join())
    });
    found.map_err(|_| io::Error::other("a thread ended by itself"))
}

enum PairSide {
    Here,
    There,
}

/// State that the two measuring threads share.
struct Meeting {
    here: OnceLock<Thread>,
    there: OnceLock<Thread>,
    both: Barrier,
    line: CacheLine,
    bed: Bed,
}

impl Meeting {
    /// The other thread, if both are on their CPUs.
    fn arrive(&self, side: PairSide, cpu: usize) -> Option<&Thread> {
        let (own, other) = match side {
            PairSide::Here => (&self.here, &self.there),
            PairSide::There => (&self.there, &self.here),
        };
        if stay_on(cpu).is_ok() {
            own.get_or_init(thread::current);
        }
        self.both.wait();
        own.get().and(other.get())
    }
}

/// The cache line that is handed over. Nothing else is in it or in the line next to it.
#[derive(Default)]
#[repr(align(128))]
struct CacheLine {
    ball: AtomicU32,
    over: AtomicBool,
}

impl CacheLine {
    /// Nanoseconds for the line to go over and to come back.
    fn ask(&self) -> Option<f64> {
        let begun = Instant::now();
        let mut batches = Vec::with_capacity(BATCHES);
        while batches.len() < BATCHES && begun.elapsed() < AT_MOST {
            let batch = Instant::now();
            if !(0..IN_A_BATCH).all(|_| self.there_and_back(begun)) {
                break;
            }
            batches.push(batch.elapsed().as_secs_f64() * 1e9 / f64::from(IN_A_BATCH));
        }
        self.over.store(true, Ordering::Release);
        median(batches)
    }

    /// Whether the ball came back in time.
    fn there_and_back(&self, begun: Instant) -> bool {
        self.ball.store(1, Ordering::Release);
        loop {
            for _ in 0..LOOKS {
                if self.ball.load(Ordering::Acquire) == 0 {
                    return true;
                }
                spin_loop();
            }
            if begun.elapsed() >= AT_MOST {
                return false;
            }
        }
    }

    fn answer(&self) {
        loop {
            if self.ball.load(Ordering::Acquire) == 1 {
                self.ball.store(0, Ordering::Release);
            } else if self.over.load(Ordering::Acquire) {
                return;
            }
            spin_loop();
        }
    }
}

/// For measuring wake-ups: one thread sleeps until `turn` is set, the other wakes it and spins.
#[derive(Default)]
#[repr(align(128))]
struct Bed {
    turn: AtomicU32,
    over: AtomicBool,
}

impl Bed {
    /// Microseconds until a thread that was woken runs.
    fn ask(&self, other: &Thread) -> Option<f64> {
        let begun = Instant::now();
        let mut times = Vec::with_capacity(WAKES);
        while times.len() < WAKES && begun.elapsed() < AT_MOST {
            let rest = Instant::now();
            while rest.elapsed() < REST {
                spin_loop();
            }
            let woken = Instant::now();
            self.turn.store(1, Ordering::Release);
            other.unpark();
            while self.turn.load(Ordering::Acquire) != 0 && begun.elapsed() < AT_MOST {
                spin_loop();
            }
            // The last wake-up may have hit the time limit: it counts with the time until then.
            times.push(woken.elapsed().as_secs_f64() * 1e6);
        }
        self.over.store(true, Ordering::Release);
        other.unpark();
        median(times)
    }

    fn answer(&self) {
        loop {
            if self.turn.load(Ordering::Acquire) == 1 {
                self.turn.store(0, Ordering::Release);
            } else if self.over.load(Ordering::Acquire) {
                return;
            } else {
                thread::park();
            }
        }
    }
}

pub(super) fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_unstable_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).copied();
    middle.filter(|_| times.len() >= AT_LEAST)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cpus::allowed;
    use rustix::thread::CpuSet;

    #[test]
    fn one_cpu_has_no_pair() {
        let sample = Sample::new(&[3], 15);
        assert!(sample.pairs.is_empty());
        assert_eq!(sample.of, 0);
        assert_eq!(Sample::new(&[], 15).of, 0);
    }

    #[test]
    fn a_few_cpus_have_all_their_pairs() {
        let sample = Sample::new(&[1, 4, 6], 15);
        assert_eq!(sample.pairs, [(1, 4), (1, 6), (4, 6)]);
        assert_eq!(sample.of, 3);
    }

    #[test]
    fn many_cpus_have_a_sample_that_is_the_same_each_time_and_goes_beyond_64() {
        let cpus: Vec<usize> = (0..200).collect();
        let sample = Sample::new(&cpus, 15);
        assert_eq!(sample.of, 19_900);
        assert_eq!(sample.pairs.len(), 15);
        assert_eq!(sample.pairs, Sample::new(&cpus, 15).pairs);
        assert!(sample.pairs.iter().all(|(one, other)| one < other));
        assert!(sample.pairs.iter().any(|(one, _)| *one >= 64));
        let mut distinct = sample.pairs.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), 15);
        // Near and far ones by number, as they would be in the sockets of a large host.
        assert!(sample.pairs.iter().any(|(one, other)| other - one < 50));
        assert!(sample.pairs.iter().any(|(one, other)| other - one > 100));
    }

    #[test]
    fn two_cpus_have_a_distance() {
        let cpus = allowed().unwrap();
        for pair in Sample::new(&cpus, 1).pairs {
            // Even on a busy host, both threads have their CPUs at some time.
            let found = (0..5000).find_map(|_| distance(pair).unwrap()).unwrap();
            assert_eq!(found.cpus, pair);
            assert!(found.handover_ns > 0.0 && found.wake_us > 0.0);
        }
    }

    #[test]
    fn a_cpu_that_is_not_ours_has_no_distance() {
        let ours = allowed().unwrap()[0];
        let other = CpuSet::MAX_CPU - 1;
        assert!(distance((ours, other)).unwrap().is_none());
        assert!(distance((other, ours)).unwrap().is_none());
    }

    #[test]
    fn the_median_is_in_the_middle_and_that_of_a_few_is_none() {
        assert_eq!(median(vec![3.0, 1.0, 900.0, 4.0, 2.0]), Some(3.0));
        assert_eq!(median(vec![1.0; 4]), None);
        assert_eq!(median(vec![]), None);
    }
}
