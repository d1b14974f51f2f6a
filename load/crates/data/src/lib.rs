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

pub mod checksum;
pub mod content;
mod digits;
mod employees;
pub mod filling;
pub mod mark;
pub mod recipe;
pub mod registry;
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
