//! Statements of our own: those sent outside the load, and rows on their way to a server.

use super::{BlockingLink, Broken, Patience};
use crate::Target;
use crate::dialect::{Dialect, Heard};
use crate::failure;
use crate::link::may_keep;
use crate::request::Reply;
use contend_figures::outcome::Failure;
use contend_reactor::wait::is_readable;
use contend_wire::mysql::statement::COM_STMT_EXECUTE;
use contend_wire::mysql::{Agreed, ResultRows, command};
use contend_wire::{Prepared, ServerError, Summary, Value};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The rows of an answer as text; NULL is none.
pub type TextRows = Vec<Vec<Option<String>>>;

/// The whole content of an answer.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    pub summary: Summary,
    pub error: Option<ServerError>,
    pub prepared: Option<Prepared>,
    /// The rows of all its results, as text.
    pub rows: TextRows,
}

/// Takes rows as they come. An error ends the reading.
pub type TakeRow<'a> = &'a mut dyn FnMut(Vec<Option<String>>) -> Result<(), Failure>;

pub struct ControlConnection {
    link: BlockingLink,
    agreed: Agreed,
}

impl ControlConnection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// No server listens, or it refuses the login.
    pub fn open(target: &Target) -> Result<Self, Failure> {
        let mut target = target.clone();
        // Control statements are short, and rows come from this host or a fast network.
        target.options.compression = None;
        let link = BlockingLink::open(&target);
        let mut link = link.map_err(|broken| broken.unopened(&target.address))?;
        let agreed = link.link().agreed().cloned();
        let agreed = agreed.ok_or_else(|| Broken::Closed.unopened(&target.address))?;
        link.doubt(target);
        Ok(Self { link, agreed })
    }

    /// The facts agreed at login: the server's version, the connection's number.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Runs a statement whose rows are not wanted.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    pub fn run(&mut self, sql: &str, patience: Patience<'_>) -> Result<Summary, Failure> {
        self.begin(sql, patience)?;
        self.end(sql, patience)
    }

    /// Makes a database that of the statements to come.
    ///
    /// # Errors
    /// Like [`Self::run`].
    pub fn choose(&mut self, database: &str, patience: Patience<'_>) -> Result<Summary, Failure> {
        let write = |out: &mut Vec<u8>| command::init_db(out, database);
        let asked = self.link.ask(Reply::Counts, write, patience);
        self.told(asked)?;
        self.end(database, patience)
    }

    /// Sends a statement and does not wait for its answer.
    ///
    /// # Errors
    /// The server is gone.
    pub fn begin(&mut self, sql: &str, patience: Patience<'_>) -> Result<(), Failure> {
        let write = |out: &mut Vec<u8>| command::query(out, sql.as_bytes());
        let asked = self.link.ask(Reply::Counts, write, patience);
        self.told(asked)
    }

    /// Waits for the answer to the statement begun last.
    ///
    /// # Errors
    /// Like [`Self::run`].
    pub fn end(&mut self, sql: &str, patience: Patience<'_>) -> Result<Summary, Failure> {
        if self.wants_file(patience)? {
            return Err(self.wants_no_file());
        }
        self.summary(sql)
    }

    /// True if the server has sent something, or is gone.
    pub fn has_spoken(&self, within: Duration) -> bool {
        is_readable(&self.link, within)
    }

    /// Runs a `LOAD DATA LOCAL INFILE` and sends the parts that `next` appends to the buffer it is
    /// given, until it appends nothing.
    ///
    /// # Errors
    /// Like [`Self::run`], and all errors of `next`.
    pub fn load_local(
        &mut self,
        sql: &str,
        next: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), Failure>,
        patience: Patience<'_>,
    ) -> Result<Summary, Failure> {
        self.begin(sql, patience)?;
        if !self.wants_file(patience)? {
            // Refused: the answer gives the reason.
            return self.summary(sql);
        }
        let mut part = Vec::new();
        loop {
            part.clear();
            next(&mut part)?;
            let sent = self.link.send_file_part(&part, patience);
            self.told(sent)?;
            if part.is_empty() {
                return self.end(sql, patience);
            }
        }
    }

    /// Sends one command and keeps all of its answer, if `reply` wants its rows. An error of the
    /// server is an answer.
    ///
    /// # Errors
    /// The server is gone or breaks the protocol, or the answer is too long to keep.
    pub fn whole(
        &mut self,
        packets: &[u8],
        reply: Reply,
        patience: Patience<'_>,
    ) -> Result<Whole, Failure> {
        let address = self.link.address().clone();
        let mut rows = Vec::new();
        let mut bytes = 0;
        let mut keep = |row: Vec<Option<String>>| {
            // Rows of nothing cost memory too.
            bytes += size_of::<Vec<String>>() + row.len() * size_of::<Option<String>>();
            bytes += row.iter().flatten().map(String::len).sum::<usize>();
            rows.push(row);
            may_keep(bytes).map_err(|error| failure::of_wire(&address, &error))
        };
        self.read(packets, reply, &mut keep, patience)?;
        let link = self.link.link();
        Ok(Whole {
            summary: *link.summary(),
            error: link.error().cloned(),
            prepared: link.prepared(),
            rows,
        })
    }

    /// Runs a query and keeps its rows.
    ///
    /// # Errors
    /// Like [`Self::run`]; or the rows are too many to keep.
    pub fn rows(&mut self, sql: &str, patience: Patience<'_>) -> Result<TextRows, Failure> {
        let mut packets = Vec::new();
        command::query(&mut packets, sql.as_bytes());
        let answer = self.whole(&packets, Reply::Whole, patience)?;
        self.summary(sql).map(|_| answer.rows)
    }

    /// Sends one command and hands the rows of its answer over as they come.
    fn read(
        &mut self,
        packets: &[u8],
        reply: Reply,
        take: TakeRow<'_>,
        patience: Patience<'_>,
    ) -> Result<(), Failure> {
        let capabilities = self.agreed.capabilities;
        let mut rows = match packets.get(4) {
            Some(&COM_STMT_EXECUTE) => ResultRows::of_prepared(&[], capabilities),
            _ => ResultRows::new(&[], capabilities),
        };
        let write = |out: &mut Vec<u8>| out.extend_from_slice(packets);
        let asked = self.link.ask(reply, write, patience);
        self.told(asked)?;
        let mut doubt = self.link.doubts();
        // One row may have no end, nor the bytes before the first.
        let mut since_row = 0;
        loop {
            let heard = self.link.hear_doubting(&mut doubt, patience);
            let heard = self.told(heard)?;
            let piece = self.link.link.take_whole();
            since_row += piece.len();
            rows.feed(piece.as_slice());
            drop(piece);
            let wire = |error| failure::of_wire(self.link.address(), &error);
            let mut row = Vec::new();
            loop {
                while rows
                    .next_row(|value| row.push(in_words(value)))
                    .map_err(wire)?
                {
                    since_row = 0;
                    take(std::mem::take(&mut row))?;
                }
                if !rows.next_result().map_err(wire)? {
                    break;
                }
            }
            match heard {
                Heard::Answered(_) => return Ok(()),
                Heard::LocalFile => return Err(self.wants_no_file()),
                Heard::More | Heard::Opened => may_keep(since_row).map_err(wire)?,
            }
        }
    }

    fn wants_file(&mut self, patience: Patience<'_>) -> Result<bool, Failure> {
        let listened = self.link.listen(patience);
        self.told(listened)
    }

    fn told<T>(&self, result: Result<T, Broken>) -> Result<T, Failure> {
        result.map_err(|broken| broken.failure(self.link.address()))
    }

    fn summary(&self, sql: &str) -> Result<Summary, Failure> {
        match self.link.link().error() {
            Some(error) => Err(failure::of_statement(error, sql.to_owned())),
            None => Ok(*self.link.link().summary()),
        }
    }

    fn wants_no_file(&self) -> Failure {
        Failure::plain(format!(
            "server at {}: it requests a local file",
            self.link.address()
        ))
    }
}

/// To wait for it together with other descriptors.
impl AsFd for ControlConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

/// A value as the text protocol spells it, but for zeros at its end.
fn in_words(value: Value<'_>) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Int(number) => number.to_string(),
        Value::Int32(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Bytes(bytes) | Value::Decimal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(date) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}",
            date.year, date.month, date.day, date.hour, date.minute, date.second, date.microsecond
        ),
        Value::Time(time) => format!(
            "{}{:02}:{:02}:{:02}.{:06}",
            if time.negative { "-" } else { "" },
            u64::from(time.hour) + 24 * u64::from(time.days),
            time.minute,
            time.second,
            time.microsecond
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::Time;

    #[test]
    fn the_longest_time_that_a_server_can_send_has_all_its_hours() {
        let longest = Time {
            negative: true,
            days: u32::MAX,
            hour: 255,
            ..Time::default()
        };
        let text = in_words(Value::Time(longest));
        assert_eq!(text.as_deref(), Some("-103079215335:00:00.000000"));
    }
}
