//! The file of MariaDB's audit plugin: one line for each event.
//!
//! A statement is cut at `server_audit_query_log_limit` and its quote closed, and nothing says so.
//! One is taken as whole if it is shorter than the default limit, or much shorter than one before.

use super::lines::{ends_in_line_comment, line_or_rest, unescaped};
use super::modes::SessionModes;
use crate::entry::{
    EntryDatabase, EntryKind, Flaw, LogEntry, LogError, LogReader, LogStamp, TakeEntry,
};
use crate::stamp;
use contend_sql::Mode;
use memchr::memmem;
use std::borrow::Cow;

/// Shorter statements are whole: the limit is 1024 unless it was raised.
const WHOLE_BYTES: usize = 1000;
/// A limit is found by a statement that is longer by this.
const LONGER_BYTES: usize = 64;

#[derive(Debug)]
pub struct AuditLog {
    modes: SessionModes,
    longest: usize,
    skipped: u64,
}

/// The fields of a line.
struct AuditLine<'t> {
    end_us: i64,
    user: &'t [u8],
    thread: u64,
    operation: &'t [u8],
    database: &'t [u8],
    object: &'t [u8],
    code: Option<u32>,
}

fn line_of(line: &[u8]) -> Option<AuditLine<'_>> {
    let mut fields = line.splitn(9, |byte| *byte == b',');
    let mut next = || fields.next();
    let end_us = stamp::compact(next()?)?;
    let (_, user, _) = (next()?, next()?, next()?);
    let (thread, _, operation, database) = (next()?, next()?, next()?, next()?);
    let rest = next()?;
    let comma = memchr::memrchr(b',', rest)?;
    let (object, code) = rest.split_at_checked(comma)?;
    Some(AuditLine {
        end_us,
        user,
        thread: stamp::unsigned(thread)?,
        operation,
        database,
        object,
        code: stamp::unsigned(code.get(1..)?).and_then(|code| code.try_into().ok()),
    })
}

/// Whether a log begins like one of these.
pub fn begins_with(beginning: &[u8]) -> bool {
    let mut lines = beginning.split(|byte| *byte == b'\n').take(5);
    lines.any(|line| line_of(line).is_some())
}

impl AuditLog {
    pub fn new(mode: Mode) -> Self {
        Self {
            modes: SessionModes::new(mode),
            longest: 0,
            skipped: 0,
        }
    }

    fn entry(
        &mut self,
        line: &AuditLine<'_>,
        offset: u64,
        is_whole: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<(), LogError> {
        let quoted = line.object.strip_prefix(b"'");
        let quoted = quoted.and_then(|text| text.strip_suffix(b"'"));
        let entry = LogEntry {
            thread: line.thread,
            user: Some(line.user),
            database: EntryDatabase::Known(line.database),
            stamp: LogStamp::EndSecond(line.end_us),
            error: line.code,
            offset,
            ..LogEntry::default()
        };
        let kind = match line.operation {
            b"QUERY" => EntryKind::Statement,
            b"CONNECT" => EntryKind::Connect,
            b"DISCONNECT" => EntryKind::Quit,
            // The tables of a statement.
            b"READ" | b"WRITE" | b"CREATE" | b"ALTER" | b"RENAME" | b"DROP" => return Ok(()),
            _ => EntryKind::Command,
        };
        if kind != EntryKind::Statement {
            self.modes.forget(line.thread);
            return take(LogEntry { kind, ..entry });
        }
        let escaped = quoted.unwrap_or(line.object);
        let text = unescaped(escaped);
        let is_known = escaped.len() < WHOLE_BYTES || escaped.len() + LONGER_BYTES < self.longest;
        self.longest = self.longest.max(escaped.len());
        let mode = self.modes.of(line.thread);
        let flaw = if !is_whole || quoted.is_none() || !is_known {
            Some(Flaw::Truncated)
        } else if memmem::find(&text, b" NAME_CONST('").is_some() {
            // The server puts the variables of a routine into its statements. Those without
            // variables look like statements of the client.
            Some(Flaw::InRoutine)
        } else if ends_in_line_comment(&text, mode) {
            Some(Flaw::Ambiguous)
        } else {
            self.modes.saw(line.thread, &text);
            None
        };
        take(LogEntry {
            flaw,
            text: Cow::Owned(text),
            ..entry
        })
    }
}

impl LogReader for AuditLog {
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
            match line_of(line) {
                Some(line) => self.entry(&line, offset + place as u64, is_whole, take)?,
                None => self.skipped += (next - place) as u64,
            }
            place = next;
        }
        Ok(place)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
