//! The part of a plan that says what is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is asked. One variant a kind of the `workload` room.
///
/// The tables are those of sysbench: `id` (primary key), `k` (indexed), `c` (119 characters) and
/// `pad` (59 characters).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// `SELECT c FROM sbtest WHERE id = ?`.
    PointSelect(RowsOf),
    /// `SELECT id, k, c, pad FROM sbtest WHERE k IN (?, …)`.
    RandomPoints {
        #[serde(default = "default_table")]
        table: String,
        /// Absent: the one table of that name. A number: `table`1, `table`2 and so on.
        #[serde(default)]
        tables: Option<u32>,
        rows: u64,
        #[serde(default = "default_points")]
        points: u32,
        #[serde(default)]
        distribution: Distribution,
    },
    /// `SELECT COUNT(k) FROM sbtest WHERE k BETWEEN ? AND ? OR …`.
    RandomRanges {
        #[serde(default = "default_table")]
        table: String,
        #[serde(default)]
        tables: Option<u32>,
        rows: u64,
        #[serde(default = "default_ranges")]
        ranges: u32,
        /// Width of each range.
        #[serde(default = "default_delta")]
        delta: u64,
        #[serde(default)]
        distribution: Distribution,
    },
    /// A transaction of point selects and ranges.
    ReadOnly(ReadOnly),
    /// A transaction that reads as `read_only` does, then updates, deletes and inserts.
    ReadWrite(ReadWrite),
    /// A transaction of updates, a delete and an insert.
    WriteOnly(WriteOnly),
    /// `UPDATE sbtest SET k = k + 1 WHERE id = ?`.
    UpdateIndex(RowsOf),
    /// `UPDATE sbtest SET c = ? WHERE id = ?`.
    UpdateNonIndex(RowsOf),
    /// `DELETE FROM sbtest WHERE id = ?`.
    Delete(RowsOf),
    /// One new row an event.
    Insert {
        #[serde(default = "default_table")]
        table: String,
        #[serde(default)]
        tables: Option<u32>,
        /// Rows that are there: `k` is drawn up to it.
        rows: u64,
        /// The server numbers the rows. If not, event n inserts the id `rows` + 1 + n.
        #[serde(default = "default_true")]
        auto_increment: bool,
        #[serde(default)]
        distribution: Distribution,
    },
    /// Many new rows an event, in one statement, numbered by the server.
    BulkInsert {
        #[serde(default = "default_table")]
        table: String,
        #[serde(default)]
        tables: Option<u32>,
        rows: u64,
        #[serde(default = "default_batch")]
        batch: u32,
        /// MariaDB: the statement has one row, and one execution of it carries all of the batch
        /// (`COM_STMT_BULK_EXECUTE`). Needs the prepared protocol.
        #[serde(default)]
        bulk_execute: bool,
        #[serde(default)]
        distribution: Distribution,
    },
    /// Statements of one's own; `docs/reference/sql-workload.md` has the grammar.
    Sql { text: String },
    /// Statements that each connection asks in order, one an event, again and again.
    List {
        statements: Vec<String>,
        /// How often the whole list is asked; the run ends then. Absent: until its time is over.
        #[serde(default)]
        times: Option<u64>,
        /// All connections share one list: the next statement goes to whichever is free first.
        #[serde(default)]
        shared: bool,
    },
    /// A sysbench script, one of its threads a connection.
    Lua(Script),
}

/// A sysbench script and what it is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The name of a bundled script, or the path of a file: it has a slash or ends in `.lua`.
    pub script: String,
    /// Options that the script declares, and those of sysbench that the rest of the plan leaves
    /// open, such as `rand_type`.
    #[serde(default)]
    pub options: BTreeMap<String, ScriptValue>,
    /// Tables `sbtest`1, `sbtest`2 and so on that are there: the script's option `tables`, where
    /// it has one and `options` does not.
    #[serde(default)]
    pub tables: Option<u32>,
    /// Rows of each table: the script's option `table_size`, likewise.
    #[serde(default)]
    pub rows: Option<u64>,
}

/// The value of a script's option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScriptValue {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

/// Which rows a workload of one statement touches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowsOf {
    #[serde(default = "default_table")]
    pub table: String,
    /// Absent: the one table of that name. A number: `table`1, `table`2 and so on.
    #[serde(default)]
    pub tables: Option<u32>,
    pub rows: u64,
    #[serde(default)]
    pub distribution: Distribution,
}

/// A reading transaction: how many statements of each kind it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadOnly {
    #[serde(default = "default_table")]
    pub table: String,
    /// Absent: the one table of that name. A number: `table`1, `table`2 and so on.
    #[serde(default)]
    pub tables: Option<u32>,
    pub rows: u64,
    #[serde(default)]
    pub distribution: Distribution,
    /// Without BEGIN and COMMIT every statement is a transaction.
    #[serde(default = "default_true")]
    pub transaction: bool,
    #[serde(default = "default_point_selects")]
    pub point_selects: u32,
    /// Rows of each range.
    #[serde(default = "default_range_size")]
    pub range_size: u64,
    #[serde(default = "default_one")]
    pub simple_ranges: u32,
    #[serde(default = "default_one")]
    pub sum_ranges: u32,
    #[serde(default = "default_one")]
    pub order_ranges: u32,
    #[serde(default = "default_one")]
    pub distinct_ranges: u32,
}

/// A writing transaction: how many statements of each kind it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteOnly {
    #[serde(default = "default_table")]
    pub table: String,
    /// Absent: the one table of that name. A number: `table`1, `table`2 and so on.
    #[serde(default)]
    pub tables: Option<u32>,
    pub rows: u64,
    #[serde(default)]
    pub distribution: Distribution,
    /// Without BEGIN and COMMIT every statement is a transaction.
    #[serde(default = "default_true")]
    pub transaction: bool,
    #[serde(default = "default_one")]
    pub index_updates: u32,
    #[serde(default = "default_one")]
    pub non_index_updates: u32,
    /// Pairs of a delete and an insert of the same row.
    #[serde(default = "default_one")]
    pub delete_inserts: u32,
}

/// A reading and writing transaction: how many statements of each kind it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadWrite {
    #[serde(default = "default_table")]
    pub table: String,
    /// Absent: the one table of that name. A number: `table`1, `table`2 and so on.
    #[serde(default)]
    pub tables: Option<u32>,
    pub rows: u64,
    #[serde(default)]
    pub distribution: Distribution,
    /// Without BEGIN and COMMIT every statement is a transaction.
    #[serde(default = "default_true")]
    pub transaction: bool,
    #[serde(default = "default_point_selects")]
    pub point_selects: u32,
    /// Rows of each range.
    #[serde(default = "default_range_size")]
    pub range_size: u64,
    #[serde(default = "default_one")]
    pub simple_ranges: u32,
    #[serde(default = "default_one")]
    pub sum_ranges: u32,
    #[serde(default = "default_one")]
    pub order_ranges: u32,
    #[serde(default = "default_one")]
    pub distinct_ranges: u32,
    #[serde(default = "default_one")]
    pub index_updates: u32,
    #[serde(default = "default_one")]
    pub non_index_updates: u32,
    /// Pairs of a delete and an insert of the same row.
    #[serde(default = "default_one")]
    pub delete_inserts: u32,
}

/// Shapes of random keys; the parameters are named as sysbench names them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    Uniform {},
    Gaussian {
        #[serde(default = "default_iter")]
        iter: u32,
    },
    /// `res` percent of the draws in the central `pct` percent, the rest gaussian.
    Special {
        #[serde(default = "default_iter")]
        iter: u32,
        #[serde(default = "default_pct")]
        pct: u32,
        #[serde(default = "default_res")]
        res: u32,
    },
    Pareto {
        #[serde(default = "default_pareto_h")]
        h: f64,
    },
    Zipfian {
        #[serde(default = "default_zipfian_exp")]
        exp: f64,
    },
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Uniform {}
    }
}

fn default_ranges() -> u32 {
    10
}
fn default_delta() -> u64 {
    5
}
fn default_batch() -> u32 {
    1000
}
fn default_point_selects() -> u32 {
    10
}
fn default_range_size() -> u64 {
    100
}
fn default_one() -> u32 {
    1
}
fn default_true() -> bool {
    true
}
fn default_table() -> String {
    "sbtest".to_owned()
}
fn default_points() -> u32 {
    10
}
fn default_iter() -> u32 {
    12
}
fn default_pct() -> u32 {
    1
}
fn default_res() -> u32 {
    75
}
fn default_pareto_h() -> f64 {
    0.2
}
fn default_zipfian_exp() -> f64 {
    0.8
}
