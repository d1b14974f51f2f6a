//! Datasets: their rows, the statements that create and load them, and the filling of a server.
//!
//! [`Content`] makes the rows of a table from a seed, a [`Recipe`] has the statements that load one
//! table, and a [`Dataset`](schema::Dataset) is all tables of a schema: no sockets, no threads.
//! [`filling`] sends them to a server and goes on where a broken fill ended.
//!
//! ```
//! use contend_data::{Content as _, KeyColumn, Rows};
//! let rows = Rows::new(1, 100, &KeyColumn::RowNumber);
//! let mut lines = Vec::new();
//! assert_eq!(rows.append(&mut lines, 0..10).rows, 10);
//! ```

pub mod content;
mod digits;
mod employees;
pub mod filling;
pub mod mark;
pub mod recipe;
pub mod rows;
pub mod sbtest;
pub mod schema;
pub mod table;
mod test_data;
mod tpcc;

pub use content::Content;
pub use recipe::{Recipe, RowsFrom};
pub use rows::{Items, KeyColumn, Rows};
pub use sbtest::{Sbtest, Switches};
pub use table::{BadTable, StorageEngine, Table};

use schema::{Dataset, Wish};

/// One schema that users can choose.
#[derive(Debug)]
pub struct DatasetEntry {
    pub name: &'static str,
    /// The database of its tables, unless the user names one.
    pub database: &'static str,
    /// A description for users.
    pub about: &'static str,
    pub dataset: fn(&Wish<'_>) -> Result<Dataset, String>,
}

pub const SCHEMAS: [DatasetEntry; 5] = [
    DatasetEntry {
        name: "sbtest",
        database: "sbtest",
        about: "the study's table, like that of sysbench 0.5 (no column NULL, latin1, for MyISAM \
                MAX_ROWS=50000000)",
        dataset: |wish| sbtest::dataset(Sbtest::Study, wish),
    },
    DatasetEntry {
        name: "sbtest-1.0",
        database: "sbtest",
        about: "like that of sysbench 1.0",
        dataset: |wish| sbtest::dataset(Sbtest::V10(Switches::default()), wish),
    },
    DatasetEntry {
        name: "employees",
        database: "employees",
        about: "the sample database of that name: six tables, two views; emp_no_keys=true adds \
                the secondary keys of its release 1.0.6",
        dataset: employees::dataset,
    },
    DatasetEntry {
        name: "test_data",
        database: "test_data",
        about: "the table of a study of buffer pool warm-up: two strings per row, the first with \
                a key; string_length=N",
        dataset: test_data::dataset,
    },
    DatasetEntry {
        name: "tpcc",
        database: "tpcc",
        about: "the nine tables of TPC-C: warehouses=N, partition_by=hash|key|range|list with \
                partitions=N, foreign_keys=true, history_key=true, shrink=N for smaller tables",
        dataset: tpcc::dataset,
    },
];

/// The schema of this name.
pub fn named(name: &str) -> Option<&'static DatasetEntry> {
    SCHEMAS.iter().find(|entry| entry.name == name)
}
