"""Comparisons slice by slice, or block by block: the log ratios, and where their noise lies."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from contend.experiment import CellKey, Level, cell_key, same_level
from contend.findings.study import Study, log_ratio, reading_of
from contend.metrics import EVENTS, SECONDS, THROUGHPUT, Metric, metric_of
from contend.stats import Components, estimate_components
from contend.store import RunRecord


@dataclass
class _Scatter:
    """Scatter of log ratios within blocks."""

    squares: float = 0.0
    freedom: int = 0

    def add(self, ratios: list[float]) -> None:
        middle = statistics.fmean(ratios)
        self.squares += sum((one - middle) ** 2 for one in ratios)
        self.freedom += len(ratios) - 1


@dataclass
class SliceRatios:
    """ln(level / baseline), with the units that contain each value. Queries or events per second
    have one value for each round of slices, and so do the seconds of work that has an end. Any
    other metric belongs to a block as a whole and has one value for each block.

    Args:
        path: of the compared factor.
        baseline: its level that the others are compared with.
    """

    path: str
    baseline: Level
    metric: Metric = field(default_factory=lambda: metric_of(THROUGHPUT))
    ratios: list[float] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    contexts: list[CellKey] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    _rounds: list[int] = field(default_factory=list)
    _scatter: dict[CellKey, _Scatter] = field(default_factory=lambda: defaultdict(_Scatter))

    def add(self, runs: Iterable[RunRecord]) -> None:
        """Add measured runs of whole blocks; runs without slices are skipped."""
        blocks: dict[int, list[RunRecord]] = defaultdict(list)
        for run in runs:
            if "slices" in run.plan["load"]:
                blocks[run.block].append(run)
        for block in blocks.values():
            self._add_block(block)

    def _add_block(self, block: list[RunRecord]) -> None:
        baseline = next((r for r in block if same_level(r.cell[self.path], self.baseline)), None)
        if baseline is None:
            return
        context = self.context_of(baseline)
        for run in block:
            own = [] if run is baseline else self._of_run(baseline, run)
            if not own:
                continue
            self.ratios += own
            self.units += [run.repeat] * len(own)
            self.blocks += [run.block] * len(own)
            self.contexts += [context] * len(own)
            self.levels += [run.cell[self.path]] * len(own)
            self._rounds.append(len(run.intervals))
            self._scatter[context].add(own)

    def _of_run(self, baseline: RunRecord, run: RunRecord) -> list[float]:
        if not self._by_rounds:
            pair = reading_of(self.metric, baseline), reading_of(self.metric, run)
            own = log_ratio(self.metric, [pair])
            return [] if math.isnan(own) else [own]
        usual, mine = self._figures_of(baseline), self._figures_of(run)
        return [math.log(mine[place] / usual[place]) for place in mine if place in usual]

    def _figures_of(self, run: RunRecord) -> dict[int, float]:
        """By the number of the round."""
        if self.metric.name == THROUGHPUT:
            return {one["index"]: one["qps"] for one in run.intervals if one["qps"] > 0}
        if self.metric.name == EVENTS:
            return {
                one["index"]: events / one["duration_s"]
                for one in run.intervals
                if (events := one["events_in_parts"]) > 0
            }
        whole = self.metric.value(run) is not None
        return {one["index"]: one["duration_s"] for one in run.intervals if whole}

    @property
    def _by_rounds(self) -> bool:
        return self.metric.name in (THROUGHPUT, EVENTS, SECONDS)

    def context_of(self, run: RunRecord) -> CellKey:
        """The place of a run, for every level."""
        return cell_key({path: level for path, level in run.cell.items() if path != self.path})

    def components(self) -> Components | None:
        """By slices, sets of connections and repeats; None if nothing was in slices."""
        if not self.ratios:
            return None
        if self._by_rounds:
            return estimate_components(
                self.ratios,
                {"unit": self.units, "block": self.blocks},
                contexts=self.contexts,
                levels=self.levels,
            )
        of_blocks = estimate_components(
            self.ratios,
            {"unit": self.units},
            contexts=self.contexts,
            levels=self.levels,
            row="block",
        )
        # A figure of a whole block scatters less if it comes from more slices.
        return of_blocks.by_rounds(statistics.fmean(self._rounds))

    def spreads(self) -> dict[CellKey, float]:
        """Standard deviation of the rounds of a block, by context, if it is known."""
        known = {context: each for context, each in self._scatter.items() if each.freedom}
        return {context: math.sqrt(one.squares / one.freedom) for context, one in known.items()}


def noise_of(study: Study) -> Components | None:
    """Noise of throughput, by slice, connection set and repeat; None if nothing was in slices."""
    roles = study.roles
    if not study.in_slices or roles.compared is None or roles.baseline is None:
        return None
    ratios = SliceRatios(roles.compared.path, roles.baseline)
    ratios.add(study.measured)
    return ratios.components()
