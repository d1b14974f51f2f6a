"""The measurements so far, as input for planning more: log ratios by repeat, block and round, and
the duration of an answer."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contend.experiment import Cell, CellKey, Experiment, Level, cell_key, contexts, roles_of
from contend.findings import (
    Disturbed,
    Reading,
    SliceRatios,
    covariates_of,
    disturbed,
    log_ratio,
    pairs_of,
    reading_of,
    side_by_side,
)
from contend.lab.timing import times_of
from contend.metrics import metric_of
from contend.stats import Components, TableShape
from contend.store import RunRecord


def is_sliced(record: RunRecord) -> bool:
    """Whether the run was made in slices."""
    return bool(record.intervals) and "slices" in record.plan["load"]


@dataclass(frozen=True, slots=True)
class _Run:
    """The stored part of a run."""

    readings: Sequence[Reading]
    disturbed: Disturbed


class Observations:
    """The runs of an experiment in a few numbers."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._contexts = contexts(experiment)
        self._roles = roles_of(experiment)
        self._metrics = [metric_of(name) for name in experiment.compare.deciding]
        self._runs: dict[int, dict[CellKey, dict[int, _Run]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        self._ratios: dict[int, list[np.ndarray]] = {}
        """Cache, for repeats without new runs."""
        baseline = experiment.compare.baseline
        self._slices = [
            SliceRatios(path, level, metric)
            for path, level in baseline.items()
            for metric in self._metrics
        ]
        self._times: dict[CellKey, dict[str, float]] = defaultdict(dict)
        """Median seconds of each kind of event by context, of the slowest level."""
        self.round_s: dict[CellKey, float] = {}
        """Duration of a round of slices by context, with everything between them."""
        self.pause_s: dict[CellKey, float] = {}
        """Unmeasured time before each slice."""
        self._of_block: dict[CellKey, tuple[int, Mapping[str, float]]] = {}

    @property
    def repeats(self) -> int:
        """Number of repeats with values, including unfinished ones."""
        return len(self._runs)

    @property
    def others(self) -> list[Level]:
        """The levels that are compared with the baseline."""
        return self._roles.others

    def context(self, cell: Cell) -> CellKey:
        """The conditions of a run, without its level."""
        compared = self._experiment.compare.baseline
        return cell_key({path: level for path, level in cell.items() if path not in compared})

    def spread_of(self, context: CellKey) -> float:
        """Standard deviation of a context's rounds over the mean of all contexts'; 1 if unknown."""
        spreads = self._slices[0].spreads() if self._slices else {}
        if context not in spreads or len(spreads) < len(self._contexts):
            return 1.0
        mean = statistics.mean(spreads.values())
        return spreads[context] / mean if mean > 0 else 1.0

    def components(self) -> Components | None:
        """The sources of noise of the first metric; None if nothing was measured in slices."""
        return self._slices[0].components() if self._slices else None

    def components_of_each(self) -> list[Components | None]:
        """The same of every metric that decides; empty if nothing is compared."""
        return [one.components() for one in self._slices]

    def add(self, records: Sequence[RunRecord]) -> None:
        """Add stored runs, those of a block together."""
        measured = [record for record in records if record.status == "ok" and record.done]
        for record in measured:
            readings = [reading_of(metric, record) for metric in self._metrics]
            if any(one.value is not None and one.value > 0 for one in readings):
                one = _Run(readings, disturbed(self._experiment.compare.adjust, record))
                self._runs[record.repeat][cell_key(record.cell)][record.block] = one
                self._ratios.pop(record.repeat, None)
            if record.done is not None:
                self._add_times(record, times_of(record.done))
        for each in self._slices:
            each.add(measured)
        self._add_rounds(one for one in measured if is_sliced(one))

    def _add_rounds(self, sliced: Iterable[RunRecord]) -> None:
        """The latest block of a context counts."""
        blocks: dict[int, list[RunRecord]] = defaultdict(list)
        for record in sliced:
            blocks[record.block].append(record)
        for block in blocks.values():
            slices = [one for record in block for one in record.intervals]
            took_s = max(one["start_s"] + one["duration_s"] for one in slices)
            context = self.context(block[0].cell)
            # The same slices again for each measurement with the same load on all levels.
            again = 1 + sum(
                any(part in record.probes for record in block) for part in ("equal_load", "alone")
            )
            rounds = max(len(record.intervals) for record in block)
            self.round_s[context] = again * took_s / rounds
            pauses_s = took_s - sum(one["duration_s"] for one in slices)
            self.pause_s[context] = max(0.0, pauses_s / len(slices))

    def response_s(self, context: CellKey) -> float:
        """Duration of an answer there, in seconds: the median of the slowest kind of event; 0 if
        unknown."""
        return max(self._times.get(context, {}).values(), default=0.0)

    @property
    def slowest_s(self) -> float:
        """`response_s` of the slowest context that is known."""
        return max(map(self.response_s, self._times), default=0.0)

    def is_timed(self, context: CellKey) -> bool:
        """Whether the duration of an answer there is known."""
        return bool(self._times.get(context))

    def learn(self, context: CellKey, times: Mapping[str, float]) -> None:
        """Record the duration in seconds of each kind of event there. A kind that did not occur
        keeps its earlier value."""
        known = self._times[context]
        known.update({kind: took for kind, took in times.items() if took > 0})
        if len(known) > 1:
            # An estimate made before the kinds were known.
            known.pop("", None)

    def _add_times(self, record: RunRecord, times: Mapping[str, float]) -> None:
        """The slowest level of the latest block of a context counts."""
        context = self.context(record.cell)
        block, of_block = self._of_block.get(context, (0, {}))
        if block == record.block:
            times = {kind: max(took, of_block.get(kind, 0.0)) for kind, took in times.items()}
        self._of_block[context] = record.block, times
        self.learn(context, times)

    @property
    def shape(self) -> TableShape:
        """The shape of the report's table."""
        return TableShape(len(self._roles.table_contexts()), len(self._roles.column_levels))

    def log_ratios(self, repeats: Sequence[int]) -> list[np.ndarray]:
        """As in a report of these repeats, a table for each metric that decides: repeats x contexts
        (row by row) x levels."""
        shape = (len(repeats), self.shape.contexts, len(self.others))
        tables = [np.full(shape, np.nan) for _ in self._metrics]
        for unit, repeat in enumerate(repeats):
            if repeat not in self._ratios:
                self._ratios[repeat] = self._ratios_of(repeat)
            for table, ratios in zip(tables, self._ratios[repeat], strict=True):
                table[unit] = ratios
        return tables

    def _ratios_of(self, repeat: int) -> list[np.ndarray]:
        found = [np.full((self.shape.contexts, len(self.others)), np.nan) for _ in self._metrics]
        for place, runs in self._pairs(repeat).items():
            for at, (metric, ratios) in enumerate(zip(self._metrics, found, strict=True)):
                pairs = [(one.readings[at], other.readings[at]) for one, other in runs]
                ratios[place] = log_ratio(metric, pairs)
        return found

    def covariates(
        self, repeats: Sequence[int], tables: Sequence[np.ndarray], *, in_slices: bool
    ) -> list[np.ndarray]:
        """The covariates of a report of these repeats, for the given first ones of its tables."""
        if not (names := self._experiment.compare.adjust):
            return []
        pairs = {
            (unit, *place): [(one.disturbed, other.disturbed) for one, other in runs]
            for unit, repeat in enumerate(repeats)
            for place, runs in self._pairs(repeat).items()
        }
        found = [covariates_of(names, pairs, d, in_slices=in_slices).arrays for d in tables]
        return side_by_side(self._metrics[: len(tables)], found)

    def _pairs(self, repeat: int) -> dict[tuple[int, int], list[tuple[_Run, _Run]]]:
        """The runs of the baseline and of the level at each place of the table, block by block."""
        runs, found = self._runs.get(repeat, {}), {}
        for place, baseline, level in pairs_of(self._roles):
            usual, own = runs.get(cell_key(baseline), {}), runs.get(cell_key(level), {})
            found[place] = [(usual[block], own[block]) for block in usual if block in own]
        return found
