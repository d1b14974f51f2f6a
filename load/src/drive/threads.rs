//! How many workers a run gets where the plan leaves it open, and where they run.

/// Workers for so many connections on this host: one a CPU, as long as each has a connection.
///
/// The server usually shares this host. A worker that waits takes nothing from it, and where its
/// threads are many it gets more of a CPU that a worker of ours shares with them than of one that
/// a single worker has for itself.
pub fn for_connections(connections: u32) -> u32 {
    connections.clamp(1, of_host())
}

/// Half of this host's CPUs: what each side gets where client and server share it.
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
    // SAFETY: all zeroes is an empty set, and the pointers are to live values of the size given.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &raw mut allowed) != 0
            || libc::CPU_COUNT(&allowed) as u32 != workers
        {
            return;
        }
        let cpus = (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &allowed));
        if let Some(cpu) = cpus.take(workers as usize).nth(number as usize) {
            let mut own: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut own);
            // Where it is refused the thread runs wherever it may.
            libc::sched_setaffinity(0, size, &raw const own);
        }
    }
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
