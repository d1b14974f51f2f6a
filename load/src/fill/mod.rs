//! Tables: what is in them, and the statements that make and load them.
//!
//! No socket and no thread here: [`Content`] is bytes from a seed, a [`Recipe`] is the statements of
//! one table's load, a [`Dataset`](schema::Dataset) is all tables of a schema. The room
//! `load_data` sends them.

pub mod checksum;
pub mod content;
mod digits;
mod employees;
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
