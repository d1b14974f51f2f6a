"""The content of a report as plain data: contrasts, and the finding for each.

All text is made from a `Finding` or a `Figure`. So every number comes with its interval, its n and
the chance of error that was assigned before the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from contend.experiment import Level
from contend.findings.families import Family
from contend.metrics import Metric
from contend.stats import Change, Estimate

Kind = Literal["level", "pair", "lead", "growth", "kinds", "runs", "line", "figure"]
"""level: a level over the baseline. pair: two levels, neither of them the baseline. lead: a cell's
change over the mean of the others. growth: a column over another. kinds: a level's gain by one kind
of workload over its gain by another. runs: a run over another, which shares no unit with it.
line: what lines of a screen do. figure: it is not compared with anything."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """The two sides of a comparison, the metric, and the share of the error.

    cell: the levels of the place, including the compared one: of all factors for a single cell, of
        some for a row or a column, of none of the column factors for a range of columns.
    level, over: the two sides; None if there is no such side.
    family: the contrasts that it holds together with.
    units: the unit that n counts.
    """

    kind: Kind
    metric: Metric
    cell: Mapping[str, Level]
    level: Level | None
    over: Level | None
    family: Family
    units: str = "repeats"


@dataclass(frozen=True, slots=True)
class Finding:
    """A contrast with its result: `change` has the ratio, its interval, the verdict and n.

    margin: relative difference that does not matter.
    lost: repeats that a failed run or a missing figure cost.
    evidence: other findings that it rests on.
    without: effects that the interval omits, in words; empty if none are known.
    held: why the change is not a claim although its interval may decide; see `waiting`.
    """

    contrast: Contrast
    change: Change
    margin: float
    lost: int = 0
    evidence: tuple[Finding, ...] = ()
    without: str = ""
    held: str = ""

    @property
    def metric(self) -> Metric:
        return self.contrast.metric

    @property
    def cell(self) -> Mapping[str, Level]:
        return self.contrast.cell

    @property
    def level(self) -> Level:
        assert self.contrast.level is not None
        return self.contrast.level

    @property
    def baseline(self) -> Level:
        assert self.contrast.over is not None
        return self.contrast.over

    def hold(self, why: str) -> Finding:
        """The same without a claim, if there is a reason why it cannot be one."""
        if not why:
            return self
        if self.change.verdict is None:
            return replace(self, held=why)
        return replace(self, held=why, change=replace(self.change, verdict="inconclusive"))

    @property
    def word(self) -> str:
        """The verdict as displayed: `faster`, `lower`, `equivalent`. Empty if nothing is decided
        yet, or never will be."""
        return self.metric.verdict(self.change.verdict) if self.change.verdict else ""

    @property
    def is_certain(self) -> bool:
        """Whether it is certain that something differs."""
        return self.tone in ("better", "worse")

    @property
    def is_large(self) -> bool:
        """Whether it is certain that the change matters: its interval lies beyond the margin."""
        return self.is_certain and not 1 / (1 + self.margin) <= self.nearest <= 1 + self.margin

    @property
    def nearest(self) -> float:
        """The end of the interval that is next to no change."""
        return self.change.low if self.change.ratio > 1 else self.change.high

    @property
    def tone(self) -> str:
        """The meaning of the verdict: better, worse, equivalent, inconclusive, or open."""
        if self.change.verdict is None:
            return "open"
        meanings = {self.metric.better: "better", self.metric.worse: "worse"}
        return meanings.get(self.change.verdict, self.change.verdict)


@dataclass(frozen=True, slots=True)
class Figure:
    """The measured figure at a place, with its own interval: a description without a verdict."""

    contrast: Contrast
    estimate: Estimate

    @property
    def mean(self) -> float:
        return self.estimate.mean

    def mapped(self, rising: Callable[[float], float]) -> Figure:
        """Another figure that follows from this one; `rising` or falling throughout."""
        one = self.estimate
        ends = sorted(
            rising(end) if math.isfinite(end) and end > 0 else math.inf
            for end in (one.low, one.high)
        )
        known = math.isfinite(ends[1])
        low, high = ends if known else (-math.inf, math.inf)
        return replace(self, estimate=replace(one, mean=rising(one.mean), low=low, high=high))


@dataclass(frozen=True, slots=True)
class Compared:
    """All changes by one metric, with intervals that hold for all of them together.

    `comparisons` are the cells, `wholes` each level over all of them, `rows` each table. `columns`
    are each column and each range of columns that begins at the first or ends at the last.
    """

    metric: Metric
    comparisons: tuple[Finding, ...] = ()
    wholes: tuple[Finding, ...] = ()
    columns: tuple[Finding, ...] = ()
    rows: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, each once, the highest first."""
        found: dict[object, Finding] = {}
        for one in (*self.wholes, *self.columns, *self.rows, *self.comparisons):
            found.setdefault(one.change.place.span, one)
        return tuple(found.values())

    @property
    def certain(self) -> bool:
        """Whether anything certainly differs, anywhere."""
        return any(one.is_certain for one in self.findings)
