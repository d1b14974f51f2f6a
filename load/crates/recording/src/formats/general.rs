//! General query logs of MariaDB and MySQL, as files.

use super::ends::{DoubtfulEntries, LineEnd, LogHeads, StatementEnd, statement_end};
use super::lines::{BANNER_MAX, behind_banner, is_banner, line_at};
use super::modes::SessionModes;
use crate::entry::{EntryDatabase, EntryKind, LogEntry, LogError, LogReader, LogStamp, TakeEntry};
use crate::stamp;
use contend_sql::Mode;
use memchr::{memchr, memmem};
use std::borrow::Cow;

/// The commands that servers name.
const COMMANDS: [&[u8]; 36] = [
    b"Query",
    b"Execute",
    b"Prepare",
    b"Connect",
    b"Quit",
    b"Init DB",
    b"Close stmt",
    b"Reset stmt",
    b"Change user",
    b"Ping",
    b"Statistics",
    b"Field List",
    b"Sleep",
    b"Create DB",
    b"Drop DB",
    b"Refresh",
    b"Shutdown",
    b"Processlist",
    b"Kill",
    b"Debug",
    b"Time",
    b"Delayed insert",
    b"Binlog Dump",
    b"Binlog Dump GTID",
    b"Table Dump",
    b"Connect Out",
    b"Register Slave",
    b"Register Replica",
    b"Long Data",
    b"Set option",
    b"Fetch",
    b"Daemon",
    b"Error",
    b"Reset Connection",
    b"Clone",
    b"Bulk_execute",
];
/// No head of an entry is longer.
const HEAD_MAX: usize = 96;

#[derive(Debug)]
pub struct GeneralLog {
    modes: SessionModes,
    /// The last stamp: MariaDB writes it once a second.
    second_us: Option<i64>,
    doubtful: DoubtfulEntries,
    skipped: u64,
}

/// The part in front of a text.
struct GeneralHead<'t> {
    stamp: Option<LogStamp>,
    thread: u64,
    command: &'t [u8],
    /// Length of all that.
    length: usize,
}

/// The head that a line begins with.
fn head_of(line: &[u8]) -> Option<GeneralHead<'_>> {
    let (stamp, rest) = match line.strip_prefix(b"\t\t") {
        Some(rest) => (None, rest),
        None => {
            let tab = memchr(b'\t', line.get(..HEAD_MAX.min(line.len()))?)?;
            let (text, rest) = line.split_at_checked(tab)?;
            let stamp = match stamp::short(text) {
                Some(us) => LogStamp::BeginSecond(us),
                None => LogStamp::Begin(stamp::iso(text)?.0),
            };
            (Some(stamp), rest.get(1..)?)
        }
    };
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let thread = stamp::unsigned(rest.get(..digits)?)?;
    let rest = rest.get(digits..)?.strip_prefix(b" ")?;
    let tab = memchr(b'\t', rest.get(..HEAD_MAX.min(rest.len()))?)?;
    let command = rest.get(..tab)?;
    let length = line.len() - rest.len() + tab + 1;
    COMMANDS.contains(&command).then_some(GeneralHead {
        stamp,
        thread,
        command,
        length,
    })
}

impl GeneralLog {
    pub fn new(mode: Mode) -> Self {
        Self {
            modes: SessionModes::new(mode),
            second_us: None,
            doubtful: DoubtfulEntries::default(),
            skipped: 0,
        }
    }
}

/// Whether a line is the head of an entry, with a stamp.
pub fn is_stamped(line: &[u8]) -> bool {
    head_of(line).is_some_and(|head| head.stamp.is_some())
}

impl LogReader for GeneralLog {
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
            let line = line_at(bytes, place);
            if line.is_none() && !is_end {
                break;
            }
            if let Some((line, next)) = line
                && is_banner(line)
            {
                let Some(behind) = behind_banner(bytes, next, is_end) else {
                    break;
                };
                if memmem::find(line, b"MariaDB").is_none() {
                    self.modes.set_version(80_400);
                }
                self.second_us = None;
                place = behind;
                continue;
            }
            let Some(head) = head_of(rest) else {
                let next = line.map_or(bytes.len(), |(_, next)| next);
                self.skipped += (next - place) as u64;
                place = next;
                continue;
            };
            let text = place + head.length;
            let mode = self.modes.of(head.thread);
            let end = statement_end(bytes, text, is_end, mode, &GeneralHeads);
            if end == StatementEnd::More {
                break;
            }
            place = self.entry(bytes, (offset, place), &head, end, take)?;
        }
        Ok(place.min(bytes.len()))
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

impl GeneralLog {
    /// Passes an entry on and returns where the next one begins. The places are that of the bytes
    /// in the log, and that of the entry in the bytes.
    fn entry(
        &mut self,
        bytes: &[u8],
        (offset, place): (u64, usize),
        head: &GeneralHead<'_>,
        end: StatementEnd,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError> {
        let at = (offset, offset + place as u64);
        let (end, next, flaw) = self.doubtful.take(end, bytes, at);
        let text = bytes.get(place + head.length..end).unwrap_or_default();
        let stamp = match head.stamp {
            Some(LogStamp::BeginSecond(us)) => {
                self.second_us = Some(us);
                LogStamp::BeginSecond(us)
            }
            Some(stamp) => stamp,
            None => self
                .second_us
                .map_or(LogStamp::Missing, LogStamp::BeginSecond),
        };
        let stamp = match stamp {
            // MariaDB writes it when it has run.
            LogStamp::BeginSecond(us) if head.command == b"Execute" => LogStamp::EndSecond(us),
            stamp => stamp,
        };
        let entry = LogEntry {
            thread: head.thread,
            stamp,
            flaw,
            offset: offset + place as u64,
            ..LogEntry::default()
        };
        let entry = of_command(entry, head.command, text);
        let kind = entry.kind;
        take(entry)?;
        match kind {
            EntryKind::Statement if flaw.is_none() => self.modes.saw(head.thread, text),
            EntryKind::Quit | EntryKind::Connect => self.modes.forget(head.thread),
            _ if head.command == b"Reset Connection" => self.modes.forget(head.thread),
            _ => {}
        }
        Ok(next)
    }
}

/// An entry of this command.
pub fn of_command<'t>(entry: LogEntry<'t>, command: &[u8], text: &'t [u8]) -> LogEntry<'t> {
    let entry = LogEntry {
        text: Cow::Borrowed(text),
        ..entry
    };
    let kind = match command {
        b"Query" | b"Execute" => EntryKind::Statement,
        b"Quit" => EntryKind::Quit,
        b"Connect" | b"Change user" => return connect(entry, text),
        b"Init DB" => {
            return LogEntry {
                kind: EntryKind::InitDb,
                database: EntryDatabase::Known(text),
                ..entry
            };
        }
        _ => EntryKind::Command,
    };
    LogEntry { kind, ..entry }
}

/// `shop@app1 on shop using TCP/IP`; a login that was refused begins no session.
fn connect<'t>(entry: LogEntry<'t>, text: &'t [u8]) -> LogEntry<'t> {
    let on = memmem::rfind(text, b" on ");
    let user = on.and_then(|on| text.get(..on));
    let user = user.and_then(|user| user.get(..memchr::memrchr(b'@', user)?));
    let (Some(user), Some(on)) = (user, on) else {
        return LogEntry {
            kind: EntryKind::Command,
            ..entry
        };
    };
    let database = text.get(on + 4..).unwrap_or_default();
    let end = memmem::rfind(database, b" using ");
    // Without a database: `on  using`.
    let end = end.or_else(|| database.starts_with(b"using ").then_some(0));
    let database = database.get(..end.unwrap_or(database.len()));
    LogEntry {
        kind: EntryKind::Connect,
        user: Some(user),
        database: EntryDatabase::Known(database.unwrap_or_default()),
        ..entry
    }
}

struct GeneralHeads;

impl LogHeads for GeneralHeads {
    fn next(&self, bytes: &[u8], from: usize, is_end: bool) -> LineEnd {
        let mut from = from;
        while let Some(at) = memchr(b'\n', bytes.get(from..).unwrap_or_default()) {
            let (end, next) = (from + at, from + at + 1);
            let rest = bytes.get(next..).unwrap_or_default();
            let line = line_at(bytes, next).map(|(line, _)| line);
            let is_next =
                rest.is_empty() && is_end || head_of(rest).is_some() || line.is_some_and(is_banner);
            if is_next {
                return LineEnd::At { end, next };
            }
            if line.is_none() && !is_end && rest.len() < BANNER_MAX {
                return LineEnd::More;
            }
            from = next;
        }
        match is_end {
            true => LineEnd::Nowhere,
            false => LineEnd::More,
        }
    }

    fn text_of(&self, bytes: &[u8], head: usize) -> Option<usize> {
        Some(head + head_of(bytes.get(head..)?)?.length)
    }
}
