//! sysbench's OLTP transactions, and their parts alone, as kinds of workload.

use super::config::{EVENTS, WorkloadConfig, native};
use super::native::Way;
use super::oltp::{Oltp, OltpPart};
use super::rows_keys::{keys_over_rows, number, wide, yes};
use crate::oltp;
use contend_engine::workload::Workload;
use std::sync::Arc;

/// Statements of one event.
const STATEMENTS_MAX: usize = 100_000;

/// Declares a transaction: whether it is one, and how many statements of each kind it has.
macro_rules! transaction {
    ($head:tt { $($keys:tt)* } reads $($rest:ident)?) => {
        transaction! { $head {
            $($keys)*
            /// Point selects per event.
            #[serde(default = "number::<10>")]
            #[schemars(range(min = 0, max = 100_000))]
            point_selects: u32,
            /// Rows per range.
            #[serde(default = "wide::<100>")]
            #[schemars(range(min = 1, max = 9_223_372_036_854_775_807_u64))]
            range_size: u64,
            /// Range selects per event.
            #[serde(default = "number::<1>")]
            #[schemars(range(min = 0, max = 100_000))]
            simple_ranges: u32,
            /// Selects of a range's sum per event.
            #[serde(default = "number::<1>")]
            #[schemars(range(min = 0, max = 100_000))]
            sum_ranges: u32,
            /// Selects of an ordered range per event.
            #[serde(default = "number::<1>")]
            #[schemars(range(min = 0, max = 100_000))]
            order_ranges: u32,
            /// Selects of a range's distinct values per event.
            #[serde(default = "number::<1>")]
            #[schemars(range(min = 0, max = 100_000))]
            distinct_ranges: u32,
        } $($rest)? }
    };
    ($head:tt { $($keys:tt)* } writes) => {
        transaction! { $head {
            $($keys)*
            /// Updates of the indexed column per event.
            #[serde(default = "number::<1>")]
            #[schemars(range(min = 0, max = 100_000))]
            index_updates: u32,
            /// Updates of a column without index per event.
            #[serde(default = "number::<1>")]
            #[schemars(range(min = 0, max = 100_000))]
            non_index_updates: u32,
            /// Pairs of a DELETE and an INSERT of the same row per event.
            #[serde(default = "number::<1>")]
            #[schemars(range(min = 0, max = 100_000))]
            delete_inserts: u32,
        } }
    };
    ([$(#[$meta:meta])* $name:ident, $kind:literal, writes: $writes:literal] $keys:tt) => {
        keys_over_rows! {
            $(#[$meta])*
            $name, $kind, writes: $writes, metric: EVENTS,
            also: |own: &$name| check_statements(&own.parts());
            $keys
        }

        impl WorkloadConfig for $name {
            fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
                let over = self.over();
                let parts = oltp::framed(self.transaction, self.parts());
                let (tables, keys) = (over.tables(), over.sampler());
                let kind = Oltp::new($kind, tables, keys, MadeOf::range_size(self), parts);
                Ok(native(kind, way))
            }
        }
    };
    ($(#[$meta:meta])* $name:ident, $kind:literal, writes: $writes:literal; $first:ident $($second:ident)?) => {
        transaction! { [$(#[$meta])* $name, $kind, writes: $writes] {
            /// BEGIN before and COMMIT after the statements; otherwise each is a transaction.
            #[serde(default = "yes")]
            transaction: bool,
        } $first $($second)? }
    };
}

transaction! {
    /// A transaction of reads.
    ReadOnly, "read_only", writes: false; reads
}

transaction! {
    /// A transaction of writes.
    WriteOnly, "write_only", writes: true; writes
}

transaction! {
    /// A transaction of reads and then writes.
    ReadWrite, "read_write", writes: true; reads writes
}

/// Checks the number of statements per event; a DELETE and its INSERT count as one.
fn check_statements(parts: &[OltpPart]) -> Result<(), String> {
    match parts
        .iter()
        .filter(|part| **part != OltpPart::Insert)
        .count()
    {
        0 => Err("workload: an event has no statement; raise one of the counts".to_owned()),
        sum if sum > STATEMENTS_MAX => Err(format!(
            "workload: statements of an event: {sum} is not between 1 and {STATEMENTS_MAX}"
        )),
        _ => Ok(()),
    }
}

/// The parts of a transaction.
trait MadeOf {
    fn parts(&self) -> Vec<OltpPart>;

    fn range_size(&self) -> u64 {
        1
    }
}

impl MadeOf for ReadOnly {
    fn parts(&self) -> Vec<OltpPart> {
        let (simple, sum) = (self.simple_ranges, self.sum_ranges);
        let (order, distinct) = (self.order_ranges, self.distinct_ranges);
        oltp::reads(self.point_selects, simple, sum, order, distinct)
    }

    fn range_size(&self) -> u64 {
        self.range_size
    }
}

impl MadeOf for WriteOnly {
    fn parts(&self) -> Vec<OltpPart> {
        let (index, non_index) = (self.index_updates, self.non_index_updates);
        oltp::writes(index, non_index, self.delete_inserts)
    }
}

impl MadeOf for ReadWrite {
    fn parts(&self) -> Vec<OltpPart> {
        let (simple, sum) = (self.simple_ranges, self.sum_ranges);
        let (order, distinct) = (self.order_ranges, self.distinct_ranges);
        let (index, non_index) = (self.index_updates, self.non_index_updates);
        let reads = oltp::reads(self.point_selects, simple, sum, order, distinct);
        let writes = oltp::writes(index, non_index, self.delete_inserts);
        [reads, writes].concat()
    }

    fn range_size(&self) -> u64 {
        self.range_size
    }
}

/// One statement of the transactions, alone.
macro_rules! is_statement {
    ($(#[$meta:meta])* $name:ident, $kind:literal, $part:expr) => {
        keys_over_rows! {
            $(#[$meta])*
            $name, $kind, writes: true;
            {}
        }

        impl WorkloadConfig for $name {
            fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
                let over = self.over();
                let parts = vec![$part];
                let kind = Oltp::new($part.name(), over.tables(), over.sampler(), 1, parts);
                Ok(native(kind, way))
            }

            fn keys(&self) -> Option<u64> {
                Some(self.rows)
            }
        }
    };
}

is_statement!(
    /// `UPDATE sbtest SET k = k + 1 WHERE id = ?`.
    UpdateIndex,
    "update_index",
    OltpPart::IndexUpdate
);
is_statement!(
    /// `UPDATE sbtest SET c = ? WHERE id = ?`.
    UpdateNonIndex,
    "update_non_index",
    OltpPart::NonIndexUpdate
);
is_statement!(
    /// `DELETE FROM sbtest WHERE id = ?`.
    Delete,
    "delete",
    OltpPart::Delete
);
