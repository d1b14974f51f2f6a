"""Twins of the paired t that assume less: they agree with it, or the pairs deserve a look."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from contend.stats.estimate import Estimate

_EXACT_UP_TO = 20
_SAMPLED_FLIPS = 40_000
_FLIPPED_AT_ONCE = 12
_ADDED_AT_ONCE = 10_000


def sign_flip_p(
    baseline: Sequence[float] | np.ndarray, level: Sequence[float] | np.ndarray
) -> float:
    """Two-sided p of "the ratio is 1" that assumes symmetry of the log-ratios and no more.

    If neither side is faster, each pair's log-ratio could as well have had the other sign. p is
    the share of all 2^n choices of signs whose mean is at least as far from 0 as the seen one.
    It is exact to 20 pairs and sampled (with the seen choice counted, so never 0) above, where a p
    of 5 % is known to 0.1. With n pairs it cannot be below 2 / 2^n, so five pairs never reach 5 %.
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

    One wild pair moves it little. The interval comes from the exact distribution of the signed
    rank sum; below six pairs no 95 % interval exists, and it is 0 to inf.
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
    """The signs of n pairs in each sample, several pairs at once: which one of all the sums that
    they can have. The same for all comparisons of so many pairs, most of which have equally many.
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
