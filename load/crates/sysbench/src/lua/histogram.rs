//! Histograms in sysbench's form: buckets that grow evenly on a log scale, shown as stars.

use std::fmt::Write as _;

/// Counts of values from `lowest` to `highest`; values outside count at the ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    log_lowest: f64,
    /// Buckets for each unit of the natural logarithm.
    per_log: f64,
}

/// Stars of the fullest bucket.
const WIDTH: u64 = 40;
/// More buckets than anybody looks at; scripts choose their number.
const SIZE_MAX: usize = 1 << 20;

impl Histogram {
    pub fn new(size: usize, lowest: f64, highest: f64) -> Self {
        let size = size.clamp(2, SIZE_MAX);
        let lowest = if lowest > 0.0 {
            lowest
        } else {
            f64::MIN_POSITIVE
        };
        let highest = if highest > lowest {
            highest
        } else {
            lowest * 2.0
        };
        let (log_lowest, log_highest) = (lowest.ln(), highest.ln());
        Self {
            counts: vec![0; size],
            log_lowest,
            per_log: (size - 1) as f64 / (log_highest - log_lowest),
        }
    }

    /// The form of the report: 1024 buckets from a microsecond to 100 s, in milliseconds.
    pub fn of_latency() -> Self {
        Self::new(1024, 0.001, 100_000.0)
    }

    pub fn update(&mut self, value: f64) {
        self.add(value, 1);
    }

    pub fn add(&mut self, value: f64, count: u64) {
        let place = ((value.ln() - self.log_lowest) * self.per_log + 0.5).floor();
        // The cast takes NaN and all values below the first bucket to 0.
        let place = (place as usize).min(self.counts.len() - 1);
        if let Some(bucket) = self.counts.get_mut(place) {
            *bucket += count;
        }
    }

    /// The value at the centre of a bucket.
    fn centre(&self, place: usize) -> f64 {
        (place as f64 / self.per_log + self.log_lowest).exp()
    }

    /// The lines that show it, with their heading.
    pub fn render(&self) -> String {
        let mut text =
            String::from("       value  ------------- distribution ------------- count\n");
        let fullest = self.counts.iter().copied().max().unwrap_or(0).max(1);
        for (place, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let stars = (u128::from(count) * u128::from(WIDTH) + u128::from(fullest / 2))
                / u128::from(fullest);
            let stars = "*".repeat(stars as usize);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:12.3} |{stars:<40} {count}", self.centre(place));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_shown_at_their_centres() {
        let mut histogram = Histogram::new(10, 1.0, 100.0);
        for value in [5.0, 50.0, 0.1, 1000.0] {
            histogram.update(value);
        }
        let text = histogram.render();
        for line in [
            "       1.000 |",
            "       4.642 |",
            "      59.948 |",
            "     100.000 |",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.contains(&format!("|{} 1\n", "*".repeat(40))));
    }

    #[test]
    fn few_among_many_get_few_stars() {
        let mut histogram = Histogram::of_latency();
        histogram.add(10.09, 197);
        histogram.add(11.45, 1);
        let text = histogram.render();
        assert!(
            text.contains("      10.090 |**************************************** 197\n"),
            "{text}"
        );
        assert!(
            text.contains("      11.446 |                                         1\n"),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn any_value_and_any_form_counts_once(
            size: usize, lowest: f64, highest: f64, value: f64,
        ) {
            let mut histogram = Histogram::new(size % 5000, lowest, highest);
            histogram.update(value);
            prop_assert_eq!(histogram.counts.iter().sum::<u64>(), 1);
        }
    }
}
