//! What `recording ask` is asked to do.

use crate::{Server, Watch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version this program reads. Plans of a different version are refused.
pub const ASK_PLAN_VERSION: u32 = 1;
/// The most servers that are compared.
pub const ASK_ARMS_MAX: usize = 8;

/// Statements of a recording, each sent to every arm: one statement at a time, all arms in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskPlan {
    pub version: u32,
    /// The file of the recording.
    pub recording: PathBuf,
    /// The first arm is the one that all others are compared with.
    #[schemars(length(min = 1, max = ASK_ARMS_MAX))]
    pub arms: Vec<AskArm>,
    /// Maximum number of statements per template, drawn evenly over the period.
    #[serde(default = "default_each")]
    #[schemars(range(min = 1))]
    pub each: u32,
    /// Maximum number of templates: those with the most logged time, or with the most calls if no
    /// times were logged.
    #[serde(default = "default_templates")]
    #[schemars(range(min = 1))]
    pub templates: u32,
    /// How often each statement is sent to each arm. Its time is the shortest of them.
    #[serde(default = "default_rounds")]
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Time limit of the rounds. A template whose statements are slow gets fewer of them, so that the
    /// others have their part of the time. Absent: none.
    #[serde(default)]
    pub for_s: Option<f64>,
    /// A statement that takes longer is killed; the time is checked five times per second.
    #[serde(default = "default_limit_s")]
    pub limit_s: f64,
    /// Send statements that write too, each in a transaction that is rolled back. Changes of tables
    /// whose engine has no transactions stay.
    #[serde(default)]
    pub writes: bool,
    /// Set each session's `timestamp` to the moment at which the statement was logged.
    #[serde(default = "default_true")]
    pub set_timestamp: bool,
    /// Send a tenth of the statements once before the first round, at least one of every template.
    #[serde(default = "default_true")]
    pub warm: bool,
    /// Seed of the sample and of all orders.
    #[serde(default)]
    pub seed: u64,
}

/// A server that statements are sent to, on one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskArm {
    /// In outcomes and messages.
    pub name: String,
    /// Its `database` is that of statements whose database was not logged.
    pub server: Server,
    /// Statements sent first on the connection, behind the server's `init_sql`.
    #[serde(default)]
    pub enter: Vec<String>,
    /// Its process, if it runs on this host. Absent: its CPU time is not read.
    #[serde(default)]
    pub watch: Option<Watch>,
}

fn default_each() -> u32 {
    100
}
fn default_templates() -> u32 {
    250
}
fn default_rounds() -> u32 {
    1
}
fn default_limit_s() -> f64 {
    10.0
}
fn default_true() -> bool {
    true
}
