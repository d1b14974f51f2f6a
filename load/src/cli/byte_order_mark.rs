//! The invisible mark that some editors put in front of UTF-8 text. Servers refuse it.

/// The text of a file without it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
