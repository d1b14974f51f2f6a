"""A run folder as the source of findings.

Its records are sorted into cells and repeats. Every interval rests on the log-ratio of a level to
its baseline in one repeat: those of a report, and the one at which a run stops.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from contend.errors import RequestError
from contend.experiment import (
    RATE,
    CellKey,
    CellSpec,
    Experiment,
    Level,
    Roles,
    as_figures,
    cell_key,
    cell_spec,
    from_dict,
    is_open,
    roles_of,
    sets_as_figures,
)
from contend.experiment.settings.treatments import TREATMENT
from contend.findings.families import Family, described, family_of
from contend.metrics import ALWAYS_SHOWN, THROUGHPUT, Metric, UnknownMetric, metric_of
from contend.stats import merge_percentiles
from contend.store import Meta, RunFolder, RunRecord


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment and its measurements.

    `metrics` are compared: the first decides, the others accompany it. `shown` have a table: first
    those, then the metrics of every report.
    `measured` has the runs that count, at most one per planned run; `records` has everything.
    `by_cell` has the measured runs of a cell by their repeat, `planned_of` the planned ones.
    `ended` has the numbers of all runs that ended, in any way. `finished`: nothing more is to be
    measured.
    """

    experiment: Experiment
    meta: Meta
    roles: Roles
    metrics: tuple[Metric, ...]
    shown: tuple[Metric, ...]
    records: Sequence[RunRecord]
    measured: Sequence[RunRecord]
    by_cell: Mapping[CellKey, Mapping[int, Sequence[RunRecord]]]
    planned_of: Mapping[CellKey, Mapping[int, Sequence[int]]]
    ended: Set[int]
    finished: bool

    def family(self, name: str) -> Family:
        """One of the experiment's families, see `family_of`."""
        return family_of(self.experiment, name)

    def family_of(self, metric: Metric) -> Family:
        """That of a metric that is compared."""
        compare = self.experiment.compare
        if metric.name not in compare.metric:
            return self.family("asked")
        return self.family("first" if metric.name in compare.deciding else "metrics")

    @property
    def described(self) -> Family:
        """The family of figures; each of their intervals holds by itself."""
        return described("described", self.experiment)

    @property
    def decides(self) -> bool:
        """Whether there are verdicts by the metric that the report is about."""
        return self.finished and self.family_of(self.metrics[0]).decides

    @property
    def in_slices(self) -> bool:
        """Whether all runs of a block were made at once, in slices."""
        return _is_in_slices(self.meta)

    @property
    def way(self) -> Mapping[str, Any]:
        """How the levels were compared: by, why, servers, own; see `contend.lab.design`."""
        way: Mapping[str, Any] = self.meta.facts.get("way", {})
        return way

    @property
    def repeats(self) -> list[int]:
        """Those in which something was measured."""
        return sorted({record.repeat for record in self.measured})

    def spec_of(self, cell: Mapping[str, Level]) -> CellSpec:
        """All that a cell is."""
        return cell_spec(self.experiment, cell)

    def runs_of(self, cell: Mapping[str, Level]) -> list[RunRecord]:
        """Measured runs of a cell."""
        return [run for runs in self.repeats_of(cell).values() for run in runs]

    def repeats_of(self, cell: Mapping[str, Level]) -> Mapping[int, Sequence[RunRecord]]:
        """Measured runs of a cell by their repeat."""
        return self.by_cell.get(cell_key(cell), {})

    def blocks_in_common(
        self, baseline: Mapping[str, Level], level: Mapping[str, Level]
    ) -> dict[int, list[tuple[RunRecord, RunRecord]]]:
        """By each repeat the runs of both cells, those of one block side by side."""
        ones, others = self.repeats_of(baseline), self.repeats_of(level)
        found = {}
        for repeat in self.repeats:
            by_block = {run.block: run for run in others.get(repeat, ())}
            runs = ones.get(repeat, ())
            found[repeat] = [(one, by_block[one.block]) for one in runs if one.block in by_block]
        return found

    def is_over(self, cell: Mapping[str, Level], repeat: int) -> bool:
        """Whether every run that was planned of a cell in a repeat has ended."""
        planned = self.planned_of.get(cell_key(cell), {}).get(repeat, ())
        return bool(planned) and all(run in self.ended for run in planned)


def _is_in_slices(meta: Meta) -> bool:
    return bool(meta.facts.get("way", {}).get("by") == "slices")


def _known(name: str, folder: RunFolder) -> Metric:
    try:
        return metric_of(name)
    except UnknownMetric:
        raise RequestError(
            f"{folder.path} compares {name}, which this version of contend does not know.",
            hint="Name a different metric, such as --metric qps: the measurements are intact.",
        ) from None


def study_of(
    folder: RunFolder,
    metrics: Sequence[str] = (),
    *,
    percentiles: bool = True,
    intervals: bool = True,
    by_seconds: Set[str] = frozenset(),
) -> Study:
    """Read a run folder into a study that compares `metrics`; without them, the experiment's.

    Without `percentiles`, those that are not compared are not shown, and no histogram is read.
    `by_seconds` has the names of causes that examine a run interval by interval; without
    `intervals`, none does.
    """
    meta = folder.meta()
    experiment = from_dict(meta.experiment)
    if experiment.goal is not None:
        rates = (one.cell[RATE] for one in meta.planned if RATE in one.cell)
        experiment = as_figures(experiment, rates)
    if experiment.lines:
        experiment = sets_as_figures(experiment)
    compared = tuple(_known(name, folder) for name in metrics or experiment.compare.metric)
    also = (one for one in ALWAYS_SHOWN if percentiles or one.histogram is None)
    # In separate runs, the seconds are rarely needed.
    wanted = intervals and (_is_in_slices(meta) or experiment.explain in by_seconds)
    records = folder.records(intervals=wanted)
    measured = [record for record in records if record.status == "ok" and record.done]
    by_cell: dict[CellKey, dict[int, list[RunRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in measured:
        by_cell[cell_key(record.cell)][record.repeat].append(record)
    planned_of: dict[CellKey, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for planned in meta.planned:
        planned_of[cell_key(planned.cell)][planned.repeat].append(planned.run)
    ended = {record.run for record in records}
    every = all(planned.run in ended for planned in meta.planned)
    return Study(
        experiment=experiment,
        meta=meta,
        roles=roles_of(experiment),
        metrics=compared,
        shown=tuple(dict.fromkeys((*compared, *also))),
        records=records,
        measured=measured,
        by_cell=by_cell,
        planned_of=planned_of,
        ended=ended,
        finished=meta.finished is not None or (every and not is_open(experiment)),
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """A run's value of a metric, None if it has none. For a percentile, also the histogram that
    it was read from."""

    value: float | None
    histogram: str | None


def reading_of(metric: Metric, run: RunRecord) -> Reading:
    """Read a run."""
    value = metric.value(run)
    if metric.histogram is None or value is None:
        return Reading(value, None)
    return Reading(value, metric.histogram.read(run) or None)


def log_ratio(metric: Metric, pairs: Sequence[tuple[Reading, Reading]]) -> float:
    """ln(level / baseline) from all blocks of one repeat together; NaN if it is not known.

    Args:
        pairs: see `logs_of_sides`.
    """
    baseline, level = logs_of_sides(metric, pairs)
    return level - baseline


def logs_of_sides(metric: Metric, pairs: Sequence[tuple[Reading, Reading]]) -> tuple[float, float]:
    """The logarithms of the baseline's figure and of the level's, from all blocks of one repeat
    together; NaN if one is not known.

    Args:
        pairs: the baseline's figure and the level's, of each block.
    """
    if not pairs:
        return math.nan, math.nan
    baseline, level = (_log_of(metric, side) for side in zip(*pairs, strict=True))
    return baseline, level


def _log_of(metric: Metric, runs: Sequence[Reading]) -> float:
    if metric.histogram is not None and len(runs) > 1:
        return _log(_percentile(metric, runs))
    return math.fsum(_log(run.value) for run in runs) / len(runs)


def _percentile(metric: Metric, runs: Sequence[Reading]) -> float | None:
    """The percentile of all queries of the runs; percentiles cannot be averaged."""
    assert metric.quantile is not None
    logs = [run.histogram for run in runs if run.histogram is not None]
    if len(logs) < len(runs):
        return None
    return merge_percentiles(logs, [metric.quantile])[metric.quantile]


def _log(value: float | None) -> float:
    return math.log(value) if value is not None and math.isfinite(value) and value > 0 else math.nan


QUERIES = metric_of("round_trips_per_event")


def pairs_under(study: Study, treatment: str) -> list[list[tuple[RunRecord, RunRecord]]]:
    """Runs of baseline and level under a treatment, block by block, by repeat."""
    roles = study.roles
    assert roles.compared is not None and roles.baseline is not None
    cells = [
        {TREATMENT.path: treatment, roles.compared.path: level}
        for level in (roles.baseline, roles.others[0])
    ]
    return list(study.blocks_in_common(*cells).values())


def sides_under(study: Study, treatment: str) -> np.ndarray:
    """The logarithms of the baseline's figure and of the level's under a treatment, in columns; a
    row each repeat, NaN if it was not measured."""
    return sides_of(study, pairs_under(study, treatment))


def sides_of(study: Study, pairs: Iterable[Sequence[tuple[RunRecord, RunRecord]]]) -> np.ndarray:
    """The same of runs side by side."""
    metric = study.metrics[0]
    read = ([(_per_event(metric, a), _per_event(metric, b)) for a, b in both] for both in pairs)
    return np.array([logs_of_sides(metric, both) for both in read]).reshape(-1, 2)


def ratios_of(sides: np.ndarray) -> np.ndarray:
    """ln(level / baseline) by repeat."""
    ratios: np.ndarray = sides[:, 1] - sides[:, 0]
    return ratios


def _per_event(metric: Metric, run: RunRecord) -> Reading:
    """A run's value of the metric, with events per second in place of queries per second: a
    treatment may do the same work in fewer queries."""
    found = reading_of(metric, run)
    queries = QUERIES.value(run) if metric.name == THROUGHPUT else None
    return found if not queries or found.value is None else Reading(found.value / queries, None)
