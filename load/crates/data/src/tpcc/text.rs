//! Random values as clause 4.3.2 of the specification requires them.

use crate::content::Lines;
use contend_random::Stream;
use contend_random::nurand::A_C_LAST;

/// Letters and digits; 64 of them, so that six random bits are one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789EA";
const LETTERS_A_WORD: usize = 10;
const DIGITS_A_WORD: usize = 16;

const ORIGINAL: &[u8] = b"ORIGINAL";

/// Letters and digits; each length between the limits is equally likely.
#[inline]
pub fn letters(lines: &mut Lines<'_>, stream: &mut Stream, shortest: u64, longest: u64) {
    let length = stream.uniform(shortest, longest) as usize;
    append_letters(lines.raw(), stream, length);
    lines.tab();
}

/// `count` digits, then some text.
pub fn digits(lines: &mut Lines<'_>, stream: &mut Stream, count: usize, behind: &str) {
    let out = lines.raw();
    let mut left = count;
    while left > 0 {
        let mut word = stream.next_u64();
        for _ in 0..left.min(DIGITS_A_WORD) {
            // The upper half of a product is as good as a remainder, and leaves the rest to draw.
            let wide = u128::from(word) * 10;
            out.push(b'0' + (wide >> 64) as u8);
            word = wide as u64;
        }
        left -= left.min(DIGITS_A_WORD);
    }
    lines.part(behind).tab();
}

/// 26 to 50 letters; `original` has that word in their midst.
pub fn data(lines: &mut Lines<'_>, stream: &mut Stream, original: bool) {
    let length = stream.uniform(26, 50) as usize;
    let out = lines.raw();
    let start = out.len();
    append_letters(out, stream, length);
    if original {
        let at = start + stream.below((length - ORIGINAL.len() + 1) as u64) as usize;
        if let Some(place) = out.get_mut(at..at + ORIGINAL.len()) {
            place.copy_from_slice(ORIGINAL);
        }
    }
    lines.tab();
}

#[inline]
fn append_letters(out: &mut Vec<u8>, stream: &mut Stream, length: usize) {
    let end = out.len() + length;
    while out.len() < end {
        let mut word = stream.next_u64();
        let ten: [u8; LETTERS_A_WORD] = std::array::from_fn(|_| {
            let letter = LETTERS[(word & 63) as usize];
            word >>= 6;
            letter
        });
        out.extend_from_slice(&ten);
    }
    out.truncate(end);
}

/// The constant C of a load.
pub fn c_load(seed: u64) -> u64 {
    const C_STREAM: u64 = 0x6e75_7261_6e64;
    Stream::new(seed, C_STREAM).uniform(0, A_C_LAST)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(write: impl Fn(&mut Lines<'_>, &mut Stream), seed: u64) -> String {
        let mut out = Vec::new();
        write(&mut Lines::new(&mut out), &mut Stream::new(seed, 0));
        let text = String::from_utf8(out).unwrap();
        text.strip_suffix('\t').unwrap().to_owned()
    }

    #[test]
    fn strings_have_every_length_they_may_have_and_no_other() {
        let mut lengths = [0; 30];
        for seed in 0..500 {
            let drawn = text(|lines, stream| letters(lines, stream, 8, 16), seed);
            assert!(drawn.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            lengths[drawn.len()] += 1;
        }
        assert!((8..=16).all(|length| lengths[length] > 20), "{lengths:?}");
        assert_eq!(
            lengths.iter().sum::<i32>(),
            lengths[8..=16].iter().sum::<i32>()
        );
    }

    #[test]
    fn digits_are_digits() {
        for count in [4, 16, 21] {
            let drawn = text(|lines, stream| digits(lines, stream, count, "11111"), 1);
            assert_eq!(drawn.len(), count + 5);
            assert!(drawn.ends_with("11111") && drawn.bytes().all(|b| b.is_ascii_digit()));
        }
    }

    #[test]
    fn original_stands_anywhere_in_the_data() {
        let mut first = 50;
        let mut behind = 50;
        for seed in 0..500 {
            let drawn = text(|lines, stream| data(lines, stream, true), seed);
            assert!((26..=50).contains(&drawn.len()));
            let at = drawn.find("ORIGINAL").unwrap();
            first = first.min(at);
            behind = behind.min(drawn.len() - at - ORIGINAL.len());
            let without = text(|lines, stream| data(lines, stream, false), seed);
            assert_eq!(without.len(), drawn.len());
        }
        assert_eq!((first, behind), (0, 0));
    }
}
