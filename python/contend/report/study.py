"""A run folder as the report reads it.

Its records are sorted into cells and pairs, and each factor has a part: one is compared, one makes
the columns, and each combination of the rest makes a table.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from contend.metrics import ALWAYS_SHOWN, Metric, metric_of
from contend.spec import (
    CellKey,
    CellSpec,
    Experiment,
    Factor,
    Level,
    cell_key,
    cell_spec,
    from_dict,
    same_level,
)
from contend.store import Meta, RunFolder, RunRecord

CONNECTIONS = "load.connections"


@dataclass(frozen=True, slots=True)
class Roles:
    """`baseline` is the level of `compared` that the others are compared with.

    If nothing is compared, `compared` is the factor that makes the rows, and `baseline` None.
    `order` has the paths of all factors as the file has them.
    """

    compared: Factor | None
    baseline: Level | None
    columns: Factor | None
    tables: tuple[Factor, ...]
    order: tuple[str, ...]

    @property
    def levels(self) -> tuple[Level | None, ...]:
        """The rows: the baseline first; one nameless row if there is no factor for them."""
        if self.compared is None:
            return (None,)
        return tuple(
            sorted(self.compared.levels, key=lambda level: not same_level(level, self.baseline))
        )

    @property
    def column_levels(self) -> tuple[Level | None, ...]:
        return self.columns.levels if self.columns else (None,)

    def table_contexts(self) -> list[dict[str, Level]]:
        """The levels of each table, in file order; one empty context if there is one table."""
        paths = [factor.path for factor in self.tables]
        combinations = itertools.product(*(factor.levels for factor in self.tables))
        return [dict(zip(paths, levels, strict=True)) for levels in combinations]

    def cell(
        self, table: Mapping[str, Level], column: Level | None, level: Level | None
    ) -> dict[str, Level]:
        """The cell at one place of the layout."""
        cell = dict(table)
        if self.columns is not None and column is not None:
            cell[self.columns.path] = column
        if self.compared is not None and level is not None:
            cell[self.compared.path] = level
        return {path: cell[path] for path in self.order if path in cell}


def roles_of(experiment: Experiment) -> Roles:
    """The published tables' columns if there are such, else the connections, else the factor
    with most levels."""
    compared = experiment.compared
    baseline = experiment.compare.baseline[compared.path] if compared else None
    rest = [factor for factor in experiment.factors if factor is not compared]
    columns = _columns(experiment, rest)
    rest = [factor for factor in rest if factor is not columns]
    if compared is None and rest:
        compared = max(rest, key=lambda factor: len(factor.levels))
        rest = [factor for factor in rest if factor is not compared]
    order = tuple(factor.path for factor in experiment.factors)
    return Roles(compared, baseline, columns, tuple(rest), order)


def _columns(experiment: Experiment, candidates: list[Factor]) -> Factor | None:
    wanted = [published.columns_path for published in experiment.published] + [CONNECTIONS]
    for path in wanted:
        for factor in candidates:
            if factor.path == path:
                return factor
    return max(candidates, key=lambda factor: len(factor.levels), default=None)


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment and what was measured of it.

    `metrics` is what is compared: the first decides, the others stand beside it. `shown` is what
    has a table: first those, then what every report shows.
    `measured` has the runs that count, one a planned run at most; `records` has everything.
    `voided` has the places, block and cell, of runs that ended without a measurement.
    """

    experiment: Experiment
    meta: Meta
    roles: Roles
    metrics: tuple[Metric, ...]
    shown: tuple[Metric, ...]
    records: Sequence[RunRecord]
    measured: Sequence[RunRecord]
    by_cell: Mapping[CellKey, Sequence[RunRecord]]
    by_block: Mapping[int, Mapping[CellKey, RunRecord]]
    voided: Set[tuple[int, CellKey]]
    blocks_of_cell: Mapping[CellKey, Sequence[int]]

    def spec_of(self, cell: Mapping[str, Level]) -> CellSpec:
        """All that a cell is."""
        return cell_spec(self.experiment, cell)

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


def study_of(folder: RunFolder, metrics: Sequence[str] = (), *, percentiles: bool = True) -> Study:
    """Read a run folder into a study that compares `metrics`; without them, the experiment's.

    Without `percentiles`, those that are not compared are not shown, and no histogram is read.
    """
    meta = folder.meta()
    experiment = from_dict(meta.experiment)
    compared = tuple(map(metric_of, metrics or experiment.compare.metric))
    also = (one for one in ALWAYS_SHOWN if percentiles or one.histogram is None)
    records = folder.records(intervals=False)
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
        metrics=compared,
        shown=tuple(dict.fromkeys((*compared, *also))),
        records=records,
        measured=measured,
        by_cell=by_cell,
        by_block=by_block,
        voided={(record.block, cell_key(record.cell)) for record in records if not record.done},
        blocks_of_cell=blocks_of_cell,
    )
