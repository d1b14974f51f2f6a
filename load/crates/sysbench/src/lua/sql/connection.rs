//! One connection of a script: queries, their classes, and what an error leads to.

use super::faces::{ConnectionFace, DriverFace, Gravity, ResultFace, RowValue};
use super::statement::ScriptStatement;
use super::{Bulk, faces};
use crate::lua::figures::ThreadFigures;
use crate::lua::fixed::Fixed;
use crate::lua::log::Level;
use crate::lua::run::Run;
use crate::lua::thread_io::{Answered, Connected, ThreadIo, client_error};
use contend_client::request::Reply;
use contend_figures::Counter;
use contend_figures::outcome::one_line;
use contend_wire::mysql::command;
use contend_wire::mysql::rows::{ResultRows, ResultShape};
use contend_wire::{ServerError, Value};
use std::ffi::{c_int, c_ulong};
use std::sync::PoisonError;
use std::time::Duration;

/// The parts of its thread that a connection needs for one call.
pub struct OfThread<'a> {
    pub run: &'a Run,
    pub figures: &'a ThreadFigures,
    pub io: &'a mut dyn ThreadIo,
}

/// A call failed; the connection's head has the error, and how grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFailed;

/// Which call of the client library a message names: parsers of logs know these words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Caller {
    Query,
    Execute,
}

impl Caller {
    fn name(self) -> &'static str {
        match self {
            Self::Query => "mysql_drv_query()",
            Self::Execute => "mysql_stmt_execute()",
        }
    }
}

const CLOSED: &str = "attempt to use an already closed connection";
const RECONNECT_PAUSE_MIN: Duration = Duration::from_millis(1);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_millis(100);

/// A connection. Scripts hold a pointer to its head, so it never moves.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    pub face: ConnectionFace,
    pub result: Fixed<ResultFace>,
    /// Lua's reference to the result's handle; 0 until there is one.
    pub result_reference: c_int,
    pub bulk: Bulk,
    pub statements: Vec<Fixed<ScriptStatement>>,
    /// Behind [`ResultFace::row_values`].
    pub row: Vec<RowValue>,
    pub row_bytes: Vec<u8>,
    endpoint: usize,
    link: Option<Connected>,
    is_closed: bool,
    /// Number of times that it was opened: statements of an earlier time are to be prepared again.
    pub(super) generation: u32,
    answer: Vec<u8>,
    shapes: Vec<ResultShape>,
    rows: Option<ResultRows>,
    /// The last query had a result set, which was not freed since.
    has_result: bool,
    sql_state: [u8; 6],
    message: Vec<u8>,
}

impl Connection {
    /// Opens a connection to the next server in turn; none, with a message, if that fails.
    pub fn open(session: &mut OfThread<'_>, driver: *const DriverFace) -> Option<Fixed<Self>> {
        let mut connection = Fixed::new(Self {
            face: ConnectionFace::new(driver),
            result: Fixed::default(),
            result_reference: 0,
            bulk: Bulk::default(),
            statements: Vec::new(),
            row: Vec::new(),
            row_bytes: Vec::new(),
            endpoint: session.run.database.next_endpoint(),
            link: None,
            is_closed: false,
            generation: 0,
            answer: Vec::new(),
            shapes: Vec::new(),
            rows: None,
            has_result: false,
            sql_state: [0; 6],
            message: Vec::new(),
        });
        if session.run.database.dry_run {
            return Some(connection);
        }
        match connection.connect(session) {
            Ok(()) => Some(connection),
            Err(error) => {
                connection.say_refused(session.run, &error);
                None
            }
        }
    }

    fn connect(&mut self, session: &mut OfThread<'_>) -> Result<(), ServerError> {
        let connected = session.io.connect(self.endpoint)?;
        self.link = Some(connected);
        self.generation = self.generation.wrapping_add(1);
        Ok(())
    }

    fn say_refused(&self, run: &Run, error: &ServerError) {
        record(run, error, CONNECTING.as_bytes());
        let place = match run.database.endpoints.get(self.endpoint) {
            Some(crate::lua::database::Endpoint::Socket(path)) => {
                format!("socket '{}'", path.display())
            }
            Some(crate::lua::database::Endpoint::Host { host, port }) => {
                format!("host '{host}', port {port}")
            }
            None => "no host".to_owned(),
        };
        run.log.fatal(&format!(
            "unable to connect to MySQL server on {place}, aborting..."
        ));
        run.log.fatal(&format!(
            "error {}: {}",
            error.code,
            one_line(&error.message)
        ));
    }

    /// Which of the run's servers it leads to.
    pub fn endpoint(&self) -> usize {
        self.endpoint
    }

    /// Asks a text query; true if it has a result set.
    pub fn query(&mut self, session: &mut OfThread<'_>, sql: &[u8]) -> Result<bool, CallFailed> {
        self.begin();
        if session.run.database.dry_run {
            session.figures.count(Counter::Other);
            return Ok(false);
        }
        let link = self.link_or_refuse(session)?;
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        let answered = session.io.exchange(
            link.link,
            Reply::Whole,
            sql,
            &mut |out| command::query(out, sql),
            &mut answer,
        );
        self.answer = answer;
        let answered = self.judge(session, Caller::Query, sql, answered)?;
        Ok(self.take_results(session.figures, &answered))
    }

    /// Takes an answer without values: that of a prepared statement.
    pub(super) fn take_counts(
        &mut self,
        session: &mut OfThread<'_>,
        sql: &[u8],
        answered: Result<Answered, ServerError>,
    ) -> Result<bool, CallFailed> {
        let answered = self.judge(session, Caller::Execute, sql, answered)?;
        let counter = class_of(&answered);
        session.figures.count(counter);
        self.result.counter = counter as c_int;
        self.result.rows = answered.summary.rows.try_into().unwrap_or(u32::MAX);
        self.result.fields = answered.summary.columns;
        self.has_result = answered.summary.columns > 0;
        Ok(self.has_result)
    }

    /// Forgets the last call's error and result.
    pub(super) fn begin(&mut self) {
        self.face.error = Gravity::None;
        self.has_result = false;
        self.forget_rows();
        self.result.statement = std::ptr::null_mut();
    }

    pub(super) fn link_or_refuse(
        &mut self,
        session: &OfThread<'_>,
    ) -> Result<Connected, CallFailed> {
        if let Some(connected) = self.link {
            return Ok(connected);
        }
        session.run.log.say(Level::Alert, CLOSED);
        self.face.sql_errno = 0;
        self.face.error = Gravity::Fatal;
        Err(CallFailed)
    }

    /// Passes a good answer on; an error is kept, counted, reported, and repaired where it can be.
    pub(super) fn judge(
        &mut self,
        session: &mut OfThread<'_>,
        caller: Caller,
        sql: &[u8],
        answered: Result<Answered, ServerError>,
    ) -> Result<Answered, CallFailed> {
        let (error, is_lost) = match answered {
            Ok(Answered { error: None, .. }) => return answered.map_err(|_| CallFailed),
            Ok(Answered {
                error: Some(error), ..
            }) => (*error, false),
            Err(error) => (error, true),
        };
        self.keep_error(&error);
        record(session.run, &error, sql);
        if is_lost {
            self.link = None;
        }
        if !session.run.database.ignore.has(error.code) {
            self.face.error = Gravity::Fatal;
            session.run.log.fatal(&format!(
                "{} returned error {} ({}) for query '{}'",
                caller.name(),
                error.code,
                one_line(&error.message),
                String::from_utf8_lossy(sql)
            ));
            return Err(CallFailed);
        }
        self.face.error = Gravity::Ignorable;
        session.figures.count(Counter::Errors);
        if is_lost {
            self.come_back(session);
        }
        Err(CallFailed)
    }

    /// Opens the connection again, however long it takes, while the run lasts.
    fn come_back(&mut self, session: &mut OfThread<'_>) {
        let mut pause = RECONNECT_PAUSE_MIN;
        while self.link.is_none() && !session.io.is_over() {
            match self.connect(session) {
                Ok(()) => session.figures.count(Counter::Reconnects),
                Err(error) => {
                    record(session.run, &error, CONNECTING.as_bytes());
                    session.io.sleep(pause);
                    pause = (pause * 2).min(RECONNECT_PAUSE_MAX);
                }
            }
        }
    }

    /// Closes and opens the connection, for the script; false if that fails.
    pub fn reconnect(&mut self, session: &mut OfThread<'_>) -> bool {
        if session.run.database.dry_run {
            return true;
        }
        self.drop_link(session);
        self.is_closed = false;
        match self.connect(session) {
            Ok(()) => {
                session.figures.count(Counter::Reconnects);
                true
            }
            Err(error) => {
                self.say_refused(session.run, &error);
                false
            }
        }
    }

    pub fn disconnect(&mut self, session: &mut OfThread<'_>) {
        if self.is_closed {
            let words = "attempt to close an already closed connection";
            session.run.log.say(Level::Alert, words);
        }
        self.drop_link(session);
        self.is_closed = true;
    }

    /// Closes the connection at the end of its state.
    pub fn end(&mut self, session: &mut OfThread<'_>) {
        self.drop_link(session);
    }

    fn drop_link(&mut self, session: &mut OfThread<'_>) {
        self.has_result = false;
        self.forget_rows();
        if let Some(connected) = self.link.take() {
            session.io.disconnect(connected.link);
        }
    }

    fn take_results(&mut self, figures: &ThreadFigures, answered: &Answered) -> bool {
        let counter = class_of(answered);
        figures.count(counter);
        self.result.counter = counter as c_int;
        let Some(connected) = self.link else {
            return false;
        };
        if answered.summary.results > 1 {
            self.shapes = ResultRows::shapes(&self.answer, connected.capabilities);
            self.shapes.reverse();
        } else {
            self.shapes.push(ResultShape {
                rows: answered.summary.rows,
                columns: answered.summary.columns,
            });
        }
        let has_rows = self.shape_result();
        if has_rows || !self.shapes.is_empty() {
            self.rows = Some(ResultRows::new(&self.answer, connected.capabilities));
        }
        has_rows
    }

    /// Writes the shape of the next result into its head; true if it is a result set.
    fn shape_result(&mut self) -> bool {
        let shape = self.shapes.pop().unwrap_or_default();
        self.result.rows = shape.rows.try_into().unwrap_or(u32::MAX);
        self.result.fields = shape.columns;
        self.has_result = shape.columns > 0;
        self.has_result
    }

    /// True where the last answer has results left.
    pub fn more_results(&self) -> bool {
        !self.shapes.is_empty()
    }

    /// Moves to the next result of the last answer; true if it is a result set.
    pub fn next_result(&mut self) -> bool {
        if !self.more_results() {
            return false;
        }
        let moved = self
            .rows
            .as_mut()
            .is_some_and(|rows| rows.next_result().unwrap_or(false));
        moved && self.shape_result()
    }

    /// Hands the values of the next row to `take`; false if there is none.
    pub fn next_row(&mut self, mut take: impl FnMut(Option<&[u8]>)) -> bool {
        let take = |value: Value<'_>| match value {
            Value::Bytes(bytes) => take(Some(bytes)),
            _ => take(None),
        };
        self.rows
            .as_mut()
            .is_some_and(|rows| rows.next_row(take).unwrap_or(false))
    }

    /// Reads the next row into the memory that scripts look at through the FFI.
    pub fn next_raw_row(&mut self) -> bool {
        let mut bytes = std::mem::take(&mut self.row_bytes);
        let mut lengths: Vec<Option<usize>> = Vec::new();
        bytes.clear();
        let more = self.next_row(|value| {
            bytes.extend_from_slice(value.unwrap_or_default());
            // Scripts may treat a value as C's text.
            bytes.push(0);
            lengths.push(value.map(<[u8]>::len));
        });
        self.row_bytes = bytes;
        let mut at = 0;
        self.row.clear();
        for length in lengths {
            let bytes = self
                .row_bytes
                .get(at..)
                .map_or(std::ptr::null(), <[u8]>::as_ptr);
            self.row.push(match length {
                Some(length) => RowValue {
                    length: length as u32,
                    bytes: bytes.cast(),
                },
                None => RowValue {
                    length: 0,
                    bytes: std::ptr::null(),
                },
            });
            at += length.unwrap_or(0) + 1;
        }
        self.result.row_values = self.row.as_mut_ptr();
        more
    }

    /// True if its result or a statement of it has this address.
    pub fn has_given_out(&self, address: usize) -> bool {
        let mut statements = self.statements.iter();
        self.result.address().addr() == address
            || statements.any(|one| one.address().addr() == address)
    }

    /// Forgets the rows that were not read.
    pub fn forget_rows(&mut self) {
        self.rows = None;
        self.shapes.clear();
    }

    /// Frees the result of the last query.
    ///
    /// # Errors
    /// Words for why there is none.
    pub fn free_result(&mut self) -> Result<(), &'static str> {
        if self.is_closed {
            return Err(CLOSED);
        }
        if !std::mem::take(&mut self.has_result) {
            return Err("attempt to free an invalid result set");
        }
        self.forget_rows();
        Ok(())
    }

    /// Words for why no row can be read; none if one may be.
    pub fn no_rows(&self) -> Option<&'static str> {
        if self.is_closed {
            Some(CLOSED)
        } else if !self.has_result {
            Some("attempt to fetch row from an invalid result set")
        } else if self.rows.is_none() {
            // Values of prepared statements are not kept; sysbench does not give them either.
            Some("attempt to fetch row from an empty result set")
        } else {
            None
        }
    }

    pub(super) fn keep_error(&mut self, error: &ServerError) {
        self.face.sql_errno = error.code.into();
        if let Some(state) = self.sql_state.get_mut(..5) {
            state.copy_from_slice(&error.sqlstate);
        }
        self.message.clear();
        self.message
            .extend(error.message.bytes().filter(|byte| *byte != 0));
        self.message.push(0);
        self.face.sql_state = self.sql_state.as_ptr().cast();
        self.face.sql_errmsg = self.message.as_ptr().cast();
    }

    /// Sends the rows that were gathered.
    pub fn flush_bulk(&mut self, session: &mut OfThread<'_>) -> Result<(), CallFailed> {
        let Some(text) = self.bulk.take() else {
            return Ok(());
        };
        let sent = self.query(session, &text);
        self.bulk.recycle(text);
        sent.map(|_| ())
    }

    /// Adds one row; if the statement would get too long, it sends the gathered rows first.
    pub fn add_to_bulk(
        &mut self,
        session: &mut OfThread<'_>,
        row: &[u8],
    ) -> Result<(), CallFailed> {
        if !self.bulk.is_open() {
            let words = "attempt to call bulk_insert_next() before bulk_insert_init()";
            session.run.log.say(Level::Alert, words);
            return Err(CallFailed);
        }
        if self.bulk.is_full_for(row) {
            self.flush_bulk(session)?;
        }
        self.bulk.add(row);
        Ok(())
    }
}

fn class_of(answered: &Answered) -> Counter {
    if answered.summary.columns > 0 {
        Counter::Read
    } else if answered.summary.affected_rows > 0 {
        Counter::Write
    } else {
        Counter::Other
    }
}

/// Longest part of a statement that is kept as an example with its error.
const EXAMPLE_BYTES_MAX: usize = 512;

/// In the place of a statement where a login was refused.
pub const CONNECTING: &str = "(connect)";

/// Counts an error, and keeps the server's words.
pub(super) fn record(run: &Run, error: &ServerError, sql: &[u8]) {
    let mut errors = run.errors.lock().unwrap_or_else(PoisonError::into_inner);
    errors.record(error.code, error.sqlstate(), &error.message, || {
        String::from_utf8_lossy(sql.get(..EXAMPLE_BYTES_MAX).unwrap_or(sql)).into_owned()
    });
}

/// The error of a connection that broke in the middle of an exchange.
pub fn lost(code: u16) -> ServerError {
    let words = match code {
        crate::lua::thread_io::client_error::GONE => "Server has gone away",
        _ => "Lost connection to server during query",
    };
    client_error(code, words)
}

const _: () = {
    // The declarations of `sql.lua` must be laid out as here.
    assert!(size_of::<faces::ConnectionFace>() == 40);
    assert!(size_of::<faces::StatementFace>() == 16);
    assert!(size_of::<faces::ResultFace>() == 40);
    assert!(size_of::<super::param::RawBind>() == 16 + 8 + size_of::<c_ulong>() + 8);
};
