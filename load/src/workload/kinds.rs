//! The registry of native workloads: what a plan calls them.

use super::Workload;
use super::insert::{BulkInsert, Insert};
use super::list::List;
use super::native::{Kind, Native, Way};
use super::oltp::{self, Oltp, Part};
use super::point_select::PointSelect;
use super::random_points::RandomPoints;
use super::random_ranges::RandomRanges;
use super::sql::{Sql, SqlError};
use super::tables::Tables;
use crate::plan::{Distribution, ReadOnly, ReadWrite, RowsOf, Workload as Spec, WriteOnly};
use crate::random::{Sampler, Shape};
use std::sync::Arc;

/// The native workload that a plan describes; none where it is a script of the host for them.
///
/// # Errors
/// Where statements of one's own cannot be read.
pub fn from_plan(spec: &Spec, way: Way) -> Result<Option<Arc<dyn Workload>>, SqlError> {
    Ok(Some(match spec {
        Spec::Lua(_) => return Ok(None),
        Spec::Sql { text } => native(Sql::new(text)?, way),
        Spec::List {
            statements, shared, ..
        } => native(List::new(statements.clone(), *shared), way),
        Spec::PointSelect(of) => native(PointSelect::new(tables(of), keys_of(of)), way),
        Spec::RandomPoints {
            table,
            tables,
            rows,
            points,
            distribution,
        } => {
            let tables = Tables::new(table, *tables);
            native(
                RandomPoints::new(tables, keys(*rows, distribution), *points),
                way,
            )
        }
        Spec::RandomRanges {
            table,
            tables,
            rows,
            ranges,
            delta,
            distribution,
        } => {
            let tables = Tables::new(table, *tables);
            native(
                RandomRanges::new(tables, keys(*rows, distribution), *ranges, *delta),
                way,
            )
        }
        Spec::ReadOnly(spec) => native(read_only(spec), way),
        Spec::WriteOnly(spec) => native(write_only(spec), way),
        Spec::ReadWrite(spec) => native(read_write(spec), way),
        Spec::UpdateIndex(of) => native(single(of, Part::IndexUpdate), way),
        Spec::UpdateNonIndex(of) => native(single(of, Part::NonIndexUpdate), way),
        Spec::Delete(of) => native(single(of, Part::Delete), way),
        Spec::Insert {
            table,
            tables,
            rows,
            auto_increment,
            distribution,
        } => {
            let first_id = (!auto_increment).then_some(rows.saturating_add(1));
            let tables = Tables::new(table, *tables);
            native(
                Insert::new(tables, keys(*rows, distribution), first_id),
                way,
            )
        }
        Spec::BulkInsert {
            table,
            tables,
            rows,
            batch,
            bulk_execute,
            distribution,
        } => {
            let (tables, keys) = (Tables::new(table, *tables), keys(*rows, distribution));
            native(BulkInsert::new(tables, keys, *batch, *bulk_execute), way)
        }
    }))
}

fn native(kind: impl Kind, way: Way) -> Arc<dyn Workload> {
    Arc::new(Native::new(kind, way))
}

fn keys(rows: u64, distribution: &Distribution) -> Sampler {
    Sampler::new(Shape::new(distribution), 1, rows)
}

fn keys_of(of: &RowsOf) -> Sampler {
    keys(of.rows, &of.distribution)
}

fn tables(of: &RowsOf) -> Tables {
    Tables::new(&of.table, of.tables)
}

/// One statement of the OLTP transactions, alone.
fn single(of: &RowsOf, part: Part) -> Oltp {
    Oltp::new(part.name(), tables(of), keys_of(of), 1, vec![part])
}

fn read_only(spec: &ReadOnly) -> Oltp {
    let (points, simple, sum) = (spec.point_selects, spec.simple_ranges, spec.sum_ranges);
    let parts = oltp::reads(points, simple, sum, spec.order_ranges, spec.distinct_ranges);
    Oltp::new(
        "read_only",
        Tables::new(&spec.table, spec.tables),
        keys(spec.rows, &spec.distribution),
        spec.range_size,
        oltp::framed(spec.transaction, parts),
    )
}

fn write_only(spec: &WriteOnly) -> Oltp {
    let parts = oltp::writes(
        spec.index_updates,
        spec.non_index_updates,
        spec.delete_inserts,
    );
    Oltp::new(
        "write_only",
        Tables::new(&spec.table, spec.tables),
        keys(spec.rows, &spec.distribution),
        1,
        oltp::framed(spec.transaction, parts),
    )
}

fn read_write(spec: &ReadWrite) -> Oltp {
    let (points, simple, sum) = (spec.point_selects, spec.simple_ranges, spec.sum_ranges);
    let reads = oltp::reads(points, simple, sum, spec.order_ranges, spec.distinct_ranges);
    let writes = oltp::writes(
        spec.index_updates,
        spec.non_index_updates,
        spec.delete_inserts,
    );
    Oltp::new(
        "read_write",
        Tables::new(&spec.table, spec.tables),
        keys(spec.rows, &spec.distribution),
        spec.range_size,
        oltp::framed(spec.transaction, [reads, writes].concat()),
    )
}
