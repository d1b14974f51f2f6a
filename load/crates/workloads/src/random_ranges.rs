//! Several short ranges of a secondary key.

use super::config::{WorkloadConfig, native};
use super::native::{OpenEvent, Way};
use super::over_tables::{OneQuery, OverTables};
use super::rows_keys::{keys_over_rows, number, wide};
use super::statement::Parameters;
use contend_engine::workload::Workload;
use contend_random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// `SELECT COUNT(k) FROM sbtest WHERE k BETWEEN ? AND ? OR …`.
    Keys, "random_ranges", writes: false;
    {
        /// Ranges per query.
        #[serde(default = "number::<10>")]
        #[schemars(range(min = 1, max = 32_767))]
        ranges: u32,
        /// Width of each range.
        #[serde(default = "wide::<5>")]
        #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
        delta: u64,
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(OverTables::new(self.over(), self.clone()), way))
    }
}

impl OneQuery for Keys {
    fn sql(&self, table: &str) -> String {
        let ranges = vec!["k BETWEEN ? AND ?"; self.ranges as usize].join(" OR ");
        format!("SELECT COUNT(k) FROM {table} WHERE {ranges}")
    }

    fn draw(&self, keys: &Sampler, event: &mut OpenEvent, values: &mut Parameters) {
        for _ in 0..self.ranges {
            let start = keys.draw(&mut event.stream);
            values.ints([start, start.saturating_add(self.delta)]);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::asked;
    use contend_random::Shape;

    #[test]
    fn ranges_have_their_width() {
        let keys = serde_json::json!({"table": "t", "tables": 1, "rows": 7, "ranges": 2});
        let keys: Keys = serde_json::from_value(keys).unwrap();
        let mut kind = OverTables::new(keys.over(), keys.clone());
        kind.keys = Sampler::new(Shape::Uniform, 7, 7);
        let texts = asked(kind, 1, 1);
        assert_eq!(
            texts,
            ["SELECT COUNT(k) FROM t1 WHERE k BETWEEN 7 AND 12 OR k BETWEEN 7 AND 12"]
        );
    }
}
