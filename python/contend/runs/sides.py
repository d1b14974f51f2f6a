"""Run folders compared with each other: two hosts, two versions, two days.

Each side is one run of an experiment or several of them, its sessions. Cells that all sides have
are compared with the first side's. If all sides share a baseline, the gains over it are compared,
since the effect of a host and an hour on both levels cancels in them; else the figures themselves.
With two sessions a side or more, the session is the unit and its scatter is in the interval. With
one, the spread of its host's sessions must be known from earlier ones, or nothing is decided.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.errors import RequestError, WorkError
from contend.experiment import CellKey, Level, cell_key, cells, same_level, without_metric
from contend.findings import (
    WAITS,
    Family,
    Finding,
    RunCondition,
    Side,
    Study,
    conditions_of,
    log_ratio,
    pairs_of,
    reading_of,
    run_over_run,
    sessions_before,
    study_of,
    waits_for_others,
)
from contend.metrics import Metric, metric_of
from contend.metrics.host import UNITS, Cost, cost_between, in_words, measured_beside
from contend.runs.series import figures_of, folders_of
from contend.store import RunFolder

Cell = Mapping[str, Level]

Values = dict[CellKey, tuple[Cell, list[list[float]]]]
"""By cell: the cell, and logarithms, unit by unit, of each session."""

Row = tuple[Finding | None, ...]
"""The findings of a side, cell by cell."""


@dataclass(frozen=True, slots=True)
class RunSide:
    """One side: the runs that are its sessions."""

    name: str
    studies: tuple[Study, ...]


@dataclass(frozen=True, slots=True)
class SidesCompared:
    """Every side but the first over the first.

    by_gains: whether gains over the baseline are compared, and not the figures.
    cells: those that all sides have, in the order of the first.
    findings: by the name of a side, cell by cell; None where a side has fewer than two units.
    gated: the same by each metric of a gate.
    left_out: data that could not be compared, as text.
    """

    metric: Metric
    by_gains: bool
    cells: tuple[Cell, ...]
    findings: Mapping[str, Row]
    gated: Mapping[Metric, Mapping[str, Row]]
    left_out: tuple[str, ...]


def read_sides(names: Sequence[str], metrics: tuple[str, ...]) -> list[RunSide]:
    """The sides of these names: run folders, or folders that have several of them.

    Raises:
        RequestError: a run is under way, or is named twice.
        WorkError: nothing was measured in one of them.
    """
    sides, named = [], []
    for name in names:
        read = [(str(path), _study(path, metrics)) for path in folders_of(name)]
        sides.append(RunSide(name.rstrip("/") or name, tuple(study for _, study in read)))
        named += read
    refuse_twice(named)
    return sides


def _study(path: Path, metrics: tuple[str, ...]) -> Study:
    with RunFolder.open(path) as folder:
        if folder.writer_pid() is not None:
            raise RequestError(
                f"{path} is being written: its run is in progress",
                hint="Compare it when the run has ended.",
            )
        study = study_of(folder, metrics, percentiles=False)
    if not study.measured:
        raise WorkError(f"{path} has no measured run", hint="`contend show` prints what it has.")
    return study


def refuse_twice(named: Iterable[tuple[str, Study]]) -> None:
    """Raises RequestError if two of them are one run, which cannot differ from itself."""
    seen: dict[tuple[str, str], str] = {}
    for name, study in named:
        began = study.measured[0].started_at if study.measured else ""
        key = study.meta.created_at, began
        if key in seen:
            raise RequestError(
                f"{seen[key]} and {name} are the same run",
                hint="List each run once; a copy counts as the same run.",
            )
        seen[key] = name


def compare_sides(
    sides: Sequence[RunSide],
    limits: Mapping[str, float] | None = None,
    *,
    confidence: float = 0.95,
) -> SidesCompared:
    """The sides by the metric that decides in the first, and those of a gate. All intervals hold
    together.

    Args:
        limits: of a gate, by the names of its metrics.

    Raises:
        RequestError: the sides have no cell in common, or a run has no such metric.
    """
    studies = [study for side in sides for study in side.studies]
    margins = [study.experiment.compare.margin for study in studies]
    margin = min((*margins, *(limits or {}).values()))
    metric = studies[0].metrics[0]
    gate = [metric_of(name) for name in limits or ()]
    for one, study in itertools.product(gate, studies):
        if all(one.value(run) is None for run in study.measured):
            raise without_metric(one.name, study.measured[0])
    by_gains = _share_a_baseline(studies)
    values = [_values_of(side, metric, by_gains=by_gains) for side in sides]
    common = set(values[0]).intersection(*values[1:])
    if not common:
        raise RequestError(
            f"{' and '.join(side.name for side in sides)} have no cell in common",
            hint="Compare runs of one experiment: the same factors, with levels in common.",
        )
    shared = [(key, cell) for key, (cell, _) in values[0].items() if key in common]
    metrics = dict.fromkeys((metric, *gate))
    how: Any = {"members": len(shared) * (len(sides) - 1) * len(metrics), "margin": margin}
    family = Family("runs", confidence, confidence, all(study.finished for study in studies))

    def over_first(metric: Metric, values: Sequence[Values]) -> Mapping[str, Row]:
        findings: dict[str, Row] = {}
        for side, of_it in zip(sides[1:], values[1:], strict=True):
            row: list[Finding | None] = []
            for key, cell in shared:
                one = _units(side, of_it.get(key), metric, cell, by_gains=by_gains)
                other = _units(sides[0], values[0].get(key), metric, cell, by_gains=by_gains)
                enough = min(len(one.logs), len(other.logs)) > 1
                found = run_over_run(metric, cell, one, other, family, **how) if enough else None
                row.append(found and found.hold(_why_held(metric, cell, studies)))
            findings[side.name] = tuple(row)
        return findings

    found = {
        one: over_first(
            one,
            values
            if one == metric
            else [_values_of(side, one, by_gains=by_gains) for side in sides],
        )
        for one in metrics
    }
    names = list(dict.fromkeys(study.experiment.name for study in studies))
    listed = f"Only the common cells of these experiments are compared: {', '.join(names)}"
    left_out = [listed] if len(names) > 1 else []
    left_out += [
        f"Left out: {len(one) - len(common)} of {len(one)} cells of {side.name} (not in all sides)"
        for side, one in zip(sides, values, strict=True)
        if len(one) > len(common)
    ]
    places = tuple(cell for _, cell in shared)
    gated = {one: found[one] for one in gate}
    return SidesCompared(metric, by_gains, places, found[metric], gated, tuple(left_out))


def _why_held(metric: Metric, cell: Cell, studies: Sequence[Study]) -> str:
    """Runs of different hours rarely have the same throughput, so any such time is held."""
    runs = (run for study in studies for run in study.runs_of(cell))
    return f"it {WAITS}" if any(waits_for_others(metric, run) for run in runs) else ""


def _share_a_baseline(studies: Sequence[Study]) -> bool:
    first, *rest = (study.roles for study in studies)
    if first.baseline is None or first.compared is None:
        return False
    return all(
        one.baseline is not None
        and one.compared is not None
        and one.compared.path == first.compared.path
        and same_level(one.baseline, first.baseline)
        for one in rest
    )


def _values_of(side: RunSide, metric: Metric, *, by_gains: bool) -> Values:
    """The data of each cell that all sessions of the side have."""
    found: Values = {}
    for study in side.studies:
        for cell, logs in (_gains if by_gains else _figures)(study, metric):
            if logs:
                found.setdefault(cell_key(cell), (cell, []))[1].append(logs)
    return {key: one for key, one in found.items() if len(one[1]) == len(side.studies)}


def _gains(study: Study, metric: Metric) -> Iterator[tuple[Cell, list[float]]]:
    for _, baseline, cell in pairs_of(study.roles):
        logs = [
            log_ratio(
                metric, [(reading_of(metric, one), reading_of(metric, two)) for one, two in of]
            )
            for of in study.blocks_in_common(baseline, cell).values()
        ]
        yield cell, [one for one in logs if math.isfinite(one)]


def _figures(study: Study, metric: Metric) -> Iterator[tuple[Cell, list[float]]]:
    return ((cell, figures_of(study, metric, cell)) for cell in cells(study.experiment))


def _units(
    side: RunSide,
    measured: tuple[Cell, list[list[float]]] | None,
    metric: Metric,
    cell: Cell,
    *,
    by_gains: bool,
) -> Side:
    """Sessions if there are several, else the repeats of the one; none if it was not measured."""
    if measured is None:
        return Side(side.name, [])
    sessions = measured[1]
    if len(sessions) > 1:
        return Side(side.name, [statistics.fmean(one) for one in sessions], of_sessions=True)
    study = side.studies[0]
    earlier = None
    roles = study.roles
    # Earlier sessions are known for the level as a whole; with one cell, that is the cell.
    is_whole = len(roles.table_contexts()) * len(roles.column_levels) == 1
    if by_gains and roles.compared is not None and is_whole:
        earlier = sessions_before(study, metric, cell[roles.compared.path])
    return Side(side.name, sessions[0], None if earlier is None else earlier[1])


_KINDS = ("doctor", "server", "variable", "host", "experiment", "contend")

Conditions = Mapping[str, RunCondition]


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One thing that differs.

    about: doctor, server, variable, host, experiment, contend; measured, if no setting explains it.
    cost: its measured cost on both, as text; empty if it was not measured.
    """

    about: str
    name: str
    one: str
    other: str
    cost: str = ""

    @property
    def is_measured(self) -> bool:
        return bool(self.cost) or self.about == "measured"


def differences_between(one: Study, other: Study) -> tuple[DifferenceRow, ...]:
    """The differences between the first sessions of two folders."""
    measured = [measured_beside(study.measured) for study in (one, other)]
    found = [
        (cost_between(measure, *measured), measure, row)
        for measure, row in _unlike(conditions_of(one), conditions_of(other))
    ]
    explained = {measure for cost, measure, _ in found if cost is not None}
    for name, (_, _, title) in UNITS.items():
        cost = cost_between(name, *measured)
        if name not in explained and cost is not None and cost.size:
            texts = (in_words(name, each[name]) for each in measured)
            found.append((cost, name, DifferenceRow("measured", title, *texts)))
    costly = sorted((each for each in found if each[0]), key=lambda each: -_size(each[0]))
    others = [row for cost, _, row in found if cost is None]
    return (*(_with(cost, row) for cost, _, row in costly), *others)


def _size(cost: Cost | None) -> float:
    return 0.0 if cost is None else cost.size


def _with(cost: Cost | None, row: DifferenceRow) -> DifferenceRow:
    if cost is None or row.about == "measured":
        return row
    return DifferenceRow(row.about, row.name, row.one, row.other, cost.said)


def _unlike(ours: Conditions, theirs: Conditions) -> Iterator[tuple[str | None, DifferenceRow]]:
    keys = dict.fromkeys(itertools.chain(ours, theirs))
    for key in sorted(keys, key=lambda one: _KINDS.index(one.partition(":")[0])):
        sides = ours.get(key), theirs.get(key)
        known = next(side for side in sides if side is not None)
        values = [side and side.value for side in sides]
        if values[0] != values[1]:
            texts = (known.otherwise if side is None else side.text for side in sides)
            yield known.measure, DifferenceRow(known.kind, known.name, *texts)
