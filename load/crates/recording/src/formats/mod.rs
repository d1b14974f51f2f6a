//! One module for each format of logs, and which one a log has.

pub mod ends;
pub mod modes;
mod slow;

use crate::entry::LogReader;
use contend_sql::Mode;

/// A format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Slow,
}

impl LogFormat {
    /// All of them, each with its name.
    pub const ALL: [(&'static str, Self); 1] = [("slow", Self::Slow)];

    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, format)| *format == self);
        known.map_or("", |(name, _)| name)
    }

    /// The format that the beginning of a log looks like.
    pub fn of_beginning(beginning: &[u8]) -> Option<Self> {
        slow::looks_like(beginning).then_some(Self::Slow)
    }

    /// A reader of it; quotes are read in this mode unless a session sets its own.
    pub fn reader(self, mode: Mode) -> Box<dyn LogReader> {
        match self {
            Self::Slow => Box::new(slow::SlowLog::new(mode)),
        }
    }
}
