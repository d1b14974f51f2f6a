//! Column and parameter definitions, as result sets and prepare answers carry them.

use super::cursor::Cursor;
use crate::error::WireError;

const UNSIGNED: u16 = 1 << 5;

/// What the values of a column in the binary protocol are read by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Type code, see [`super::value::kind`].
    pub kind: u8,
    pub unsigned: bool,
}

impl Column {
    /// Reads the payload of [`super::AnswerPacket::Column`] or [`super::AnswerPacket::Parameter`].
    pub fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload);
        for part in [
            "catalog",
            "schema",
            "table",
            "table's own name",
            "column name",
            "column's own name",
        ] {
            cursor.lenenc_bytes(part)?;
        }
        if cursor.lenenc("length of the column's properties")? < 12 {
            return Err(WireError::theirs("a column definition that is too short"));
        }
        cursor.u16("collation")?;
        cursor.u32("column length")?;
        let kind = cursor.u8("column type")?;
        let flags = cursor.u16("column flags")?;
        cursor.u8("decimals")?;
        Ok(Self {
            kind,
            unsigned: flags & UNSIGNED != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::mysql::value::kind;

    /// `SELECT seq FROM test.seq_1_to_10` on MariaDB 10.11.
    const SEQ: &[u8] = b"\x03def\x04test\x0bseq_1_to_10\x0bseq_1_to_10\x03seq\x03seq\
        \x0c\x3f\0\x14\0\0\0\x08\x23\x50\0\0\0";

    #[test]
    fn a_definition_is_read() {
        let column = Column::parse(SEQ).unwrap();
        assert_eq!((column.kind, column.unsigned), (kind::LONGLONG, true));
    }

    #[test]
    fn a_torn_definition_is_refused() {
        for length in 0..SEQ.len() - 2 {
            assert!(Column::parse(&SEQ[..length]).is_err(), "{length}");
        }
    }
}
