//! Orders of the numbers below a bound that need no memory: the place of each number, and the
//! number at each place, are computed.

use super::Stream;

const ROUNDS: usize = 4;

/// A seeded permutation of the numbers below `count`.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    /// Bits of each half of a number, as the rounds see it.
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation number `index` of a seed. `count` of 0 is taken for 1.
    pub fn new(seed: u64, index: u64, count: u64) -> Self {
        let count = count.max(1);
        let bits = u64::BITS - (count - 1).leading_zeros();
        let mut stream = Stream::new(seed, index);
        Self {
            count,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| stream.next_u64()),
        }
    }

    /// The place of a number.
    #[inline]
    pub fn place_of(&self, number: u64) -> u64 {
        self.walk(number, |number| {
            self.keys.iter().fold(number, |number, key| {
                let (left, right) = self.halves(number);
                self.joined(right, left ^ self.mixed(right, *key))
            })
        })
    }

    /// The number at a place.
    #[inline]
    pub fn number_at(&self, place: u64) -> u64 {
        self.walk(place, |place| {
            self.keys.iter().rev().fold(place, |place, key| {
                let (left, right) = self.halves(place);
                self.joined(right ^ self.mixed(left, *key), left)
            })
        })
    }

    /// The rounds permute the numbers below a power of four. A number that lands outside of the
    /// bound goes on until it is inside again, which permutes the numbers inside.
    #[inline]
    fn walk(&self, from: u64, rounds: impl Fn(u64) -> u64) -> u64 {
        let mut at = rounds(from % self.count);
        while at >= self.count {
            at = rounds(at);
        }
        at
    }

    #[inline]
    fn halves(&self, number: u64) -> (u64, u64) {
        (number >> self.half_bits, number & self.mask())
    }

    #[inline]
    fn joined(&self, left: u64, right: u64) -> u64 {
        left << self.half_bits | right
    }

    #[inline]
    fn mixed(&self, half: u64, key: u64) -> u64 {
        super::mix(half ^ key) & self.mask()
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1u64 << self.half_bits) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn every_place_has_one_number_and_the_way_back(seed: u64, count in 1u64..3_000) {
            let order = Permutation::new(seed, 3, count);
            let places: HashSet<u64> = (0..count).map(|number| order.place_of(number)).collect();
            prop_assert_eq!(places.len() as u64, count);
            prop_assert!(places.iter().all(|place| *place < count));
            prop_assert!((0..count).all(|n| order.number_at(order.place_of(n)) == n));
        }
    }

    #[test]
    fn neighbours_are_apart_and_seeds_and_indices_differ() {
        let places = |seed, index| -> Vec<u64> {
            let order = Permutation::new(seed, index, 3_000);
            (0..3_000).map(|number| order.place_of(number)).collect()
        };
        let (one, other, third) = (places(1, 1), places(1, 2), places(2, 1));
        assert!(one != other && one != third && other != third);
        let near = one.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 30);
        // 2 % of all pairs lie so near by chance.
        assert!(near.count() < 120);
    }

    #[test]
    fn the_whole_range_of_a_large_bound_is_reached() {
        let order = Permutation::new(1, 1, u64::MAX);
        assert_ne!(order.place_of(0), 0);
        assert_eq!(order.number_at(order.place_of(u64::MAX - 1)), u64::MAX - 1);
    }
}
