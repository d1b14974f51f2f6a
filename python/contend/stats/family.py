"""Contrasts of a table whose intervals hold together, and what chance of error each may have.

If `m` members told nothing of each other, each could have `alpha / m`. Members of a table share
the baseline, the processes and cells, so the largest of their errors is smaller than that of `m`
independent ones. How much is drawn by lot: the largest of `m` normal errors with the members'
correlation (max-t, Hothorn, Bretz, Westfall 2008, Biometrical Journal 50:346). The chance that
is left to each is then spent on Student's t with the member's own degrees of freedom.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contend.stats.contrasts import Place
from contend.stats.moderate import moderate
from contend.stats.student import t_quantile
from contend.stats.unit_errors import UnitErrors, Units, errors_of

_DF_MAX = 1000.0


@dataclass(frozen=True, slots=True)
class ContrastFamily:
    """`m` contrasts, each with what makes its simultaneous interval: the estimate, plus and minus
    `critical` times `se`. NaN, and 0 for `df`, if the units do not tell. (m each)

    p_each: two-sided chance of error of each. lent_df: see `Moderated`. of_cells: cells of each
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
    """Simultaneous intervals of contrasts, any of which errs with chance `alpha`.

    Args:
        places: what each contrast is of. (m)
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
        moderated = moderate(
            errors.variance[known] / scale, errors.df[known], correlation, errors.parts[known]
        )
        p_each, lent_df = chance_each(correlation, alpha), moderated.lent_df
        se[known] = np.sqrt(moderated.variance * scale)
        df[known] = [_rounded_down(one) for one in moderated.df]
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
    """The two-sided chance of error that each member may have, so that any of them errs with
    `alpha` in all: never below `alpha / m`, and never above `alpha`.

    The same matrix gives the same answer at all times; 20,000 draws know the chance to a tenth
    of itself, which moves an interval by less than a hundredth.
    """
    m = len(correlation)
    if m < 2:
        return alpha
    return _drawn(correlation.tobytes(), m, alpha)


@functools.lru_cache(maxsize=256)
def _drawn(correlation: bytes, m: int, alpha: float) -> float:
    # The root by eigenvalues bears a matrix without full rank: equal members, or a share of 1.
    values, vectors = np.linalg.eigh(np.frombuffer(correlation).reshape(m, m))
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    draw = np.random.default_rng(_SEED)
    largest = [
        np.max(np.abs(draw.standard_normal((_AT_ONCE, m)) @ root), axis=1)
        for _ in range(_DRAWS // _AT_ONCE)
    ]
    critical = float(np.quantile(np.concatenate(largest), 1 - alpha))
    return min(max(math.erfc(critical / math.sqrt(2)), alpha / m), alpha)
