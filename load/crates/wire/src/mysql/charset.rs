//! Character sets that a session can begin in: the handshake names one by a collation's number.

use crate::error::WireError;

/// Name and number of a collation that both server families know.
const KNOWN: [(&str, u8); 7] = [
    ("utf8mb4", 45),
    ("utf8mb3", 33),
    ("utf8", 33),
    ("latin1", 8),
    ("ascii", 11),
    ("ucs2", 35),
    ("binary", 63),
];

/// A session's character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset(u8);

impl Charset {
    pub const UTF8MB4: Self = Self(45);

    /// The character set of that name. `ucs2` is known and refused, as the servers refuse it.
    pub fn named(name: &str) -> Result<Self, WireError> {
        match KNOWN
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            Some((_, 35)) => Err(WireError::ours(
                "ucs2 cannot be a client's character set; use utf8mb4",
            )),
            Some((_, number)) => Ok(Self(*number)),
            None => Err(WireError::ours(format!(
                "unknown character set {name:?}; use utf8mb4, utf8mb3, latin1, ascii or binary"
            ))),
        }
    }

    pub fn number(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_found_and_unknown_ones_named() {
        assert_eq!(Charset::named("UTF8MB4").unwrap(), Charset::UTF8MB4);
        assert_eq!(Charset::named("latin1").unwrap().number(), 8);
        assert!(Charset::named("ucs2").is_err());
        assert!(
            Charset::named("klingon")
                .unwrap_err()
                .to_string()
                .contains("klingon")
        );
    }
}
