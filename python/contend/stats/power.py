"""What an experiment of this size could have seen."""

from __future__ import annotations

import functools
import math

from contend.stats.student import noncentral_t_cdf, t_quantile


def minimal_detectable_effect(
    sd_log: float, n: int, *, confidence: float = 0.95, power: float = 0.8
) -> float:
    """The smallest relative change that `n` such pairs would show with probability `power`.

    Solves the power of the two-sided paired t test (noncentral t) for the effect, and takes the
    far tail as nothing, which it is wherever power is above one half.

    Args:
        sd_log: standard deviation of the pairs' log-ratios.
        n: pairs.

    Returns:
        A relative change: 0.03 means that +3 % (ratio 1.03) would be seen; inf below two pairs.
    """
    if n < 2 or math.isnan(sd_log):
        return math.inf
    exponent = _noncentrality(n, confidence, power) * sd_log / math.sqrt(n)
    return math.expm1(exponent) if exponent < 700 else math.inf


@functools.cache
def _noncentrality(n: int, confidence: float, power: float) -> float:
    """The effect in standard errors; whole tables of comparisons share their n."""
    critical = t_quantile(n - 1, 0.5 + confidence / 2)
    low, high = 0.0, critical
    while _power(high, n, critical) < power:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, n, critical) < power else (low, middle)
    return high


def _power(noncentrality: float, n: int, critical: float) -> float:
    return 1 - noncentral_t_cdf(n - 1, noncentrality, critical)
