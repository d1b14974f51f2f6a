"""Run folders beside one another: two hosts, two versions, two days.

Each side is one run of an experiment or several of them, its sessions. Cells that all sides have
are compared with the first side's; by the gains over the baseline if all sides share one, since
what a host and an hour do to both levels is not in those, else by the figures themselves. With two
sessions a side or more, the session is the unit and its scatter is in the interval. With one, what
sessions of its host differ by must be known from earlier ones, or nothing is decided.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contend.errors import RequestError
from contend.findings.changes import pairs_of
from contend.findings.families import Family
from contend.findings.model import Finding
from contend.findings.study import Study, log_ratio, reading_of
from contend.findings.unpaired import Side, run_over_run, sessions_before
from contend.metrics import Metric
from contend.spec import CellKey, Level, cell_key, cells, same_level

Cell = Mapping[str, Level]


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
    left_out: what could not be compared, in words.
    """

    metric: Metric
    by_gains: bool
    first: str
    cells: tuple[Cell, ...]
    findings: Mapping[str, tuple[Finding | None, ...]]
    left_out: tuple[str, ...]


def refuse_twice(named: Iterable[tuple[str, Study]]) -> None:
    """Raises RequestError if two of them are one run: beside itself nothing differs."""
    seen: dict[tuple[str, str], str] = {}
    for name, study in named:
        began = study.measured[0].started_at if study.measured else ""
        key = study.meta.created_at, began
        if key in seen:
            raise RequestError(
                f"{seen[key]} and {name} are the same run",
                hint="Name each run once; a copy is no other.",
            )
        seen[key] = name


def compare_sides(
    sides: Sequence[RunSide], metric: Metric, *, margin: float = 0.02, confidence: float = 0.95
) -> SidesCompared:
    """All intervals hold together.

    Raises:
        RequestError: the sides have no cell in common.
    """
    by_gains = _share_a_baseline(sides)
    values = [_values_of(side, metric, by_gains=by_gains) for side in sides]
    known = [set(one) for one in values]
    common = set.intersection(*known)
    if not common:
        raise RequestError(
            f"{' and '.join(side.name for side in sides)} have no cell in common",
            hint="Compare runs of one experiment: the same factors, with levels in common.",
        )
    shared = tuple(cell for key, (cell, _) in values[0].items() if key in common)
    others = sides[1:]
    family = Family("runs", confidence, confidence, all(_is_over(side) for side in sides))
    findings = {
        side.name: tuple(
            _finding(
                metric,
                cell,
                (side, own[cell_key(cell)][1]),
                (sides[0], values[0][cell_key(cell)][1]),
                family,
                members=len(shared) * len(others),
                margin=margin,
                by_gains=by_gains,
            )
            for cell in shared
        )
        for side, own in zip(others, values[1:], strict=True)
    }
    left_out = [
        f"{len(one - common)} of {len(one)} cells of {side.name} are not in all of them"
        for side, one in zip(sides, known, strict=True)
        if one - common
    ]
    names = list(dict.fromkeys(study.experiment.name for side in sides for study in side.studies))
    if len(names) > 1:
        left_out.insert(0, f"these are different experiments: {', '.join(names)}")
    return SidesCompared(metric, by_gains, sides[0].name, shared, findings, tuple(left_out))


def _is_over(side: RunSide) -> bool:
    return all(study.finished for study in side.studies)


def _share_a_baseline(sides: Sequence[RunSide]) -> bool:
    roles = [study.roles for side in sides for study in side.studies]
    first = roles[0]
    return all(
        one.baseline is not None
        and first.baseline is not None
        and one.compared is not None
        and first.compared is not None
        and one.compared.path == first.compared.path
        and same_level(one.baseline, first.baseline)
        for one in roles
    )


Sessions = list[list[float]]
"""Logarithms, unit by unit, of each session."""


def _values_of(
    side: RunSide, metric: Metric, *, by_gains: bool
) -> dict[CellKey, tuple[Cell, Sessions]]:
    found: dict[CellKey, tuple[Cell, Sessions]] = {}
    for study in side.studies:
        for cell, logs in (_gains if by_gains else _figures)(study, metric):
            if logs:
                found.setdefault(cell_key(cell), (cell, []))[1].append(logs)
    whole = len(side.studies)
    return {key: one for key, one in found.items() if len(one[1]) == whole}


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
    for cell in cells(study.experiment):
        logs = []
        for runs in study.repeats_of(cell).values():
            values = [value for run in runs if (value := metric.value(run))]
            if values:
                logs.append(statistics.fmean(map(math.log, values)))
        yield cell, logs


def _finding(
    metric: Metric,
    cell: Cell,
    one: tuple[RunSide, Sessions],
    other: tuple[RunSide, Sessions],
    family: Family,
    *,
    members: int,
    margin: float,
    by_gains: bool,
) -> Finding | None:
    asked = [_side(*each, metric, cell, by_gains=by_gains) for each in (one, other)]
    if any(len(side.logs) < 2 for side in asked):
        return None
    ours, theirs = asked
    return run_over_run(metric, cell, ours, theirs, family, members=members, margin=margin)


def _side(side: RunSide, sessions: Sessions, metric: Metric, cell: Cell, *, by_gains: bool) -> Side:
    if len(sessions) > 1:
        return Side(side.name, [statistics.fmean(one) for one in sessions], of_sessions=True)
    study = side.studies[0]
    earlier = None
    roles = study.roles
    if by_gains and roles.compared is not None:
        # What is known of earlier sessions is of the level as a whole; that of one cell is it.
        contexts = len(roles.table_contexts()) * len(roles.column_levels)
        if contexts == 1:
            earlier = sessions_before(study, metric, cell[roles.compared.path])
    return Side(side.name, sessions[0], None if earlier is None else earlier[1])
