//! Several short ranges of a secondary key.

use super::native::{Kind, NextStep, OpenEvent, QueryText, Way, WhyAsked};
use super::replay::Meaning;
use super::rows_keys::{keys_over_rows, number, wide};
use super::statement::Parameters;
use super::tables::Tables;
use super::told::{Told, native};
use super::{EventKind, Workload};
use crate::random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// `SELECT COUNT(k) FROM sbtest WHERE k BETWEEN ? AND ? OR …`.
    Keys, "random_ranges", writes: false;
    {
        /// How many ranges one query asks for.
        #[serde(default = "number::<10>")]
        #[schemars(range(min = 1, max = 32_767))]
        ranges: u32,
        /// Width of each range.
        #[serde(default = "wide::<5>")]
        #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
        delta: u64,
    }
}

impl Told for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let over = self.over();
        let kind = RandomRanges::new(over.tables(), over.sampler(), self.ranges, self.delta);
        Ok(native(kind, way))
    }
}

/// `SELECT COUNT(k) FROM sbtest WHERE k BETWEEN ? AND ? OR …`
#[derive(Clone, Debug)]
pub struct RandomRanges {
    tables: Tables,
    keys: Sampler,
    ranges: u32,
    delta: u64,
}

impl RandomRanges {
    pub fn new(tables: Tables, keys: Sampler, ranges: u32, delta: u64) -> Self {
        Self {
            tables,
            keys,
            ranges,
            delta,
        }
    }
}

impl Kind for RandomRanges {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("random_ranges", &["random_ranges"])
    }

    fn queries(&self) -> Vec<QueryText> {
        let ranges = vec!["k BETWEEN ? AND ?"; self.ranges as usize].join(" OR ");
        let sql = |table: &str| format!("SELECT COUNT(k) FROM {table} WHERE {ranges}");
        QueryText::of_each(&self.tables, sql)
    }

    fn tables(&self) -> &[String] {
        self.tables.names()
    }

    fn meaning(&self, query: usize) -> (usize, Meaning) {
        (query, Meaning::CountOfRanges)
    }

    fn next(
        &self,
        _heard: WhyAsked<'_>,
        event: &mut OpenEvent,
        _own: &mut (),
        values: &mut Parameters,
    ) -> NextStep {
        let table = self.tables.draw(&mut event.stream);
        for _ in 0..self.ranges {
            let start = self.keys.draw(&mut event.stream);
            values.int(start);
            values.int(start.saturating_add(self.delta));
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
    fn ranges_have_their_width() {
        let keys = Sampler::new(Shape::Uniform, 7, 7);
        let texts = asked(
            &RandomRanges::new(Tables::new("t", Some(1)), keys, 2, 5),
            1,
            1,
        );
        assert_eq!(
            texts,
            ["SELECT COUNT(k) FROM t1 WHERE k BETWEEN 7 AND 12 OR k BETWEEN 7 AND 12"]
        );
    }
}
