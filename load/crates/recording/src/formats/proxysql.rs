//! ProxySQL's event log in its JSON format: one object for each event and line.

use super::lines::line_or_rest;
use crate::entry::{
    EntryDatabase, EntryKind, Flaw, LogEntry, LogError, LogReader, LogStamp, TakeEntry,
};
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Debug, Deserialize)]
struct ProxyEvent {
    event: String,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    thread_id: u64,
    #[serde(default)]
    username: String,
    #[serde(default)]
    schemaname: String,
    #[serde(default)]
    starttime_timestamp_us: Option<i64>,
    #[serde(default)]
    duration_us: Option<u64>,
    #[serde(default)]
    rows_sent: Option<u64>,
    #[serde(default)]
    rows_affected: Option<u64>,
    #[serde(default)]
    errno: Option<u32>,
}

#[derive(Debug, Default)]
pub struct ProxySqlLog {
    skipped: u64,
}

/// Whether a log begins like one of these.
pub fn begins_with(beginning: &[u8]) -> bool {
    let line = beginning.split(|byte| *byte == b'\n').next();
    let event = line.map(serde_json::from_slice::<ProxyEvent>);
    event.is_some_and(|event| event.is_ok())
        || beginning.starts_with(b"{\"client\"")
        || beginning.starts_with(b"{\"hostgroup_id\"")
}

impl ProxySqlLog {
    fn entry(event: &ProxyEvent, offset: u64, take: &mut TakeEntry<'_>) -> Result<(), LogError> {
        let query = event.query.as_deref().unwrap_or_default();
        let kind = match event.event.as_str() {
            "COM_QUERY" | "COM_STMT_EXECUTE" => EntryKind::Statement,
            "COM_QUIT" => EntryKind::Quit,
            _ => EntryKind::Command,
        };
        // A byte that is not UTF-8 was replaced.
        let flaw = query.contains('\u{fffd}').then_some(Flaw::Ambiguous);
        take(LogEntry {
            kind,
            thread: event.thread_id,
            user: Some(event.username.as_bytes()),
            database: EntryDatabase::Known(event.schemaname.as_bytes()),
            stamp: event
                .starttime_timestamp_us
                .map_or(LogStamp::Missing, LogStamp::Begin),
            took_us: event.duration_us,
            rows_sent: event.rows_sent,
            rows_affected: event.rows_affected,
            error: event.errno,
            flaw,
            text: Cow::Borrowed(query.as_bytes()),
            offset,
            ..LogEntry::default()
        })
    }
}

impl LogReader for ProxySqlLog {
    fn read(
        &mut self,
        bytes: &[u8],
        offset: u64,
        is_end: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError> {
        let mut place = 0;
        while place < bytes.len() {
            let Some((line, next, _)) = line_or_rest(bytes, place, is_end) else {
                break;
            };
            match serde_json::from_slice(line) {
                Ok(event) => Self::entry(&event, offset + place as u64, take)?,
                Err(_) => self.skipped += (next - place) as u64,
            }
            place = next;
        }
        Ok(place)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
