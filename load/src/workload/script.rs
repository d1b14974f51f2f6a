//! A sysbench script: only what a plan says of it. The script host runs it.

use super::Workload;
use super::native::Way;
use super::told::{self, Told};
use crate::plan::{Load, Script};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;

/// A sysbench script: one of its threads a connection, each query of it counted, each `event()` an
/// event.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Keys(Script);

impl JsonSchema for Keys {
    fn schema_name() -> Cow<'static, str> {
        Script::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Script::json_schema(generator)
    }
}

const TABLES_MAX: u32 = 1_000_000;

impl told::Keys for Keys {
    const KIND: &'static str = "lua";
    const WRITES: Option<bool> = None;

    fn check(&self) -> Result<(), String> {
        let tables = self.0.tables.unwrap_or(1);
        if !(1..=TABLES_MAX).contains(&tables) {
            return Err(format!(
                "workload.tables: {tables} is not between 1 and {TABLES_MAX}"
            ));
        }
        if self.0.rows == Some(0) {
            return Err("workload.rows: 0 is not between 1 and 9223372036854775807".to_owned());
        }
        Ok(())
    }
}

impl Told for Keys {
    fn build(&self, _way: Way) -> Result<Arc<dyn Workload>, String> {
        Err("workload: a script was not read".to_owned())
    }

    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if load.reconnect_every.is_some() {
            return Err(
                "load.reconnect_every: a script opens and closes its own connections".to_owned(),
            );
        }
        Ok(())
    }

    fn script(&self) -> Option<&Script> {
        Some(&self.0)
    }
}
