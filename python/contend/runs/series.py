"""The past runs of an experiment and the series that they make. Their folders are found, read and
sorted by time. The series have, run by run, the gain of each level in each cell and over all of
them, and the metric's figure in each cell.

A named folder is read or refused. One inside a named folder is left out, and
reported, if it cannot be read or is not of the experiment.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from contend.errors import ContendError, RequestError, WorkError, did_you_mean
from contend.experiment import CellKey, Level, cell_key, same_level
from contend.findings import RunCondition, Study, conditions_of, pairs_of, study_of, table_of
from contend.metrics import Metric
from contend.metrics.read import ln_distance, name_of
from contend.stats import estimate
from contend.store import RunFolder, find_run, runs_in


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run folder of a history.

    began: when its first measured run began, ISO 8601 in UTC.
    conditions: those of the run, by name (`server:version`).
    distance: ln of the nanoseconds that a cache line takes between its host's CPUs,
        mean of all measurements; None if there are none.
    state: near or far if all blocks were, changed if there were both; empty if it is not known.
    """

    path: Path
    name: str
    began: str
    study: Study
    conditions: Mapping[str, RunCondition]
    distance: float | None = None
    state: str = ""


def folders_of(name: str) -> list[Path]:
    """The run folder of this name or path, or those that lie in the folder of this path."""
    path = Path(name)
    inside = [] if (path / "results.sqlite").is_file() else runs_in(path)
    return inside or [find_run(name)]


def read_runs(
    names: Sequence[str], experiment: str | None = None, metrics: Sequence[str] = ()
) -> tuple[list[PastRun], list[str]]:
    """The runs, the oldest first, and what is left out.

    Args:
        names: run folders, folders of run folders, or names under ./contend-runs.
        experiment: the name of the wanted one, if there are several.

    Raises:
        RequestError: there are fewer than two runs, or they are of different experiments.
        WorkError: there would be two, and nothing was measured in them.
        ContendError: a folder that was named cannot be read.
    """
    found: list[PastRun] = []
    notices: list[str] = []
    others: set[str] = set()
    unmeasured = 0
    for path, named in _folders(names):
        try:
            with RunFolder.open(path) as folder:
                if (pid := folder.writer_pid()) is not None:
                    notices.append(f"{path} is left out: its run is in progress (pid {pid})")
                    continue
                name = str(folder.meta().experiment.get("name", ""))
                if experiment is not None and name != experiment:
                    others.add(name)
                    continue
                study = study_of(folder, metrics, percentiles=False, intervals=False)
        except ContendError as error:
            if named:
                raise
            notices.append(f"{path} is left out: {error.message}")
            continue
        if study.measured:
            found.append(_past_run(path, study))
        else:
            notices.append(f"{path} is left out: it has no measured run")
            unmeasured += 1
    _refuse_several(found)
    runs = _each_once(sorted(found, key=lambda run: run.began), notices)
    if len(runs) < 2:
        raise _too_few(runs, unmeasured, experiment, others, notices)
    for run in runs:
        if not run.study.finished:
            notices.append(
                f"{run.name} was not finished: it has {len(run.study.measured)} of "
                f"{len(run.study.meta.planned)} planned runs"
            )
    return runs, notices


def _folders(names: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Each folder once, and whether it was named itself."""
    seen: set[Path] = set()
    for name in names:
        for path in folders_of(name):
            if (resolved := path.resolve()) not in seen:
                seen.add(resolved)
                yield path, path.parent != Path(name) or path == path.parent  # "." is its parent


def _past_run(path: Path, study: Study) -> PastRun:
    distances = [one for run in study.measured if (one := ln_distance(run)) is not None]
    states = (run.probes.get("state") for run in study.measured)
    seen = {name for one in states if one and (name := name_of(one))}
    return PastRun(
        path=path,
        name=path.resolve().name,
        began=min(record.started_at for record in study.measured),
        study=study,
        conditions=conditions_of(study),
        distance=math.fsum(distances) / len(distances) if distances else None,
        state="changed" if len(seen) > 1 else next(iter(seen), ""),
    )


def _refuse_several(runs: Sequence[PastRun]) -> None:
    """Raise RequestError if they are not of one experiment: of one name, comparing the same."""
    counts = Counter(run.study.experiment.name for run in runs)
    if len(counts) > 1:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
        raise RequestError(
            f"the runs are of {len(counts)} experiments: {listed}.",
            hint="Choose one with --experiment NAME.",
        )
    for run in runs[1:]:
        roles = runs[0].study.roles, run.study.roles
        paths = [role.compared.path if role.compared else "" for role in roles]
        if paths[0] == paths[1] and same_level(*(role.baseline or "" for role in roles)):
            continue
        comparisons = [
            f"{path} with {role.baseline}" if path and role.baseline is not None else "nothing"
            for path, role in zip(paths, roles, strict=True)
        ]
        raise RequestError(
            f"{runs[0].name} compares {comparisons[0]}, and {run.name} compares {comparisons[1]}: "
            f"these are two experiments with the same name, {run.study.experiment.name}.",
            hint="Name the folders of one of them.",
        )


def _each_once(runs: Sequence[PastRun], notices: list[str]) -> list[PastRun]:
    """Without the copies of a run: two that began in the same millisecond and are equally long
    are the same."""
    kept: dict[tuple[str, int], PastRun] = {}
    for run in runs:
        first = kept.setdefault((run.began, len(run.study.measured)), run)
        if first is not run:
            notices.append(f"{run.path} is left out: it is a copy of {first.path}")
    return list(kept.values())


def _too_few(
    runs: Sequence[PastRun],
    unmeasured: int,
    experiment: str | None,
    others: set[str],
    notices: Sequence[str],
) -> ContendError:
    detail = "\n".join(notices) or None
    total = len(runs) + unmeasured
    if unmeasured and total > 1:
        return WorkError(
            f"a history needs two measured runs; {unmeasured} of these {total} measured nothing.",
            detail=detail,
        )
    message = "there are no runs for a history here."
    hint = "Name run folders of one experiment, or the folder that contains them."
    if runs:
        message = f"a history needs at least two runs, and {runs[0].path} is the only one here."
        hint = "Name more run folders of the experiment, or the folder that contains them."
    elif experiment is not None and others:
        message = f"there is no run of {experiment} here."
        hint = did_you_mean(experiment, others) or ""
    return RequestError(message, hint=hint, detail=detail)


RUNS_A_SIDE = 8
"""Runs needed on each side of a change to report it."""

Kind = Literal["gain", "figure"]


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """The value of one run in a series.

    run: its place among the runs, counted from 0.
    log: ln of the gain or of the figure, mean of its repeats. `half` is half of its own 95 %
        interval in logarithms, inf if `n` repeats give none.
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
        """How many of its runs could be the first after a reported change."""
        return max(0, len(self.points) - 2 * RUNS_A_SIDE + 1)


Value = tuple[Kind, Mapping[str, Level], Level | None, Sequence[float]]
"""A run's value: kind, cell and level of a series, and logarithms, one per repeat."""


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
                # A repeat without one of the cells would shift the mean.
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
