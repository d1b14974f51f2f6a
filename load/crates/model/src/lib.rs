//! The model server: the segmented key cache of MyISAM and its surroundings.
//!
//! Its core is data and decisions, without a lock, clock, thread or socket: a [`PointQuery`] says
//! act by act ([`Act`]) what a query of the study does (take locks, ask segments for pages, search
//! them, read rows). [`server`] executes each act with real locks, [`virtual_time`] in virtual
//! time; both return an [`ActResult`].
//!
//! ```
//! let index = contend_model::Index::new(1_000_000);
//! assert_eq!(index.levels(), 3);
//! ```

pub mod cache;
pub mod index;
pub mod knobs;
pub mod layout;
pub mod lists;
pub mod page;
pub mod query;
pub mod refusals;
pub mod rows;
pub mod server;
pub mod sizes;
pub mod sql;
pub mod variables;
pub mod virtual_time;

mod grown;
mod sorted;

pub use cache::{Find, Segment, SegmentCounts};
pub use index::Index;
pub use knobs::{Knobs, LockKind, Padding, PagesFrom};
pub use layout::ControlBlocks;
pub use page::{InPage, KeySide, PAGE_BYTES, search};
pub use query::{Act, ActResult, Parting, PointQuery};
pub use rows::{ModelRow, ModelRows, ROW_BYTES};
pub use sizes::{KeyCacheSizes, SegmentsError};

/// The version in MariaDB's form; its last part marks it as the model.
pub const VERSION: &str = "10.11.0-MariaDB-contend-model";
/// The kind of server, for clients that query `version_comment`.
pub const COMMENT: &str = "contend model server, not a database";
/// The one database, and the one table in it.
pub const DATABASE: &str = "sbtest";
pub const TABLE: &str = "sbtest";

#[cfg(test)]
mod tests;
