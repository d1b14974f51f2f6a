//! Tables: what is in them, and the statements that make and load them.
//!
//! No socket and no thread here: [`Rows`] are bytes from a seed, a [`Recipe`] is the statements of
//! one table's load. The `drive` room sends them.

pub mod checksum;
mod digits;
pub mod recipe;
pub mod rows;
pub mod table;

pub use recipe::{Recipe, Source};
pub use rows::{Form, KeyColumn, Rows};
pub use table::{BadTable, Engine, Sbtest10, Schema, Table};
