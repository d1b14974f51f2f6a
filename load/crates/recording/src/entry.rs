//! One entry of a log, as its format reports it.

use std::borrow::Cow;

/// The action that an entry reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryKind {
    /// A statement with its values, as a client could send it.
    #[default]
    Statement,
    Connect,
    Quit,
    /// The session's database changes to that of the entry.
    InitDb,
    /// Anything else: a prepare, a ping, a statement that is closed.
    Command,
}

/// When an entry happened, in microseconds since 1970. A log without a time zone counts as UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStamp {
    #[default]
    Missing,
    Begin(i64),
    End(i64),
    /// Somewhere in the second that begins here.
    BeginSecond(i64),
    /// Likewise for the end.
    EndSecond(i64),
}

/// The database of a session when the statement began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryDatabase<'t> {
    /// As the session had it: the log says it only when it changes.
    #[default]
    Kept,
    /// The log's beginning is missing, and nothing before the entry says it.
    Unknown,
    /// Empty: none.
    Known(&'t [u8]),
}

/// Why a statement cannot be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// Its lines and its quotes end at different places.
    Ambiguous,
    /// The log ends, or was cut, within it.
    Truncated,
    /// It ran inside a routine, and the call of the routine is logged too.
    InRoutine,
}

/// One entry. All texts are the bytes of the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogEntry<'t> {
    pub kind: EntryKind,
    /// The server's number of the connection.
    pub thread: u64,
    pub user: Option<&'t [u8]>,
    pub database: EntryDatabase<'t>,
    pub stamp: LogStamp,
    pub took_us: Option<u64>,
    pub rows_sent: Option<u64>,
    pub rows_examined: Option<u64>,
    pub rows_affected: Option<u64>,
    pub error: Option<u32>,
    /// The session's `timestamp` for the statement, in microseconds.
    pub timestamp_us: Option<i64>,
    pub insert_id: Option<u64>,
    pub last_insert_id: Option<u64>,
    pub flaw: Option<Flaw>,
    pub text: Cow<'t, [u8]>,
    /// Position of the entry in the log, in bytes.
    pub offset: u64,
}

/// Why a log cannot be read, or a recording cannot be written or opened.
#[derive(Debug)]
pub struct LogError {
    pub message: String,
    pub hint: Option<String>,
    /// The files are not what the request says.
    pub is_request: bool,
}

impl LogError {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            is_request: false,
        }
    }

    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..Self::new(message)
        }
    }

    /// The files are not what the request says.
    #[must_use]
    pub fn of_request(self) -> Self {
        Self {
            is_request: true,
            ..self
        }
    }

    /// A failed read or write.
    pub fn io(place: &str, error: &std::io::Error) -> Self {
        Self::new(format!("{place}: {error}"))
    }
}

/// Takes the entries of a log, in its order.
pub type TakeEntry<'f> = dyn FnMut(LogEntry<'_>) -> Result<(), LogError> + 'f;

/// Reads one format of logs.
pub trait LogReader {
    /// Reads the whole entries at the beginning of `bytes` and returns their length. The rest is
    /// passed again with more behind it. `offset` is the position of `bytes` in the log. With
    /// `is_end` nothing follows in this file, and all of it is read.
    ///
    /// # Errors
    /// `take` failed.
    fn read(
        &mut self,
        bytes: &[u8],
        offset: u64,
        is_end: bool,
        take: &mut TakeEntry<'_>,
    ) -> Result<usize, LogError>;

    /// Bytes that belonged to no entry, so far.
    fn skipped(&self) -> u64;

    /// Facts that the whole log lacks, as words that documents explain.
    fn warnings(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
