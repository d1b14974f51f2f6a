//! The output of `fill`.

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

/// Progress of a fill, all its tables together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillProgress {
    /// `load` while rows are sent, `keys` while the server makes keys and statistics, `done`.
    pub phase: String,
    pub rows: u64,
    pub rows_total: u64,
    pub bytes: u64,
    pub elapsed_s: f64,
    /// Each table that has been started.
    pub tables: Vec<TableProgress>,
}

/// Progress of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableProgress {
    pub table: String,
    /// Like `phase` of all tables together.
    pub phase: String,
    pub rows: u64,
    pub rows_total: u64,
}

/// Result of a fill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillDone {
    pub rows: u64,
    /// Size of the rows as text, as sent to the server.
    pub bytes: u64,
    pub seconds: f64,
    /// Checksum of the content: equal for the same seed, rows and schema, on any server and engine.
    pub checksum: String,
    pub server_version: String,
    pub tables: Vec<FilledTable>,
    /// Warnings as text, such as a step that was slower than it should be.
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
    /// Whether keys were made by sorting; null if the engine has no other way, or was not asked.
    pub keys_by_sort: Option<bool>,
}
