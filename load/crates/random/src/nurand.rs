//! The skewed draw of TPC-C, NURand (clause 2.1.6), its constants, and its last names.

use super::Stream;

/// Keeps the draw of a run's constants apart from the other long streams of a seed.
const CONSTANTS_STREAM: u64 = 1 << 50;

/// The upper ends A that the specification gives to the ranges of last names, customers and items.
pub const A_C_LAST: u64 = 255;
pub const A_C_ID: u64 = 1023;
pub const A_OL_I_ID: u64 = 8191;

/// Last names there are.
pub const LAST_NAMES: u64 = 1000;

/// Clause 2.1.6.1: by how much the constant of a run must differ from that of the load.
const DELTA_MIN: u64 = 65;
const DELTA_MAX: u64 = 119;
const DELTAS_BARRED: [u64; 2] = [96, 112];

/// The constants C of a run, the same for all of its terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    pub c_last: u64,
    pub c_id: u64,
    pub ol_i_id: u64,
}

impl Constants {
    /// Constants of runs over data whose last names were made with `c_load`. They follow from it,
    /// so several load generators over the same data have the same.
    pub fn of_run(c_load: u64) -> Self {
        let mut stream = Stream::new(c_load, CONSTANTS_STREAM);
        let legal: Vec<u64> = (0..=A_C_LAST)
            .filter(|c_run| is_legal(c_load, *c_run))
            .collect();
        let place = stream.below(legal.len() as u64) as usize;
        Self {
            c_last: legal.get(place).copied().unwrap_or_default(),
            c_id: stream.uniform(0, A_C_ID),
            ol_i_id: stream.uniform(0, A_OL_I_ID),
        }
    }
}

/// Whether last names may be asked for with `c_run` where they were made with `c_load`.
pub fn is_legal(c_load: u64, c_run: u64) -> bool {
    let delta = c_load.abs_diff(c_run);
    (DELTA_MIN..=DELTA_MAX).contains(&delta) && !DELTAS_BARRED.contains(&delta)
}

impl Stream {
    /// NURand(`a`, `low`, `high`) with the constant `c`.
    #[inline]
    pub fn nurand(&mut self, a: u64, c: u64, low: u64, high: u64) -> u64 {
        let mixed = self.uniform(0, a) | self.uniform(low, high);
        (mixed + c) % (high - low + 1) + low
    }
}

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// The last name of a number below [`LAST_NAMES`]: a syllable for each of its digits (clause
/// 4.3.2.3).
pub fn last_name(number: u64) -> [&'static str; 3] {
    [number / 100, number / 10, number].map(|digit| {
        let syllable = SYLLABLES.get((digit % 10) as usize);
        syllable.copied().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u64) -> String {
        last_name(number).concat()
    }

    #[test]
    fn names_have_a_syllable_for_each_digit() {
        assert_eq!(name(0), "BARBARBAR");
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(40), "BARPRESBAR");
        assert_eq!(name(999), "EINGEINGEING");
        // The column holds 16 characters.
        assert!((0..LAST_NAMES).all(|number| name(number).len() <= 16));
    }

    #[test]
    fn every_constant_of_a_load_has_a_legal_one_for_runs_and_always_the_same() {
        for c_load in 0..=A_C_LAST {
            let run = Constants::of_run(c_load);
            assert!(is_legal(c_load, run.c_last), "{c_load}: {run:?}");
            assert!(run.c_id <= A_C_ID && run.ol_i_id <= A_OL_I_ID);
            assert_eq!(run, Constants::of_run(c_load));
        }
        for (delta, legal) in [
            (64, false),
            (65, true),
            (96, false),
            (112, false),
            (119, true),
        ] {
            assert_eq!(is_legal(10, 10 + delta), legal, "{delta}");
            assert_eq!(is_legal(10 + delta, 10), legal, "{delta}");
        }
        assert!(!is_legal(0, 120));
    }

    /// The formula of the specification, drawn by brute force over all pairs.
    #[test]
    fn nurand_has_the_specified_distribution() {
        const A: u64 = 7;
        const C: u64 = 3;
        const LOW: u64 = 1;
        const HIGH: u64 = 12;
        let mut exact = [0.0; (HIGH + 1) as usize];
        for first in 0..=A {
            for second in LOW..=HIGH {
                let value = ((first | second) + C) % (HIGH - LOW + 1) + LOW;
                exact[value as usize] += 1.0 / ((A + 1) * (HIGH - LOW + 1)) as f64;
            }
        }
        let mut stream = Stream::new(4, 0);
        let mut seen = [0.0; (HIGH + 1) as usize];
        for _ in 0..200_000 {
            seen[stream.nurand(A, C, LOW, HIGH) as usize] += 1.0 / 200_000.0;
        }
        for (value, (exact, seen)) in exact.iter().zip(seen).enumerate() {
            // Five deviations of a share of at most a third.
            assert!((exact - seen).abs() < 0.0055, "{value}: {exact} {seen}");
        }
    }

    #[test]
    fn draws_stay_in_their_range_and_both_ends_come() {
        let mut stream = Stream::new(1, 0);
        let (mut least, mut most) = (u64::MAX, 0);
        for _ in 0..200_000 {
            let drawn = stream.nurand(A_C_ID, 259, 1, 3000);
            (least, most) = (least.min(drawn), most.max(drawn));
        }
        assert!(least <= 3 && most >= 2998 && least >= 1 && most <= 3000);
    }
}
