"""Quantiles of chi², for intervals of variances. Tests hold them to scipy's.

Sources: DLMF 8.11.4 (series of the incomplete gamma function), 8.9.2 (its continued fraction, by
Lentz's method).
"""

from __future__ import annotations

import functools
import math

_TINY = 1e-300


def chi_square_cdf(freedom: float, x: float) -> float:
    """P(X <= x) for chi² with so many degrees of freedom."""
    return _incomplete_gamma(freedom / 2, x / 2) if x > 0 else 0.0


@functools.cache
def chi_square_quantile(freedom: float, p: float) -> float:
    """The x that a share `p` of chi² lies below; raises ValueError unless p is between 0 and 1."""
    if not 0 < p < 1:
        raise ValueError("a quantile lies between 0 and 1")
    low, high = 0.0, max(freedom, 1.0)
    while chi_square_cdf(freedom, high) < p:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_cdf(freedom, middle) < p else (low, middle)
    return high


def _incomplete_gamma(a: float, x: float) -> float:
    """P(a, x), the lower one over the whole."""
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while term > 1e-17 * total:
            n += 1
            term *= x / n
            total += term
        return front * total
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    value = d
    for i in range(1, 10_000):
        numerator = -i * (i - a)
        b += 2
        d, c = numerator * d + b, b + numerator / c
        d = 1 / (d if abs(d) > _TINY else _TINY)
        c = c if abs(c) > _TINY else _TINY
        value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return 1 - front * value
