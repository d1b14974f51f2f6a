//! The workload in a plan.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A kind of workload, and the keys of this kind. Module `workload` has the kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    pub kind: String,
    #[serde(flatten)]
    pub keys: Map<String, Value>,
}

impl JsonSchema for Workload {
    fn schema_name() -> Cow<'static, str> {
        "Workload".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // `cli::schema` puts the kinds here.
        json_schema!({"type": "object", "required": ["kind"]})
    }
}

/// A sysbench script: one thread per connection, every query counted, one event per `event()`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The name of a bundled script, or the path of a file: it has a slash or ends in `.lua`.
    pub script: String,
    /// Options that the script declares, and those of sysbench that the rest of the plan does not
    /// set, such as `rand_type`.
    #[serde(default)]
    pub options: BTreeMap<String, ScriptValue>,
    /// Number of existing tables `sbtest`1, `sbtest`2 and so on: the script's option `tables`, if
    /// it has one and `options` does not set it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub tables: Option<u32>,
    /// Rows of each table: the script's option `table_size`, under the same conditions.
    #[serde(default)]
    #[schemars(range(min = 1, max = 9_223_372_036_854_775_807_u64))]
    pub rows: Option<u64>,
}

/// The value of a script's option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScriptValue {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}
