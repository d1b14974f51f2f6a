//! Shapes of random keys: which keys of a range are hot.
//!
//! A [`Shape`] holds the part that does not depend on the range. A [`Sampler`] is a shape on one
//! range, for loops that always draw from the same table. Ranges are inclusive at both ends and may
//! span all of `u64`.

use super::Stream;
use crate::Distribution;

/// Distribution of draws over a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Uniform,
    /// The mean of `iter` uniform draws.
    Gaussian {
        iter: u32,
    },
    /// The fraction `hot_draws` of the draws is uniform in the central fraction `hot_share` of the
    /// range; the rest is gaussian.
    Special {
        iter: u32,
        hot_share: f64,
        hot_draws: f64,
    },
    /// The first fraction `h` of the range gets the fraction `1 - h` of the draws, and the same
    /// holds again inside that part.
    Pareto {
        power: f64,
    },
    /// The n-th key is drawn in proportion to `n^-exponent`; the smallest key is the hottest.
    Zipfian {
        exponent: f64,
    },
}

impl Shape {
    /// The shape a plan asks for; its values were checked when the plan was read.
    pub fn new(distribution: &Distribution) -> Self {
        match *distribution {
            Distribution::Uniform {} => Self::Uniform,
            Distribution::Gaussian { iter } => Self::Gaussian { iter: iter.max(1) },
            Distribution::Special { iter, pct, res } => Self::Special {
                iter: iter.max(1),
                hot_share: f64::from(pct.min(100)) / 100.0,
                hot_draws: f64::from(res.min(100)) / 100.0,
            },
            Distribution::Pareto { h } => Self::Pareto {
                power: h.ln() / (1.0 - h).ln(),
            },
            Distribution::Zipfian { exp } => Self::Zipfian { exponent: exp },
        }
    }

    /// Draws from `low..=high`. For a range that never changes a [`Sampler`] is cheaper.
    #[inline]
    pub fn draw(&self, stream: &mut Stream, low: u64, high: u64) -> u64 {
        if let Self::Uniform = self {
            return stream.uniform(low, high);
        }
        Sampler::new(*self, low, high).draw(stream)
    }
}

/// A shape on one inclusive range.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    low: u64,
    high: u64,
    /// The number of keys in the range, for the shapes that compute in floating point.
    span: f64,
    kind: ShapeKind,
}

#[derive(Clone, Copy, Debug)]
enum ShapeKind {
    Uniform,
    Gaussian {
        iter: u32,
    },
    Special {
        iter: u32,
        hot_low: u64,
        hot_high: u64,
        hot_draws: f64,
    },
    Pareto {
        power: f64,
    },
    Zipfian(Zipfian),
}

impl Sampler {
    pub fn new(shape: Shape, low: u64, high: u64) -> Self {
        let high = high.max(low);
        let span = (high - low) as f64 + 1.0;
        let kind = match shape {
            Shape::Uniform => ShapeKind::Uniform,
            Shape::Gaussian { iter } => ShapeKind::Gaussian { iter },
            Shape::Special {
                iter,
                hot_share,
                hot_draws,
            } => {
                let hot = ((span * hot_share) as u64).max(1);
                let hot_low = low + ((high - low) - (hot - 1).min(high - low)) / 2;
                ShapeKind::Special {
                    iter,
                    hot_low,
                    hot_high: hot_low.saturating_add(hot - 1).min(high),
                    hot_draws,
                }
            }
            Shape::Pareto { power } => ShapeKind::Pareto { power },
            Shape::Zipfian { exponent } => ShapeKind::Zipfian(Zipfian::new(exponent, span)),
        };
        Self {
            low,
            high,
            span,
            kind,
        }
    }

    /// The next key.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match &self.kind {
            ShapeKind::Uniform => stream.uniform(self.low, self.high),
            ShapeKind::Gaussian { iter } => self.at(gaussian(stream, *iter)),
            ShapeKind::Special {
                iter,
                hot_low,
                hot_high,
                hot_draws,
            } => {
                if stream.unit() < *hot_draws {
                    stream.uniform(*hot_low, *hot_high)
                } else {
                    self.at(gaussian(stream, *iter))
                }
            }
            ShapeKind::Pareto { power } => self.at(stream.unit().powf(*power)),
            ShapeKind::Zipfian(zipfian) => self
                .low
                .saturating_add(zipfian.rank(stream) - 1)
                .min(self.high),
        }
    }

    /// The key at `fraction` of the range; the fraction lies in `[0, 1]`.
    #[inline]
    fn at(&self, fraction: f64) -> u64 {
        // In a large range rounding may give a key past its end, so the sum is limited.
        self.low
            .saturating_add((self.span * fraction) as u64)
            .min(self.high)
    }
}

/// A number in `[0, 1)`, most often near the middle.
#[inline]
fn gaussian(stream: &mut Stream, iter: u32) -> f64 {
    let sum: f64 = (0..iter).map(|_| stream.unit()).sum();
    sum / f64::from(iter)
}

/// Ranks drawn by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6, 1996): constant
/// time and memory for any number of ranks.
#[derive(Clone, Copy, Debug)]
struct Zipfian {
    exponent: f64,
    ranks: f64,
    area_first: f64,
    area_last: f64,
    /// Draws this close to their rank are accepted without computing the area.
    shortcut: f64,
}

impl Zipfian {
    fn new(exponent: f64, ranks: f64) -> Self {
        let mut zipfian = Self {
            exponent,
            ranks,
            area_first: 0.0,
            area_last: 0.0,
            shortcut: 0.0,
        };
        zipfian.area_first = zipfian.area(1.5) - 1.0;
        zipfian.area_last = zipfian.area(ranks + 0.5);
        zipfian.shortcut = 2.0 - zipfian.inverse(zipfian.area(2.5) - zipfian.weight(2.0));
        zipfian
    }

    fn rank(&self, stream: &mut Stream) -> u64 {
        loop {
            let area = self.area_last + stream.unit() * (self.area_first - self.area_last);
            let point = self.inverse(area);
            let rank = point.round().clamp(1.0, self.ranks);
            if rank - point <= self.shortcut || area >= self.area(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }

    fn weight(&self, point: f64) -> f64 {
        (-self.exponent * point.ln()).exp()
    }

    /// The integral of the weight, written so that an exponent of 1 is not a special case.
    fn area(&self, point: f64) -> f64 {
        let log = point.ln();
        expm1_over((1.0 - self.exponent) * log) * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (log1p_over(scaled) * area).exp()
    }
}

/// `(e^x - 1) / x`, which is 1 at 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x / 2.0
    }
}

/// `ln(1 + x) / x`, which is 1 at 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.ln_1p() / x
    } else {
        1.0 - x / 2.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const SPECIAL: Shape = Shape::Special {
        iter: 12,
        hot_share: 0.01,
        hot_draws: 0.75,
    };

    /// Share of 100 000 draws from 1..=10 000 that `wanted` accepts.
    fn share(shape: Shape, wanted: impl Fn(u64) -> bool) -> f64 {
        let mut stream = Stream::new(11, 0);
        let sampler = Sampler::new(shape, 1, 10_000);
        let hits = (0..100_000)
            .filter(|_| wanted(sampler.draw(&mut stream)))
            .count();
        hits as f64 / 100_000.0
    }

    #[test]
    fn uniform_gives_each_tenth_a_tenth() {
        let tenth = share(Shape::Uniform, |key| key <= 1000);
        assert!((tenth - 0.1).abs() < 0.005, "{tenth}");
    }

    #[test]
    fn gaussian_of_twelve_has_the_deviation_of_a_mean() {
        // The mean of 12 uniform draws has a standard deviation of 1/12 of the range. About 95 % of
        // the draws lie within two deviations.
        let inside = share(Shape::Gaussian { iter: 12 }, |key| {
            (key as f64 / 10_000.0 - 0.5).abs() < 2.0 / 12.0
        });
        assert!((inside - 0.954).abs() < 0.01, "{inside}");
    }

    #[test]
    fn special_sends_three_quarters_to_the_central_hundredth() {
        let hot = share(SPECIAL, |key| (4951..=5050).contains(&key));
        // About 4.8 % of the gaussian quarter falls there too.
        assert!((hot - 0.762).abs() < 0.01, "{hot}");
    }

    #[test]
    fn pareto_gives_the_first_fifth_four_fifths() {
        let shape = Shape::new(&Distribution::Pareto { h: 0.2 });
        let first = share(shape, |key| key <= 2000);
        assert!((first - 0.8).abs() < 0.01, "{first}");
    }

    #[test]
    fn zipfian_follows_its_law() {
        for exponent in [0.0, 0.8, 1.0, 1.5] {
            let total: f64 = (1..=10_000).map(|n| f64::from(n).powf(-exponent)).sum();
            for top in [1u64, 10, 100] {
                let due: f64 = (1..=top).map(|n| (n as f64).powf(-exponent)).sum();
                let seen = share(Shape::Zipfian { exponent }, |key| key <= top);
                assert!(
                    (seen - due / total).abs() < 0.006,
                    "exponent {exponent}, top {top}: {seen} for {}",
                    due / total
                );
            }
        }
    }

    fn any_shape() -> impl Strategy<Value = Shape> {
        prop_oneof![
            Just(Shape::Uniform),
            (1u32..20).prop_map(|iter| Shape::Gaussian { iter }),
            (1u32..20, 0.0..=1.0, 0.0..=1.0).prop_map(|(iter, hot_share, hot_draws)| {
                Shape::Special {
                    iter,
                    hot_share,
                    hot_draws,
                }
            }),
            (0.01..0.99f64).prop_map(|h| Shape::new(&Distribution::Pareto { h })),
            (0.0..3.0f64).prop_map(|exponent| Shape::Zipfian { exponent }),
        ]
    }

    proptest! {
        #[test]
        fn every_shape_stays_inside(shape in any_shape(), seed: u64, a: u64, b: u64) {
            let (low, high) = (a.min(b), a.max(b));
            let mut stream = Stream::new(seed, 0);
            for _ in 0..20 {
                prop_assert!((low..=high).contains(&shape.draw(&mut stream, low, high)));
            }
        }

        #[test]
        fn every_shape_stays_inside_small_ranges(shape in any_shape(), seed: u64, low in 0u64..9, more in 0u64..4) {
            let mut stream = Stream::new(seed, 0);
            let sampler = Sampler::new(shape, low, low + more);
            for _ in 0..50 {
                prop_assert!((low..=low + more).contains(&sampler.draw(&mut stream)));
            }
        }

        #[test]
        fn the_whole_of_u64_is_a_range(shape in any_shape(), seed: u64) {
            let mut stream = Stream::new(seed, 0);
            shape.draw(&mut stream, 0, u64::MAX);
        }
    }
}
