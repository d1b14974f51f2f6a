"""Many statements at once: which of them take more or less time, and the time of all of them.

The unit is the repeat, with its freshly started servers. Each statement has one log-ratio per
repeat. Four repeats give three degrees of freedom, with which hardly one of forty statements could
be picked. So the statements' variances are moderated (`family.moderate`, after Smyth 2004): each is
drawn upwards to a common one. A server process that is faster as a whole shifts all statements of
its repeat. The shift is part of each statement's scatter, and it makes the statements' errors
alike; `moderate` then lends fewer degrees of freedom.

A statement with four pairs in a repeat scatters more than one with a hundred, and one with a
millisecond less than one with a tenth of it. The pairs show this without the repeats: variances are
compared as multiples of what the pairs alone would cause.

At most the share `rate` of the picked statements is picked by chance, on average, and each
interval excludes no change if and only if its statement was picked (`discovery`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contend.stats.discovery import discover
from contend.stats.estimate import means_of
from contend.stats.student import t_cdf, t_quantile

_CONSTANT = 1e-12


@dataclass(frozen=True, slots=True)
class StatementChanges:
    """The changes of `m` statements, as log-ratios.

    n: repeats that have the statement. (m)
    mean: over these repeats; NaN without any. (m)
    se, df: standard error of the mean, and its degrees of freedom; inf and 0 if not tested. (m)
    p: two-sided, of no change; NaN if not tested. (m)
    picked: whether the change is claimed. (m)
    low, high: bounds of the interval; infinite if not tested. (m)
    confidence: of each interval. (m)
    tested: number of statements that were.
    """

    n: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    df: np.ndarray
    p: np.ndarray
    picked: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence: np.ndarray
    tested: int


def statement_changes(d: np.ndarray, within: np.ndarray, rate: float = 0.05) -> StatementChanges:
    """Pick the statements that changed.

    A statement needs two repeats to be tested. One that is the same in all of them has no scatter
    and is not tested.

    Args:
        d: log-ratio of each repeat and statement; NaN if it is missing. (repeats x m)
        within: the variance that the pairs of its repeat alone give it; 0 or NaN if that is not
            known. (repeats x m)
        rate: of the picked ones, the share that may be false.

    Raises:
        ValueError: `d` and `within` are not tables of one size.
    """
    if d.ndim != 2 or d.shape != within.shape:
        raise ValueError("log-ratios of statements are a table of repeats and statements")
    m = d.shape[1]
    present = np.isfinite(d)
    n = present.sum(axis=0)
    mean = np.where(present, d, 0.0).sum(axis=0) / np.where(n > 0, n, np.nan)
    varies = np.max(np.where(present, np.abs(d - mean), 0.0), axis=0, initial=0.0) > _CONSTANT
    se, df, scale = np.full(m, np.inf), np.zeros(m), _scale(within)
    scaled = {str(at): d[:, at] / scale[at] for at in np.flatnonzero(varies)}
    for at, one in ((int(name), one) for name, one in means_of(scaled).items()):
        se[at], df[at] = math.sqrt(one.variance) * scale[at], one.df
    p = np.array([_two_sided(*one) for one in zip(mean, se, df, strict=True)])
    found = discover(p, rate)
    # The smallest p that was not picked is above this chance, or it would have been.
    missed = rate * (found.picked.sum() + 1) / max(found.tested, 1)
    chance = np.where(found.picked, 1 - found.confidence, missed)
    critical = [
        t_quantile(float(of), 1 - float(each) / 2) if of > 0 else 1.0
        for of, each in zip(df, chance, strict=True)
    ]
    half, middle = critical * se, np.where(df > 0, mean, 0.0)
    return StatementChanges(
        n, mean, se, df, p, found.picked, middle - half, middle + half, 1 - chance, found.tested
    )


def _scale(within: np.ndarray) -> np.ndarray:
    """How much each statement scatters, up to a factor. (m)

    Repeats without a known variance do not count; a statement without any has the median of
    the others.
    """
    known = np.isfinite(within) & (within > 0)
    count = known.sum(axis=0)
    variance = np.where(known, within, 0.0).sum(axis=0) / np.maximum(count, 1)
    usual = float(np.median(variance[count > 0])) if count.any() else 1.0
    return np.sqrt(np.where(count > 0, variance, usual))


def _two_sided(mean: float, se: float, df: float) -> float:
    return 2 * t_cdf(df, -abs(mean) / se) if df > 0 else math.nan
