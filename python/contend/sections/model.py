"""The input of a section, and its few output types: text, tables, charts, notices.

A number never comes alone: it is a finding, an estimate or a change, and has its interval and n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from contend.experiment import Level
from contend.findings import Analysis, CellFigures, Compared, Finding, Study
from contend.metrics import Metric
from contend.stats import Change, Estimate
from contend.store import LookRecord, RunFolder

if TYPE_CHECKING:
    from contend.lab.looks import LookAtCause
    from contend.sections.naming import Naming


@dataclass(frozen=True, slots=True)
class Layout:
    """Headings of the panels: the meaning of the rows and the columns."""

    rows_label: str
    columns_label: str
    columns: tuple[str, ...]
    column_values: tuple[Level | None, ...]
    levels: tuple[str, ...]
    baseline: str | None


@dataclass(frozen=True, slots=True)
class GainRow:
    """Changes from the baseline to one level, head by head; None if nothing was measured."""

    label: str
    level: Level
    gains: tuple[Finding | None, ...]


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """The changes by one metric in a panel."""

    metric: Metric
    rows: tuple[GainRow, ...]


@dataclass(frozen=True, slots=True)
class PublishedBlock:
    """Published gains of another machine for one table of a metric, by its name."""

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
class Chart:
    """One chart: a Vega-Lite specification and its text alternative.

    Charts of one `kind` share its name and its caption; `label` distinguishes them.
    is_broad: it takes the whole width of the page.
    """

    id: str
    kind: str
    label: str
    caption: str
    alt: str
    spec: dict[str, Any]
    is_broad: bool = False


TableCell = str | Finding | Estimate | Change | None
"""Text, or a figure: a gain in percent with its verdict, a value, or a ratio as a multiple. None if
it was not measured."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table: the first of `columns` heads the labels of its rows, which may be empty.
    `quiet` has the numbers of rows that are not of this machine, or not of its figures."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    quiet: frozenset[int] = frozenset()


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
class Shown:
    """One printed section: a sentence or a few, more of them in paragraphs, charts, tables.
    An empty table is left out.

    Args:
        is_short: its first sentences are printed without `--full` too: they give the cause, or the
            user asked for them.
        is_open: the page shows it opened.
    """

    title: str
    lead: str
    tables: tuple[TextTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    more: tuple[str, ...] = ()
    is_short: bool = False
    is_open: bool = False

    def __post_init__(self) -> None:
        shown = tuple(one for one in self.tables if one.rows and one.columns[1:])
        object.__setattr__(self, "tables", shown)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of sections: the run folder, the study in it, its table of cells, and the results
    of diagnostic passes."""

    folder: RunFolder
    study: Study
    naming: Naming
    layout: Layout
    panels: Sequence[Panel]
    cells: Sequence[CellFigures]
    analyses: Sequence[Analysis | None]
    compared: Sequence[Compared]
    looks: Sequence[LookRecord] = ()
    has_cause: bool = False

    @property
    def first(self) -> Analysis | None:
        """The analysis of the metric that decides."""
        return self.analyses[0]

    @property
    def compared_path(self) -> str | None:
        """The path whose levels are compared with a baseline; None without one."""
        roles = self.study.roles
        return None if roles.compared is None or roles.baseline is None else roles.compared.path


Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Section(Generic[Read]):
    """One section of a report, from its measurement to its JSON.

    Args:
        name: its place on the page, and its key in the JSON.
        title: the heading of the error message if it cannot be made.
        read: reads its data; None if there are none.
        show: how that is shown; None if it is in the JSON alone.
        json: plain JSON values of it; None if it has none.
        look: the diagnostic pass that it rests on.
        on_paper: opened when the page is printed.
    """

    name: str
    title: str
    read: Callable[[Inputs], Read | None]
    show: Callable[[Read, Inputs], Shown | None]
    json: Callable[[Read, Inputs], Any] | None = None
    look: LookAtCause | None = None
    on_paper: bool = True


@dataclass(frozen=True, slots=True)
class MadeSection:
    """A section of one report: its data and how they are shown. `is_missing` if it could not be
    made; `shown` then has the error message."""

    section: Section[Any]
    shown: Shown | None
    inputs: Inputs | None = field(default=None, repr=False)
    found: Any = None
    is_missing: bool = False

    def document(self) -> Any:
        """Its JSON; None if it has none."""
        if self.section.json is None or self.is_missing:
            return None
        return self.section.json(self.found, self.inputs)  # type: ignore[arg-type]
