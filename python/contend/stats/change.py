"""A change at one place of a table: its figures and the verdict read off its interval. Also the
same figures, judged in the same way, for units like these."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from contend.stats.contrasts import Depth, Place
from contend.stats.estimate import Estimate, hodges_lehmann, reciprocal, sign_flip_p
from contend.stats.family import ContrastFamily
from contend.stats.sessions import Between
from contend.stats.student import t_cdf, t_quantile

Verdict = Literal["higher", "lower", "equivalent", "inconclusive"]
"""The direction of the change. Only the metric knows whether higher is better."""

_TURNED: dict[Verdict | None, Verdict | None] = {"higher": "lower", "lower": "higher"}


@dataclass(frozen=True, slots=True)
class Change:
    """How much higher the metric is at a level than at the baseline, at one place of the table.

    ratio: geometric mean over the units, and over the place's cells; 1.25 is +25 %.
    low, high: simultaneous interval of the ratio: all intervals of a table hold together with
        its confidence.
    verdict: read off `low` and `high`; None in an interim answer.
    n: units that have at least one of the place's cells.
    df: degrees of freedom of the interval; more than n - 1 if other members of the depth lent
        theirs, less if units miss cells.
    sd_log: standard deviation over the units of the log-ratio, of this place alone.
    detectable: the smallest relative change that such units detect (verdict higher) in 4 of 5
        experiments, with the same simultaneous interval; inf if unknown.
    cells, of_cells: number of the place's cells that were measured, and number of its cells. The
        change is that of the measured ones.
    alone: the interval for this place alone, from its own units, unadjusted.
    p_sign_flip, robust: twins of `alone` that assume less, see `sign_flip_p`, `hodges_lehmann`.

    With data from fewer than two units there is no interval: low is 0, high and detectable are
    inf, df is 0, the verdict is inconclusive. ratio is that of the one unit, or NaN.
    """

    place: Place
    ratio: float
    low: float
    high: float
    verdict: Verdict | None
    n: int
    df: float
    sd_log: float
    detectable: float
    cells: int
    of_cells: int
    alone: Estimate
    p_sign_flip: float
    robust: Estimate

    @classmethod
    def single(
        cls,
        depth: Depth,
        alone: Estimate,
        low: float,
        high: float,
        *,
        margin: float,
        df: float,
        sd_log: float,
        **more: Any,
    ) -> Change:
        """That of no table: two samples, or a counter among many. It has no paired twins."""
        figures = {
            **{"verdict": read_verdict(low, high, margin), "detectable": math.inf},
            **{"p_sign_flip": 1.0, "robust": alone},
            **more,
        }
        place = Place(depth, 0, 0, 0, 0, 0)
        return cls(
            place, alone.mean, low, high, n=alone.n, df=df, sd_log=sd_log, cells=1, of_cells=1,
            alone=alone, **figures,
        )  # fmt: skip

    @property
    def twins_disagree(self) -> bool:
        """Whether a usable twin (from six units on) disagrees with `alone` about "the ratio is 1".
        The usual cause is an outlying unit.
        """
        alpha = 1 - self.alone.confidence
        if 2.0 ** (1 - self.n) >= alpha:
            return False
        intervals = (self.alone, self.robust)
        says = {not interval.low <= 1 <= interval.high for interval in intervals}
        return len(says | {self.p_sign_flip < alpha}) > 1

    def turned(self) -> Change:
        """The earlier level of a pair over the later one."""
        assert self.place.over is not None
        return replace(
            self,
            place=replace(self.place, level=self.place.over, over=self.place.level),
            ratio=reciprocal(self.ratio),
            low=reciprocal(self.high),
            high=reciprocal(self.low),
            verdict=_TURNED.get(self.verdict, self.verdict),
            alone=self.alone.turned(),
            robust=self.robust.turned(),
        )


def read_verdict(low: float, high: float, margin: float) -> Verdict:
    """The one word for an interval of a ratio.

    equivalent: it lies within `1/(1 + margin)` to `1 + margin`: certainly too small to matter.
    higher, lower: it excludes 1.
    inconclusive: neither.
    """
    if low >= 1 / (1 + margin) and high <= 1 + margin:
        return "equivalent"
    if low > 1:
        return "higher"
    return "lower" if high < 1 else "inconclusive"


def changes_of(
    family: ContrastFamily, margin: float, confidence: float, *, interim: bool
) -> list[Change]:
    """The members of a family, in their order; without verdicts if `interim`."""
    known = np.flatnonzero(family.errors.df > 0)
    detectable = np.full(len(family.places), math.inf)
    detectable[known] = detectable_changes(
        family.se[known], family.df[known], family.critical[known], margin
    )
    return [
        _change(family, i, float(detectable[i]), margin, confidence, interim)
        for i in range(len(family.places))
    ]


def _change(
    family: ContrastFamily,
    i: int,
    detectable: float,
    margin: float,
    confidence: float,
    interim: bool,
) -> Change:
    errors, estimate = family.errors, float(family.errors.estimate[i])
    n, df, low, high, sd = int(errors.n[i]), float(family.df[i]), 0.0, math.inf, math.nan
    alone = robust = Estimate(math.exp(estimate), low, high, n, confidence)
    p_sign_flip = 1.0
    if df > 0:
        half = float(family.critical[i] * family.se[i])
        low, high = _ratio(estimate - half), _ratio(estimate + half)
        se_alone = math.sqrt(errors.variance[i])
        sd = se_alone * math.sqrt(n)
        half = t_quantile(round(float(errors.df[i]), 6), 0.5 + confidence / 2) * se_alone
        alone = Estimate(
            math.exp(estimate), _ratio(estimate - half), _ratio(estimate + half), n, confidence
        )
        of_units = np.exp(estimate + n * errors.parts[i][errors.has[i]])
        p_sign_flip = sign_flip_p(np.ones(n), of_units)
        robust = hodges_lehmann(np.ones(n), of_units, confidence)
    return Change(
        place=family.places[i],
        ratio=math.exp(estimate),
        low=low,
        high=high,
        verdict=None if interim else read_verdict(low, high, margin),
        n=n,
        df=df,
        sd_log=sd,
        detectable=detectable,
        cells=int(errors.cells[i]),
        of_cells=int(family.of_cells[i]),
        alone=alone,
        p_sign_flip=p_sign_flip,
        robust=robust,
    )


def _ratio(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < 700 else math.inf


_NODES = 80


def detectable_changes(
    se: np.ndarray, df: np.ndarray, critical: np.ndarray, margin: float, power: float = 0.8
) -> np.ndarray:
    """The smallest relative change that is called higher with probability `power`.

    A change is called higher if its interval excludes 1 and does not lie within the margin. So
    the estimate must exceed `critical` standard errors, and the margin's edge minus as many.

    Args:
        se: standard error of the log-ratio. (m)
        df: its degrees of freedom; inf if the error is known. (m)
        critical: half-width of the interval in standard errors. (m)

    Returns:
        A relative change: 0.03 means that +3 % (ratio 1.03) would be seen. (m)
    """
    edge = np.log1p(margin) / se
    s, weight = _spread_of_errors(df)
    needed = np.maximum(critical * s, edge - critical * s)
    return np.asarray(np.expm1(np.minimum(_found_in(needed, weight, power) * se, 700.0)))


def detectable_slowdowns(
    se: np.ndarray, df: np.ndarray, critical: np.ndarray, limit: float, power: float = 0.8
) -> np.ndarray:
    """The smallest slowdown for which a gate fails with probability `power`: the interval excludes
    no change, and the estimate is at the limit or beyond.

    Arguments are those of `detectable_changes`, and the limit as a share of the baseline.

    Returns:
        -ln(1 - slowdown), as long as throughput is what gets less. (m)
    """
    s, weight = _spread_of_errors(df)
    needed = np.maximum(critical * s, -np.log1p(-limit) / se)
    return np.asarray(_found_in(needed, weight, power) * se)


def _found_in(needed: np.ndarray, weight: np.ndarray, power: float) -> np.ndarray:
    """The effect, in standard errors, whose estimate exceeds `needed` with probability `power`."""
    low, high = np.zeros(needed.shape[1]), np.max(needed, axis=0) + 10
    for _ in range(40):
        middle = (low + high) / 2
        enough = np.sum(weight * _normal_above(needed - middle), axis=0) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high)


def _spread_of_errors(df: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimated over true standard error, sqrt(chi² / df): values of it, the weight of each."""
    nodes, weights = _legendre()
    at = np.minimum(df, 1e6)
    width = 9 / np.sqrt(2 * at)
    lowest, highest = np.maximum(0.0, 1 - width), 1 + width
    s = (highest + lowest) / 2 + nodes[:, None] * (highest - lowest) / 2
    log_density = (at - 1) * np.log(np.maximum(s, 1e-300)) - at * (s * s - 1) / 2
    weight = weights[:, None] * np.exp(log_density - np.max(log_density, axis=0))
    return s, weight / np.sum(weight, axis=0)


@functools.cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    """Where to look at a smooth function from -1 to 1, and the weights of its integral."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _normal_above(x: np.ndarray) -> np.ndarray:
    """P(Z > x) to 1e-7 (Abramowitz and Stegun 7.1.26)."""
    y = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * y)
    series = 0.254829592 + t * (
        -0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))
    )
    tail = t * series * np.exp(-y * y) / 2
    return np.asarray(np.where(x > 0, tail, 1 - tail))


def welch(
    one: Sequence[float] | np.ndarray,
    other: Sequence[float] | np.ndarray,
    *,
    sessions: Sequence[Between] = (),
    margin: float = 0.02,
    confidence: float = 0.95,
    decides: bool = True,
) -> Change:
    """The ratio of `one` to `other`, which share no unit, with its interval and verdict.

    Each side has its own scatter and its own number of units (Welch 1947), and the degrees of
    freedom are Satterthwaite's. The difference between `sessions` adds to the variance, with
    the degrees of freedom of its estimate.

    Args:
        one, other: logarithms, one value per unit; units are independent.
        sessions: the difference that each side's units share and other units do not.
        margin, confidence: see `answer_table`.
        decides: without it there is no verdict.

    Returns:
        `n` is that of the smaller side, `alone` the interval without `sessions`. The twins of a
        paired change do not exist here; their fields repeat `alone`.

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
    change = Change.single(
        "whole", alone, low, high, margin=margin, df=df, sd_log=se * math.sqrt(n),
        detectable=detectable, p_sign_flip=2 * t_cdf(alone_df, -t) if math.isfinite(t) else 0.0,
    )  # fmt: skip
    return change if decides else replace(change, verdict=None)


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
