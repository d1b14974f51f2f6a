"""What a report says, as plain data. How it looks is for terminal, html and charts to know.

A number never stands alone: it is an Estimate or a Change, and has its interval and its n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contend.findings import (
    CellFigures,
    Compared,
    CounterList,
    Finding,
    GateOutcome,
    Said,
    Sweep,
)
from contend.findings.budget import Budget
from contend.findings.lock_waits import LocksOfCell
from contend.findings.plans import PlansOfCell
from contend.findings.switches import SwitchesOfCell
from contend.metrics import Metric
from contend.spec import Level
from contend.stats import Between, Change, Estimate


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """How many times the figure of the first column each column's is: with intervals if it was
    measured here, as plain numbers if it was published.

    Of one machine over another, column by column, `is_growth` is false.
    """

    label: str
    measured: tuple[Change | None, ...] = ()
    published: tuple[float | None, ...] = ()
    is_growth: bool = True


@dataclass(frozen=True, slots=True)
class ShapePanel:
    title: str
    rows: tuple[ShapeRow, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a figure grows along the columns, ours beside the published."""

    metric: Metric
    title: str
    lead: str
    panels: tuple[ShapePanel, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run folder has come. `state` is complete, under way, or unfinished. `is_measured`
    if any run is, and of an experiment that compares levels both sides of a comparison are."""

    planned: int
    measured: int
    failed: int
    lost: int
    state: str
    is_measured: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The sentence that answers the question, what it leaves to say, and what it rests on.

    `others` are further sentences: the pattern over the columns, the other metrics and levels.
    `basis` says what was compared, how often, by what, and what would change the answer.
    """

    sentence: Said
    basis: tuple[str, ...]
    others: tuple[Said, ...] = ()

    def __post_init__(self) -> None:
        for one in (self.sentence, *self.others):
            if not isinstance(one, Said):
                raise TypeError(f"{one!r} may have a number in it that is not a finding")


@dataclass(frozen=True, slots=True)
class Sessions:
    """What earlier sessions of the same on this host say of a level as a whole.

    n: how many tell; together: what they say together, None if they are too few. `beside` stands
    beside the intervals; empty if nothing is known.
    """

    level: Level
    n: int
    together: Between | None
    beside: Said


@dataclass(frozen=True, slots=True)
class GainRow:
    """Changes from the baseline to one level, head by head; None if nothing was measured."""

    label: str
    level: Level
    gains: tuple[Finding | None, ...]


@dataclass(frozen=True, slots=True)
class Overall:
    """Each level over many cells: all of them, along the columns, or along the tables."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[GainRow, ...]


@dataclass(frozen=True, slots=True)
class WholeRow:
    """One metric at each level as a whole; None if it was not measured."""

    metric: Metric
    gains: tuple[Finding | None, ...]


@dataclass(frozen=True, slots=True)
class Wholes:
    """Every metric that is compared, for each level as a whole. `heads` are the levels."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[WholeRow, ...]


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """The changes by one metric in a panel."""

    metric: Metric
    rows: tuple[GainRow, ...]


@dataclass(frozen=True, slots=True)
class PublishedBlock:
    """Published gains of another machine that belong beside one table of a metric, by its name."""

    name: str
    machine: str
    source: str
    metric: str
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

    def published_of(self, metric: Metric) -> tuple[PublishedBlock, ...]:
        """The published gains that are about a metric."""
        return tuple(block for block in self.published if block.metric == metric.name)


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
    is_broad: it takes the whole width of the page.
    """

    id: str
    kind: str
    label: str
    caption: str
    alt: str
    spec: dict[str, Any]
    is_broad: bool = False


@dataclass(frozen=True, slots=True)
class TextTable:
    """A small table of words: its figures are formatted with their intervals already."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CauseText:
    """Why the curve has its shape, from what was measured; and what would prove it wrong."""

    title: str
    lead: str
    paragraphs: tuple[str, ...]
    tables: tuple[TextTable, ...]
    charts: tuple[Chart, ...]
    refutation: str
    is_answer: bool


@dataclass(frozen=True, slots=True)
class Section:
    """What a kind of workload has to say beside what all of them say. A table of nothing is left
    out."""

    title: str
    lead: str
    tables: tuple[TextTable, ...]
    charts: tuple[Chart, ...] = ()

    def __post_init__(self) -> None:
        shown = tuple(one for one in self.tables if one.rows and one.columns[1:])
        object.__setattr__(self, "tables", shown)


@dataclass(frozen=True, slots=True)
class CounterSection:
    """What else differs: a table a level of the largest differences; `all` has every one."""

    title: str
    lead: str
    notes: str
    tables: tuple[TextTable, ...]
    all: CounterList


@dataclass(frozen=True, slots=True)
class BesideRow:
    """Gains of one kind of workload, column by column, or what one kind gains over another."""

    label: str
    gains: tuple[Finding | None, ...]
    is_difference: bool = False


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
class StatementGroup:
    """One statement in one panel: its times in ms at each level, and its changes."""

    name: str
    rows: tuple[MetricRow, ...]
    changes: tuple[GainRow, ...]


@dataclass(frozen=True, slots=True)
class StatementTable:
    """All statements in one panel."""

    title: str
    groups: tuple[StatementGroup, ...]


@dataclass(frozen=True, slots=True)
class StatementFigures:
    """What was measured of one statement in one cell, in so many repeats. Keys are the ends of its
    metrics' names: `service_us_mean`, `rows_per_query`."""

    name: str
    cell: Mapping[str, Level]
    repeats: int
    figures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Statements:
    """Each of the workload's own statements by itself: `tables` by its mean service time, `tails`
    by the 95th percentile. `texts` are name and statement; `sentences` say which changed how."""

    lead: str
    sentences: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    tables: tuple[StatementTable, ...]
    tails: tuple[StatementTable, ...]
    compared: tuple[Compared, ...]
    figures: tuple[StatementFigures, ...]

    @property
    def is_long(self) -> bool:
        """Whether they are more than anybody reads as an answer."""
        return any(len(table.groups) > _MANY for table in self.tables)


_MANY = 12


@dataclass(frozen=True, slots=True)
class Differences:
    """How the servers that are compared are set otherwise than one another: a sentence and a table
    for each profile."""

    leads: tuple[str, ...]
    tables: tuple[TextTable, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning or a failure, gathered over the cells it concerns."""

    code: str
    message: str
    cells: tuple[str, ...]
    runs: int
    planned_runs: int


@dataclass(frozen=True, slots=True)
class HostNote:
    """What doctor found on the host before the runs and bears on verdicts.

    metrics: names of those of which it touches the verdicts. `ignored` is the reason for which the
    user set it aside; empty if nobody did.
    """

    check: str
    severity: str
    evidence: str
    metrics: tuple[str, ...]
    ignored: str


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts under one heading: pairs of name and value."""

    title: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class GateRow:
    """One cell of a gate: what changed there (empty if it was not measured), and what that says."""

    place: str
    outcome: GateOutcome
    change: str
    finding: Finding | None
    says: str


@dataclass(frozen=True, slots=True)
class GateText:
    """What a gate says of `title`: its `line` for a log, and a row a cell. `limit` is the slowdown
    that fails it, as a share."""

    title: str
    metric: Metric
    limit: float
    outcome: GateOutcome
    line: str
    rows: tuple[GateRow, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reader is shown, in the order in which it is read. `costs` has what each level
    as a whole costs, `overall` the tables of each metric that is compared, `charts` all that are
    not the picture or the cause's; `about_server` says what the server is if it is no database;
    `missing` has the sections that stand for parts that could not be made."""

    name: str
    question: str
    about_server: str
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
    gate: GateText | None
    picture: Chart | None
    wholes: Wholes | None
    layout: Layout
    panels: tuple[Panel, ...]
    compared: tuple[Compared, ...]
    costs: tuple[Compared, ...]
    overall: tuple[tuple[Overall, ...], ...]
    sessions: Sessions | None
    cells: tuple[CellFigures, ...]
    statements: Statements | None
    shapes: tuple[Shape, ...]
    sweeps: tuple[Sweep, ...]
    beside: Beside | None
    sections: tuple[Section, ...]
    counters: CounterSection | None
    cause: CauseText | None
    bounds: tuple[Said, ...]
    charts: tuple[Chart, ...]
    warnings: tuple[Notice, ...]
    failures: tuple[Notice, ...]
    host_notes: tuple[HostNote, ...]
    method: tuple[str, ...]
    summary: tuple[tuple[str, str], ...]
    facts: tuple[FactGroup, ...]
    variables: TextTable | None
    differences: Differences | None
    budgets: tuple[tuple[Budget, ...], ...]
    locks: tuple[tuple[LocksOfCell, ...], ...]
    plans: tuple[tuple[PlansOfCell, ...], ...]
    switches: tuple[tuple[SwitchesOfCell, ...], ...]
    spec_text: str
    overrides: tuple[str, ...] = field(default=())
    missing: tuple[Section, ...] = ()

    @property
    def metric(self) -> Metric:
        """The one that decides."""
        return self.compared[0].metric

    @property
    def comparisons(self) -> tuple[Finding, ...]:
        """Those by the metric that decides."""
        return self.compared[0].comparisons
