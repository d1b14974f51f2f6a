"""Two samples that share no unit: how much higher one is than the other.

Welch's interval (1947): each side has its own scatter and its own number of units, and the degrees
of freedom are Satterthwaite's. A component that the units of a side have in common and that is
known from elsewhere, as what sessions of a host differ by, is one more part of the variance, with
the degrees of freedom that it was estimated with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from contend.stats.change import Change, detectable_changes, read_verdict
from contend.stats.contrasts import Place
from contend.stats.estimate import Estimate
from contend.stats.sessions import Between
from contend.stats.student import t_cdf, t_quantile

_ONE = Place("whole", 0, 0, 0, 0, 0)


def welch(
    one: Sequence[float] | np.ndarray,
    other: Sequence[float] | np.ndarray,
    *,
    sessions: Sequence[Between] = (),
    margin: float = 0.02,
    confidence: float = 0.95,
    decides: bool = True,
) -> Change:
    """The ratio of `one` to `other`, with its interval and verdict.

    Args:
        one, other: logarithms, a value a unit; units are independent.
        sessions: what each side's units have in common and others have not.
        margin, confidence: as of `answer_table`.
        decides: without it there is no verdict.

    Returns:
        `n` is that of the smaller side, `alone` the interval without `sessions`. The twins of a
        paired change do not exist here, and stand for what `alone` says.

    Raises:
        ValueError: a side has fewer than two values, or one that is not finite.
    """
    sides = [np.asarray(side, dtype=float) for side in (one, other)]
    if any(len(side) < 2 or not np.all(np.isfinite(side)) for side in sides):
        raise ValueError("each side needs two finite values")
    difference = float(np.mean(sides[0]) - np.mean(sides[1]))
    within = [(float(np.var(side, ddof=1)) / len(side), len(side) - 1.0) for side in sides]
    beyond = [(one.tau**2, one.n - 1.0) for one in sessions]
    se, df = _se_df([*within, *beyond])
    alone_se, alone_df = _se_df(within)
    n = min(map(len, sides))
    alone = _interval(difference, alone_se, alone_df, n, confidence)
    critical = t_quantile(df, 0.5 + confidence / 2)
    low, high = math.exp(difference - critical * se), math.exp(difference + critical * se)
    detectable = (
        float(detectable_changes(np.array([se]), np.array([df]), np.array([critical]), margin)[0])
        if se > 0
        else margin
    )
    t = abs(difference) / alone_se if alone_se > 0 else (math.inf if difference else 0.0)
    return Change(
        place=_ONE,
        ratio=math.exp(difference),
        low=low,
        high=high,
        verdict=read_verdict(low, high, margin) if decides else None,
        n=n,
        df=df,
        sd_log=se * math.sqrt(n),
        detectable=detectable,
        cells=1,
        of_cells=1,
        alone=alone,
        p_sign_flip=2 * t_cdf(alone_df, -t) if math.isfinite(t) else 0.0,
        robust=alone,
    )


def _se_df(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Standard error and degrees of freedom of a sum of variances, each with its own."""
    variance = math.fsum(part for part, _ in parts)
    if not variance > 0:
        return 0.0, min(df for _, df in parts)
    squares = math.fsum(part**2 / df for part, df in parts if part > 0)
    return math.sqrt(variance), variance**2 / squares


def _interval(difference: float, se: float, df: float, n: int, confidence: float) -> Estimate:
    half = t_quantile(df, 0.5 + confidence / 2) * se
    low, high = math.exp(difference - half), math.exp(difference + half)
    return Estimate(math.exp(difference), low, high, n, confidence)
