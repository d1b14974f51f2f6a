"""When is an experiment finished? It looks at widths, never at what the answer is.

Whoever stops when something is significant finds a difference between identical things in a quarter
of all cases. Stopping when the interval is narrow enough hardly disturbs the mean, but it prefers
moments at which the scatter happens to look small, so that intervals hold a little too seldom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contend.stats.planning import UNITS_MIN

Reason = Literal["too few units", "too wide", "further units", "width reached", "time is up"]

FURTHER = 2
"""Units after the one at which the width was first reached."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """What a user asked for.

    until: relative half-width of each level as a whole, 0.02 for ±2 %; None: only time ends it.
    at_most_s: seconds in all; inf: as long as it takes.
    units_min: `compare.repeats`; no width counts before.
    further: units after the width was reached.
    adjust: the critical value of the family over Student's t for one comparison.
    """

    until: float | None
    at_most_s: float = math.inf
    units_min: int = UNITS_MIN
    further: int = FURTHER
    confidence: float = 0.95
    adjust: float = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an experiment stands after a unit.

    stop: whether it is finished.
    reason: why, or why not.
    half_width: relative, of the widest level as a whole; inf below two units.
    n: units.
    units_more: units still needed to reach the width, an estimate; 0 if reached, None if it cannot
        be told (fewer than two units, no width asked for) or would be more than a million.
    seconds_more: the time of these; inf if they are None.
    """

    stop: bool
    reason: Reason
    half_width: float
    n: int
    units_more: int | None
    seconds_more: float

    def words(self) -> str:
        """One line: "±2.6 % after 9 units; ±2 % would take about 14 min more"."""
        raise NotImplementedError


def progress(
    units: np.ndarray,
    rule: StoppingRule,
    *,
    spent_s: float,
    unit_s: float,
) -> Progress:
    """Stop or go on, after each unit.

    Args:
        units: (n,) or (n, levels) log ratio of each level as a whole, one row a unit in the order
            in which they were measured. NaN: lost, and left out of its level.
        spent_s: seconds since the beginning.
        unit_s: seconds that one more unit takes.
    """
    raise NotImplementedError
