//! Writes the packets of one answer behind those of others in the same buffer.

use super::Refusal;
use contend_wire::Capabilities;
use contend_wire::mysql::cursor::{put_lenenc, put_lenenc_bytes};
use contend_wire::mysql::frame::put_packet;
use contend_wire::mysql::status;
use contend_wire::mysql::value::kind;

/// Collations: of the texts, and of all other types.
const LATIN1: u16 = 8;
const BINARY: u16 = 63;

/// One column of a result set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOut {
    pub name: String,
    /// A type code of the protocol.
    pub kind: u8,
    pub length: u32,
}

impl ColumnOut {
    /// A column of texts.
    pub fn text(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind::VAR_STRING,
            length: 256,
        }
    }

    pub fn is_text(&self) -> bool {
        matches!(self.kind, kind::STRING | kind::VAR_STRING)
    }
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'v> {
    Null,
    Int(u64),
    Text(&'v [u8]),
}

/// Where an answer is written, and in which dialect.
pub struct ReplyWriter<'o> {
    out: &'o mut Vec<u8>,
    sequence: u8,
    /// Result sets end with OK, and nothing comes between columns and rows.
    deprecate_eof: bool,
    /// Rows come as binary values: the answer to an execution.
    binary: bool,
    /// The client was asked for its local file.
    wants_file: bool,
}

impl<'o> ReplyWriter<'o> {
    /// An answer to a client with these capabilities; its first packet has this number.
    pub fn new(out: &'o mut Vec<u8>, sequence: u8, client: Capabilities, binary: bool) -> Self {
        Self {
            out,
            sequence,
            deprecate_eof: client.has(Capabilities::DEPRECATE_EOF),
            binary,
            wants_file: false,
        }
    }

    /// A reply in the same dialect, written somewhere else: its packets fit in here.
    pub fn like_this<'b>(&self, out: &'b mut Vec<u8>) -> ReplyWriter<'b> {
        ReplyWriter { out, ..*self }
    }

    /// Which of the four dialects this is; answers that were rendered before differ by it.
    pub fn dialect(&self) -> usize {
        usize::from(self.deprecate_eof) * 2 + usize::from(self.binary)
    }

    pub(super) fn wants_file(&self) -> bool {
        self.wants_file
    }

    /// A whole answer that a reply made by [`Self::like_this`] wrote.
    pub fn packets(&mut self, packets: &[u8]) {
        self.out.extend_from_slice(packets);
    }

    pub fn ok(&mut self, affected_rows: u64) {
        self.put(|out| put_ok(out, 0x00, affected_rows));
    }

    pub fn error(&mut self, refusal: &Refusal) {
        self.put(|out| {
            out.push(0xff);
            out.extend_from_slice(&refusal.code.to_le_bytes());
            out.push(b'#');
            out.extend_from_slice(&refusal.sqlstate);
            out.extend_from_slice(refusal.message.as_bytes());
        });
    }

    /// Asks for the client's local file. The session counts its lines and answers then.
    pub fn local_file(&mut self, name: &[u8]) {
        self.put(|out| {
            out.push(0xfb);
            out.extend_from_slice(name);
        });
        self.wants_file = true;
    }

    /// A result set's beginning.
    pub fn columns(&mut self, columns: &[ColumnOut]) {
        self.put(|out| put_lenenc(out, columns.len() as u64));
        for column in columns {
            self.definition(column);
        }
        if !self.deprecate_eof {
            self.mark();
        }
    }

    /// One row, whose cells are in the order of `columns`.
    pub fn row(&mut self, columns: &[ColumnOut], cells: &[Cell<'_>]) {
        let binary = self.binary;
        self.put(|out| {
            if binary {
                put_binary(out, columns, cells);
            } else {
                put_text(out, cells);
            }
        });
    }

    /// A result set's end.
    pub fn end_of_rows(&mut self) {
        if self.deprecate_eof {
            self.put(|out| put_ok(out, 0xfe, 0));
        } else {
            self.mark();
        }
    }

    /// The answer to a prepare.
    pub(super) fn prepared(&mut self, id: u32, parameters: u16, columns: &[ColumnOut]) {
        let count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
        self.put(|out| {
            out.push(0);
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
            out.extend_from_slice(&parameters.to_le_bytes());
            out.extend_from_slice(&[0, 0, 0]);
        });
        let unknown = ColumnOut {
            name: "?".to_owned(),
            kind: kind::VAR_STRING,
            length: 0,
        };
        for _ in 0..parameters {
            self.definition(&unknown);
        }
        if parameters > 0 && !self.deprecate_eof {
            self.mark();
        }
        for column in columns {
            self.definition(column);
        }
        if !columns.is_empty() && !self.deprecate_eof {
            self.mark();
        }
    }

    fn definition(&mut self, column: &ColumnOut) {
        self.put(|out| {
            put_lenenc_bytes(out, b"def");
            for _ in ["schema", "table", "table's own name"] {
                put_lenenc_bytes(out, b"");
            }
            put_lenenc_bytes(out, column.name.as_bytes());
            put_lenenc_bytes(out, b"");
            out.push(12);
            let collation = if column.is_text() { LATIN1 } else { BINARY };
            out.extend_from_slice(&collation.to_le_bytes());
            out.extend_from_slice(&column.length.to_le_bytes());
            out.push(column.kind);
            // Flags, decimals, filler.
            out.extend_from_slice(&[0, 0, 0, 0, 0]);
        });
    }

    /// The EOF packet of the older dialect.
    fn mark(&mut self) {
        self.put(|out| {
            out.extend_from_slice(&[0xfe, 0, 0]);
            out.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
        });
    }

    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence = put_packet(self.out, self.sequence, write);
    }
}

fn put_ok(out: &mut Vec<u8>, first: u8, affected_rows: u64) {
    out.push(first);
    put_lenenc(out, affected_rows);
    // No insert id.
    out.push(0);
    out.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
    // No warnings.
    out.extend_from_slice(&[0, 0]);
}

fn put_text(out: &mut Vec<u8>, cells: &[Cell<'_>]) {
    for cell in cells {
        match cell {
            Cell::Null => out.push(0xfb),
            Cell::Int(number) => {
                put_lenenc_bytes(out, itoa::Buffer::new().format(*number).as_bytes())
            }
            Cell::Text(text) => put_lenenc_bytes(out, text),
        }
    }
}

fn put_binary(out: &mut Vec<u8>, columns: &[ColumnOut], cells: &[Cell<'_>]) {
    out.push(0);
    // The bitmap of a row begins two bits late.
    let bitmap = out.len();
    out.resize(bitmap + (cells.len() + 2).div_ceil(8), 0);
    for (place, cell) in cells.iter().enumerate() {
        if *cell == Cell::Null
            && let Some(byte) = out.get_mut(bitmap + (place + 2) / 8)
        {
            *byte |= 1 << ((place + 2) % 8);
        }
    }
    for (column, cell) in columns.iter().zip(cells) {
        match (column.kind, cell) {
            (_, Cell::Null) => {}
            (kind::LONG, Cell::Int(number)) => {
                out.extend_from_slice(&(*number as u32).to_le_bytes());
            }
            (kind::LONGLONG, Cell::Int(number)) => out.extend_from_slice(&number.to_le_bytes()),
            (_, Cell::Int(number)) => {
                put_lenenc_bytes(out, itoa::Buffer::new().format(*number).as_bytes())
            }
            (_, Cell::Text(text)) => put_lenenc_bytes(out, text),
        }
    }
}
