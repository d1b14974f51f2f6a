//! The reader of SQL text: no byte is lost, and a part reads like the whole.

use contend_sql::{Mode, SqlStatement, Statements, TokenKind, Tokens, first_word};

/// The bits of the first byte are the mode. The line after it is a delimiter; without one it is
/// that of a file. The rest is the text.
pub fn run(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, data));
    let mode = Mode {
        ansi_quotes: first & 1 != 0,
        no_backslash_escapes: first & 2 != 0,
        version: if first & 4 != 0 { 90_704 } else { 101_119 },
    };
    let end = rest.iter().position(|byte| *byte == b'\n');
    let (delimiter, text) = rest.split_at(end.unwrap_or(0));
    tokens(text, mode);
    statements(text, Statements::new(text, mode), mode, b";");
    match delimiter {
        b"" => statements(text, Statements::of_file(text, mode), mode, b""),
        _ => statements(
            text,
            Statements::with_delimiter(text, delimiter, mode),
            mode,
            delimiter,
        ),
    }
}

fn tokens(text: &[u8], mode: Mode) {
    let mut place = 0;
    for token in Tokens::new(text, mode) {
        assert_eq!((token.start, token.text.is_empty()), (place, false));
        place = token.end();
        assert_eq!(text.get(token.start..place), Some(token.text));
        assert!(token.inner().len() <= token.text.len());
        // What these are does not depend on what is around them.
        if matches!(
            token.kind,
            TokenKind::Space
                | TokenKind::Comment
                | TokenKind::Skipped
                | TokenKind::Name
                | TokenKind::Text
                | TokenKind::Number
                | TokenKind::Bits
                | TokenKind::Placeholder
                | TokenKind::Unterminated
        ) {
            let mut alone = Tokens::new(token.text, mode);
            let same = alone.next().map(|alone| (alone.kind, alone.text));
            assert_eq!((same, alone.next()), (Some((token.kind, token.text)), None));
        }
    }
    assert_eq!(place, text.len());
    let first = first_word(text);
    assert!(first.is_empty() || text.windows(first.len()).any(|part| part == first));
}

fn statements<'t>(
    text: &[u8],
    all: impl Iterator<Item = SqlStatement<'t>>,
    mode: Mode,
    delimiter: &[u8],
) {
    let mut place = 0;
    for one in all {
        assert!(one.start >= place && !one.text.is_empty());
        place = one.start + one.text.len();
        assert_eq!(text.get(one.start..place), Some(one.text));
        assert!(
            one.unterminated
                .is_none_or(|at| (one.start..place).contains(&at))
        );
        // The blank cut from the end of an open comment may have been part of its version.
        if !delimiter.is_empty() && one.unterminated.is_none() {
            assert!(Statements::with_delimiter(one.text, delimiter, mode).count() <= 1);
        }
    }
}
