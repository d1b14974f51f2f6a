//! Errors by code, each with one example, so that a report shows more than their number.

use crate::outcome::ErrorCount;
use crate::sum::Sum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most errors counted separately, so a server that makes up codes cannot fill our memory.
/// Further ones are counted under code 0.
const KINDS_MAX: usize = 256;
const OTHER: (u16, &str) = (0, "HY000");
/// A SQLSTATE is five letters and digits. As an array it can be looked up without an allocation.
const STATE_BYTES: usize = 5;

/// Errors of the server, by number, that do not end a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoredErrors {
    all: bool,
    codes: Vec<u16>,
}

impl IgnoredErrors {
    /// Each of these items is a number, or `all`; the error is one that is neither.
    pub fn parse<'i>(items: impl IntoIterator<Item = &'i str>) -> Result<Self, &'i str> {
        let mut ignored = Self::default();
        for item in items {
            match item {
                "all" => ignored.all = true,
                code => ignored.codes.push(code.parse().map_err(|_| code)?),
            }
        }
        Ok(ignored)
    }

    pub fn has(&self, code: u16) -> bool {
        self.all || self.codes.contains(&code)
    }
}

/// Counts of errors by code and SQLSTATE.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<ErrorCount>", from = "Vec<ErrorCount>")]
pub struct ErrorTally {
    kinds: BTreeMap<(u16, [u8; STATE_BYTES]), Seen>,
}

#[derive(Clone, Debug, PartialEq)]
struct Seen {
    count: u64,
    message: String,
    statement: String,
}

impl From<ErrorTally> for Vec<ErrorCount> {
    fn from(errors: ErrorTally) -> Self {
        errors.counts()
    }
}

impl From<Vec<ErrorCount>> for ErrorTally {
    fn from(counts: Vec<ErrorCount>) -> Self {
        let mut errors = Self::default();
        for error in counts {
            let key = (error.code, five(&error.sqlstate));
            errors.add(key, error.count, || (error.message, error.statement));
        }
        errors
    }
}

impl ErrorTally {
    /// Counts one error. The message and the statement are kept from its first occurrence only;
    /// `statement` is not called for later ones.
    pub fn record(
        &mut self,
        code: u16,
        sqlstate: &str,
        message: &str,
        statement: impl FnOnce() -> String,
    ) {
        let key = (code, five(sqlstate));
        self.add(key, 1, || (message.to_owned(), statement()));
    }

    fn add(
        &mut self,
        mut key: (u16, [u8; STATE_BYTES]),
        count: u64,
        example: impl FnOnce() -> (String, String),
    ) {
        if self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&key) {
            key = (OTHER.0, five(OTHER.1));
        }
        let kind = self.kinds.entry(key).or_insert_with(|| {
            let (message, statement) = example();
            Seen {
                count: 0,
                message,
                statement,
            }
        });
        kind.count += count;
    }

    pub fn total(&self) -> u64 {
        self.kinds.values().map(|kind| kind.count).sum()
    }

    /// The errors as an outcome lists them: the most frequent first.
    pub fn counts(&self) -> Vec<ErrorCount> {
        let mut counts: Vec<ErrorCount> = self
            .kinds
            .iter()
            .map(|((code, sqlstate), kind)| ErrorCount {
                code: *code,
                sqlstate: String::from_utf8_lossy(sqlstate).into_owned(),
                count: kind.count,
                message: kind.message.clone(),
                statement: kind.statement.clone(),
                hint: None,
            })
            .collect();
        counts.sort_by_key(|count| std::cmp::Reverse(count.count));
        counts
    }
}

impl Sum for ErrorTally {
    fn merge(&mut self, other: &Self) {
        for ((code, sqlstate), kind) in &other.kinds {
            self.add((*code, *sqlstate), kind.count, || {
                (kind.message.clone(), kind.statement.clone())
            });
        }
    }

    fn clear(&mut self) {
        self.kinds.clear();
    }
}

/// The five bytes of a SQLSTATE; a shorter text is padded with blanks.
fn five(sqlstate: &str) -> [u8; STATE_BYTES] {
    let mut bytes = [b' '; STATE_BYTES];
    for (kept, given) in bytes.iter_mut().zip(sqlstate.bytes()) {
        *kept = given;
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_first_example_of_a_code_stands() {
        let mut errors = ErrorTally::default();
        errors.record(1213, "40001", "Deadlock found", || "UPDATE a".to_owned());
        errors.record(1213, "40001", "Deadlock again", || unreachable!());
        errors.record(1205, "HY000", "Lock wait", || "UPDATE b".to_owned());
        let counts = errors.counts();
        assert_eq!(errors.total(), 3);
        assert_eq!((counts[0].code, counts[0].count), (1213, 2));
        assert_eq!(counts[0].message, "Deadlock found");
        assert_eq!(counts[1].statement, "UPDATE b");
    }

    #[test]
    fn made_up_codes_do_not_grow_the_table() {
        let mut errors = ErrorTally::default();
        for code in 0..5000 {
            errors.record(code, "HY000", "x", String::new);
        }
        assert!(errors.counts().len() <= KINDS_MAX);
        assert_eq!(errors.total(), 5000);
    }

    #[test]
    fn merging_adds_the_counts() {
        let mut a = ErrorTally::default();
        let mut b = ErrorTally::default();
        a.record(1, "HY000", "x", String::new);
        b.record(1, "HY000", "y", String::new);
        b.record(2, "HY000", "z", String::new);
        a.merge(&b);
        assert_eq!(a.total(), 3);
        assert_eq!(a.counts()[0].message, "x");
    }

    #[test]
    fn errors_to_ignore_are_numbers_or_all() {
        let some = IgnoredErrors::parse(["1213", "1205"]).unwrap();
        assert!(some.has(1213) && !some.has(1062));
        assert!(IgnoredErrors::parse(["all"]).unwrap().has(1));
        assert_eq!(IgnoredErrors::parse(["deadlock"]), Err("deadlock"));
        assert!(!IgnoredErrors::default().has(0));
    }
}
