//! What the threads of a server did in a slice with samples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the threads of a watched process did. A thread is a serving thread if a sample showed it
/// waiting for a client's next command while there was no load; the first thread of the process
/// never is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTimes {
    /// Between the two readings of the counters. It ends a little before the slice.
    pub duration_s: f64,
    /// Serving threads that ran. All following figures are of these, unless stated otherwise.
    pub threads: u32,
    /// Whether the kernel counts the next four.
    pub scheduled: bool,
    /// Time on a CPU, and waiting for one (`/proc/PID/task/TID/schedstat`).
    pub run_us: f64,
    pub wait_us: f64,
    /// The same of all other threads.
    pub other_run_us: f64,
    pub other_wait_us: f64,
    /// The whole process: time in user mode and in the kernel, and page faults (`/proc/PID/stat`);
    /// null if that could not be read.
    pub user_us: Option<f64>,
    pub system_us: Option<f64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    /// All CPUs of the host (`/proc/stat`): busy, and stolen by the hypervisor.
    pub host_busy_us: Option<f64>,
    pub host_stolen_us: Option<f64>,
    /// Samples of threads drawn at random, and their state: on a CPU or waiting for one, waiting
    /// for the next command, or waiting elsewhere: `futex`, `disk`, `socket`, `page_fault`,
    /// `other`.
    pub reads: u32,
    pub running: u32,
    pub idle: u32,
    pub blocked: BTreeMap<String, u32>,
    /// The memory words that threads waited for in most samples, most frequent first.
    pub futexes: Vec<FutexReads>,
    /// Why threads could not be sampled; null if they could.
    pub refused: Option<String>,
    /// CPU time of the sampling itself; `client_cpu_us` of the slice includes it.
    pub look_cpu_us: f64,
    /// The slowest hundredth of events separately; null if the threads of the connections are not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowTimes>,
}

/// What threads did during slow events: those that took longer than 99 of 100 events of the rounds
/// before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowTimes {
    /// An event is slow if it takes longer than this.
    pub over_us: f64,
    pub events: u64,
    /// Their mean response time, from the intended start, and the part of it until they were sent.
    pub response_us: f64,
    pub lag_us: f64,
    /// Samples of a thread while its connection was in one of these events, with the states of
    /// `ThreadTimes`.
    pub reads: u32,
    pub running: u32,
    pub idle: u32,
    pub blocked: BTreeMap<String, u32>,
}

/// A word of the process's memory, and the number of samples in which a thread waited for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FutexReads {
    pub address: String,
    pub reads: u32,
}
