"""Change points of several series at one run are one break, told once, with what else changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from contend.findings import Origin
from contend.runs.model import Altered, Break, ChangePoint, PastRun, Series
from contend.stats import welch

NEAR = 2
"""Runs by which change points of one break may lie apart: a search is off by one or two."""

MOVED_MIN = 0.1
"""Relative change of the distance between the CPUs that is told; looks differ by some percent."""

_ORDER: tuple[Origin, ...] = ("server", "experiment", "contend", "host")


def breaks_of(
    runs: Sequence[PastRun], series: Sequence[Series], points: Sequence[ChangePoint]
) -> list[Break]:
    """The breaks of those that are certain, the oldest first."""
    placed = sorted(
        ((series[one.series].points[one.at].run, one) for one in points if one.told),
        key=lambda pair: pair[0],
    )
    groups: list[list[tuple[int, ChangePoint]]] = []
    for run, point in placed:
        if groups and run - groups[-1][0][0] <= NEAR:
            groups[-1].append((run, point))
        else:
            groups.append([(run, point)])
    if not groups:
        return []
    at = [Counter(run for run, _ in group).most_common(1)[0][0] for group in groups]
    return [
        _break(runs, run, [point for _, point in group], before, after)
        for run, group, before, after in zip(
            at, groups, [0, *at[:-1]], [*at[1:], len(runs)], strict=True
        )
    ]


def _break(
    runs: Sequence[PastRun], run: int, points: Sequence[ChangePoint], first: int, last: int
) -> Break:
    before, after = list(range(first, run)), list(range(run, last))
    moved, known = _moved([runs[one] for one in before], [runs[one] for one in after])
    altered = altered_between([runs[one] for one in before], [runs[one] for one in after])
    by_size = sorted(points, key=lambda one: -_size(one))
    return Break(run, by_size, before, after, altered, moved, known)


def _size(point: ChangePoint) -> float:
    return abs(math.log(point.finding.nearest)) if point.finding else 0.0


def altered_between(before: Sequence[PastRun], after: Sequence[PastRun]) -> list[Altered]:
    """What was one thing in all runs before, and another in all runs after: the server first."""
    names = dict.fromkeys(name for run in (*before, *after) for name in run.conditions)
    found = []
    for name in names:
        sides = _only(before, name), _only(after, name)
        if sides[0] is None or sides[1] is None or sides[0] == sides[1]:
            continue
        runs = (before[0].conditions.get(name), after[0].conditions.get(name))
        known = next(one for one in runs if one is not None)
        texts = (known.otherwise if one is None else one.text for one in runs)
        found.append(Altered(known.origin, known.title, *texts))
    return sorted(found, key=lambda one: _ORDER.index(one.origin))


def _only(runs: Sequence[PastRun], name: str) -> tuple[Any] | None:
    """The value that all of them have, which may be that there is none; None if they differ."""
    values = [(one := run.conditions.get(name)) and one.value for run in runs]
    return (values[0],) if values and all(one == values[0] for one in values) else None


def _moved(
    before: Sequence[PastRun], after: Sequence[PastRun]
) -> tuple[tuple[float, float] | None, bool]:
    """The distance of the host's CPUs on both sides in ns, if it certainly differs by itself; and
    whether it is known on both."""
    sides = [[one.distance for one in side if one.distance is not None] for side in (before, after)]
    if any(len(side) < 2 for side in sides):
        return None, False
    change = welch(sides[1], sides[0], margin=MOVED_MIN)
    if change.verdict not in ("higher", "lower"):
        return None, True
    one, other = (math.exp(math.fsum(side) / len(side)) for side in sides)
    return (one, other), True
