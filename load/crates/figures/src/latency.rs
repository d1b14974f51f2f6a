//! A histogram of times: 3 significant digits from 1 ns to 1 h, in nanoseconds.

use crate::outcome::{Figures, Percentiles};
use crate::sum::Sum;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The longest time that is recorded; longer ones are counted as this time.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
const NS_PER_US: f64 = 1000.0;

/// Times of one kind. All histograms have the same buckets, so adding them is exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    #[allow(
        clippy::expect_used,
        reason = "the bounds are constants that the type accepts"
    )]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS)
            .expect("constant bounds");
        Self { histogram }
    }

    /// Adds one time.
    #[inline]
    pub fn record_ns(&mut self, time_ns: u64) {
        self.histogram.saturating_record(time_ns);
    }

    /// Replaces the times `away`, which were recorded here, by as many others.
    pub fn replace(&mut self, away: &Self, instead: &Self) {
        // The bounds are equal, and all of `away` was recorded here.
        let taken = self.histogram.subtract(&away.histogram);
        debug_assert!(taken.is_ok());
        self.merge(instead);
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The time at this quantile (0 to 1), in ns; 0 if nothing was recorded.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.histogram
            .value_at_quantile(quantile)
            .min(self.histogram.max())
    }

    /// The count, and in microseconds the minimum, the mean, the usual percentiles and the maximum.
    /// All are 0 if nothing was recorded.
    pub fn percentiles_us(&self) -> Percentiles {
        if self.histogram.is_empty() {
            return Percentiles::default();
        }
        let us = |quantile| self.quantile_ns(quantile) as f64 / NS_PER_US;
        Percentiles {
            count: self.count(),
            min: self.histogram.min() as f64 / NS_PER_US,
            mean: self.histogram.mean() / NS_PER_US,
            p50: us(0.50),
            p90: us(0.90),
            p95: us(0.95),
            p99: us(0.99),
            p999: us(0.999),
            max: self.histogram.max() as f64 / NS_PER_US,
        }
    }

    /// The whole histogram as HdrHistogram V2 with deflate, base64: begins with `HIST`.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        // Writing to memory does not fail, and the bounds are far below the format's limits.
        let written = V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes);
        debug_assert!(written.is_ok());
        STANDARD.encode(bytes)
    }

    /// Reads the text of [`Self::encode`]; none if it is something else.
    fn decode(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        let histogram = Deserializer::new().deserialize(&mut &*bytes).ok()?;
        let bounds = |h: &Histogram<u64>| (h.low(), h.high(), h.sigfig());
        let has_our_bounds = bounds(&histogram) == (1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS);
        has_our_bounds.then_some(Self { histogram })
    }

    /// Statistics with these times.
    pub fn summary(&self) -> Figures {
        Figures {
            latency_us: self.percentiles_us(),
            ..Figures::default()
        }
    }

    /// Statistics with these times and the whole histogram.
    pub fn figures(&self) -> Figures {
        Figures {
            latency_hdr_ns: self.encode(),
            ..self.summary()
        }
    }

    /// Calls `take` with each recorded time in ns, in ascending order, and with its count.
    pub fn each(&self, mut take: impl FnMut(u64, u64)) {
        for step in self.histogram.iter_recorded() {
            take(step.value_iterated_to(), step.count_since_last_iteration());
        }
    }

    /// The longest time, in ns.
    pub fn max_ns(&self) -> u64 {
        self.histogram.max()
    }
}

impl Sum for Latency {
    fn merge(&mut self, other: &Self) {
        if other.histogram.is_empty() {
            return;
        }
        // Adding fails only if the bounds differ, and all histograms have the same bounds.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
    }

    /// An empty histogram is left alone: to clear it would pull a quarter of a megabyte through the
    /// CPU caches for nothing.
    fn clear(&mut self) {
        if !self.histogram.is_empty() {
            self.histogram.reset();
        }
    }
}

/// Encoded; an empty one is an empty text.
impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.histogram.is_empty() {
            true => serializer.serialize_str(""),
            false => serializer.serialize_str(&self.encode()),
        }
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        match text.is_empty() {
            true => Ok(Self::new()),
            false => Self::decode(&text).ok_or_else(|| D::Error::custom("no histogram of ours")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[u64]) -> Latency {
        let mut latency = Latency::new();
        times.iter().for_each(|time| latency.record_ns(*time));
        latency
    }

    #[test]
    fn an_empty_histogram_says_zero() {
        assert_eq!(Latency::new().percentiles_us(), Percentiles::default());
        assert_eq!(Latency::new().quantile_ns(0.99), 0);
    }

    #[test]
    fn percentiles_are_microseconds() {
        let percentiles = of(&(1..=1000).map(|us| us * 1000).collect::<Vec<_>>()).percentiles_us();
        assert_eq!(percentiles.count, 1000);
        assert!((percentiles.p50 - 500.0).abs() <= 1.0, "{percentiles:?}");
        assert!((percentiles.p999 - 999.0).abs() <= 1.0, "{percentiles:?}");
        assert!((percentiles.mean - 500.5).abs() <= 1.0, "{percentiles:?}");
    }

    #[test]
    fn what_is_longer_than_an_hour_counts_as_an_hour() {
        let latency = of(&[u64::MAX]);
        assert_eq!(latency.count(), 1);
        assert!(latency.max_ns() >= LATENCY_NS_MAX);
    }

    #[test]
    fn the_encoding_is_the_one_that_other_tools_read() {
        let latency = of(&[1_000, 2_000_000, 3_000_000_000]);
        let text = latency.encode();
        assert!(text.starts_with("HIST"));
        let bytes = STANDARD.decode(text).unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert_eq!(read, latency.histogram);
    }

    #[test]
    fn each_time_is_handed_over_with_its_count() {
        let mut seen = Vec::new();
        of(&[5, 7, 5]).each(|time_ns, count| seen.push((time_ns, count)));
        assert_eq!(seen, [(5, 2), (7, 1)]);
    }

    proptest! {
        #[test]
        fn merging_equals_recording_together(
            a in proptest::collection::vec(0u64..10_000_000_000, 0..50),
            b in proptest::collection::vec(0u64..10_000_000_000, 0..50),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn what_is_written_is_read_as_it_was(
            times in proptest::collection::vec(0u64..LATENCY_NS_MAX, 0..50),
        ) {
            let text = serde_json::to_string(&of(&times)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), of(&times));
        }

        #[test]
        fn three_digits_are_kept(time_ns in 1u64..LATENCY_NS_MAX) {
            let kept = of(&[time_ns]).quantile_ns(1.0);
            prop_assert!(kept.abs_diff(time_ns) <= time_ns / 1000);
        }
    }
}
