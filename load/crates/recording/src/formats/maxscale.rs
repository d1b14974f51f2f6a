//! MaxScale's query log (QLA filter): a line for each statement, columns by the first line.
//!
//! A statement is not quoted and may hold the separator: the columns in front of it and behind it
//! are counted from both ends. Line breaks in it are replaced, which cannot be undone.

use super::lines::{ends_in_line_comment, line_or_rest};
use crate::entry::{
    EntryDatabase, EntryKind, Flaw, LogEntry, LogError, LogReader, LogStamp, TakeEntry,
};
use crate::stamp;
use contend_sql::Mode;
use std::borrow::Cow;

#[derive(Debug)]
pub struct MaxScaleLog {
    mode: Mode,
    columns: Vec<String>,
    skipped: u64,
}

/// The columns of a first line, if it is one.
fn names_of(line: &[u8]) -> Option<Vec<String>> {
    let names: Vec<_> = line
        .split(|byte| *byte == b',')
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
        .collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    (has("query") && has("date")).then_some(names)
}

/// Whether a log begins like one of these.
pub fn begins_with(beginning: &[u8]) -> bool {
    let line = beginning.split(|byte| *byte == b'\n').next();
    line.and_then(names_of).is_some()
}

impl MaxScaleLog {
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            columns: Vec::new(),
            skipped: 0,
        }
    }

    /// Passes a line on; whether it has all columns.
    fn entry(
        &self,
        line: &[u8],
        offset: u64,
        is_whole: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<bool, LogError> {
        let Some(at) = self.columns.iter().position(|name| name == "query") else {
            return Ok(false);
        };
        let behind = self.columns.len() - at - 1;
        let mut cells: Vec<&[u8]> = line.splitn(at + 1, |byte| *byte == b',').collect();
        if cells.len() != at + 1 {
            return Ok(false);
        }
        let rest = cells.pop().unwrap_or_default();
        let mut last: Vec<&[u8]> = rest.rsplitn(behind + 1, |byte| *byte == b',').collect();
        if last.len() != behind + 1 {
            return Ok(false);
        }
        last.reverse();
        cells.append(&mut last);
        let cell = |name: &str| {
            let place = self.columns.iter().position(|column| column == name)?;
            cells.get(place).copied()
        };
        let number = |name: &str| cell(name).and_then(stamp::unsigned);
        let Some((us, is_exact)) = cell("date").and_then(stamp::iso) else {
            return Ok(false);
        };
        let text = cell("query").unwrap_or_default();
        let text = match text
            .strip_prefix(b"\"")
            .and_then(|text| text.strip_suffix(b"\""))
        {
            Some(quoted) => Cow::Owned(single_quotes(quoted)),
            None => Cow::Borrowed(text),
        };
        let flaw = if !is_whole {
            Some(Flaw::Truncated)
        } else {
            ends_in_line_comment(&text, self.mode).then_some(Flaw::Ambiguous)
        };
        let user = cell("user@host").or(cell("user")).unwrap_or_default();
        let user = user.split(|byte| *byte == b'@').next();
        // Milliseconds, unless the column names the other unit.
        let column = |begin: &str| self.columns.iter().find(|name| name.starts_with(begin));
        let time = column("total_reply_time").or(column("reply_time"));
        let took_us = time.and_then(|name| {
            let unit = if name.contains("us") { 1 } else { 1000 };
            number(name)?.checked_mul(unit)
        });
        take(LogEntry {
            kind: EntryKind::Statement,
            thread: number("session").unwrap_or_default(),
            user,
            database: cell("default_db").map_or(EntryDatabase::Kept, EntryDatabase::Known),
            stamp: if is_exact {
                LogStamp::Begin(us)
            } else {
                LogStamp::BeginSecond(us)
            },
            took_us,
            rows_sent: number("num_rows"),
            flaw,
            text,
            offset,
            ..LogEntry::default()
        })?;
        Ok(true)
    }
}

fn single_quotes(text: &[u8]) -> Vec<u8> {
    let mut single = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        single.push(byte);
        if byte == b'"' {
            rest.next_if_eq(&b'"');
        }
    }
    single
}

impl LogReader for MaxScaleLog {
    fn read(
        &mut self,
        bytes: &[u8],
        offset: u64,
        is_end: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError> {
        let mut place = 0;
        while place < bytes.len() {
            let Some((line, next, is_whole)) = line_or_rest(bytes, place, is_end) else {
                break;
            };
            if let Some(names) = names_of(line) {
                self.columns = names;
            } else if !self.entry(line, offset + place as u64, is_whole, take)? {
                self.skipped += (next - place) as u64;
            }
            place = next;
        }
        Ok(place)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn warnings(&self) -> Vec<&'static str> {
        vec!["line_breaks_replaced"]
    }
}
