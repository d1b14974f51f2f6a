"""Is a figure higher at one level than at another? Ratios of neighbours, interval, n, verdict.

Pair i is one block: a run at the baseline and a run at the level, neighbours in time and in random
order. Noise of a host is proportional (2 % of whatever the speed is) and drifts, so the pair's
log-ratio `d_i = ln(level_i / baseline_i)` is analysed: what both runs shared cancels. The mean of
the d_i has Student's t interval; exp() of it is the ratio of the geometric means.

Sources: Kalibera & Jones 2013 (ratios with intervals); Abedi & Brecht 2017 (randomised interleaved
trials); Schuirmann 1987 (two one-sided tests for equivalence).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from contend.stats.estimate import Estimate, half_width
from contend.stats.multiple import holm
from contend.stats.power import minimal_detectable_effect
from contend.stats.robust import hodges_lehmann, sign_flip_p
from contend.stats.student import t_cdf

Values = Sequence[float] | np.ndarray
Verdict = Literal["higher", "lower", "equivalent", "inconclusive"]
"""What the figure is at the level. Whether higher is better, only its metric knows."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The level over the baseline.

    ratio: geometric mean of the pairs' ratios; 1.25 is +25 %.
    low, high: interval of the ratio at `confidence`.
    n: pairs.
    verdict: see `verdict`.
    p_value: two-sided p of "the ratio is 1".
    p_equivalent: p of "the ratio lies outside the margin" (two one-sided tests).
    p_adjusted, p_equivalent_adjusted: the two after Holm over the family, on which the verdict
        stands; equal to them for a comparison alone.
    detectable: the smallest relative change that such pairs show in 4 of 5 experiments.
    sd_log: standard deviation of the pairs' log-ratios.
    pairs: what was compared, the baseline's values and the level's; the twins are made of them.

    With fewer than two pairs, or a pair in which a side is 0, no interval exists: low is 0, high
    and detectable are inf, every p is 1 and the verdict is inconclusive; the ratio is that of the
    one pair, or NaN.
    """

    ratio: float
    low: float
    high: float
    n: int
    verdict: Verdict
    p_value: float
    p_equivalent: float
    p_adjusted: float
    p_equivalent_adjusted: float
    detectable: float
    sd_log: float
    pairs: tuple[np.ndarray, np.ndarray] = field(repr=False, compare=False)
    margin: float
    confidence: float

    @property
    def p_sign_flip(self) -> float:
        """p of "the ratio is 1" by a twin that assumes less, see `sign_flip_p`."""
        return sign_flip_p(*self.pairs) if self._has_interval else 1.0

    @property
    def robust(self) -> Estimate:
        """The ratio by a twin that assumes less, see `hodges_lehmann`."""
        if not self._has_interval:
            return Estimate(math.nan, 0.0, math.inf, self.n, self.confidence)
        return hodges_lehmann(*self.pairs, self.confidence)

    @property
    def _has_interval(self) -> bool:
        return math.isfinite(self.sd_log)

    @property
    def twins_disagree(self) -> bool:
        """Whether a twin that can tell (from six pairs on) doubts what the t test says, or the
        other way round: a wild pair, most often. The pairs themselves then deserve a look.
        """
        alpha = 1 - self.confidence
        if 2.0 ** (1 - self.n) >= alpha:
            return False
        robust = not self.robust.low <= 1 <= self.robust.high
        return len({self.p_value < alpha, self.p_sign_flip < alpha, robust}) > 1


def compare(
    baseline: Values,
    level: Values,
    *,
    margin: float = 0.02,
    confidence: float = 0.95,
) -> Comparison:
    """Compare paired runs; "higher" means that the level's values are larger.

    Args:
        baseline: one value a block, not negative, any unit.
        level: the values of the same blocks in the same order.
        margin: relative difference that does not matter: 0.02 for 2 %.
        confidence: 0.95 for a 95 % interval and claims at the 5 % level.

    Raises:
        ValueError: the lengths differ, or a value is negative or not finite.
    """
    a, b = _checked(baseline, level, margin)
    n = len(a)
    if n < 2 or np.any(a <= 0) or np.any(b <= 0):
        return Comparison(
            ratio=float(b[0] / a[0]) if n == 1 and a[0] > 0 else math.nan,
            low=0.0,
            high=math.inf,
            n=n,
            verdict="inconclusive",
            p_value=1.0,
            p_equivalent=1.0,
            p_adjusted=1.0,
            p_equivalent_adjusted=1.0,
            detectable=math.inf,
            sd_log=math.nan,
            pairs=(a, b),
            margin=margin,
            confidence=confidence,
        )
    d = np.log(b / a)
    mean, sd = float(np.mean(d)), float(np.std(d, ddof=1))
    half = half_width(d, confidence)
    low, high = math.exp(mean - half), math.exp(mean + half)
    p_value, p_equivalent = _p_values(mean, sd, n, margin)
    return Comparison(
        ratio=math.exp(mean),
        low=low,
        high=high,
        n=n,
        verdict=verdict(p_value, p_equivalent, math.exp(mean), confidence),
        p_value=p_value,
        p_equivalent=p_equivalent,
        p_adjusted=p_value,
        p_equivalent_adjusted=p_equivalent,
        detectable=minimal_detectable_effect(sd, n, confidence=confidence),
        sd_log=sd,
        pairs=(a, b),
        margin=margin,
        confidence=confidence,
    )


def verdict(p_value: float, p_equivalent: float, ratio: float, confidence: float) -> Verdict:
    """The one word for a comparison at level `alpha = 1 - confidence`.

    equivalent: `p_equivalent < alpha`, which is the same as: the interval at confidence
        `1 - 2 alpha` lies within the margin, `1/(1 + margin)` to `1 + margin`. It comes first,
        because a difference too small to matter is not called higher, however certain it is.
    higher, lower: `p_value < alpha`, which is the same as: the interval excludes 1.
    inconclusive: neither; the data cannot tell.
    """
    alpha = 1 - confidence
    if p_equivalent < alpha:
        return "equivalent"
    if p_value < alpha:
        return "higher" if ratio > 1 else "lower"
    return "inconclusive"


def compare_family(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with verdicts that hold for all of them together.

    Holm's rule is applied to the claims of difference and to the claims of equivalence, each
    family at its own level. Ratios and intervals are left as they are: each interval holds for
    its own comparison, so one that excludes 1 can stand beside "inconclusive".
    """
    differences = holm([c.p_value for c in comparisons])
    equivalences = holm([c.p_equivalent for c in comparisons])
    return [
        replace(
            c,
            p_adjusted=p_difference,
            p_equivalent_adjusted=p_equivalence,
            verdict=verdict(p_difference, p_equivalence, c.ratio, c.confidence),
        )
        for c, p_difference, p_equivalence in zip(
            comparisons, differences, equivalences, strict=True
        )
    ]


def _checked(baseline: Values, level: Values, margin: float) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(baseline, dtype=float), np.asarray(level, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError("a comparison needs two lists of the same length, one value a block")
    for values in (a, b):
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            raise ValueError("a comparison needs finite values that are not negative")
    if not margin > 0:
        raise ValueError("a margin is above 0")
    return a, b


def _p_values(mean: float, sd: float, n: int, margin: float) -> tuple[float, float]:
    """p of no difference (two-sided t) and of no equivalence (larger of two one-sided t)."""
    bound = math.log1p(margin)
    se = sd / math.sqrt(n)
    # Equal log-ratios in all pairs: rounding is all that is left of the noise.
    if se <= 1e-15:
        return float(abs(mean) <= 1e-15), float(abs(mean) >= bound)
    p_value = 2 * t_cdf(n - 1, -abs(mean) / se)
    p_equivalent = t_cdf(n - 1, (abs(mean) - bound) / se)
    return min(p_value, 1.0), p_equivalent
