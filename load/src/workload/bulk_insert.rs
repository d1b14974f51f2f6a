//! Many new rows in one statement.

use super::native::{Carries, Kind, NextStep, OpenEvent, QueryText, Way, WhyAsked};
use super::replay::Meaning;
use super::rows_keys::{keys_over_rows, number};
use super::statement::Parameters;
use super::tables::{C, PAD, Tables};
use super::told::{Told, native};
use super::{EventKind, Workload};
use crate::plan::{Load, Protocol};
use crate::random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// Many new rows an event, in one statement, numbered by the server.
    Keys, "bulk_insert", writes: true;
    {
        /// New rows of one statement.
        #[serde(default = "number::<1000>")]
        #[schemars(range(min = 1, max = 21_845))]
        batch: u32,
        /// MariaDB: the statement has one row, and one execution of it carries all of the batch
        /// (`COM_STMT_BULK_EXECUTE`). Needs the prepared protocol.
        #[serde(default)]
        bulk_execute: bool,
    }
}

impl Told for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let over = self.over();
        let kind = BulkInsert::new(over.tables(), over.sampler(), self.batch, self.bulk_execute);
        Ok(native(kind, way))
    }

    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if self.bulk_execute && load.protocol == Protocol::Text {
            return Err(
                "workload.bulk_execute: executes what was prepared, and load.protocol is \"text\""
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// `INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?), …`
#[derive(Clone, Debug)]
pub struct BulkInsert {
    tables: Tables,
    keys: Sampler,
    batch: u32,
    /// One row in the statement, and all of them in its execution.
    in_bulk: bool,
}

impl BulkInsert {
    pub fn new(tables: Tables, keys: Sampler, batch: u32, in_bulk: bool) -> Self {
        Self {
            tables,
            keys,
            batch,
            in_bulk,
        }
    }
}

impl Kind for BulkInsert {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("bulk_insert", &["bulk_insert"])
    }

    fn queries(&self) -> Vec<QueryText> {
        let rows = if self.in_bulk { 1 } else { self.batch };
        let rows = vec!["(?, ?, ?)"; rows as usize].join(", ");
        let sql = |table: &str| format!("INSERT INTO {table} (k, c, pad) VALUES {rows}");
        let mut queries = QueryText::of_each(&self.tables, sql);
        for query in &mut queries {
            query.carries = match self.in_bulk {
                true => Carries::Bulk,
                false => Carries::One,
            };
        }
        queries
    }

    fn tables(&self) -> &[String] {
        self.tables.names()
    }

    fn meaning(&self, query: usize) -> (usize, Meaning) {
        (query, Meaning::Insert { with_ids: false })
    }

    fn next(
        &self,
        _heard: WhyAsked<'_>,
        event: &mut OpenEvent,
        _own: &mut (),
        values: &mut Parameters,
    ) -> NextStep {
        let table = self.tables.draw(&mut event.stream);
        for _ in 0..self.batch {
            values.int(self.keys.draw(&mut event.stream));
            values.template(&mut event.stream, C);
            values.template(&mut event.stream, PAD);
        }
        NextStep::only(table)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::Shape;
    use crate::workload::native::tests::asked;
    use crate::workload::native::walk;

    fn keys() -> Sampler {
        Sampler::new(Shape::Uniform, 5, 5)
    }

    #[test]
    fn a_batch_is_one_statement() {
        let tables = Tables::new("t", None);
        let texts = asked(&BulkInsert::new(tables.clone(), keys(), 3, false), 1, 1);
        assert_eq!(texts[0].matches("(5, '").count(), 3);
        let bulk = BulkInsert::new(tables, keys(), 3, true);
        assert_eq!(bulk.queries()[0].pieces.len(), 1 + 3);
        walk(&bulk, 1, 0, |_, values| assert_eq!(values.count(), 3 * 3));
    }
}
