"""What is measured next, and when it is enough.

A repeat is the unit that the answer rests on: in slices a set of freshly started servers that is
taken through all contexts. Without a limit of its own an experiment makes `compare.repeats` of
them; with one it goes on repeat by repeat until the answer is narrow enough or the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from contend.lab.design import Design
from contend.lab.effort import Effort
from contend.spec import Experiment, Planned, is_open, next_repeat
from contend.store import Ended, RunFolder, RunRecord


class Schedule:
    """Hands out block by block, and adds repeats as long as the experiment wants more.

    Args:
        experiment: what is planned.
        folder: where it is stored.
        design: in slices a block is made at once.
        clock: seconds.
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        design: Design,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._experiment = experiment
        self._folder = folder
        self._design = design
        self._planned = list(folder.meta().planned)
        before = folder.ended()
        self._ended = {run.run for run in before}
        self.effort = Effort(experiment, design, clock, spent_s=_spent_s(before))
        # What fixed numbers of runs have come to decides nothing.
        if before and (design.in_slices or is_open(experiment)):
            self.effort.observations.add(folder.records())
        self._repeat = 0

    @property
    def blocks(self) -> int:
        """How many are planned by now."""
        return self._planned[-1].block

    @property
    def runs(self) -> int:
        """How many are planned by now."""
        return len(self._planned)

    @property
    def left_s(self) -> float | None:
        """How long the rest takes; None if nobody knows, or if runs of their own are counted."""
        if is_open(self._experiment):
            return self.effort.more_s
        if not self._design.in_slices:
            return None
        left = {run.block for run in self._planned if run.run not in self._ended}
        return self.effort.blocks_s(len(left))

    def is_first(self, run: Planned) -> bool:
        """Whether the run is of the first block."""
        return run.block == self._planned[0].block

    def next(self) -> list[Planned]:
        """The runs that are made next: those of a block in slices, else one. None at the end,
        which is stored with its reason."""
        run = next((each for each in self._planned if each.run not in self._ended), None)
        if run is None or run.repeat != self._repeat:
            if (why := self._why_over(run)) is not None:
                self._folder.finish(why)
                return []
            self.effort.begin_repeat()
            if run is not None:
                of_repeat = {each.block for each in self._planned if each.repeat == run.repeat}
                self.effort.keep_blocks(len(of_repeat))
        if run is None:
            in_slices, blocks = self._design.in_slices, self.effort.blocks
            more = next_repeat(self._experiment, self._planned, in_slices=in_slices, blocks=blocks)
            self._folder.add_planned(more)
            self._planned += more
            run = more[0]
        self._repeat = run.repeat
        if not self._design.in_slices:
            return [run]
        return [each for each in self._planned if each.block == run.block]

    def ended(self, records: Sequence[RunRecord]) -> None:
        """These runs were made and stored."""
        self._ended |= {record.run for record in records}
        self.effort.ended(records)

    def _why_over(self, run: Planned | None) -> str | None:
        """Why no further repeat is begun; `run` is its first, if it is planned already."""
        if not is_open(self._experiment):
            return "every planned run was made" if run is None else None
        if not self._ended:
            # That the time suffices for one look was seen to before.
            return None
        left = {each.repeat for each in self._planned if each.run not in self._ended}
        made = sorted({each.repeat for each in self._planned} - left)
        seen = self.effort.progress(made)
        if not seen.stop:
            return None
        if self._experiment.compared is None:
            return f"{seen.reason}: {len(made)} repeat{'' if len(made) == 1 else 's'}"
        return f"{seen.reason}: {seen.words()}"


def _spent_s(ended: Sequence[Ended]) -> float:
    """What earlier sessions have measured: their blocks from begin to end."""
    spans: dict[int, list[Ended]] = {}
    for run in ended:
        spans.setdefault(run.block, []).append(run)
    return sum(
        max(run.ended_s for run in block) - min(run.started_s for run in block)
        for block in spans.values()
    )
