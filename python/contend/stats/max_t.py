"""Intervals that hold together: what chance of error each of many members may have.

If `m` members told nothing of each other, each could have `alpha / m`. Members of a table share
the baseline, the processes and cells, so the largest of their errors is smaller than that of `m`
independent ones. How much is drawn by lot: the largest of `m` normal errors with the members'
correlation (max-t, Hothorn, Bretz, Westfall 2008, Biometrical Journal 50:346). The chance that
is left to each is then spent on Student's t with the member's own degrees of freedom.
"""

from __future__ import annotations

import functools
import math

import numpy as np

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
