//! TiProxy's traffic files: commands of sessions, each with the length of its payload.

use super::lines::line_at;
use crate::entry::{
    EntryDatabase, EntryKind, Flaw, LogEntry, LogError, LogReader, LogStamp, TakeEntry,
};
use crate::stamp;
use std::borrow::Cow;

const TIME: &[u8] = b"# Time: ";
const LENGTH: &[u8] = b"# Payload_len: ";
/// No head has more bytes, but for the text of a prepared statement.
const HEAD_LINES_MAX: usize = 32;

#[derive(Debug, Default)]
pub struct TiProxyLog {
    skipped: u64,
    /// Bytes were skipped: what looks like an entry may be part of a payload from here on.
    is_out_of_step: bool,
}

#[derive(Debug, Default)]
struct TrafficHead<'t> {
    begin_us: Option<i64>,
    thread: u64,
    command: &'t [u8],
    prepared: Option<&'t [u8]>,
    database: Option<&'t [u8]>,
    /// Where the payload begins and ends.
    payload: (usize, usize),
}

enum TrafficRead<'t> {
    More,
    Entry(TrafficHead<'t>),
    Other,
}

/// Whether a log begins like one of these.
pub fn begins_with(beginning: &[u8]) -> bool {
    matches!(head_at(beginning, 0), TrafficRead::Entry(_))
}

fn head_at(bytes: &[u8], place: usize) -> TrafficRead<'_> {
    let mut head = TrafficHead::default();
    let mut at = place;
    for _ in 0..HEAD_LINES_MAX {
        let Some((line, next)) = line_at(bytes, at) else {
            return TrafficRead::More;
        };
        at = next;
        let value = |name: &[u8]| line.strip_prefix(name);
        if let Some(time) = value(TIME) {
            head.begin_us = stamp::iso(time).map(|(us, _)| us);
        } else if let Some(thread) = value(b"# Conn_ID: ") {
            head.thread = stamp::unsigned(thread).unwrap_or_default();
        } else if let Some(command) = value(b"# Cmd_type: ") {
            head.command = command;
        } else if let Some(prepared) = value(b"# Prepared_stmt: ") {
            head.prepared = Some(prepared);
        } else if let Some(database) = value(b"# Cur_db: ") {
            head.database = Some(database);
        } else if let Some(length) = value(LENGTH) {
            let length = stamp::unsigned(length).and_then(|length| usize::try_from(length).ok());
            let Some(end) = length.and_then(|length| next.checked_add(length)) else {
                return TrafficRead::Other;
            };
            head.payload = (next, end);
            return match head.begin_us {
                Some(_) => TrafficRead::Entry(head),
                None => TrafficRead::Other,
            };
        } else if !line.starts_with(b"# ") {
            return TrafficRead::Other;
        }
    }
    TrafficRead::Other
}

impl LogReader for TiProxyLog {
    fn read(
        &mut self,
        bytes: &[u8],
        offset: u64,
        is_end: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError> {
        let mut place = 0;
        while place < bytes.len() {
            let head = match head_at(bytes, place) {
                TrafficRead::Entry(head) => head,
                TrafficRead::More if !is_end => break,
                TrafficRead::More | TrafficRead::Other => {
                    let next = line_at(bytes, place).map_or(bytes.len(), |(_, next)| next);
                    self.skipped += (next - place) as u64;
                    self.is_out_of_step = true;
                    place = next;
                    continue;
                }
            };
            let (start, end) = head.payload;
            if end >= bytes.len() && !is_end {
                break;
            }
            let is_cut = end > bytes.len();
            let end = end.min(bytes.len());
            let payload = bytes.get(start..end).unwrap_or_default();
            let flaw = match (is_cut, self.is_out_of_step) {
                (true, _) => Some(Flaw::Truncated),
                (false, true) => Some(Flaw::Ambiguous),
                (false, false) => None,
            };
            entry(&head, payload, flaw, offset + place as u64, take)?;
            // The line break behind it.
            place = end + 1;
        }
        Ok(place.min(bytes.len()))
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

fn entry(
    head: &TrafficHead<'_>,
    payload: &[u8],
    flaw: Option<Flaw>,
    offset: u64,
    take: &mut TakeEntry<'_>,
) -> Result<(), LogError> {
    let (kind, text) = match head.command {
        b"" | b"Query" => (EntryKind::Statement, Cow::Borrowed(payload)),
        b"Execute" => (
            EntryKind::Statement,
            // Its values are binary: without them, it is one of those without values.
            Cow::Owned(head.prepared.map(unquoted).unwrap_or_default()),
        ),
        b"Init DB" => (EntryKind::InitDb, Cow::Borrowed(payload)),
        b"Quit" => (EntryKind::Quit, Cow::default()),
        _ => (EntryKind::Command, Cow::default()),
    };
    let database = match (kind, head.database) {
        (EntryKind::InitDb, _) => EntryDatabase::Known(payload),
        (_, Some(database)) => EntryDatabase::Known(database),
        (_, None) => EntryDatabase::Kept,
    };
    take(LogEntry {
        kind,
        thread: head.thread,
        database,
        stamp: head.begin_us.map_or(LogStamp::Missing, LogStamp::Begin),
        flaw,
        text,
        offset,
        ..LogEntry::default()
    })
}

/// The bytes of a string as Go writes it in quotes.
fn unquoted(text: &[u8]) -> Vec<u8> {
    let inner = text
        .strip_prefix(b"\"")
        .and_then(|text| text.strip_suffix(b"\""));
    let Some(inner) = inner else {
        return text.to_vec();
    };
    let mut plain = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            plain.push(*first);
            continue;
        }
        let Some((kind, behind)) = rest.split_first() else {
            break;
        };
        rest = behind;
        let digits = match kind {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => {
                plain.push(match kind {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'a' => 7,
                    b'b' => 8,
                    b'f' => 12,
                    b'v' => 11,
                    other => *other,
                });
                continue;
            }
        };
        let Some((hex, behind)) = rest.split_at_checked(digits) else {
            break;
        };
        rest = behind;
        let value = std::str::from_utf8(hex).ok();
        let value = value.and_then(|hex| u32::from_str_radix(hex, 16).ok());
        match (digits, value.and_then(char::from_u32)) {
            (2, Some(byte)) => plain.push(byte as u8),
            (_, Some(character)) => {
                plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => {}
        }
    }
    plain
}
