"""A mean with its interval and n, always together; twins of the paired t that assume less; and
means of several treatments, which lend each other degrees of freedom."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contend.stats.family import moderate
from contend.stats.student import t_quantile


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of `n` runs and the interval that holds the true one with the stated confidence.

    With fewer than two values nothing is known about the error: the interval is everything,
    from `-inf` (or 0 on the log scale) to `inf`. With none the mean is NaN.
    """

    mean: float
    low: float
    high: float
    n: int
    confidence: float

    def turned(self) -> Estimate:
        """The inverse ratio: of b to a, if this is of a to b."""
        mean, low, high = map(reciprocal, (self.mean, self.high, self.low))
        return Estimate(mean, low, high, self.n, self.confidence)


def estimate(
    values: Sequence[float] | np.ndarray, confidence: float = 0.95, *, log_scale: bool = False
) -> Estimate:
    """Student's t interval of the mean of independent runs.

    Args:
        values: one value per run, any unit. Values inside one run (seconds, queries) are not
            independent of each other and would make the interval far too narrow.
        confidence: 0.95 for a 95 % interval.
        log_scale: take the geometric mean, with an interval that is symmetric as a ratio. For
            positive quantities whose noise is proportional to their size.

    Raises:
        ValueError: a value is not finite, or not positive on the log scale.
    """
    x = np.asarray(values, dtype=float)
    if not np.all(np.isfinite(x)):
        raise ValueError("an estimate needs finite values")
    if log_scale and np.any(x <= 0):
        raise ValueError("the log scale needs positive values")
    n = len(x)
    if n < 2:
        mean = float(x[0]) if n else math.nan
        return Estimate(mean, 0.0 if log_scale else -math.inf, math.inf, n, confidence)
    y = np.log(x) if log_scale else x
    mean, half = float(np.mean(y)), half_width(y, confidence)
    bounds = (mean, mean - half, mean + half)
    if log_scale:
        bounds = tuple(math.exp(bound) for bound in bounds)  # type: ignore[assignment]
    return Estimate(*bounds, n, confidence)


def reciprocal(ratio: float) -> float:
    """1 / ratio: inf of 0, and 0 of inf."""
    return 1 / ratio if ratio else math.inf


def finite(value: float) -> float | None:
    """A figure or a bound for JSON, which has no infinity: None where it is not known."""
    return value if math.isfinite(value) else None


def half_width(values: np.ndarray, confidence: float) -> float:
    """Half the t interval of the mean of at least two values."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies between 0 and 1")
    n = len(values)
    return float(t_quantile(n - 1, 0.5 + confidence / 2) * np.std(values, ddof=1) / math.sqrt(n))


_EXACT_UP_TO = 20
_SAMPLED_FLIPS = 40_000
_FLIPPED_AT_ONCE = 12
_ADDED_AT_ONCE = 10_000


def sign_flip_p(
    baseline: Sequence[float] | np.ndarray, level: Sequence[float] | np.ndarray
) -> float:
    """Two-sided p of "the ratio is 1" that assumes only that the log-ratios are symmetric.

    If neither side is faster, each pair's log-ratio could as well have had the other sign. p is
    the share of all 2^n choices of signs whose mean is at least as far from 0 as the seen one.
    It is exact up to 20 pairs. Above, it is sampled (the seen choice counts, so p is never 0), and
    a p of 5 % is known to 0.1. With n pairs p is at least 2 / 2^n: five pairs never reach 5 %.
    """
    d = log_ratios(baseline, level)
    if len(d) == 0:
        return 1.0
    seen = abs(float(np.sum(d)))
    # Sums that differ by rounding alone are ties, and ties count.
    seen -= 1e-12 * float(np.sum(np.abs(d)))
    if len(d) > _EXACT_UP_TO:
        return _sampled_p(d, seen)
    half = len(d) // 2
    left, right = _signed_sums(d[:half]), np.sort(_signed_sums(d[half:]))
    above = len(right) - np.searchsorted(right, seen - left, side="left")
    below = np.searchsorted(right, -seen - left, side="right")
    extreme = int(np.sum(above)) + int(np.sum(below))
    return min(1.0, extreme / 2.0 ** len(d))


def hodges_lehmann(
    baseline: Sequence[float] | np.ndarray,
    level: Sequence[float] | np.ndarray,
    confidence: float = 0.95,
) -> Estimate:
    """Median of the pairs' averages (Hodges & Lehmann 1963) as a ratio, with Wilcoxon's interval.

    An outlying pair moves it little. The interval comes from the exact distribution of the signed
    rank sum. Below six pairs no 95 % interval exists, and it is 0 to inf.
    """
    d = log_ratios(baseline, level)
    n = len(d)
    if n == 0:
        return Estimate(math.nan, 0.0, math.inf, 0, confidence)
    i, j = np.triu_indices(n)
    walsh = np.sort((d[i] + d[j]) / 2)
    middle = math.exp(float(np.median(walsh)))
    cut = _signed_rank_cut(n, (1 - confidence) / 2)
    if cut is None:
        return Estimate(middle, 0.0, math.inf, n, confidence)
    low, high = float(walsh[cut]), float(walsh[len(walsh) - 1 - cut])
    return Estimate(middle, math.exp(low), math.exp(high), n, confidence)


def log_ratios(
    baseline: Sequence[float] | np.ndarray, level: Sequence[float] | np.ndarray
) -> np.ndarray:
    """ln(level / baseline) of each pair; raises ValueError where a value is not positive."""
    a, b = np.asarray(baseline, dtype=float), np.asarray(level, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError("pairs need two lists of the same length")
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b)) and np.all(a > 0) and np.all(b > 0)):
        raise ValueError("log-ratios need finite values above 0")
    return np.asarray(np.log(b / a))


def _signed_sums(d: np.ndarray) -> np.ndarray:
    """All 2^n sums of ±d."""
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _sampled_p(d: np.ndarray, seen: float) -> float:
    starts = range(0, len(d), _FLIPPED_AT_ONCE)
    possible = [_signed_sums(d[start : start + _FLIPPED_AT_ONCE]) for start in starts]
    extreme = 1
    # A part at a time stays in the CPU's cache.
    for part in range(0, _SAMPLED_FLIPS, _ADDED_AT_ONCE):
        sums = np.zeros(_ADDED_AT_ONCE)
        for own, choices in zip(possible, _choices(len(d)), strict=True):
            sums += own[choices[part : part + _ADDED_AT_ONCE]]
        extreme += int(np.count_nonzero(np.abs(sums) >= seen))
    return extreme / (_SAMPLED_FLIPS + 1)


@functools.lru_cache(maxsize=8)
def _choices(n: int) -> tuple[np.ndarray, ...]:
    """The signs of n pairs in each sample, as an index among their possible sums for several pairs
    at once. The same for all comparisons with n pairs; most comparisons have equally many pairs.
    """
    chance = np.random.default_rng(20_130_917)
    together = (min(_FLIPPED_AT_ONCE, n - start) for start in range(0, n, _FLIPPED_AT_ONCE))
    return tuple(
        chance.integers(0, 2**pairs, size=_SAMPLED_FLIPS, dtype=np.uint16) for pairs in together
    )


@functools.cache
def _signed_rank_cut(n: int, tail: float) -> int | None:
    """How many averages to cut from either end: the largest k with P(W < k + 1) <= tail.

    W is the sum of a random subset of the ranks 1..n. None where not even one tail event is rare
    enough, that is where 2^-n > tail.
    """
    probability = np.ones(1)
    for rank in range(1, n + 1):
        wider = np.zeros(len(probability) + rank)
        wider[: len(probability)] += probability / 2
        wider[rank:] += probability / 2
        probability = wider
    cumulative = np.cumsum(probability)
    k = int(np.searchsorted(cumulative, tail, side="right")) - 1
    return k if k >= 0 else None


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of `n` repeats, its variance and the degrees of freedom of that variance. With too
    few repeats these are infinite and 0."""

    mean: float
    variance: float
    df: float
    n: int


def means_of(values: Mapping[str, np.ndarray]) -> dict[str, Mean]:
    """The means by name; `values` by repeat, NaN if it was not measured in one.

    Treatments measured in consecutive blocks scatter about alike and independently. So a few
    repeats of several treatments estimate the scatter better than those of one (`moderate`).
    A slow drift that all treatments of a repeat share counts as scatter of each. A difference
    between two of them is then known better than its interval indicates.
    """
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
        confidence: printed with it: that of all intervals that hold together with it.
    """
    mean = sum(weight * means[name].mean for name, weight in weights.items())
    of = [means[name] for name in weights]
    half = math.inf
    if (df := min(one.df for one in of)) > 0:
        variance = sum(weight**2 * means[name].variance for name, weight in weights.items())
        half = t_quantile(df, 1 - chance / 2) * math.sqrt(variance)
    return Estimate(mean, mean - half, mean + half, min(one.n for one in of), confidence)


def ratio_of(above: Mean, below: Mean, chance: float, confidence: float) -> Estimate:
    """mean(above) / mean(below), and all ratios r for which above - r · below may have the mean 0.
    The interval is unbounded if the mean below may be 0.

    Source: E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical
    Society B 16 (1954), for independent means.

    Args:
        chance, confidence: see `weighted`.
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
