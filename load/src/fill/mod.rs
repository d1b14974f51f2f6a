//! Tables: what is in them, and the statements that make and load them.
//!
//! No socket and no thread here: rows are bytes from a seed ([`Rows`]), a [`Recipe`] is the
//! statements of one table's load in order. The `drive` room sends them.

pub mod checksum;
mod digits;
pub mod rows;

pub use rows::{KeyColumn, Rows};
