"""Where a series changed for certain, and what else changed there.

A search proposes places; the finding across a place decides: Welch's interval, the runs as units.
Places are chosen with the series in sight. So the findings of a page share its chance of a false
claim among all places of all series at which a change could be reported (Bonferroni).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from contend.findings import Contrast, Family, Finding, Origin
from contend.runs.series import RUNS_A_SIDE, PastRun, Series
from contend.stats import welch

SEEN_MIN = 3
"""Runs on a side from which a change is mentioned, as one of too few runs."""

PRICE = 4.0
"""What a change must explain, in variances of a run times ln of the number of runs."""

NEAR = 2
"""Runs by which change points of one break may lie apart: a search is off by one or two."""

MOVED_MIN = 0.1
"""Minimum reported relative change of the CPU distance; passes differ by some percent."""

FAMILY = Family("history", 0.95, 0.95)
"""All series of a page, at all places at which a change could be reported."""

_ORDER: tuple[Origin, ...] = ("server", "experiment", "contend", "host")


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Where a series may have changed.

    series: its place among the series. `at`: the first point after the change, in the series.
    first, last: the points on both sides: from `first` up to `at`, and from there up to `last`,
        which is left out.
    finding: the part after it over the part before; None if either side has too few runs.
    """

    series: int
    at: int
    first: int
    last: int
    finding: Finding | None

    @property
    def is_reported(self) -> bool:
        """Whether the series is certain to have changed there."""
        return self.finding is not None and self.finding.is_certain

    @property
    def runs_a_side(self) -> tuple[int, int]:
        return self.at - self.first, self.last - self.at


def split(values: Sequence[float], least: int) -> list[int]:
    """The first value of each segment but the first. The segments have `least` values or more, and
    their means explain most of the scatter (least squares, a price for each change).

    The scatter of a value itself comes from the differences of neighbours, which steps hardly
    affect.
    """
    x = np.asarray(values, dtype=float)
    n = len(x)
    if n < 2 * least:
        return []
    variance = (float(np.median(np.abs(np.diff(x)))) / 0.954) ** 2
    price = PRICE * math.log(n) * max(variance, 1e-12)
    sums = np.concatenate(([0.0], np.cumsum(x - np.mean(x))))
    cost, start = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=int)
    cost[0] = -price
    for end in range(least, n + 1):
        begins = np.array([0, *range(least, end - least + 1)])
        costs = cost[begins] + price - (sums[end] - sums[begins]) ** 2 / (end - begins)
        start[end], cost[end] = begins[np.argmin(costs)], np.min(costs)
    found = []
    while (n := int(start[n])) > 0:
        found.append(n)
    return found[::-1]


def change_points(series: Sequence[Series], margin: float) -> list[ChangePoint]:
    """Where each series may have changed, series by series.

    Args:
        margin: relative difference that does not matter.
    """
    members = sum(one.places for one in series)
    found = []
    for number, one in enumerate(series):
        logs = [point.log for point in one.points]
        proposed = split(logs, SEEN_MIN)
        kept = enough_a_side(logs, proposed)
        for at, first, last in _with_neighbours(kept, len(logs)):
            finding = after_over_before(one, logs[first:at], logs[at:last], members, margin)
            found.append(ChangePoint(number, at, first, last, finding))
        for at, first, last in _with_neighbours(proposed, len(logs)):
            if at not in kept:
                found.append(ChangePoint(number, at, first, last, None))
    return sorted(found, key=lambda one: (one.series, one.at))


def enough_a_side(values: Sequence[float], places: Sequence[int]) -> list[int]:
    """The places that leave RUNS_A_SIDE values between any two and at both ends. If places are too
    close, the weakest is dropped first, so that an outlier does not hide a step."""
    kept = [at for at in places if RUNS_A_SIDE <= at <= len(values) - RUNS_A_SIDE]
    while near := {at for pair in pairwise(kept) if pair[1] - pair[0] < RUNS_A_SIDE for at in pair}:
        explained = {
            at: (at - first)
            * (last - at)
            / (last - first)
            * (fmean(values[at:last]) - fmean(values[first:at])) ** 2
            for at, first, last in _with_neighbours(kept, len(values))
        }
        kept.remove(min(near, key=lambda at: explained[at]))
    return kept


def after_over_before(
    series: Series, before: Sequence[float], after: Sequence[float], members: int, margin: float
) -> Finding:
    """The part after a run over the part before it; `members` findings hold together."""
    change = welch(after, before, margin=margin, confidence=1 - (1 - FAMILY.confidence) / members)
    place = dict(series.cell)
    contrast = Contrast("runs", series.metric, place, "after", "before", FAMILY, units="runs")
    return Finding(contrast, change, margin)


def _with_neighbours(places: Sequence[int], length: int) -> list[tuple[int, int, int]]:
    return list(zip(places, [0, *places], [*places[1:], length], strict=False))


@dataclass(frozen=True, slots=True)
class Altered:
    """A condition with one value in all runs before and a different one in all runs after."""

    origin: Origin
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Break:
    """The changes at one run.

    run: the first after it. `points`: of the series that are certain to have changed there.
    altered: the other changes, in the order of the report.
    moved: how the distance of the host's CPUs changed, in ns, if that is certain by itself;
        `known` if it was measured on both sides.
    """

    run: int
    points: Sequence[ChangePoint]
    altered: Sequence[Altered]
    moved: tuple[float, float] | None = None
    known: bool = False

    @property
    def of_host(self) -> bool:
        """Whether the host, or its state, is different."""
        return self.moved is not None or any(one.origin == "host" for one in self.altered)

    @property
    def of_other(self) -> bool:
        """Whether anything but the host changed."""
        return any(one.origin != "host" for one in self.altered)


def breaks_of(
    runs: Sequence[PastRun], series: Sequence[Series], points: Sequence[ChangePoint]
) -> list[Break]:
    """Those that are certain, gathered where they lie together, the oldest first."""
    groups: list[list[tuple[int, ChangePoint]]] = []
    reported = [(series[one.series].points[one.at].run, one) for one in points if one.is_reported]
    for run, point in sorted(reported, key=lambda pair: pair[0]):
        if not groups or run - groups[-1][0][0] > NEAR:
            groups.append([])
        groups[-1].append((run, point))
    at = [Counter(run for run, _ in group).most_common(1)[0][0] for group in groups]
    found = []
    for group, (run, first, last) in zip(groups, _with_neighbours(at, len(runs)), strict=True):
        before, after = runs[first:run], runs[run:last]
        by_size = sorted((point for _, point in group), key=lambda one: -_size(one))
        found.append(Break(run, by_size, altered_between(before, after), *_moved(before, after)))
    return found


def _size(point: ChangePoint) -> float:
    return abs(math.log(point.finding.nearest)) if point.finding else 0.0


def altered_between(before: Sequence[PastRun], after: Sequence[PastRun]) -> list[Altered]:
    """Conditions with one value in all runs before and a different one after: the server first."""
    found = []
    for name in dict.fromkeys(name for run in (*before, *after) for name in run.conditions):
        one, other = _only(before, name), _only(after, name)
        if one is None or other is None or one == other:
            continue
        runs = before[0].conditions.get(name), after[0].conditions.get(name)
        known = next(each for each in runs if each is not None)
        texts = (known.otherwise if each is None else each.text for each in runs)
        found.append(Altered(known.origin, known.title, *texts))
    return sorted(found, key=lambda one: _ORDER.index(one.origin))


def _only(runs: Sequence[PastRun], name: str) -> tuple[Any] | None:
    """The value that all of them have, which may be "none"; None if they differ."""
    values = [(one := run.conditions.get(name)) and one.value for run in runs]
    return (values[0],) if values and all(one == values[0] for one in values) else None


def _moved(
    before: Sequence[PastRun], after: Sequence[PastRun]
) -> tuple[tuple[float, float] | None, bool]:
    """`moved` and `known` of a break."""
    sides = [[one.distance for one in side if one.distance is not None] for side in (before, after)]
    if any(len(side) < 2 for side in sides):
        return None, False
    if welch(sides[1], sides[0], margin=MOVED_MIN).verdict not in ("higher", "lower"):
        return None, True
    one, other = (math.exp(math.fsum(side) / len(side)) for side in sides)
    return (one, other), True
