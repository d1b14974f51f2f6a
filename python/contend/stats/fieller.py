"""The ratio of two means that were measured in the same units, with its interval.

Source: E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical
Society B 16 (1954), for paired values.
"""

from __future__ import annotations

import math

import numpy as np

from contend.stats.estimate import Estimate
from contend.stats.student import t_quantile


def ratio_of_means(
    above: np.ndarray, below: np.ndarray, *, chance: float, confidence: float
) -> Estimate:
    """mean(above) / mean(below), and all ratios r with which above - r · below may have the mean 0.

    Args:
        above, below: one value a unit, side by side; a unit that lacks one is left out.
        chance: two-sided, that the interval misses the true ratio.
        confidence: that is written beside it, of all intervals with which it holds.

    If `below` may be 0, every ratio may be: the interval is everything.
    """
    both = np.isfinite(above) & np.isfinite(below)
    a, b = above[both], below[both]
    n = len(a)
    mean = float(np.mean(a) / np.mean(b)) if n and np.mean(b) != 0 else math.nan
    everything = Estimate(mean, -math.inf, math.inf, n, confidence)
    if n < 2:
        return everything
    t2 = t_quantile(n - 1, 1 - chance / 2) ** 2 / n
    # (A - r B)² = t² · variance(a - r b) / n, as a polynomial in r.
    square = np.mean(b) ** 2 - t2 * np.var(b, ddof=1)
    linear = np.mean(a) * np.mean(b) - t2 * np.cov(a, b)[0, 1]
    constant = np.mean(a) ** 2 - t2 * np.var(a, ddof=1)
    if square <= 0:
        return everything
    root = math.sqrt(max(0.0, linear**2 - square * constant))
    return Estimate(
        mean, float((linear - root) / square), float((linear + root) / square), n, confidence
    )
