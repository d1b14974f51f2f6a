"""A measured disturbance taken out of the log-ratios (analysis of covariance).

If a neighbour stole CPU while the level was measured and not while the baseline was, the ratio
says so by a little. One slope for all cells of the table tells how much, from how far the units
of a cell deviate from each other; the ratios are then those of a difference of 0. That the slope
is only estimated counts in every interval: each unit has its part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What the covariates bought.

    slopes: change of the log-ratio by one unit of each covariate.
    sd_before, sd_after: standard deviation of a cell's log-ratio over the units, pooled over the
        table; NaN if no cell has two units.
    """

    slopes: tuple[float, ...]
    sd_before: float
    sd_after: float


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Log-ratios without the disturbance, NaN if missing (units x contexts x levels); the
    covariates (k x units x contexts x levels); each unit's part in the slopes (k x units).
    """

    d: np.ndarray
    covariates: np.ndarray
    slope_parts: np.ndarray
    adjustment: Adjustment | None


def adjust(d: np.ndarray, covariates: Sequence[np.ndarray]) -> Adjusted:
    """Take the covariates out of `d`; without any it stays as it is."""
    present = np.isfinite(d)
    k, units = len(covariates), d.shape[0]
    x = np.array(covariates, dtype=float).reshape(k, *d.shape)
    if np.any(present & ~np.isfinite(x)):
        raise ValueError("a covariate is not known in a cell that was measured")
    x = np.where(present, x, 0.0)
    if not k:
        return Adjusted(d, x, np.zeros((0, units)), None)
    before = centred(d)
    deviations = np.array([centred(np.where(present, one, np.nan)) for one in x])
    inverse = np.linalg.pinv(np.einsum("iucl,jucl->ij", deviations, deviations))
    slopes = inverse @ np.einsum("iucl,ucl->i", deviations, before)
    after = before - np.tensordot(slopes, deviations, axes=1)
    free = float(np.sum(np.maximum(present.sum(axis=0) - 1, 0)))
    return Adjusted(
        d - np.tensordot(slopes, x, axes=1),
        x,
        inverse @ np.einsum("iucl,ucl->iu", deviations, after),
        Adjustment(
            tuple(map(float, slopes)),
            _pooled_sd(before, free),
            _pooled_sd(after, free - k),
        ),
    )


def centred(d: np.ndarray) -> np.ndarray:
    """Deviations from each cell's mean over the units, 0 if missing."""
    present = np.isfinite(d)
    filled = np.where(present, d, 0.0)
    means = filled.sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    return np.where(present, d - means, 0.0)


def _pooled_sd(deviations: np.ndarray, free: float) -> float:
    return float(np.sqrt(np.sum(deviations**2) / free)) if free > 0 else float("nan")
