//! Text of others, such as a server's, on a terminal: it must not steer it, nor pass for ours.

use std::borrow::Cow;
use std::fmt::Write as _;

/// For people to read: whatever steers a terminal or turns the order of letters is shown as its
/// code. Ends of lines and tabs stay.
pub fn shown(text: &str) -> Cow<'_, str> {
    with_codes(text, |c| is_hidden(c) && c != '\n' && c != '\t')
}

/// The same as one line: a server's words cannot pass for a line of ours.
pub fn one_line(text: &str) -> Cow<'_, str> {
    with_codes(text, is_hidden)
}

fn with_codes(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '\n' if is_hidden(c) => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\t' if is_hidden(c) => shown.write_str("\\t"),
            c if is_hidden(c) && c.is_ascii() => write!(shown, "\\x{:02x}", u32::from(c)),
            c if is_hidden(c) => write!(shown, "\\u{{{:x}}}", u32::from(c)),
            c => shown.write_char(c),
        };
    }
    Cow::Owned(shown)
}

/// Controls (C0, DEL, C1), and the marks that end a line or turn the direction of text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_steers_a_terminal_is_shown_as_its_code() {
        assert_eq!(shown("\x1b[2J\x07a\x7f"), "\\x1b[2J\\x07a\\x7f");
        assert_eq!(shown("\u{9b}31m\u{9d}0;t"), "\\u{9b}31m\\u{9d}0;t");
        assert_eq!(
            shown("a\u{202e}b\u{2066}\u{2028}"),
            "a\\u{202e}b\\u{2066}\\u{2028}"
        );
        assert_eq!(shown("one\r\x1b[Atwo"), "one\\r\\x1b[Atwo");
    }

    #[test]
    fn words_of_all_languages_stay() {
        let words = "Tabelle \u{e4}\u{f6} \u{5d0}\u{5d1} \u{6f22}\u{5b57} \u{1f600}\n\tnext";
        assert!(matches!(shown(words), Cow::Borrowed(same) if same == words));
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(one_line("near 'a\nFATAL: b'\t"), "near 'a\\nFATAL: b'\\t");
        let twice = one_line("a\x1b\n").into_owned();
        assert_eq!(one_line(&twice), twice);
    }
}
