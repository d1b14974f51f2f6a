"""How many rounds, blocks and units: the least time for an interval, or the narrowest for a time.

With T² of each tier and what one more of it costs, the variance of an answer times its cost is
least at r_i = sqrt(c_{i+1} / c_i x T_i² / T_{i+1}²) repeats of tier i in one of the tier above
(Kalibera & Jones 2013). Counts are whole and bounded, a tier may seem to have no variance, and a
least number of units is asked for: so the best of all allowed counts is searched for instead, which
is the formula's where that applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contend.stats.components import Components

UNITS_MIN = 8
"""Units of a comparison whatever the pilot says; fewer have too little to say about themselves."""

LEAST = {"round": 2, "block": 1, "unit": 1}
MOST = {"round": 64, "block": 8, "unit": 8}
"""Repeats of a tier within one of the tier above."""

USUAL = {"round": 8, "block": 1, "unit": 1}
"""Repeats until the variances are known."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What one more of a tier takes, without what it holds of the tiers below.

    seconds: by tier. unit: start and warm the servers of all arms; block: connect and settle;
        round: one slice of each arm; copy: make a copy of the data.
    contexts: cells of the table, each of which has blocks of its own in every unit.
    """

    seconds: Mapping[str, float]
    contexts: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """How often everything is repeated.

    repeats: by tier, how many in one of the tier above; of the highest, in all.
    seconds: the time of it all.
    half_width: relative half-width expected of a level as a whole (0.02: ±2 %); inf if the
        variances are not known or there are fewer than two units.
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


def unit_seconds(costs: Costs, repeats: Mapping[str, int]) -> float:
    """Seconds of one of the highest tier with all that it holds."""
    raise NotImplementedError


def plan_for_width(
    components: Components | None,
    costs: Costs,
    half_width: float,
    *,
    units_min: int = UNITS_MIN,
    confidence: float = 0.95,
    adjust: float = 1.0,
    least: Mapping[str, int] = LEAST,
    most: Mapping[str, int] = MOST,
) -> Plan:
    """The plan of least time whose level as a whole is known to a relative half-width.

    Args:
        components: of a pilot; None or not known: the usual counts.
        half_width: relative, 0.02 for ±2 %.
        adjust: the critical value of the family over Student's t for one comparison.
    """
    raise NotImplementedError


def plan_for_time(
    components: Components | None,
    costs: Costs,
    seconds: float,
    *,
    units_min: int = UNITS_MIN,
    confidence: float = 0.95,
    adjust: float = 1.0,
    least: Mapping[str, int] = LEAST,
    most: Mapping[str, int] = MOST,
) -> Plan | TooShort:
    """The plan with the narrowest answer that fits into a time.

    The least repeats give way before the least units do, and these before nothing is measured at
    all: then the plan is not `enough` for verdicts.
    """
    raise NotImplementedError


def units_for_width(
    sd: float,
    half_width: float,
    *,
    confidence: float = 0.95,
    adjust: float = 1.0,
) -> int | None:
    """Units whose mean has such a half-width, at least 2; None: more than a million.

    Args:
        sd: standard deviation of the units' log ratios.
        half_width: relative, 0.02 for ±2 %.
    """
    raise NotImplementedError
