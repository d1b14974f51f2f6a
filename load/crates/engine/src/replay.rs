//! The meaning of a workload's queries: the questions of an event, to be answered a second time.
//!
//! A load only counts answers. To check them, an event is asked again as [`Question`]s, each with
//! the [`Meaning`] of its query and its values. [`super::model`] answers those from a copy of the
//! tables.

use crate::statement::Parameters;

/// A query's meaning, for a table of sysbench's shape. Its values come in the order of its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// BEGIN or COMMIT.
    Frame,
    /// The `c` of an id.
    PointSelect,
    /// The whole rows whose `k` is one of the values.
    Points,
    /// Number of rows that have a `k` in one of the ranges.
    CountOfRanges,
    /// The `c` of a range of ids: in any order, their sum of `k`, ordered, ordered without twins.
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    /// Adds one to the `k` of an id.
    IndexUpdate,
    /// Sets the `c` of an id, which comes second.
    NonIndexUpdate,
    Delete,
    /// New rows: id (where it is ours), k, c, pad, and so on.
    Insert {
        with_ids: bool,
    },
    /// Only the server knows: it is a statement of the user's own.
    Unknown,
}

/// One statement of an event.
#[derive(Debug)]
pub struct Question {
    pub meaning: Meaning,
    /// The place in [`Replay::tables`].
    pub table: usize,
    pub values: Parameters,
}

/// A workload whose events can be asked a second time.
pub trait Replay {
    /// The tables that its statements touch; none if only the server knows.
    fn tables(&self) -> &[String];

    /// The questions of event number `cycle`, in order.
    fn questions(&self, seed: u64, cycle: u64) -> Vec<Question>;
}
