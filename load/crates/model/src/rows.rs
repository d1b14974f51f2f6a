//! The rows of the study's table, computed whenever one is read: the very content that
//! `contend-load fill` makes of the same seed, `k` the row's number.
//!
//! Rows can be in a file too, as MyISAM keeps rows of fixed length: 189 bytes each. A server then
//! reads them from their place in a table's data file.

use contend_data::rows::{C_BYTES, PAD_BYTES};
use contend_data::{KeyColumn, Rows};

/// Bytes of a row in a file: one that marks it as present, `id` and `k`, and both texts filled up
/// with spaces.
pub const ROW_BYTES: usize = 1 + 4 + 4 + C_WIDTH + PAD_WIDTH;

const C_WIDTH: usize = 120;
const PAD_WIDTH: usize = 60;
/// The first byte of a row that was not deleted.
const THERE: u8 = 0xff;

/// All rows of the table.
#[derive(Clone, Debug)]
pub struct ModelRows {
    rows: Rows,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelRow {
    pub id: u32,
    pub k: u32,
    pub c: [u8; C_BYTES],
    pub pad: [u8; PAD_BYTES],
}

impl ModelRows {
    pub fn new(seed: u64, rows: u32) -> Self {
        Self {
            rows: Rows::new(seed, u64::from(rows), &KeyColumn::RowNumber),
        }
    }

    /// A row by its number, from 1.
    #[inline]
    pub fn row(&self, number: u32) -> ModelRow {
        let (c, pad) = self.rows.texts(u64::from(number));
        ModelRow {
            id: number,
            k: number,
            c,
            pad,
        }
    }
}

impl ModelRow {
    /// Where a row begins in a file of all rows.
    pub fn offset(number: u32) -> u64 {
        u64::from(number.saturating_sub(1)) * ROW_BYTES as u64
    }

    /// The row as a file holds it.
    pub fn write(&self, out: &mut [u8; ROW_BYTES]) {
        out.fill(b' ');
        out[0] = THERE;
        let mut at = 1;
        let fields: [(&[u8], usize); 4] = [
            (&self.id.to_le_bytes(), 4),
            (&self.k.to_le_bytes(), 4),
            (&self.c, C_WIDTH),
            (&self.pad, PAD_WIDTH),
        ];
        for (bytes, width) in fields {
            if let Some(place) = out.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
            at += width;
        }
    }

    /// A row from its bytes in a file.
    pub fn read(bytes: &[u8; ROW_BYTES]) -> Self {
        let number = |at: usize| {
            let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
            u32::from_le_bytes(four.copied().unwrap_or_default())
        };
        let mut row = Self {
            id: number(1),
            k: number(5),
            c: [0; C_BYTES],
            pad: [0; PAD_BYTES],
        };
        row.c.copy_from_slice(&bytes[9..9 + C_BYTES]);
        row.pad
            .copy_from_slice(&bytes[9 + C_WIDTH..9 + C_WIDTH + PAD_BYTES]);
        row
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contend_data::Content as _;

    #[test]
    fn rows_are_those_that_fill_makes() {
        let rows = ModelRows::new(303, 1_000);
        let filled = Rows::new(303, 1_000, &KeyColumn::RowNumber);
        for number in [1, 2, 500, 1_000] {
            let row = rows.row(number);
            let mut line = Vec::new();
            filled.append(&mut line, u64::from(number)..u64::from(number) + 1);
            let (c, pad) = (
                String::from_utf8_lossy(&row.c),
                String::from_utf8_lossy(&row.pad),
            );
            let wanted = format!("{}\t{}\t{c}\t{pad}\n", row.id, row.k);
            assert_eq!(String::from_utf8(line).unwrap(), wanted);
        }
    }

    #[test]
    fn a_row_is_read_back_from_its_bytes() {
        let row = ModelRows::new(1, 10).row(7);
        let mut bytes = [0; ROW_BYTES];
        row.write(&mut bytes);
        assert_eq!(
            (bytes[0], &bytes[1..5], bytes[128], bytes[188]),
            (0xff, &[7, 0, 0, 0][..], b' ', b' ')
        );
        assert_eq!(
            (ModelRow::read(&bytes), ModelRow::offset(7)),
            (row, 6 * 189)
        );
    }
}
