//! Seeded random streams: the only source of chance in a run.
//!
//! A stream is made from a seed and a number, and is never shared. [`Stream::for_cycle`] gives the
//! stream of the n-th event of a seed. That event therefore sends the same queries on any number of
//! threads. [`Stream::new`] gives long streams (one for each connection, one for the schedule),
//! which differ from those of the events. Not for cryptography.
//!
//! ```
//! use contend_random::{Distribution, Shape, Stream};
//! let shape = Shape::new(&Distribution::Zipfian { exp: 0.8 });
//! let draw = |cycle| shape.draw(&mut Stream::for_cycle(1, cycle), 1, 1000);
//! assert_eq!(draw(7), draw(7));
//! ```

mod distribution;
pub mod nurand;
mod permutation;
pub mod row_strings;
mod shape;
mod template;

pub use distribution::{Distribution, ITER_MAX, ZIPFIAN_EXP_MAX};
pub use permutation::Permutation;
pub use shape::{Sampler, Shape};

/// Steps SplitMix64 to its next state: an odd constant, so every state is visited once.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Keeps the streams of events apart from the long streams of the same seed.
const CYCLE_DOMAIN: u64 = 0x6379_636c_6573_0001;
const PART_DOMAIN: u64 = 0x7061_7274_7300_0003;
const STREAM_DOMAIN: u64 = 0x7374_7265_616d_0002;

/// One random stream: xoshiro256++, seeded by SplitMix64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// The long stream number `index` of `seed`.
    pub fn new(seed: u64, index: u64) -> Self {
        Self::seeded(seed, index, STREAM_DOMAIN)
    }

    /// The stream of event number `cycle` of `seed`.
    #[inline]
    pub fn for_cycle(seed: u64, cycle: u64) -> Self {
        Self::seeded(seed, cycle, CYCLE_DOMAIN)
    }

    /// A separate stream, number `index`, made from the present state of this one. This stream does
    /// not advance.
    pub fn part(&self, index: u64) -> Self {
        Self::seeded(self.state[0], index, PART_DOMAIN)
    }

    #[inline]
    fn seeded(seed: u64, index: u64, domain: u64) -> Self {
        // The seed is mixed before the index is added, so streams of neighbouring seeds or indices
        // start with very different states.
        let mut state = mix(mix(seed ^ domain).wrapping_add(index.wrapping_mul(GOLDEN)));
        Self {
            state: std::array::from_fn(|_| {
                state = state.wrapping_add(GOLDEN);
                mix(state)
            }),
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let drawn = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        drawn
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number below `bound`, each equally likely; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // Lemire's multiplication: it divides only if the draw could be biased.
        let mut wide = u128::from(self.next_u64()) * u128::from(bound);
        if (wide as u64) < bound {
            let biased = bound.wrapping_neg() % bound;
            while (wide as u64) < biased {
                wide = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// A whole number from `low` to `high`, both included. If `high` is below `low`, it is `low`.
    #[inline]
    pub fn uniform(&mut self, low: u64, high: u64) -> u64 {
        match high.saturating_sub(low).checked_add(1) {
            Some(span) => low + self.below(span),
            None => self.next_u64(),
        }
    }

    /// A waiting time of a Poisson process, as a multiple of its mean.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        -(1.0 - self.unit()).ln()
    }
}

/// The finaliser of SplitMix64: each bit of the input changes about half of the output bits.
#[inline]
fn mix(input: u64) -> u64 {
    let mut word = input;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn a_cycle_of_a_seed_always_draws_the_same() {
        let first: Vec<u64> = (0..8)
            .map(|_| Stream::for_cycle(7, 123).next_u64())
            .collect();
        assert!(first.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn neighbouring_cycles_seeds_and_kinds_of_stream_differ() {
        let mut seen = HashSet::new();
        for seed in 0..50 {
            for index in 0..200 {
                assert!(seen.insert(Stream::for_cycle(seed, index).next_u64()));
                assert!(seen.insert(Stream::new(seed, index).next_u64()));
            }
        }
    }

    #[test]
    fn parts_differ_from_one_another_and_draw_nothing() {
        let stream = Stream::for_cycle(1, 1);
        let (mut first, mut second) = (stream.part(0), stream.part(1));
        assert_ne!(first.next_u64(), second.next_u64());
        assert_eq!(stream.part(0), stream.part(0));
        assert_eq!(stream, Stream::for_cycle(1, 1));
    }

    #[test]
    fn first_draws_of_successive_cycles_are_even() {
        let mut counts = [0u32; 16];
        for cycle in 0..160_000 {
            counts[Stream::for_cycle(1, cycle).below(16) as usize] += 1;
        }
        // Each count is binomial with mean 10 000 and standard deviation 97; five deviations are
        // allowed.
        assert!(
            counts.iter().all(|c| (9_515..=10_485).contains(c)),
            "{counts:?}"
        );
    }

    #[test]
    fn both_ends_of_a_range_are_drawn() {
        let mut stream = Stream::new(1, 1);
        let drawn: HashSet<u64> = (0..1000).map(|_| stream.uniform(5, 8)).collect();
        assert_eq!(drawn, HashSet::from([5, 6, 7, 8]));
        assert_eq!(stream.uniform(9, 9), 9);
        assert_eq!(stream.uniform(9, 3), 9);
    }

    #[test]
    fn exponential_waits_have_mean_one() {
        let mut stream = Stream::new(3, 0);
        let sum: f64 = (0..100_000).map(|_| stream.exponential()).sum();
        assert!((sum / 100_000.0 - 1.0).abs() < 0.02);
    }

    proptest! {
        #[test]
        fn uniform_stays_inside(seed: u64, a: u64, b: u64) {
            let (low, high) = (a.min(b), a.max(b));
            let mut stream = Stream::new(seed, 0);
            for _ in 0..50 {
                prop_assert!((low..=high).contains(&stream.uniform(low, high)));
            }
        }

        #[test]
        fn unit_is_below_one(seed: u64) {
            let drawn = Stream::new(seed, 9).unit();
            prop_assert!((0.0..1.0).contains(&drawn));
        }
    }
}
