"""Means over a table, and their errors, estimated from the units.

An estimate is the mean of its cells' means, each over the units that have the cell. So a unit that
misses one cell still counts in all others. The units alone determine its error: each unit's part in
the deviation is what its own cells add to it. With complete data that is the unit's mean over the
cells, and Student's formula.

If units miss cells, the parts are unequal. The working model is that the cells of a unit share part
of their variance, the process. It gives the factor that makes the variance unbiased, and its
degrees of freedom (Bell and McCaffrey 2002, Survey Methodology 28:169). With complete data these
are n / (n - 1) and n - 1 for every share.

A measured disturbance is removed first (analysis of covariance). If a neighbour stole CPU while the
level was measured and not while the baseline was, the ratio shifts a little. One slope for all
cells of the table gives the amount, from how the units of a cell deviate from each other. The
corrected ratios are those of a difference of 0. Every interval includes the error of the estimated
slope: each unit has its part in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_SHARE_MAX = 0.99
"""With a share of 1, differences between cells would have no error at all."""

_SIDE_SHARE = 0.5
"""The share of a ratio's variance that two ratios with a common side share, if all levels are
equally noisy."""

Side = tuple[int, int | None]
"""A level, and the one that it is divided by: None for the baseline."""


@dataclass(frozen=True, slots=True)
class Units:
    """The data of the units: log-ratios, their deviations from the cells' means (units x contexts x
    levels, 0 if missing), which are present, and the known part of their covariance.

    sides: the two sides of the ratio of each level.
    process_share: the share of a cell's variance over units that all cells of the unit and level
        have in common.
    alike: correlation of two levels of a unit and context. (levels x levels)
    tables: number of the table of each ratio; tables need not scatter alike.
    """

    data: Adjusted
    present: np.ndarray
    deviations: np.ndarray
    sides: Sequence[Side]
    process_share: float
    alike: np.ndarray
    tables: np.ndarray


@dataclass(frozen=True, slots=True)
class UnitErrors:
    """The result of the units for each of `m` contrasts.

    estimate, variance: of the contrast, and of its estimate; NaN if not known. (m)
    df: degrees of freedom of the variance, 0 if it is not known. (m)
    scale: variance that the working model expects if a cell's is 1. (m)
    has: units that have at least one of its cells, and their count `n`. (m x units; m)
    parts: each unit's part in the deviation. (m x units)
    correlation: of the estimates, by the working model. (m x m)
    cells: cells of the contrast that were measured. (m)
    """

    estimate: np.ndarray
    variance: np.ndarray
    df: np.ndarray
    scale: np.ndarray
    has: np.ndarray
    n: np.ndarray
    parts: np.ndarray
    correlation: np.ndarray
    cells: np.ndarray


def units_of(data: Adjusted, tables: int = 1) -> Units:
    """Ratios of the levels over the baseline, of as many levels in each of the tables."""
    levels = data.d.shape[2]
    of = np.arange(levels) // max(1, levels // tables)
    return _units(data, [(level, None) for level in range(levels)], of)


def paired(units: Units, of: Sequence[tuple[int, int]]) -> Units:
    """Ratios of levels over each other, from the units that have both. The covariates are those of
    the one level against the other, with the slopes of all.
    """
    level, over = (list(side) for side in zip(*of, strict=True))
    data = units.data
    d = data.d[..., level] - data.d[..., over]
    x = np.where(np.isfinite(d), data.covariates[..., level] - data.covariates[..., over], 0.0)
    return _units(Adjusted(d, x, data.slope_parts, data.adjustment), of, units.tables[level])


def _units(data: Adjusted, sides: Sequence[Side], tables: np.ndarray) -> Units:
    deviations, present = centred(data.d), np.isfinite(data.d)
    shares = _shares(_of_one_size(deviations, tables), present, sides)
    return Units(data, present, deviations, sides, *shares, tables)


def _of_one_size(deviations: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Those of tables that scatter differently, for figures that have no unit."""
    if not np.any(tables):
        return deviations
    found = deviations.copy()
    for table in np.unique(tables):
        size = float(np.sqrt(np.mean(deviations[..., tables == table] ** 2)))
        found[..., tables == table] /= size or 1.0
    return found


def errors_of(units: Units, weights: np.ndarray, levels: np.ndarray) -> UnitErrors:
    """Estimates and errors of contrasts.

    Args:
        weights: weight of each context; positive ones and negative ones are each taken over the
            cells that were measured. (m x contexts)
        levels: index of the level of each contrast among the units' levels. (m)
    """
    present = np.moveaxis(units.present, 2, 0)[levels].astype(float)
    counts = present.sum(axis=1)
    per_cell, measured = _over_measured(weights, counts)
    b = per_cell[:, None, :] * present
    together = b.sum(axis=2)
    share = units.process_share
    scale = (1 - share) * np.sum(b * b, axis=(1, 2)) + share * np.sum(together**2, axis=1)

    deviations = np.moveaxis(units.deviations, 2, 0)[levels]
    of_units = np.moveaxis(np.where(units.present, units.data.d, 0.0), 2, 0)[levels]
    parts = np.sum(b * deviations, axis=2) - _parts_in_slopes(units, b, levels)
    expected, df = _small_sample(b, together, counts, share)
    # A level whose covariate is 0 throughout has no part in its slope.
    slopes = np.any(units.data.covariates != 0, axis=(1, 2)).sum(axis=0)
    left = df - slopes[levels]
    has = np.any(b != 0, axis=2)
    known = measured & (expected > 1e-9 * scale) & (left > 0.5)
    factor = np.divide(scale, expected, out=np.full(len(scale), np.nan), where=known)
    factor *= np.divide(df, left, out=np.ones(len(scale)), where=known)
    return UnitErrors(
        estimate=np.where(measured, np.sum(b * of_units, axis=(1, 2)), np.nan),
        variance=factor * np.sum(parts**2, axis=1),
        df=np.where(known, left, 0.0),
        scale=scale,
        has=has,
        n=has.sum(axis=1),
        parts=parts,
        correlation=_correlation(b, together, levels, units),
        cells=np.sum((weights > 0) & (counts > 0), axis=1),
    )


def _shares(
    deviations: np.ndarray, present: np.ndarray, sides: Sequence[Side]
) -> tuple[float, np.ndarray]:
    """The process's share, and how alike the levels are, by moments. Both are over the mean
    variance: the mean covariance of two contexts of a level, and that of two levels of a context
    that share a side. 0 if no unit has two.

    How alike is rounded down: less correlation makes wider intervals, and there are few different
    matrices to draw for.
    """
    common = _sides_in_common(sides)
    free = np.maximum(present.sum(axis=0) - 1, 0)
    variance = float(np.sum(deviations**2)) / max(float(free.sum()), 1)
    if variance <= 0:
        return 0.0, np.eye(len(sides))
    has = present.astype(float)
    found = []
    for several, sign in (
        ("ucl,udl->cdl", 1.0 - np.eye(present.shape[1])[:, :, None]),
        ("ucl,ucm->lmc", (common - np.eye(len(sides)))[:, :, None]),
    ):
        free_pairs = float(np.sum(np.abs(sign) * np.maximum(np.einsum(several, has, has) - 1, 0)))
        products = float(np.sum(sign * np.einsum(several, deviations, deviations)))
        found.append(products / max(free_pairs, 1) / variance)
    process, side = min(max(found[0], 0.0), _SHARE_MAX), min(max(found[1], 0.0), _SIDE_SHARE)
    side = math.floor(side * 10 + 1e-9) / 10
    return process, np.where(np.eye(len(sides)) > 0, 1.0, side * common)


def _sides_in_common(sides: Sequence[Side]) -> np.ndarray:
    """1 if two ratios have a side in common, -1 if it is above in one and below in the other. 0 if
    they have none. (levels x levels)
    """
    above = np.array([level for level, _ in sides])
    below = np.array([-1 if over is None else over for _, over in sides])
    same = (above[:, None] == above) | (below[:, None] == below)
    turned = (above[:, None] == below) | (below[:, None] == above)
    return np.where(same, 1.0, np.where(turned, -1.0, 0.0))


def _over_measured(weights: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each unit's weight in each context, and whether both sides of the contrast were measured."""
    result, measured = np.zeros_like(weights), np.ones(len(weights), dtype=bool)
    for side in (np.maximum(weights, 0), np.minimum(weights, 0)):
        whole = side.sum(axis=1)
        seen = np.where(counts > 0, side, 0.0)
        left = seen.sum(axis=1)
        measured &= (whole == 0) | (left != 0)
        result += seen * np.divide(whole, left, out=np.zeros_like(left), where=left != 0)[:, None]
    result *= measured[:, None]
    return result / np.maximum(counts, 1), measured


def _parts_in_slopes(units: Units, b: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Each unit's contribution to a deviation through the slopes of the covariates."""
    at = np.moveaxis(units.data.covariates, 3, 1)[:, levels]
    means = np.einsum("kmuc,muc->mk", at, b)
    return np.asarray(means @ units.data.slope_parts)


def _small_sample(
    b: np.ndarray, together: np.ndarray, counts: np.ndarray, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """The working model's expectation of the sum of the squared parts, and its degrees of freedom
    (twice the squared mean over the variance).

    The part of unit u is the sum over contexts of b[u, c] (d[u, c] - mean of d over the units
    that have c). `own` is its covariance if cells are independent. `shared` is the addition by each
    unit's process if all cells move alike.
    """
    of_means = np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)
    units = b.shape[1]
    same = np.eye(units)[None]
    own = same * np.sum(b * b, axis=2)[:, None, :] - (b * of_means[:, None, :]) @ b.swapaxes(1, 2)
    has = (b != 0) * of_means[:, None, :]
    shared = same * together[:, None, :] - b @ has.swapaxes(1, 2)
    covariance = (1 - share) * own + share * shared @ shared.swapaxes(1, 2)
    expected = np.trace(covariance, axis1=1, axis2=2)
    spread = np.sum(covariance**2, axis=(1, 2))
    df = np.divide(expected**2, spread, out=np.zeros_like(expected), where=spread > 0)
    return expected, df


def _correlation(
    b: np.ndarray, together: np.ndarray, levels: np.ndarray, units: Units
) -> np.ndarray:
    """Correlations of the estimates, by the working model; 0 with one that is not known. The share
    is rounded down, like `alike`.
    """
    flat = b.reshape(len(b), -1)
    share = math.floor(units.process_share * 20) / 20
    covariance = (1 - share) * flat @ flat.T + share * together @ together.T
    covariance *= units.alike[np.ix_(levels, levels)]
    sd = np.sqrt(np.diag(covariance))
    size = np.outer(sd, sd)
    result: np.ndarray = np.divide(covariance, size, out=np.zeros_like(covariance), where=size > 0)
    np.fill_diagonal(result, 1.0)
    return result


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The effect of the covariates.

    slopes: change of the log-ratio by one unit of each covariate.
    sd_before, sd_after: standard deviation of a cell's log-ratio over the units, pooled over the
        table; NaN if no cell has two units.
    """

    slopes: tuple[float, ...]
    sd_before: float
    sd_after: float


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Log-ratios without the disturbance, NaN if missing (units x contexts x levels). Also the
    covariates (k x units x contexts x levels), and each unit's part in the slopes (k x units).
    """

    d: np.ndarray
    covariates: np.ndarray
    slope_parts: np.ndarray
    adjustment: Adjustment | None


def adjust(d: np.ndarray, covariates: Sequence[np.ndarray]) -> Adjusted:
    """Take the covariates out of `d`; without any, return it unchanged."""
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
