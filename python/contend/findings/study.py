"""A run folder as findings are read off it.

Its records are sorted into cells and repeats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from contend.errors import RequestError
from contend.findings.families import Family, described, family_of
from contend.metrics import ALWAYS_SHOWN, Metric, UnknownMetric, metric_of
from contend.spec import (
    CellKey,
    CellSpec,
    Experiment,
    Level,
    Roles,
    cell_key,
    cell_spec,
    from_dict,
    is_open,
    roles_of,
)
from contend.store import Meta, RunFolder, RunRecord


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment and what was measured of it.

    `metrics` is what is compared: the first decides, the others stand beside it. `shown` is what
    has a table: first those, then what every report shows.
    `measured` has the runs that count, one a planned run at most; `records` has everything.
    `by_cell` has the measured runs of a cell by their repeat, `planned_of` the planned ones.
    `ended` has the numbers of all runs that ended, however they did.
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

    def family(self, name: str) -> Family:
        """One of the experiment's families, see `family_of`."""
        return family_of(self.experiment, name)

    def family_of(self, metric: Metric) -> Family:
        """That of a metric that is compared."""
        names = self.experiment.compare.metric
        if metric.name not in names:
            return self.family("asked")
        return self.family("first" if metric.name == names[0] else "metrics")

    @property
    def described(self) -> Family:
        """Of figures, whose intervals hold each for itself."""
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
    def finished(self) -> bool:
        """Whether nothing more is to be measured."""
        if self.meta.finished is not None:
            return True
        every = all(planned.run in self.ended for planned in self.meta.planned)
        return every and not is_open(self.experiment)

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
        self, baseline: Mapping[str, Level], level: Mapping[str, Level], repeat: int
    ) -> list[tuple[RunRecord, RunRecord]]:
        """The runs of both cells in one repeat, those of one block side by side."""
        others = {run.block: run for run in self.repeats_of(level).get(repeat, ())}
        return [
            (run, others[run.block])
            for run in self.repeats_of(baseline).get(repeat, ())
            if run.block in others
        ]

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
            hint="Name others, such as --metric qps: what was measured is there.",
        ) from None


def study_of(
    folder: RunFolder,
    metrics: Sequence[str] = (),
    *,
    percentiles: bool = True,
    by_seconds: Set[str] = frozenset(),
) -> Study:
    """Read a run folder into a study that compares `metrics`; without them, the experiment's.

    Without `percentiles`, those that are not compared are not shown, and no histogram is read.
    `by_seconds` has the names of causes that look at a run interval by interval.
    """
    meta = folder.meta()
    experiment = from_dict(meta.experiment)
    compared = tuple(_known(name, folder) for name in metrics or experiment.compare.metric)
    also = (one for one in ALWAYS_SHOWN if percentiles or one.histogram is None)
    # Of runs of their own, hardly anybody looks at the seconds.
    wanted = _is_in_slices(meta) or experiment.explain in by_seconds
    records = folder.records(intervals=wanted)
    measured = [record for record in records if record.status == "ok" and record.done]
    by_cell: dict[CellKey, dict[int, list[RunRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in measured:
        by_cell[cell_key(record.cell)][record.repeat].append(record)
    planned_of: dict[CellKey, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for planned in meta.planned:
        planned_of[cell_key(planned.cell)][planned.repeat].append(planned.run)
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
        ended={record.run for record in records},
    )
