"""What units like these would have shown, judged as they were judged."""

from __future__ import annotations

import functools
import math

import numpy as np

_NODES = 80


def detectable_changes(
    se: np.ndarray, df: np.ndarray, critical: np.ndarray, margin: float, power: float = 0.8
) -> np.ndarray:
    """The smallest relative change that is called higher with probability `power`.

    It is called higher if its interval excludes 1 and does not lie within the margin, that is if
    the estimate is above both `critical` standard errors and the margin's edge less as many.

    Args:
        se: standard error of the log-ratio. (m)
        df: its degrees of freedom; inf if the error is known. (m)
        critical: half-width of the interval in standard errors. (m)

    Returns:
        A relative change: 0.03 means that +3 % (ratio 1.03) would be seen. (m)
    """
    edge = np.log1p(margin) / se
    s, weight = _spread_of_errors(df)
    needed = np.maximum(critical * s, edge - critical * s)
    low, high = np.zeros_like(se), np.max(needed, axis=0) + 10
    for _ in range(40):
        middle = (low + high) / 2
        enough = np.sum(weight * _normal_above(needed - middle), axis=0) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(np.expm1(np.minimum(high * se, 700.0)))


def _spread_of_errors(df: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimated over true standard error, sqrt(chi² / df): values of it, the weight of each."""
    nodes, weights = _legendre()
    at = np.minimum(df, 1e6)
    width = 9 / np.sqrt(2 * at)
    lowest, highest = np.maximum(0.0, 1 - width), 1 + width
    s = (highest + lowest) / 2 + nodes[:, None] * (highest - lowest) / 2
    log_density = (at - 1) * np.log(np.maximum(s, 1e-300)) - at * (s * s - 1) / 2
    weight = weights[:, None] * np.exp(log_density - np.max(log_density, axis=0))
    return s, weight / np.sum(weight, axis=0)


@functools.cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    """Where to look at a smooth function from -1 to 1, and the weights of its integral."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _normal_above(x: np.ndarray) -> np.ndarray:
    """P(Z > x) to 1e-7 (Abramowitz and Stegun 7.1.26)."""
    y = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * y)
    series = 0.254829592 + t * (
        -0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))
    )
    tail = t * series * np.exp(-y * y) / 2
    return np.asarray(np.where(x > 0, tail, 1 - tail))
