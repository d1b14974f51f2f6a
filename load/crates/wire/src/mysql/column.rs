//! Column and parameter definitions, as result sets and prepare answers carry them.

use super::cursor::Cursor;
use super::value::kind;
use crate::error::WireError;

/// The servers cut aliases at 256 characters, so longer names are cut here too.
const NAME_MAX: usize = 1024;

const UNSIGNED: u16 = 1 << 5;

/// Number of the collation that marks bytes without a character set.
const BINARY: u16 = 63;

/// The known facts of a column before its values come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// Type code, see [`kind`].
    pub kind: u8,
    pub unsigned: bool,
    /// Number of a collation.
    pub collation: u16,
    /// Longest value, in bytes.
    pub length: u32,
    pub decimals: u8,
}

impl Column {
    /// Reads the payload of [`super::AnswerPacket::Column`] or [`super::AnswerPacket::Parameter`].
    pub fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload);
        for part in ["catalog", "schema", "table", "table's own name"] {
            cursor.lenenc_bytes(part)?;
        }
        let name = cursor.lenenc_bytes("column name")?;
        cursor.lenenc_bytes("column's own name")?;
        if cursor.lenenc("length of the column's properties")? < 12 {
            return Err(WireError::theirs("a column definition that is too short"));
        }
        let collation = cursor.u16("collation")?;
        let length = cursor.u32("column length")?;
        let kind = cursor.u8("column type")?;
        let flags = cursor.u16("column flags")?;
        let decimals = cursor.u8("decimals")?;
        let name = name.get(..NAME_MAX).unwrap_or(name);
        Ok(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            kind,
            unsigned: flags & UNSIGNED != 0,
            collation,
            length,
            decimals,
        })
    }

    /// True where values are characters, not bytes.
    pub fn is_text(&self) -> bool {
        matches!(
            self.kind,
            kind::VARCHAR | kind::VAR_STRING | kind::STRING | 245..=252
        ) && self.collation != BINARY
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// `SELECT seq FROM test.seq_1_to_10` on MariaDB 10.11.
    const SEQ: &[u8] = b"\x03def\x04test\x0bseq_1_to_10\x0bseq_1_to_10\x03seq\x03seq\
        \x0c\x3f\0\x14\0\0\0\x08\x23\x50\0\0\0";

    #[test]
    fn a_definition_is_read() {
        let column = Column::parse(SEQ).unwrap();
        assert_eq!((column.name.as_str(), column.kind), ("seq", kind::LONGLONG));
        assert!(column.unsigned && !column.is_text());
        assert_eq!(
            (column.collation, column.length, column.decimals),
            (63, 20, 0)
        );
    }

    #[test]
    fn a_torn_definition_is_refused() {
        for length in 0..SEQ.len() - 2 {
            assert!(Column::parse(&SEQ[..length]).is_err(), "{length}");
        }
    }
}
