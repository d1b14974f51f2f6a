//! The rows of a table, as bytes to send. They depend only on the seed and on a range of numbers,
//! so any thread can make any range at any time.

use super::checksum;
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
        self.appended.checksum = self.appended.checksum.wrapping_add(checksum::row(line));
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
                checksum: checksum::row(b"7\ta\t\\N\n")
                    .wrapping_add(checksum::row(b"-10.05\t0.0042\n")),
            }
        );
    }
}
