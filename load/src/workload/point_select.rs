//! One row by its primary key.

use super::native::{Kind, NextStep, OpenEvent, QueryText, Way, WhyAsked};
use super::replay::Meaning;
use super::rows_keys::keys_over_rows;
use super::statement::Parameters;
use super::tables::Tables;
use super::told::{Told, native};
use super::{EventKind, Workload};
use crate::random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// `SELECT c FROM sbtest WHERE id = ?`.
    Keys, "point_select", writes: false;
    {}
}

impl Told for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let over = self.over();
        Ok(native(PointSelect::new(over.tables(), over.sampler()), way))
    }

    fn keys(&self) -> Option<u64> {
        Some(self.rows)
    }
}

/// `SELECT c FROM sbtest WHERE id = ?`
#[derive(Clone, Debug)]
pub struct PointSelect {
    tables: Tables,
    keys: Sampler,
}

impl PointSelect {
    pub fn new(tables: Tables, keys: Sampler) -> Self {
        Self { tables, keys }
    }
}

impl Kind for PointSelect {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("point_select", &["point_select"])
    }

    fn queries(&self) -> Vec<QueryText> {
        let sql = |table: &str| format!("SELECT c FROM {table} WHERE id = ?");
        QueryText::of_each(&self.tables, sql)
    }

    fn tables(&self) -> &[String] {
        self.tables.names()
    }

    fn meaning(&self, query: usize) -> (usize, Meaning) {
        (query, Meaning::PointSelect)
    }

    #[inline]
    fn next(
        &self,
        _heard: WhyAsked<'_>,
        event: &mut OpenEvent,
        _own: &mut (),
        values: &mut Parameters,
    ) -> NextStep {
        let table = self.tables.draw(&mut event.stream);
        event.key = self.keys.draw(&mut event.stream);
        values.int(event.key);
        NextStep::only(table)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::Shape;
    use crate::workload::native::tests::asked;

    #[test]
    fn asks_for_one_row_of_the_table() {
        let keys = Sampler::new(Shape::Uniform, 1, 1000);
        let kind = PointSelect::new(Tables::new("sbtest", None), keys);
        let texts = asked(&kind, 7, 3);
        assert_eq!(texts.len(), 3);
        for text in &texts {
            let id = text
                .strip_prefix("SELECT c FROM sbtest WHERE id = ")
                .unwrap();
            assert!((1..=1000).contains(&id.parse::<u64>().unwrap()));
        }
        assert_eq!(texts, asked(&kind, 7, 3));
    }
}
