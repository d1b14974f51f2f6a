//! Several short ranges of a secondary key.

use super::EventKind;
use super::native::{Event, Heard, Kind, Next, Query};
use super::replay::Meaning;
use super::statement::Parameters;
use super::tables::Tables;
use crate::random::Sampler;

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

    fn queries(&self) -> Vec<Query> {
        let ranges = vec!["k BETWEEN ? AND ?"; self.ranges as usize].join(" OR ");
        let sql = |table: &str| format!("SELECT COUNT(k) FROM {table} WHERE {ranges}");
        Query::of_each(&self.tables, sql)
    }

    fn tables(&self) -> &[String] {
        self.tables.names()
    }

    fn meaning(&self, query: usize) -> (usize, Meaning) {
        (query, Meaning::CountOfRanges)
    }

    fn next(
        &self,
        _heard: Heard<'_>,
        event: &mut Event,
        _own: &mut (),
        values: &mut Parameters,
    ) -> Next {
        let table = self.tables.draw(&mut event.stream);
        for _ in 0..self.ranges {
            let start = self.keys.draw(&mut event.stream);
            values.int(start);
            values.int(start.saturating_add(self.delta));
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
