//! One row by its primary key.

use super::config::{WorkloadConfig, native};
use super::native::KeyAccess;
use super::native::{OpenEvent, Way};
use super::over_tables::{OneQuery, OverTables};
use super::rows_keys::keys_over_rows;
use super::statement::Parameters;
use contend_engine::workload::Workload;
use contend_random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// `SELECT c FROM sbtest WHERE id = ?`.
    Keys, "point_select", writes: false;
    {}
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(OverTables::new(self.over(), self.clone()), way))
    }

    fn keys(&self) -> Option<u64> {
        Some(self.rows)
    }
}

impl OneQuery for Keys {
    fn sql(&self, table: &str) -> String {
        format!("SELECT c FROM {table} WHERE id = ?")
    }

    fn key_access(&self) -> Option<KeyAccess> {
        Some(KeyAccess::PointSelect)
    }

    #[inline]
    fn draw(&self, keys: &Sampler, event: &mut OpenEvent, values: &mut Parameters) {
        event.key = keys.draw(&mut event.stream);
        values.int(event.key);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::native::tests::{asked, point_selects};

    #[test]
    fn asks_for_one_row_of_the_table() {
        let kind = point_selects(1000);
        let texts = asked(kind.clone(), 7, 3);
        assert_eq!(texts.len(), 3);
        for text in &texts {
            let id = text
                .strip_prefix("SELECT c FROM sbtest WHERE id = ")
                .unwrap();
            assert!((1..=1000).contains(&id.parse::<u64>().unwrap()));
        }
        assert_eq!(texts, asked(kind, 7, 3));
    }
}
