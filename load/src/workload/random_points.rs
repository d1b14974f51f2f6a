//! Several rows by a secondary key, the query of the key cache study.

use super::native::{Kind, NextStep, OpenEvent, QueryText, Way, WhyAsked};
use super::replay::Meaning;
use super::rows_keys::{keys_over_rows, number};
use super::statement::Parameters;
use super::tables::Tables;
use super::told::{Told, native};
use super::{EventKind, Workload};
use crate::random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// `SELECT id, k, c, pad FROM sbtest WHERE k IN (?, …)`.
    Keys, "random_points", writes: false;
    {
        /// How many keys one query asks for.
        #[serde(default = "number::<10>")]
        #[schemars(range(min = 1, max = 65_535))]
        points: u32,
    }
}

impl Told for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let over = self.over();
        let kind = RandomPoints::new(over.tables(), over.sampler(), self.points);
        Ok(native(kind, way))
    }
}

/// `SELECT id, k, c, pad FROM sbtest WHERE k IN (?, …)`
#[derive(Clone, Debug)]
pub struct RandomPoints {
    tables: Tables,
    keys: Sampler,
    points: u32,
}

impl RandomPoints {
    pub fn new(tables: Tables, keys: Sampler, points: u32) -> Self {
        Self {
            tables,
            keys,
            points,
        }
    }
}

impl Kind for RandomPoints {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("random_points", &["random_points"])
    }

    fn queries(&self) -> Vec<QueryText> {
        let marks = vec!["?"; self.points as usize].join(", ");
        let sql = |table: &str| format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({marks})");
        QueryText::of_each(&self.tables, sql)
    }

    fn tables(&self) -> &[String] {
        self.tables.names()
    }

    fn meaning(&self, query: usize) -> (usize, Meaning) {
        (query, Meaning::Points)
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
        for _ in 0..self.points {
            values.int(self.keys.draw(&mut event.stream));
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

    #[test]
    fn asks_for_as_many_points_as_told() {
        let keys = Sampler::new(Shape::Uniform, 1, 50);
        let texts = asked(
            &RandomPoints::new(Tables::new("sbtest", None), keys, 4),
            1,
            2,
        );
        let list = texts[0]
            .strip_prefix("SELECT id, k, c, pad FROM sbtest WHERE k IN (")
            .and_then(|rest| rest.strip_suffix(')'))
            .unwrap();
        let keys: Vec<u64> = list.split(", ").map(|key| key.parse().unwrap()).collect();
        assert_eq!(keys.len(), 4);
        assert!(keys.iter().all(|key| (1..=50).contains(key)));
        assert_ne!(texts[0], texts[1]);
    }
}
