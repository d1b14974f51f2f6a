//! Answers made before they are asked for: the cheapest server there can be.
//!
//! When a kind of statement is first seen, its answer is rendered to bytes; later answers only find
//! those bytes. All rows hold the same values: no client reads them.

use super::reply::{Cell, ColumnOut, ReplyWriter};
use super::text::{CommonStart, TextMeaning, meaning, parameters};
use super::{Answering, Refusal};
use contend_wire::mysql::BoundValues;

/// Kinds of statements that are remembered. A load has a few; further kinds are answered too, but
/// rendered each time.
const KINDS_MAX: usize = 256;
/// Answers of more rows are not kept.
const KEPT_ROWS_MAX: usize = 1024;

/// All statements that begin alike, up to their first value.
#[derive(Debug)]
struct CannedKind {
    start: CommonStart,
    meaning: TextMeaning,
    /// Rendered answers, by dialect and number of rows.
    kept: [Vec<Option<Box<[u8]>>>; 4],
}

/// A prepared statement: its kind, its rows, its parameters.
#[derive(Clone, Debug)]
pub struct CannedPrepared {
    kind: usize,
    rows: usize,
    parameters: u16,
}

#[derive(Debug, Default)]
pub struct Canned {
    kinds: Vec<CannedKind>,
    /// The kind that was asked for last, which is nearly always asked for next.
    last: usize,
}

impl CannedKind {
    fn of(sql: &[u8]) -> Self {
        Self {
            start: CommonStart::of(sql),
            meaning: meaning(sql),
            kept: Default::default(),
        }
    }

    fn rows(&self, sql: &[u8]) -> usize {
        match &self.meaning {
            // Rows are as many as values follow.
            TextMeaning::Rows { .. } if self.start.lists => self.start.values(sql),
            TextMeaning::Rows { rows, .. } => *rows,
            _ => 0,
        }
    }

    fn answer(&mut self, rows: usize, reply: &mut ReplyWriter<'_>) {
        let columns = match &self.meaning {
            TextMeaning::Changes(count) => return reply.ok(*count),
            TextMeaning::LocalFile => return reply.local_file(b"rows"),
            TextMeaning::Rows { columns, .. } => columns,
        };
        let kept = match self.kept.get_mut(reply.dialect()) {
            Some(kept) if rows <= KEPT_ROWS_MAX => kept,
            _ => return render(columns, rows, reply),
        };
        if kept.len() <= rows {
            kept.resize_with(rows + 1, || None);
        }
        let Some(slot) = kept.get_mut(rows) else {
            return;
        };
        let bytes = slot.get_or_insert_with(|| {
            let mut bytes = Vec::new();
            render(columns, rows, &mut reply.like_this(&mut bytes));
            bytes.into_boxed_slice()
        });
        reply.packets(bytes);
    }
}

impl Canned {
    /// The kind of a statement, learnt if it is new; none if there are too many.
    fn kind(&mut self, sql: &[u8]) -> Option<usize> {
        if self
            .kinds
            .get(self.last)
            .is_some_and(|kind| kind.start.begins(sql))
        {
            return Some(self.last);
        }
        let place = match self.kinds.iter().position(|kind| kind.start.begins(sql)) {
            Some(place) => place,
            None if self.kinds.len() == KINDS_MAX => return None,
            None => {
                self.kinds.push(CannedKind::of(sql));
                self.kinds.len() - 1
            }
        };
        self.last = place;
        Some(place)
    }
}

impl Answering for Canned {
    /// All clients are alike.
    type Client = ();
    type Statement = CannedPrepared;

    const VERSION: &str = "10.11.0-MariaDB-contend-null";

    fn welcome(&mut self, _number: u32) {}

    fn query(&mut self, _client: &mut (), sql: &[u8], reply: &mut ReplyWriter<'_>) {
        match self.kind(sql).and_then(|place| self.kinds.get_mut(place)) {
            Some(kind) => kind.answer(kind.rows(sql), reply),
            None => {
                let mut kind = CannedKind::of(sql);
                kind.answer(kind.rows(sql), reply);
            }
        }
    }

    fn prepare(&mut self, _client: &mut (), sql: &[u8]) -> Result<CannedPrepared, Refusal> {
        let place = self.kind(sql);
        let Some((place, kind)) = place.and_then(|place| Some((place, self.kinds.get(place)?)))
        else {
            let words = format!("This server prepares at most {KINDS_MAX} kinds of statements");
            return Err(Refusal::new(1461, b"42000", words));
        };
        Ok(CannedPrepared {
            kind: place,
            rows: kind.rows(sql),
            parameters: parameters(sql),
        })
    }

    fn shape<'s>(&'s self, statement: &'s CannedPrepared) -> (u16, &'s [ColumnOut]) {
        let columns = match self.kinds.get(statement.kind).map(|kind| &kind.meaning) {
            Some(TextMeaning::Rows { columns, .. }) => columns.as_slice(),
            _ => &[],
        };
        (statement.parameters, columns)
    }

    fn execute(
        &mut self,
        _client: &mut (),
        statement: &CannedPrepared,
        _values: BoundValues<'_>,
        reply: &mut ReplyWriter<'_>,
    ) {
        match self.kinds.get_mut(statement.kind) {
            Some(kind) => kind.answer(statement.rows, reply),
            None => reply.ok(0),
        }
    }
}

/// Writes an answer of `rows` rows.
fn render(columns: &[ColumnOut], rows: usize, reply: &mut ReplyWriter<'_>) {
    let text = [b'0'; 256];
    let cells: Vec<Cell<'_>> = columns
        .iter()
        .map(|column| match column.length {
            length if column.is_text() => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                // A CHAR(120) of sysbench's tables holds 119 characters.
                Cell::Text(text.get(..length.saturating_sub(1)).unwrap_or(&text))
            }
            _ => Cell::Int(1_000_000),
        })
        .collect();
    reply.columns(columns);
    for _ in 0..rows {
        reply.row(columns, &cells);
    }
    reply.end_of_rows();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contend_wire::Capabilities;
    use contend_wire::mysql::{AnswerReader, AnswerState, ReplyForm as Due};

    const POINTS: &[u8] = b"SELECT id, k, c, pad FROM sbtest WHERE k IN (?, ?, ?)";

    /// Rows of an answer, as our own client counts them.
    fn rows_read(
        client: Capabilities,
        write: impl FnOnce(&mut ReplyWriter<'_>),
        binary: bool,
    ) -> u64 {
        let mut out = Vec::new();
        write(&mut ReplyWriter::new(&mut out, 1, client, binary));
        let mut reader = AnswerReader::new(client);
        reader.expect(Due::Results);
        let fed = reader.feed(&out).unwrap();
        assert_eq!((fed.consumed, fed.state), (out.len(), AnswerState::Done));
        assert!(reader.error().is_none());
        reader.summary().rows
    }

    fn dialects() -> [Capabilities; 2] {
        [
            Capabilities::PROTOCOL_41,
            Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF,
        ]
    }

    #[test]
    fn our_client_reads_the_answers_in_all_dialects() {
        let mut canned = Canned::default();
        for client in dialects() {
            for _ in 0..2 {
                let text = b"SELECT c FROM sbtest WHERE id = 77";
                assert_eq!(
                    rows_read(
                        client,
                        |reply| {
                            canned.query(&mut (), text, reply);
                        },
                        false
                    ),
                    1
                );
                let text = b"SELECT id, k, c, pad FROM sbtest WHERE k IN (5, 6, 7, 8)";
                assert_eq!(
                    rows_read(
                        client,
                        |reply| {
                            canned.query(&mut (), text, reply);
                        },
                        false
                    ),
                    4
                );
                let prepared = canned.prepare(&mut (), POINTS).unwrap();
                assert_eq!(canned.shape(&prepared).0, 3);
                let execute = |reply: &mut ReplyWriter<'_>| {
                    canned.execute(&mut (), &prepared, BoundValues::default(), reply);
                };
                assert_eq!(rows_read(client, execute, true), 3);
            }
        }
        assert_eq!(canned.kinds.len(), 2);
    }

    #[test]
    fn statements_that_begin_alike_are_told_apart() {
        let mut canned = Canned::default();
        let mut rows = |sql: &[u8]| {
            let client = Capabilities::PROTOCOL_41;
            rows_read(
                client,
                |reply| {
                    canned.query(&mut (), sql, reply);
                },
                false,
            )
        };
        assert_eq!(rows(b"SELECT 1"), 1);
        assert_eq!(rows(b"SELECT id, k FROM t WHERE k IN (1, 2)"), 2);
        assert_eq!(rows(b"SELECT c FROM t WHERE id BETWEEN 5 AND 6"), 100);
        assert_eq!(rows(b"SELECT c FROM t WHERE id=5"), 1);
        assert_eq!(rows(b"BEGIN"), 0);
        assert_eq!(rows(b"SHOW VARIABLES"), 0);
    }

    #[test]
    fn what_cannot_be_remembered_is_answered_all_the_same() {
        let mut canned = Canned::default();
        for number in 0..KINDS_MAX + 5 {
            let sql = format!("SELECT c FROM t{number} WHERE id IN (1, 2)");
            let query = |reply: &mut ReplyWriter<'_>| {
                canned.query(&mut (), sql.as_bytes(), reply);
            };
            assert_eq!(rows_read(Capabilities::PROTOCOL_41, query, false), 2);
        }
        assert!(
            canned
                .prepare(&mut (), b"SELECT c FROM other WHERE id = ?")
                .is_err()
        );
        let huge = format!("SELECT c FROM t1 WHERE id IN ({}1)", "1, ".repeat(5_000));
        let query = |reply: &mut ReplyWriter<'_>| {
            canned.query(&mut (), huge.as_bytes(), reply);
        };
        assert_eq!(rows_read(Capabilities::PROTOCOL_41, query, false), 5_001);
    }
}
