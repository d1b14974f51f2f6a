"""Hundreds of counters at once: which of them differ, with a bound on the share of false ones.

Each counter is a paired comparison of its own: the mean log-ratio over the units, by Student's t.
On average, at most the share `rate` of the picked counters is picked by chance (Benjamini, Hochberg
1995, J. R. Statist. Soc. B 57:289). The intervals account for the picking (Benjamini, Yekutieli
2005, J. Am. Statist. Assoc. 100:71): an interval excludes 1 if and only if its counter was picked.

The number of counted events limits how well a counter is known. If a background task is late in all
units, counts of 1 and 2 are a ratio of 2 in each. So the variance is at least that of counts that
come by chance, 1/a + 1/b of their log-ratio. A background task may count in some runs only. Then
its count may be on one side alone in all n units. The chance is up to 2 / 4^n, however much it
counts. So a counter that was 0 anywhere is never more certain than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contend.stats.change import Change
from contend.stats.estimate import Estimate
from contend.stats.student import t_cdf, t_quantile

UNITS_MIN = 4
"""With fewer, one counter among hundreds cannot be judged."""

_ABSENT = 0.5
"""Replaces a count of 0, which has no logarithm."""


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Counters of one comparison, each over its units.

    mean, se: of ln(level / baseline); NaN if unknown. (counters)
    p: two-sided, of no difference; 1 if it is above 0.05, NaN if not tested. (counters)
    n: units that have both sides. (counters)
    only: 1 if it was counted at the level alone, in all units, -1 at the baseline alone. (counters)
    by_rate: the rate per second does not differ: it moved like the time of a query. (counters)
    """

    mean: np.ndarray
    se: np.ndarray
    p: np.ndarray
    n: np.ndarray
    only: np.ndarray
    by_rate: np.ndarray


def pair_counts(
    counts: tuple[np.ndarray, np.ndarray],
    queries: tuple[np.ndarray, np.ndarray],
    seconds: tuple[np.ndarray, np.ndarray],
) -> PairedCounts:
    """Compare counters of a level with those of its baseline.

    A counter that is 0 on both sides, or the same in every unit, is a constant and not tested.

    Args:
        counts: of the baseline and of the level, units x counters; NaN if it was not counted.
        queries: the divisors; 1 for gauges. (the same shape)
        seconds: duration of the counting; NaN if it does not matter. (the same shape)
    """
    one, other = counts
    known = np.isfinite(one) & np.isfinite(other) & (queries[0] > 0) & (queries[1] > 0)
    one, other = (np.where(known, side, np.nan) for side in counts)
    n = known.sum(axis=0)
    with np.errstate(all="ignore"):
        # Only where one of them was 0 in a unit, so that equal counts stay equal.
        has_none = np.any(known & ((one <= 0) | (other <= 0)), axis=0)
        a, b = one + _ABSENT * has_none, other + _ABSENT * has_none
        d = np.log(b / queries[1]) - np.log(a / queries[0])
        mean = np.nansum(d, axis=0) / n
        spread = np.nansum((d - mean) ** 2, axis=0) / (n - 1) / n
        by_chance = np.nansum(1 / a + 1 / b, axis=0) / n**2
        se = np.sqrt(np.maximum(spread, by_chance))
        nothing = np.nansum(one + other, axis=0) == 0
        constant = np.max(np.where(known, np.abs(d), 0.0), axis=0, initial=0.0) < 1e-12
        tested = (n >= UNITS_MIN) & ~nothing & ~constant & (se > 0)
        t = np.where(tested, np.abs(mean) / se, np.nan)
        rate = d + np.log(queries[1] / seconds[1]) - np.log(queries[0] / seconds[0])
        by_rate = _is_still(np.where(known, rate, np.nan), mean)
    p = np.array([_two_sided(float(one), int(of)) for one, of in zip(t, n, strict=True)])
    p = np.where(has_none, np.maximum(p, 2.0 * 4.0**-n), p)
    ones, others = np.nansum(one > 0, axis=0), np.nansum(other > 0, axis=0)
    only = np.where((others == n) & (ones == 0), 1, np.where((ones == n) & (others == 0), -1, 0))
    return PairedCounts(mean, se, p, n, np.where(tested, only, 0), by_rate & tested)


def _is_still(rate: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Whether a rate per second moved by less than half of its change per query, and its own 95 %
    interval includes no change. (units x counters, counters)"""
    n = np.isfinite(rate).sum(axis=0)
    middle = np.nansum(rate, axis=0) / n
    se = np.sqrt(np.nansum((rate - middle) ** 2, axis=0) / (n - 1) / n)
    quantile = {int(of): t_quantile(float(of - 1), 0.975) for of in np.unique(n) if of > 1}
    half = np.array([quantile.get(int(of), math.inf) for of in n]) * se
    return np.asarray((n > 1) & (np.abs(middle) <= half) & (np.abs(middle) < np.abs(mean) / 2))


def _two_sided(t: float, n: int) -> float:
    if math.isnan(t):
        return math.nan
    # Nothing above is ever picked, and the tail takes long.
    return 2 * t_cdf(n - 1, -t) if t >= t_quantile(float(n - 1), 0.975) else 1.0


@dataclass(frozen=True, slots=True)
class Discovered:
    """The comparisons that differ, among many.

    picked: a mask of them. confidence: of the interval of each that was picked.
    tested: how many were.
    """

    picked: np.ndarray
    confidence: float
    tested: int


def discover(p: np.ndarray, rate: float = 0.05) -> Discovered:
    """Pick those that differ, so that of all picked at most `rate` are false, on average.

    Args:
        p: two-sided chance of each if nothing differs; NaN if not tested. (m)
    """
    known = np.flatnonzero(np.isfinite(p))
    picked, tested = np.zeros(len(p), dtype=bool), len(known)
    if not tested:
        return Discovered(picked, 1 - rate, 0)
    ordered = np.sort(p[known])
    passed = np.flatnonzero(ordered <= rate * np.arange(1, tested + 1) / tested)
    if not len(passed):
        return Discovered(picked, 1 - rate, tested)
    count = int(passed[-1]) + 1
    picked[known] = p[known] <= ordered[count - 1]
    return Discovered(picked, 1 - rate * count / tested, tested)


def picked_change(
    mean: float, se: float, n: int, only: int, confidence: float, margin: float
) -> Change:
    """A picked comparison as a change. A counter that only one side has is an infinite ratio, or
    0; its bound nearer to no change comes from 1/2 instead of 0."""
    half = min(t_quantile(float(n - 1), 0.5 + confidence / 2) * se, 600.0)
    low, high = math.exp(mean - half), math.exp(mean + half)
    ratio = math.exp(mean)
    if only > 0:
        ratio, high = math.inf, math.inf
    if only < 0:
        ratio, low = 0.0, 0.0
    alone = Estimate(ratio, low, high, n, confidence)
    return Change.single(
        "cell", alone, low, high, margin=margin, df=n - 1.0, sd_log=se * math.sqrt(n)
    )
