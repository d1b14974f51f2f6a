"""What was measured so far, as far as it decides how much more is: log ratios by repeat, block and
round, and how long an answer takes."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from contend.metrics import metric_of
from contend.spec import Cell, CellKey, Experiment, Level, cell_key, contexts, same_level
from contend.stats import Components, estimate_components
from contend.store import RunRecord


@dataclass
class _Scatter:
    """Scatter of log ratios within blocks."""

    squares: float = 0.0
    freedom: int = 0

    def add(self, ratios: Sequence[float]) -> None:
        middle = statistics.fmean(ratios)
        self.squares += sum((one - middle) ** 2 for one in ratios)
        self.freedom += len(ratios) - 1

    @property
    def sd(self) -> float | None:
        return math.sqrt(self.squares / self.freedom) if self.freedom else None


@dataclass
class _Rows:
    """Log ratios of rounds, each with what it lies in."""

    ratios: list[float] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    contexts: list[CellKey] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)


class Learned:
    """The runs of an experiment in a few numbers."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._contexts = contexts(experiment)
        self._values: dict[int, dict[CellKey, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._rows = _Rows()
        self._scatter: dict[CellKey, _Scatter] = defaultdict(_Scatter)
        self.response_s: dict[CellKey, float] = {}
        """Median response time by context."""

    @property
    def repeats(self) -> int:
        """How many have values, those under way too."""
        return len(self._values)

    @property
    def others(self) -> list[Level]:
        """The levels that are compared with the baseline."""
        compared = self._experiment.compared
        levels = compared.levels if compared is not None else ()
        return [level for level in levels if not self._is_baseline(level)]

    def context(self, cell: Cell) -> CellKey:
        """Where a run is made, whatever its level."""
        compared = self._experiment.compare.baseline
        return cell_key({path: level for path, level in cell.items() if path not in compared})

    def spread_of(self, context: CellKey) -> float:
        """Standard deviation of a context's rounds over the mean of all contexts'; 1 if unknown."""
        spreads = {one: sd for one, each in self._scatter.items() if (sd := each.sd) is not None}
        if context not in spreads or len(spreads) < len(self._contexts):
            return 1.0
        return spreads[context] / statistics.mean(spreads.values())

    def components(self) -> Components | None:
        """Where the noise lies, by what was measured so far; None if nothing was in slices."""
        rows = self._rows
        if not rows.ratios:
            return None
        return estimate_components(
            rows.ratios,
            {"unit": rows.units, "block": rows.blocks},
            contexts=rows.contexts,
            levels=rows.levels,
        )

    def learn(self, records: Sequence[RunRecord]) -> None:
        """Take in runs that are stored."""
        value_of = metric_of(self._experiment.compare.metric[0]).value
        by_block: dict[int, list[RunRecord]] = defaultdict(list)
        for record in records:
            by_block[record.block].append(record)
            value = value_of(record) if record.status == "ok" else None
            if value is not None and value > 0:
                self._values[record.repeat][cell_key(record.cell)].append(math.log(value))
        if self._experiment.compared is not None:
            for block in by_block.values():
                self._learn_rounds([one for one in block if one.status == "ok"])

    def _learn_rounds(self, block: Sequence[RunRecord]) -> None:
        compared = self._experiment.compared
        assert compared is not None
        baseline = next((r for r in block if self._is_baseline(r.cell[compared.path])), None)
        if baseline is None:
            return
        usual = {one["index"]: one["qps"] for one in baseline.intervals}
        context = self.context(baseline.cell)
        self.response_s[context] = max(r.done["latency_us"]["p50"] for r in block if r.done) / 1e6
        rows = self._rows
        for record in block:
            if record is baseline or "slices" not in record.plan["load"]:
                continue
            ratios = [
                math.log(one["qps"] / usual[one["index"]])
                for one in record.intervals
                if one["qps"] > 0 and usual.get(one["index"], 0) > 0
            ]
            rows.ratios += ratios
            rows.units += [record.repeat] * len(ratios)
            rows.blocks += [record.block] * len(ratios)
            rows.contexts += [context] * len(ratios)
            rows.levels += [record.cell[compared.path]] * len(ratios)
            if ratios:
                self._scatter[context].add(ratios)

    def _is_baseline(self, level: object) -> bool:
        (baseline,) = self._experiment.compare.baseline.values()
        return same_level(level, baseline)

    def wholes(self, repeats: Sequence[int]) -> np.ndarray:
        """Log ratio of each level as a whole, a row for each of these repeats."""
        rows = np.array([self._whole(self._values.get(repeat, {})) for repeat in repeats])
        return rows.reshape(len(repeats), len(self.others))

    def _whole(self, values: Mapping[CellKey, Sequence[float]]) -> list[float]:
        """Log ratio of each level as a whole in one repeat."""
        compared = self._experiment.compared
        if compared is None:
            return []
        (baseline,) = self._experiment.compare.baseline.values()
        whole = []
        for level in self.others:
            ratios = [
                statistics.mean(values[one]) - statistics.mean(values[other])
                for context in self._contexts
                if (one := cell_key({**context, compared.path: level})) in values
                and (other := cell_key({**context, compared.path: baseline})) in values
            ]
            whole.append(statistics.mean(ratios) if ratios else math.nan)
        return whole
