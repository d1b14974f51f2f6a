//! New rows: one an event, or many in one statement.

use super::EventKind;
use super::native::{Event, Heard, Kind, Next, Query};
use super::replay::Meaning;
use super::statement::Parameters;
use super::tables::{C, PAD, Tables};
use crate::random::Sampler;

/// `INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?)`
#[derive(Clone, Debug)]
pub struct Insert {
    tables: Tables,
    keys: Sampler,
    /// The id of the first event's row, if the server does not number them.
    first_id: Option<u64>,
}

impl Insert {
    pub fn new(tables: Tables, keys: Sampler, first_id: Option<u64>) -> Self {
        Self {
            tables,
            keys,
            first_id,
        }
    }
}

impl Kind for Insert {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("insert", &["insert"])
    }

    fn queries(&self) -> Vec<Query> {
        let columns = match self.first_id {
            None => "(k, c, pad) VALUES (?, ?, ?)",
            Some(_) => "(id, k, c, pad) VALUES (?, ?, ?, ?)",
        };
        let sql = |table: &str| format!("INSERT INTO {table} {columns}");
        Query::of_each(&self.tables, sql)
    }

    fn tables(&self) -> &[String] {
        self.tables.names()
    }

    fn meaning(&self, query: usize) -> (usize, Meaning) {
        let with_ids = self.first_id.is_some();
        (query, Meaning::Insert { with_ids })
    }

    fn next(
        &self,
        _heard: Heard<'_>,
        event: &mut Event,
        _own: &mut (),
        values: &mut Parameters,
    ) -> Next {
        let table = self.tables.draw(&mut event.stream);
        if let Some(first) = self.first_id {
            // No two events of a seed have the same number, so no two rows have the same id.
            values.int(first.saturating_add(event.cycle));
        }
        values.int(self.keys.draw(&mut event.stream));
        values.template(&mut event.stream, C);
        values.template(&mut event.stream, PAD);
        Next::only(table)
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

    fn queries(&self) -> Vec<Query> {
        let rows = if self.in_bulk { 1 } else { self.batch };
        let rows = vec!["(?, ?, ?)"; rows as usize].join(", ");
        let sql = |table: &str| format!("INSERT INTO {table} (k, c, pad) VALUES {rows}");
        let mut queries = Query::of_each(&self.tables, sql);
        for query in &mut queries {
            query.in_bulk = self.in_bulk;
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
        _heard: Heard<'_>,
        event: &mut Event,
        _own: &mut (),
        values: &mut Parameters,
    ) -> Next {
        let table = self.tables.draw(&mut event.stream);
        for _ in 0..self.batch {
            values.int(self.keys.draw(&mut event.stream));
            values.template(&mut event.stream, C);
            values.template(&mut event.stream, PAD);
        }
        Next::only(table)
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
    fn events_number_their_rows_where_the_server_does_not() {
        let tables = Tables::new("t", None);
        let texts = asked(&Insert::new(tables.clone(), keys(), Some(101)), 1, 3);
        for (event, text) in texts.iter().enumerate() {
            let start = format!(
                "INSERT INTO t (id, k, c, pad) VALUES ({}, 5, '",
                101 + event
            );
            assert!(text.starts_with(&start), "{text}");
        }
        let texts = asked(&Insert::new(tables, keys(), None), 1, 1);
        assert!(texts[0].starts_with("INSERT INTO t (k, c, pad) VALUES (5, '"));
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
