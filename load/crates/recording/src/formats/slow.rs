//! Slow query logs: those of MariaDB, MySQL and Percona Server, and what pt-query-digest writes.

use super::ends::{DoubtfulEntries, LineEnd, LogHeads, StatementEnd, statement_end};
use super::lines::{BANNER_MAX, behind_banner, is_banner, line_at, user_of};
use super::modes::SessionModes;
use crate::entry::{
    EntryDatabase, EntryKind, Flaw, LogEntry, LogError, LogReader, LogStamp, TakeEntry,
};
use crate::stamp;
use contend_sql::Mode;
use memchr::{memchr, memmem};
use std::borrow::Cow;

const TIME: &[u8] = b"# Time: ";
const USER: &[u8] = b"# User@Host: ";
const ADMINISTRATOR: &[u8] = b"# administrator command: ";

#[derive(Debug)]
pub struct SlowLog {
    modes: SessionModes,
    /// The last database that a `use` line named.
    database: Vec<u8>,
    /// It is known that this is the last one, because the server's first line was read.
    is_database_known: bool,
    /// The last `# Time` line.
    time: LogStamp,
    doubtful: DoubtfulEntries,
    skipped: u64,
    /// Entries have no `SET timestamp`: a different program wrote them.
    is_rewritten: bool,
}

impl SlowLog {
    pub fn new(mode: Mode) -> Self {
        Self {
            modes: SessionModes::new(mode),
            database: Vec::new(),
            is_database_known: false,
            time: LogStamp::Missing,
            doubtful: DoubtfulEntries::default(),
            skipped: 0,
            is_rewritten: false,
        }
    }
}

impl LogReader for SlowLog {
    fn read(
        &mut self,
        bytes: &[u8],
        offset: u64,
        is_end: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError> {
        let mut place = 0;
        while place < bytes.len() {
            let read = match head_at(bytes, place, is_end) {
                HeadRead::More => break,
                HeadRead::Banner { next, is_mysql } => {
                    self.database.clear();
                    self.is_database_known = true;
                    if is_mysql {
                        self.modes.set_version(80_400);
                    }
                    next
                }
                HeadRead::Other { next } => {
                    self.skipped += (next - place) as u64;
                    next
                }
                HeadRead::Entry(head) => {
                    let end = self.text_end(bytes, &head, is_end);
                    if end == StatementEnd::More {
                        break;
                    }
                    self.entry(bytes, offset + place as u64, &head, end, take)?
                }
            };
            place = read.max(place + 1);
        }
        Ok(place.min(bytes.len()))
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn warnings(&self) -> Vec<&'static str> {
        if self.is_rewritten {
            vec!["rewritten_by_pt_query_digest"]
        } else {
            Vec::new()
        }
    }
}

impl SlowLog {
    fn text_end(&self, bytes: &[u8], head: &SlowHead<'_>, is_end: bool) -> StatementEnd {
        let line = bytes.get(head.text..).unwrap_or_default();
        if line.starts_with(ADMINISTRATOR)
            && let Some(end) = memchr(b'\n', line)
        {
            // It is always one line.
            let has_delimiter = line.get(..end).is_some_and(|line| line.ends_with(b";"));
            let next = head.text + end + 1;
            let end = head.text + end - usize::from(has_delimiter);
            return StatementEnd::Clear { end, next };
        }
        let mode = self.modes.of(head.thread);
        statement_end(bytes, head.text, is_end, mode, &SlowHeads)
    }

    /// Passes an entry on and returns where the next one begins.
    fn entry(
        &mut self,
        bytes: &[u8],
        offset: u64,
        head: &SlowHead<'_>,
        end: StatementEnd,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError> {
        let at = (offset - head.place as u64, offset);
        let (end, next, flaw) = self.doubtful.take(end, bytes, at);
        let text = bytes.get(head.text..end).unwrap_or_default();
        // The comments of a statement, or the next entry behind one without a statement.
        let flaw = flaw.or_else(|| is_head(text).then_some(Flaw::Ambiguous));
        let (kind, text) = match text.strip_prefix(ADMINISTRATOR) {
            Some(b"Quit") => (EntryKind::Quit, &b"Quit"[..]),
            Some(command) => (EntryKind::Command, command),
            None => (EntryKind::Statement, text),
        };
        if let Some(named) = head.used {
            self.database.clear();
            self.database.extend_from_slice(named);
            self.is_database_known = true;
        }
        if head.time != LogStamp::Missing {
            self.time = head.time;
        }
        let stamp = match (head.time, head.timestamp_us) {
            (LogStamp::End(us), _) => LogStamp::End(us),
            (_, Some(us)) => LogStamp::EndSecond(us.div_euclid(1_000_000) * 1_000_000),
            (_, None) => self.time,
        };
        let database = match head.schema {
            Some(schema) => EntryDatabase::Known(schema),
            // pt-query-digest names the database of each entry that has one.
            None if head.timestamp_us.is_none() => {
                EntryDatabase::Known(head.used.unwrap_or_default())
            }
            None if self.is_database_known => EntryDatabase::Known(&self.database),
            None => EntryDatabase::Unknown,
        };
        self.is_rewritten |= head.timestamp_us.is_none() && kind == EntryKind::Statement;
        let in_routine = head.is_in_routine.then_some(Flaw::InRoutine);
        take(LogEntry {
            kind,
            thread: head.thread,
            user: head.user,
            database,
            stamp,
            took_us: head.took_us,
            rows_sent: head.rows_sent,
            rows_examined: head.rows_examined,
            rows_affected: head.rows_affected,
            error: head.error,
            timestamp_us: head.timestamp_us,
            insert_id: head.insert_id,
            last_insert_id: head.last_insert_id,
            flaw: flaw.or(in_routine),
            text: Cow::Borrowed(text),
            offset,
        })?;
        match kind {
            EntryKind::Quit => self.modes.forget(head.thread),
            _ if flaw.is_none() => self.modes.saw(head.thread, text),
            _ => {}
        }
        Ok(next)
    }
}

/// The lines in front of a statement.
#[derive(Debug, Default)]
struct SlowHead<'t> {
    place: usize,
    /// Where the statement begins.
    text: usize,
    time: LogStamp,
    user: Option<&'t [u8]>,
    thread: u64,
    schema: Option<&'t [u8]>,
    used: Option<&'t [u8]>,
    took_us: Option<u64>,
    rows_sent: Option<u64>,
    rows_examined: Option<u64>,
    rows_affected: Option<u64>,
    error: Option<u32>,
    is_in_routine: bool,
    timestamp_us: Option<i64>,
    insert_id: Option<u64>,
    last_insert_id: Option<u64>,
}

enum HeadRead<'t> {
    More,
    Banner { next: usize, is_mysql: bool },
    Entry(Box<SlowHead<'t>>),
    Other { next: usize },
}

/// The first line may be that of an entry. A comment of a statement may begin like one.
pub fn is_head(rest: &[u8]) -> bool {
    let is_user = |rest: &[u8]| {
        let line = rest.get(..memchr(b'\n', rest).unwrap_or(rest.len()));
        line.is_some_and(|line| user_of(line).is_some())
    };
    rest.starts_with(USER) && is_user(rest)
        || rest.starts_with(TIME) && rest.get(TIME.len()).is_some_and(u8::is_ascii_digit)
}

fn head_at(bytes: &[u8], place: usize, is_end: bool) -> HeadRead<'_> {
    let Some((line, mut next)) = line_at(bytes, place) else {
        // A last line without its end holds no entry.
        return match is_end {
            true => HeadRead::Other { next: bytes.len() },
            false => HeadRead::More,
        };
    };
    if is_banner(line) {
        let is_mysql = memmem::find(line, b"MariaDB").is_none();
        let Some(after) = behind_banner(bytes, next, is_end) else {
            return HeadRead::More;
        };
        next = after;
        return HeadRead::Banner { next, is_mysql };
    }
    if !is_head(line) {
        return HeadRead::Other { next };
    }
    let mut head = Box::new(SlowHead {
        place,
        ..SlowHead::default()
    });
    let (mut has_user, mut has_times) = (false, false);
    let mut at = place;
    loop {
        let Some((line, after)) = line_at(bytes, at) else {
            return match is_end {
                true => HeadRead::Other { next: bytes.len() },
                false => HeadRead::More,
            };
        };
        if !line.starts_with(b"#") || line.starts_with(ADMINISTRATOR) {
            break;
        }
        if at > place && (line.starts_with(TIME) || has_user && line.starts_with(USER)) {
            // The entry before has no statement.
            return HeadRead::Other { next: at };
        }
        has_user |= line.starts_with(USER);
        has_times |= line.starts_with(b"# Query_time: ");
        head.take_line(line);
        at = after;
    }
    if !has_user || !has_times {
        return HeadRead::Other { next: at };
    }
    for step in [SlowHead::take_use, SlowHead::take_set] {
        let Some((line, after)) = line_at(bytes, at) else {
            if is_end {
                break;
            }
            return HeadRead::More;
        };
        let behind = bytes.get(after..).unwrap_or_default();
        if !is_end && behind.len() <= USER.len() {
            return HeadRead::More;
        }
        if step(&mut head, line, behind) {
            at = after;
        }
    }
    head.text = at;
    HeadRead::Entry(head)
}

impl<'t> SlowHead<'t> {
    fn take_line(&mut self, line: &'t [u8]) {
        if let Some(time) = line.strip_prefix(TIME) {
            self.time = match (stamp::iso(time), stamp::short(time)) {
                (Some((us, true)), _) => LogStamp::End(us),
                (Some((us, false)), _) | (_, Some(us)) => LogStamp::EndSecond(us),
                _ => LogStamp::Missing,
            };
        } else if let Some(user) = line.strip_prefix(USER) {
            self.take_user(user);
        } else if line.starts_with(b"# Stored_routine: ") {
            self.is_in_routine = true;
        } else if !line.starts_with(b"# explain") {
            self.take_pairs(line);
        }
    }

    /// `shop[shop] @ app1 [10.0.0.11]  Id:     9`
    fn take_user(&mut self, user: &'t [u8]) {
        self.user = user_of(user);
        if !user.ends_with(b"]")
            && let Some(id) = memmem::rfind(user, b"Id:")
        {
            let id = user.get(id + 3..).unwrap_or_default().trim_ascii();
            self.thread = stamp::unsigned(id).unwrap_or(self.thread);
        }
    }

    /// `# Name: value  Name: value`
    fn take_pairs(&mut self, line: &'t [u8]) {
        let has_schema = line.starts_with(b"# Thread_id: ") || line.starts_with(b"# Schema: ");
        if has_schema && let Some(from) = memmem::find(line, b"Schema: ") {
            // A name may have blanks: what follows it is known.
            let rest = line.get(from + 8..).unwrap_or_default();
            let behind = [&b"  QC_hit: "[..], b"  Last_errno: "];
            let end = behind.iter().find_map(|name| memmem::rfind(rest, name));
            self.schema = Some(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default());
        }
        let mut key: &[u8] = b"";
        for word in line.split(|byte| *byte == b' ') {
            if let Some(name) = word.strip_suffix(b":") {
                key = name;
            } else if !word.is_empty() {
                self.take_pair(std::mem::take(&mut key), word);
            }
        }
    }

    fn take_pair(&mut self, key: &[u8], value: &[u8]) {
        let number = || stamp::unsigned(value);
        match key {
            b"Thread_id" => self.thread = number().unwrap_or(self.thread),
            b"Query_time" => self.took_us = stamp::seconds_us(value),
            b"Rows_sent" => self.rows_sent = number(),
            b"Rows_examined" => self.rows_examined = number(),
            b"Rows_affected" => self.rows_affected = number(),
            b"Errno" | b"Last_errno" => self.error = number().and_then(|code| code.try_into().ok()),
            _ => {}
        }
    }

    /// `use shop;`, unless it is the statement itself.
    fn take_use(&mut self, line: &'t [u8], behind: &[u8]) -> bool {
        let named = line.strip_prefix(b"use ");
        let named = named.and_then(|named| named.strip_suffix(b";"));
        let is_statement = behind.is_empty() || is_head(behind);
        self.used = named.filter(|_| !is_statement);
        self.used.is_some()
    }

    /// `SET last_insert_id=1,insert_id=2,timestamp=1773136799;`
    fn take_set(&mut self, line: &'t [u8], _: &[u8]) -> bool {
        let set = line.strip_prefix(b"SET ");
        let Some(set) = set.and_then(|set| set.strip_suffix(b";")) else {
            return false;
        };
        let (mut ids, mut timestamp) = ([None; 2], None);
        for one in set.split(|byte| *byte == b',') {
            let Some((at, value)) = memchr(b'=', one).map(|at| one.split_at(at)) else {
                return false;
            };
            let value = value.get(1..).unwrap_or_default();
            match at {
                b"last_insert_id" => ids[0] = stamp::unsigned(value),
                b"insert_id" => ids[1] = stamp::unsigned(value),
                b"timestamp" => timestamp = stamp::seconds_us(value),
                _ => return false,
            }
        }
        let us = timestamp.and_then(|us| i64::try_from(us).ok());
        if us.is_none() {
            return false;
        }
        self.timestamp_us = us;
        [self.last_insert_id, self.insert_id] = ids;
        true
    }
}

struct SlowHeads;

impl LogHeads for SlowHeads {
    fn next(&self, bytes: &[u8], from: usize, is_end: bool) -> LineEnd {
        let mut from = from;
        while let Some(at) = memchr(b'\n', bytes.get(from..).unwrap_or_default()) {
            let next = from + at + 1;
            let line = bytes.get(from..next - 1).unwrap_or_default();
            if !line.ends_with(b";") {
                from = next;
                continue;
            }
            let end = next - 2;
            let rest = bytes.get(next..).unwrap_or_default();
            let is_decided = is_end || rest.len() > USER.len() && memchr(b'\n', rest).is_some();
            if rest.is_empty() && is_end || is_head(rest) {
                return LineEnd::At { end, next };
            }
            if rest.first() != Some(&b'#')
                && let Some((line, _)) = line_at(bytes, next)
                && is_banner(line)
            {
                return LineEnd::At { end, next };
            }
            if !is_decided && rest.len() < BANNER_MAX {
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
        match head_at(bytes, head, false) {
            HeadRead::Entry(head) => Some(head.text),
            _ => None,
        }
    }
}
