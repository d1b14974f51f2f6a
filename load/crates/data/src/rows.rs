//! The rows of the table `sbtest`, from a seed and the row number alone.
//!
//! Row n is always the same bytes, so any range can be made on any thread at any time. A row is one
//! line of the server's own load format: `id`, `k`, `c`, `pad`, separated by tabs. `c` is ten
//! groups of eleven digits joined by `-`, `pad` is five, as sysbench writes them.

use super::content::{Appended, Content, line_checksum};
use super::digits::{GROUP_DIGITS, group};
use contend_random::Distribution;
use contend_random::{Sampler, Shape, Stream};
use std::ops::Range;

const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
/// `c`, a tab, `pad`, a newline: each group is followed by exactly one byte.
const TEXT_BYTES: usize = (C_GROUPS + PAD_GROUPS) * (GROUP_DIGITS + 1);
/// Without the byte after its last group.
pub const C_BYTES: usize = C_GROUPS * (GROUP_DIGITS + 1) - 1;
pub const PAD_BYTES: usize = PAD_GROUPS * (GROUP_DIGITS + 1) - 1;
/// The longest line: two numbers of twenty digits, each with its tab.
const LINE_BYTES_MAX: usize = TEXT_BYTES + 42;
/// The longest item: its texts in quotes, three commas and the parentheses.
const ITEM_BYTES_MAX: usize = TEXT_BYTES - 2 + 4 + 40 + 4 + 2;

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
        match key {
            KeyColumn::RowNumber => Self {
                seed,
                count,
                key: None,
            },
            KeyColumn::Random(distribution) => Self::drawn(seed, count, Shape::new(distribution)),
        }
    }

    /// As [`Self::new`], `k` drawn by a shape.
    pub fn drawn(seed: u64, count: u64, shape: Shape) -> Self {
        Self {
            seed,
            count,
            key: Some(Sampler::new(shape, 1, count.max(1))),
        }
    }

    /// The numbers of all rows, cut into `count` ranges that follow one another.
    pub fn ranges(&self, count: usize) -> Vec<Range<u64>> {
        let pieces = u128::try_from(count).unwrap_or(1).max(1);
        let cut = |piece: u128| 1 + (u128::from(self.count) * piece / pieces) as u64;
        (0..pieces)
            .map(|piece| cut(piece)..cut(piece + 1))
            .collect()
    }

    /// `c` and `pad` of a row.
    #[inline]
    pub fn texts(&self, number: u64) -> ([u8; C_BYTES], [u8; PAD_BYTES]) {
        let (text, _) = self.draw(number);
        let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
        c.copy_from_slice(&text[..C_BYTES]);
        pad.copy_from_slice(&text[C_BYTES + 1..TEXT_BYTES - 1]);
        (c, pad)
    }

    /// Appends the lines of a range of numbers; returns the sum of their checksums.
    fn append_lines(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> u64 {
        let mut sum = 0u64;
        for number in numbers {
            let start = out.len();
            self.append_row(out, number);
            sum = sum.wrapping_add(line_checksum(out.get(start..).unwrap_or_default()));
        }
        sum
    }

    #[inline]
    fn append_row(&self, out: &mut Vec<u8>, number: u64) {
        let (mut text, key) = self.draw(number);
        text[C_BYTES] = b'\t';
        text[TEXT_BYTES - 1] = b'\n';
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(digits.format(number).as_bytes());
        out.push(b'\t');
        out.extend_from_slice(digits.format(key).as_bytes());
        out.push(b'\t');
        out.extend_from_slice(&text);
    }

    fn append_item(&self, out: &mut Vec<u8>, number: u64) {
        let (text, key) = self.draw(number);
        let (c, pad) = text.split_at(C_BYTES);
        out.extend_from_slice(b",(");
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(digits.format(number).as_bytes());
        out.push(b',');
        out.extend_from_slice(digits.format(key).as_bytes());
        out.extend_from_slice(b",'");
        out.extend_from_slice(c);
        out.extend_from_slice(b"','");
        out.extend_from_slice(pad.get(1..TEXT_BYTES - C_BYTES - 1).unwrap_or_default());
        out.extend_from_slice(b"')");
    }

    /// The texts of a row, `-` after each group, and its `k`.
    #[inline]
    fn draw(&self, number: u64) -> ([u8; TEXT_BYTES], u64) {
        let mut stream = Stream::for_cycle(self.seed, number);
        let mut text = [b'-'; TEXT_BYTES];
        for place in text.chunks_exact_mut(GROUP_DIGITS + 1) {
            if let Some(digits) = place.first_chunk_mut() {
                *digits = group(stream.next_u64());
            }
        }
        // Drawn last, so that the texts of a seed are the same for every `k`.
        let key = match &self.key {
            None => number,
            Some(sampler) => sampler.draw(&mut stream),
        };
        (text, key)
    }
}

impl Content for Rows {
    fn numbers(&self) -> Range<u64> {
        1..self.count.saturating_add(1)
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn bytes_max(&self) -> usize {
        LINE_BYTES_MAX
    }

    fn append(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> Appended {
        Appended {
            rows: numbers.end - numbers.start,
            checksum: self.append_lines(out, numbers),
        }
    }
}

/// The same rows as items in the list of an INSERT, a comma before each. They have no checksum.
#[derive(Debug)]
pub struct Items<'r>(pub &'r Rows);

impl Content for Items<'_> {
    fn numbers(&self) -> Range<u64> {
        self.0.numbers()
    }

    fn count(&self) -> u64 {
        self.0.count
    }

    fn bytes_max(&self) -> usize {
        ITEM_BYTES_MAX
    }

    fn append(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> Appended {
        let rows = numbers.end - numbers.start;
        numbers.for_each(|number| self.0.append_item(out, number));
        Appended { rows, checksum: 0 }
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
        let ordered = Rows::new(1, 10_000, &KeyColumn::RowNumber)
            .append(&mut out, 1..10_001)
            .checksum;
        let random = Rows::new(1, 10_000, &random())
            .append(&mut out, 1..10_001)
            .checksum;
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
        let rows = Rows::new(1, u64::MAX, &KeyColumn::RowNumber);
        rows.append(&mut out, u64::MAX - 1..u64::MAX);
        assert_eq!(out.len(), LINE_BYTES_MAX);
        out.clear();
        Items(&rows).append(&mut out, u64::MAX - 1..u64::MAX);
        assert_eq!(out.len(), ITEM_BYTES_MAX);
    }

    #[test]
    fn an_item_holds_what_the_line_holds() {
        let rows = Rows::new(4, 20, &random());
        let lines = text(&rows, 1..21);
        let mut items = Vec::new();
        Items(&rows).append(&mut items, 1..21);
        let wanted: String = lines
            .lines()
            .map(|line| {
                let fields: Vec<&str> = line.split('\t').collect();
                format!(
                    ",({},{},'{}','{}')",
                    fields[0], fields[1], fields[2], fields[3]
                )
            })
            .collect();
        assert_eq!(String::from_utf8(items).unwrap(), wanted);
    }

    #[test]
    fn ranges_follow_one_another_and_miss_nothing() {
        for (count, pieces) in [(10, 3), (1, 4), (0, 2), (u64::MAX - 1, 7)] {
            let ranges = Rows::new(1, count, &random()).ranges(pieces);
            assert_eq!(ranges.len(), pieces);
            assert_eq!((ranges[0].start, ranges[pieces - 1].end), (1, count + 1));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_bytes_and_checksum(seed: u64, cut in 1u64..200) {
            let rows = Rows::new(seed, 200, &random());
            let (mut whole, mut parts) = (Vec::new(), Vec::new());
            let sum = rows.append(&mut whole, 1..201).checksum;
            let second = rows.append(&mut Vec::new(), cut..201).checksum;
            let first = rows.append(&mut parts, 1..cut).checksum;
            rows.append(&mut parts, cut..201);
            prop_assert_eq!(whole, parts);
            prop_assert_eq!(sum, first.wrapping_add(second));
        }
    }
}
