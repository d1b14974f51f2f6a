//! Several rows by a secondary key, the query of the key cache study.

use super::config::{WorkloadConfig, native};
use super::native::KeyAccess;
use super::native::{OpenEvent, Way};
use super::over_tables::{OneQuery, OverTables};
use super::rows_keys::{keys_over_rows, number};
use super::statement::Parameters;
use contend_engine::workload::Workload;
use contend_random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// `SELECT id, k, c, pad FROM sbtest WHERE k IN (?, …)`.
    Keys, "random_points", writes: false;
    {
        /// Keys per query.
        #[serde(default = "number::<10>")]
        #[schemars(range(min = 1, max = 65_535))]
        points: u32,
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(OverTables::new(self.over(), self.clone()), way))
    }
}

impl OneQuery for Keys {
    fn sql(&self, table: &str) -> String {
        let marks = vec!["?"; self.points as usize].join(", ");
        format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({marks})")
    }

    fn key_access(&self) -> Option<KeyAccess> {
        Some(KeyAccess::Points)
    }

    #[inline]
    fn draw(&self, keys: &Sampler, event: &mut OpenEvent, values: &mut Parameters) {
        for _ in 0..self.points {
            values.int(keys.draw(&mut event.stream));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::asked;
    use contend_model::virtual_time::simulate::draw_keys;

    #[test]
    fn asks_for_as_many_points_as_told() {
        let keys = serde_json::json!({"rows": 50, "points": 4});
        let keys: Keys = serde_json::from_value(keys).unwrap();
        let texts = asked(OverTables::new(keys.over(), keys.clone()), 1, 2);
        let list = texts[0]
            .strip_prefix("SELECT id, k, c, pad FROM sbtest WHERE k IN (")
            .and_then(|rest| rest.strip_suffix(')'))
            .unwrap();
        let keys: Vec<u64> = list.split(", ").map(|key| key.parse().unwrap()).collect();
        assert_eq!(keys.len(), 4);
        assert!(keys.iter().all(|key| (1..=50).contains(key)));
        assert_ne!(texts[0], texts[1]);
    }

    #[test]
    fn the_model_server_in_virtual_time_draws_the_same_keys() {
        let keys = serde_json::json!({"rows": 1_000_000, "points": 25});
        let keys: Keys = serde_json::from_value(keys).unwrap();
        let sampler = keys.over().sampler();
        let kind = OverTables::new(keys.over(), keys.clone());
        for (text, cycle) in asked(kind, 303, 20).iter().zip(0..) {
            let mut drawn = Vec::new();
            assert_eq!(draw_keys(303, cycle, 1, 25, &sampler, &mut drawn), 0);
            let drawn: Vec<String> = drawn.iter().map(u32::to_string).collect();
            assert!(text.ends_with(&format!("({})", drawn.join(", "))), "{text}");
        }
    }

    #[test]
    fn the_model_server_in_virtual_time_asks_the_same_tables() {
        let keys = serde_json::json!({"rows": 1_000_000, "points": 3, "tables": 3});
        let keys: Keys = serde_json::from_value(keys).unwrap();
        let sampler = keys.over().sampler();
        let kind = OverTables::new(keys.over(), keys.clone());
        for (text, cycle) in asked(kind, 303, 20).iter().zip(0..) {
            let mut drawn = Vec::new();
            let table = draw_keys(303, cycle, 3, 3, &sampler, &mut drawn);
            let name = format!("sbtest{}", table + 1);
            let drawn: Vec<String> = drawn.iter().map(u32::to_string).collect();
            let end = format!(" FROM {name} WHERE k IN ({})", drawn.join(", "));
            assert!(text.ends_with(&end), "{text}");
        }
    }
}
