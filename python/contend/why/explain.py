"""Explanations: the figures of one study, for experiments that name it with `explain`.

A study is a file of `why/studies/` whose candidate has a `look`. This function of the `Evidence`
returns an `Explanation`, or None if the experiment is about something else. The report always
prints its tables, and the rest only if the difference is certain. Figures are means over repeats;
claims are findings of the family `causes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from contend.experiment import Level
from contend.findings import (
    Compared,
    Constant,
    Contrast,
    Figure,
    Finding,
    ReportText,
    Study,
    growth_of,
    over_repeats,
)
from contend.metrics import Metric, metric_of
from contend.stats import Estimate
from contend.store import RunRecord
from contend.why.candidate import per_question

Axis = Literal["table", "level", "column"]
Place = Figure | Finding | Constant | str


class SentenceWriter(Protocol):
    """Formats figures, levels and places; the report has it."""

    def say(self, words: str, /, **places: Place) -> ReportText:
        """Fill `{places}` like `str.format`; a format after the colon chooses the style.

        Formats of a figure: none, `share` in percent, `gain` as an increase in percent, `ms` for
        microseconds, `n` for the number of its repeats. Formats of a finding: `gain` and `size` in
        percent, with a sign and without, `times`. Formats of both: `at` for the place, or `table`,
        `level`, `column` for a part of it. A constant takes Python's own.

        Raises:
            TypeError: a place would hold a bare number.
        """
        ...

    def level(self, level: Level) -> ReportText: ...

    def axis(self, axis: Axis) -> ReportText:
        """The name of the tables, the levels or the columns of the layout."""
        ...


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """Figures that an explanation rests on."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """A chart of the visits to each segment, in one table of the layout."""

    of: Mapping[str, Level]
    parts: tuple[tuple[str, Figure], ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """Charts of runs second by second, in one place of the layout: each level's first run."""

    cell: Mapping[str, Level]
    runs: Mapping[Level, RunRecord]


@dataclass(frozen=True, slots=True)
class StepBars:
    """A chart of each level's gain over the one before it, at one place of the layout; for all
    steps together the level is None."""

    cell: Mapping[str, Level]
    steps: tuple[tuple[Level | None, Figure], ...]


Drawn = Shares | Curves | StepBars


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a study: text, tables and charts.

    certain: whether the difference is; if not, the report shows only the tables.
    is_answer: the tables are the answer itself; the short form has them too.
    """

    lead: ReportText
    paragraphs: tuple[ReportText | None, ...]
    tables: Sequence[EvidenceTable]
    refuted_by: str
    certain: bool
    charts: Sequence[Drawn] = ()
    is_answer: bool = False


class Evidence:
    """The figures of one study. A metric is an object or a name.

    Args:
        first: all changes by the metric that decides.
        cpus: number of the host's CPUs; None if unknown.
    """

    def __init__(
        self, study: Study, first: Compared, cpus: float | None, writer: SentenceWriter
    ) -> None:
        self.study, self.first, self.cpus, self.writer = study, first, cpus, writer
        self.say = writer.say

    def compares(self, path: str) -> bool:
        """Whether this is the factor whose levels are compared."""
        compared = self.study.roles.compared
        return compared is not None and compared.path == path

    @property
    def is_certain(self) -> bool:
        """Whether levels certainly differ."""
        return self.study.decides and self.first.certain

    @property
    def is_growth_certain(self) -> bool:
        """Whether something certainly grows along the columns."""
        study = self.study
        if not study.decides:
            return False
        family = study.family("first" if study.roles.baseline is None else "growth")
        grown = growth_of(study, study.metrics[:1], family)
        return any(
            one is not None and one.is_certain for g in grown for row in g.findings for one in row
        )

    @property
    def places(self) -> Iterator[tuple[dict[str, Level], Level | None, Level | None]]:
        """Table, level and column of each cell, in the order of the layout."""
        roles = self.study.roles
        return itertools.product(roles.table_contexts(), roles.levels, roles.column_levels)

    def runs(
        self, table: Mapping[str, Level] | None, level: Level | None, column: Level | None = None
    ) -> list[RunRecord]:
        """Measured runs of a level; of all tables and columns if they are None."""
        roles = self.study.roles
        return [
            run
            for one in ([table] if table is not None else roles.table_contexts())
            for each in ([column] if column is not None else roles.column_levels)
            for run in self.study.runs_of(roles.cell(one, each, level))
        ]

    def figure(
        self,
        metric: str | Metric,
        table: Mapping[str, Level] | None,
        level: Level | None,
        column: Level | None = None,
    ) -> Figure | None:
        """The mean over repeats; None if not recorded. A None argument pools all values."""
        known = metric_of(metric) if isinstance(metric, str) else metric
        found = over_repeats(self.study, self.runs(table, level, column), known.value)
        cell = self.study.roles.cell(table or {}, column, level)
        return None if found is None else self.as_figure(known, cell, level, found)

    def as_figure(
        self, metric: Metric, cell: Mapping[str, Level], level: Level | None, found: Estimate
    ) -> Figure:
        return Figure(Contrast("figure", metric, cell, level, None, self.study.described), found)

    def figures(self, metric: str | Metric) -> list[Figure]:
        """The figure of each cell that has it."""
        found = (self.figure(metric, *place) for place in self.places)
        return [one for one in found if one is not None]

    def along(self, metric: str | Metric) -> list[Figure]:
        """Column by column, in the first table at its first level."""
        columns = itertools.islice(self.places, len(self.study.roles.column_levels))
        found = (self.figure(metric, *place) for place in columns)
        return [one for one in found if one is not None]

    def last_over_first(self, metric: str) -> Finding | None:
        """A metric at the last column over the first, in the same place."""
        ratios = growth_of(self.study, [metric_of(metric)], self.study.family("causes"))
        return ratios[0].findings[0][-1] if ratios else None

    def written(self, one: Figure | Finding | None, how: str = "", no: str = "not recorded") -> str:
        """A figure in a table."""
        return no if one is None else self.say(f"{{it:{how}}}", it=one)

    def table_of(
        self, caption: str, columns: Sequence[tuple[str, str | Metric, str]], *, along: bool = False
    ) -> EvidenceTable:
        """A table with a row per cell; with `along`, a row per column of the layout, in its first
        table at its first level. `columns` are heads, metrics, and their formats."""
        axes: tuple[Axis, ...] = ("column",) if along else ("table", "level", "column")
        count = len(self.study.roles.column_levels) if along else None
        rows = []
        for place in itertools.islice(self.places, count):
            found = [(self.figure(metric, *place), how) for _, metric, how in columns]
            known = next((one for one, _ in found if one is not None), None)
            if known is not None:
                at = (self.written(known, axis.replace("column", "head")) for axis in axes)
                rows.append((*at, *(self.written(one, how) for one, how in found)))
        heads = (*map(self.writer.axis, axes), *(head for head, _, _ in columns))
        return EvidenceTable(caption, heads, tuple(rows))


Look = Callable[[Evidence], Explanation | None]


def counted(counter: str) -> Metric:
    """The increase of a counter of SHOW GLOBAL STATUS per question, including those of the control
    connection. A counter that did not change is not recorded."""
    return Metric(
        f"{counter}_per_question",
        f"{counter} per question",
        "",
        lambda run: per_question(run, lambda status: max(0, status.get(counter, 0))),
    )
