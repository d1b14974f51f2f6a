"""The highest rate that holds a goal: the rate to try next, and the answer with its interval.

A run at a rate **uses** a part of what the goal allows: for `p99 < 20 ms`, the share of events over
20 ms, divided by 1 %. Below 1 the rate holds. Unlike a percentile, a share of events has the right
mean in a short run too, however much the events of a queue have in common.

The first repeat finds the place: the rate rises fourfold until it does not hold, then each step
halves the bracket. Every further repeat has freshly started servers, and measures a rate a little
below the estimate and a rate a little above it. Near the crossing the logarithm of the use is
nearly a straight line of the logarithm of the rate, after the use at low rates is subtracted: the
service of some events alone takes longer than the limit. The slope of the line, from all runs
there, turns the runs of a repeat into the crossing of that repeat. The answer is their mean, with
Student's t interval over the repeats: the unit is the server process, as in every comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contend.stats.estimate import Estimate, estimate

USED_MAX = 5.0
"""More use says nothing about the place of the crossing, nor does a queue that grows."""

STEP = 4.0
"""Factor between the first rates, until one holds and one does not."""

NARROW = 1.25
"""The first repeat ends if the ends of the bracket are nearer than this factor."""

FIRST_RUNS_MAX = 24
"""Maximum number of runs of a level in the first repeat."""

CERTAIN = 2.0
"""In the first repeat a rate does not hold if its use is beyond 1 by this many times its error."""

SPREAD = 0.6
"""Distance of the two rates of a repeat from the estimate: the use changes by this logarithm,"""

SPREADS = 0.015, 0.12
"""and the rate by a logarithm between these."""

NEAR = 1.5
"""Runs whose use differs from that at the crossing by at most this logarithm give the slope;"""

NEAR_MIN = 0.03
"""also those whose rate does by this one,"""

NEAREST = 6
"""and this number of runs at least."""

SLOPE, SLOPE_SD = 10.0, 0.5
"""Expected change of the logarithm of the use with that of the rate, and the uncertainty of its
logarithm; 15 for one exponential server at 77 % of its rate, 100 for 64 servers at 98 %."""

SLOPES = 2.0, 150.0
"""Its bounds."""

IDLE, IDLE_MAX = 0.35, 0.8
"""At rates below this share of the estimate nothing waits; and the most that is used there."""

SCATTERS, SCATTER_MAX = 5.0, 1.0
"""Ratio of the scatter of a run's use at the crossing to its error, and the most that is assumed;
only weighs runs against `SLOPE`."""

MOVE_MAX = 0.3
"""The estimate moves at most this far beyond the rates near it, as a logarithm."""

FAR_BELOW, FAR_ABOVE, MOVE = 0.2, 3.0, 0.12
"""If all runs of a repeat use less or more than this, the next repeat is this much beyond them."""

Kind = Literal["found", "all", "none", "client", "open"]
"""found: the crossing was measured. all: even the highest rate holds. none: not even the lowest
does. client: the load generator reached its limit first. open: not located yet."""


@dataclass(frozen=True, slots=True)
class RateRun:
    """One run at a rate.

    Args:
        used: share of what the goal allows; infinite if it was never measured.
        error: standard error of `used` at the crossing.
        grows: the queue grew, so no response time is final.
        is_client: the load generator was at its limit.
        answered: events per second that ended.
    """

    repeat: int
    rate: float
    used: float
    error: float = 0.0
    grows: bool = False
    is_client: bool = False
    answered: float = math.nan

    @property
    def level(self) -> float:
        """The use, within bounds."""
        if self.grows or not self.used < self.cap:
            return self.cap
        return self.used

    @property
    def cap(self) -> float:
        """Few events scatter much, and a cap within their scatter would bias their mean."""
        return max(USED_MAX, 3 + 8 * self.error)

    @property
    def holds(self) -> bool:
        """Whether it does not certainly exceed the goal."""
        return self.level <= min(1 + CERTAIN * self.error, 3.0)


@dataclass(frozen=True, slots=True)
class GoalAnswer:
    """The highest rate that holds the goal.

    Args:
        rate: found: the crossing; else the rate at the end of the search that `kind` names.
        by_repeat: the crossing of each repeat.
        used: at that rate over the repeats, if the search reached an end.
    """

    kind: Kind
    rate: Estimate
    by_repeat: Mapping[int, float]
    used: Estimate | None = None

    @property
    def is_certain(self) -> bool:
        """Whether the rate has an interval, or that rate certainly holds, or certainly does not."""
        if self.kind == "found":
            return math.isfinite(self.rate.high)
        if self.used is None:
            return False
        return self.used.low > 1 if self.kind == "none" else self.used.high < 1


def rounded_rate(rate: float) -> float:
    """A rate with three digits, so that it reads well; whole from 100 on."""
    found = round(rate, 2 - math.floor(math.log10(rate)))
    return int(found) if found == int(found) else found


class RateSearch:
    """The search of one level.

    Args:
        lowest, highest: the bounds of the rates.
        first: the rate to begin with.
    """

    def __init__(
        self, lowest: float, highest: float, first: float, runs: Sequence[RateRun] = ()
    ) -> None:
        self._lowest, self._highest = lowest, highest
        self._first = min(max(first, lowest), highest)
        self._runs = list(runs)

    def add(self, run: RateRun) -> None:
        self._runs.append(run)

    def wanted(self, repeat: int) -> tuple[float, ...]:
        """The rates to measure next in this repeat, the lower one first; none if it is over."""
        here = [run for run in self._runs if run.repeat == repeat]
        if repeat == 1:
            rate = self._next_of_first(here)
            return () if rate is None else (rate,)
        if here:
            return ()
        kind, place = self._place()
        if kind != "found":
            return (place,)
        centre, slope = _crossing(self._runs, math.log(place))
        centre = self._towards(centre, repeat)
        spread = min(max(SPREAD / slope, SPREADS[0]), SPREADS[1])
        rates = (self._within(math.exp(centre + sign * spread)) for sign in (-1, 1))
        return tuple(dict.fromkeys(rates))

    def _towards(self, centre: float, repeat: int) -> float:
        """The centre, beyond the rates of the last repeat if all of them were far on one side."""
        last = [run for run in self._runs if run.repeat == repeat - 1 > 1]
        if last and all(run.level < FAR_BELOW for run in last):
            return max(centre, math.log(max(run.rate for run in last)) + MOVE)
        if last and all(run.level > FAR_ABOVE for run in last):
            return min(centre, math.log(min(run.rate for run in last)) - MOVE)
        return centre

    def answer(self, confidence: float) -> GoalAnswer:
        kind, place = self._place()
        fresh = [run for run in self._runs if run.repeat > 1]
        if kind != "found":
            at_end = [run.level for run in fresh if run.rate == place]
            end = Estimate(place, place, place, len(at_end), confidence)
            return GoalAnswer(kind, end, {}, estimate(at_end, confidence) if at_end else None)
        centre, _ = _crossing(self._runs, math.log(place))
        if not fresh:
            return GoalAnswer("open", Estimate(math.exp(centre), 0.0, math.inf, 0, confidence), {})
        by_repeat = _by_repeat(self._runs, centre)
        rate = estimate(list(by_repeat.values()), confidence, log_scale=True)
        levels = [run.level for run in fresh]
        if max(levels) < FAR_BELOW or min(levels) > FAR_ABOVE:
            # They surround nothing, so they say nothing about the place.
            rate = Estimate(rate.mean, 0.0, math.inf, rate.n, confidence)
        return GoalAnswer(kind, rate, by_repeat)

    def _within(self, rate: float) -> float:
        return min(max(rounded_rate(rate), self._lowest), self._highest)

    def _next_of_first(self, here: Sequence[RateRun]) -> float | None:
        if not here:
            return self._within(self._first)
        low, high = _bracket(here)
        if len(here) >= FIRST_RUNS_MAX:
            return None
        if high is None:
            assert low is not None
            return None if low >= self._highest else self._within(low * STEP)
        if low is None:
            if high.rate <= self._lowest:
                return None
            down = high.rate / STEP
            # A server under too much load answers about what it can.
            return self._within(max(down, 0.7 * high.answered) if high.answered > 0 else down)
        if high.rate / low <= NARROW:
            # A stall of the host may fail any rate, so the rate above is tried twice.
            return high.rate if sum(run.rate == high.rate for run in here) < 2 else None
        middle = math.sqrt(low * high.rate)
        if high.grows and 1.1 * low < 0.8 * high.answered < middle:
            middle = 0.8 * high.answered
        return self._within(middle)

    def _place(self) -> tuple[Kind, float]:
        """How the first repeat ended, and the rate to go on with."""
        first = [run for run in self._runs if run.repeat == 1]
        if not first:
            return "open", self._first
        low, high = _bracket(first)
        if high is None:
            assert low is not None
            return ("all" if low >= self._highest else "open"), low
        if low is None:
            return ("none" if high.rate <= self._lowest else "open"), high.rate
        return ("client", low) if high.is_client else ("found", math.sqrt(low * high.rate))


def _bracket(runs: Sequence[RateRun]) -> tuple[float | None, RateRun | None]:
    """The highest rate that holds, and the lowest run above it that does not: a stall of the host
    may fail any rate, but too high a rate hardly ever holds."""
    low = max((run.rate for run in runs if run.holds), default=None)
    failed = [run for run in runs if not run.holds and (low is None or run.rate > low)]
    return low, min(failed, key=lambda run: run.rate, default=None)


def _crossing(runs: Sequence[RateRun], start: float) -> tuple[float, float]:
    """The logarithm of the rate at which the use is 1, and the slope there."""
    low, high = _bracket([run for run in runs if run.repeat == 1])
    # A failure in the first repeat below a rate that held was the host's; one far above it says
    # nothing about the line.
    least, most = low or 0.0, math.inf if high is None else high.rate
    used = [one for one in runs if one.repeat > 1 or one.holds or least < one.rate <= most]
    x = np.array([math.log(run.rate) for run in used])
    idle = _idle_use(runs, start)
    y = (np.array([run.level for run in used]) - idle) / (1 - idle)
    scatter = min(max(SCATTERS * max(run.error for run in used), 0.1), SCATTER_MAX) ** 2
    centre, slope = start, SLOPE
    for _ in range(12):
        far = np.abs(x - centre)
        near = np.flatnonzero(far <= max(NEAR / slope, NEAR_MIN))
        if len(near) < NEAREST:
            near = np.argsort(far)[:NEAREST]
        level, slope = _line(x[near] - centre, y[near], scatter)
        ends = float(np.min(x[near])) - MOVE_MAX, float(np.max(x[near])) + MOVE_MAX
        moved = min(max(centre - level / slope, ends[0]), ends[1])
        # Half a step at a time: runs enter and leave the neighbourhood.
        centre = (centre + moved) / 2
    return centre, slope


def _idle_use(runs: Sequence[RateRun], centre: float) -> float:
    """The use far below the crossing, where nothing waits; it stays at every rate."""
    idle = [run for run in runs if math.log(run.rate) < centre + math.log(IDLE)]
    events = math.fsum(run.rate for run in idle)
    used = math.fsum(run.rate * run.level for run in idle)
    return min(used / events, IDLE_MAX) if events else 0.0


def _line(x: np.ndarray, y: np.ndarray, scatter: float) -> tuple[float, float]:
    """Logarithm of the mean use at x = 0, and its slope: a regression of the mean with a log link,
    in which a run without any slow event counts like every other."""
    level, steep = math.log(max(float(np.mean(y)), 0.05)), math.log(SLOPE)
    for _ in range(30):
        rise = math.exp(steep) * x
        mean = np.exp(np.clip(level + rise, -6, 3))
        left = y - mean
        pull = (math.log(SLOPE) - steep) / SLOPE_SD**2
        gradient = np.array([np.sum(left), np.sum(left * rise)]) / scatter + [0.0, pull]
        a, b, c = np.sum(mean), np.sum(mean * rise), np.sum(mean * rise * rise)
        curvature = np.array([[a, b], [b, c]]) / scatter + np.diag([1e-6, 1 / SLOPE_SD**2])
        step = np.linalg.solve(curvature, gradient)
        level += float(np.clip(step[0], -1, 1))
        steep += float(np.clip(step[1], -0.5, 0.5))
        steep = min(max(steep, math.log(SLOPES[0])), math.log(SLOPES[1]))
        if np.max(np.abs(step)) < 1e-6:
            break
    return level, math.exp(steep)


def _by_repeat(runs: Sequence[RateRun], start: float) -> dict[int, float]:
    """The crossing of each repeat after the first, as the jackknife has it: what the repeat adds
    to the crossing of all, so that the scatter has the uncertainty of the slope too (Tukey 1958).
    """
    repeats = sorted({run.repeat for run in runs if run.repeat > 1})
    whole = _crossing_of_fresh(runs, start)
    if len(repeats) < 2:
        return dict.fromkeys(repeats, math.exp(whole))
    without = [
        _crossing_of_fresh([run for run in runs if run.repeat != repeat], start)
        for repeat in repeats
    ]
    n, middle = len(repeats), math.fsum(without) / len(repeats)
    return {
        repeat: math.exp(whole + (n - 1) * (middle - one))
        for repeat, one in zip(repeats, without, strict=True)
    }


def _crossing_of_fresh(runs: Sequence[RateRun], start: float) -> float:
    """The crossing by the repeats after the first; the first one only helps to know the slope."""
    centre, slope = _crossing(runs, start)
    fresh = [run for run in runs if run.repeat > 1]
    found = _fitting(fresh, centre, slope, _idle_use(runs, start))
    # The line is not continued beyond all rates that were tried; nor, if all are far below, beyond
    # one that failed twice.
    _low, high = _bracket([run for run in runs if run.repeat == 1])
    most = max(run.rate for run in runs)
    if high is not None and all(run.level < FAR_BELOW for run in fresh):
        most = max(high.rate, *(run.rate for run in fresh))
    return min(max(found, math.log(min(run.rate for run in runs))), math.log(most))


def _expected(run: RateRun, centre: float, slope: float, idle: float) -> float:
    waits = math.exp(min(slope * (math.log(run.rate) - centre), 9.0))
    return min(idle + (1 - idle) * waits, run.cap)


def _fitting(runs: Sequence[RateRun], start: float, slope: float, idle: float) -> float:
    """The crossing at which the line expects what the runs used together, near `start`."""
    used = math.fsum(run.level for run in runs)
    logs = [math.log(run.rate) for run in runs]
    low, high = min(*logs, start) - MOVE_MAX, max(*logs, start) + MOVE_MAX
    for _ in range(50):
        middle = (low + high) / 2
        if math.fsum(_expected(run, middle, slope, idle) for run in runs) > used:
            low = middle
        else:
            high = middle
    return (low + high) / 2
