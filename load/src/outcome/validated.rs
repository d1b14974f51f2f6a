//! What a replay of a seed found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a replay of a seed found: every answer was compared with what it had to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validated {
    pub events: u64,
    pub statements: u64,
    /// Of all answers.
    pub rows: u64,
    /// Statements that nobody but the server knows the answer to.
    pub unchecked: u64,
    /// Answers, and tables at the end, that were not as they had to be.
    pub wrong: u64,
    /// The first of them.
    pub examples: Vec<WrongAnswer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongAnswer {
    /// The number of the event.
    pub cycle: u64,
    pub statement: String,
    pub expected: String,
    pub found: String,
}
