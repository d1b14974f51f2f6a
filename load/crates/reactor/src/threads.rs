//! How many workers a run gets where the plan leaves it open, and where they run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;

/// Workers for `connections` on this host: one per CPU, as long as each has a connection.
///
/// The server usually shares this host. A waiting worker takes nothing from it. If the server has
/// many threads, it gets more of a CPU that one of several workers uses than of a CPU that a single
/// worker keeps busy.
pub fn for_connections(connections: u32) -> u32 {
    connections.clamp(1, of_host())
}

/// Half of this host's CPUs: the share of each side where client and server share it.
pub fn half_of_host() -> u32 {
    (of_host() / 2).max(1)
}

fn of_host() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// Keeps the calling thread, worker number `number`, to a CPU of its own where there is one for
/// each worker and none is left over. Left alone the scheduler now and then puts two of them on
/// one CPU.
pub fn keep_apart(number: u32, workers: u32) {
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    if allowed.count() != workers {
        return;
    }
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    if let Some(cpu) = cpus.nth(number as usize) {
        let mut own = CpuSet::new();
        own.set(cpu);
        // If it is refused the thread runs wherever it may.
        let _ = sched_setaffinity(None, &own);
    }
}

/// Makes the calling thread's timers punctual: by default the kernel lets them be late by up to
/// 50 µs.
pub fn be_punctual() {
    // If it is refused they are late.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_worker_is_without_a_connection_and_no_cpu_has_two() {
        assert_eq!(for_connections(1), 1);
        assert_eq!(for_connections(1_000_000), of_host());
        assert!(half_of_host() <= of_host());
    }

    #[test]
    fn workers_are_kept_apart_only_where_each_has_a_cpu() {
        std::thread::spawn(|| {
            let cpus = of_host();
            keep_apart(0, cpus + 1);
            assert_eq!(of_host(), cpus);
            keep_apart(cpus - 1, cpus);
            assert_eq!(of_host(), 1);
        })
        .join()
        .map_err(std::panic::resume_unwind)
        .ok();
    }
}
