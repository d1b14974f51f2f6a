//! The rows of a table, from a seed and the row number alone.
//!
//! Row n is the same bytes whoever generates it, whenever: any range can be made on any thread.
//! A row is one line of the server's own load format: `id`, `k`, `c`, `pad`, separated by tabs.
//! `c` is ten groups of eleven digits joined by `-`, `pad` is five, as sysbench writes them.

use super::checksum;
use super::digits::{GROUP_DIGITS, append_number, group};
use crate::plan::Distribution;
use crate::random::{Sampler, Shape, Stream};
use std::ops::Range;

const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
/// `c`, a tab, `pad`, a newline: each group is followed by exactly one byte.
const TEXT_BYTES: usize = (C_GROUPS + PAD_GROUPS) * (GROUP_DIGITS + 1);
/// The longest row: two numbers of twenty digits, each with its tab.
pub const ROW_BYTES_MAX: usize = TEXT_BYTES + 42;

/// How the indexed column `k` is filled.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyColumn {
    /// The row's own number: unique and in file order.
    RowNumber,
    /// Drawn from 1 to the number of rows.
    Random(Distribution),
}

/// All rows of one table.
#[derive(Clone, Debug)]
pub struct Rows {
    seed: u64,
    count: u64,
    key: Option<Sampler>,
}

impl Rows {
    /// `count` rows, numbered from 1.
    pub fn new(seed: u64, count: u64, key: &KeyColumn) -> Self {
        let key = match key {
            KeyColumn::RowNumber => None,
            KeyColumn::Random(distribution) => {
                Some(Sampler::new(Shape::new(distribution), 1, count.max(1)))
            }
        };
        Self { seed, count, key }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Where a part that begins with row `first` ends, so that it has at most `bytes` bytes, but
    /// at least one row.
    pub fn end_of_part(&self, first: u64, bytes: usize) -> u64 {
        let rows = (bytes / ROW_BYTES_MAX).max(1) as u64;
        first.saturating_add(rows).min(self.count.saturating_add(1))
    }

    /// Appends the rows of a range of numbers; returns the sum of their checksums.
    pub fn append(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> u64 {
        let mut sum = 0u64;
        for number in numbers {
            let start = out.len();
            self.append_row(out, number);
            sum = sum.wrapping_add(checksum::row(out.get(start..).unwrap_or_default()));
        }
        sum
    }

    #[inline]
    fn append_row(&self, out: &mut Vec<u8>, number: u64) {
        let mut stream = Stream::for_cycle(self.seed, number);
        let mut text = [b'-'; TEXT_BYTES];
        for place in text.chunks_exact_mut(GROUP_DIGITS + 1) {
            if let Some(digits) = place.first_chunk_mut() {
                *digits = group(stream.next_u64());
            }
        }
        text[C_GROUPS * (GROUP_DIGITS + 1) - 1] = b'\t';
        text[TEXT_BYTES - 1] = b'\n';
        // Drawn last, so that the texts of a seed are the same whatever `k` is.
        let key = match &self.key {
            None => number,
            Some(sampler) => sampler.draw(&mut stream),
        };
        append_number(out, number);
        out.push(b'\t');
        append_number(out, key);
        out.push(b'\t');
        out.extend_from_slice(&text);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn text(rows: &Rows, numbers: Range<u64>) -> String {
        let mut out = Vec::new();
        rows.append(&mut out, numbers);
        String::from_utf8(out).unwrap()
    }

    fn random() -> KeyColumn {
        KeyColumn::Random(Distribution::Uniform {})
    }

    #[test]
    fn content_of_a_seed_never_changes() {
        // These numbers are the identity of stored datasets: where they must change, the
        // datasets' own version must change with them.
        let mut out = Vec::new();
        let ordered = Rows::new(1, 10_000, &KeyColumn::RowNumber).append(&mut out, 1..10_001);
        let random = Rows::new(1, 10_000, &random()).append(&mut out, 1..10_001);
        assert_eq!(
            (ordered, random),
            (8_684_474_629_634_125_355, 15_811_988_745_283_845_602)
        );
    }

    #[test]
    fn a_row_has_the_form_of_the_schema() {
        let rows = Rows::new(7, 1_000, &KeyColumn::RowNumber);
        for (index, line) in text(&rows, 1..1_001).lines().enumerate() {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = (index + 1).to_string();
            assert_eq!(&fields[..2], [&number, &number]);
            for (field, groups) in fields[2..].iter().zip([C_GROUPS, PAD_GROUPS]) {
                let parts: Vec<&str> = field.split('-').collect();
                assert_eq!(parts.len(), groups);
                let digits =
                    |part: &&str| part.len() == 11 && part.bytes().all(|b| b.is_ascii_digit());
                assert!(parts.iter().all(digits), "{field}");
            }
            assert_eq!(fields.len(), 4);
        }
    }

    #[test]
    fn random_keys_lie_in_the_table_and_leave_the_texts_alone() {
        let ordered = text(&Rows::new(3, 50, &KeyColumn::RowNumber), 1..51);
        let random = text(&Rows::new(3, 50, &random()), 1..51);
        let mut differ = 0;
        for (a, b) in ordered.lines().zip(random.lines()) {
            let (a, b): (Vec<_>, Vec<_>) = (a.split('\t').collect(), b.split('\t').collect());
            assert_eq!((a[0], &a[2..]), (b[0], &b[2..]));
            assert!((1..=50).contains(&b[1].parse::<u64>().unwrap()));
            differ += u32::from(a[1] != b[1]);
        }
        assert!(differ > 40);
    }

    #[test]
    fn seeds_and_rows_differ() {
        let of = |seed, number: u64| text(&Rows::new(seed, 9, &random()), number..number + 1);
        assert_ne!(of(1, 1)[8..], of(2, 1)[8..]);
        assert_ne!(of(1, 1)[8..], of(1, 2)[8..]);
    }

    #[test]
    fn the_longest_row_is_as_stated() {
        let mut out = Vec::new();
        Rows::new(1, u64::MAX, &KeyColumn::RowNumber).append(&mut out, u64::MAX - 1..u64::MAX);
        assert_eq!(out.len(), ROW_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_bytes_and_checksum(seed: u64, cut in 1u64..200) {
            let rows = Rows::new(seed, 200, &random());
            let (mut whole, mut parts) = (Vec::new(), Vec::new());
            let sum = rows.append(&mut whole, 1..201);
            let second = rows.append(&mut Vec::new(), cut..201);
            let first = rows.append(&mut parts, 1..cut);
            rows.append(&mut parts, cut..201);
            prop_assert_eq!(whole, parts);
            prop_assert_eq!(sum, first.wrapping_add(second));
        }
    }
}
