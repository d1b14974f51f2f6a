//! The speed of all CPUs of this host together, to be compared with that of one CPU alone.
//!
//! Two CPUs of a virtual machine may be the two hardware threads of one core, even if the guest is
//! shown a different topology. Each is then slower while the other computes. On such a host it
//! costs less when one of them does not compute, for example because it waits for a lock.

pub mod calls;
pub mod chain;
pub mod mapped;
pub mod matrix;
pub mod nodes;
pub mod pairs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::hint::black_box;
use std::io;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Steps of work between two readings of the clock: some 20 us.
const STEPS: u32 = 10_000;

/// CPUs that this process may use.
///
/// # Errors
/// The kernel gives no answer.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}

/// Keeps the calling thread on one CPU.
fn stay_on(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Runs something on a thread that is kept on a CPU.
fn on<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(move || stay_on(cpu).map(|()| work()));
        thread.join().unwrap_or_else(|_| Err(ended()))
    })
}

fn ended() -> io::Error {
    io::Error::other("a thread ended by itself")
}

/// Runs something on each of `cpus` at once, with the place of the CPU among them.
fn together<T: Send>(cpus: &[usize], work: impl Fn(usize) -> T + Sync) -> io::Result<Vec<T>> {
    let all = Barrier::new(cpus.len());
    thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .enumerate()
            .map(|(place, &cpu)| {
                let (all, work) = (&all, &work);
                scope.spawn(move || {
                    let kept = stay_on(cpu);
                    all.wait();
                    kept.map(|()| work(place))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(ended())))
            .collect()
    })
}

/// The speed of each of `cpus` while all of them compute: steps per second.
///
/// # Errors
/// A thread cannot be kept on its CPU.
pub fn speeds(cpus: &[usize], time: Duration) -> io::Result<Vec<f64>> {
    together(cpus, |_| compute(time))
}

/// Integer work with more than one dependency chain, so that the two threads of a core compete.
fn compute(time: Duration) -> f64 {
    let begun = Instant::now();
    let (mut x, mut y, mut z, mut done) = (0x1405_7b7e_f767_814f_u64, 1_u64, 2_u64, 0_u64);
    while begun.elapsed() < time {
        for _ in 0..STEPS {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            y = y.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            z = z.wrapping_add(x ^ (y >> 33));
        }
        done += u64::from(STEPS);
    }
    black_box(z);
    done as f64 / begun.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_cpu_has_a_speed() {
        let cpus = allowed().unwrap();
        let found = speeds(&cpus, Duration::from_millis(2)).unwrap();
        assert_eq!(found.len(), cpus.len());
        assert!(found.iter().all(|speed| *speed > 0.0));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(speeds(&[CpuSet::MAX_CPU - 1], Duration::from_millis(1)).is_err());
    }
}
