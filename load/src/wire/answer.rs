//! Reads the answer to one command: where it ends, what it says, how many rows it has.
//!
//! Two ways in, one set of rules behind them. [`AnswerReader::feed`] takes raw bytes of the
//! stream and passes over what nobody wants to see: it copies nothing, and of a column or a row
//! it looks at the header and the first byte only, so a row of 16 MB and a result set that never
//! ends cost no memory. [`AnswerReader::packet`] takes whole packets of a
//! [`super::frame::FrameReader`] and names each one, for those who want values.

use super::capability::{Capabilities, status};
use super::cursor::Cursor;
use super::error::{ServerError, WireError};
use super::frame::{HEADER_BYTES, PAYLOAD_MAX, header, wrong_sequence};

/// [`AnswerReader::feed`] leaves at most so many bytes unconsumed when it asks for more.
pub const TAIL_MAX: usize = HEADER_BYTES + HEAD_MAX;

/// What is read of a packet that has a meaning: an ERR packet's code and message fit.
const HEAD_MAX: usize = 1024;

/// The servers' limit is 4096 a table; a select list may be longer, its count has two bytes
/// in the prepare answer.
const COLUMNS_MAX: u64 = 65_535;

/// What kind of answer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To everything but a prepare: OK, ERR, result sets, a request for a local file.
    Results,
    /// To COM_STMT_PREPARE.
    Prepare,
}

/// What [`AnswerReader::feed`] made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// So many bytes are done with. With [`State::More`] the rest, at most [`TAIL_MAX`] bytes,
    /// must come again in front of the bytes that follow.
    pub consumed: usize,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The answer goes on.
    More,
    /// The answer is over; what follows belongs to the next one.
    Done,
    /// The server waits for the packets of a local file, the first of them numbered
    /// [`AnswerReader::next_sequence`]; tell [`AnswerReader::infile_sent`], then feed on.
    LocalInfile,
}

/// One packet of an answer, as [`AnswerReader::packet`] names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'p> {
    /// A prepare answer's first packet: see [`AnswerReader::prepared`].
    Prepared,
    /// A result set begins. Without `metadata` its columns are those sent last time.
    ResultSet {
        columns: u32,
        metadata: bool,
    },
    /// The definition of a parameter, of a column.
    Parameter(&'p [u8]),
    Column(&'p [u8]),
    /// The EOF packet between definitions and what follows them.
    Mark,
    Row(&'p [u8]),
    /// A result is over and another follows.
    ResultEnd,
    /// The name of the file that the server asks for.
    LocalInfile(&'p [u8]),
    /// The answer is over: see [`AnswerReader::summary`] and [`AnswerReader::error`].
    Done,
}

/// What an answer said, over all of its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub rows: u64,
    pub affected_rows: u64,
    /// Of the last result that had one.
    pub last_insert_id: u64,
    /// OK packets and result sets.
    pub results: u32,
    /// Columns of the last result set.
    pub columns: u32,
    pub warnings: u16,
    /// Status flags of the last result, see [`status`].
    pub status: u16,
    /// The answer ended with an error: see [`AnswerReader::error`].
    pub failed: bool,
}

/// A prepare answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    pub id: u32,
    pub columns: u16,
    pub parameters: u16,
}

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

/// The state of one connection's answer. Small, and allocates only for an error's message.
#[derive(Debug)]
pub struct AnswerReader {
    capabilities: Capabilities,
    phase: Phase,
    /// Bytes of the current frame still to be passed over.
    skip: usize,
    /// The frame was full: the next one continues its packet.
    continued: bool,
    sequence: u8,
    of_prepare: bool,
    summary: Summary,
    prepared: Prepared,
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
            of_prepare: false,
            summary: Summary::default(),
            prepared: Prepared::default(),
            error: None,
        }
    }

    /// A command was sent, or will be: forget the last answer and wait for this one.
    pub fn expect(&mut self, reply: Reply) {
        self.of_prepare = reply == Reply::Prepare;
        self.phase = if self.of_prepare {
            Phase::PrepareFirst
        } else {
            Phase::First
        };
        self.skip = 0;
        self.continued = false;
        self.sequence = 1;
        self.summary = Summary::default();
        self.error = None;
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
        self.error.as_deref()
    }

    /// The prepare answer, if it was one and no error.
    pub fn prepared(&self) -> Option<Prepared> {
        (self.of_prepare && self.error.is_none()).then_some(self.prepared)
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
                    break State::More;
                }
            }
            if !self.continued {
                match self.phase {
                    Phase::Done => break State::Done,
                    Phase::Infile => break State::LocalInfile,
                    _ => {}
                }
            }
            let Some((head, after)) = rest.split_first_chunk::<HEADER_BYTES>() else {
                break State::More;
            };
            let (length, sequence) = header(*head);
            if sequence != self.sequence {
                return Err(wrong_sequence(sequence, self.sequence));
            }
            if !self.continued {
                let payload = after.get(..length).unwrap_or(after);
                if payload.len() < length && payload.len() < self.wanted(payload) {
                    break State::More;
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

    /// Reads one whole packet and names it. The caller's frame reader checks sequence numbers.
    pub fn packet<'p>(&mut self, payload: &'p [u8]) -> Result<Event<'p>, WireError> {
        Ok(match self.meaning(payload, payload.len())? {
            Meaning::Prepared => Event::Prepared,
            Meaning::ResultSet { columns, metadata } => Event::ResultSet { columns, metadata },
            Meaning::Parameter => Event::Parameter(payload),
            Meaning::Column => Event::Column(payload),
            Meaning::Mark => Event::Mark,
            Meaning::Row => Event::Row(payload),
            Meaning::ResultEnd => Event::ResultEnd,
            Meaning::LocalInfile => Event::LocalInfile(payload.get(1..).unwrap_or_default()),
            Meaning::Done => Event::Done,
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
            self.error = Some(Box::new(ServerError::parse(head)?));
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
                eof(head, length)?;
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
                        "it asks for a local file, which we did not offer",
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
            return Err(WireError::theirs("a prepare answer that begins otherwise"));
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
        // One packet can be both the first and the last: the summary tells by `is_waiting`.
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
        self.summary.status = status;
        if status & status::MORE_RESULTS != 0 {
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

/// Reads an EOF packet: warnings and status flags.
fn eof(head: &[u8], length: usize) -> Result<(u16, u16), WireError> {
    let mut cursor = Cursor::new(head);
    if length >= 9 || cursor.u8("EOF packet")? != 0xfe {
        return Err(WireError::theirs("an EOF packet was due, another one came"));
    }
    Ok((cursor.u16("warning count")?, cursor.u16("status flags")?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::frame::put_packet;

    const PLAIN: Capabilities = Capabilities::NONE;
    const NO_EOF: Capabilities = Capabilities::DEPRECATE_EOF;
    const OK: &[u8] = b"\x00\x02\x05\x02\0\x01\0";
    const OK_AT_END: &[u8] = b"\xfe\0\0\x02\0\0\0";
    const EOF: &[u8] = b"\xfe\0\0\x02\0";
    const MORE: &[u8] = b"\xfe\0\0\x0a\0";
    const COLUMN: &[u8] = b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0";
    const ERROR: &[u8] = b"\xff\x28\x04#42000You have an error";

    fn stream(packets: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut sequence = 1;
        for packet in packets {
            sequence = put_packet(&mut out, sequence, |out| out.extend_from_slice(packet));
        }
        out
    }

    /// Feeds pieces as an event loop does: the tail in front of what comes next.
    fn fed_in_pieces(
        reader: &mut AnswerReader,
        bytes: &[u8],
        piece: usize,
    ) -> Result<State, WireError> {
        let mut held: Vec<u8> = Vec::new();
        let mut state = State::More;
        for part in bytes.chunks(piece) {
            held.extend_from_slice(part);
            let fed = reader.feed(&held)?;
            held.drain(..fed.consumed);
            state = fed.state;
            if state == State::More {
                assert!(held.len() <= TAIL_MAX);
            }
        }
        Ok(state)
    }

    /// Every conversation: whole, in every size of piece, with trailing bytes, by packets.
    fn check(
        capabilities: Capabilities,
        reply: Reply,
        packets: &[&[u8]],
    ) -> (Summary, Option<ServerError>) {
        let bytes = stream(packets);
        let mut reader = AnswerReader::new(capabilities);
        reader.expect(reply);
        let fed = reader.feed(&bytes).unwrap();
        assert_eq!(
            fed,
            Fed {
                consumed: bytes.len(),
                state: State::Done
            }
        );
        let summary = *reader.summary();
        let error = reader.error().cloned();
        assert!(!reader.is_waiting());

        for piece in 1..bytes.len() {
            reader.expect(reply);
            assert_eq!(
                fed_in_pieces(&mut reader, &bytes, piece).unwrap(),
                State::Done
            );
            assert_eq!(
                (*reader.summary(), reader.error().cloned()),
                (summary, error.clone())
            );
        }

        let mut trailing = bytes.clone();
        trailing.extend_from_slice(b"\x01\0\0\x01\0");
        reader.expect(reply);
        assert_eq!(reader.feed(&trailing).unwrap().consumed, bytes.len());

        reader.expect(reply);
        for packet in packets {
            assert!(reader.is_waiting());
            reader.packet(packet).unwrap();
        }
        assert!(!reader.is_waiting());
        assert_eq!(
            (*reader.summary(), reader.error().cloned()),
            (summary, error.clone())
        );
        (summary, error)
    }

    #[test]
    fn ok_and_error() {
        let (summary, error) = check(PLAIN, Reply::Results, &[OK]);
        assert_eq!(
            (
                summary.affected_rows,
                summary.last_insert_id,
                summary.warnings
            ),
            (2, 5, 1)
        );
        assert_eq!(
            (summary.status, summary.results, error),
            (status::AUTOCOMMIT, 1, None)
        );
        let (summary, error) = check(PLAIN, Reply::Results, &[ERROR]);
        assert!(summary.failed);
        assert_eq!(error.unwrap().code, 1064);
    }

    #[test]
    fn result_sets_with_and_without_eof_packets() {
        let rows = [&b"\x011"[..], b"\xfb", b"\x00"];
        let old = [b"\x01", COLUMN, EOF, rows[0], rows[1], rows[2], EOF];
        let (summary, _) = check(PLAIN, Reply::Results, &old);
        assert_eq!((summary.rows, summary.columns, summary.results), (3, 1, 1));
        let new = [b"\x01", COLUMN, rows[0], rows[1], rows[2], OK_AT_END];
        assert_eq!(check(NO_EOF, Reply::Results, &new).0.rows, 3);
        assert_eq!(
            check(NO_EOF, Reply::Results, &[b"\x01", COLUMN, OK_AT_END])
                .0
                .rows,
            0
        );
        let (summary, error) = check(NO_EOF, Reply::Results, &[b"\x01", COLUMN, rows[0], ERROR]);
        assert!(summary.rows == 1 && error.is_some());
    }

    #[test]
    fn several_results() {
        let (summary, _) = check(
            PLAIN,
            Reply::Results,
            &[b"\x01", COLUMN, EOF, b"\x011", MORE, OK],
        );
        assert_eq!(
            (summary.rows, summary.results, summary.affected_rows),
            (1, 2, 2)
        );
    }

    #[test]
    fn cached_metadata() {
        let capabilities = Capabilities::MARIADB_CACHE_METADATA | NO_EOF;
        let packets = [&b"\x01\x00"[..], b"\x00\x00\x05", OK_AT_END];
        assert_eq!(check(capabilities, Reply::Results, &packets).0.rows, 1);
        let packets = [&b"\x01\x01"[..], COLUMN, b"\x00\x00\x05", OK_AT_END];
        assert_eq!(check(capabilities, Reply::Results, &packets).0.rows, 1);
    }

    #[test]
    fn prepare_answers() {
        let head = b"\x00\x09\0\0\0\x01\0\x02\0\0\x03\0";
        let (summary, _) = check(
            PLAIN,
            Reply::Prepare,
            &[head, COLUMN, COLUMN, EOF, COLUMN, EOF],
        );
        assert_eq!(summary.warnings, 3);
        check(NO_EOF, Reply::Prepare, &[head, COLUMN, COLUMN, COLUMN]);
        check(PLAIN, Reply::Prepare, &[b"\x00\x09\0\0\0\0\0\0\0\0\0\0"]);
        check(
            PLAIN,
            Reply::Prepare,
            &[b"\x00\x09\0\0\0\0\0\x01\0\0\0\0", COLUMN, EOF],
        );
        check(PLAIN, Reply::Prepare, &[ERROR]);
        let mut reader = AnswerReader::new(NO_EOF);
        reader.expect(Reply::Prepare);
        reader
            .feed(&stream(&[head, COLUMN, COLUMN, COLUMN]))
            .unwrap();
        assert_eq!(
            reader.prepared(),
            Some(Prepared {
                id: 9,
                columns: 1,
                parameters: 2
            })
        );
        reader.expect(Reply::Prepare);
        reader.feed(&stream(&[ERROR])).unwrap();
        assert_eq!(reader.prepared(), None);
    }

    #[test]
    fn a_local_file_is_sent_only_where_it_was_offered() {
        let asked = stream(&[b"\xfb/etc/passwd"]);
        let mut reader = AnswerReader::new(NO_EOF);
        reader.expect(Reply::Results);
        assert!(matches!(reader.feed(&asked), Err(WireError::Theirs(_))));
        let mut reader = AnswerReader::new(Capabilities::LOCAL_FILES);
        reader.expect(Reply::Results);
        assert_eq!(
            fed_in_pieces(&mut reader, &asked, 3).unwrap(),
            State::LocalInfile
        );
        assert_eq!(reader.next_sequence(), 2);
        reader.infile_sent(4);
        let mut ok = Vec::new();
        put_packet(&mut ok, 4, |out| out.extend_from_slice(OK));
        assert_eq!(reader.feed(&ok).unwrap().state, State::Done);
    }

    #[test]
    fn a_long_row_is_passed_over_in_pieces() {
        let mut row = vec![0xfe];
        row.extend_from_slice(&(17u64 << 20).to_le_bytes());
        row.resize(row.len() + (17 << 20), 0xff);
        let bytes = stream(&[b"\x01", COLUMN, &row, OK_AT_END]);
        let mut reader = AnswerReader::new(NO_EOF);
        reader.expect(Reply::Results);
        assert_eq!(
            fed_in_pieces(&mut reader, &bytes, 60_000).unwrap(),
            State::Done
        );
        assert_eq!(reader.summary().rows, 1);
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        let mut many = vec![0xfe];
        many.extend_from_slice(&(1u64 << 60).to_le_bytes());
        for packets in [
            vec![&many[..]],
            vec![b"\xfc\0\0"],
            vec![b""],
            vec![b"\x01", b""],
            vec![b"\x01", COLUMN, COLUMN],
            vec![b"\x01", COLUMN, EOF, b""],
            vec![b"\x00\x01"],
        ] {
            let mut reader = AnswerReader::new(PLAIN);
            reader.expect(Reply::Results);
            let error = reader.feed(&stream(&packets)).unwrap_err();
            assert!(matches!(error, WireError::Theirs(_)), "{packets:?}");
        }
        let mut reader = AnswerReader::new(PLAIN);
        reader.expect(Reply::Results);
        let error = reader.feed(b"\x07\0\0\x05").unwrap_err();
        assert!(error.to_string().contains("sequence"));
    }
}
