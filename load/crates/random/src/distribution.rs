//! The shapes of random keys, as a plan writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

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
