"""What a report says, as plain data. How it looks is for terminal, html and charts to know.

A number never stands alone: it is an Estimate or a Comparison, and has its interval and its n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contend.metrics import Metric
from contend.spec import Level
from contend.stats import Comparison, Estimate


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run folder has come. `state` is complete, under way, or unfinished."""

    planned: int
    measured: int
    failed: int
    lost: int
    state: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The sentence that answers the question, what it rests on, and the pattern over columns."""

    sentence: str
    basis: str
    others: tuple[str, ...] = ()
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class CellComparison:
    """One level against the baseline at one place, by one metric; `cell` has the level in it."""

    metric: Metric
    cell: Mapping[str, Level]
    level: Level
    baseline: Level
    comparison: Comparison
    pairs_lost: int

    @property
    def word(self) -> str:
        """The verdict as it is shown: `faster`, `lower`, `equivalent`."""
        return self.metric.verdict(self.comparison.verdict)

    @property
    def tone(self) -> str:
        """What the verdict means to a reader: better, worse, equivalent or inconclusive."""
        meanings = {self.metric.better: "better", self.metric.worse: "worse"}
        return meanings.get(self.comparison.verdict, self.comparison.verdict)


@dataclass(frozen=True, slots=True)
class Compared:
    """All comparisons by one metric, with verdicts that hold for all of them together."""

    metric: Metric
    comparisons: tuple[CellComparison, ...]


@dataclass(frozen=True, slots=True)
class CellFigures:
    """What was measured in one cell. Keys of `figures` are names of metrics; `expected` has what
    some of them should be, if that is known."""

    cell: Mapping[str, Level]
    runs: int
    figures: Mapping[str, Estimate]
    expected: Mapping[str, float]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GainRow:
    """Changes from the baseline to one level, column by column; None if nothing was measured."""

    label: str
    level: Level
    gains: tuple[CellComparison | None, ...]


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """The changes by one metric in a panel."""

    metric: Metric
    rows: tuple[GainRow, ...]


@dataclass(frozen=True, slots=True)
class PublishedBlock:
    """Published gains of another machine that belong beside one table."""

    name: str
    machine: str
    source: str
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class MetricRow:
    label: str
    estimates: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class MetricTable:
    """One metric over the levels (rows) and the columns of a panel."""

    key: str
    title: str
    unit: str
    rows: tuple[MetricRow, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One table of the study's layout, and everything else measured in its cells."""

    title: str
    slug: str
    context: Mapping[str, Level]
    changes: tuple[ChangeTable, ...]
    published: tuple[PublishedBlock, ...]
    metrics: tuple[MetricTable, ...]

    @property
    def gains(self) -> tuple[GainRow, ...]:
        """The changes by the metric that decides."""
        return self.changes[0].rows if self.changes else ()

    def metric(self, key: str) -> MetricTable | None:
        return next((table for table in self.metrics if table.key == key), None)


@dataclass(frozen=True, slots=True)
class Layout:
    """Heads of the panels: what the rows and the columns are."""

    rows_label: str
    columns_label: str
    columns: tuple[str, ...]
    column_values: tuple[Level | None, ...]
    levels: tuple[str, ...]
    baseline: str | None


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: a Vega-Lite specification and the words that stand for it.

    Charts of one `kind` share its name and its caption; `label` tells them apart.
    """

    id: str
    kind: str
    label: str
    caption: str
    alt: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TextTable:
    """A small table of words: its figures are formatted with their intervals already."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the curve has its shape, from what was measured; and what would prove it wrong."""

    title: str
    lead: str
    paragraphs: tuple[str, ...]
    tables: tuple[TextTable, ...]
    charts: tuple[Chart, ...]
    refutation: str


@dataclass(frozen=True, slots=True)
class BesideRow:
    """Gains of one kind of workload, column by column, or the difference of two kinds' gains in
    percent. One of the two is empty."""

    label: str
    gains: tuple[CellComparison | None, ...] = ()
    differences: tuple[Estimate | None, ...] = ()


@dataclass(frozen=True, slots=True)
class BesidePanel:
    title: str
    rows: tuple[BesideRow, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """The gains of several kinds of workload under one another."""

    title: str
    lead: str
    panels: tuple[BesidePanel, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning or a failure, gathered over the cells it concerns."""

    code: str
    message: str
    cells: tuple[str, ...]
    runs: int
    planned_runs: int


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts under one heading: pairs of name and value."""

    title: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reader is shown."""

    name: str
    question: str
    variant: str
    run: str
    path: Path
    created_at: str
    ended_at: str
    contend_version: str
    confidence: float
    margin: float
    arrival: str
    progress: Progress
    answer: Answer
    layout: Layout
    panels: tuple[Panel, ...]
    compared: tuple[Compared, ...]
    cells: tuple[CellFigures, ...]
    beside: Beside | None
    cause: Cause | None
    bounds: tuple[str, ...]
    charts: tuple[Chart, ...]
    warnings: tuple[Notice, ...]
    failures: tuple[Notice, ...]
    method: tuple[str, ...]
    summary: tuple[tuple[str, str], ...]
    facts: tuple[FactGroup, ...]
    variables: TextTable | None
    spec_text: str
    overrides: tuple[str, ...] = field(default=())

    @property
    def metric(self) -> Metric:
        """The one that decides."""
        return self.compared[0].metric

    @property
    def comparisons(self) -> tuple[CellComparison, ...]:
        """Those by the metric that decides."""
        return self.compared[0].comparisons
