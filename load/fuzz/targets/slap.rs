//! What users of mysqlslap write: option files and lists of statements, read or refused.

use contend_mysqlslap::fuzzed::{read_option_file, split};

/// The first line is the delimiter, the rest the text.
pub fn run(data: &[u8]) {
    let all = String::from_utf8_lossy(data);
    let (delimiter, text) = all.split_once('\n').unwrap_or((";", &all));
    if let Ok(entries) = read_option_file(text) {
        assert!(entries.len() <= text.lines().count());
    }
    if delimiter.is_empty() {
        return;
    }
    match split(text, delimiter) {
        Ok(statements) => assert!(
            statements
                .iter()
                .all(|s| !s.is_empty() && text.contains(s.as_str()))
        ),
        Err(error) => assert!((1..=1 + text.matches('\n').count()).contains(&error.line)),
    }
}
