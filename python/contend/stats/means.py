"""Means of several treatments of one pair, which lend each other degrees of freedom.

Each is measured once a repeat. What is measured in blocks one after the other scatters about alike,
and each block for itself, so that a few repeats of several treatments tell more of the scatter than
those of one (`moderate`); one that is noisier than the others keeps its own variance. What a slow
drift gives all of a repeat in common counts as scatter of each: a difference between two of them is
then known better than its interval says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contend.stats.estimate import Estimate
from contend.stats.moderate import moderate
from contend.stats.student import t_quantile


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of `n` repeats, the variance of that mean, and the degrees of freedom behind it: 0,
    and an infinite variance, if the repeats do not tell."""

    mean: float
    variance: float
    df: float
    n: int


def means_of(values: Mapping[str, np.ndarray]) -> dict[str, Mean]:
    """The means by name; `values` by repeat, NaN if it was not measured in one."""
    found, known = {}, []
    for name, of_repeats in values.items():
        x = of_repeats[np.isfinite(of_repeats)]
        mean = float(np.mean(x)) if len(x) else math.nan
        found[name] = Mean(mean, math.inf, 0.0, len(x))
        if len(x) > 1:
            known.append(name)
    if not known:
        return found
    parts = np.array([np.nan_to_num(values[name] - found[name].mean) for name in known])
    df = np.array([found[name].n - 1.0 for name in known])
    lent = moderate(np.sum(parts**2, axis=1) / df, df, np.eye(len(known)), parts)
    for name, variance, df_of_one in zip(known, lent.variance, lent.df, strict=True):
        one = found[name]
        found[name] = Mean(one.mean, float(variance) / one.n, float(df_of_one), one.n)
    return found


def weighted(
    means: Mapping[str, Mean], weights: Mapping[str, float], chance: float, confidence: float
) -> Estimate:
    """The sum of some means, each times its weight.

    Args:
        chance: two-sided, that the interval misses the true one.
        confidence: that is written beside it, of all intervals with which it holds.
    """
    mean = sum(weight * means[name].mean for name, weight in weights.items())
    of = [means[name] for name in weights]
    half = math.inf
    if (df := min(one.df for one in of)) > 0:
        variance = sum(weight**2 * means[name].variance for name, weight in weights.items())
        half = t_quantile(df, 1 - chance / 2) * math.sqrt(variance)
    return Estimate(mean, mean - half, mean + half, min(one.n for one in of), confidence)


def ratio_of(above: Mean, below: Mean, chance: float, confidence: float) -> Estimate:
    """mean(above) / mean(below), and all ratios r with which above - r · below may have the mean 0;
    everything if the mean below may be 0.

    Source: E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical
    Society B 16 (1954), for independent means.

    Args:
        chance, confidence: as of `weighted`.
    """
    n = min(above.n, below.n)
    mean = above.mean / below.mean if below.mean else math.nan
    everything = Estimate(mean, -math.inf, math.inf, n, confidence)
    if (df := min(above.df, below.df)) <= 0:
        return everything
    # (above - r below)² = t² · (variance above + r² · variance below), as a polynomial in r.
    t2 = t_quantile(df, 1 - chance / 2) ** 2
    square = below.mean**2 - t2 * below.variance
    linear = above.mean * below.mean
    constant = above.mean**2 - t2 * above.variance
    if square <= 0:
        return everything
    root = math.sqrt(max(0.0, linear**2 - square * constant))
    return Estimate(mean, (linear - root) / square, (linear + root) / square, n, confidence)
