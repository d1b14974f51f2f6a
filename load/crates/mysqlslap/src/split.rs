//! From a text to the statements in it.

use contend_sql::{Mode, Statements};
use std::fmt;

/// A quote or a comment without an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unterminated {
    /// Counts from 1.
    pub line: usize,
    pub what: &'static str,
}

impl fmt::Display for Unterminated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: this {} has no end", self.line, self.what)
    }
}

/// Splits at each delimiter outside of quotes and comments. A part that is blank, or only a
/// comment, is not a statement.
///
/// # Errors
/// A quote or a comment has no end.
pub fn split(text: &str, delimiter: &str) -> Result<Vec<String>, Unterminated> {
    let mut statements = Vec::new();
    let found = Statements::with_delimiter(text.as_bytes(), delimiter.as_bytes(), Mode::default());
    for one in found {
        if let Some(place) = one.unterminated {
            let (before, from) = text.split_at_checked(place).unwrap_or((text, ""));
            return Err(Unterminated {
                line: 1 + before.matches('\n').count(),
                what: name_of(from),
            });
        }
        let statement = text.get(one.start..one.start + one.text.len());
        statements.push(statement.unwrap_or_default().to_owned());
    }
    Ok(statements)
}

/// What has no end and begins like this.
fn name_of(from: &str) -> &'static str {
    match from.find(['\'', '"', '`']).and_then(|at| from.get(at..)) {
        Some(_) if from.starts_with("/*") => "comment",
        Some(quote) if quote.starts_with('\'') => "quote (')",
        Some(quote) if quote.starts_with('"') => "quote (\")",
        Some(_) => "quote (`)",
        None => "comment",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ours(text: &str, delimiter: &str) -> Vec<String> {
        split(text, delimiter).unwrap_or_else(|why| vec![why.to_string()])
    }

    #[test]
    fn ours_knows_quotes_comments_and_long_delimiters() {
        assert_eq!(ours("select 'a;b'; select \"\\\";\"", ";").len(), 2);
        assert_eq!(ours("a;;b;\n;  ;", ";"), ["a", "b"]);
        assert_eq!(ours("a//b// c/2", "//"), ["a", "b", "c/2"]);
        assert_eq!(
            ours("-- a; b\nselect 1;\n# only words", ";"),
            ["-- a; b\nselect 1"]
        );
        assert_eq!(ours("/* a; */ /*! b */;c", ";"), ["/* a; */ /*! b */", "c"]);
        assert_eq!(
            ours("select 1 -- one\nselect '\n'", "\n"),
            ["select 1 -- one", "select '\n'"]
        );
        assert_eq!(ours("select 1--1;2", ";"), ["select 1--1", "2"]);
        assert_eq!(ours("select 'it''s; '", ";").len(), 1);
    }

    #[test]
    fn what_has_no_end_is_named_with_its_line() {
        assert_eq!(
            ours("a;\nselect 'b", ";"),
            ["line 2: this quote (') has no end"]
        );
        assert_eq!(ours("a /* b", ";"), ["line 1: this comment has no end"]);
        assert_eq!(
            ours("\n\n`b\\`;`", ";"),
            ["line 3: this quote (`) has no end"]
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_but_blanks_and_delimiters(text in "[ab;\\n '/*-]{0,40}") {
            if let Ok(statements) = split(&text, ";") {
                prop_assert!(statements.iter().all(|s| !s.trim().is_empty()));
                let letters = |s: &str| s.matches(['a', 'b']).count();
                let found: usize = statements.iter().map(|s| letters(s)).sum();
                prop_assert!(found <= letters(&text));
                if !text.contains(['/', '-']) {
                    prop_assert_eq!(found, letters(&text));
                }
            }
        }
    }
}
