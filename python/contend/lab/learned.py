"""What was measured so far, as far as it decides how much more is: log ratios by repeat, block and
round, and how long an answer takes."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from contend.metrics import metric_of
from contend.spec import Cell, CellKey, Experiment, Level, cell_key, contexts, same_level
from contend.stats import Components
from contend.store import RunRecord, SliceRatios


class Learned:
    """The runs of an experiment in a few numbers."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._contexts = contexts(experiment)
        self._values: dict[int, dict[CellKey, list[float]]] = defaultdict(lambda: defaultdict(list))
        baseline = experiment.compare.baseline
        self._slices = next((SliceRatios(path, level) for path, level in baseline.items()), None)
        self.response_s: dict[CellKey, float] = {}
        """Median response time by context."""
        self._slowest: dict[CellKey, tuple[int, float]] = {}

    @property
    def repeats(self) -> int:
        """How many have values, those under way too."""
        return len(self._values)

    @property
    def others(self) -> list[Level]:
        """The levels that are compared with the baseline."""
        compared = self._experiment.compared
        if compared is None:
            return []
        baseline = self._experiment.compare.baseline[compared.path]
        return [level for level in compared.levels if not same_level(level, baseline)]

    def context(self, cell: Cell) -> CellKey:
        """Where a run is made, whatever its level."""
        compared = self._experiment.compare.baseline
        return cell_key({path: level for path, level in cell.items() if path not in compared})

    def spread_of(self, context: CellKey) -> float:
        """Standard deviation of a context's rounds over the mean of all contexts'; 1 if unknown."""
        spreads = self._slices.spreads() if self._slices is not None else {}
        if context not in spreads or len(spreads) < len(self._contexts):
            return 1.0
        mean = statistics.mean(spreads.values())
        return spreads[context] / mean if mean > 0 else 1.0

    def components(self) -> Components | None:
        """Where the noise lies; None if nothing was in slices."""
        return self._slices.components() if self._slices is not None else None

    def learn(self, records: Sequence[RunRecord]) -> None:
        """Take in runs that are stored, those of a block together."""
        value_of = metric_of(self._experiment.compare.metric[0]).value
        measured = [record for record in records if record.status == "ok" and record.done]
        for record in measured:
            value = value_of(record)
            if value is not None and value > 0:
                self._values[record.repeat][cell_key(record.cell)].append(math.log(value))
            if record.done is not None:
                self._learn_response(record, record.done["latency_us"]["p50"] / 1e6)
        if self._slices is not None:
            self._slices.add(measured)

    def _learn_response(self, record: RunRecord, response_s: float) -> None:
        """The slowest level of the latest block of a context counts."""
        context = self.context(record.cell)
        block, slowest_s = self._slowest.get(context, (0, 0.0))
        if block == record.block:
            response_s = max(response_s, slowest_s)
        self._slowest[context] = record.block, response_s
        self.response_s[context] = response_s

    def wholes(self, repeats: Sequence[int]) -> np.ndarray:
        """Log ratio of each level as a whole, a row for each of these repeats."""
        rows = np.array([self._whole(self._values.get(repeat, {})) for repeat in repeats])
        return rows.reshape(len(repeats), len(self.others))

    def _whole(self, values: Mapping[CellKey, Sequence[float]]) -> list[float]:
        """Log ratio of each level as a whole in one repeat."""
        compared = self._experiment.compared
        if compared is None:
            return []
        baseline = self._experiment.compare.baseline[compared.path]
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
