//! Random decimal digits, several at a time.
//!
//! A table row holds 165 random digits, and the server should wait for the disk, not for us. So a
//! group of eleven digits costs one random word, two multiplications for its value and a few for
//! its text, instead of eleven draws.

/// Digits of a group, as sysbench writes them.
pub const GROUP_DIGITS: usize = 11;

const GROUP_VALUES: u64 = 100_000_000_000;

/// The text of eleven random digits, each combination equally likely except for a part in 10^8.
#[inline]
pub fn group(random: u64) -> [u8; GROUP_DIGITS] {
    let value = ((u128::from(random) * u128::from(GROUP_VALUES)) >> 64) as u64;
    let high = (value / 100_000_000) as u32;
    let low = eight(value - u64::from(high) * 100_000_000);
    let hundreds = (high * 41) >> 12;
    let rest = high - hundreds * 100;
    let tens = (rest * 103) >> 10;
    let ones = rest - tens * 10;
    let [a, b, c, d, e, f, g, h] = low;
    let digit = |value: u32| b'0' + value as u8;
    [
        digit(hundreds),
        digit(tens),
        digit(ones),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
    ]
}

/// The text of a number below 10^8, with leading zeros.
#[inline]
fn eight(value: u64) -> [u8; 8] {
    // Each step halves the digits of every part, all parts in one word: 8 -> 4+4 -> 2+2+2+2 ->
    // single digits, the leading one in the lowest byte. The multiplications are divisions by
    // 10^4, 100 and 10, exact in the range that can occur.
    let high = value / 10_000;
    let fours = high | ((value - high * 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones + 0x3030_3030_3030_3030).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_exact_where_the_divisions_turn() {
        for hundreds in 0..10_000u64 {
            for value in [hundreds, hundreds * 10_000, hundreds * 10_000 + 9_999] {
                assert_eq!(&eight(value), format!("{value:08}").as_bytes());
            }
        }
    }

    #[test]
    fn a_group_covers_the_whole_range() {
        assert_eq!(&group(0), b"00000000000");
        assert_eq!(&group(u64::MAX), b"99999999999");
        assert_eq!(&group(1 << 63), b"50000000000");
    }

    #[test]
    fn every_digit_is_as_likely_at_every_place() {
        let mut counts = [[0u32; 10]; GROUP_DIGITS];
        let mut stream = contend_random::Stream::new(1, 1);
        for _ in 0..100_000 {
            for (place, digit) in group(stream.next_u64()).iter().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        // Binomial with mean 10 000 and deviation 95: five deviations.
        for place in counts {
            assert!(
                place.iter().all(|c| (9_525..=10_475).contains(c)),
                "{place:?}"
            );
        }
    }
}
