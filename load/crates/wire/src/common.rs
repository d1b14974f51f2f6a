//! Parts common to all protocols: login, capabilities of both ends, summary of an answer.

use std::ops::{BitAnd, BitOr};

/// Our login. Its password shows in no log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The two families of servers; they differ in capabilities and login plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    MariaDb,
    MySql,
}

/// Capabilities that both ends of a connection can and will use. Each protocol has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u64);

impl Capabilities {
    pub const NONE: Self = Self(0);

    pub fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    pub fn when(self, asked: bool) -> Self {
        if asked { self } else { Self::NONE }
    }
}

impl BitOr for Capabilities {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// The summary of an answer, over all of its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub rows: u64,
    pub affected_rows: u64,
    /// The id of the last result that had one.
    pub last_insert_id: u64,
    /// Results, with rows or without.
    pub results: u32,
    /// Columns of the last result set.
    pub columns: u32,
    pub warnings: u16,
    /// The answer ended with an error.
    pub failed: bool,
}

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    pub id: u32,
    pub columns: u16,
    pub parameters: u16,
}
