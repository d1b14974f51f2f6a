//! The workload in a plan.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
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

/// Most uniform draws that one draw of a shape averages.
pub const ITER_MAX: u32 = 1000;
/// The steepest shape.
pub const ZIPFIAN_EXP_MAX: f64 = 100.0;

/// Shapes of random keys; the parameters are named like in sysbench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Every key equally likely.
    Uniform {},
    /// The mean of `iter` uniform draws: a bell around the middle.
    Gaussian {
        /// Number of uniform draws that are averaged.
        #[serde(default = "default_iter")]
        #[schemars(range(min = 1, max = ITER_MAX))]
        iter: u32,
    },
    /// `res` percent of the draws in the middle `pct` percent, the rest gaussian.
    Special {
        /// Number of uniform draws that are averaged.
        #[serde(default = "default_iter")]
        #[schemars(range(min = 1, max = ITER_MAX))]
        iter: u32,
        /// Size of the hot middle, in percent of the range.
        #[serde(default = "default_pct")]
        #[schemars(range(min = 1, max = 100))]
        pct: u32,
        /// Percentage of the draws in the hot middle.
        #[serde(default = "default_res")]
        #[schemars(range(min = 0, max = 100))]
        res: u32,
    },
    /// A few keys take most draws, as a power law.
    Pareto {
        /// Shape: smaller is more skewed.
        #[serde(default = "default_pareto_h")]
        #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
        h: f64,
    },
    /// The i-th most frequent key is drawn in proportion to 1 / i^exp.
    Zipfian {
        /// Exponent: larger is more skewed.
        #[serde(default = "default_zipfian_exp")]
        #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = ZIPFIAN_EXP_MAX))]
        exp: f64,
    },
}

impl Distribution {
    /// The one of this kind with the usual parameters.
    pub fn usual(kind: &str) -> Option<Self> {
        serde_json::from_value(json!({"kind": kind})).ok()
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Uniform {}
    }
}

fn default_iter() -> u32 {
    12
}
fn default_pct() -> u32 {
    1
}
fn default_res() -> u32 {
    75
}
fn default_pareto_h() -> f64 {
    0.2
}
fn default_zipfian_exp() -> f64 {
    0.8
}
