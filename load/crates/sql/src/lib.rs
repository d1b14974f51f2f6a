//! Reads SQL text as a MariaDB server does: bytes in, tokens and statements out.
//!
//! [`Tokens`] divides a text into tokens: quotes, comments, literals, words, operators. Nothing is
//! lost: the tokens one after another are the text. [`Statements`] divides it at `;`, or at the
//! delimiter of a client. Both allocate nothing and accept any bytes.
//!
//! The text must be in a character set whose multi-byte characters hold no ASCII, such as UTF-8.
//! MySQL's dollar quotes (`$$ … $$`) are not known.
//!
//! ```
//! use contend_sql::{Mode, literals};
//! let found = literals(b"SELECT 'a;b' /* 3 */ FROM t WHERE id = 17", Mode::default());
//! assert_eq!(found.map(|token| token.text).collect::<Vec<_>>(), [&b"'a;b'"[..], b"17"]);
//! ```

mod statements;
mod tokens;

pub use statements::{SqlStatement, Statements};
pub use tokens::{Token, TokenKind, Tokens, is_name};

/// What a server's settings change in the reading of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// `"a"` is a name and not a string: `ANSI_QUOTES` in `sql_mode`.
    pub ansi_quotes: bool,
    /// A backslash is a plain byte: `NO_BACKSLASH_ESCAPES` in `sql_mode`.
    pub no_backslash_escapes: bool,
    /// The server's version, as executable comments name it: 101119 is MariaDB 10.11.19, 80400 is
    /// MySQL 8.4.0.
    pub version: u32,
}

impl Default for Mode {
    /// A MariaDB server with its own settings. Its version runs what existing dumps hold.
    fn default() -> Self {
        Self {
            ansi_quotes: false,
            no_backslash_escapes: false,
            version: 120_000,
        }
    }
}

/// The placeholders of a prepared statement.
pub fn placeholders(text: &[u8], mode: Mode) -> impl Iterator<Item = Token<'_>> {
    Tokens::new(text, mode).filter(|token| token.kind == TokenKind::Placeholder)
}

/// The values that are written in a text. A sign before a number is not part of it, and `NULL`,
/// `TRUE` and `FALSE` are words.
pub fn literals(text: &[u8], mode: Mode) -> impl Iterator<Item = Token<'_>> {
    Tokens::new(text, mode).filter(|token| token.kind.is_literal())
}

/// The first word of a statement, after any comments and opening parentheses; empty if there is
/// no word there. What only some servers run comes first too, and has none.
pub fn first_word(statement: &[u8]) -> &[u8] {
    let mut tokens = Tokens::new(statement, Mode::default());
    let first = tokens.find(|token| {
        (token.kind.is_code() || token.kind == TokenKind::Skipped) && !token.is_operator(b"(")
    });
    match first {
        Some(token) if token.kind == TokenKind::Word => token.text,
        _ => b"",
    }
}

/// Whether the first word of a statement is one of these, in either case.
pub fn begins_with(statement: &[u8], words: &[&str]) -> bool {
    let first = first_word(statement);
    words
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_follows_comments_and_parentheses() {
        for (text, word) in [
            (" \n((select 1)", "select"),
            ("-- a\n# b\n/* c */ WITH x", "WITH"),
            ("/*!40101 SET */ a", "SET"),
            ("/*!80000 SET */ a", ""),
            ("SELECT1", "SELECT1"),
            ("'SELECT'", ""),
            ("{", ""),
            ("", ""),
        ] {
            assert_eq!(first_word(text.as_bytes()), word.as_bytes(), "{text}");
        }
        assert!(begins_with(b"/**/ Select 1", &["INSERT", "SELECT"]));
        assert!(!begins_with(b"SELECTED", &["SELECT"]));
        assert!(!begins_with(b"", &["SELECT"]));
    }

    #[test]
    fn values_and_placeholders_have_positions() {
        let text = b"SELECT '?', t1.c2, -7, 0x1F, `?`, ? -- ?\n, 1e3, N'a', ?x, .5, \"b\" = b'1'";
        let found = literals(text, Mode::default()).map(|token| token.text);
        let wanted: [&[u8]; 8] = [
            b"'?'", b"7", b"0x1F", b"1e3", b"N'a'", b".5", b"\"b\"", b"b'1'",
        ];
        assert!(found.eq(wanted));
        let places: Vec<usize> = placeholders(text, Mode::default())
            .map(|token| token.start)
            .collect();
        assert_eq!(places, [34]);
    }
}
