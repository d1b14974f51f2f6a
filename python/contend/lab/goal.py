"""Searches for the highest rate that holds a goal: hands out the runs of each level's search, and
makes them one at a time on servers of their own.

Every run lasts as long as the experiment says, since a queue needs time to build up: levels are not
measured in slices. A block has all levels, each at the rate that its own search wants next. In the
first repeat the searches find the place of the answer; each further repeat starts new servers and
measures that place. The folder holds every run, so a resumed search goes on from the same state.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence

from contend.experiment import (
    Cell,
    Experiment,
    Level,
    Planned,
    blocks_of_levels,
    cell_key,
    cell_spec,
    runs_at_rates,
    same_level,
)
from contend.findings import searches_of
from contend.lab.design import Design, MemoryLayout
from contend.lab.measure import seed_of
from contend.lab.runner import Runner
from contend.lab.testbed import Ready
from contend.lab.walk import PlannedRuns
from contend.store import RunFolder, RunRecord

OVERHEAD_S = 0.5
"""Estimated time around a run: connecting, counters, settings."""

RUNS_OF_FIRST, RUNS_OF_REPEAT = 8, 2
"""Expected number of runs of a level in the first repeat, and in each further one."""


class GoalSchedule(PlannedRuns):
    """Hands out one run at a time, and adds blocks while a search wants more."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        design: Design,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(experiment, folder, design, clock)
        assert experiment.goal is not None
        self._records = list(folder.records(intervals=False))
        self._searches = searches_of(experiment, self._records)

    @property
    def left_s(self) -> float | None:
        """The given time, or an estimate for the repeats that the experiment wants."""
        compare, left_s = self._experiment.compare, self.effort.left_s
        if not math.isinf(left_s):
            return max(0.0, left_s)
        cells = [(cell, 0.0) for block in blocks_of_levels(self._experiment) for cell in block]
        last = self._planned[-1]
        done = sum(run.repeat == 1 for run in self._planned) / len(cells)
        first = max(0.0, RUNS_OF_FIRST - done) if last.repeat == 1 else 0.0
        fresh = compare.repeats + 1 - max(1, last.repeat)
        return self._takes_s([cells]) * (first + RUNS_OF_REPEAT * max(0, fresh))

    def next(self) -> list[Planned]:
        """The next run; at the end, which is stored with its reason, an empty list."""
        run = self._next_planned() or self._extended(self._more())
        return [] if run is None else [run]

    def ended(self, records: Sequence[RunRecord]) -> None:
        self._ended |= {record.run for record in records}
        self._records += records
        # A knee's limit, and so what earlier runs mean, follows from all runs so far.
        self._searches = searches_of(self._experiment, self._records)

    def _more(self) -> tuple[Planned, ...] | str:
        """The runs to add, or why none is."""
        repeat = max(run.repeat for run in self._planned)
        blocks = self._blocks(repeat)
        if not blocks:
            if (why := self._why_over(repeat)) is not None:
                return why
            repeat += 1
            blocks = self._blocks(repeat)
        if self._ended and self.effort.left_s < self._takes_s(blocks):
            return f"the time is up: {self._counted(repeat - 1)}"
        return runs_at_rates(self._experiment, self._planned, repeat, blocks)

    def _blocks(self, repeat: int) -> list[list[tuple[Cell, float]]]:
        """The blocks that the searches want in this repeat; none if it is complete."""
        found = []
        for cells in blocks_of_levels(self._experiment):
            rates = [self._searches[cell_key(cell)].wanted(repeat) for cell in cells]
            # Every other repeat begins with the higher rates.
            turned = [list(one)[:: -1 if repeat % 2 else 1] for one in rates]
            for of_block in itertools.zip_longest(*turned):
                pairs = zip(cells, of_block, strict=True)
                found.append([(cell, rate) for cell, rate in pairs if rate is not None])
        return found

    def _why_over(self, repeat: int) -> str | None:
        """Why no repeat after this complete one is begun; the first is not counted."""
        compare, fresh = self._experiment.compare, repeat - 1
        is_limited = compare.until is not None or compare.at_most_s is not None
        if fresh < compare.repeats:
            return None
        if not is_limited:
            return self._counted(fresh)
        if compare.until is None:
            return None
        answers = [one.answer(compare.confidence) for one in self._searches.values()]
        if all(
            one.is_certain
            and (one.kind != "found" or one.rate.high / one.rate.mean - 1 <= compare.until)
            for one in answers
        ):
            return f"the intervals are narrow enough: {self._counted(fresh)}"
        return None

    def _takes_s(self, blocks: Sequence[Sequence[tuple[Cell, float]]]) -> float:
        specs = [cell_spec(self._experiment, cell) for block in blocks for cell, _ in block]
        return math.fsum(one["load.warmup"] + one["load.measure"] + OVERHEAD_S for one in specs)

    def _counted(self, fresh: int) -> str:
        return f"{fresh} repeat{'' if fresh == 1 else 's'} after the search"


class GoalRunner(Runner):
    """Makes each run by itself. With several servers each level has its own, and the others do
    nothing meanwhile; all are started again in every repeat."""

    def set(
        self, runs: Sequence[Planned], having: Mapping[str, Level] | None = None
    ) -> list[Ready]:
        (run,) = runs
        if run.repeat != self._repeat:
            for testbed in self._testbeds:
                testbed.start_anew(MemoryLayout().apply)
            self._repeat = run.repeat
        cell = cell_spec(self._experiment, {**run.cell, **(having or {})})
        return [self._testbeds[self._index(run)].set(cell, seed_of(run, cell))]

    def measure(self, runs: Sequence[Planned], readies: Sequence[Ready]) -> list[RunRecord]:
        records = super().measure(runs, readies)
        cells = [cell_spec(self._experiment, run.cell) for run in runs]
        self._look_at_drift(cells, records)
        return records

    def _index(self, run: Planned) -> int:
        """Levels change places from repeat to repeat, unless servers are levels by themselves."""
        compared = self._experiment.compared
        if compared is None:
            return 0
        level = run.cell[compared.path]
        index = next(n for n, each in enumerate(compared.levels) if same_level(each, level))
        turn = run.repeat if self._testbeds[0].own else 0
        return (index + turn) % len(self._testbeds)
