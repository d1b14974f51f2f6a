//! What the command lines share: lines for people and programs, hidden passwords, names that were
//! meant.
//!
//! ```
//! let meant = contend_console::suggestions::nearest_of("rowz", ["rows", "tables"].into_iter());
//! assert_eq!(meant, Some("rows"));
//! ```

pub mod output;
pub mod secrets;
pub mod suggestions;

/// A file's text without the mark that some editors put in front of UTF-8; servers refuse it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
