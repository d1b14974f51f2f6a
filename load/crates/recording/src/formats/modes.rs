//! The `sql_mode` of each session, from the statements that set it.

use contend_sql::{Mode, TokenKind, Tokens, first_word};
use memchr::memmem;
use std::collections::HashMap;

/// Modes of servers that make `"` a quote of names.
const ANSI: [&[u8]; 6] = [
    b"ANSI",
    b"ORACLE",
    b"MSSQL",
    b"DB2",
    b"POSTGRESQL",
    b"MAXDB",
];
/// A longer statement sets something else.
const SET_BYTES_MAX: usize = 4096;

#[derive(Debug)]
pub struct SessionModes {
    usual: Mode,
    of_threads: HashMap<u64, Mode>,
}

impl SessionModes {
    pub fn new(usual: Mode) -> Self {
        Self {
            usual,
            of_threads: HashMap::new(),
        }
    }

    /// The version of the server, for its executable comments.
    pub fn set_version(&mut self, version: u32) {
        self.usual.version = version;
    }

    pub fn of(&self, thread: u64) -> Mode {
        self.of_threads.get(&thread).copied().unwrap_or(self.usual)
    }

    /// A session began or ended.
    pub fn forget(&mut self, thread: u64) {
        self.of_threads.remove(&thread);
    }

    /// A statement that the session sent.
    pub fn saw(&mut self, thread: u64, text: &[u8]) {
        if text.len() > SET_BYTES_MAX
            || !first_word(text).eq_ignore_ascii_case(b"SET")
            || !text
                .windows(8)
                .any(|part| part.eq_ignore_ascii_case(b"sql_mode"))
        {
            return;
        }
        let before = self.of(thread);
        let mut mode = Mode {
            ansi_quotes: false,
            no_backslash_escapes: false,
            ..before
        };
        let (mut is_removal, mut has_default) = (false, false);
        for token in Tokens::new(text, before) {
            if token.is_word(b"GLOBAL") {
                return;
            }
            is_removal |= token.is_word(b"REPLACE");
            has_default |= token.is_word(b"DEFAULT");
            if token.kind == TokenKind::Text {
                let upper = token.inner().to_ascii_uppercase();
                let has = |name: &[u8]| memmem::find(&upper, name).is_some();
                mode.no_backslash_escapes |= has(b"NO_BACKSLASH_ESCAPES");
                mode.ansi_quotes |= ANSI.iter().any(|name| has(name));
            }
        }
        if is_removal || has_default {
            mode = self.usual;
        }
        self.of_threads.insert(thread, mode);
    }
}
