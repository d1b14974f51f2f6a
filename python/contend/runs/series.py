"""The series of a history: what each level gains in each cell and over all of them, and how much
there is of the metric in each cell, run by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from contend.findings import Study, pairs_of, table_of
from contend.metrics import Metric
from contend.runs.model import PastRun, Series, SeriesPoint
from contend.spec import CellKey, Level, cell_key
from contend.stats import estimate


@dataclass(slots=True)
class _Growing:
    cell: Mapping[str, Level]
    level: Level | None
    points: list[SeriesPoint] = field(default_factory=list)


def series_of(runs: Sequence[PastRun], metric: Metric) -> list[Series]:
    """All series of a metric that two runs or more have: gains over all cells, gains cell by cell,
    figures cell by cell."""
    gains: dict[tuple[CellKey, str], _Growing] = {}
    figures: dict[CellKey, _Growing] = {}
    common = _contexts_in_common(runs)
    for number, run in enumerate(runs):
        _add_gains(gains, number, run.study, metric, common)
        _add_figures(figures, number, run.study, metric)
    over = runs[0].study.roles.baseline
    whole_first = sorted(gains.values(), key=lambda one: bool(one.cell))
    found = [Series("gain", metric, one.cell, one.level, over, one.points) for one in whole_first]
    found += [
        Series("figure", metric, one.cell, None, None, one.points) for one in figures.values()
    ]
    return [one for one in found if len(one.points) > 1]


def _contexts_in_common(runs: Sequence[PastRun]) -> set[CellKey]:
    """Those that all runs have: the mean over others would change with them."""
    of_runs = [{cell_key(_context(run.study, cell)) for cell in _cells(run.study)} for run in runs]
    return set.intersection(*of_runs)


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


def _add_gains(
    gains: dict[tuple[CellKey, str], _Growing],
    number: int,
    study: Study,
    metric: Metric,
    common: set[CellKey],
) -> None:
    table = table_of(study, metric)
    if table is None:
        return
    contexts: dict[int, dict[str, Level]] = {}
    for (context, _), baseline, _cell in pairs_of(study.roles):
        contexts[context] = _context(study, baseline)
    for at, level in enumerate(table.levels):
        shared = [one for one, cell in contexts.items() if cell_key(cell) in common]
        if len(contexts) > 1 and shared:
            # A repeat that lacks a cell would say something else of the mean.
            whole = np.mean(table.d[:, shared, at], axis=1)
            _append(gains, ({}, level), number, whole)
        for context, cell in contexts.items():
            _append(gains, (cell, level), number, table.d[:, context, at])


def _append(
    gains: dict[tuple[CellKey, str], _Growing],
    place: tuple[Mapping[str, Level], Level],
    number: int,
    logs: np.ndarray,
) -> None:
    cell, level = place
    point = _point(number, [float(one) for one in logs if math.isfinite(one)])
    if point is not None:
        key = cell_key(cell), repr(level)
        gains.setdefault(key, _Growing(cell, level)).points.append(point)


def _add_figures(
    figures: dict[CellKey, _Growing], number: int, study: Study, metric: Metric
) -> None:
    for cell in _cells(study):
        logs = []
        for runs in study.repeats_of(cell).values():
            values = [value for run in runs if (value := metric.value(run))]
            if values:
                logs.append(math.fsum(map(math.log, values)) / len(values))
        point = _point(number, logs)
        if point is not None:
            growing = figures.setdefault(cell_key(cell), _Growing(cell, None))
            growing.points.append(point)


def _point(number: int, logs: Sequence[float]) -> SeriesPoint | None:
    if not logs:
        return None
    found = estimate(logs)
    return SeriesPoint(number, found.mean, (found.high - found.low) / 2, found.n)
