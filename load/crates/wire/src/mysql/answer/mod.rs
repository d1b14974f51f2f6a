//! Reads the answer to one command: its end, its result, its number of rows.
//!
//! Two ways in, with one set of rules. [`AnswerReader::feed`] takes raw bytes of the stream and
//! skips the values. It copies nothing, and reads only the header and the first byte of a column or
//! a row. So a row of 16 MB and a result set that never ends cost no memory.
//! [`AnswerReader::packet`] takes whole packets of a [`super::frame::FrameReader`] and names each
//! one, for callers that want values.

use super::capability::status;
use super::cursor::Cursor;
use super::frame::{HEADER_BYTES, PAYLOAD_MAX, header, wrong_sequence};
use crate::{Capabilities, Prepared, ServerError, Summary, WireError};

mod said;
#[cfg(test)]
mod tests;

pub use said::{AnswerPacket, AnswerState, Fed, ReplyForm};

/// [`AnswerReader::feed`] leaves at most this number of bytes unconsumed when it asks for more.
pub const TAIL_MAX: usize = HEADER_BYTES + HEAD_MAX;

/// The bytes read of a packet that has a meaning: an ERR packet's code and message fit.
const HEAD_MAX: usize = 1024;

/// The servers' limit is 4096 a table; a select list may be longer, its count has two bytes
/// in the prepare answer.
const COLUMNS_MAX: u64 = 65_535;

/// What the next packet must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    First,
    PrepareFirst,
    Parameters(u32),
    ParametersMark,
    Columns(u32),
    ColumnsMark,
    Rows,
    Infile,
    Done,
}

/// The meaning of one packet, before its payload is handed out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Prepared,
    ResultSet { columns: u32, metadata: bool },
    Parameter,
    Column,
    Mark,
    Row,
    ResultEnd,
    LocalInfile,
    Done,
}

/// The state of one connection's answer. Small, and allocates only for the first error's message.
#[derive(Debug)]
pub struct AnswerReader {
    capabilities: Capabilities,
    phase: Phase,
    /// Bytes of the current frame still to be passed over.
    skip: usize,
    /// The frame was full: the next one continues its packet.
    continued: bool,
    sequence: u8,
    /// Frames are numbered through. Inside compressed packets the servers start again.
    numbered: bool,
    of_prepare: bool,
    /// The result set holds out parameters of a procedure: the end of the call follows it.
    out_parameters: bool,
    summary: Summary,
    prepared: Prepared,
    /// The error met last; of this answer if that failed. It stays for the room that it has: some
    /// servers answer every second statement with a deadlock.
    error: Option<Box<ServerError>>,
}

impl AnswerReader {
    /// For a connection with these negotiated capabilities. Waits for [`Self::expect`].
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            phase: Phase::Done,
            skip: 0,
            continued: false,
            sequence: 1,
            numbered: !capabilities.is_compressed(),
            of_prepare: false,
            out_parameters: false,
            summary: Summary::default(),
            prepared: Prepared::default(),
            error: None,
        }
    }

    /// A command was sent, or will be: forget the last answer and wait for this one.
    pub fn expect(&mut self, reply: ReplyForm) {
        self.of_prepare = reply == ReplyForm::Prepare;
        self.phase = if self.of_prepare {
            Phase::PrepareFirst
        } else {
            Phase::First
        };
        self.skip = 0;
        self.continued = false;
        self.out_parameters = false;
        self.sequence = 1;
        self.summary = Summary::default();
    }

    /// The next of several requests that were sent at once is answered now: the summary goes on,
    /// and an error stays.
    pub fn expect_another(&mut self) {
        self.phase = Phase::First;
        self.sequence = 1;
    }

    /// After [`Self::expect`], where the command may be longer than 16 MB: the answer to several
    /// frames is numbered after them. See [`super::frame::sequence_after`].
    pub fn expect_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// True between [`Self::expect`] and the end of the answer.
    pub fn is_waiting(&self) -> bool {
        self.phase != Phase::Done || self.skip > 0 || self.continued
    }

    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The error that ended the answer.
    pub fn error(&self) -> Option<&ServerError> {
        self.error.as_deref().filter(|_| self.summary.failed)
    }

    /// The prepare answer, if it was one and no error.
    pub fn prepared(&self) -> Option<Prepared> {
        (self.of_prepare && !self.summary.failed).then_some(self.prepared)
    }

    /// The sequence number of the next frame, ours or theirs.
    pub fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// The local file was sent, its end included; `next_sequence` comes after its last packet.
    pub fn infile_sent(&mut self, next_sequence: u8) {
        if self.phase == Phase::Infile {
            self.phase = Phase::First;
            self.sequence = next_sequence;
        }
    }

    /// Reads bytes of the stream in place, up to the end of the answer.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, WireError> {
        let mut rest = bytes;
        let state = loop {
            if self.skip > 0 {
                let skipped = self.skip.min(rest.len());
                rest = rest.get(skipped..).unwrap_or_default();
                self.skip -= skipped;
                if self.skip > 0 {
                    break AnswerState::More;
                }
            }
            if !self.continued {
                match self.phase {
                    Phase::Done => break AnswerState::Done,
                    Phase::Infile => break AnswerState::LocalInfile,
                    Phase::Rows => rest = self.pass_rows(rest),
                    Phase::Columns(left) => rest = self.pass_columns(rest, left),
                    _ => {}
                }
            }
            let Some((head, after)) = rest.split_first_chunk::<HEADER_BYTES>() else {
                break AnswerState::More;
            };
            let (length, sequence) = header(*head);
            if sequence != self.sequence && self.numbered {
                return Err(wrong_sequence(sequence, self.sequence));
            }
            if !self.continued {
                let payload = after.get(..length).unwrap_or(after);
                if payload.len() < length && payload.len() < self.wanted(payload) {
                    break AnswerState::More;
                }
                self.meaning(payload, length)?;
            }
            self.sequence = sequence.wrapping_add(1);
            self.continued = length == PAYLOAD_MAX;
            self.skip = length;
            rest = after;
        };
        Ok(Fed {
            consumed: bytes.len() - rest.len(),
            state,
        })
    }

    /// Passes over rows that are whole: most packets of most answers.
    #[inline]
    fn pass_rows<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (passed, rest) = pass_whole(bytes, self.sequence, u64::MAX, 0xfe);
        self.summary.rows += passed;
        self.sequence = self.sequence.wrapping_add(passed as u8);
        rest
    }

    /// Passes over definitions that are whole. The last one, after which something else comes,
    /// is left to the rules.
    #[inline]
    fn pass_columns<'b>(&mut self, bytes: &'b [u8], left: u32) -> &'b [u8] {
        let (passed, rest) = pass_whole(bytes, self.sequence, u64::from(left) - 1, 0xff);
        self.phase = Phase::Columns(left - passed as u32);
        self.sequence = self.sequence.wrapping_add(passed as u8);
        rest
    }

    /// Reads one whole packet and names it. The caller's frame reader checks sequence numbers.
    pub fn packet<'p>(&mut self, payload: &'p [u8]) -> Result<AnswerPacket<'p>, WireError> {
        Ok(match self.meaning(payload, payload.len())? {
            Meaning::Prepared => AnswerPacket::Prepared,
            Meaning::ResultSet { columns, metadata } => {
                AnswerPacket::ResultSet { columns, metadata }
            }
            Meaning::Parameter => AnswerPacket::Parameter(payload),
            Meaning::Column => AnswerPacket::Column(payload),
            Meaning::Mark => AnswerPacket::Mark,
            Meaning::Row => AnswerPacket::Row(payload),
            Meaning::ResultEnd => AnswerPacket::ResultEnd,
            Meaning::LocalInfile => AnswerPacket::LocalInfile(payload.get(1..).unwrap_or_default()),
            Meaning::Done => AnswerPacket::Done,
        })
    }

    /// How many bytes of a torn packet must be there before it can be judged.
    fn wanted(&self, payload: &[u8]) -> usize {
        match (self.phase, payload.first()) {
            (Phase::Columns(_) | Phase::Parameters(_), Some(0..=0xfe)) => 1,
            (Phase::Rows, Some(0..=0xfd)) => 1,
            _ => HEAD_MAX,
        }
    }

    /// Judges a packet of `length` bytes by its head and moves on.
    #[inline]
    fn meaning(&mut self, head: &[u8], length: usize) -> Result<Meaning, WireError> {
        let Some(&first) = head.first() else {
            return Err(WireError::theirs("an empty packet inside an answer"));
        };
        if self.phase == Phase::Rows && first < 0xfe {
            self.summary.rows += 1;
            return Ok(Meaning::Row);
        }
        self.meaning_of_the_rest(head, first, length)
    }

    fn meaning_of_the_rest(
        &mut self,
        head: &[u8],
        first: u8,
        length: usize,
    ) -> Result<Meaning, WireError> {
        if first == 0xff {
            self.error.get_or_insert_default().read(head)?;
            self.summary.failed = true;
            self.phase = Phase::Done;
            return Ok(Meaning::Done);
        }
        match self.phase {
            Phase::First => self.first_of_a_result(head, first),
            Phase::PrepareFirst => self.first_of_a_prepare(head),
            Phase::Parameters(left) => {
                self.phase = match left {
                    1 if self.has_marks() => Phase::ParametersMark,
                    1 => self.prepared_columns(),
                    _ => Phase::Parameters(left - 1),
                };
                Ok(Meaning::Parameter)
            }
            Phase::ParametersMark => {
                eof(head, length)?;
                self.phase = self.prepared_columns();
                Ok(self.mark())
            }
            Phase::Columns(left) => {
                self.phase = match left {
                    1 if self.has_marks() => Phase::ColumnsMark,
                    1 if self.of_prepare => Phase::Done,
                    1 => Phase::Rows,
                    _ => Phase::Columns(left - 1),
                };
                Ok(Meaning::Column)
            }
            Phase::ColumnsMark => {
                let (_, status) = eof(head, length)?;
                // MySQL announces here, and not at the end of the rows, that more follows.
                self.out_parameters = status & status::OUT_PARAMETERS != 0;
                self.phase = if self.of_prepare {
                    Phase::Done
                } else {
                    Phase::Rows
                };
                Ok(self.mark())
            }
            Phase::Rows => self.end_of_rows(head, length),
            Phase::Infile => Err(WireError::theirs(
                "an answer before the local file was sent",
            )),
            Phase::Done => Err(WireError::theirs("a packet after the end of the answer")),
        }
    }

    fn first_of_a_result(&mut self, head: &[u8], first: u8) -> Result<Meaning, WireError> {
        match first {
            0x00 => Ok(self.ok(head)?),
            0xfb => {
                if !self.capabilities.has(Capabilities::LOCAL_FILES) {
                    return Err(WireError::theirs(
                        "it requests a local file, which was not offered",
                    ));
                }
                self.phase = Phase::Infile;
                Ok(Meaning::LocalInfile)
            }
            _ => {
                let mut cursor = Cursor::new(head);
                let columns = cursor.lenenc("column count")?;
                if columns == 0 || columns > COLUMNS_MAX {
                    return Err(WireError::theirs(format!(
                        "a result set of {columns} columns"
                    )));
                }
                let metadata = !self.capabilities.has(Capabilities::MARIADB_CACHE_METADATA)
                    || cursor.u8("metadata flag")? != 0;
                self.summary.columns = columns as u32;
                self.phase = match (metadata, self.has_marks()) {
                    (true, _) => Phase::Columns(columns as u32),
                    (false, true) => Phase::ColumnsMark,
                    (false, false) => Phase::Rows,
                };
                Ok(Meaning::ResultSet {
                    columns: columns as u32,
                    metadata,
                })
            }
        }
    }

    fn first_of_a_prepare(&mut self, head: &[u8]) -> Result<Meaning, WireError> {
        let mut cursor = Cursor::new(head);
        if cursor.u8("prepare answer")? != 0 {
            return Err(WireError::theirs("a prepare answer of an unknown kind"));
        }
        let id = cursor.u32("statement id")?;
        let columns = cursor.u16("column count")?;
        let parameters = cursor.u16("parameter count")?;
        cursor.u8("filler")?;
        self.summary.warnings = cursor.u16("warning count")?;
        self.prepared = Prepared {
            id,
            columns,
            parameters,
        };
        self.phase = match parameters {
            0 => self.prepared_columns(),
            count => Phase::Parameters(u32::from(count)),
        };
        // One packet can be both the first and the last: check `is_waiting`.
        Ok(Meaning::Prepared)
    }

    fn prepared_columns(&self) -> Phase {
        match self.prepared.columns {
            0 => Phase::Done,
            count => Phase::Columns(u32::from(count)),
        }
    }

    fn mark(&self) -> Meaning {
        if self.phase == Phase::Done {
            Meaning::Done
        } else {
            Meaning::Mark
        }
    }

    fn end_of_rows(&mut self, head: &[u8], length: usize) -> Result<Meaning, WireError> {
        if self.has_marks() {
            if length >= 9 {
                self.summary.rows += 1;
                return Ok(Meaning::Row);
            }
            let (warnings, status) = eof(head, length)?;
            return Ok(self.end_of_result(warnings, status));
        }
        if length >= PAYLOAD_MAX {
            self.summary.rows += 1;
            return Ok(Meaning::Row);
        }
        self.ok(head)
    }

    /// An OK packet: ends a result.
    fn ok(&mut self, head: &[u8]) -> Result<Meaning, WireError> {
        let mut cursor = Cursor::new(head);
        cursor.u8("OK packet")?;
        let affected = cursor.lenenc("affected rows")?;
        let insert_id = cursor.lenenc("insert id")?;
        let status = cursor.u16("status flags")?;
        let warnings = cursor.u16("warning count")?;
        self.summary.affected_rows = self.summary.affected_rows.wrapping_add(affected);
        if insert_id != 0 {
            self.summary.last_insert_id = insert_id;
        }
        Ok(self.end_of_result(warnings, status))
    }

    fn end_of_result(&mut self, warnings: u16, status: u16) -> Meaning {
        self.summary.results = self.summary.results.wrapping_add(1);
        self.summary.warnings = self.summary.warnings.saturating_add(warnings);
        let out_parameters = std::mem::take(&mut self.out_parameters);
        if status & status::MORE_RESULTS != 0 || out_parameters {
            self.phase = Phase::First;
            Meaning::ResultEnd
        } else {
            self.phase = Phase::Done;
            Meaning::Done
        }
    }

    fn has_marks(&self) -> bool {
        !self.capabilities.has(Capabilities::DEPRECATE_EOF)
    }
}

/// Passes over at most `count` whole packets of one frame that begin below `special`. Returns how
/// many there were, and the rest; anything out of the ordinary is left.
#[inline]
fn pass_whole(bytes: &[u8], sequence: u8, count: u64, special: u8) -> (u64, &[u8]) {
    let mut rest = bytes;
    let mut passed = 0;
    while passed < count {
        let Some((head, after)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            break;
        };
        let (length, number) = header(*head);
        let ordinary = after.first().is_some_and(|first| *first < special)
            && number == sequence.wrapping_add(passed as u8)
            && length.wrapping_sub(1) < PAYLOAD_MAX - 1;
        let Some(next) = after.get(length..).filter(|_| ordinary) else {
            break;
        };
        passed += 1;
        rest = next;
    }
    (passed, rest)
}

/// Reads an EOF packet: warnings and status flags.
fn eof(head: &[u8], length: usize) -> Result<(u16, u16), WireError> {
    let mut cursor = Cursor::new(head);
    if length >= 9 || cursor.u8("EOF packet")? != 0xfe {
        return Err(WireError::theirs("a different packet instead of EOF"));
    }
    Ok((cursor.u16("warning count")?, cursor.u16("status flags")?))
}
