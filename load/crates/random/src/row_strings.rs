//! The strings of the table `test_data`, for filling the table and for queries of its rows.
//!
//! `random_str` begins with a number of the row's own, in ten digits, so that a query can name it.
//! For row `id` of `rows` it is `1 + id * 7368787 % rows`. So the rows lie in the index in a
//! different order than in the table, and every number up to `rows` is there once. The hexadecimal
//! digits of the number's SHA-256 follow, as the servers' SHA2 writes them.

use sha2::{Digest, Sha256};

/// A prime, so that only a multiple of it is a number of rows for which numbers come twice.
pub const STEP: u64 = 7_368_787;

const DIGITS: usize = 10;

/// Characters of the shortest string and of the longest: the number, and with all of its SHA-256.
pub const SHORTEST: usize = DIGITS;
pub const LONGEST: usize = DIGITS + 64;

/// The number with which `random_str` of a row begins.
#[inline]
pub fn number_of(id: u64, rows: u64) -> u64 {
    1 + id * STEP % rows
}

/// A string of the longest length: the ten digits of `number`, then the digest of `digested`.
pub fn string(number: u64, digested: u64) -> [u8; LONGEST] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut out = [b'0'; LONGEST];
    let (head, tail) = out.split_at_mut(DIGITS);
    let mut rest = number;
    for digit in head.iter_mut().rev() {
        *digit = HEX[(rest % 10) as usize];
        rest /= 10;
    }
    let mut digits = itoa::Buffer::new();
    let digest = Sha256::digest(digits.format(digested));
    for (pair, byte) in tail.chunks_exact_mut(2).zip(digest) {
        pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_number_is_there_once_in_another_order() {
        for rows in [1, 7, 1000, 4096] {
            let numbers: Vec<u64> = (1..=rows).map(|id| number_of(id, rows)).collect();
            let set: BTreeSet<u64> = numbers.iter().copied().collect();
            assert_eq!(set, (1..=rows).collect());
            assert!(rows < 7 || !numbers.is_sorted());
        }
    }

    #[test]
    fn a_string_is_what_the_servers_compute() {
        // RPAD(LPAD(1, 10, '0'), 74, SHA2(1, 256))
        let text = "00000000016b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
        assert_eq!(string(1, 1), text.as_bytes());
        assert!(string(4_294_967_296, 2).starts_with(b"4294967296"));
    }
}
