//! From a text to its statements.

use super::tokens::is_space;
use super::{Mode, Token, TokenKind, Tokens};

/// A statement without its delimiter and the blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlStatement<'t> {
    /// Its position in the text, in bytes.
    pub start: usize,
    pub text: &'t [u8],
    /// Position of a quote or comment in it without an end.
    pub unterminated: Option<usize>,
}

/// The statements of a text, in order. Each ends at a delimiter outside quotes and comments. A part
/// of blanks and plain comments is not a statement.
///
/// The bodies of stored programs have semicolons too, so a text with one needs a different
/// delimiter.
#[derive(Clone, Debug)]
pub struct Statements<'t> {
    text: &'t [u8],
    mode: Mode,
    delimiter: &'t [u8],
    has_commands: bool,
    place: usize,
}

impl<'t> Statements<'t> {
    /// Divides at each semicolon, as a server divides a text of several statements.
    pub fn new(text: &'t [u8], mode: Mode) -> Self {
        Self::with_delimiter(text, b";", mode)
    }

    /// Divides at a delimiter, as a client does: it may also be inside a word. An empty one divides
    /// nowhere.
    pub fn with_delimiter(text: &'t [u8], delimiter: &'t [u8], mode: Mode) -> Self {
        Self {
            text,
            mode,
            delimiter,
            has_commands: false,
            place: 0,
        }
    }

    /// Divides a file for the command-line client. A line such as `DELIMITER //` between statements
    /// sets the delimiter.
    pub fn of_file(text: &'t [u8], mode: Mode) -> Self {
        Self {
            has_commands: true,
            ..Self::new(text, mode)
        }
    }

    /// The first delimiter that begins inside a token. Quotes and comments can only begin with one.
    fn delimiter_in(&self, token: Token<'_>) -> Option<usize> {
        let first = self.delimiter.first()?;
        let is_whole = matches!(
            token.kind,
            TokenKind::Comment
                | TokenKind::Skipped
                | TokenKind::Name
                | TokenKind::Text
                | TokenKind::Bits
                | TokenKind::Unterminated
        );
        let length = if is_whole { 1 } else { token.text.len() };
        let is_here = |place: &usize| {
            let rest = self.text.get(*place..).unwrap_or_default();
            rest.first() == Some(first) && rest.starts_with(self.delimiter)
        };
        (token.start..token.start + length).find(is_here)
    }

    /// The delimiter that a command sets, if there is one behind it, and the end of the line.
    fn command(&self, from: usize) -> (&'t [u8], usize) {
        let rest = self.text.get(from..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        let mut words = line.split(u8::is_ascii_whitespace);
        let word = words.find(|word| !word.is_empty());
        (word.unwrap_or(self.delimiter), from + line.len())
    }
}

impl<'t> Iterator for Statements<'t> {
    type Item = SqlStatement<'t>;

    fn next(&mut self) -> Option<SqlStatement<'t>> {
        let mut start = self.place;
        let mut tokens = Tokens::starting_at(self.text, start, self.mode);
        let mut is_empty = true;
        let mut unterminated = None;
        loop {
            let open = tokens.open_comment();
            let Some(token) = tokens.next() else {
                self.place = self.text.len();
                return (!is_empty).then(|| SqlStatement {
                    unterminated: unterminated.or(open),
                    ..self.statement(start, self.text.len())
                });
            };
            if let Some(end) = self.delimiter_in(token) {
                self.place = end + self.delimiter.len();
                if !is_empty || end > token.start && token.kind != TokenKind::Space {
                    return Some(SqlStatement {
                        unterminated: open,
                        ..self.statement(start, end)
                    });
                }
                start = self.place;
                tokens = Tokens::starting_at(self.text, start, self.mode);
            } else if is_empty && self.has_commands && token.is_word(b"DELIMITER") {
                (self.delimiter, start) = self.command(token.end());
                tokens = Tokens::starting_at(self.text, start, self.mode);
            } else {
                is_empty &= matches!(token.kind, TokenKind::Space | TokenKind::Comment);
                let is_open = token.kind == TokenKind::Unterminated;
                unterminated = unterminated.or(is_open.then_some(token.start));
            }
        }
    }
}

impl<'t> Statements<'t> {
    fn statement(&self, start: usize, end: usize) -> SqlStatement<'t> {
        let text = self.text.get(start..end).unwrap_or_default();
        let is_text = |byte: &u8| !is_space(*byte);
        let from = text.iter().position(is_text).unwrap_or(text.len());
        let to = text.iter().rposition(is_text).map_or(from, |last| last + 1);
        SqlStatement {
            start: start + from,
            text: text.get(from..to).unwrap_or_default(),
            unterminated: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divided<'t>(statements: Statements<'t>) -> Vec<(&'t str, Option<usize>)> {
        let of = |one: SqlStatement<'t>| {
            let text = std::str::from_utf8(one.text).unwrap_or("not UTF-8");
            (text, one.unterminated)
        };
        statements.map(of).collect()
    }

    fn texts<'t>(text: &'t str, delimiter: &'t str) -> Vec<&'t str> {
        let statements =
            Statements::with_delimiter(text.as_bytes(), delimiter.as_bytes(), Mode::default());
        divided(statements).into_iter().map(|one| one.0).collect()
    }

    #[test]
    fn a_delimiter_counts_outside_of_quotes_and_comments() {
        assert_eq!(
            texts("a 'b;' ; /* ; */ c `;` -- ;\n ; # ;\n;", ";"),
            ["a 'b;'", "/* ; */ c `;` -- ;"]
        );
        assert_eq!(texts("END$$ a b$$ $$", "$$"), ["END", "a b"]);
        assert_eq!(texts("a//b/c", "//"), ["a", "b/c"]);
        assert_eq!(texts("a # x\nb", "\n"), ["a # x", "b"]);
        assert_eq!(texts("a#b", "#"), ["a", "b"]);
        assert_eq!(texts("a; b", ""), ["a; b"]);
        assert_eq!(texts("\x0b;\x0ba\x0b", ";"), ["a"]);
        assert_eq!(texts(" ; -- only\n /**/ ", ";"), [""; 0]);
    }

    #[test]
    fn executable_comments_are_statements_too() {
        assert_eq!(
            texts("/*! a */; /*!80000 b; */; /*!50003 c */ d", ";"),
            ["/*! a */", "/*!80000 b; */", "/*!50003 c */ d"]
        );
        // A server ends a statement there; alone, the comment has no end.
        let found = divided(Statements::new(b"/*! a; b */ c; d", Mode::default()));
        assert_eq!(found, [("/*! a", Some(0)), ("b */ c", None), ("d", None)]);
    }

    #[test]
    fn an_open_quote_or_comment_has_a_position() {
        let open = |text: &'static str| divided(Statements::new(text.as_bytes(), Mode::default()));
        assert_eq!(open("a; b 'c; d"), [("a", None), ("b 'c; d", Some(5))]);
        assert_eq!(open("/*/ a"), [("/*/ a", Some(0))]);
        assert_eq!(open("a /*!50000 b"), [("a /*!50000 b", Some(2))]);
    }

    #[test]
    fn a_file_may_set_its_delimiter() {
        let file =
            b"a; -- x\n delimiter // ignored\nb;c // Delimiter\n//DELIMITER ;\r\nd;DELIMITER $";
        let found = divided(Statements::of_file(file, Mode::default()));
        let texts: Vec<&str> = found.into_iter().map(|one| one.0).collect();
        assert_eq!(texts, ["a", "b;c", "d"]);
        let plain = divided(Statements::new(b"DELIMITER //\na;", Mode::default()));
        assert_eq!(plain, [("DELIMITER //\na", None)]);
    }

    proptest! {
        #[test]
        fn statements_lie_in_the_text_one_after_another(
            text in proptest::collection::vec(any::<u8>(), 0..80),
            delimiter in "[;/#a'\n-]{0,2}",
        ) {
            for mut statements in [
                Statements::of_file(&text, Mode::default()),
                Statements::with_delimiter(&text, delimiter.as_bytes(), Mode::default()),
            ] {
                let mut end = 0;
                for one in &mut statements {
                    prop_assert!(one.start >= end && !one.text.is_empty());
                    end = one.start + one.text.len();
                    prop_assert_eq!(text.get(one.start..end), Some(one.text));
                    prop_assert!(one.unterminated.is_none_or(|at| (one.start..end).contains(&at)));
                }
                prop_assert!(statements.next().is_none());
            }
        }

        #[test]
        fn statements_that_are_joined_are_found_again(
            parts in proptest::collection::vec("[ab1.]{1,3}( '[;?\"`]{0,3}'| /[*];[*]/| -- ;\n)?", 0..6),
        ) {
            let text = parts.join(";");
            let found = texts(&text, ";");
            prop_assert_eq!(found, parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>());
        }
    }
}
