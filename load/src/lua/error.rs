//! What went wrong in a script, for all modules beside this one.

/// What a script raised, or why it cannot be run: in its own words, with file and line where it
/// named them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(pub String);
