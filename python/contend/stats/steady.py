"""Did a series settle, and does it drift? For intervals of a run, or runs in time order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

_BATCH = 5


def mser5(values: Sequence[float]) -> int | None:
    """How many leading values belong to the warm-up, by the MSER-5 rule.

    Batches of five are cut from the front until the marginal standard error of the rest is
    smallest (White, Cobb & Spratt 2000). A minimum in the last half says that the series never
    settled: None. So does a series of fewer than four batches, which cannot tell.

    Args:
        values: one value an equal interval, in time order, any unit.
    """
    x = np.asarray(values, dtype=float)
    batches = len(x) // _BATCH
    if batches < 4:
        return None
    means = x[: batches * _BATCH].reshape(batches, _BATCH).mean(axis=1)
    rest = [means[start:] for start in range(batches - 1)]
    error = [float(np.sum((r - r.mean()) ** 2)) / len(r) ** 2 for r in rest]
    best = int(np.argmin(error))
    return best * _BATCH if best <= batches // 2 else None


@dataclass(frozen=True, slots=True)
class Trend:
    """A monotone change over a series.

    slope: relative change from one value to the next (median of all pairs' slopes of the logs).
    p_value: two-sided p of "there is no trend" (Mann-Kendall).
    """

    slope: float
    p_value: float
    n: int


def trend(values: Sequence[float]) -> Trend:
    """Theil-Sen slope and Mann-Kendall test of positive values in time order.

    Ties are corrected for; below four values nothing can be significant and p is 1.
    """
    x = np.asarray(values, dtype=float)
    if np.any(~np.isfinite(x)) or np.any(x <= 0):
        raise ValueError("a trend needs finite values above 0")
    n = len(x)
    if n < 4:
        return Trend(0.0, 1.0, n)
    y = np.log(x)
    i, j = np.triu_indices(n, k=1)
    slope = math.expm1(float(np.median((y[j] - y[i]) / (j - i))))
    s = float(np.sum(np.sign(y[j] - y[i])))
    _, ties = np.unique(y, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float(np.sum(ties * (ties - 1) * (2 * ties + 5)))) / 18
    if variance <= 0:
        return Trend(slope, 1.0, n)
    z = (abs(s) - 1) / math.sqrt(variance) if s else 0.0
    return Trend(slope, min(1.0, 2 * float(ndtr(-z))), n)
