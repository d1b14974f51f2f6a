//! Logged times of a template: counts by size, within 1 %.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Each power of two is divided into this many steps.
const STEPS_BITS: u32 = 6;
const STEPS: u64 = 1 << STEPS_BITS;

/// How many times of each size there were, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeCounts(BTreeMap<u16, u64>);

impl TimeCounts {
    pub fn add(&mut self, us: u64) {
        *self.0.entry(step(us)).or_default() += 1;
    }

    /// The time at this quantile (0 to 1), in microseconds; none if there is no time.
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        let count: u64 = self.0.values().sum();
        let wanted = ((count as f64 * quantile).ceil() as u64).max(1);
        let mut sum = 0;
        self.0.iter().find_map(|(step, count)| {
            sum += count;
            (sum >= wanted).then(|| middle_us(*step))
        })
    }
}

fn step(us: u64) -> u16 {
    let power = us.checked_ilog2().unwrap_or(0);
    let step = match power.checked_sub(STEPS_BITS) {
        None => us,
        Some(shift) => u64::from(shift + 1) * STEPS + ((us >> shift) - STEPS),
    };
    step as u16
}

fn middle_us(step: u16) -> u64 {
    let (power, rest) = (u64::from(step) / STEPS, u64::from(step) % STEPS);
    match power.checked_sub(1) {
        None => rest,
        Some(shift) => ((STEPS + rest) << shift) + (1 << shift) / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_times() {
        let mut counts = TimeCounts::default();
        assert_eq!(counts.quantile_us(0.99), None);
        (1..=100).for_each(|us| counts.add(us));
        assert_eq!(counts.quantile_us(0.5), Some(50));
        assert_eq!(counts.quantile_us(0.0), Some(1));
    }

    proptest! {
        #[test]
        fn a_time_is_known_within_one_percent(us in any::<u64>()) {
            let middle = middle_us(step(us));
            prop_assert!(middle.abs_diff(us) <= us / 100, "{us} {middle}");
        }
    }
}
