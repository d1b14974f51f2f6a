//! Errors of scripts, for all other modules of this folder.

/// An error that a script raised, or why it cannot be run: in its own words, with file and line
/// where it named them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(pub String);
