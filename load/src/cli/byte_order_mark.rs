//! The mark that some editors put in front of a text in UTF-8. Nobody sees it, and no server takes it.

/// The text of a file without it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
