"""Makes all runs of a plan, one after another, and stores each when it ends; chooses the next run,
and decides when to stop.

A repeat is the unit of replication: in slices, a set of freshly started servers that goes through
all contexts. Without a limit of its own an experiment makes `compare.repeats` of them; with one it
continues until the answer is narrow enough or the time is up. A run of treatments measures those of
a candidate until it is decided, and also ends when all are.

Failures are recorded and the walk continues, because one bad cell must not cost a night's work. It
ends where continuing is useless: nothing was measured yet and the first cell cannot be set up; the
first block, which holds every compared level, has a level that is refused; the data are not
available; or one run after another fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from contend.data import LoadingDeclined, LoadingFailed, NoRoomForDataset
from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import (
    Cell,
    CellKey,
    Experiment,
    Level,
    Planned,
    cell_specs,
    is_open,
    next_repeat,
    without_metric,
)
from contend.experiment.settings.treatments import TREATMENT, UNTREATED
from contend.findings import study_of
from contend.lab.design import Design
from contend.lab.effort import Effort
from contend.lab.events import Listener, RunBegan, RunEnded
from contend.lab.measure import exit_behind, now, without_result
from contend.lab.runner import Runner
from contend.lab.shared_host import HostWatch
from contend.metrics import metric_of
from contend.store import Ended, RunFolder, RunRecord
from contend.why.tried import LOOKS as LOOKS_AT_WHY
from contend.why.tried import open_treatments, tried_of, why_decided


class RunSchedule(Protocol):
    """Decides which runs are made."""

    @property
    def effort(self) -> Effort: ...
    @property
    def blocks(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def left_s(self) -> float | None: ...
    def is_first(self, run: Planned) -> bool: ...
    def next(self) -> list[Planned]: ...
    def ended(self, records: Sequence[RunRecord]) -> None: ...


class PlannedRuns:
    """The runs of a folder, planned and ended: what every schedule keeps."""

    effort_class: type[Effort] = Effort

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
        self.effort = self.effort_class(experiment, design, clock, spent_s=spent_s(before))

    @property
    def blocks(self) -> int:
        return self._planned[-1].block

    @property
    def runs(self) -> int:
        return len(self._planned)

    def is_first(self, run: Planned) -> bool:
        return run.block == self._planned[0].block

    def _next_planned(self) -> Planned | None:
        return next((each for each in self._planned if each.run not in self._ended), None)

    def _extended(self, more: tuple[Planned, ...] | str) -> Planned | None:
        """Plan these runs, and return the first of them; None at the end, whose reason is stored
        instead."""
        if isinstance(more, str):
            self._folder.finish(more)
            return None
        self._folder.add_planned(more)
        self._planned += more
        return more[0]


class Schedule(PlannedRuns):
    """Hands out one block at a time, and adds repeats while the experiment wants more.

    Args:
        design: in slices, all runs of a block are made together.
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        design: Design,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(experiment, folder, design, clock)
        # Results of a fixed number of runs decide nothing.
        if self._ended and (design.in_slices or is_open(experiment)):
            self.effort.observations.add(folder.records())
        self._repeat = 0
        self._treatments: frozenset[Level] | None = None
        """Treatments that are still measured; None: all of them."""

    @property
    def left_s(self) -> float | None:
        """Duration of the rest; None if unknown, or if separate runs are counted."""
        if is_open(self._experiment):
            return self.effort.more_s
        if not self._design.in_slices:
            return None
        left = {run.block for run in self._planned if run.run not in self._ended}
        return self.effort.blocks_s(len(left))

    def next(self) -> list[Planned]:
        """The next runs: those of a block in slices, else one. At the end, which is stored with its
        reason, an empty list."""
        if self.effort.is_long and is_open(self._experiment):
            self._drop_second_blocks()
        run = self._next_planned()
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
            more = next_repeat(
                self._experiment,
                self._planned,
                in_slices=in_slices,
                blocks=blocks,
                wanted=self._is_wanted,
            )
            self._folder.add_planned(more)
            self._planned += more
            run = more[0]
        self._repeat = run.repeat
        if not self._design.in_slices:
            return [run]
        return [each for each in self._planned if each.block == run.block]

    def _drop_second_blocks(self) -> None:
        """The first repeat was planned before its slices were known to take long."""
        seen: dict[CellKey, int] = {}
        second = []
        for run in self._planned:
            block = seen.setdefault(self.effort.observations.context(run.cell), run.block)
            if run.repeat == 1 and run.block != block and run.run not in self._ended:
                second.append(run)
        if second:
            self._folder.drop_planned(second)
            self._planned = [run for run in self._planned if run not in second]

    def ended(self, records: Sequence[RunRecord]) -> None:
        self._ended |= {record.run for record in records}
        self.effort.ended(records)

    def _why_over(self, run: Planned | None) -> str | None:
        """Why no further repeat is begun; `run` is its first, if it is planned already."""
        if not is_open(self._experiment):
            return "all planned runs are done" if run is None else None
        if not self._ended:
            # An earlier check showed that the time suffices for one look.
            return None
        left = {each.repeat for each in self._planned if each.run not in self._ended}
        made = sorted({each.repeat for each in self._planned} - left)
        seen = self.effort.progress(made)
        if not seen.stop:
            return self._why_decided(len(made))
        if self._experiment.compared is None:
            return f"{seen.reason}: {len(made)} repeat{'' if len(made) == 1 else 's'}"
        return f"{seen.reason}: {seen.words()}"

    def _why_decided(self, repeats: int) -> str | None:
        """Why a run of treatments ends early; None for other runs. Decided treatments are measured
        no longer."""
        if "why" not in self._folder.meta().facts:
            return None
        if self._treatments is not None and repeats not in LOOKS_AT_WHY:
            return None
        tried = tried_of(study_of(self._folder, percentiles=False))
        if tried is not None:
            self._treatments = frozenset({UNTREATED, *open_treatments(tried)})
            self.effort.measure_only(self._is_wanted)
        return why_decided(tried)

    def _is_wanted(self, cell: Cell) -> bool:
        return self._treatments is None or cell[TREATMENT.path] in self._treatments


def spent_s(ended: Sequence[Ended]) -> float:
    """Time that earlier sessions measured: their blocks from begin to end."""
    spans: dict[int, list[Ended]] = {}
    for run in ended:
        spans.setdefault(run.block, []).append(run)
    return sum(
        max(run.ended_s for run in block) - min(run.started_s for run in block)
        for block in spans.values()
    )


NO_DATA = (NoRoomForDataset, LoadingDeclined, LoadingFailed)
"""The next run would load for minutes and fail again."""

FAILURES_MAX = 5
"""Blocks in a row without a result after which the walk ends; a separate run counts as one, and the
first try of a treatment does not count."""

FAILURES_OF_SEARCH_MAX = 20
"""The same for a search for a rate, in which a server may die at every rate that is too high."""

NOT_UNDERSTOOD = frozenset({1054, 1064, 1146, 1305})
"""Error codes of servers for wrong syntax, or an unknown column, table or function."""


def walk(
    experiment: Experiment,
    folder: RunFolder,
    schedule: RunSchedule,
    runner: Runner,
    listen: Listener,
    watch: HostWatch | None = None,
) -> None:
    """Make every run that the schedule hands out.

    Args:
        watch: samples the host around each block; the default samples nothing.

    Raises:
        WorkError: several blocks in a row gave no result.
        ContendError: the server or its data cannot be provided as the experiment wants them. That
            run is not recorded, so that it is made once the cause is gone.
    """
    watch = watch or HostWatch()
    measured = any(run.status == "ok" for run in folder.ended())
    in_a_row: list[RunRecord] = []
    first_runs: list[RunRecord] = []
    while runs := schedule.next():
        for run in runs:
            listen(
                RunBegan(
                    run.run,
                    run.block,
                    schedule.blocks,
                    run.cell,
                    schedule.runs,
                    schedule.left_s,
                    run.repeat,
                )
            )
        first_block = schedule.is_first(runs[0])
        first_try = _is_first_try(runs[0])
        records = _attempt(
            runs,
            runner,
            schedule,
            watch,
            measured=measured or first_try,
            first=first_block and not first_try,
        )
        folder.append(*records)
        schedule.ended(records)
        for record in records:
            listen(RunEnded(record))
        if first_block and not measured and _asks_sql(experiment):
            _must_be_understood(records)
        if first_block and all(record.status == "ok" for record in records):
            first_runs += records
            _must_have_metrics(experiment, first_runs, folder.meta().planned)
        if any(record.status == "ok" for record in records):
            measured = True
            in_a_row = []
        elif not first_try:
            in_a_row += records[-1:]
        if len(in_a_row) >= (FAILURES_MAX if experiment.goal is None else FAILURES_OF_SEARCH_MAX):
            raise _too_many(in_a_row, folder)


def _is_first_try(run: Planned) -> bool:
    """Whether the run is the first one of a treatment, which may be refused for a reason of its own
    that does not affect the others."""
    return run.repeat == 1 and run.cell.get(TREATMENT.path, UNTREATED) != UNTREATED


def _asks_sql(experiment: Experiment) -> bool:
    """The statements were written for this experiment; a script or a file may have its reasons."""
    return all(cell.workload.kind == "sql" for cell in cell_specs(experiment))


def _must_be_understood(records: list[RunRecord]) -> None:
    errors = [record.error or {} for record in records]
    if all(error.get("code") in NOT_UNDERSTOOD for error in errors):
        first = errors[0]
        raise RequestError(first["message"], hint=first["hint"], detail=first["statement"])


def _must_have_metrics(
    experiment: Experiment, first: list[RunRecord], planned: Sequence[Planned]
) -> None:
    """Missing metrics are reported after one run rather than after all.

    A counter that did not change is not recorded, so it may be missing at some of the levels: one
    that is missing in every run of the first block counts as a wrong name.
    """
    whole = len(first) == sum(run.block == planned[0].block for run in planned)
    for name in experiment.compare.metric:
        if metric_of(name).value(first[-1]) is not None:
            continue
        is_counter = name.startswith("status.")
        if not is_counter or (
            whole and all(metric_of(name).value(record) is None for record in first)
        ):
            raise without_metric(name, first[-1])


def _attempt(
    runs: Sequence[Planned],
    runner: Runner,
    schedule: RunSchedule,
    watch: HostWatch,
    *,
    measured: bool,
    first: bool,
) -> list[RunRecord]:
    """The records of these runs. If something was measured before, an error in preparing a testbed
    fails only these runs; a refusal in the first block ends all."""
    started_at = now()
    ready = False

    def without(error: ContendError, exit_error: ContendError | None) -> list[RunRecord]:
        return [without_result(run, started_at, error, exit_error) for run in runs]

    try:
        watch.begin_repeat(runs[0].repeat)
        readies = runner.set(runs)
        ready = True
        schedule.effort.waited(watch.wait_for_calm())
        schedule.effort.ready()
        watch.before()
        records = watch.after(runner.measure(runs, readies))
        # If one of several servers ended, the figure does not cover all of them.
        if (exit_error := runner.exit_error()) is not None:
            return without(exit_error, exit_error)
        return records
    except NO_DATA:
        raise
    except RequestError as error:
        if not ready and (first or not measured):
            raise
        return without(error, exit_behind(runner, error))
    except WorkError as error:
        if not (ready or measured):
            raise
        return without(error, exit_behind(runner, error))


def _too_many(records: list[RunRecord], folder: RunFolder) -> WorkError:
    last = records[-1].error or {}
    return WorkError(
        f"{len(records)} runs in a row gave no result; the last: {last.get('message')}",
        hint=last.get("hint") or f"For every run's error, use `contend show {folder.path}`.",
        detail=last.get("detail"),
    )
