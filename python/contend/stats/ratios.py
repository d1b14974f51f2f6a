"""Two comparisons compared: is one gain larger than another that was measured apart from it?"""

from __future__ import annotations

import math

from contend.stats.compare import Comparison
from contend.stats.estimate import Estimate
from contend.stats.student import t_quantile


def ratio_of_ratios(one: Comparison, other: Comparison, confidence: float = 0.95) -> Estimate:
    """The ratio of `other` over that of `one`, with Welch's t interval on the log-ratios.

    The pairs of the two are independent and may differ in number and in noise. With fewer than two
    pairs on a side the interval is everything from 0 up; without a ratio on a side n is 0.
    """
    if not (_is_known(one) and _is_known(other)):
        return Estimate(math.nan, 0.0, math.inf, 0, confidence)
    n = min(one.n, other.n)
    mean = math.log(other.ratio) - math.log(one.ratio)
    if n < 2:
        return Estimate(math.exp(mean), 0.0, math.inf, n, confidence)
    parts = [c.sd_log**2 / c.n for c in (one, other)]
    variance = sum(parts)
    if variance == 0:
        return Estimate(math.exp(mean), math.exp(mean), math.exp(mean), n, confidence)
    # Welch and Satterthwaite: the degrees of freedom of unequal variances.
    freedom = variance**2 / sum(
        part**2 / (c.n - 1) for part, c in zip(parts, (one, other), strict=True)
    )
    half = t_quantile(freedom, 0.5 + confidence / 2) * math.sqrt(variance)
    return Estimate(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n, confidence)


def _is_known(one: Comparison) -> bool:
    return math.isfinite(one.ratio) and one.ratio > 0 and (one.n < 2 or math.isfinite(one.sd_log))
