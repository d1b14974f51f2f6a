//! A diagnostic pass over the threads of a loaded server. The scheduler's own count shows how long
//! they ran and waited for a CPU; samples of random threads show where else they waited.
//!
//! It costs time, so a hopping run does it in half of its rounds only; the others show its effect.

mod files;
mod places;
mod sampler;
mod slow;

use contend_figures::outcome::{FutexReads, ThreadTimes};
use contend_reactor::clock;
use files::{HostTicks, ProcessFiles, ProcessStat, Scheduled, ThreadState, WatchedThread};
use sampler::{Sampled, Sight, ThreadSampler};
pub(super) use slow::{Connections, connections_in};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The memory addresses with most waits; the report adds up the rest.
const FUTEXES_TOLD: usize = 8;
/// How long a thread that has just answered may take to wait for the next command.
const TO_REST: Duration = Duration::from_millis(2);
/// A look ends before its slice, while the load is still the same.
const BEFORE_END_NS: u64 = 20_000_000;

/// Files are kept open for at most this number of a process's threads, two for each.
const KEPT_MAX: usize = 4096;

/// Whether a round is looked at: the middle two of four, so that a steady change affects both
/// alike. The first round of all, which may be slow, is in none of these fours.
pub(super) fn is_looked(round: u32) -> bool {
    matches!(round % 4, 2 | 3)
}

/// When a look at a slice ends.
pub(super) fn until_ns(open_ns: u64, close_ns: u64) -> u64 {
    let length_ns = close_ns.saturating_sub(open_ns);
    close_ns.saturating_sub(BEFORE_END_NS.min(length_ns / 10))
}

/// The looks at one process.
pub(super) struct LookedAt {
    pid: u32,
    files: ProcessFiles,
    /// All that there are, by number.
    threads: BTreeMap<u32, Arc<WatchedThread>>,
    /// Those that were observed waiting for the next command of a client.
    serving: BTreeSet<u32>,
    /// The connection that each thread serves, if the server lists them.
    connections: Option<Arc<Connections>>,
}

/// What a slice's diagnostic pass looks at.
pub(super) struct LookReady {
    files: ProcessFiles,
    /// Those that serve come first.
    threads: Vec<Arc<WatchedThread>>,
    serving: usize,
    refused: Option<String>,
}

/// A look under way.
pub(super) struct Looking {
    prepared: LookReady,
    sampler: Option<ThreadSampler>,
    before: Edge,
    cpu_ns: u64,
}

/// A look that is over.
pub(super) struct EndedLook {
    pub(super) times: ThreadTimes,
    sampled: Sampled,
    threads: Vec<u32>,
}

/// The counters at one edge of a look.
struct Edge {
    at_ns: u64,
    threads: Vec<Option<Scheduled>>,
    process: Option<ProcessStat>,
    host: Option<HostTicks>,
}

impl LookedAt {
    pub(super) fn new(pid: u32, connections: Option<Connections>) -> Self {
        Self {
            connections: connections.map(Arc::new),
            pid,
            files: ProcessFiles::of(pid),
            threads: BTreeMap::new(),
            serving: BTreeSet::new(),
        }
    }

    /// The connection of each thread, if the server lists them.
    pub(super) fn connections(&self) -> Option<Arc<Connections>> {
        self.connections.clone()
    }

    /// Finds the threads while nothing is asked of the server: those of its clients wait then, each
    /// for its own.
    pub(super) fn prepare(&mut self) -> LookReady {
        let (all, mut refused) = match self.files.threads() {
            Ok(all) => (all, None),
            Err(error) => (Vec::new(), Some(format!("/proc/PID/task: {error}"))),
        };
        self.threads.retain(|thread, _| all.contains(thread));
        for number in all {
            let keep = self.threads.len() < KEPT_MAX;
            let open = || Arc::new(self.files.watched(number, keep));
            self.threads.entry(number).or_insert_with(open);
        }
        self.serving
            .retain(|thread| self.threads.contains_key(thread));
        let mut others = Vec::new();
        for (number, thread) in &self.threads {
            if self.serving.contains(number) {
                continue;
            }
            match self.at_rest(thread) {
                Ok(true) => drop(self.serving.insert(*number)),
                Ok(false) => others.push(Arc::clone(thread)),
                Err(error) => {
                    refused = Some(format!("/proc/PID/task/TID/syscall: {error}"));
                    others.push(Arc::clone(thread));
                }
            }
        }
        let serving = self.serving.iter();
        let serving = serving.filter_map(|number| self.threads.get(number).map(Arc::clone));
        LookReady {
            files: self.files.clone(),
            threads: serving.chain(others).collect(),
            serving: self.serving.len(),
            refused,
        }
    }

    /// Whether a thread waits for its client. The first thread of a process waits for new ones.
    fn at_rest(&self, thread: &WatchedThread) -> std::io::Result<bool> {
        if thread.number == self.pid {
            return Ok(false);
        }
        let mut found = self.files.look(thread)?;
        if found == ThreadState::Running {
            std::thread::sleep(TO_REST);
            found = self.files.look(thread)?;
        }
        Ok(found == ThreadState::Receive)
    }
}

impl LookReady {
    /// Begins to look.
    pub(super) fn begin(self, reads_per_s: u32, seed: u64, number: u32) -> Looking {
        let begun_ns = clock::thread_cpu_ns();
        let before = self.edge();
        let listed: Vec<_> = self.threads.iter().take(self.serving).cloned().collect();
        let sampler = (!listed.is_empty() && self.refused.is_none())
            .then(|| ThreadSampler::start(self.files.clone(), listed, reads_per_s, seed, number));
        Looking {
            prepared: self,
            sampler,
            before,
            cpu_ns: clock::thread_cpu_ns().saturating_sub(begun_ns),
        }
    }

    fn edge(&self) -> Edge {
        // The time of the middle of the reading, as a best estimate.
        let begun_ns = clock::now_ns();
        let threads = self.threads.iter();
        let threads = threads.map(|thread| self.files.scheduled(thread)).collect();
        let at_ns = begun_ns.midpoint(clock::now_ns());
        Edge {
            at_ns,
            threads,
            process: self.files.stat(),
            host: self.files.host(),
        }
    }
}

impl Looking {
    /// Ends the look.
    pub(super) fn end(self) -> EndedLook {
        let begun_ns = clock::thread_cpu_ns();
        let sampled = self.sampler.map(ThreadSampler::stop).unwrap_or_default();
        let after = self.prepared.edge();
        let own_ns = clock::thread_cpu_ns().saturating_sub(begun_ns) + self.cpu_ns;
        let cpu_us = us(own_ns.saturating_add(sampled.cpu_ns));
        let times = times(&self.prepared, &self.before, &after, &sampled);
        EndedLook {
            times: ThreadTimes {
                look_cpu_us: cpu_us,
                ..times
            },
            sampled,
            threads: self.prepared.threads.iter().map(|one| one.number).collect(),
        }
    }
}

fn times(prepared: &LookReady, before: &Edge, after: &Edge, sampled: &Sampled) -> ThreadTimes {
    let used = |place: usize| {
        let pair = |edge: &Edge| edge.threads.get(place).copied().flatten();
        let (then, now) = (pair(before)?, pair(after)?);
        Some(Scheduled {
            run_ns: now.run_ns.saturating_sub(then.run_ns),
            wait_ns: now.wait_ns.saturating_sub(then.wait_ns),
        })
    };
    let of_all: Vec<Option<Scheduled>> = (0..prepared.threads.len()).map(used).collect();
    let (serving, others) = of_all.split_at(prepared.serving.min(of_all.len()));
    let ran = |used: &Option<Scheduled>| used.is_some_and(|used| used.run_ns > 0);
    let sum = |all: &[Option<Scheduled>]| {
        all.iter()
            .flatten()
            .fold((0u64, 0u64), |(run_ns, wait_ns), one| {
                (
                    run_ns.saturating_add(one.run_ns),
                    wait_ns.saturating_add(one.wait_ns),
                )
            })
    };
    let (run_ns, wait_ns) = sum(serving);
    let (other_run_ns, other_wait_ns) = sum(others);
    let process = before.process.zip(after.process);
    let ticks = |of: fn(&ProcessStat) -> u64| {
        process.map(|(then, now)| ticks_us(of(&now).saturating_sub(of(&then))))
    };
    let faults =
        |of: fn(&ProcessStat) -> u64| process.map(|(then, now)| of(&now).saturating_sub(of(&then)));
    let host = before.host.zip(after.host);
    let of_host =
        |of: fn(&HostTicks) -> u64| host.map(|(t, n)| ticks_us(of(&n).saturating_sub(of(&t))));
    let mut told = ThreadTimes {
        duration_s: after.at_ns.saturating_sub(before.at_ns) as f64 / 1e9,
        threads: serving.iter().filter(|used| ran(used)).count() as u32,
        run_us: us(run_ns),
        wait_us: us(wait_ns),
        other_run_us: us(other_run_ns),
        other_wait_us: us(other_wait_ns),
        user_us: ticks(|stat| stat.user_ticks),
        system_us: ticks(|stat| stat.system_ticks),
        minor_faults: faults(|stat| stat.minor_faults),
        major_faults: faults(|stat| stat.major_faults),
        host_busy_us: of_host(|host| host.busy),
        host_stolen_us: of_host(|host| host.stolen),
        refused: prepared.refused.clone().or_else(|| sampled.refused.clone()),
        // A kernel without the file counts no time of any thread.
        scheduled: of_all.iter().any(Option::is_some),
        ..ThreadTimes::default()
    };
    let mut futexes: BTreeMap<u64, u32> = BTreeMap::new();
    for Sight { place, found, .. } in &sampled.found {
        // A thread that did nothing serves no connection now.
        if serving
            .get(*place as usize)
            .is_some_and(|used| used.is_some() && !ran(used))
        {
            continue;
        }
        match found {
            ThreadState::Gone => continue,
            ThreadState::Running => told.running += 1,
            ThreadState::Receive | ThreadState::ReceiveAny => told.idle += 1,
            ThreadState::Futex(address) => *futexes.entry(*address).or_default() += 1,
            _ => {}
        }
        told.reads += 1;
        if let Some(place) = place_of(*found) {
            *told.blocked.entry(place.to_owned()).or_default() += 1;
        }
    }
    let mut futexes: Vec<(u64, u32)> = futexes.into_iter().collect();
    futexes.sort_by_key(|(address, reads)| (std::cmp::Reverse(*reads), *address));
    let told_of = futexes.into_iter().take(FUTEXES_TOLD);
    told.futexes = told_of
        .map(|(address, reads)| FutexReads {
            address: format!("{address:#x}"),
            reads,
        })
        .collect();
    told
}

/// Where a thread is blocked, by the name in the report; none if it is not.
fn place_of(found: ThreadState) -> Option<&'static str> {
    match found {
        ThreadState::Running
        | ThreadState::Receive
        | ThreadState::ReceiveAny
        | ThreadState::Gone => None,
        ThreadState::Futex(_) => Some("futex"),
        ThreadState::Disk => Some("disk"),
        ThreadState::Send => Some("socket"),
        ThreadState::PageFault => Some("page_fault"),
        ThreadState::Other => Some("other"),
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Clock ticks, as `/proc` counts time, in microseconds.
fn ticks_us(ticks: u64) -> f64 {
    ticks as f64 * 1e6 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_rounds_are_looked_at_and_drift_is_in_both_alike() {
        let looked: Vec<u32> = (0..9).filter(|round| is_looked(*round)).collect();
        assert_eq!(looked, [2, 3, 6, 7]);
    }

    #[test]
    fn a_look_ends_before_its_slice() {
        assert_eq!(until_ns(0, 1_000_000_000), 980_000_000);
        assert_eq!(until_ns(100, 200), 190);
        assert_eq!(until_ns(200, 100), 100);
    }

    fn edge(at_ns: u64, runs_ns: &[u64]) -> Edge {
        let scheduled = |run_ns: &u64| {
            Some(Scheduled {
                run_ns: *run_ns,
                wait_ns: run_ns / 2,
            })
        };
        Edge {
            at_ns,
            threads: runs_ns.iter().map(scheduled).collect(),
            process: None,
            host: None,
        }
    }

    #[test]
    fn only_threads_that_served_count_and_addresses_are_ranked() {
        let files = ProcessFiles::of(1);
        let threads = [11, 12, 13].map(|number| Arc::new(files.watched(number, false)));
        let prepared = LookReady {
            files,
            threads: threads.to_vec(),
            serving: 2,
            refused: None,
        };
        let (before, after) = (edge(0, &[0, 5, 0]), edge(1_000_000_000, &[4_000, 5, 2_000]));
        let mut found = vec![
            (0, ThreadState::Futex(7)),
            (0, ThreadState::Futex(9)),
            (0, ThreadState::Futex(9)),
        ];
        found.extend([
            (0, ThreadState::Running),
            (0, ThreadState::Receive),
            (0, ThreadState::Disk),
        ]);
        // The second one did not run, and the third has ended.
        found.extend([(1, ThreadState::Futex(3)), (0, ThreadState::Gone)]);
        let sight = |(place, found)| Sight {
            place,
            found,
            at_ns: 0,
        };
        let sampled = Sampled {
            found: found.into_iter().map(sight).collect(),
            ..Sampled::default()
        };
        let told = times(&prepared, &before, &after, &sampled);
        assert_eq!((told.threads, told.run_us, told.wait_us), (1, 4.0, 2.0));
        assert_eq!((told.other_run_us, told.duration_s), (2.0, 1.0));
        assert_eq!((told.reads, told.running, told.idle), (6, 1, 1));
        let places: Vec<(&str, u32)> = told.blocked.iter().map(|(p, n)| (&**p, *n)).collect();
        assert_eq!(places, [("disk", 1), ("futex", 3)]);
        let addresses: Vec<(&str, u32)> = told
            .futexes
            .iter()
            .map(|futex| (&*futex.address, futex.reads))
            .collect();
        assert_eq!(addresses, [("0x9", 2), ("0x7", 1)]);
        // Times that cannot be added are the longest.
        let (none, longest) = (edge(0, &[0; 3]), edge(1, &[u64::MAX; 3]));
        let told = times(&prepared, &none, &longest, &sampled);
        assert_eq!(told.run_us, us(u64::MAX));
    }

    #[test]
    fn a_process_that_is_gone_is_told() {
        let prepared = LookedAt::new(u32::MAX, None).prepare();
        assert!(prepared.refused.is_some());
        let told = prepared.begin(100, 1, 0).end().times;
        assert!(told.refused.is_some() && !told.scheduled);
        assert_eq!((told.reads, told.threads), (0, 0));
    }
}
