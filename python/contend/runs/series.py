"""The series of a history: what each level gains in each cell and over all of them, and how much
there is of the metric in each cell, run by run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from contend.findings import Study, pairs_of, table_of
from contend.metrics import Metric
from contend.runs.past import PastRun
from contend.spec import CellKey, Level, cell_key
from contend.stats import estimate

RUNS_A_SIDE = 8
"""Runs on each side of a change, below which nothing is told of it."""

Kind = Literal["gain", "figure"]


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

    kind: Kind
    metric: Metric
    cell: Mapping[str, Level]
    level: Level | None
    over: Level | None
    points: list[SeriesPoint] = field(default_factory=list)

    @property
    def places(self) -> int:
        """How many of its runs could be the first after a change that is told."""
        return max(0, len(self.points) - 2 * RUNS_A_SIDE + 1)


Value = tuple[Kind, Mapping[str, Level], Level | None, Sequence[float]]
"""Of one run: kind, cell and level of a series, and logarithms, one a repeat."""


def series_of(runs: Sequence[PastRun], metric: Metric) -> list[Series]:
    """All series of a metric that two runs or more have: gains over all cells, gains cell by cell,
    figures cell by cell."""
    # The mean over contexts that not all runs have would change with them.
    common = set.intersection(
        *({cell_key(_context(run.study, cell)) for cell in _cells(run.study)} for run in runs)
    )
    over = runs[0].study.roles.baseline
    found: dict[tuple[Kind, CellKey, str], Series] = {}
    for number, run in enumerate(runs):
        for kind, cell, level, values in _values(run.study, metric, common):
            logs = [float(one) for one in values if math.isfinite(one)]
            if logs:
                new = Series(kind, metric, cell, level, over if kind == "gain" else None)
                one = estimate(logs)
                half = (one.high - one.low) / 2
                series = found.setdefault((kind, cell_key(cell), repr(level)), new)
                series.points.append(SeriesPoint(number, one.mean, half, one.n))
    several = [one for one in found.values() if len(one.points) > 1]
    return sorted(several, key=lambda one: 2 if one.kind == "figure" else bool(one.cell))


def _values(study: Study, metric: Metric, common: set[CellKey]) -> Iterator[Value]:
    table = table_of(study, metric)
    if table is not None:
        contexts: dict[int, Mapping[str, Level]] = {}
        for (context, _), baseline, _cell in pairs_of(study.roles):
            contexts[context] = _context(study, baseline)
        shared = [one for one, cell in contexts.items() if cell_key(cell) in common]
        for at, level in enumerate(table.levels):
            if len(contexts) > 1 and shared:
                # A repeat that lacks a cell would say something else of the mean.
                yield "gain", {}, level, np.mean(table.d[:, shared, at], axis=1).tolist()
            for context, cell in contexts.items():
                yield "gain", cell, level, table.d[:, context, at].tolist()
    for cell in _cells(study):
        yield "figure", cell, None, figures_of(study, metric, cell)


def figures_of(study: Study, metric: Metric, cell: Mapping[str, Level]) -> list[float]:
    """Logarithms of a metric in a cell, mean of the runs of each repeat."""
    logs = []
    for records in study.repeats_of(cell).values():
        values = [value for record in records if (value := metric.value(record))]
        if values:
            logs.append(math.fsum(map(math.log, values)) / len(values))
    return logs


def _cells(study: Study) -> list[dict[str, Level]]:
    roles = study.roles
    return [
        roles.cell(context, column, level)
        for context in roles.table_contexts()
        for column in roles.column_levels
        for level in roles.levels
    ]


def _context(study: Study, cell: Mapping[str, Level]) -> dict[str, Level]:
    compared = study.roles.compared
    return {path: one for path, one in cell.items() if compared is None or path != compared.path}
