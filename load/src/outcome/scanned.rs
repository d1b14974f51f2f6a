//! How far closed work is that was cut into ranges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a scan is. What was read by an earlier run counts as done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scanned {
    /// Ranges from the beginning that are done, all of them.
    pub upto: u64,
    /// Of each name of the plan, in its order.
    pub parts: Vec<ScannedPart>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScannedPart {
    pub name: String,
    /// Ranges that are done.
    pub ranges: u64,
    /// The server refused one of them, so the rest was passed over; `errors` of the outcome have
    /// the reason.
    pub refused: bool,
}
