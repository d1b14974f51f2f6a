//! Many new rows in one statement.

use super::config::{WorkloadConfig, native};
use super::native::{Carries, OpenEvent, Way};
use super::over_tables::{OneQuery, OverTables};
use super::rows_keys::{keys_over_rows, number};
use super::statement::Parameters;
use super::tables::{C, PAD};
use contend_engine::workload::Workload;
use contend_plan::{Load, Protocol};
use contend_random::Sampler;
use std::sync::Arc;

keys_over_rows! {
    /// Many new rows per event, in one statement, numbered by the server.
    Keys, "bulk_insert", writes: true;
    {
        /// New rows per statement.
        #[serde(default = "number::<1000>")]
        #[schemars(range(min = 1, max = 21_845))]
        batch: u32,
        /// MariaDB: the statement has one row, and one execution of it carries the whole batch
        /// (`COM_STMT_BULK_EXECUTE`). Needs the prepared protocol.
        #[serde(default)]
        bulk_execute: bool,
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(OverTables::new(self.over(), self.clone()), way))
    }

    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if self.bulk_execute && load.protocol == Protocol::Text {
            return Err(
                "workload.bulk_execute: it needs prepared statements, but load.protocol is \"text\""
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl OneQuery for Keys {
    fn sql(&self, table: &str) -> String {
        let rows = if self.bulk_execute { 1 } else { self.batch };
        let rows = vec!["(?, ?, ?)"; rows as usize].join(", ");
        format!("INSERT INTO {table} (k, c, pad) VALUES {rows}")
    }

    fn carries(&self) -> Carries {
        match self.bulk_execute {
            true => Carries::Bulk,
            false => Carries::One,
        }
    }

    fn draw(&self, keys: &Sampler, event: &mut OpenEvent, values: &mut Parameters) {
        for _ in 0..self.batch {
            values.int(keys.draw(&mut event.stream));
            values.template(&mut event.stream, C);
            values.template(&mut event.stream, PAD);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::asked;
    use crate::native::{Kind, Native};
    use contend_random::Shape;
    use serde_json::json;

    fn kind(bulk_execute: bool) -> OverTables<Keys> {
        let keys = json!({"table": "t", "rows": 5, "batch": 3, "bulk_execute": bulk_execute});
        let keys: Keys = serde_json::from_value(keys).unwrap();
        OverTables {
            keys: Sampler::new(Shape::Uniform, 5, 5),
            ..OverTables::new(keys.over(), keys.clone())
        }
    }

    #[test]
    fn a_batch_is_one_statement() {
        let texts = asked(kind(false), 1, 1);
        assert_eq!(texts[0].matches("(5, '").count(), 3);
        let bulk = kind(true);
        assert_eq!(bulk.queries()[0].pieces.len(), 1 + 3);
        let bulk = Native::new(bulk, Way::default());
        bulk.walk(1, 0, |_, values| assert_eq!(values.count(), 3 * 3));
    }
}
