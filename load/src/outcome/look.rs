//! What the threads of a server did in a slice that was looked at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the threads of a watched process did. A thread serves if it was seen to wait for the next
/// command of a client while nothing was asked; the first thread of the process never does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTimes {
    /// From the reading of the counters at its begin to that at its end. It ends a little before
    /// the slice.
    pub duration_s: f64,
    /// Threads that serve and ran. All that follows is of these, if it does not say otherwise.
    pub threads: u32,
    /// Whether the kernel counts the next four.
    pub scheduled: bool,
    /// Time on a CPU, and waiting for one (`/proc/PID/task/TID/schedstat`).
    pub run_us: f64,
    pub wait_us: f64,
    /// The same of all threads that do not serve.
    pub other_run_us: f64,
    pub other_wait_us: f64,
    /// Of the whole process: time in user mode and in the kernel, and page faults
    /// (`/proc/PID/stat`); null if that could not be read.
    pub user_us: Option<f64>,
    pub system_us: Option<f64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    /// Of all CPUs of the host (`/proc/stat`): busy, and stolen by the hypervisor.
    pub host_busy_us: Option<f64>,
    pub host_stolen_us: Option<f64>,
    /// Looks at threads drawn at random, and what these did: on a CPU or waiting for one, waiting
    /// for the next command, or waiting elsewhere: `futex`, `disk`, `socket`, `page_fault`,
    /// `other`.
    pub reads: u32,
    pub running: u32,
    pub idle: u32,
    pub blocked: BTreeMap<String, u32>,
    /// The words of memory that most looks found somebody waiting for, the most first.
    pub futexes: Vec<FutexReads>,
    /// Why threads could not be looked at; null if they could.
    pub refused: Option<String>,
    /// CPU time that the look took by itself; `client_cpu_us` of the slice has it too.
    pub look_cpu_us: f64,
    /// Of the slowest hundredth of events by themselves; null if it is not known which thread works
    /// for which connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowTimes>,
}

/// What threads did while they worked for slow events: those that took longer than 99 of 100 of the
/// rounds before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowTimes {
    /// An event is slow if it takes longer.
    pub over_us: f64,
    pub events: u64,
    /// Their mean response time, from the intended start, and of it the time until they were sent.
    pub response_us: f64,
    pub lag_us: f64,
    /// Looks at a thread while its connection was in one of these events, and what it did, as in a
    /// look at all.
    pub reads: u32,
    pub running: u32,
    pub idle: u32,
    pub blocked: BTreeMap<String, u32>,
}

/// A word of the process's memory, and how often somebody was found waiting for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FutexReads {
    pub address: String,
    pub reads: u32,
}
