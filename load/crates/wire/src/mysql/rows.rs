//! The rows of an answer, read one by one out of its bytes.

use super::{AnswerPacket, AnswerReader, BinaryRow, Column, FrameReader, ReplyForm, TextRow};
use crate::{Capabilities, Value, WireError};

/// Longest row that is read; the servers' own limit on a packet is as much.
const PACKET_BYTES_MAX: usize = 1 << 30;

/// The answer to one query.
#[derive(Debug)]
pub struct ResultRows {
    frames: FrameReader,
    reader: AnswerReader,
    form: RowForm,
    stands: Stands,
}

/// How values are written.
#[derive(Debug)]
enum RowForm {
    Text,
    /// By the columns of the result.
    Binary(Vec<Column>),
}

/// The position of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    /// Before, or among, the rows of a result set.
    Inside,
    /// Behind the last row; a further result follows.
    Between,
    /// Behind the last result.
    Done,
}

/// The shape of one result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultShape {
    pub rows: u64,
    pub columns: u32,
}

impl ResultRows {
    /// Reads the answer to a query that was sent as text: all frames as they came on a connection
    /// with these capabilities.
    pub fn new(answer: &[u8], capabilities: Capabilities) -> Self {
        Self::in_form(answer, capabilities, RowForm::Text)
    }

    /// Reads the answer to the execution of a prepared statement.
    pub fn of_prepared(answer: &[u8], capabilities: Capabilities) -> Self {
        Self::in_form(answer, capabilities, RowForm::Binary(Vec::new()))
    }

    /// Takes more of the answer: it may come in pieces.
    pub fn feed(&mut self, answer: &[u8]) {
        self.frames.feed(answer);
    }

    fn in_form(answer: &[u8], capabilities: Capabilities, form: RowForm) -> Self {
        let mut frames = FrameReader::of_session(capabilities, PACKET_BYTES_MAX);
        frames.expect_sequence(1);
        frames.feed(answer);
        let mut reader = AnswerReader::new(capabilities);
        reader.expect(ReplyForm::Results);
        Self {
            frames,
            reader,
            form,
            stands: Stands::Inside,
        }
    }

    /// The shapes of all results of an answer.
    pub fn shapes(answer: &[u8], capabilities: Capabilities) -> Vec<ResultShape> {
        let mut rows = Self::new(answer, capabilities);
        let mut shapes = Vec::new();
        let mut shape = ResultShape::default();
        while let Ok(Some(packet)) = rows.frames.next_packet() {
            match rows.reader.packet(packet) {
                Ok(AnswerPacket::ResultSet { columns, .. }) => shape.columns = columns,
                Ok(AnswerPacket::Row(_)) => shape.rows += 1,
                Ok(AnswerPacket::ResultEnd | AnswerPacket::Done) => {
                    shapes.push(std::mem::take(&mut shape))
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        shapes
    }

    /// Hands the values of the next row to `take`; false behind the last row of this result, or of
    /// the bytes so far. In text all values are bytes or NULL.
    ///
    /// # Errors
    /// The server's bytes break the protocol.
    pub fn next_row(&mut self, mut take: impl FnMut(Value<'_>)) -> Result<bool, WireError> {
        while self.stands == Stands::Inside {
            let Some(packet) = self.frames.next_packet()? else {
                break;
            };
            match self.reader.packet(packet)? {
                AnswerPacket::Row(row) => {
                    match &self.form {
                        RowForm::Text => {
                            for value in TextRow::new(row) {
                                take(value?.map_or(Value::Null, Value::Bytes));
                            }
                        }
                        RowForm::Binary(columns) => {
                            for value in BinaryRow::new(columns, row)? {
                                take(value?);
                            }
                        }
                    }
                    return Ok(true);
                }
                AnswerPacket::ResultSet { metadata, .. } => match &mut self.form {
                    RowForm::Binary(_) if !metadata => {
                        return Err(WireError::ours(
                            "the answer has no column definitions; remove cache_metadata",
                        ));
                    }
                    RowForm::Binary(columns) => columns.clear(),
                    RowForm::Text => {}
                },
                AnswerPacket::Column(payload) => {
                    if let RowForm::Binary(columns) = &mut self.form {
                        columns.push(Column::parse(payload)?);
                    }
                }
                AnswerPacket::ResultEnd => self.stands = Stands::Between,
                AnswerPacket::Done => self.stands = Stands::Done,
                _ => {}
            }
        }
        Ok(false)
    }

    /// Moves to the next result; false if there is none, or it has not come yet.
    ///
    /// # Errors
    /// The server's bytes break the protocol.
    pub fn next_result(&mut self) -> Result<bool, WireError> {
        while self.next_row(|_| {})? {}
        let more = self.stands == Stands::Between;
        if more {
            self.stands = Stands::Inside;
        }
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Two results: `SELECT 1, NULL UNION SELECT 'ab', ''` and `SELECT 7`.
    fn answer() -> Vec<u8> {
        let packets: [&[u8]; 11] = [
            b"\x02",
            b"\x03def",
            b"\x03def",
            b"\xfe\0\0\x0a\0",
            b"\x011\xfb",
            b"\x02ab\0",
            b"\xfe\0\0\x0a\0",
            b"\x01",
            b"\x03def",
            b"\xfe\0\0\x02\0",
            b"\x017",
        ];
        let mut bytes = Vec::new();
        for (place, packet) in packets.iter().chain([&&b"\xfe\0\0\x02\0"[..]]).enumerate() {
            bytes.extend_from_slice(&[packet.len() as u8, 0, 0, place as u8 + 1]);
            bytes.extend_from_slice(packet);
        }
        bytes
    }

    fn row(rows: &mut ResultRows) -> Option<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::new();
        let more = rows
            .next_row(|value| {
                values.push(match value {
                    Value::Bytes(bytes) => Some(bytes.to_vec()),
                    _ => None,
                });
            })
            .unwrap();
        more.then_some(values)
    }

    #[test]
    fn rows_and_results_come_in_turn() {
        let mut rows = ResultRows::new(&answer(), Capabilities::NONE);
        assert_eq!(row(&mut rows), Some(vec![Some(b"1".to_vec()), None]));
        assert_eq!(
            row(&mut rows),
            Some(vec![Some(b"ab".to_vec()), Some(vec![])])
        );
        assert_eq!(row(&mut rows), None);
        assert!(rows.next_result().unwrap());
        assert_eq!(row(&mut rows), Some(vec![Some(b"7".to_vec())]));
        assert!(!rows.next_result().unwrap());
        assert_eq!(row(&mut rows), None);
    }

    #[test]
    fn an_answer_may_come_in_any_pieces() {
        let bytes = answer();
        for piece in 1..=bytes.len() {
            let mut rows = ResultRows::new(&[], Capabilities::NONE);
            let mut found = Vec::new();
            for piece in bytes.chunks(piece) {
                rows.feed(piece);
                loop {
                    found.extend(std::iter::from_fn(|| row(&mut rows)));
                    if !rows.next_result().unwrap() {
                        break;
                    }
                }
            }
            assert_eq!(found.len(), 3, "{piece}");
            assert_eq!(found[2], [Some(b"7".to_vec())]);
        }
    }

    #[test]
    fn inside_compressed_packets_numbers_have_no_meaning() {
        let mut bytes = answer();
        // As when a server that has sent a part of the answer begins to count again.
        let place = bytes
            .windows(5)
            .position(|five| five == b"\x01\0\0\x08\x01");
        bytes[place.unwrap() + 3] = 0;
        let mut rows = ResultRows::new(&bytes, Capabilities::COMPRESS);
        while rows.next_row(|_| {}).unwrap() {}
        assert!(rows.next_result().unwrap());
        assert_eq!(row(&mut rows), Some(vec![Some(b"7".to_vec())]));
        let shapes = ResultRows::shapes(&bytes, Capabilities::COMPRESS);
        assert_eq!(shapes.len(), 2);
    }

    #[test]
    fn shapes_are_known_beforehand() {
        assert_eq!(
            ResultRows::shapes(&answer(), Capabilities::NONE),
            [
                ResultShape {
                    rows: 2,
                    columns: 2
                },
                ResultShape {
                    rows: 1,
                    columns: 1
                }
            ]
        );
    }

    #[test]
    fn rows_of_a_prepared_statement_are_read_by_their_columns() {
        // `SELECT 7` as a number of 8 bytes, and NULL next to it.
        let column = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x14\0\0\0\x08\0\0\0\0\0";
        let packets: [&[u8]; 6] = [
            b"\x02",
            column,
            column,
            b"\xfe\0\0\x02\0",
            b"\0\x08\x07\0\0\0\0\0\0\0",
            b"\xfe\0\0\x02\0",
        ];
        let mut bytes = Vec::new();
        for (place, packet) in packets.iter().enumerate() {
            bytes.extend_from_slice(&[packet.len() as u8, 0, 0, place as u8 + 1]);
            bytes.extend_from_slice(packet);
        }
        let mut rows = ResultRows::of_prepared(&bytes, Capabilities::NONE);
        let mut values = Vec::new();
        let mut take = |value: Value<'_>| values.push(value.as_int());
        assert!(rows.next_row(&mut take).unwrap());
        assert!(!rows.next_row(&mut take).unwrap());
        assert_eq!(values, [Some(7), None]);
    }

    #[test]
    fn rubbish_ends_in_an_error_or_in_nothing() {
        for cut in 0..answer().len() {
            let bytes = answer();
            let mut rows = ResultRows::new(bytes.get(..cut).unwrap(), Capabilities::NONE);
            while rows.next_row(|_| {}).unwrap_or(false) {}
        }
        assert!(
            ResultRows::new(b"\x01\0\0\x05\0", Capabilities::NONE)
                .next_row(|_| {})
                .is_err()
        );
    }
}
