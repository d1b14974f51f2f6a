//! Whether and how a statement of a recording is sent again.

use crate::reads::only_reads;
use crate::stored::StoredStatement;
use crate::undone::lasts;

/// Servers accept longer ones only if they are set to.
const STATEMENT_BYTES: usize = 15 << 20;
/// Modes that are several, `ANSI_QUOTES` among them.
const WITH_ANSI_QUOTES: [&str; 6] = ["ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL"];

impl StoredStatement<'_> {
    /// Why it is not sent, as a word for a count. Writes are sent if a rollback undoes them.
    pub fn why_not(&self, writes: bool) -> Option<&'static str> {
        if self.text.len() > STATEMENT_BYTES {
            return Some("long");
        }
        match (only_reads(self.text, self.mode()), writes) {
            (true, _) => None,
            (false, true) => lasts(self.text, self.mode()),
            (false, false) => Some("write"),
        }
    }
}

/// A session's own `sql_mode`, with quotes read in this way.
pub fn sql_mode(own: &str, ansi_quotes: bool, no_backslash_escapes: bool) -> String {
    let mut modes: Vec<_> = own.split(',').filter(|mode| !mode.is_empty()).collect();
    if modes.contains(&"ANSI_QUOTES") != ansi_quotes {
        modes.retain(|mode| *mode != "ANSI_QUOTES" && !WITH_ANSI_QUOTES.contains(mode));
        modes.extend(ansi_quotes.then_some("ANSI_QUOTES"));
    }
    modes.retain(|mode| *mode != "NO_BACKSLASH_ESCAPES");
    modes.extend(no_backslash_escapes.then_some("NO_BACKSLASH_ESCAPES"));
    modes.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_read_as_logged_and_all_other_modes_stay() {
        for (own, (ansi_quotes, no_backslash_escapes), mode) in [
            ("STRICT_ALL_TABLES", (false, false), "STRICT_ALL_TABLES"),
            (
                "STRICT_ALL_TABLES",
                (true, false),
                "STRICT_ALL_TABLES,ANSI_QUOTES",
            ),
            (
                "PIPES_AS_CONCAT,ANSI_QUOTES,ANSI",
                (false, true),
                "PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES",
            ),
            ("ANSI_QUOTES,ANSI", (true, false), "ANSI_QUOTES,ANSI"),
            ("", (false, false), ""),
            ("NO_BACKSLASH_ESCAPES", (false, false), ""),
        ] {
            assert_eq!(sql_mode(own, ansi_quotes, no_backslash_escapes), mode);
        }
    }
}
