//! From the entries of a log to a recording.
//!
//! Statements that can be sent again go to the sorter, all others are counted. The text of a
//! statement that may hold a password goes nowhere.

use crate::clock::{LogClock, within_second};
use crate::entry::{EntryDatabase, EntryKind, Flaw, LogEntry, LogError, LogReader, LogStamp};
use crate::file::{RecordedSession, RecordingContents, RecordingWriter, TemplateRow, latin1};
use crate::formats::ends::Nesting;
use crate::formats::modes::SessionModes;
use crate::names::Names;
use crate::reads::only_reads;
use crate::sort::RecordSorter;
use crate::stored::{self, StoredStatement};
use crate::template::{StatementShape, TEMPLATE_BYTES_MAX, Templates};
use contend_sql::{Mode, Statements, TokenKind, Tokens, begins_with};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Records that wait in memory at first, which a CPU's cache holds, and those of one second.
const SORT_BYTES: usize = 512 << 10;
const SECOND_BYTES: usize = 16 << 20;
/// Templates beyond these are one.
const TEMPLATES_MAX: usize = 50_000;
const TEMPLATE_TEXTS_MAX: usize = 24 << 20;
const MORE_TEMPLATES: &str = "(templates beyond the first 50,000)";

/// Why statements are not in a recording.
pub const REASONS: [&str; 8] = [
    "administrative",
    "ambiguous",
    "before_the_log",
    "in_routine",
    "no_values",
    "password",
    "sql_prepared",
    "truncated",
];

/// A session that goes on.
#[derive(Debug)]
struct LiveSession {
    recorded: RecordedSession,
    /// None: it is not known.
    database: Option<u32>,
    /// The next statement begins no earlier.
    free_us: i64,
}

/// A record whose moment waits for the end of its second, or the end of a session.
#[derive(Debug)]
struct PendingRecord {
    session: u32,
    /// None: the session ends.
    record: Option<Box<[u8]>>,
    sequence: u64,
    took_us: Option<u64>,
    is_end_stamp: bool,
}

pub struct Importer {
    folder: PathBuf,
    target: PathBuf,
    modes: SessionModes,
    templates: Templates,
    numbers: HashMap<u64, u32>,
    texts_bytes: usize,
    databases: Names,
    users: Names,
    sessions: HashMap<u32, LiveSession>,
    threads: HashMap<u64, u32>,
    spool: Option<BufWriter<File>>,
    clock: LogClock,
    second_us: i64,
    pending: Vec<PendingRecord>,
    pending_bytes: usize,
    sorter: RecordSorter,
    scratch: Vec<u8>,
    sequence: u64,
    contents: RecordingContents,
}

/// What came of an import.
#[derive(Debug)]
pub struct Imported {
    /// Hash of the content, in hexadecimal.
    pub name: String,
    pub bytes: u64,
    pub contents: RecordingContents,
}

impl Importer {
    /// A recording that is to lie at `target`. Temporary files are in a folder next to it.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(target: &Path, mode: Mode) -> Result<Self, LogError> {
        let name = target.file_name().ok_or_else(|| {
            LogError::new(format!("{} is not a name of a file", target.display()))
        })?;
        let mut unfinished = std::ffi::OsString::from(".");
        unfinished.push(name);
        unfinished.push(format!(".{}", std::process::id()));
        let folder = target.with_file_name(unfinished);
        let unwritten = |error| LogError::io(&format!("cannot write {}", target.display()), &error);
        fs::create_dir(&folder).map_err(unwritten)?;
        let spool = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.join("sessions"));
        let mut importer = Self {
            sorter: RecordSorter::new(&folder, SORT_BYTES),
            spool: Some(BufWriter::new(spool.map_err(unwritten)?)),
            target: target.to_owned(),
            folder,
            modes: SessionModes::new(mode),
            templates: Templates::default(),
            numbers: HashMap::new(),
            texts_bytes: 0,
            databases: Names::default(),
            users: Names::default(),
            sessions: HashMap::new(),
            threads: HashMap::new(),
            clock: LogClock::default(),
            second_us: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            scratch: Vec::new(),
            sequence: 0,
            contents: RecordingContents::default(),
        };
        importer.databases.number(b"");
        Ok(importer)
    }

    /// Statements so far.
    pub fn statements(&self) -> u64 {
        self.contents.statements
    }

    /// At least one entry was taken.
    pub fn has_entries(&self) -> bool {
        self.contents.sessions > 0
    }

    /// A different file of the log begins.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn next_file(&mut self) -> Result<(), LogError> {
        self.end_second()?;
        self.clock.next_file();
        Ok(())
    }

    fn leave_out(&mut self, reason: &str) {
        *self.contents.left_out.entry(reason.to_owned()).or_default() += 1;
    }

    /// Takes one entry of the log.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn take(&mut self, entry: LogEntry<'_>) -> Result<(), LogError> {
        let number = self.session_of(&entry)?;
        if let Some(session) = self.sessions.get_mut(&number) {
            if let EntryDatabase::Known(name) = entry.database {
                let last = session
                    .database
                    .filter(|last| self.databases.is(*last, name));
                session.database = last.or_else(|| Some(self.databases.number(name)));
            }
            let user = entry.user.unwrap_or_default();
            if !user.is_empty() && !self.users.is(session.recorded.user, user) {
                session.recorded.user = self.users.number(user);
            }
        }
        match (entry.flaw, entry.kind) {
            (Some(Flaw::Ambiguous), _) => self.leave_out("ambiguous"),
            (Some(Flaw::Truncated), _) => self.leave_out("truncated"),
            (_, EntryKind::Statement) => return self.statement(&entry, &entry.text, number, true),
            (_, EntryKind::Quit) => {
                self.leave_out("administrative");
                self.end_session(&entry, number)?;
            }
            _ => self.leave_out("administrative"),
        }
        Ok(())
    }

    /// The session of an entry; its first entry begins it.
    fn session_of(&mut self, entry: &LogEntry<'_>) -> Result<u32, LogError> {
        let is_begin = entry.kind == EntryKind::Connect;
        if let Some(number) = self.threads.get(&entry.thread).copied() {
            if !is_begin {
                return Ok(number);
            }
            self.end_session(entry, number)?;
        }
        let number = u32::try_from(self.contents.sessions)
            .map_err(|_| LogError::new("a recording holds at most 4,294,967,295 sessions"))?;
        self.contents.sessions += 1;
        self.threads.insert(entry.thread, number);
        let session = LiveSession {
            recorded: RecordedSession {
                number,
                thread: entry.thread,
                user: self.users.number(b""),
                first_us: i64::MAX,
                last_us: i64::MIN,
                has_begin: is_begin,
                ..RecordedSession::default()
            },
            database: is_begin.then_some(0),
            free_us: i64::MIN,
        };
        self.sessions.insert(number, session);
        Ok(number)
    }

    fn end_session(&mut self, entry: &LogEntry<'_>, number: u32) -> Result<(), LogError> {
        self.threads.remove(&entry.thread);
        self.modes.forget(entry.thread);
        if let Some(session) = self.sessions.get_mut(&number) {
            session.recorded.has_end = entry.kind == EntryKind::Quit;
        }
        if self.pending.is_empty() {
            return self.close(number);
        }
        self.pending.push(PendingRecord {
            session: number,
            record: None,
            sequence: 0,
            took_us: None,
            is_end_stamp: false,
        });
        Ok(())
    }

    /// Writes the record of a session that is over.
    fn close(&mut self, number: u32) -> Result<(), LogError> {
        let Some(session) = self.sessions.remove(&number) else {
            return Ok(());
        };
        let Some(spool) = self
            .spool
            .as_mut()
            .filter(|_| session.recorded.statements > 0)
        else {
            return Ok(());
        };
        let written = session.recorded.write(spool);
        written.map_err(|error| LogError::io("cannot write a temporary file", &error))
    }

    /// A statement, or one of several that were sent together.
    fn statement(
        &mut self,
        entry: &LogEntry<'_>,
        text: &[u8],
        session: u32,
        is_alone: bool,
    ) -> Result<(), LogError> {
        let mode = self.modes.of(entry.thread);
        let shape = self.templates.read(text, mode);
        if shape.is_several && !is_compound(text, mode) {
            let parts = Statements::new(text, mode);
            return parts
                .into_iter()
                .try_for_each(|part| self.statement(entry, part.text, session, false));
        }
        let database = match entry.database {
            EntryDatabase::Unknown => None,
            _ => self.sessions.get(&session).and_then(|live| live.database),
        };
        if !shape.is_secret && !shape.is_open {
            self.follow(entry.thread, session, text, mode);
        }
        let reason = match entry.flaw {
            _ if shape.is_empty => "administrative",
            _ if shape.is_secret => "password",
            _ if shape.is_open => "ambiguous",
            Some(_) => "in_routine",
            _ if shape.has_placeholder => "no_values",
            _ if begins_with(text, &["USE"]) => "administrative",
            _ if begins_with(text, &["PREPARE", "EXECUTE", "DEALLOCATE"]) => "sql_prepared",
            _ if database.is_none() => "before_the_log",
            _ => "",
        };
        let Some(database) = database.filter(|_| reason.is_empty()) else {
            self.leave_out(reason);
            return Ok(());
        };
        let template = self.template(shape, text, mode);
        let is_cut = self.templates.text().len() >= TEMPLATE_BYTES_MAX;
        let row = self.contents.templates.get(template as usize);
        let is_read = match row {
            Some(row) if !is_cut && !shape.has_hint && row.text != MORE_TEMPLATES => row.is_read,
            _ => only_reads(text, mode),
        };
        let statement = StoredStatement {
            begin_us: 0,
            template,
            session,
            database,
            is_read,
            is_interpolated: false,
            no_backslash_escapes: mode.no_backslash_escapes,
            ansi_quotes: mode.ansi_quotes,
            took_us: entry.took_us.filter(|_| is_alone),
            rows_sent: entry.rows_sent.filter(|_| is_alone),
            rows_examined: entry.rows_examined.filter(|_| is_alone),
            rows_affected: entry.rows_affected.filter(|_| is_alone),
            error: entry.error.map(u64::from),
            timestamp_us: entry.timestamp_us.and_then(|us| us.try_into().ok()),
            insert_id: entry.insert_id,
            last_insert_id: entry.last_insert_id,
            offset: entry.offset,
            text,
        };
        self.count(&statement);
        self.place(entry.stamp, statement)
    }

    /// What the session changes for its later statements.
    fn follow(&mut self, thread: u64, session: u32, text: &[u8], mode: Mode) {
        self.modes.saw(thread, text);
        if !begins_with(text, &["USE"]) {
            return;
        }
        let mut tokens = Tokens::new(text, mode);
        let _ = tokens.read();
        let name = tokens.read().map(|name| match name.kind {
            TokenKind::Name => name.inner().to_vec(),
            _ => name.text.to_vec(),
        });
        if let Some(name) = name
            && let Some(session) = self.sessions.get_mut(&session)
        {
            session.database = Some(self.databases.number(&name));
        }
    }

    /// The number of the template that was read last.
    fn template(&mut self, shape: StatementShape, text: &[u8], mode: Mode) -> u32 {
        if let Some(number) = self.numbers.get(&shape.hash) {
            return *number;
        }
        let rows = &mut self.contents.templates;
        let last = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let is_full = rows.len() >= TEMPLATES_MAX || self.texts_bytes >= TEMPLATE_TEXTS_MAX;
        if is_full {
            if rows.last().is_some_and(|row| row.text == MORE_TEMPLATES) {
                return last.saturating_sub(1);
            }
            rows.push(TemplateRow {
                hash: format!("{:016x}", 0),
                text: MORE_TEMPLATES.to_owned(),
                ..TemplateRow::default()
            });
            return last;
        }
        self.texts_bytes += self.templates.text().len();
        self.numbers.insert(shape.hash, last);
        rows.push(TemplateRow {
            hash: format!("{:016x}", shape.hash),
            text: latin1(self.templates.text()),
            is_read: only_reads(text, mode),
            ..TemplateRow::default()
        });
        last
    }

    fn count(&mut self, statement: &StoredStatement<'_>) {
        let contents = &mut self.contents;
        contents.statements += 1;
        contents.reads += u64::from(statement.is_read);
        let Some(row) = contents.templates.get_mut(statement.template as usize) else {
            return;
        };
        row.calls += 1;
        if let Some(us) = statement.took_us {
            row.timed += 1;
            row.total_us = row.total_us.saturating_add(us);
            row.times.add(us);
        }
        for (sum, rows) in [
            (&mut row.rows_sent, statement.rows_sent),
            (&mut row.rows_examined, statement.rows_examined),
        ] {
            if let Some(rows) = rows {
                *sum = (sum.0.saturating_add(rows), sum.1 + 1);
            }
        }
        row.errors += u64::from(statement.error.is_some_and(|code| code != 0));
    }

    /// Finds the moment of a statement, at once or at the end of its second.
    fn place(&mut self, stamp: LogStamp, statement: StoredStatement<'_>) -> Result<(), LogError> {
        let (logged, is_end_stamp, is_exact) = match stamp {
            LogStamp::Begin(us) => (us, false, true),
            LogStamp::End(us) => (us, true, true),
            LogStamp::BeginSecond(us) => (us, false, false),
            LogStamp::EndSecond(us) => (us, true, false),
            LogStamp::Missing => (self.clock.last().unwrap_or_default(), true, false),
        };
        let (moment, is_false) = self.clock.moment(logged);
        let is_exact = is_exact && !is_false;
        match is_exact {
            true => self.contents.exact_stamps += 1,
            false => self.contents.interpolated_stamps += 1,
        }
        self.sequence += 1;
        self.scratch.clear();
        StoredStatement {
            is_interpolated: !is_exact,
            ..statement
        }
        .write(&mut self.scratch);
        let pending = PendingRecord {
            session: statement.session,
            record: Some(self.scratch.as_slice().into()),
            sequence: self.sequence,
            took_us: statement.took_us,
            is_end_stamp,
        };
        if is_exact {
            self.end_second()?;
            return self.record(pending, moment);
        }
        let second = moment.div_euclid(1_000_000) * 1_000_000;
        if second != self.second_us || self.pending_bytes > SECOND_BYTES {
            self.end_second()?;
            self.second_us = second;
        }
        self.pending_bytes += statement.text.len() + 128;
        self.pending.push(pending);
        Ok(())
    }

    /// Divides the second among the records in it.
    fn end_second(&mut self) -> Result<(), LogError> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        let count = pending.iter().filter(|one| one.record.is_some()).count();
        let mut place = 0;
        for one in pending {
            if one.record.is_none() {
                self.close(one.session)?;
                continue;
            }
            let moment = within_second(self.second_us, place, count);
            place += 1;
            self.record(one, moment)?;
        }
        Ok(())
    }

    /// Gives a record its moment, never before the one in front of it in its session.
    fn record(&mut self, pending: PendingRecord, moment: i64) -> Result<(), LogError> {
        let Some(mut record) = pending.record else {
            return Ok(());
        };
        let took = pending.took_us.and_then(|us| i64::try_from(us).ok());
        let took = took.unwrap_or_default();
        let begin = match pending.is_end_stamp {
            true => moment.saturating_sub(took),
            false => moment,
        };
        let Some(session) = self.sessions.get_mut(&pending.session) else {
            return Ok(());
        };
        let begin = begin.max(session.free_us);
        let end = match pending.is_end_stamp {
            true => moment.max(begin),
            false => begin.saturating_add(took),
        };
        session.free_us = end;
        let recorded = &mut session.recorded;
        recorded.statements += 1;
        recorded.first_us = recorded.first_us.min(begin);
        recorded.last_us = recorded.last_us.max(end);
        let (from, to) = self.contents.period_us.unwrap_or((begin, end));
        self.contents.period_us = Some((from.min(begin), to.max(end)));
        // The moment comes first in a record.
        if let Some(first) = record.first_chunk_mut() {
            *first = begin.to_le_bytes();
        }
        self.sorter.add((begin, pending.sequence), record)
    }

    /// Writes the recording and puts it in its place.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(
        mut self,
        format: &str,
        log_bytes: u64,
        reader: &dyn LogReader,
    ) -> Result<Imported, LogError> {
        self.end_second()?;
        let mut open: Vec<u32> = self.sessions.keys().copied().collect();
        open.sort_unstable();
        open.into_iter().try_for_each(|number| self.close(number))?;
        let mut contents = std::mem::take(&mut self.contents);
        format.clone_into(&mut contents.format);
        contents.log_bytes = log_bytes;
        contents.skipped_bytes = reader.skipped();
        contents.warnings = reader
            .warnings()
            .iter()
            .map(|&word| word.to_owned())
            .collect();
        contents.false_stamps = self.clock.false_stamps;
        contents.clock_set_back = self.clock.set_back;
        let texts = |names: &Names| names.all().iter().map(|name| latin1(name)).collect();
        contents.databases = texts(&self.databases);
        contents.users = texts(&self.users);
        let (name, bytes) = self.write(&contents).map_err(|error| {
            LogError::io(&format!("cannot write {}", self.target.display()), &error)
        })?;
        Ok(Imported {
            name,
            bytes,
            contents,
        })
    }

    fn write(&mut self, contents: &RecordingContents) -> io::Result<(String, u64)> {
        let path = self.folder.join("recording");
        let mut writer = RecordingWriter::create(&path)?;
        let sorter = std::mem::replace(&mut self.sorter, RecordSorter::new(&self.folder, 0));
        let unwritten = |error: io::Error| LogError::new(error.to_string());
        let mut take = |record: &[u8]| {
            let template = stored::read(record).map_or(0, |(statement, _)| statement.template);
            writer.add(record, template).map_err(unwritten)
        };
        sorter
            .finish(&mut take)
            .map_err(|error| io::Error::other(error.message))?;
        if let Some(spool) = self.spool.take() {
            let mut sessions = spool.into_inner().map_err(io::Error::other)?;
            sessions.seek(SeekFrom::Start(0))?;
            writer.add_sessions(sessions)?;
        }
        let (name, bytes) = writer.finish(contents)?;
        fs::rename(&path, &self.target)?;
        if let Some(folder) = self
            .folder
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            File::open(folder)?.sync_all()?;
        }
        Ok((name, bytes))
    }
}

impl Drop for Importer {
    fn drop(&mut self) {
        // Only files of this import are in it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_compound(text: &[u8], mode: Mode) -> bool {
    let mut nesting = Nesting::default();
    Tokens::new(text, mode).for_each(|token| nesting.take(&token));
    nesting.is_compound()
}
