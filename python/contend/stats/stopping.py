"""When is an experiment finished? It looks at widths, never at what the answer is.

Whoever stops when something is significant finds a difference between identical things in a quarter
of all cases. Stopping when the interval is narrow enough leaves the answer unbiased, but it prefers
moments at which the scatter happens to look small, so that intervals hold too seldom. The cure is
in the quantile: an experiment that is to stop by width has, from the beginning, intervals that miss
the truth in TIGHTER times the share asked for.

Coverage of one comparison at 95 %, and units taken in the mean, by how many units would be needed
if the scatter were known (100,000 experiments each, normal, at least 8 units, a look after each):

| units that suffice | 4    | 8    | 10   | 12   | 15   | 20   | 30   | 50   |
|--------------------|------|------|------|------|------|------|------|------|
| as it comes        | 95.0 | 94.8 | 94.5 | 94.0 | 93.6 | 93.2 | 93.3 |      |
| units taken        | 8.0  | 9.1  | 10.3 | 11.9 | 14.3 | 18.8 | 28.4 |      |
| with TIGHTER       | 96.5 | 96.3 | 95.9 | 95.6 | 95.2 | 95.0 | 95.3 | 95.9 |
| units taken        | 8.0  | 9.7  | 11.4 | 13.3 | 16.4 | 21.7 | 33.0 | 56.2 |

That is a table of one cell and one level, whose interval is Student's. Of tables of 21 cells and
two levels that stopped after 19 units in the mean, 2 of 385 missed with a level as a whole, where
1.1 % are promised to it; other tables were not simulated.

Demanding a width that is narrower by a tenth, or two further units after it is reached, mends less
(93.2 and 93.7 at worst) and takes more. Tests repeat the worst columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contend.stats.change import Change
from contend.stats.contrasts import TableShape
from contend.stats.planning import UNITS_MIN, units_for_width
from contend.stats.student import t_quantile
from contend.stats.table import WholeLevels, single_cells, wholes
from contend.units import format_duration

TIGHTER = 0.7
"""Of the share of intervals that may miss the truth; found by the simulation above."""

_SAYS_NOTHING = 10
"""A relative half-width of 1,000 %: one or two repeats that happened to differ."""

Reason = Literal["too few units", "too wide", "width reached", "units measured", "time is up"]


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """What a user asked for.

    until: relative half-width of each level as a whole, 0.02 for ±2 %; None: time ends it, and
        without a time the least units do.
    of_cells: it is that of every cell.
    at_most_s: seconds in all; inf: as long as it takes.
    units_min: `compare.repeats`; no width counts before.
    confidence: what the intervals promise.
    """

    until: float | None
    at_most_s: float = math.inf
    units_min: int = UNITS_MIN
    confidence: float = 0.95
    of_cells: bool = False

    @property
    def interval_confidence(self) -> float:
        """At what confidence to compute the intervals, so that they hold what they promise."""
        return self.confidence if self.until is None else 1 - TIGHTER * (1 - self.confidence)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an experiment stands after a unit.

    stop: whether it is finished.
    reason: why, or why not.
    half_width: relative, of the widest level as a whole (or cell), as it is printed; inf below two
        units.
    n: units, of the level (or cell) that has the fewest.
    units_more: units still needed to reach the width, an estimate, at least up to the least units;
        0 if reached; None if it cannot be told (fewer than two units, no width asked for) or would
        be more than anybody waits for.
    seconds_more: the time of these; inf if they are None.
    until: the width asked for.
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
        if self.half_width > _SAYS_NOTHING:
            return f"no interval that says anything after {counted}"
        here = f"±{_percent(self.half_width)} after {counted}"
        if self.until is None or self.reason == "width reached":
            return here
        if self.units_more is None:
            return f"{here}; ±{_percent(self.until)} is out of reach"
        about = format_duration(self.seconds_more)
        return f"{here}; ±{_percent(self.until)} would take about {about} more"


def progress(
    d: np.ndarray,
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
        d, shape, covariates: as of `answer_table`; without a level nothing has a width.
        spent_s: seconds since the beginning.
        unit_s: seconds that one more unit takes.

    Raises:
        ValueError: as of `answer_table`.
    """
    seen = WholeLevels((), 1 - rule.interval_confidence)
    if d.shape[2]:
        look = single_cells if rule.of_cells else wholes
        seen = look(d, shape, confidence=rule.interval_confidence, covariates=covariates)
    n = min((one.n for one in seen.changes), default=len(d))
    half_width = max(map(_half_width, seen.changes), default=math.inf)
    needed: int | None = None
    if rule.until is not None and n >= 2 and seen.changes:
        needs = [units_to_reach(rule.until, one, seen.p_each) for one in seen.changes]
        # A level that lost units needs as many as the others, and those it lost.
        more = [
            None if need is None else max(need, rule.units_min) - one.n
            for need, one in zip(needs, seen.changes, strict=True)
        ]
        # The width is not reached yet (or this is overwritten below), so one unit at the least.
        needed = None if None in more else max(*(m for m in more if m is not None), 1)
    reason: Reason
    if n >= rule.units_min and rule.until is not None and half_width <= rule.until:
        reason, needed = "width reached", 0
    elif n >= rule.units_min and rule.until is None and math.isinf(rule.at_most_s):
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
        until=rule.until,
        p_each=seen.p_each,
    )


def units_to_reach(half_width: float, whole: Change, p_each: float) -> int | None:
    """Units after which a level as a whole is known to a relative half-width; None: more than
    anybody waits for, or fewer than two units tell.

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
