"""The runs of a folder, sorted into cells and pairs. What every part of the report reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from contend.metrics import Metric, metric_of
from contend.report.roles import Roles, roles_of
from contend.spec import CellSpec, Experiment, Level, cell_spec, from_dict
from contend.store import Meta, RunFolder, RunRecord

CellKey = tuple[tuple[str, bool, Level], ...]


def cell_key(cell: Mapping[str, Level]) -> CellKey:
    """A cell as a key. `true` is not 1 here, though Python says so."""
    return tuple(sorted((path, isinstance(level, bool), level) for path, level in cell.items()))


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment and what was measured of it.

    `metrics` is what is compared: the first decides, the others stand beside it.
    `measured` has the runs that count, one a planned run at most; `records` has everything.
    `voided` has the places, block and cell, of runs that ended without a measurement.
    """

    experiment: Experiment
    meta: Meta
    roles: Roles
    metrics: tuple[Metric, ...]
    records: Sequence[RunRecord]
    measured: Sequence[RunRecord]
    by_cell: Mapping[CellKey, Sequence[RunRecord]]
    by_block: Mapping[int, Mapping[CellKey, RunRecord]]
    voided: Set[tuple[int, CellKey]]
    blocks_of_cell: Mapping[CellKey, Sequence[int]]
    _specs: dict[CellKey, CellSpec] = field(default_factory=dict)

    def spec_of(self, cell: Mapping[str, Level]) -> CellSpec:
        """All that a cell is, made once for its many runs."""
        key = cell_key(cell)
        if key not in self._specs:
            self._specs[key] = cell_spec(self.experiment, cell)
        return self._specs[key]

    def runs_of(self, cell: Mapping[str, Level]) -> Sequence[RunRecord]:
        """Measured runs of a cell."""
        return self.by_cell.get(cell_key(cell), ())

    def pairs(
        self, baseline: Mapping[str, Level], level: Mapping[str, Level]
    ) -> tuple[list[tuple[RunRecord, RunRecord]], int]:
        """Neighbours of the same block, in order of time, and how many pairs a failed or lost run
        cost. A run that nobody has come to yet costs none: its pair is still to come.
        """
        one, other = cell_key(baseline), cell_key(level)
        pairs: list[tuple[RunRecord, RunRecord]] = []
        lost = 0
        for block in self.blocks_of_cell.get(other, ()):
            runs = self.by_block.get(block, {})
            if one in runs and other in runs:
                pairs.append((runs[one], runs[other]))
            elif (block, one) in self.voided or (block, other) in self.voided:
                lost += 1
        return pairs, lost


def study_of(folder: RunFolder, metrics: Sequence[str] = ()) -> Study:
    """Read a run folder into a study that compares `metrics`; without them, the experiment's."""
    meta = folder.meta()
    experiment = from_dict(meta.experiment)
    records = folder.records()
    measured = [record for record in records if record.status == "ok" and record.done]
    by_cell: dict[CellKey, list[RunRecord]] = defaultdict(list)
    by_block: dict[int, dict[CellKey, RunRecord]] = defaultdict(dict)
    for record in measured:
        key = cell_key(record.cell)
        by_cell[key].append(record)
        by_block[record.block][key] = record
    blocks_of_cell: dict[CellKey, list[int]] = defaultdict(list)
    for planned in meta.planned:
        blocks_of_cell[cell_key(planned.cell)].append(planned.block)
    return Study(
        experiment=experiment,
        meta=meta,
        roles=roles_of(experiment),
        metrics=tuple(map(metric_of, metrics or experiment.compare.metric)),
        records=records,
        measured=measured,
        by_cell=by_cell,
        by_block=by_block,
        voided={(record.block, cell_key(record.cell)) for record in records if not record.done},
        blocks_of_cell=blocks_of_cell,
    )
