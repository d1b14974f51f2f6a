//! One new row per event.

use super::config::{WorkloadConfig, native};
use super::native::{OpenEvent, Way};
use super::over_tables::{OneQuery, OverTables};
use super::rows_keys::{keys_over_rows, yes};
use super::statement::Parameters;
use super::tables::{C, PAD};
use contend_engine::workload::Workload;
use contend_random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// One new row; the table has `rows`, and `k` is drawn from 1 to this.
    Keys, "insert", writes: true;
    {
        /// The server numbers the rows. Otherwise event n inserts the id `rows` + 1 + n.
        #[serde(default = "yes")]
        auto_increment: bool,
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(OverTables::new(self.over(), self.clone()), way))
    }
}

impl OneQuery for Keys {
    fn sql(&self, table: &str) -> String {
        match self.auto_increment {
            true => format!("INSERT INTO {table} (k, c, pad) VALUES (?, ?, ?)"),
            false => format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    fn draw(&self, keys: &Sampler, event: &mut OpenEvent, values: &mut Parameters) {
        if !self.auto_increment {
            // No two events of a seed have the same number, so no two rows have the same id.
            values.int(self.rows.saturating_add(1).saturating_add(event.cycle));
        }
        values.int(keys.draw(&mut event.stream));
        values.template(&mut event.stream, C);
        values.template(&mut event.stream, PAD);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::asked;
    use contend_random::Shape;
    use serde_json::json;

    fn kind(auto_increment: bool) -> OverTables<Keys> {
        let keys = json!({"table": "t", "rows": 100, "auto_increment": auto_increment});
        let keys: Keys = serde_json::from_value(keys).unwrap();
        OverTables {
            keys: Sampler::new(Shape::Uniform, 5, 5),
            ..OverTables::new(keys.over(), keys.clone())
        }
    }

    #[test]
    fn events_number_their_rows_if_the_server_does_not() {
        let texts = asked(kind(false), 1, 3);
        for (event, text) in texts.iter().enumerate() {
            let start = format!(
                "INSERT INTO t (id, k, c, pad) VALUES ({}, 5, '",
                101 + event
            );
            assert!(text.starts_with(&start), "{text}");
        }
        let texts = asked(kind(true), 1, 1);
        assert!(texts[0].starts_with("INSERT INTO t (k, c, pad) VALUES (5, '"));
    }
}
