"""Many comparisons at once: p-values that hold for the whole family.

Of 28 comparisons between equal things, each tested at 5 %, at least one is "significant" with a
probability of 76 %. Holm (1979, Scandinavian Journal of Statistics 6:65) keeps the probability of
any false claim at the stated level, whatever the dependence between the tests, and loses less
power than Bonferroni's rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given: claim those below the level and no others.

    Args:
        p_values: one p-value a planned comparison, each in [0, 1].
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or np.any(~((p >= 0) & (p <= 1))):
        raise ValueError("p-values are numbers from 0 to 1")
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    # The smallest is multiplied by m, the next by m - 1, …; none may fall below an earlier one.
    adjusted = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    result = np.empty_like(p)
    result[order] = adjusted
    return [float(value) for value in result]
