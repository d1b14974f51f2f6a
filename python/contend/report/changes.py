"""Every change of the experiment: log-ratios by repeat, and the model of the whole table over them.

The table has a row for each table of the layout and the layout's columns. What is independent is
the repeat: in slices a set of freshly started servers that is taken through all cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contend.metrics import Metric
from contend.report.model import Compared, Finding
from contend.report.study import Study
from contend.spec import Level
from contend.stats import (
    Change,
    StoppingRule,
    TableAnswer,
    TableShape,
    advantages,
    answer_tables,
)
from contend.store import Covariates, covariates_of, disturbed, figure_of, log_ratio


@dataclass(frozen=True, slots=True)
class Table:
    """The table of all cells, and the log-ratios of one metric in it.

    rows: what is the same in each row; columns, levels: of the factors that make them; the levels
        without the baseline.
    d: ln(level / baseline), repeats x contexts (row by row) x levels; NaN if it is not known.
    lost: repeats that a failed run or a missing figure cost, contexts x levels.
    allowed: what `compare.adjust` takes out, each shaped as `d`.
    """

    metric: Metric
    rows: Sequence[Mapping[str, Level]]
    columns: Sequence[Level | None]
    levels: Sequence[Level]
    d: np.ndarray
    lost: np.ndarray
    allowed: Covariates

    @property
    def shape(self) -> TableShape:
        return TableShape(len(self.rows), len(self.columns))


def table_of(study: Study, metric: Metric) -> Table | None:
    """The log-ratios of a metric; None if nothing is compared."""
    roles = study.roles
    if roles.compared is None or roles.baseline is None:
        return None
    levels = roles.others
    rows, columns, repeats = roles.table_contexts(), roles.column_levels, study.repeats
    d = np.full((len(repeats), len(rows) * len(columns), len(levels)), np.nan)
    lost = np.zeros(d.shape[1:], dtype=int)
    table = Table(metric, rows, columns, levels, d, lost, Covariates({}, {}))
    for place, repeat, baseline, cell in _places(study, table):
        both = study.blocks_in_common(baseline, cell, repeat)
        d[place] = log_ratio(
            metric, [(figure_of(metric, one), figure_of(metric, other)) for one, other in both]
        )
        if np.isnan(d[place]):
            lost[place[1:]] += study.is_over(baseline, repeat) and study.is_over(cell, repeat)
    return replace(table, allowed=_allowed_for(study, table))


def _places(
    study: Study, table: Table
) -> Iterator[tuple[tuple[int, int, int], int, dict[str, Level], dict[str, Level]]]:
    """Every place of the array: its indices, the repeat, the baseline's cell and the level's."""
    roles = study.roles
    places = [(row, column) for row in table.rows for column in table.columns]
    for context, (row, column) in enumerate(places):
        baseline = roles.cell(row, column, roles.baseline)
        for at, level in enumerate(table.levels):
            cell = roles.cell(row, column, level)
            for unit, repeat in enumerate(study.repeats):
                yield (unit, context, at), repeat, baseline, cell


@dataclass(frozen=True, slots=True)
class Analysis:
    """One metric: its log-ratios, the model's answer to them, and that answer as it is shown."""

    table: Table
    answer: TableAnswer
    compared: Compared


def analysis_of(study: Study, metric: Metric) -> Analysis | None:
    """All changes by one metric; None if there is nothing to compare.

    Verdicts hold for all changes by one metric together: the first metric decides, and what it
    says does not depend on how many others are looked at beside it. There are none as long as the
    experiment is not finished.
    """
    return analyses_of(study, [metric])[0]


def analyses_of(study: Study, metrics: Sequence[Metric]) -> list[Analysis | None]:
    """All changes by several metrics of one kind, all of which hold together."""
    tables = [table_of(study, metric) for metric in metrics]
    told = [one for one in tables if one is not None and _says_something(one)]
    answers = iter(models_of(study, told))
    return [
        _analysis(study, one, next(answers)) if one is not None and _says_something(one) else None
        for one in tables
    ]


def _says_something(table: Table) -> bool:
    return bool(np.any(np.isfinite(table.d)))


def _analysis(study: Study, table: Table, answer: TableAnswer) -> Analysis:
    shape, levels = table.shape, range(len(table.levels))

    def found(changes: Sequence[Change]) -> tuple[Finding, ...]:
        return tuple(finding(study, table, one) for one in changes if one.cells)

    compared = Compared(
        metric=table.metric,
        comparisons=found(
            [
                answer.cell(level, row, column)
                for row in range(shape.rows)
                for level in levels
                for column in range(shape.columns)
            ]
        ),
        wholes=found([answer.whole(level) for level in levels]),
        columns=found([one for one in answer.changes if one.place.depth == "columns"]),
        rows=found([answer.row(level, row) for level in levels for row in range(shape.rows)]),
    )
    return Analysis(table, answer, compared)


def model_of(study: Study, table: Table) -> TableAnswer:
    """The model's answer to a table."""
    return models_of(study, [table])[0]


def models_of(study: Study, tables: Sequence[Table]) -> list[TableAnswer]:
    """The model's answers to tables of one shape, all of which hold together."""
    if not tables:
        return []
    return answer_tables(
        [table.d for table in tables],
        tables[0].shape,
        margin=study.experiment.compare.margin,
        confidence=confidence_of(study),
        covariates=[
            np.concatenate([table.allowed.arrays[name] for table in tables], axis=2)
            for name in tables[0].allowed.arrays
            if all(name in table.allowed.arrays for table in tables)
        ],
        interim=not study.finished,
    )


def _allowed_for(study: Study, table: Table) -> Covariates:
    """The disturbances that the experiment wants allowed for, as far as that can be done."""
    names = study.experiment.compare.adjust
    pairs = {
        place: [
            (disturbed(names, one), disturbed(names, other))
            for one, other in study.blocks_in_common(baseline, cell, repeat)
        ]
        for place, repeat, baseline, cell in (_places(study, table) if names else ())
    }
    return covariates_of(names, pairs, table.d, in_slices=study.in_slices)


def confidence_of(study: Study) -> float:
    """At which intervals are computed, so that they hold what they promise: an experiment that
    stops when they are narrow enough needs a little more."""
    compare = study.experiment.compare
    return StoppingRule(compare.until, confidence=compare.confidence).interval_confidence


def finding(study: Study, table: Table, change: Change) -> Finding:
    """A change, with the levels that its place is of."""
    place, roles = change.place, study.roles
    assert roles.compared is not None and roles.baseline is not None
    level = table.levels[place.level]
    is_one_row = place.first_row == place.last_row
    is_one_column = place.first_column == place.last_column
    cell = roles.cell(
        table.rows[place.first_row] if is_one_row else {},
        table.columns[place.first_column] if is_one_column else None,
        level,
    )
    over = roles.baseline if place.over is None else table.levels[place.over]
    lost = int(table.lost[place.cells(table.shape), place.level].sum())
    margin = study.experiment.compare.margin
    return Finding(table.metric, cell, level, over, change, margin, lost)


def leading_cell(study: Study, analysis: Analysis, level: Level) -> Finding | None:
    """The cell with the largest change for the better, if it is certainly larger than the mean of
    the others."""
    table = analysis.table
    if not study.finished:
        return None
    at = table.levels.index(level)
    leads = advantages(
        table.d,
        table.shape,
        margin=study.experiment.compare.margin,
        confidence=confidence_of(study),
        covariates=list(table.allowed.arrays.values()),
    )
    own = [one for one in leads if one.place.level == at and one.n > 1]
    pick = min if table.metric.less_is_better else max
    first = pick(own, key=lambda one: one.ratio, default=None)
    if first is None or first.verdict != table.metric.better:
        return None
    place = first.place
    cell = analysis.answer.cell(at, place.first_row, place.first_column)
    return finding(study, table, cell)


def level_over(study: Study, analysis: Analysis, one: Level, other: Level) -> Finding | None:
    """One level over another, neither of them the baseline, over all cells; None if no repeat has
    both."""
    levels = analysis.table.levels
    change = analysis.answer.pair(levels.index(one), levels.index(other))
    return finding(study, analysis.table, change) if change.cells else None
