//! Statements of a recording, sent to several servers one at a time.
//!
//! A [`AskSample`] of the recording's statements is shuffled. Each statement is sent to all arms in
//! turn, before the next one: so each answer has a twin with the same text on every other arm, at
//! nearly the same moment. The order of the arms is random, and balanced within each template.

mod answer;
mod arm;
mod order;
mod run;
mod sample;
mod tally;

pub use run::run;
pub use sample::{AskSample, SampledStatement, SampledTemplate};

/// The version of the lines that a run writes.
pub const ASK_OUTCOME_VERSION: u32 = 1;
