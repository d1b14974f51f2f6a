"""Did the host drift while the experiment ran?

Blocks keep drift out of the comparisons, but not out of the absolute figures, and a reader of those
should know. Feed it the baseline's runs in the order in which they were made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr


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
