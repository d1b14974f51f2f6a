//! The rows of the study's table, computed whenever one is read: the very content that
//! `contend-load fill` makes of the same seed, `k` the row's number.
//!
//! Rows can lie in a file too, as MyISAM keeps rows of fixed length: 189 bytes each, so that a
//! server reads them from where the data file of a table has them.

use crate::fill::rows::{C_BYTES, PAD_BYTES};
use crate::fill::{KeyColumn, Rows};

/// Bytes of a row in a file: one that says it is there, `id` and `k`, and both texts filled up with
/// spaces.
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

    /// The row as it is in a file.
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
