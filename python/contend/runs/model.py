"""What a history says, as plain data.

A *series* is one figure of one cell, run by run: what a level gains over the baseline, or how much
of a metric there is. A *change point* is a run from which on a series is another, or may be. A
*break* is what several series have at one run, with what else changed there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from contend.findings import Finding, Origin, RunCondition, Study
from contend.metrics import Metric
from contend.spec import Level

RUNS_A_SIDE = 8
"""Runs on each side of a change point, below which nothing is told of it."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run folder of a history.

    began: when its first measured run began, ISO 8601 in UTC.
    conditions: what it was made with, by name (`server:version`).
    distance: ln of the nanoseconds in which a line of cache goes over between its host's CPUs;
        None if nobody looked. `state`: near, far or changed.
    """

    path: Path
    name: str
    began: str
    study: Study
    conditions: Mapping[str, RunCondition]
    distance: float | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """What one run says of a series.

    run: its place among the runs, counted from 0.
    log: ln of the gain or of the figure, mean of its repeats; `half` of its own 95 % interval in
        logarithms, inf if `n` repeats give none.
    """

    run: int
    log: float
    half: float
    n: int


@dataclass(frozen=True, slots=True)
class Series:
    """One figure over time.

    kind: `gain` of `level` over `over`, or the `figure` itself.
    cell: the levels of its place; of a gain without the compared one. Empty for a gain over all
        cells.
    """

    kind: Literal["gain", "figure"]
    metric: Metric
    cell: Mapping[str, Level]
    level: Level | None
    over: Level | None
    points: Sequence[SeriesPoint]

    @property
    def places(self) -> int:
        """How many of its runs could be the first after a change that is told."""
        return max(0, len(self.points) - 2 * RUNS_A_SIDE + 1)


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Where a series may have changed.

    series: its place among the series. `at`: the first point after the change, in the series.
    first, last: the points that were looked at on both sides: from `first` up to `at`, and from
        there up to `last`, which is left out.
    finding: what lies after it over what lies before; None if either side has too few runs.
    """

    series: int
    at: int
    first: int
    last: int
    finding: Finding | None

    @property
    def told(self) -> bool:
        """Whether the series is certain to have changed there."""
        return self.finding is not None and self.finding.is_certain

    @property
    def runs_a_side(self) -> tuple[int, int]:
        return self.at - self.first, self.last - self.at


@dataclass(frozen=True, slots=True)
class Altered:
    """Something that was one thing in all runs before, and another in all runs after."""

    origin: Origin
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Break:
    """What changed at one run.

    run: the first after it. `points`: of the series that are certain to have changed there.
    before, after: the runs of the two sides, by their places.
    altered: what else changed, in the order in which it is told.
    moved: how the distance of the host's CPUs changed, if that is certain by itself; `known` if it
        was looked at on both sides.
    """

    run: int
    points: Sequence[ChangePoint]
    before: Sequence[int]
    after: Sequence[int]
    altered: Sequence[Altered]
    moved: tuple[float, float] | None = None
    known: bool = False

    @property
    def of_host(self) -> bool:
        """Whether the host is another, or is in another state."""
        return self.moved is not None or any(one.origin == "host" for one in self.altered)

    @property
    def of_other(self) -> bool:
        """Whether anything but the host changed."""
        return any(one.origin != "host" for one in self.altered)


@dataclass(frozen=True, slots=True)
class History:
    """Runs of one experiment over time. `notices` say what was left out, and why."""

    experiment: str
    question: str
    runs: Sequence[PastRun]
    series: Sequence[Series]
    breaks: Sequence[Break]
    uncertain: Sequence[ChangePoint]
    too_few: Sequence[ChangePoint]
    confidence: float
    asked: str
    notices: Sequence[str] = field(default_factory=tuple)

    @property
    def can_tell(self) -> bool:
        """Whether any series has enough runs for a change to be told."""
        return any(one.places for one in self.series)
