//! The generated rows as one number.
//!
//! The checksum of a table is the sum of the checksums of its rows, each row written as one line of
//! tab-separated text. A sum does not depend on the order. So parts that were generated apart add
//! up, and the rows of a table have the same sum in any order in which a server returns them.

const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
const START: u64 = 0x243f_6a88_85a3_08d3;

/// The checksum of one line, its newline included.
#[inline]
pub fn row(line: &[u8]) -> u64 {
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
    fn any_changed_byte_changes_it() {
        let line = b"1\t1\t12345678901-12345678901\t12345678901\n".to_vec();
        let mut seen = HashSet::from([row(&line)]);
        for place in 0..line.len() {
            for bit in 0..8 {
                let mut other = line.clone();
                other[place] ^= 1 << bit;
                assert!(seen.insert(row(&other)), "byte {place}, bit {bit}");
            }
        }
    }

    #[test]
    fn length_counts_even_where_the_padding_is_the_same() {
        assert_ne!(row(b"a"), row(b"a\0"));
        assert_ne!(row(b""), row(b"\0\0\0\0\0\0\0\0"));
    }
}
