//! Tables: their rows, and the statements that create and load them.
//!
//! Nothing here uses sockets or threads. [`Content`] makes the rows of a table from a seed, a
//! [`Recipe`] has the statements that load one table, and a [`Dataset`](schema::Dataset) is all
//! tables of a schema. The module `load_data` sends them to the server.

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
