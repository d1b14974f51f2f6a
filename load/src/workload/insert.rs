//! One new row an event.

use super::native::{Kind, NextStep, OpenEvent, QueryText, Way, WhyAsked};
use super::replay::Meaning;
use super::rows_keys::{keys_over_rows, yes};
use super::statement::Parameters;
use super::tables::{C, PAD, Tables};
use super::told::{Told, native};
use super::{EventKind, Workload};
use crate::random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// One new row; `rows` are there, and `k` is drawn up to it.
    Keys, "insert", writes: true;
    {
        /// The server numbers the rows. If not, event n inserts the id `rows` + 1 + n.
        #[serde(default = "yes")]
        auto_increment: bool,
    }
}

impl Told for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let over = self.over();
        let first_id = (!self.auto_increment).then_some(self.rows.saturating_add(1));
        Ok(native(
            Insert::new(over.tables(), over.sampler(), first_id),
            way,
        ))
    }
}

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

    fn queries(&self) -> Vec<QueryText> {
        let columns = match self.first_id {
            None => "(k, c, pad) VALUES (?, ?, ?)",
            Some(_) => "(id, k, c, pad) VALUES (?, ?, ?, ?)",
        };
        let sql = |table: &str| format!("INSERT INTO {table} {columns}");
        QueryText::of_each(&self.tables, sql)
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
        _heard: WhyAsked<'_>,
        event: &mut OpenEvent,
        _own: &mut (),
        values: &mut Parameters,
    ) -> NextStep {
        let table = self.tables.draw(&mut event.stream);
        if let Some(first) = self.first_id {
            // No two events of a seed have the same number, so no two rows have the same id.
            values.int(first.saturating_add(event.cycle));
        }
        values.int(self.keys.draw(&mut event.stream));
        values.template(&mut event.stream, C);
        values.template(&mut event.stream, PAD);
        NextStep::only(table)
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
    fn events_number_their_rows_if_the_server_does_not() {
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
}
