//! The native workloads: what a session asks, and how its answers are read.
//!
//! A workload is one file that has its keys in a plan and draws its statements; the [`registry`]
//! has a line for each. [`tpcc`] is a folder. What all of them share (connecting, preparing,
//! retrying, the node of an event) is in [`native`].
//!
//! ```
//! use contend_workloads::{native::Way, registry};
//! let named = serde_json::from_str(r#"{"kind": "point_select", "rows": 1000}"#)?;
//! let workload = registry::read(&named)?.build(Way::default())?;
//! assert_eq!(workload.kinds().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod async_session;
mod batch_insert;
mod batch_select;
mod bulk_insert;
pub mod client_list;
pub mod config;
mod insert;
mod list;
pub mod native;
mod oltp;
mod oltp_keys;
mod over_tables;
mod point_select;
mod random_points;
mod random_ranges;
mod recorded;
pub mod registry;
mod rows_keys;
mod scan;
mod sql;
pub mod statement;
mod string_lookup;
mod tables;
pub mod tpcc;

pub use sql::{Sql, SqlError};
