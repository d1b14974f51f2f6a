"""How many rounds, blocks and units: the least time for an interval, or the narrowest for a time.

Let T² be each tier's variance and c the cost of one more of it. An answer's variance times its cost
is least at r_i = sqrt(c_{i+1} / c_i x T_i² / T_{i+1}²) repeats of tier i in one of the tier above
(Kalibera & Jones 2013). But counts are whole and bounded, and a tier may show no variance. A least
number of units is required, and the t quantile falls with more units. So contend searches all
allowed counts for the best. Where the formula applies, the result is the same.

Finished units count with their own variance, not with that of the planned units. Otherwise a plan
of longer units seems to improve the finished ones for nothing, and units become ever longer.
Simulated experiments lasted a minute, with a start of 1.4 s, rounds of 0.24 s and seven mixtures of
noise. Such plans had 8 to 12 units and intervals 18 % wider than the best plan's in the mean (29 at
worst). Now it is 13 to 18 units and 6 % (15 at worst). (120 each, 95 % half-widths, with pilot.)

When is an experiment finished? The rule uses widths, never the answer.

If you stop when something is significant, you find a difference between identical things in a
quarter of all cases. Stopping when the interval is narrow enough leaves the answer unbiased. But it
prefers moments at which the scatter happens to look small, so that intervals hold too seldom. The
quantile corrects this. From the beginning, an experiment that is to stop by width has intervals
that miss the truth in TIGHTER times the requested share.

Coverage of one comparison at 95 %, and units taken in the mean, by how many units would be needed
if the scatter were known (100,000 normal experiments each, at least 8 units, checked after each):

| units that suffice | 4    | 8    | 10   | 12   | 15   | 20   | 30   | 50   |
|--------------------|------|------|------|------|------|------|------|------|
| as it comes        | 95.0 | 94.8 | 94.5 | 94.0 | 93.6 | 93.2 | 93.3 |      |
| units taken        | 8.0  | 9.1  | 10.3 | 11.9 | 14.3 | 18.8 | 28.4 |      |
| with TIGHTER       | 96.5 | 96.3 | 95.9 | 95.6 | 95.2 | 95.0 | 95.3 | 95.9 |
| units taken        | 8.0  | 9.7  | 11.4 | 13.3 | 16.4 | 21.7 | 33.0 | 56.2 |

That is a table of one cell and one level, whose interval is Student's. 385 tables of 21 cells and
two levels stopped after 19 units in the mean. 2 missed with a level as a whole, for which 1.1 % are
promised. Other tables were not simulated.

Alternatives correct less and take more: a width that is a tenth narrower (93.2 at worst), or two
more units after it is reached (93.7). Tests repeat the worst columns.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from contend.stats.change import Change
from contend.stats.components import TIERS, Components
from contend.stats.contrasts import TableShape
from contend.stats.student import t_quantile
from contend.stats.table import WholeLevels, single_cells, wholes
from contend.units import format_duration

UNITS_MIN = 8
"""Minimum units of a comparison, whichever the pilot suggests; fewer are not enough to judge."""

UNITS_MAX = 10_000
"""The longest plan, in units; a longer one is not worth waiting for."""

LEAST = {"round": 2, "block": 1, "unit": 1}
MOST = {"round": 64, "block": 8, "unit": 8}
"""Repeats of a tier within one of the tier above."""

USUAL = {"round": 8, "block": 1, "unit": 1}
"""Repeats until the variances are known."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of one more of a tier, without the tiers below it.

    seconds: by tier. unit: start and warm the servers of all arms; block: connect and settle;
        round: one slice of each arm; copy: make a copy of the data. These are the plan's tiers.
    contexts: cells of the table; each cell has its own blocks in every unit.
    """

    seconds: Mapping[str, float]
    contexts: int = 1

    @property
    def tiers(self) -> list[str]:
        """The tiers of the plan, the highest first."""
        return [tier for tier in TIERS if tier in self.seconds]

    def of_one(self, repeats: Mapping[str, int] | Mapping[str, np.ndarray]) -> np.ndarray:
        """Seconds of one of the highest tier with all that it holds."""
        seconds: np.ndarray = np.zeros(())
        for tier in reversed(self.tiers):
            seconds = seconds + self.seconds[tier]
            if tier != self.tiers[0]:
                seconds = seconds * repeats[tier]
            if tier == self._of_contexts:
                seconds = seconds * self.contexts
        return seconds

    @property
    def _of_contexts(self) -> str:
        """The highest tier that is separate for each context; for separate runs, the unit."""
        return next((t for t in self.tiers if t in ("block", "round")), self.tiers[-1])


@dataclass(frozen=True, slots=True)
class RepeatPlan:
    """The repeats of every tier.

    repeats: by tier, repeats in one of the tier above; for the highest, the total including done.
    seconds: the remaining time.
    half_width: expected relative half-width of a level as a whole (0.02: ±2 %). It is inf if the
        variances are not known or there are fewer than two of the highest tier.
    known: whether the variances were known; otherwise these are the usual counts.
    enough: whether the least number of units is in it, so that verdicts may be given.
    """

    repeats: Mapping[str, int]
    seconds: float
    half_width: float
    known: bool
    enough: bool


@dataclass(frozen=True, slots=True)
class TooShort:
    """A time in which not even one round of each context fits.

    least_s: the least time for one unit with one round of each context.
    enough_s: the least time for as many units as verdicts need.
    """

    least_s: float
    enough_s: float


def plan_for_width(
    components: Components | None,
    costs: Costs,
    half_width: float,
    *,
    done: int = 0,
    units_min: int = UNITS_MIN,
    confidence: float = 0.95,
    least: Mapping[str, int] = LEAST,
    most: Mapping[str, int] = MOST,
) -> RepeatPlan:
    """The plan of least time after which a level as a whole is known to a relative half-width.

    Args:
        components: of a pilot; None or not known: the usual counts and the least units.
        half_width: relative, 0.02 for ±2 %. If UNITS_MAX units do not reach it, the plan has that
            number, and its own half-width is the one they reach.
        done: units that are measured already.
        confidence: of one comparison; 1 - the chance that is left to each of a family's.
    """
    if components is None or not components.known:
        return _usual(costs, USUAL, units_min, done, units_min)
    grid = _Grid(components, costs, least, most, done)
    enough = math.log1p(half_width) * (1 + 1e-12)
    units = grid.units_for(enough, max(units_min, done, 2), confidence)
    seconds = (units - done) * grid.seconds
    widths = grid.widths(units, confidence)
    best = int(np.lexsort((widths, seconds, widths > enough))[0])
    return grid.plan(best, int(units[best]), float(widths[best]), done, units_min)


def plan_for_time(
    components: Components | None,
    costs: Costs,
    seconds: float,
    *,
    done: int = 0,
    units_min: int = UNITS_MIN,
    confidence: float = 0.95,
    least: Mapping[str, int] = LEAST,
    most: Mapping[str, int] = MOST,
) -> RepeatPlan | TooShort:
    """The plan with the narrowest answer that fits into a time.

    If time is short, the least repeats are reduced first, down to one of each, and then the least
    units: such a plan is not `enough` for verdicts.
    """
    ones = dict.fromkeys(TIERS, 1)
    one_s = float(costs.of_one(ones))
    missing = max(units_min - done, 0)
    if one_s > seconds:
        return TooShort(one_s, missing * one_s)
    short = missing * one_s > seconds
    if components is None or not components.known:
        if short:
            return _usual(costs, ones, done + int(seconds // one_s), done, units_min)
        return _usual_within(costs, seconds, done, units_min)
    for lowest in (ones,) if short else (least, ones):
        grid = _Grid(components, costs, lowest, ones if short else most, done)
        units = np.clip(np.floor(seconds / grid.seconds * (1 + 1e-12)) + done, 0, UNITS_MAX)
        units = units.astype(int)
        fits = units >= (2 if short else max(units_min, 2))
        if np.any(fits):
            break
    widths = grid.widths(np.maximum(units, 2), confidence)
    widths[~fits] = np.inf
    best = int(np.lexsort((units * grid.seconds, -units, widths))[0])
    return grid.plan(best, int(units[best]), float(widths[best]), done, units_min)


def units_for_width(sd: float, half_width: float, *, confidence: float = 0.95) -> int | None:
    """Units whose mean has such a half-width, at least 2; None: more than UNITS_MAX.

    Args:
        sd: standard deviation of the units' log ratios.
        half_width: relative, 0.02 for ±2 %.
    """
    widths = sd * _critical_over_root(confidence)
    enough = np.flatnonzero(widths <= math.log1p(half_width) * (1 + 1e-12))
    return int(enough[0]) + 2 if len(enough) else None


class _Grid:
    """All allowed counts below the highest tier, with seconds and variance of one of the highest.

    Finished units keep their variance: a plan of longer units does not improve them.
    """

    def __init__(
        self,
        components: Components,
        costs: Costs,
        least: Mapping[str, int],
        most: Mapping[str, int],
        done: int,
    ):
        self.top, *lower = costs.tiers
        ranges = []
        for tier in lower:
            component = components.get(tier)
            lowest = least.get(tier, 1)
            # A tier that was never repeated is noise of the tier above, and keeps its count.
            highest = most.get(tier, 1) if component and component.known else lowest
            ranges.append(np.arange(lowest, max(lowest, highest) + 1))
        mesh = np.meshgrid(*ranges, indexing="ij") if ranges else []
        self.counts = {tier: axis.ravel() for tier, axis in zip(lower, mesh, strict=True)}
        self.seconds = np.atleast_1d(costs.of_one(self.counts))
        variance = np.full(self.seconds.shape, components.of_a_level(self.top, costs.contexts))
        held: np.ndarray = np.ones(self.seconds.shape)
        for tier in lower:
            held = held * self.counts[tier]
            variance = variance + components.of_a_level(tier, costs.contexts) / held
        self._variance = np.maximum(variance, 1e-30)
        self._done = done
        of_done = sum(
            components.of_a_level(one.tier, costs.contexts) * one.in_mean
            for one in components.tiers
        )
        self._variances_of_done = done**2 * of_done

    def widths(self, units: np.ndarray, confidence: float) -> np.ndarray:
        """Half-widths of the mean of `units` units, with those done, for each of the counts."""
        summed = self._variances_of_done + np.maximum(units - self._done, 0) * self._variance
        critical = _critical_over_root(confidence)[units - 2]
        return np.asarray(critical * np.sqrt(summed / units))

    def units_for(self, width: float, least: int, confidence: float) -> np.ndarray:
        """The fewest units, from `least` on, with such a half-width; UNITS_MAX if none has it."""
        low = np.full(self.seconds.shape, least)
        high = np.full(self.seconds.shape, max(least, UNITS_MAX))
        while np.any(low < high):
            middle = (low + high) // 2
            is_enough = self.widths(middle, confidence) <= width
            low, high = np.where(is_enough, low, middle + 1), np.where(is_enough, middle, high)
        return high

    def plan(self, at: int, units: int, width_log: float, done: int, units_min: int) -> RepeatPlan:
        counts = {tier: int(axis[at]) for tier, axis in self.counts.items()}
        return RepeatPlan(
            repeats={self.top: units, **counts},
            seconds=max(units - done, 0) * float(self.seconds[at]),
            half_width=math.expm1(width_log) if width_log < 700 else math.inf,
            known=True,
            enough=units >= units_min,
        )


def _usual(
    costs: Costs, repeats: Mapping[str, int], units: int, done: int, units_min: int
) -> RepeatPlan:
    top, *lower = costs.tiers
    return RepeatPlan(
        repeats={top: units, **{tier: repeats[tier] for tier in lower}},
        seconds=max(units - done, 0) * float(costs.of_one(repeats)),
        half_width=math.inf,
        known=False,
        enough=units >= units_min,
    )


def _usual_within(costs: Costs, seconds: float, done: int, units_min: int) -> RepeatPlan:
    """The usual repeats, or as many rounds as fit with the least units; then more units."""
    rounds = USUAL["round"]
    while True:
        repeats = {**USUAL, "round": rounds}
        units = done + int(seconds / float(costs.of_one(repeats)) * (1 + 1e-12))
        if units >= units_min or rounds == 1:
            return _usual(costs, repeats, min(units, UNITS_MAX), done, units_min)
        rounds -= 1


def _critical_over_root(confidence: float) -> np.ndarray:
    """t quantile over the root of n, for n = 2 to UNITS_MAX: the half-width per sd."""
    # The chance left to each member of a family changes slightly with every check.
    return _critical_of_hundred_thousandths(round(1e5 * (1 - confidence)))


@functools.cache
def _critical_of_hundred_thousandths(chance: int) -> np.ndarray:
    """Past 200 units t comes from the normal quantile (Abramowitz & Stegun 26.7.5), to 9 digits."""
    n = np.arange(2, UNITS_MAX + 1)
    p = 1 - max(chance, 1) / 2e5
    z, v = NormalDist().inv_cdf(p), n - 1.0
    t = z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
    t[:199] = [t_quantile(freedom, p) for freedom in range(1, 200)]
    return np.asarray(t / np.sqrt(n))


TIGHTER = 0.7
"""Factor on the share of intervals that may miss the truth; from the simulation above."""

_USELESS = 10
"""A relative half-width of 1,000 %: one or two repeats that happened to differ."""

Reason = Literal["too few units", "too wide", "width reached", "units measured", "time is up"]


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """A user's request.

    until: for each table that is measured, the relative half-width of each level as a whole, 0.02
        for ±2 %. None for a table without one. If none has one, time ends it, and without a time
        the least units do.
    of_cells: `until` applies to every cell.
    at_most_s: seconds in all; inf: no limit.
    units_min: `compare.repeats`; no width counts before.
    confidence: the confidence that the intervals promise.
    """

    until: Sequence[float | None] = (None,)
    at_most_s: float = math.inf
    units_min: int = UNITS_MIN
    confidence: float = 0.95
    of_cells: bool = False

    @property
    def is_by_width(self) -> bool:
        return any(width is not None for width in self.until)

    @property
    def interval_confidence(self) -> float:
        """The confidence for computing the intervals, so that they keep the promised one."""
        return 1 - TIGHTER * (1 - self.confidence) if self.is_by_width else self.confidence


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of an experiment after a unit.

    stop: whether it is finished.
    reason: why, or why not.
    half_width: relative, as printed, of the level as a whole (or cell) that is widest in relation
        to the width requested of its table; inf below two units.
    n: units, of the level (or cell) that has the fewest.
    units_more: estimate of the units still needed for the width, at least up to the least units.
        0 if reached. None if unknown (fewer than two units, no width requested) or above the
        longest plan.
    seconds_more: the time of these; inf if they are None.
    until: the width requested of that table; None if there is none.
    p_each: two-sided chance of error that is left to each level as a whole (or cell).
    """

    stop: bool
    reason: Reason
    half_width: float
    n: int
    units_more: int | None
    seconds_more: float
    until: float | None
    p_each: float

    def words(self) -> str:
        """One line: "±2.6 % after 9 repeats; ±2 % would take about 14 min more"."""
        counted = f"{self.n} repeat{'' if self.n == 1 else 's'}"
        if math.isinf(self.half_width):
            return f"no interval after {counted}"
        if self.half_width > _USELESS:
            return f"no useful interval after {counted}"
        here = f"±{_percent(self.half_width)} after {counted}"
        if self.until is None or self.reason == "width reached":
            return here
        if self.units_more is None:
            return f"{here}; ±{_percent(self.until)} is out of reach"
        about = format_duration(self.seconds_more)
        return f"{here}; ±{_percent(self.until)} would take about {about} more"


def progress(
    tables: Sequence[np.ndarray],
    shape: TableShape,
    rule: StoppingRule,
    *,
    spent_s: float,
    unit_s: float,
    covariates: Sequence[np.ndarray] = (),
) -> Standing:
    """Stop or go on, after each unit, by the intervals that a report of it has.

    Time is up if one more unit would not fit into it.

    Args:
        tables, shape, covariates: see `answer_tables`; without a level nothing has a width. There
            are as many tables as widths in the rule.
        spent_s: seconds since the beginning.
        unit_s: seconds that one more unit takes.

    Raises:
        ValueError: see `answer_tables`.
    """
    seen = WholeLevels((), 1 - rule.interval_confidence)
    levels = tables[0].shape[2]
    if levels:
        look = single_cells if rule.of_cells else wholes
        seen = look(tables, shape, confidence=rule.interval_confidence, covariates=covariates)
    # Without a width, the first table is the one to describe.
    widths = rule.until if rule.is_by_width else (1.0, *(None for _ in tables[1:]))
    looked = [
        (one, width)
        for one in seen.changes
        if (width := widths[one.place.level // levels]) is not None
    ]
    n = min((one.n for one, _ in looked), default=len(tables[0]))
    half_width, until = max(
        ((_half_width(one), width) for one, width in looked),
        key=lambda one: one[0] / one[1],
        default=(math.inf, next(filter(None, rule.until), 1.0)),
    )
    needed: int | None = None
    if rule.is_by_width and n >= 2 and looked:
        needs = [units_to_reach(width, one, seen.p_each) for one, width in looked]
        # A level that lost units needs as many as the others, and those it lost.
        more = [
            None if need is None else max(need, rule.units_min) - one.n
            for need, (one, _) in zip(needs, looked, strict=True)
        ]
        # The width is not reached yet (or this is overwritten below), so one unit at the least.
        needed = None if None in more else max(*(m for m in more if m is not None), 1)
    reason: Reason
    if n >= rule.units_min and rule.is_by_width and half_width <= until:
        reason, needed = "width reached", 0
    elif n >= rule.units_min and not rule.is_by_width and math.isinf(rule.at_most_s):
        reason = "units measured"
    elif spent_s + unit_s > rule.at_most_s:
        reason = "time is up"
    else:
        reason = "too few units" if n < rule.units_min else "too wide"
    return Standing(
        stop=reason in ("width reached", "units measured", "time is up"),
        reason=reason,
        half_width=half_width,
        n=n,
        units_more=needed,
        seconds_more=math.inf if needed is None else needed * unit_s,
        until=until if rule.is_by_width else None,
        p_each=seen.p_each,
    )


def units_to_reach(half_width: float, whole: Change, p_each: float) -> int | None:
    """Units needed to know a level as a whole to a relative half-width. None if the longest plan
    is too short, or fewer than two units exist.

    Args:
        p_each: two-sided chance of error that is left to it.
    """
    if not whole.df > 0:
        return None
    se = _half_width_log(whole) / t_quantile(whole.df, 1 - p_each / 2)
    return units_for_width(se * math.sqrt(whole.n), half_width, confidence=1 - p_each)


def _half_width(whole: Change) -> float:
    """Relative, upwards, which is the wider side."""
    log_width = _half_width_log(whole)
    return math.expm1(log_width) if log_width < 700 else math.inf


def _half_width_log(whole: Change) -> float:
    if not 0 < whole.low <= whole.high < math.inf:
        return math.inf
    return math.log(whole.high / whole.low) / 2


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
