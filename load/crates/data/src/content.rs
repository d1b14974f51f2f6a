//! The rows of a table, as bytes to send. They depend only on the seed and on a range of numbers,
//! so any thread can make any range at any time.

use std::fmt::Debug;
use std::ops::Range;

/// The rows of one table, in the order of its primary key.
///
/// A number stands for one row, or for a few rows that belong together, such as the salaries of an
/// employee or the lines of an order.
pub trait Content: Debug + Send + Sync {
    /// The numbers of all rows.
    fn numbers(&self) -> Range<u64>;

    /// Number of rows.
    fn count(&self) -> u64;

    /// The most bytes that the rows of one number can take.
    fn bytes_max(&self) -> usize;

    /// Appends the rows of a range of numbers, in the format in which they are sent.
    fn append(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> Appended;
}

/// The appended rows: their number and their checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    pub rows: u64,
    /// The sum of the rows' checksums.
    pub checksum: u64,
}

/// Writes rows as lines: fields with tabs between them.
#[derive(Debug)]
pub struct Lines<'o> {
    out: &'o mut Vec<u8>,
    /// The beginning of the present line.
    start: usize,
    appended: Appended,
}

impl<'o> Lines<'o> {
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self {
            start: out.len(),
            out,
            appended: Appended::default(),
        }
    }

    /// A field whose bytes need no escaping.
    #[inline]
    pub fn text(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        self.part(field).tab()
    }

    #[inline]
    pub fn number(&mut self, field: impl itoa::Integer) -> &mut Self {
        let mut digits = itoa::Buffer::new();
        self.text(digits.format(field))
    }

    /// A number with two decimals, given in hundredths.
    #[inline]
    pub fn hundredths(&mut self, field: i64) -> &mut Self {
        self.fraction(field, 100, 2)
    }

    /// A number with four decimals, given in ten-thousandths.
    #[inline]
    pub fn ten_thousandths(&mut self, field: i64) -> &mut Self {
        self.fraction(field, 10_000, 4)
    }

    pub fn null(&mut self) -> &mut Self {
        self.text(b"\\N")
    }

    /// Appends a part of a field and does not end the field.
    #[inline]
    pub fn part(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.out.extend_from_slice(bytes.as_ref());
        self
    }

    /// A field of several parts.
    #[inline]
    pub fn joined(&mut self, parts: impl IntoIterator<Item = &'static str>) -> &mut Self {
        for part in parts {
            self.part(part);
        }
        self.tab()
    }

    /// The output, for a caller that writes the bytes of a field itself.
    #[inline]
    pub fn raw(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Ends a field.
    #[inline]
    pub fn tab(&mut self) -> &mut Self {
        self.out.push(b'\t');
        self
    }

    /// Ends the line.
    #[inline]
    pub fn end(&mut self) {
        // The newline replaces the tab after the last field.
        if let Some(last) = self.out.last_mut() {
            *last = b'\n';
        }
        let line = self.out.get(self.start..).unwrap_or_default();
        self.appended.checksum = self.appended.checksum.wrapping_add(line_checksum(line));
        self.appended.rows += 1;
        self.start = self.out.len();
    }

    pub fn appended(self) -> Appended {
        self.appended
    }

    #[inline]
    fn fraction(&mut self, field: i64, unit: u64, digits: usize) -> &mut Self {
        if field < 0 {
            self.out.push(b'-');
        }
        let field = field.unsigned_abs();
        let mut text = itoa::Buffer::new();
        self.part(text.format(field / unit)).part(b".");
        let behind = text.format(field % unit);
        for _ in behind.len()..digits {
            self.out.push(b'0');
        }
        self.out.extend_from_slice(behind.as_bytes());
        self.tab()
    }
}

const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
const START: u64 = 0x243f_6a88_85a3_08d3;

/// The checksum of one line, its newline included.
///
/// The checksum of a table is the sum of the checksums of its rows, each row written as one line of
/// tab-separated text. A sum does not depend on the order. So parts that were generated apart add
/// up, and the rows of a table have the same sum in any order in which a server returns them.
#[inline]
pub fn line_checksum(line: &[u8]) -> u64 {
    let mut sum = START ^ line.len() as u64;
    let mut pairs = line.chunks_exact(16);
    for pair in &mut pairs {
        sum = fold(sum, pair);
    }
    fold(sum, pairs.remainder())
}

/// Mixes up to sixteen bytes into a sum. It adds both halves of a product of two words, so every
/// bit of the words reaches the middle of the result.
#[inline]
fn fold(sum: u64, bytes: &[u8]) -> u64 {
    let mut pair = [0; 16];
    for (to, from) in pair.iter_mut().zip(bytes) {
        *to = *from;
    }
    let pair = u128::from_le_bytes(pair);
    let wide = u128::from(pair as u64 ^ FACTOR) * u128::from((pair >> 64) as u64 ^ sum);
    (wide as u64) ^ ((wide >> 64) as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn fields_stand_between_tabs_and_lines_add_up() {
        let mut out = b"before".to_vec();
        let mut lines = Lines::new(&mut out);
        lines.number(7).text("a").null().end();
        lines.hundredths(-1_005).ten_thousandths(42).end();
        let appended = lines.appended();
        assert_eq!(out, b"before7\ta\t\\N\n-10.05\t0.0042\n");
        assert_eq!(
            appended,
            Appended {
                rows: 2,
                checksum: line_checksum(b"7\ta\t\\N\n")
                    .wrapping_add(line_checksum(b"-10.05\t0.0042\n")),
            }
        );
    }

    #[test]
    fn any_changed_byte_changes_it() {
        let line = b"1\t1\t12345678901-12345678901\t12345678901\n".to_vec();
        let mut seen = HashSet::from([line_checksum(&line)]);
        for place in 0..line.len() {
            for bit in 0..8 {
                let mut other = line.clone();
                other[place] ^= 1 << bit;
                assert!(
                    seen.insert(line_checksum(&other)),
                    "byte {place}, bit {bit}"
                );
            }
        }
    }

    #[test]
    fn length_counts_even_where_the_padding_is_the_same() {
        assert_ne!(line_checksum(b"a"), line_checksum(b"a\0"));
        assert_ne!(line_checksum(b""), line_checksum(b"\0\0\0\0\0\0\0\0"));
    }
}
