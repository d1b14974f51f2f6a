"""Contrasts of a table whose intervals hold together, and what chance of error each may have.

If `m` members were unrelated, each could have `alpha / m`. Members of a table share the baseline,
the processes and cells, so the largest of their errors is smaller than that of `m` independent
ones. Simulation gives the amount: the largest of `m` normal errors with the members' correlation
(max-t, Hothorn, Bretz, Westfall 2008, Biometrical Journal 50:346). Student's t with the member's
own degrees of freedom then uses the chance that is left to each.

Eight units give each member seven degrees of freedom. Its interval is then wide if many must hold
together. So variances are moderated (empirical Bayes; Smyth 2004, Stat. Appl. Genet. Mol. Biol.
3:3): each is drawn towards a common one, the more the less the members truly differ. No variance is
drawn downwards: a member noisier than the others keeps its own. Smyth's members are independent.
Ours share processes: if those make most of the noise, all members have the same seven degrees of
freedom and none to lend. So the chance part is computed with the members' correlations. In
simulated tables of 42 cells, 0.8 of 100 may be wrong about one cell. A cell three times as noisy as
the others made 2.5 of 100 wrong if variances were drawn downwards too, and makes 0.3; lending
nothing would make intervals 24 to 72 % wider (`bench/claims.py`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contend.stats.contrasts import Place
from contend.stats.student import t_quantile
from contend.stats.unit_errors import UnitErrors, Units, errors_of

_DF_MAX = 1000.0


@dataclass(frozen=True, slots=True)
class ContrastFamily:
    """`m` contrasts, each with the parts of its simultaneous interval: the estimate, plus and minus
    `critical` times `se`. NaN, and 0 for `df`, if there are too few units. (m each)

    p_each: two-sided chance of error of each. lent_df: see `Moderated`, of the first table that
    lends. of_cells: cells of each
    contrast's place, measured or not. (m)
    """

    places: Sequence[Place]
    errors: UnitErrors
    se: np.ndarray
    df: np.ndarray
    critical: np.ndarray
    of_cells: np.ndarray
    p_each: float
    lent_df: float


def family_of(
    units: Units, places: Sequence[Place], weights: np.ndarray, alpha: float
) -> ContrastFamily:
    """Intervals of contrasts that hold simultaneously: any of them errs with chance `alpha`.
    Variances are drawn towards each other within each table.

    Args:
        places: the place of each contrast. (m)
        weights: of each context in each contrast. (m x contexts)
    """
    of_side = {side: at for at, side in enumerate(units.sides)}
    levels = np.array([of_side[place.level, place.over] for place in places])
    errors = errors_of(units, weights, levels)
    known = np.flatnonzero(errors.df > 0)
    m = len(places)
    se, df, critical = np.full(m, np.nan), np.zeros(m), np.full(m, np.nan)
    p_each, lent_df = alpha, 0.0
    if len(known):
        correlation = errors.correlation[np.ix_(known, known)]
        scale = errors.scale[known]
        p_each = chance_each(correlation, alpha)
        tables = units.tables[levels[known]]
        for table in np.unique(tables):
            at = np.flatnonzero(tables == table)
            own = known[at]
            moderated = moderate(
                errors.variance[own] / scale[at],
                errors.df[own],
                correlation[np.ix_(at, at)],
                errors.parts[own],
            )
            lent_df = lent_df or moderated.lent_df
            se[own] = np.sqrt(moderated.variance * scale[at])
            df[own] = [_rounded_down(one) for one in moderated.df]
        critical[known] = [t_quantile(one, 1 - p_each / 2) for one in df[known]]
    of_cells = np.sum(weights > 0, axis=1)
    return ContrastFamily(places, errors, se, df, critical, of_cells, p_each, lent_df)


def _rounded_down(df: float) -> float:
    """To three digits: hardly wider, and many members share a quantile."""
    df = min(df * (1 + 1e-9), _DF_MAX)
    digit = 10.0 ** (math.floor(math.log10(df)) - 2)
    return round(math.floor(df / digit) * digit, 12)


_DRAWS = 20_000
_AT_ONCE = 2_000
"""Draws that are in memory together: there may be thousands of members."""
_SEED = 20_080_618


def chance_each(correlation: np.ndarray, alpha: float) -> float:
    """The two-sided chance of error per member with which any of them errs with `alpha`. It is at
    least `alpha / m`, and at most `alpha`.

    The same matrix always gives the same answer. 20,000 draws give the chance to a tenth of
    itself, which moves an interval by less than a hundredth.
    """
    m = len(correlation)
    if m < 2:
        return alpha
    return _drawn(correlation.tobytes(), m, alpha)


@functools.lru_cache(maxsize=256)
def _drawn(correlation: bytes, m: int, alpha: float) -> float:
    # The root by eigenvalues allows a matrix without full rank: equal members, or a share of 1.
    values, vectors = np.linalg.eigh(np.frombuffer(correlation).reshape(m, m))
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    draw = np.random.default_rng(_SEED)
    largest = [
        np.max(np.abs(draw.standard_normal((_AT_ONCE, m)) @ root), axis=1)
        for _ in range(_DRAWS // _AT_ONCE)
    ]
    critical = float(np.quantile(np.concatenate(largest), 1 - alpha))
    return min(max(math.erfc(critical / math.sqrt(2)), alpha / m), alpha)


_LEAST = 1e-24
"""Units that agree to the last digit leave rounding errors, whose logarithm is meaningless."""

_WARY = 2
"""The scatter of few members is uncertain: add this number of assumed members, which scatter
twice as much as by chance."""


@dataclass(frozen=True, slots=True)
class Moderated:
    """Variances after lending with their degrees of freedom (m), and the degrees of freedom of the
    common variance that each was drawn towards. The latter are 0 if nothing was lent, inf if the
    members differ by no more than chance.
    """

    variance: np.ndarray
    df: np.ndarray
    lent_df: float


def moderate(
    variance: np.ndarray, df: np.ndarray, correlation: np.ndarray, parts: np.ndarray
) -> Moderated:
    """Draw the members' variances towards each other.

    A variance becomes `w` parts of the common one and `1 - w` of its own, if that is more than its
    own. Half its relative error squared, the reciprocal of its degrees of freedom, is then a sum:
    the true differences between members, `w^2 / lent_df`, and the chance in the common variance, in
    the member's own, and in both together.

    Args:
        variance: of members whose variances differ only by their true differences. (m)
        df: degrees of freedom of each, above 0. (m)
        correlation: of the values behind the variances, by a model. (m x m)
        parts: these values: each unit's deviation. (m x units)
    """
    m, variance = len(variance), np.maximum(variance, _LEAST)
    if m < 2:
        return Moderated(variance, df, 0.0)
    halves = df / 2
    alike = _alike(correlation, parts, df)
    in_common = (1 + (m - 1) * alike) / m
    logs = np.log(variance)
    # A logarithm is too low by chance; the mean of many is, and that of copies of one is not.
    low = np.array([digamma(half) - math.log(half) for half in halves])
    common, lent_df, w = (
        math.exp(float(np.mean(logs - (1 - in_common) * low))),
        math.inf,
        np.ones(m),
    )
    chance = float(np.mean([trigamma(half) for half in halves]))
    seen = float(np.sum((logs - low - np.mean(logs - low)) ** 2))
    in_truth = (seen + _WARY * 2 * chance) / (m - 1 + _WARY) - (1 - alike) * chance
    if in_truth > 1e-6:
        half = inverse_trigamma(in_truth)
        common *= math.exp(digamma(half) - math.log(half))
        lent_df = 2 * half
        w = lent_df / (lent_df + df)
    sampling = (w * w + 2 * w * (1 - w)) * in_common + (1 - w) ** 2
    drawn = w * common + (1 - w) * variance
    return Moderated(np.maximum(variance, drawn), 1 / (w * w / lent_df + sampling / df), lent_df)


def _alike(correlation: np.ndarray, parts: np.ndarray, df: np.ndarray) -> float:
    """Mean correlation of two members' sample variances. It is the square of their values'
    correlation, by the model, or as the units show it (less what chance adds) if that is more.
    """
    size = np.sqrt(np.sum(parts**2, axis=1))
    size = np.where(size > 0, size, 1.0)
    seen = _mean_beside_diagonal((parts @ parts.T / np.outer(size, size)) ** 2)
    by_chance = min(1 / float(np.mean(df)), 0.999)
    return max(
        _mean_beside_diagonal(correlation**2),
        min((seen - by_chance) / (1 - by_chance), 1.0),
    )


def _mean_beside_diagonal(square: np.ndarray) -> float:
    m = len(square)
    return float(np.sum(square) - np.trace(square)) / (m * (m - 1))


def digamma(x: float) -> float:
    """d/dx ln Gamma(x), x above 0: recurrence to 6, then the asymptotic series (DLMF 5.11.2)."""
    below = 0.0
    while x < 6:
        below -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return below + math.log(x) - 0.5 / x - series


def trigamma(x: float) -> float:
    """The derivative of `digamma` (DLMF 5.15.8)."""
    below = 0.0
    while x < 6:
        below += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - 5 * y / 66))))
    return below + 1 / x + y / 2 + series / x


def inverse_trigamma(value: float) -> float:
    """The x that `trigamma` makes `value`, above 0, by Newton's method (Smyth 2004, appendix)."""
    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    x = 0.5 + 1 / value
    for _ in range(50):
        now = trigamma(x)
        slope = (trigamma(x * (1 + 1e-6)) - now) / (x * 1e-6)
        step = now * (1 - now / value) / slope
        x += step
        if abs(step) < 1e-10 * x:
            break
    return x
