//! The native workloads: what a session asks, and how its answers are read.

mod batch_insert;
mod batch_select;
mod bulk_insert;
pub mod client_list;
mod insert;
mod list;
pub mod native;
mod oltp;
mod oltp_keys;
mod over_tables;
mod point_select;
mod random_points;
mod random_ranges;
pub mod registry;
mod rows_keys;
mod scan;
mod sql;
pub mod statement;
mod string_lookup;
mod tables;
pub mod told;
pub mod tpcc;

pub use sql::{Sql, SqlError};
