//! What `fill` returns.

use super::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of `contend-load fill`: any number of `fill_progress`, then one `fill_done` or one
/// `error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FillOutcome {
    FillProgress(FillProgress),
    FillDone(FillDone),
    Error(Failure),
}

/// How far a fill is, all its tables together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillProgress {
    /// `load` while rows go to the server, `keys` while it makes keys and statistics, `done`.
    pub phase: String,
    pub rows: u64,
    pub rows_total: u64,
    pub bytes: u64,
    pub elapsed_s: f64,
    /// Each table that was begun.
    pub tables: Vec<TableProgress>,
}

/// How far the fill of one table is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableProgress {
    pub table: String,
    /// As of all tables together.
    pub phase: String,
    pub rows: u64,
    pub rows_total: u64,
}

/// What was filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillDone {
    pub rows: u64,
    /// Of the rows as text, on their way to the server.
    pub bytes: u64,
    pub seconds: f64,
    /// Of the content: the same for the same seed, rows and schema, on every server and engine.
    pub checksum: String,
    pub server_version: String,
    pub tables: Vec<FilledTable>,
    /// What was slower or other than it should be, in words.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilledTable {
    pub table: String,
    pub rows: u64,
    pub bytes: u64,
    pub checksum: String,
    pub load_s: f64,
    /// After the last row: keys and statistics.
    pub keys_s: f64,
    /// `local`: over the connection; `pipe`: through a named pipe.
    pub transport: String,
    /// The keys were made by sorting; none if the engine has no other way, or was not asked.
    pub keys_by_sort: Option<bool>,
}
