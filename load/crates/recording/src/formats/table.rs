//! The tables `mysql.general_log` and `mysql.slow_log`, as INSERT statements of a dump or as lines
//! with tabs between columns.
//!
//! A column is known by its name. Without names, the number of columns tells which table it is.

use super::lines::{line_at, unescaped, user_of};
use crate::entry::{EntryDatabase, EntryKind, LogEntry, LogError, LogReader, LogStamp, TakeEntry};
use crate::stamp;
use contend_sql::{Mode, Token, TokenKind, Tokens};
use memchr::{memchr, memchr2};
use std::borrow::Cow;

const GENERAL: [&str; 6] = [
    "event_time",
    "user_host",
    "thread_id",
    "server_id",
    "command_type",
    "argument",
];
/// MySQL's ends before the last one.
const SLOW: [&str; 13] = [
    "start_time",
    "user_host",
    "query_time",
    "lock_time",
    "rows_sent",
    "rows_examined",
    "db",
    "last_insert_id",
    "insert_id",
    "server_id",
    "sql_text",
    "thread_id",
    "rows_affected",
];

/// The names of commands that are not statements: such a row has one in place of a text.
const COMMANDS: [&[u8]; 12] = [
    b"Close stmt",
    b"Fetch",
    b"Field List",
    b"Init DB",
    b"Long Data",
    b"Ping",
    b"Prepare",
    b"Refresh",
    b"Reset Connection",
    b"Reset stmt",
    b"Set option",
    b"Statistics",
];

/// A value of a row; none for NULL.
type TableCell<'t> = Option<Cow<'t, [u8]>>;

#[derive(Debug)]
pub struct TableLog {
    mode: Mode,
    /// Columns of the lines, from their first one.
    columns: Vec<String>,
    skipped: u64,
}

/// Whether a line has columns or rows of one of the tables.
pub fn is_line(line: &[u8]) -> bool {
    let begin = line.get(..80.min(line.len())).unwrap_or_default();
    let has = |name: &[u8]| memchr::memmem::find(begin, name).is_some();
    let is_insert = begin.starts_with(b"INSERT INTO") && (has(b"general_log") || has(b"slow_log"));
    is_insert || names_of(line).is_some() || is_row(line)
}

/// Columns of a first line, if it has those of one of the tables.
fn names_of(line: &[u8]) -> Option<Vec<String>> {
    let names: Vec<_> = line
        .split(|byte| *byte == b'\t')
        .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
        .collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    (has("argument") && has("event_time") || has("sql_text") && has("start_time")).then_some(names)
}

/// A line of as many columns as one of the tables, with a moment first.
fn is_row(line: &[u8]) -> bool {
    begins_row(line) && columns_of(cells_of(line).count()).is_some()
}

/// Whether the first column is a moment.
fn begins_row(line: &[u8]) -> bool {
    let begin = line.get(..80.min(line.len())).unwrap_or_default();
    let first = memchr(b'\t', begin).and_then(|end| begin.get(..end));
    first.and_then(stamp::iso).is_some()
}

/// The columns of a line. `INTO OUTFILE` writes a tab in a value as a backslash and the tab.
fn cells_of(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = unescaped_at(text, b'\t', 0);
        rest = end.and_then(|end| text.get(end + 1..));
        text.get(..end.unwrap_or(text.len()))
    })
}

/// The line at `from`, with the line breaks that backslashes escape, and where the next one begins.
fn row_at(bytes: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let end = unescaped_at(bytes, b'\n', from)?;
    Some((bytes.get(from..end)?, end + 1))
}

/// The first such byte at or behind `from` that no backslash escapes.
fn unescaped_at(bytes: &[u8], wanted: u8, from: usize) -> Option<usize> {
    let mut place = from;
    loop {
        let found = place + memchr2(b'\\', wanted, bytes.get(place..)?)?;
        if bytes.get(found) == Some(&wanted) {
            return Some(found);
        }
        place = found + 2;
    }
}

fn columns_of(count: usize) -> Option<&'static [&'static str]> {
    match count {
        6 => Some(&GENERAL),
        12 | 13 => SLOW.get(..count),
        _ => None,
    }
}

impl TableLog {
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            columns: Vec::new(),
            skipped: 0,
        }
    }

    /// One statement of a dump. Returns its end, or none if more bytes are needed.
    fn statement(
        &mut self,
        bytes: &[u8],
        (offset, place): (u64, usize),
        is_end: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<Option<usize>, LogError> {
        let mut tokens = Tokens::starting_at(bytes, place, self.mode);
        let mut parts = Vec::new();
        loop {
            match tokens.next() {
                Some(token) if token.is_operator(b";") => break,
                // The next bytes may be part of it.
                Some(token) if token.end() == bytes.len() && !is_end => return Ok(None),
                // A comment alone is over at its end.
                Some(token) if token.kind == TokenKind::Comment && parts.is_empty() => break,
                Some(token) if token.kind.is_code() => parts.push(token),
                Some(_) => {}
                None if is_end => break,
                None => return Ok(None),
            }
        }
        let end = tokens.place();
        let is_insert = parts.first().is_some_and(|first| first.is_word(b"INSERT"));
        if is_insert {
            self.rows(&parts, offset, take)?;
        } else if parts
            .first()
            .is_some_and(|first| first.kind != TokenKind::Word)
        {
            // Neither a statement of a dump nor a row.
            self.skipped += (end - place) as u64;
        }
        Ok(Some(end))
    }

    /// The rows of `INSERT INTO table [(columns)] VALUES (…), (…)`.
    fn rows(
        &mut self,
        parts: &[Token<'_>],
        offset: u64,
        take: &mut TakeEntry<'_>,
    ) -> Result<(), LogError> {
        let Some(values) = parts.iter().position(|part| part.is_word(b"VALUES")) else {
            return Ok(());
        };
        let (head, rows) = parts.split_at(values);
        let open = head.iter().position(|part| part.is_operator(b"("));
        let named = head.get(open.unwrap_or(head.len())..).unwrap_or_default();
        let named: Vec<String> = named
            .iter()
            .filter(|part| matches!(part.kind, TokenKind::Word | TokenKind::Name))
            .map(|part| String::from_utf8_lossy(part.inner()).to_ascii_lowercase())
            .collect();
        let mut row: Vec<TableCell<'_>> = Vec::new();
        let mut start = rows.first().map_or(0, |part| part.start);
        for part in rows.iter().skip(1) {
            match part.kind {
                TokenKind::Operator if part.text == b"(" => {
                    row.clear();
                    start = part.start;
                }
                TokenKind::Operator if part.text == b")" => {
                    let columns: Vec<&str> = match named.is_empty() {
                        true => columns_of(row.len()).unwrap_or_default().to_vec(),
                        false => named.iter().map(String::as_str).collect(),
                    };
                    let place = offset + start as u64;
                    if !self.entry(&columns, &row, place, take)? {
                        self.skipped += (part.end() - start) as u64;
                    }
                    row.clear();
                    start = part.end();
                }
                TokenKind::Text => row.push(Some(self.text(part))),
                TokenKind::Bits => row.push(Some(Cow::Owned(bits(part.text)))),
                TokenKind::Number => row.push(Some(Cow::Borrowed(part.text))),
                TokenKind::Word if part.is_word(b"NULL") => row.push(None),
                _ => {}
            }
        }
        Ok(())
    }

    /// The bytes that a text of the dump stands for.
    fn text<'t>(&self, part: &Token<'t>) -> Cow<'t, [u8]> {
        let inner = part.inner();
        let quote = part.text.last().copied().unwrap_or(b'\'');
        let escapes = !self.mode.no_backslash_escapes && inner.contains(&b'\\');
        if !escapes && !inner.contains(&quote) {
            return Cow::Borrowed(inner);
        }
        let mut single = Vec::with_capacity(inner.len());
        let mut rest = inner.iter().copied().peekable();
        while let Some(byte) = rest.next() {
            single.push(byte);
            if byte == b'\\' && escapes {
                single.extend(rest.next());
            } else if byte == quote {
                rest.next_if_eq(&quote);
            }
        }
        Cow::Owned(if escapes { unescaped(&single) } else { single })
    }

    /// Passes a row on; whether it is one of the tables.
    fn entry(
        &self,
        columns: &[&str],
        row: &[TableCell<'_>],
        offset: u64,
        take: &mut TakeEntry<'_>,
    ) -> Result<bool, LogError> {
        if columns.len() != row.len() {
            return Ok(false);
        }
        let cell = |name: &str| {
            let place = columns.iter().position(|column| *column == name)?;
            row.get(place)?.as_deref()
        };
        let number = |name: &str| cell(name).and_then(stamp::unsigned);
        let Some(thread) = number("thread_id") else {
            return Ok(false);
        };
        let entry = LogEntry {
            thread,
            user: cell("user_host").and_then(user_of),
            offset,
            ..LogEntry::default()
        };
        if let (Some(time), Some(text)) = (cell("start_time"), cell("sql_text")) {
            // The column holds the end.
            let stamp = match stamp::iso(time) {
                Some((us, true)) => LogStamp::End(us),
                Some((us, false)) => LogStamp::EndSecond(us),
                None => return Ok(false),
            };
            let kind = match text {
                b"Quit" => EntryKind::Quit,
                _ if COMMANDS.contains(&text) => EntryKind::Command,
                _ => EntryKind::Statement,
            };
            // Zero says that the statement had none.
            let set = |name: &str| number(name).filter(|value| *value > 0);
            take(LogEntry {
                kind,
                stamp,
                took_us: cell("query_time").and_then(time_us),
                rows_sent: number("rows_sent"),
                rows_examined: number("rows_examined"),
                rows_affected: number("rows_affected"),
                database: EntryDatabase::Known(cell("db").unwrap_or_default()),
                last_insert_id: set("last_insert_id"),
                insert_id: set("insert_id"),
                text: Cow::Borrowed(text),
                ..entry
            })?;
            return Ok(true);
        }
        let (Some(time), Some(command)) = (cell("event_time"), cell("command_type")) else {
            return Ok(false);
        };
        let stamp = match stamp::iso(time) {
            Some((us, true)) => LogStamp::Begin(us),
            Some((us, false)) => LogStamp::BeginSecond(us),
            None => return Ok(false),
        };
        let text = cell("argument").unwrap_or_default();
        let entry = super::general::of_command(LogEntry { stamp, ..entry }, command, text);
        take(entry)?;
        Ok(true)
    }
}

/// `HH:MM:SS.ffffff` in microseconds.
fn time_us(text: &[u8]) -> Option<u64> {
    let mut parts = text.splitn(3, |byte| *byte == b':');
    let mut next = || parts.next();
    let (hours, minutes) = (stamp::unsigned(next()?)?, stamp::unsigned(next()?)?);
    let seconds = stamp::seconds_us(next()?)?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    minutes.checked_mul(60_000_000)?.checked_add(seconds)
}

/// The bytes of `0x1F` or `x'1F'`.
fn bits(text: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = text
        .get(2..)
        .unwrap_or_default()
        .iter()
        .filter_map(|digit| char::from(*digit).to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    let (pairs, _) = digits.as_chunks::<2>();
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

impl LogReader for TableLog {
    fn read(
        &mut self,
        bytes: &[u8],
        offset: u64,
        is_end: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError> {
        let mut place = 0;
        while place < bytes.len() {
            let rest = bytes.get(place..).unwrap_or_default();
            let found = match self.columns.is_empty() && !begins_row(rest) {
                true => line_at(bytes, place),
                false => row_at(bytes, place),
            };
            let Some((line, next)) = found.or_else(|| is_end.then_some((rest, bytes.len()))) else {
                break;
            };
            if let Some(names) = names_of(line) {
                self.columns = names;
                place = next;
            } else if !self.columns.is_empty() || is_row(line) {
                self.line(line, offset + place as u64, take)?;
                place = next;
            } else {
                match self.statement(bytes, (offset, place), is_end, take)? {
                    Some(end) => place = end.max(place + 1),
                    None => break,
                }
            }
        }
        Ok(place.min(bytes.len()))
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn warnings(&self) -> Vec<&'static str> {
        vec!["table_converts_bytes"]
    }
}

impl TableLog {
    fn line(&mut self, line: &[u8], offset: u64, take: &mut TakeEntry<'_>) -> Result<(), LogError> {
        let cell = |text: &'_ [u8]| match text {
            b"NULL" | b"\\N" => None,
            _ => Some(Cow::Owned(unescaped(text))),
        };
        let row: Vec<TableCell<'_>> = cells_of(line).map(cell).collect();
        let columns: Vec<&str> = match self.columns.is_empty() {
            true => columns_of(row.len()).unwrap_or_default().to_vec(),
            false => self.columns.iter().map(String::as_str).collect(),
        };
        if !self.entry(&columns, &row, offset, take)? {
            self.skipped += line.len() as u64 + 1;
        }
        Ok(())
    }
}
