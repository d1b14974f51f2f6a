//! The output of `recording ask`.

use super::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line of `contend-load recording ask`: one `hello`, any number of `ask_progress`, then one
/// `ask_done` or one `error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AskOutcome {
    Hello(AskHello),
    AskProgress(AskProgress),
    AskDone(Box<AskDone>),
    Error(Failure),
}

/// First line: the program, the sample and the servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskHello {
    pub version: u32,
    pub program_version: String,
    pub pid: u32,
    /// The recording's name.
    pub recording: String,
    /// Statements and templates of the sample.
    pub statements: u64,
    pub templates: u64,
    pub arms: Vec<AskHelloArm>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskHelloArm {
    pub arm: String,
    /// As the server states it in its greeting.
    pub server_version: String,
}

/// At most two lines per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskProgress {
    /// `warm` or `timed`.
    pub phase: String,
    /// Statements that were sent to all arms in this phase, and all of the phase.
    pub asked: u64,
    pub of: u64,
    pub elapsed_s: f64,
}

/// Last line: all results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskDone {
    pub ended: AskEnded,
    /// Since the arms were connected.
    pub elapsed_s: f64,
    /// The quantity that all `share`s are of: `time` or `calls` as logged.
    pub shares_of: String,
    /// Statements sent to all arms with timing; each round counts.
    pub asked: u64,
    /// As many as the sample has in all rounds.
    pub planned: u64,
    /// Statements sent to all arms before that, without timing.
    pub warm: u64,
    /// Time for those.
    pub warm_s: f64,
    /// Templates with fewer statements sent than planned, because of the time limit or a signal.
    pub incomplete_templates: u64,
    pub arms: Vec<AskedArm>,
    /// In the order of their shares.
    pub templates: Vec<AskedTemplate>,
    /// Templates that are not in the sample, by reason.
    pub left_out: BTreeMap<String, LeftOut>,
    /// The first ten tables that an arm does not have, and the number of all of them.
    pub missing_tables: Vec<MissingTable>,
    pub missing_tables_total: u64,
    /// Share of the statements that failed for lack of a table on any arm.
    pub missing_tables_share: f64,
    /// Why no arm had its `timestamp` set, if the plan wanted that.
    pub timestamp_refused: Option<TimestampRefused>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskEnded {
    /// All statements were sent.
    Done,
    /// At `for_s`.
    Time,
    Signal,
}

/// An arm, over all templates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskedArm {
    pub arm: String,
    #[serde(flatten)]
    pub figures: AskedFigures,
    /// CPU time of the watched processes during the run; null if none is watched or one is gone.
    pub watched_cpu_us: Option<f64>,
    /// Connections that were opened again because they were lost.
    pub reconnects: u64,
}

/// Figures of one arm. Times are in microseconds, from sending a statement to the last byte of its
/// answer; a statement that failed or was killed has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskedFigures {
    /// Statements that were answered.
    pub count: u64,
    pub sum_us: f64,
    /// Mean of the natural logarithms of the times; 0 if there is none, like all below.
    pub mean_ln_us: f64,
    pub p50_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    /// Rows sent, or changed by a write.
    pub rows: u64,
    /// Statements that the server refused, by the number of the error.
    pub errors: BTreeMap<String, u64>,
    /// Statements whose database the server does not have; they are not sent.
    pub no_database: u64,
    /// Statements killed at `limit_s`; those before the first round count too.
    pub too_slow: u64,
    /// Answered reads whose rows were logged, and those of them that found as many rows.
    pub rows_logged: u64,
    pub rows_as_logged: u64,
    /// Writes after which the server warned that it could not roll back everything.
    pub not_rolled_back: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskedTemplate {
    /// Its number in the recording.
    pub template: u64,
    pub hash: String,
    pub read: bool,
    /// As logged.
    pub calls: u64,
    pub share: f64,
    /// Statements sent to all arms with timing, and those of the plan.
    pub asked: u64,
    pub planned: u64,
    /// Statements of its sample that are not sent, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Why no further statement was sent: `too_slow` (three statements were, on any arm) or
    /// `not_rolled_back`.
    pub stopped: Option<String>,
    /// Statements with an error, a missing database or too much time on some arms, but an answer on
    /// others.
    pub one_sided: u64,
    /// Statements whose rows are compared by their number only, and those not compared at all.
    pub rows_only: u64,
    pub not_compared: u64,
    /// In the order of the plan.
    pub arms: Vec<AskedFigures>,
    /// Each arm but the first, against the first.
    pub pairs: Vec<AskedPair>,
}

/// An arm against the first one: statements that both answered. Each counts once, with the shortest
/// time of each arm over the rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskedPair {
    pub arm: String,
    pub pairs: u64,
    /// Mean and variance (divided by one less than the number) of ln(time / time of the first arm).
    pub mean_ln_ratio: f64,
    pub var_ln_ratio: f64,
    /// Pairs with different numbers of rows.
    pub rows_differ: u64,
    /// Pairs with the same number of rows but different content, in any order.
    pub results_differ: u64,
    /// Pairs with the same number of rows but different content, where rows that are equal by ORDER
    /// BY in front of a LIMIT may be the reason.
    pub ties_differ: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    pub templates: u64,
    pub calls: u64,
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissingTable {
    /// As the server names it.
    pub table: String,
    /// Statements that failed for it, on any arm.
    pub statements: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimestampRefused {
    pub arm: String,
    pub code: u16,
    pub message: String,
}
