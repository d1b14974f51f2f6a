"""Every change of the experiment: log-ratios by repeat, and the model of the whole table over them.

The table has a row for each table of the layout and the layout's columns. The independent unit is
the repeat: in slices a set of freshly started servers that is taken through all cells.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contend.experiment import CellKey, Factor, Level, Roles, cell_key
from contend.findings.families import Family
from contend.findings.model import Compared, Contrast, Finding, Kind
from contend.findings.study import Study, log_ratio, reading_of
from contend.findings.waiting import is_of_one_kind, why_held
from contend.metrics import DISTURBANCES, FIXED, Metric, UnknownMetric, metric_of
from contend.stats import Change, TableAnswer, TableShape, advantages, answer_tables
from contend.stats.unit_errors import centred
from contend.store import RunRecord

PRICE = (
    "server_cpu_us_per_query",
    "client_cpu_us_per_query",
    "response_us_p99",
    "switches_per_query",
    "read_bytes_per_query",
)
"""The possible costs of a level: compared as a whole, in a separate family."""


@dataclass(frozen=True, slots=True)
class Table:
    """The table of all cells, and the log-ratios of one metric in it.

    rows: the levels that each row fixes; columns, levels: of the factors that make them; the levels
        without the baseline.
    d: ln(level / baseline), repeats x contexts (row by row) x levels; NaN if it is not known.
    lost: repeats that a failed run or a missing figure cost, contexts x levels.
    allowed: the part that `compare.adjust` removes, each shaped like `d`.
    kind: that of its changes, and of those between its levels.
    """

    metric: Metric
    rows: Sequence[Mapping[str, Level]]
    columns: Sequence[Level | None]
    levels: Sequence[Level]
    d: np.ndarray
    lost: np.ndarray
    allowed: Covariates
    family: Family
    kind: Kind = "level"

    @property
    def shape(self) -> TableShape:
        return TableShape(len(self.rows), len(self.columns))

    @property
    def is_known(self) -> bool:
        return bool(np.any(np.isfinite(self.d)))


def table_of(study: Study, metric: Metric, family: Family | None = None) -> Table | None:
    """The log-ratios of a metric; None if nothing is compared."""
    roles = study.roles
    if roles.compared is None or roles.baseline is None:
        return None
    levels = roles.others
    rows, columns = roles.table_contexts(), roles.column_levels
    d = np.full((len(study.repeats), len(rows) * len(columns), len(levels)), np.nan)
    lost = np.zeros(d.shape[1:], dtype=int)
    family = family or study.family_of(metric)
    table = Table(metric, rows, columns, levels, d, lost, Covariates({}, {}), family)
    for place, baseline, cell in pairs_of(roles):
        in_common = study.blocks_in_common(baseline, cell)
        for unit, (repeat, both) in enumerate(in_common.items()):
            d[unit, *place] = log_ratio(
                metric, [(reading_of(metric, one), reading_of(metric, two)) for one, two in both]
            )
            if math.isnan(d[unit, *place]):
                lost[place] += study.is_over(baseline, repeat) and study.is_over(cell, repeat)
    return replace(table, allowed=_allowed_for(study, table))


def pairs_of(roles: Roles) -> Iterator[tuple[tuple[int, int], dict[str, Level], dict[str, Level]]]:
    """Every place of a table: its context (row by row) and its level, both counted from 0. With it
    come the cell of the baseline and that of the level."""
    places = itertools.product(roles.table_contexts(), roles.column_levels)
    for context, (row, column) in enumerate(places):
        baseline = roles.cell(row, column, roles.baseline)
        for at, level in enumerate(roles.others):
            yield (context, at), baseline, roles.cell(row, column, level)


@dataclass(frozen=True, slots=True)
class Analysis:
    """One metric: its log-ratios, the model's answer to them, and that answer as displayed."""

    table: Table
    answer: TableAnswer
    compared: Compared


def analysis_of(study: Study, metric: Metric) -> Analysis | None:
    """All changes by one metric; None if there is nothing to compare. They hold together with those
    of the other metrics of its family."""
    if metric.name in study.experiment.compare.deciding:
        return deciding_of(study)[metric.name]
    return analyses_of(study, [metric], study.family_of(metric))[0]


def deciding_of(study: Study) -> dict[str, Analysis | None]:
    """All changes by the metrics that decide, by their names: the first, and those of a gate.
    Without a gate, only as far as the study compares them; with one, those that are known."""
    compare, metrics = study.experiment.compare, {one.name: one for one in study.metrics}
    if compare.fail_if_slower:
        for name in compare.deciding:
            with contextlib.suppress(UnknownMetric):
                metrics[name] = metric_of(name)
    names = [name for name in compare.deciding if name in metrics]
    found = analyses_of(study, [metrics[name] for name in names], study.family("first"))
    return dict(zip(names, found, strict=True))


def analyses_of(
    study: Study, metrics: Sequence[Metric], family: Family, *, only_wholes: bool = False
) -> list[Analysis | None]:
    """All changes by several metrics of one family, which all hold together. With `only_wholes`,
    only the levels as a whole. Verdicts begin when the experiment is finished."""
    tables = [table_of(study, metric, family) for metric in metrics]
    known = [one for one in tables if one is not None and one.is_known]
    answers = iter(models_of(study, known, only_wholes=only_wholes))
    return [
        _analysis(study, one, next(answers)) if one is not None and one.is_known else None
        for one in tables
    ]


def compared_of(
    study: Study, deciding: Mapping[str, Analysis | None] | None = None
) -> list[Analysis | None]:
    """The metrics that the report compares, in order. The first and those of a gate decide. The
    further ones hold together, and so do those that the user requested afterwards.

    Args:
        deciding: see `deciding_of`, if it is known already.
    """
    families = [study.family_of(metric) for metric in study.metrics]
    found = dict(deciding_of(study) if deciding is None else deciding)
    for family in dict.fromkeys(families):
        of_it = [
            metric
            for metric, own in zip(study.metrics, families, strict=True)
            if own == family and metric.name not in found
        ]
        analyses = analyses_of(study, of_it, family)
        found |= {metric.name: one for metric, one in zip(of_it, analyses, strict=True)}
    return [found[metric.name] for metric in study.metrics]


def costs_of(study: Study) -> tuple[Compared, ...]:
    """The costs of each level as a whole."""
    if study.roles.baseline is None:
        return ()
    compared = set(study.experiment.compare.metric)
    metrics = [FIXED[name] for name in PRICE if name not in compared]
    found = analyses_of(study, metrics, study.family("costs"), only_wholes=True)
    return tuple(one.compared for one in found if one is not None)


def _analysis(study: Study, table: Table, answer: TableAnswer) -> Analysis:
    def found(*depths: str) -> tuple[Finding, ...]:
        return tuple(
            finding(study, table, one)
            for one in answer.changes
            if one.cells and one.place.depth in depths
        )

    shape = table.shape
    rows, cells = found("row"), found("cell")
    if not rows and shape.rows == 1:
        rows = found("whole")
    if not cells:
        cells = rows if shape.columns == 1 else _single_columns(found("columns"))
    by_row = sorted(cells, key=lambda one: (one.change.place.first_row, one.change.place.level))
    compared = Compared(
        metric=table.metric,
        comparisons=tuple(by_row),
        wholes=found("whole"),
        columns=found("columns"),
        rows=rows,
    )
    return Analysis(table, answer, compared)


def _single_columns(found: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(
        one for one in found if one.change.place.first_column == one.change.place.last_column
    )


def models_of(
    study: Study, tables: Sequence[Table], *, only_wholes: bool = False
) -> list[TableAnswer]:
    """The model's answers to tables of one shape and family; all of them hold together."""
    if not tables:
        return []
    first = tables[0]
    return answer_tables(
        [table.d for table in tables],
        first.shape,
        margin=study.experiment.compare.margin,
        confidence=first.family.confidence,
        covariates=side_by_side(
            [table.metric for table in tables], [table.allowed.arrays for table in tables]
        ),
        interim=not (study.finished and first.family.decides),
        only_wholes=only_wholes,
        alike=first.family.name != "first",
    )


def side_by_side(
    metrics: Sequence[Metric], allowed: Sequence[Mapping[str, np.ndarray]]
) -> list[np.ndarray]:
    """The covariates of several tables, with the levels of all tables in sequence. A disturbance
    lowers a rate and lengthens a time, so each direction has a slope of its own."""
    return [
        np.concatenate(
            [
                arrays[name] if metric.less_is_better == direction else np.zeros_like(arrays[name])
                for metric, arrays in zip(metrics, allowed, strict=True)
            ],
            axis=2,
        )
        for name in allowed[0]
        if all(name in arrays for arrays in allowed)
        for direction in dict.fromkeys(metric.less_is_better for metric in metrics)
    ]


def _allowed_for(study: Study, table: Table) -> Covariates:
    """The disturbances that the experiment wants allowed for, as far as that can be done."""
    names = study.experiment.compare.adjust
    pairs = {
        (unit, *place): [(disturbed(names, one), disturbed(names, two)) for one, two in both]
        for place, baseline, cell in (pairs_of(study.roles) if names else ())
        for unit, both in enumerate(study.blocks_in_common(baseline, cell).values())
    }
    return covariates_of(names, pairs, table.d, in_slices=study.in_slices)


def finding(study: Study, table: Table, change: Change) -> Finding:
    """A change, with the levels that its place is of."""
    place, roles = change.place, study.roles
    level = table.levels[place.level]
    over = roles.baseline if place.over is None else table.levels[place.over]
    kind: Kind = "pair" if place.depth == "pair" else table.kind
    is_one_row = place.first_row == place.last_row
    is_one_column = place.first_column == place.last_column
    cell = roles.cell(
        table.rows[place.first_row] if is_one_row else {},
        table.columns[place.first_column] if is_one_column else None,
        level,
    )
    at = place.cells(table.shape)
    lost = int(table.lost[at, place.level].sum())
    contrast = Contrast(kind, table.metric, cell, level, over, table.family)
    found = Finding(contrast, change, study.experiment.compare.margin, lost)
    if not is_of_one_kind(table.metric):
        return found
    contexts = np.arange(table.shape.contexts)[at]
    places = [divmod(int(one), len(table.columns)) for one in contexts]
    sides = (
        tuple(roles.cell(table.rows[r], table.columns[c], one) for one in (over, level))
        for r, c in places
    )
    return found.hold(why_held(study, table.metric, ((one, other) for one, other in sides)))


def leading_cell(study: Study, analysis: Analysis, level: Level) -> Finding | None:
    """The cell with the largest change for the better, if it certainly exceeds the mean of the
    others. Its lead is its evidence."""
    table = analysis.table
    if not study.finished or not table.family.decides or table.shape.contexts < 3:
        return None
    at, family = table.levels.index(level), study.family("leads")
    leads = advantages(
        table.d,
        table.shape,
        margin=study.experiment.compare.margin,
        confidence=family.confidence,
        covariates=list(table.allowed.arrays.values()),
    )
    own = [one for one in leads if one.place.level == at and one.n > 1]
    pick = min if table.metric.less_is_better else max
    first = pick(own, key=lambda one: one.ratio, default=None)
    if first is None or first.verdict != table.metric.better:
        return None
    place = first.place
    cell = finding(study, table, analysis.answer.cell(at, place.first_row, place.first_column))
    lead = finding(study, replace(table, family=family, kind="lead"), first)
    return replace(cell, evidence=(lead,))


def level_over(study: Study, analysis: Analysis, one: Level, other: Level) -> Finding | None:
    """One level over another, neither of them the baseline, over all cells; None if no repeat has
    both."""
    levels = analysis.table.levels
    change = analysis.answer.pair(levels.index(one), levels.index(other))
    return finding(study, analysis.table, change) if change.cells else None


@dataclass(frozen=True, slots=True)
class Growth:
    """How one metric grows along the columns, in every row of every table of the layout.

    rows: the table's number and the level of each. findings: for each row, each column after the
        first over the first; None if no repeat has both.
    """

    metric: Metric
    rows: tuple[tuple[int, Level | None], ...]
    findings: tuple[tuple[Finding | None, ...], ...]


def growth_of(study: Study, metrics: Sequence[Metric], family: Family) -> list[Growth]:
    """Along the columns, of metrics that hold together; none without two columns. Metrics without
    a value at two of them are left out."""
    roles = study.roles
    if roles.columns is None or len(roles.columns.levels) < 2:
        return []
    contexts = roles.table_contexts()
    places = tuple(itertools.product(range(len(contexts)), roles.levels))
    tables = [table for m in metrics if (table := _growth_table(study, m, family, places)).is_known]
    found = []
    for table, answer in zip(tables, models_of(study, tables), strict=True):
        first, *others = roles.columns.levels
        rows = []
        for row, (context, level) in enumerate(places):
            of_row: list[Finding | None] = []
            for at, column in enumerate(others):
                change = answer.cell(at, row, 0)
                cell = roles.cell(contexts[context], column, level)
                contrast = Contrast("growth", table.metric, cell, column, first, family)
                margin = study.experiment.compare.margin
                of_row.append(Finding(contrast, change, margin) if change.cells else None)
            rows.append(tuple(of_row))
        found.append(Growth(table.metric, places, tuple(rows)))
    return found


def _growth_table(
    study: Study, metric: Metric, family: Family, places: Sequence[tuple[int, Level | None]]
) -> Table:
    roles, repeats = study.roles, study.repeats
    assert roles.columns is not None
    contexts = roles.table_contexts()
    first, *others = roles.columns.levels
    d = np.full((len(repeats), len(places), len(others)), np.nan)
    for at, (context, level) in enumerate(places):
        base = study.repeats_of(roles.cell(contexts[context], first, level))
        for column, other in enumerate(others):
            theirs = study.repeats_of(roles.cell(contexts[context], other, level))
            for unit, repeat in enumerate(repeats):
                d[unit, at, column] = log_mean(metric, theirs.get(repeat, ())) - log_mean(
                    metric, base.get(repeat, ())
                )
    lost, none = np.zeros(d.shape[1:], dtype=int), Covariates({}, {})
    return Table(metric, [{} for _ in places], [None], others, d, lost, none, family, "growth")


def log_mean(metric: Metric, runs: Sequence[RunRecord]) -> float:
    """Mean of the logarithms of the runs' figures; NaN without a figure."""
    values = [value for value in map(metric.value, runs) if value is not None and value > 0]
    return math.fsum(map(math.log, values)) / len(values) if values else math.nan


def kinds_over_first(
    study: Study, kinds: Factor, places: Sequence[Mapping[str, Level]], table: Table
) -> dict[CellKey, Finding]:
    """The gain of a level by each later kind of workload over its gain by the first: the ratio of
    the two gains, repeat by repeat, by the cell of the later kind. All hold together.

    Args:
        places: the rows of the table without the kind of workload.
    """
    at = {cell_key(row): number for number, row in enumerate(table.rows)}
    later = kinds.levels[1:]

    def rows_of(kind: Level) -> list[int]:
        return [at[cell_key({**place, kinds.path: kind})] for place in places]

    def over_first(x: np.ndarray) -> np.ndarray:
        of_rows = x.reshape(len(x), len(table.rows), len(table.columns), -1)
        apart = [of_rows[:, rows_of(kind)] - of_rows[:, rows_of(kinds.levels[0])] for kind in later]
        return np.reshape(np.concatenate(apart, axis=1), (len(x), -1, x.shape[2]))

    apart = over_first(table.d)
    allowed = {name: over_first(x) for name, x in table.allowed.arrays.items()}
    between = replace(
        table,
        rows=[{**place, kinds.path: kind} for kind in later for place in places],
        d=apart,
        lost=np.zeros(apart.shape[1:], dtype=int),
        allowed=Covariates(allowed, {}),
        family=study.family("kinds"),
        kind="kinds",
    )
    if not between.is_known:
        return {}
    cells = _analysis(study, between, models_of(study, [between])[0]).compared.comparisons
    return {cell_key(one.cell): one for one in cells}


SAME = 1e-12
"""Below this a difference is one of rounding."""

Disturbed = Mapping[str, float | None]
"""How much a run was disturbed, by the names of `compare.adjust`; None if it is not known."""

Pairs = Sequence[tuple[Disturbed, Disturbed]]
"""The runs of the baseline and of a level in a repeat, those of one block side by side."""


def disturbed(names: Sequence[str], run: RunRecord) -> Disturbed:
    """Read a run."""
    return {name: DISTURBANCES[name](run) for name in names}


@dataclass(frozen=True, slots=True)
class Covariates:
    """The usable covariates.

    arrays: by name, shaped like the table's log-ratios, NaN where they are NaN.
    left_out: the unusable ones, with the reason.
    """

    arrays: dict[str, np.ndarray]
    left_out: dict[str, str]


def covariates_of(
    names: Sequence[str],
    pairs: Mapping[tuple[int, int, int], Pairs],
    d: np.ndarray,
    *,
    in_slices: bool,
) -> Covariates:
    """The covariates of these names.

    Args:
        names: of disturbances.
        pairs: the runs at each place of the table.
        d: the log-ratios, units x contexts x levels, NaN if they are not known.
        in_slices: the runs of a block share a host: its state counts, not the level's excess of it.
    """
    found = Covariates({}, {})
    for name in names:
        x = np.full(d.shape, np.nan)
        for place, runs in pairs.items():
            if np.isfinite(d[place]):
                x[place] = _of_place(name, runs, in_slices=in_slices)
        present = np.isfinite(d)
        unknown = int(np.count_nonzero(present & ~np.isfinite(x)))
        if unknown:
            why = f"it is not known in {unknown} of {int(np.count_nonzero(present))} comparisons"
            found.left_out[name] = why
        elif not np.any(np.abs(centred(np.where(present, x, np.nan))) > SAME):
            # A covariate that does not vary from repeat to repeat within a cell has no slope.
            found.left_out[name] = "it was the same in every repeat"
        else:
            found.arrays[name] = x - x[present].mean() if in_slices else x
    return found


def _of_place(name: str, runs: Pairs, *, in_slices: bool) -> float:
    """NaN if it is not known of one of the runs, which is different from 0."""
    values = []
    for baseline, level in runs:
        one, other = baseline[name], level[name]
        if one is None or other is None:
            return math.nan
        values.append((one + other) / 2 if in_slices else other - one)
    return math.fsum(values) / len(values) if values else math.nan
