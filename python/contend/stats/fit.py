"""Contrasts of a linear model of independent units, with intervals that hold together.

Least squares. All units have the same noise, whose variance is that of the residuals. As in
`family.py`, the contrasts' correlation gives each contrast its chance of error, and Student's t
with the residuals' degrees of freedom gives the width.

One wild unit widens every interval. In a complete two-level design it moves each estimate by about
one standard error, so it hides effects but invents none.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from contend.stats.change import Change, detectable_changes
from contend.stats.estimate import Estimate
from contend.stats.family import chance_each
from contend.stats.student import t_cdf, t_quantile

DF_MIN = 3
"""Fewer degrees of freedom give no interval: t has no variance below, and a wild unit decides."""

_TOLERANCE = 1e-9
"""Relative size of what counts as rounding error in a design."""

_VARIANCE_MIN = 1e-24
"""Units that fit to the last digit leave rounding errors."""


def fitted(
    y: np.ndarray,
    x: np.ndarray,
    *,
    contrasts: np.ndarray,
    margin: float,
    confidence: float,
    interim: bool = False,
) -> tuple[Change, ...]:
    """The contrasts of the model `y = x @ parameters + noise`, as ratios `exp(contrast)`.

    Args:
        y: log-ratio per unit; NaN if the unit was lost, which leaves it out. (n)
        x: design. (n x parameters)
        contrasts: weights of the parameters in each contrast. (m x parameters)
        margin: a ratio within `1/(1 + margin)` to `1 + margin` does not matter.
        confidence: that all m intervals hold together.
        interim: no verdicts.

    Returns:
        A change per contrast. `n` counts the units used, `robust` repeats `alone`, and
        `p_sign_flip` is the p of its t. A contrast that the units cannot tell apart from other
        parameters has the ratio NaN and no interval. Below `DF_MIN` degrees of freedom none has.

    Raises:
        ValueError: the shapes do not fit together, or the design is not finite.
    """
    y, x, contrasts = (np.asarray(one, dtype=float) for one in (y, x, contrasts))
    if (y.ndim, x.ndim, contrasts.ndim) != (1, 2, 2) or x.shape != (len(y), contrasts.shape[1]):
        raise ValueError("a fit needs one row of the design per unit, one weight per parameter")
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(contrasts))):
        raise ValueError("a fit needs a finite design and finite contrasts")
    used = np.isfinite(y)
    y, x, n = y[used], x[used], int(np.sum(used))
    left, size, right = np.linalg.svd(x, full_matrices=False)
    kept = size > _TOLERANCE * max(size, default=0.0)
    left, size, right = left[:, kept], size[kept], right[kept]
    df = n - len(size)
    weights = contrasts @ right.T / size @ left.T
    logs = weights @ y
    length = np.linalg.norm(contrasts, axis=1)
    beyond = np.linalg.norm(contrasts - contrasts @ right.T @ right, axis=1)
    apart = (length > 0) & (beyond <= _TOLERANCE * length)
    known = np.flatnonzero(apart & (df >= DF_MIN))
    ratios = np.where(apart, _ratio(logs), math.nan)
    changes = [_unknown(float(ratio), n, margin, confidence) for ratio in ratios]
    if len(known):
        residual = y - left @ (left.T @ y)
        variance = max(float(residual @ residual) / df, _VARIANCE_MIN)
        covariance = weights[known] @ weights[known].T
        scale = np.sqrt(np.diag(covariance))
        # Rounded, complete rounds of a design share one matrix, whose chance is computed once.
        correlation = np.round(covariance / np.outer(scale, scale), 9) + 0.0
        critical = t_quantile(df, 1 - chance_each(correlation, 1 - confidence) / 2)
        se = math.sqrt(variance) * scale
        all_df, all_critical = np.full(len(se), float(df)), np.full(len(se), critical)
        detectable = detectable_changes(se, all_df, all_critical, margin)
        for at, i in enumerate(known):
            changes[i] = _known(
                float(logs[i]), float(se[at]), n, df, critical, float(detectable[at]), margin,
                confidence,
            )  # fmt: skip
    return tuple(replace(change, verdict=None) if interim else change for change in changes)


def residuals(y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, int]:
    """What the model leaves of each unit, NaN for one that was lost, and its degrees of freedom.

    Args:
        y, x: see `fitted`.
    """
    used = np.isfinite(y)
    parameters, _squares, rank, _sizes = np.linalg.lstsq(x[used], y[used], rcond=None)
    return y - x @ parameters, int(np.sum(used)) - int(rank)


def _unknown(ratio: float, n: int, margin: float, confidence: float) -> Change:
    alone = Estimate(ratio, 0.0, math.inf, n, confidence)
    return Change.single("whole", alone, 0.0, math.inf, margin=margin, df=0.0, sd_log=math.nan)


def _known(
    log: float,
    se: float,
    n: int,
    df: int,
    critical: float,
    detectable: float,
    margin: float,
    confidence: float,
) -> Change:
    half_alone = t_quantile(df, 0.5 + confidence / 2) * se
    low, high = (float(_ratio(log + half)) for half in (-half_alone, half_alone))
    alone = Estimate(float(_ratio(log)), low, high, n, confidence)
    low, high = (float(_ratio(log + half)) for half in (-critical * se, critical * se))
    return Change.single(
        "whole", alone, low, high, margin=margin, df=float(df), sd_log=se * math.sqrt(n),
        detectable=detectable, p_sign_flip=2 * t_cdf(df, -abs(log) / se),
    )  # fmt: skip


def _ratio(logs: float | np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.minimum(logs, 700.0)))
