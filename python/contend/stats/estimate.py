"""A mean with its interval and n: no number goes without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
        """Of the ratio turned over: of b to a, if this is of a to b."""
        return Estimate(
            reciprocal(self.mean),
            reciprocal(self.high),
            reciprocal(self.low),
            self.n,
            self.confidence,
        )


def estimate(
    values: Sequence[float] | np.ndarray, confidence: float = 0.95, *, log_scale: bool = False
) -> Estimate:
    """Student's t interval of the mean of independent runs.

    Args:
        values: one value a run, any unit. Values inside one run (seconds, queries) are not
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
    lowest = 0.0 if log_scale else -math.inf
    if n == 0:
        return Estimate(math.nan, lowest, math.inf, 0, confidence)
    if n == 1:
        return Estimate(float(x[0]), lowest, math.inf, 1, confidence)
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
