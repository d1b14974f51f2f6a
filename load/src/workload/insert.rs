//! New rows: one an event, or many in one statement.

use super::native::{Ask, Event, Kind, Query};
use super::replay::Meaning;
use super::statement::Parameters;
use super::tables::{C, PAD, Tables};
use crate::random::Sampler;

/// `INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?)`
#[derive(Clone, Debug)]
pub struct Insert {
    tables: Tables,
    keys: Sampler,
    /// The id of the first event's row, where the server does not number them.
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
    fn classes(&self) -> Vec<String> {
        vec!["insert".to_owned()]
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

    fn ask(&self, _step: u32, event: &mut Event, parameters: &mut Parameters) -> Ask {
        let table = self.tables.draw(&mut event.stream);
        if let Some(first) = self.first_id {
            // No two events of a seed have the same number, so no two rows have the same id.
            parameters.int(first.saturating_add(event.cycle));
        }
        parameters.int(self.keys.draw(&mut event.stream));
        parameters.template(&mut event.stream, C);
        parameters.template(&mut event.stream, PAD);
        Ask::only(table)
    }
}

/// `INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?), …`
#[derive(Clone, Debug)]
pub struct BulkInsert {
    tables: Tables,
    keys: Sampler,
    batch: u32,
}

impl BulkInsert {
    pub fn new(tables: Tables, keys: Sampler, batch: u32) -> Self {
        Self {
            tables,
            keys,
            batch,
        }
    }
}

impl Kind for BulkInsert {
    fn classes(&self) -> Vec<String> {
        vec!["bulk_insert".to_owned()]
    }

    fn queries(&self) -> Vec<Query> {
        let rows = vec!["(?, ?, ?)"; self.batch as usize].join(", ");
        let sql = |table: &str| format!("INSERT INTO {table} (k, c, pad) VALUES {rows}");
        Query::of_each(&self.tables, sql)
    }

    fn tables(&self) -> &[String] {
        self.tables.names()
    }

    fn meaning(&self, query: usize) -> (usize, Meaning) {
        (query, Meaning::Insert { with_ids: false })
    }

    fn ask(&self, _step: u32, event: &mut Event, parameters: &mut Parameters) -> Ask {
        let table = self.tables.draw(&mut event.stream);
        for _ in 0..self.batch {
            parameters.int(self.keys.draw(&mut event.stream));
            parameters.template(&mut event.stream, C);
            parameters.template(&mut event.stream, PAD);
        }
        Ask::only(table)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::Shape;
    use crate::workload::native::tests::asked;

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
        let texts = asked(&BulkInsert::new(Tables::new("t", None), keys(), 3), 1, 1);
        assert_eq!(texts[0].matches("(5, '").count(), 3);
    }
}
