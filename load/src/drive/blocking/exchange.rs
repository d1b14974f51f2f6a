//! A request in bytes for its whole answer in values, whichever protocol it is in.

use super::{ANSWER_BYTES_MAX, Connection, Patience, TextRows};
use crate::drive::failure;
use crate::outcome::Failure;
use crate::wire::statement::COM_STMT_EXECUTE;
use crate::wire::{
    BinaryRow, Column, Event, Prepared, Reply, ServerError, Summary, TextRow, Value, WireError,
    command,
};

/// Everything that an answer said.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    pub summary: Summary,
    pub error: Option<ServerError>,
    pub prepared: Option<Prepared>,
    /// Of all its results, as text.
    pub rows: TextRows,
}

/// Takes rows as they come. An error ends the reading.
pub type TakeRow<'a> = &'a mut dyn FnMut(Vec<Option<String>>) -> Result<(), Failure>;

impl Connection {
    /// Sends one command and keeps all of its answer. An error of the server is an answer.
    ///
    /// # Errors
    /// The server is gone or breaks the protocol, or the answer is too long to keep.
    pub fn exchange(
        &mut self,
        packets: &[u8],
        reply: Reply,
        patience: Patience<'_>,
    ) -> Result<Whole, Failure> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        self.packets.clear();
        self.packets.extend_from_slice(packets);
        self.ask(reply, patience)?;
        let is_binary = packets.get(4) == Some(&COM_STMT_EXECUTE);
        let mut keep = |row: Vec<Option<String>>| {
            bytes += row.iter().flatten().map(String::len).sum::<usize>();
            rows.push(row);
            if bytes > ANSWER_BYTES_MAX {
                return Err(failure::plain("an answer is too long to be kept"));
            }
            Ok(())
        };
        self.read_rows(is_binary, &mut keep, patience)?;
        Ok(Whole {
            summary: *self.answer.summary(),
            error: self.answer.error().cloned(),
            prepared: self.answer.prepared(),
            rows,
        })
    }

    /// Runs a query and keeps its rows.
    ///
    /// # Errors
    /// As [`Self::run`]; or the rows are too many to keep.
    pub fn rows(&mut self, sql: &str, patience: Patience<'_>) -> Result<TextRows, Failure> {
        let mut packets = Vec::new();
        command::query(&mut packets, sql.as_bytes());
        let answer = self.exchange(&packets, Reply::Results, patience)?;
        match answer.error {
            Some(error) => Err(failure::of_statement(&error, sql.to_owned())),
            None => Ok(answer.rows),
        }
    }

    /// Runs a query and hands its rows over one by one.
    ///
    /// # Errors
    /// The server refuses it or is gone, or what `take` reports.
    pub fn each_row(
        &mut self,
        sql: &str,
        take: TakeRow<'_>,
        patience: Patience<'_>,
    ) -> Result<(), Failure> {
        self.begin(sql, patience)?;
        self.read_rows(false, take, patience)?;
        self.summary(sql).map(drop)
    }

    fn read_rows(
        &mut self,
        is_binary: bool,
        take: TakeRow<'_>,
        patience: Patience<'_>,
    ) -> Result<(), Failure> {
        let mut columns = Vec::new();
        loop {
            let wire = |error| failure::of_wire(&self.address, &error);
            while let Some(packet) = self.frames.next_packet().map_err(wire)? {
                match self.answer.packet(packet).map_err(wire)? {
                    Event::ResultSet { .. } => columns.clear(),
                    Event::Column(payload) => columns.push(Column::parse(payload).map_err(wire)?),
                    Event::Row(row) if is_binary => take(of_binary(&columns, row).map_err(wire)?)?,
                    Event::Row(row) => take(of_text(row).map_err(wire)?)?,
                    Event::LocalInfile(_) => return Err(self.broken("it asks for a local file")),
                    _ => {}
                }
                // What answers a prepare has no packet of its own at its end.
                if !self.answer.is_waiting() {
                    return Ok(());
                }
            }
            self.hear(patience)?;
        }
    }
}

fn of_text(row: &[u8]) -> Result<Vec<Option<String>>, WireError> {
    TextRow::new(row)
        .map(|value| Ok(value?.map(|text| String::from_utf8_lossy(text).into_owned())))
        .collect()
}

fn of_binary(columns: &[Column], row: &[u8]) -> Result<Vec<Option<String>>, WireError> {
    BinaryRow::new(columns, row)?
        .map(|value| Ok(in_words(value?)))
        .collect()
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
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(date) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}",
            date.year, date.month, date.day, date.hour, date.minute, date.second, date.microsecond
        ),
        Value::Time(time) => format!(
            "{}{:02}:{:02}:{:02}.{:06}",
            if time.negative { "-" } else { "" },
            u32::from(time.hour) + 24 * time.days,
            time.minute,
            time.second,
            time.microsecond
        ),
    })
}
