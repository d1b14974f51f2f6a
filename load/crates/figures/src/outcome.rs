//! The output of a run: JSON lines on standard output, one [`Outcome`] per line. Plain data.
//!
//! Order: one `hello`; any number of `phase` and `interval` lines, or of `slice` lines if the run
//! has arms; then one `done` or one `error`.

mod ask;
mod figures;
mod fill;
mod look;
mod shown;

pub use ask::{
    AskDone, AskEnded, AskHello, AskHelloArm, AskOutcome, AskProgress, AskedArm, AskedFigures,
    AskedPair, AskedTemplate, LeftOut, MissingTable, TimestampRefused,
};
pub use figures::{EventCounts, Figures, LinkCounts, Percentiles, QueryCounts, WindowFigures};
pub use fill::{FillDone, FillOutcome, FillProgress, FilledTable, TableProgress};
pub use look::{FutexReads, SlowTimes, ThreadTimes};
pub use shown::{one_line, shown};

use crate::sum::sums;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of these lines.
pub const OUTCOME_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Outcome {
    Hello(Hello),
    Phase(Phase),
    Interval(Box<Interval>),
    Slice(Box<Slice>),
    Done(Box<Done>),
    Error(Failure),
}

/// First line: program, server and session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    pub version: u32,
    pub program_version: String,
    pub pid: u32,
    pub threads: u32,
    /// The event loop in use: `epoll` or `io_uring`; `threads` for
    /// scripts that may block.
    pub engine: String,
    /// As the server states it in its greeting.
    pub server_version: String,
    /// Session options agreed with the server: `tls`, `zlib`, `zstd`, and `cached_metadata` if
    /// result definitions come once and not with each prepared result.
    #[serde(default)]
    pub session: Vec<String>,
    /// Each node, if the run has several; `server_version` and `session` are then the first one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeHello>,
}

/// A node's version and session options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeHello {
    pub name: String,
    pub server_version: String,
    pub session: Vec<String>,
}

/// The run entered a phase: `warmup`, `measure`, `end`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    pub phase: String,
    /// Seconds since the load began.
    pub at_s: f64,
}

/// Figures of one interval of the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub index: u32,
    pub start_s: f64,
    pub duration_s: f64,
    /// Its events are those that ended in it. `qps` has whole queries.
    #[serde(flatten)]
    pub figures: Figures,
    pub errors: u64,
    /// By statement class, if the workload has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassFigures>,
    /// In an open loop: events that were due at the end and had not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Progress of a `scan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scanned: Option<Scanned>,
}

/// Figures of one slice of a run with arms. It has the events that were due to begin inside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    pub index: u32,
    /// The arm's name, and its place in the plan.
    pub arm: String,
    pub arm_index: u16,
    /// In every round each arm has one slice; `position` is its place in the round.
    pub round: u32,
    pub position: u16,
    /// Seconds since the first slice began.
    pub start_s: f64,
    /// If the arm's workload has an end: up to the end of the last event.
    pub duration_s: f64,
    /// `events` if the arm's workload was done, else `time`.
    #[serde(default)]
    pub ended: Ended,
    #[serde(flatten)]
    pub figures: Figures,
    /// Those of `events` that ended after the slice.
    pub drained: u64,
    /// Each kind of event, if the workload has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindFigures>,
    /// In an open loop: events that were due inside the slice and had not begun at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_begun: Option<u64>,
    pub errors: Vec<ErrorCount>,
    /// CPU time used inside the slice, by contend-load and by each arm's watched process, in the
    /// order of the arms; null if none is watched.
    pub client_cpu_us: f64,
    pub watched_cpu_us: Vec<Option<f64>>,
    pub visit: Visit,
    /// If threads of the arm's watched process were sampled in this slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<ThreadTimes>,
}

/// From entering an arm to the last answer: settling, slice and drain. No query is in progress at
/// its beginning or end, so these events caused all that the processes used in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Visit {
    pub duration_s: f64,
    /// Events that began.
    pub events: u64,
    pub client: ProcessDelta,
    /// Each arm's watched process, in the order of the arms.
    pub watched: Vec<Option<ProcessDelta>>,
}

/// All slices of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmFigures {
    pub arm: String,
    pub slices: u32,
    /// The figures of a run of this arm alone, except those of connecting. CPU times were read at
    /// the edges of the slices. Switches and bytes of a process were read at the edges of the
    /// visits; the slices have a share of them, by events.
    pub done: Done,
}

/// The measured window. It has the events that were due to begin inside it, with their queries,
/// even if they ended after it. Events of the warm-up do not belong to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    #[serde(flatten)]
    pub end: WindowEnd,
    #[serde(flatten)]
    pub figures: Figures,
    /// Each kind of event, if the workload has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindFigures>,
    /// Those of `events` that ended after the window, with their queries answered after it. All
    /// figures include them but `answered`.
    #[serde(default)]
    pub drained: Figures,
    /// `closed-loop` (each connection waits for its answer) or `open-loop`.
    pub arrival: String,
    /// Connections with load, without idle ones.
    #[serde(default)]
    pub connections: u32,
    /// Requests that could be in flight on each; absent if the arms differ in that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The queries by statement class.
    #[serde(default)]
    pub classes: Vec<ClassFigures>,
    pub errors: Vec<ErrorCount>,
    /// Connecting and logging in: before the load began, and inside the window.
    #[serde(default)]
    pub setup_connect_us: Percentiles,
    #[serde(default)]
    pub connect_us: Percentiles,
    /// Absent in a closed loop.
    #[serde(default)]
    pub open: Option<OpenLoop>,
    /// In a closed loop with think time: from the end of an event's think time to its true start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_us: Option<Percentiles>,
    /// Each node, if the run has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeFigures>,
    /// CPU time of the busiest worker divided by the window's wall time, 0 to 1; in a run with
    /// arms, of each slice's busiest worker.
    pub client_busiest_thread_share: f64,
    /// Jain's index over the queries of the connections: 1 is even.
    pub fairness: f64,
    /// Queries of the connection with the fewest, and of the one with the most.
    #[serde(default)]
    pub least_served: u64,
    #[serde(default)]
    pub most_served: u64,
    /// Result of a `scan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scanned: Option<Scanned>,
    /// In a run with arms; all other figures are then of all arms together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<ArmFigures>,
    /// The files that scripts loaded after their bodies had run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Each host, if several shared the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostFigures>,
}

/// How a window ended, with its unfinished work and the use of processes over it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowEnd {
    pub ended: Ended,
    /// True wall time of the window.
    pub measured_s: f64,
    /// Events of the window that had not ended when the run was over.
    #[serde(default)]
    pub unfinished: u32,
    /// Requests without an answer when the run was over, including those of warm-up events, and the
    /// longest wait among them.
    #[serde(default)]
    pub unanswered: u32,
    #[serde(default)]
    pub longest_wait_s: f64,
    pub client: ProcessDelta,
    /// The watched process; absent if none was named or its counters cannot be read.
    pub server: Option<ProcessDelta>,
}

/// Why a run or a slice ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Its time was over.
    #[default]
    Time,
    /// There were no more events.
    Events,
    /// The process received a signal.
    Signal,
}

/// One of several hosts that shared a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFigures {
    pub name: String,
    /// Why it was lost. All of its figures are then 0, and no other figure includes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    pub connections: u32,
    #[serde(flatten)]
    pub figures: Figures,
    /// From the intended to the true start of its events; absent if none can begin late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_us: Option<Percentiles>,
    /// In an open loop: its events that were due inside the window and had not begun at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_begun: Option<u64>,
    pub client: ProcessDelta,
    pub client_busiest_thread_share: f64,
    /// Offset of its clocks from those of the host that set the start: before the load, and after
    /// it.
    #[serde(default)]
    pub clock_before: ClockOffset,
    #[serde(default)]
    pub clock_after: Option<ClockOffset>,
}

/// What to add to the clocks of the querying host to get those of the host that answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// Steady clocks, which never step; the common start uses these. They count from each host's
    /// boot.
    pub steady_us: f64,
    /// Wall clocks.
    pub wall_us: f64,
    /// Maximum error of both: half of the shortest round trip.
    pub error_us: f64,
}

/// Additional figures of an open loop. `latency_us` counts from the intended time, and has these
/// two parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// From the true start of an event to its end.
    pub service_us: Percentiles,
    pub service_hdr_ns: String,
    /// From the intended to the true start.
    pub lag_us: Percentiles,
    pub lag_hdr_ns: String,
    /// Events that were due inside the window, and per second.
    #[serde(default)]
    pub due: u64,
    pub due_per_s: f64,
    /// Those that had not begun when the window was closed: `due` = `begun` + `not_begun`.
    #[serde(default)]
    pub not_begun: u64,
    /// Due events, including those of the warm-up, that had not begun when the window was opened
    /// and closed.
    pub backlog_open: u64,
    pub backlog_close: u64,
    pub backlog_growth_per_s: f64,
    /// Time the oldest of them had waited at the end. They are in no histogram.
    pub oldest_wait_s: f64,
    /// The rate was not kept: the queue grew, so the latencies depend on the length of the run.
    pub overloaded: bool,
}

/// The events of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindFigures {
    pub name: String,
    #[serde(flatten)]
    pub figures: Figures,
    /// The two parts of the latency, in an open loop or with think time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_us: Option<Percentiles>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_us: Option<Percentiles>,
    /// Names of its statement classes.
    pub classes: Vec<String>,
}

/// The queries of one of several servers, including those of transactions that rolled back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFigures {
    pub name: String,
    #[serde(flatten)]
    pub figures: Figures,
    pub errors: Vec<ErrorCount>,
    /// Its watched process.
    pub server: Option<ProcessDelta>,
}

/// The queries of one statement class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassFigures {
    pub name: String,
    #[serde(flatten)]
    pub figures: Figures,
    pub errors: u64,
}

sums! {
    /// What a process used between the two edges of the window.
    #[derive(JsonSchema)]
    pub struct ProcessDelta {
        pub cpu_us: f64,
        pub voluntary_switches: Option<u64>,
        pub involuntary_switches: Option<u64>,
        /// Bytes read from storage.
        pub read_bytes: Option<u64>,
        pub write_bytes: Option<u64>,
    }
}

impl ProcessDelta {
    /// Its counts times `share`, with `cpu_us` as its CPU time.
    pub fn scaled(&self, share: f64, cpu_us: f64) -> Self {
        let scale = |count: Option<u64>| count.map(|count| (count as f64 * share).round() as u64);
        Self {
            cpu_us,
            voluntary_switches: scale(self.voluntary_switches),
            involuntary_switches: scale(self.involuntary_switches),
            read_bytes: scale(self.read_bytes),
            write_bytes: scale(self.write_bytes),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    pub code: u16,
    pub sqlstate: String,
    pub count: u64,
    pub message: String,
    pub statement: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Last line of a run that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    pub code: Option<u16>,
    pub sqlstate: Option<String>,
    pub statement: Option<String>,
}

impl Failure {
    /// A failure with a message and nothing else.
    pub fn plain(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: None,
            sqlstate: None,
            statement: None,
        }
    }

    /// Like [`Self::plain`], with a hint.
    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..Self::plain(message)
        }
    }
}

/// Progress of a scan. Ranges read by an earlier run count as done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scanned {
    /// Number of ranges done without a gap, from the first one.
    pub upto: u64,
    /// By name, in the order of the plan.
    pub parts: Vec<ScannedPart>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScannedPart {
    pub name: String,
    /// Ranges that are done.
    pub ranges: u64,
    /// The server refused one of them, so the rest was skipped; `errors` of the outcome has the
    /// reason.
    pub refused: bool,
}
