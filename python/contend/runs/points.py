"""Change points that hold: what Otava proposes is told if the finding across it is certain.

What is proposed was chosen with the series in sight, and a bare search finds something in one of
twenty series in which nothing changes. So the finding across a change point (Welch's interval, the
runs as units) shares the chance of a false claim with every other place of every series of the page
at which a change could have been told.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from contend.runs.model import RUNS_A_SIDE, ChangePoint, Series
from contend.runs.otava import Proposed
from contend.runs.over_time import after_over_before


def change_points(
    series: Sequence[Series], proposed: Sequence[Sequence[Proposed]], margin: float
) -> list[ChangePoint]:
    """What becomes of each proposal, series by series.

    Args:
        proposed: of each series, in the order of its points.
        margin: relative difference that does not matter.
    """
    members = sum(one.places for one in series)
    return [
        point
        for number, (one, of_it) in enumerate(zip(series, proposed, strict=True))
        for point in _of_series(number, one, of_it, members, margin)
    ]


def _of_series(
    number: int, series: Series, proposed: Sequence[Proposed], members: int, margin: float
) -> list[ChangePoint]:
    logs = [point.log for point in series.points]
    kept, dropped = enough_a_side(proposed, len(logs))
    found = []
    for at, first, last in _with_ends(kept, len(logs)):
        finding = after_over_before(
            series.metric,
            series.cell,
            logs[first:at],
            logs[at:last],
            members=members,
            margin=margin,
        )
        found.append(ChangePoint(number, at, first, last, finding))
    # Around one that has too few runs lie the neighbours that it was proposed with.
    neighbours = {at: (first, last) for at, first, last in _with_ends(proposed, len(logs))}
    found += [ChangePoint(number, one.at, *neighbours[one.at], None) for one in dropped]
    return sorted(found, key=lambda one: one.at)


def enough_a_side(
    proposed: Sequence[Proposed], length: int
) -> tuple[list[Proposed], list[Proposed]]:
    """Those that leave RUNS_A_SIDE values between any two and at both ends, and those that were
    dropped for it: of two that are too near to one another the one that Otava is less sure of, so
    that a single outlier does not hide a step beside it."""
    kept = sorted(proposed, key=lambda one: one.at)
    dropped = [one for one in kept if not RUNS_A_SIDE <= one.at <= length - RUNS_A_SIDE]
    kept = [one for one in kept if one not in dropped]
    while near := [
        (one, other) for one, other in itertools.pairwise(kept) if other.at - one.at < RUNS_A_SIDE
    ]:
        weakest = max((one for pair in near for one in pair), key=lambda one: (one.p, one.at))
        kept.remove(weakest)
        dropped.append(weakest)
    return kept, dropped


def _with_ends(proposed: Sequence[Proposed], length: int) -> list[tuple[int, int, int]]:
    """Each with the points that lie between its neighbours: at, first, last (left out)."""
    places = sorted({one.at for one in proposed})
    return [
        (at, before, after)
        for before, at, after in zip([0, *places], places, [*places[1:], length], strict=False)
    ]
