//! The end of a statement in a log that does not quote it: by lines and by quotes, and whether both
//! agree.
//!
//! A literal may hold what looks like the next entry, and a quote may be read under a wrong
//! `sql_mode`. Neither reading is right every time. A statement is clear if both find the same end.
//! Otherwise everything up to the next place where they agree is in doubt. They may never agree
//! again, because a quote that is wrong turns literals inside out. [`CLEAR_RUN`] entries in a row
//! that have quotes and are whole by themselves then end the doubt.

use crate::entry::Flaw;
use contend_sql::{Mode, Token, TokenKind, Tokens};
use memchr::{memchr, memchr3};

/// No literal of a statement with the usual `max_allowed_packet` (16 MiB) is longer.
const DOUBT_BYTES_MAX: usize = 32 << 20;
/// If a literal held this many entries, each would be in a different literal of one statement.
const CLEAR_RUN: u32 = 16;

/// What the lines say of the next end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// The text ends at `end`, and an entry begins at `next`.
    At { end: usize, next: usize },
    /// The next bytes decide.
    More,
    /// No entry follows.
    Nowhere,
}

/// The heads of entries in a format.
pub trait LogHeads {
    /// The first end of a statement at or behind `from`.
    fn next(&self, bytes: &[u8], from: usize, is_end: bool) -> LineEnd;
    /// Where the text of the entry begins whose head is here.
    fn text_of(&self, bytes: &[u8], head: usize) -> Option<usize>;
}

/// The end of a statement by both readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementEnd {
    /// More bytes have to be read first.
    More,
    Clear {
        end: usize,
        next: usize,
    },
    /// A different place is the end by lines; here they agree.
    Doubtful {
        end: usize,
        next: usize,
    },
    /// The end by lines. Entries that begin before `until` are in doubt too.
    Lost {
        end: usize,
        next: usize,
        until: usize,
    },
    /// The log ends first.
    Cut,
}

/// Entries of a log that are in doubt because of an earlier one.
#[derive(Debug, Default)]
pub struct DoubtfulEntries {
    /// Position in the log; entries that begin before it are in doubt.
    until: u64,
}

impl DoubtfulEntries {
    /// Where the statement of an entry ends and the next entry begins, and why the statement cannot
    /// be sent again. `start` and `place` are the positions in the log of `bytes` and of the entry.
    pub fn take(
        &mut self,
        end: StatementEnd,
        bytes: &[u8],
        (start, place): (u64, u64),
    ) -> (usize, usize, Option<Flaw>) {
        let is_doubtful = place < self.until;
        match end {
            StatementEnd::Clear { end, next } => {
                (end, next, is_doubtful.then_some(Flaw::Ambiguous))
            }
            StatementEnd::Doubtful { end, next } => (end, next, Some(Flaw::Ambiguous)),
            StatementEnd::Lost { end, next, until } => {
                self.until = self.until.max(start + until as u64);
                (end, next, Some(Flaw::Ambiguous))
            }
            StatementEnd::Cut | StatementEnd::More => {
                (bytes.len(), bytes.len(), Some(Flaw::Truncated))
            }
        }
    }
}

/// The end of the statement whose text begins at `start`.
pub fn statement_end(
    bytes: &[u8],
    start: usize,
    is_end: bool,
    mode: Mode,
    heads: &dyn LogHeads,
) -> StatementEnd {
    let (first, first_next) = match heads.next(bytes, start, is_end) {
        LineEnd::At { end, next } => (end, next),
        LineEnd::More => return StatementEnd::More,
        LineEnd::Nowhere => return StatementEnd::Cut,
    };
    let clear = StatementEnd::Clear {
        end: first,
        next: first_next,
    };
    if is_plain(bytes.get(start..first).unwrap_or_default()) {
        return clear;
    }
    let lost = |until| StatementEnd::Lost {
        end: first,
        next: first_next,
        until,
    };
    let mut tokens = Tokens::starting_at(bytes, start, mode);
    let mut nesting = Nesting::default();
    let (mut end, mut next) = (first, first_next);
    let mut run = 0;
    let mut last = None;
    loop {
        while tokens.place() < end {
            let Some(token) = tokens.next() else { break };
            if token.kind == TokenKind::Unterminated && !is_end {
                return match bytes.len() - start > DOUBT_BYTES_MAX {
                    true => lost(last_end(bytes, next, heads)),
                    false => StatementEnd::More,
                };
            }
            nesting.take(&token);
            last = Some(token);
        }
        let is_over = tokens.place() == end || last.is_some_and(|last| ends_at(&last, end));
        if is_over && tokens.open_comment().is_none() && !nesting.is_open() {
            return match end == first {
                true => clear,
                false => StatementEnd::Doubtful { end, next },
            };
        }
        // The lines of this end may be part of the statement: the next one.
        let head = next;
        match heads.next(bytes, head, is_end) {
            LineEnd::At { end: e, next: n } => (end, next) = (e, n),
            LineEnd::More if bytes.len() - start > DOUBT_BYTES_MAX => return lost(head),
            LineEnd::More => return StatementEnd::More,
            LineEnd::Nowhere => return lost(bytes.len()),
        }
        let text = heads
            .text_of(bytes, head)
            .and_then(|text| bytes.get(text..end));
        match text.map_or(AloneKind::No, |text| whole(text, mode)) {
            AloneKind::WithQuotes => run += 1,
            AloneKind::Plain => run += u32::from(nesting.is_open()),
            AloneKind::No => run = 0,
        }
        if run >= CLEAR_RUN {
            return lost(next);
        }
    }
}

/// A comment to the end of the line may hold the end of the statement, and blanks may follow it.
fn ends_at(token: &Token<'_>, end: usize) -> bool {
    match token.kind {
        TokenKind::Comment => token.text.first() != Some(&b'/') && token.end() == end + 1,
        TokenKind::Space => true,
        _ => false,
    }
}

/// The last entry whose head is in `bytes`.
fn last_end(bytes: &[u8], from: usize, heads: &dyn LogHeads) -> usize {
    let mut last = from;
    while let LineEnd::At { next, .. } = heads.next(bytes, last, false) {
        last = next;
    }
    last
}

/// Without quotes and comments, and not of several parts: the lines alone are right.
fn is_plain(text: &[u8]) -> bool {
    let begins = |word: &[u8]| {
        let first = text.get(..word.len());
        first.is_some_and(|first| first.eq_ignore_ascii_case(word))
    };
    let is_simple = [
        &b"select"[..],
        b"insert",
        b"update",
        b"delete",
        b"commit",
        b"set ",
    ];
    is_simple.into_iter().any(begins)
        && memchr3(b'\'', b'"', b'`', text).is_none()
        && memchr(b'/', text).is_none()
}

enum AloneKind {
    No,
    Plain,
    WithQuotes,
}

/// Whether a text is one statement by itself.
fn whole(text: &[u8], mode: Mode) -> AloneKind {
    let mut tokens = Tokens::new(text, mode);
    let (mut has_quotes, mut is_over, mut has_code) = (false, false, false);
    for token in tokens.by_ref() {
        if token.kind == TokenKind::Unterminated || token.kind.is_code() && is_over {
            return AloneKind::No;
        }
        has_quotes |= matches!(token.kind, TokenKind::Text | TokenKind::Name);
        has_code |= token.kind.is_code();
        is_over |= token.is_operator(b";");
    }
    match (tokens.open_comment(), has_code, has_quotes) {
        (None, true, true) => AloneKind::WithQuotes,
        (None, true, false) => AloneKind::Plain,
        _ => AloneKind::No,
    }
}

/// Whether a text has several statements that are one: the body of a routine, `BEGIN NOT ATOMIC`.
#[derive(Debug, Default)]
pub struct Nesting {
    /// Its first word begins nothing that has statements in it.
    is_simple: bool,
    words: u32,
    is_compound: bool,
    is_begin: bool,
    is_create: bool,
    /// Within a `CREATE PROCEDURE` and the like, in front of its body.
    is_header: bool,
    /// A statement may begin here.
    is_start: bool,
    is_behind_end: bool,
    is_behind_block: bool,
    /// `BEGIN` and `CASE` without their `END`.
    depth: i32,
    /// `IF`, `LOOP` and the like without their `END`. An `IF` may be missed, so it is counted apart.
    blocks: u32,
}

/// Words that begin a block which `END` and the same word ends.
const BLOCKS: [&[u8]; 5] = [b"IF", b"LOOP", b"WHILE", b"REPEAT", b"FOR"];
const BEFORE_STATEMENTS: [&[u8]; 6] = [b"THEN", b"ELSE", b"DO", b"LOOP", b"REPEAT", b"ATOMIC"];
const STORED: [&[u8]; 5] = [b"PROCEDURE", b"FUNCTION", b"TRIGGER", b"EVENT", b"PACKAGE"];

impl Nesting {
    pub fn take(&mut self, token: &Token<'_>) {
        if !token.kind.is_code() || self.is_simple {
            return;
        }
        let is_one_of = |words: &[&[u8]]| words.iter().any(|word| token.is_word(word));
        let is_first = self.words == 0;
        self.words = self.words.saturating_add(1);
        if token.kind != TokenKind::Word {
            self.is_simple = is_first && !token.is_operator(b"(");
            self.is_header &= !token.is_operator(b";");
            self.is_start = token.is_operator(b";") || token.is_operator(b":") || self.is_header;
            self.is_behind_end = false;
            return;
        }
        if is_first {
            self.is_begin = token.is_word(b"BEGIN");
            self.is_create = token.is_word(b"CREATE");
            self.is_compound = is_one_of(&BLOCKS) || token.is_word(b"CASE");
            self.is_start = true;
            self.is_simple = !(self.is_begin || self.is_create || self.is_compound);
        } else if self.words == 2 && self.is_begin {
            self.is_compound = token.is_word(b"NOT");
        } else if self.is_create && is_one_of(&STORED) {
            self.is_compound = true;
            self.is_header = true;
        }
        let is_block = is_one_of(&BLOCKS);
        let is_clause = self.is_header && is_one_of(&[b"NOT", b"EXISTS", b"EACH"]);
        if self.is_behind_end && is_block {
            self.depth += 1;
            self.blocks = self.blocks.saturating_sub(1);
        } else if self.is_behind_end && token.is_word(b"CASE") {
            // `END CASE`: counted by its END.
        } else if token.is_word(b"END") {
            self.depth -= 1;
        } else if is_one_of(&[b"BEGIN", b"CASE"]) {
            self.depth += 1;
            self.is_header = false;
        } else if is_block && self.is_start {
            self.blocks += 1;
        } else if is_clause && self.is_behind_block {
            // `IF NOT EXISTS`, `FOR EACH ROW`.
            self.blocks = self.blocks.saturating_sub(1);
        }
        self.is_behind_block = is_block && !self.is_behind_end;
        self.is_behind_end = token.is_word(b"END");
        self.is_start = self.is_header || token.is_word(b"BEGIN") || is_one_of(&BEFORE_STATEMENTS);
    }

    /// A block of it has no end yet.
    pub fn is_open(&self) -> bool {
        self.is_compound && (self.depth > 0 || self.blocks > 0)
    }

    /// The semicolons in it do not divide it.
    pub fn is_compound(&self) -> bool {
        self.is_compound
    }
}
