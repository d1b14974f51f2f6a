//! Costs of the kernel's calls on this host: calling it, waking a thread, passing a CPU on.
//!
//! All are medians, because a batch in which a thread was interrupted means nothing.

use super::pairs::median;
use super::{ended, on, stay_on};
use serde::Serialize;
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

const BATCHES: usize = 20;
const IN_A_BATCH: u32 = 1_000;
const WAKES: usize = 200;
/// Wake-ups of a CPU that has been idle for long take longer to measure.
const WAKES_RESTED: usize = 30;
/// Times that a thread gives way, so that another has surely gone to sleep.
const YIELDS: u32 = 4;
const RESTS_US: [u64; 4] = [20, 100, 300, 1_000];

/// Costs of calls, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Calls {
    pub syscall_ns: f64,
    /// One round of a loop that waits.
    pub pause_ns: f64,
    /// Cost for a thread of waking a second one that is to run on the same, busy CPU.
    pub wake_busy_ns: f64,
    /// From a thread that goes to sleep to a second one on the same CPU that runs, with the call
    /// that it sleeps by.
    pub switch_ns: f64,
    /// Waking on idle CPUs; empty if none but the thread's own is free.
    pub idle: Vec<IdleWake>,
}

/// Waking a thread on another CPU that has been idle.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct IdleWake {
    /// Approximate time for which it had been idle.
    pub rested_us: u64,
    /// Cost for the thread that wakes.
    pub call_ns: f64,
    /// Until the other runs.
    pub runs_ns: f64,
}

/// # Errors
/// A thread cannot be kept on its CPU or panicked, or others had the CPU all the time.
pub fn calls(cpu: usize, other: Option<usize>) -> io::Result<Calls> {
    let (syscall_ns, pause_ns) = on(cpu, || (batches(call_kernel), batches(spin_loop)))?;
    let same = SleeperPair::default();
    let (wake_busy_ns, both_ns) = same.run(cpu, cpu, |sleeper| {
        (same.wakes_on_own_cpu(sleeper), same.passes(sleeper))
    })?;
    let (Some(syscall_ns), Some(pause_ns), Some(wake_busy_ns), Some(both_ns)) =
        (syscall_ns, pause_ns, wake_busy_ns, both_ns)
    else {
        return Err(io::Error::other("other tasks kept the CPU busy"));
    };
    let mut idle = Vec::new();
    if let Some(other) = other {
        for rested_us in RESTS_US {
            let pair = SleeperPair::default();
            let found = pair.run(cpu, other, |sleeper| {
                pair.wakes_elsewhere(sleeper, rested_us)
            })?;
            idle.extend(found);
        }
    }
    Ok(Calls {
        syscall_ns,
        pause_ns,
        wake_busy_ns,
        switch_ns: (both_ns - wake_busy_ns).max(0.0),
        idle,
    })
}

/// Nanoseconds of one of the things that a batch has many of.
fn batches(mut once: impl FnMut()) -> Option<f64> {
    let batch = |_| {
        let begun = Instant::now();
        (0..IN_A_BATCH).for_each(|_| once());
        begun.elapsed().as_secs_f64() * 1e9 / f64::from(IN_A_BATCH)
    };
    median((0..BATCHES).map(batch).collect())
}

fn call_kernel() {
    // A call that the C library does not answer itself.
    let _ = rustix::process::getppid();
}

/// A thread that sleeps until it should answer, and one that wakes it.
#[derive(Default)]
struct SleeperPair {
    /// 1: the sleeper is to answer; 0: it has.
    turn: AtomicU32,
    /// The sleeper wakes the other when it has answered.
    wakes_back: AtomicBool,
    over: AtomicBool,
    waker: OnceLock<Thread>,
}

impl SleeperPair {
    /// Runs `wakes` on one CPU, with a sleeper on the same or a second one.
    fn run<T: Send>(
        &self,
        cpu: usize,
        of_sleeper: usize,
        wakes: impl FnOnce(&Thread) -> T + Send,
    ) -> io::Result<T> {
        let (both, sleeper) = (Barrier::new(2), OnceLock::new());
        thread::scope(|scope| {
            let sleeps = scope.spawn(|| {
                let kept = stay_on(of_sleeper);
                sleeper.get_or_init(thread::current);
                both.wait();
                self.answer();
                kept
            });
            let woke = scope.spawn(|| {
                let kept = stay_on(cpu);
                self.waker.get_or_init(thread::current);
                both.wait();
                let found = sleeper.get().map(wakes);
                self.over.store(true, Ordering::Release);
                sleeper.get().into_iter().for_each(Thread::unpark);
                kept.and(found.ok_or_else(ended))
            });
            let kept = sleeps.join().unwrap_or_else(|_| Err(ended()));
            kept.and(woke.join().unwrap_or_else(|_| Err(ended())))
        })
    }

    fn answer(&self) {
        loop {
            if self.turn.load(Ordering::Acquire) == 1 {
                self.turn.store(0, Ordering::Release);
                if self.wakes_back.load(Ordering::Relaxed) {
                    self.waker.get().into_iter().for_each(Thread::unpark);
                }
            } else if self.over.load(Ordering::Acquire) {
                return;
            } else {
                thread::park();
            }
        }
    }

    /// Cost of the call if the sleeper cannot run before we give way.
    fn wakes_on_own_cpu(&self, sleeper: &Thread) -> Option<f64> {
        let wake = |_| {
            self.turn.store(1, Ordering::Release);
            let begun = Instant::now();
            sleeper.unpark();
            let took_ns = begun.elapsed().as_secs_f64() * 1e9;
            // It runs, answers, and sleeps again. We do not: a CPU that was idle is slow at first.
            while self.turn.load(Ordering::Acquire) != 0 {
                thread::yield_now();
            }
            (0..YIELDS).for_each(|_| thread::yield_now());
            took_ns
        };
        median((0..WAKES).map(wake).collect())
    }

    /// From one thread to the other: a wake, a sleep and a switch.
    fn passes(&self, sleeper: &Thread) -> Option<f64> {
        self.wakes_back.store(true, Ordering::Relaxed);
        let there_and_back = || {
            self.turn.store(1, Ordering::Release);
            sleeper.unpark();
            while self.turn.load(Ordering::Acquire) != 0 {
                thread::park();
            }
        };
        batches(there_and_back).map(|ns| ns / 2.0)
    }

    fn wakes_elsewhere(&self, sleeper: &Thread, rested_us: u64) -> Option<IdleWake> {
        let (mut calls, mut runs) = (Vec::new(), Vec::new());
        let patience = Duration::from_millis(2);
        for _ in 0..WAKES_RESTED {
            let rest = Instant::now();
            while rest.elapsed() < Duration::from_micros(rested_us) {
                spin_loop();
            }
            let begun = Instant::now();
            self.turn.store(1, Ordering::Release);
            sleeper.unpark();
            calls.push(begun.elapsed().as_secs_f64() * 1e9);
            while self.turn.load(Ordering::Acquire) != 0 && begun.elapsed() < patience {
                spin_loop();
            }
            runs.push(begun.elapsed().as_secs_f64() * 1e9);
        }
        Some(IdleWake {
            rested_us,
            call_ns: median(calls)?,
            runs_ns: median(runs)?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cpus::allowed;

    #[test]
    fn calls_take_time_and_a_switch_takes_more_than_none() {
        let cpus = allowed().unwrap();
        let found = calls(cpus[0], cpus.get(1).copied()).unwrap();
        assert!(found.syscall_ns > 0.0 && found.pause_ns > 0.0 && found.wake_busy_ns > 0.0);
        assert_eq!(
            found.idle.len(),
            if cpus.len() > 1 { RESTS_US.len() } else { 0 }
        );
        assert!(found.idle.iter().all(|wake| wake.runs_ns > 0.0));
    }
}
