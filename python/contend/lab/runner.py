"""The servers of a run, and the runs on them: one at a time, or all runs of a block at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from contend.errors import ContendError
from contend.experiment import (
    Cell,
    CellKey,
    CellSpec,
    Experiment,
    Level,
    Planned,
    asks_twins,
    cell_key,
    cell_spec,
    same_level,
    turn_of,
)
from contend.experiment.settings import launch_of
from contend.experiment.settings.load import Slicing, ends_with_its_work
from contend.experiment.settings.workload import writing_share
from contend.host.placement import Placed, Placement
from contend.lab.design import MemoryLayout, entering, layout_of
from contend.lab.effort import Effort
from contend.lab.equal_load import EqualLoads, with_equal_load
from contend.lab.events import Listener, Notice
from contend.lab.looks import BlockToLookAt, LookAtCause, now
from contend.lab.measure import ServerOwner, arms_of, exit_behind, measure, seed_of
from contend.lab.probes import DRIFT_MAX
from contend.lab.testbed import Ready, Testbed
from contend.lab.timing import TIMED_S_MAX, event_times, is_timed
from contend.lab.twins import KnownRecording, baseline_first, measure_twins
from contend.load import LoadDriver
from contend.load.ceilings import Calibration
from contend.metrics.probed import Probes
from contend.metrics.read import alone, at_rate
from contend.store import LookRecord, RunFolder, RunRecord


class Runner:
    """Makes each run separately on one testbed; or in slices all runs of a block at once, with a
    server per level, or one server that is switched between levels.

    Args:
        testbeds: one; in slices one per compared level, or one for all: `turn_of` assigns them.
        effort: decides whether and how a block is cut.
        equal: measures each block at the same load too; None: no block is.
        recordings: those of the experiment, by name.
    """

    def __init__(
        self,
        experiment: Experiment,
        testbeds: Sequence[Testbed],
        load: LoadDriver,
        effort: Effort,
        listen: Listener,
        calibration: Calibration | None = None,
        equal: EqualLoads | None = None,
        recordings: Mapping[str, KnownRecording] | None = None,
    ) -> None:
        self._experiment = experiment
        self._testbeds = testbeds
        self._load = load
        self._effort = effort
        self._listen = listen
        self._calibration = calibration
        self._equal = equal
        self._recordings = recordings or {}
        self._repeat = 0
        self._having: Mapping[str, Level] = {}
        self._blocks: Counter[CellKey] = Counter()
        """Number of blocks of each context in this repeat."""
        self._layout = MemoryLayout()
        self._written = 0.0

    def set(
        self, runs: Sequence[Planned], having: Mapping[str, Level] | None = None
    ) -> list[Ready]:
        """A server for each of these runs, in slices freshly started if their repeat is new;
        `having` overrides the cells."""
        if not self._effort.in_slices:
            cells = [cell_spec(self._experiment, {**run.cell, **(having or {})}) for run in runs]
            testbed = self._testbeds[0]
            return [
                testbed.set(cell, seed_of(run, cell)) for run, cell in zip(runs, cells, strict=True)
            ]
        repeat = runs[0].repeat
        if repeat != self._repeat:
            self._layout = layout_of(self._experiment, repeat, matched=self._effort.matched)
            for testbed in self._testbeds:
                testbed.start_anew(self._layout.apply)
            self._repeat = repeat
            self._blocks.clear()
        about: Probes = {"layout": self._layout.record()}
        indexes = [self._testbed_of(run) for run in runs]
        self._blocks[cell_key(self._context_of(runs[0]))] += 1
        readies: list[Ready] = []
        for place, (index, run) in enumerate(zip(indexes, runs, strict=True)):
            if index in indexes[:place]:
                # Levels on one server share its tables: their writes need no new copy.
                self._testbeds[index].keep_data()
            cell = cell_spec(self._experiment, {**run.cell, **(having or {})})
            readies.append(self._testbeds[index].set(cell))
        if having is None:
            self._time(runs, readies)
            self._find_rate(runs, readies)
        pids = {ready.observed.pid for ready in readies if ready.observed.pid is not None}
        return [
            replace(
                ready,
                observed=replace(
                    ready.observed,
                    others=(*ready.observed.others, *sorted(pids - {ready.observed.pid})),
                ),
                probes={**ready.probes, **about, "place": index},
            )
            for index, ready in zip(indexes, readies, strict=True)
        ]

    def _time(self, runs: Sequence[Planned], readies: Sequence[Ready]) -> None:
        cells = [cell_spec(self._experiment, run.cell) for run in runs]
        context = self._effort.observations.context(runs[0].cell)
        if self._effort.observations.is_timed(context) or not all(map(is_timed, cells)):
            return
        times = event_times(
            arms_of(runs, cells, readies, self._entering(cells)),
            self._load,
            seed=seed_of(runs[0], cells[0]),
            env=_env(readies),
            limit_s=min(self._effort.left_s, TIMED_S_MAX),
        )
        self._come_back(cells)
        if (notice := self._effort.learn(runs[0].cell, times)) is not None:
            self._listen(Notice(notice))

    def _find_rate(self, runs: Sequence[Planned], readies: Sequence[Ready]) -> None:
        cells = [cell_spec(self._experiment, run.cell) for run in runs]
        slices = self._slices(runs, cells)
        if self._equal is None or slices is None:
            return
        arms = arms_of(runs, cells, readies, self._entering(cells))
        seed, env = seed_of(runs[0], cells[0]), _env(readies)
        self._equal.find(runs, arms, slices, seed=seed, env=env)
        self._come_back(cells)

    def measure(self, runs: Sequence[Planned], readies: Sequence[Ready]) -> list[RunRecord]:
        cells = [cell_spec(self._experiment, run.cell) for run in runs]
        if asks_twins(self._experiment):
            return self._ask_twins(runs, cells, readies)
        arguments = (runs, cells, readies, self._load, self._listen, self._calibration)
        slices = self._slices(runs, cells)
        if slices is None:
            return measure(*arguments)
        started_at = now()
        equal = self._at_equal_load(runs, cells, readies, slices)
        records = measure(*arguments, slices=slices, enter=self._entering(cells))
        if equal:
            both = zip(records, equal, strict=True)
            records = [with_equal_load(record, started_at, one) for record, one in both]
        self._come_back(cells)
        self._look_at_drift(cells, records)
        return records

    def _ask_twins(
        self, runs: Sequence[Planned], cells: Sequence[CellSpec], readies: Sequence[Ready]
    ) -> list[RunRecord]:
        order = baseline_first(self._experiment, runs)
        client = readies[0].client
        if self._testbeds[0].own and not client:
            # Where the servers are.
            client = Placement(cpus=launch_of(cells[0].values).placement.cpus)
        arms = arms_of(runs, cells, readies, [()] * len(cells))
        records = measure_twins(
            [runs[at] for at in order],
            [arms[at] for at in order],
            [readies[at] for at in order],
            self._load,
            self._listen,
            self._recordings[str(cells[0]["workload"]["recording"])].recording,
            self._effort.asking(runs[0].cell),
            client,
            seed=seed_of(runs[0], cells[0]),
        )
        return [records[order.index(at)] for at in range(len(runs))]

    def _at_equal_load(
        self,
        runs: Sequence[Planned],
        cells: Sequence[CellSpec],
        readies: Sequence[Ready],
        slices: Slicing,
    ) -> list[Probes]:
        if self._equal is None:
            return []
        arms = arms_of(runs, cells, readies, self._entering(cells))
        placed = Placed(readies[0].client) if readies[0].client else None
        seed = seed_of(runs[0], cells[0])
        # A switched server's counters belong to no level.
        observed = [] if self._is_switched else [ready.observed for ready in readies]
        return self._equal.measure(
            runs, arms, slices, seed=seed, env=_env(readies), placed=placed, observed=observed
        )

    def at_once(self, runs: Sequence[Planned]) -> list[list[Planned]]:
        """All levels of a block, or one after the other."""
        return [list(runs)] if self._effort.in_slices else [[run] for run in runs]

    def look(self, runs: Sequence[Planned], look: LookAtCause, block: int) -> list[LookRecord]:
        """Look at these runs, in turn; servers are restarted if the look needs different
        options."""
        having = look.having if self._testbeds[0].own else {}
        if having != self._having:
            for testbed in self._testbeds:
                testbed.start_anew(self._layout.apply)
            self._having = having
        readies = self.set(runs, having)
        cells = [cell_spec(self._experiment, {**run.cell, **having}) for run in runs]
        slices = self._slices(runs, cells)
        recording = self._recordings.get(str(cells[0]["workload"].get("recording")))
        try:
            arms = arms_of(runs, cells, readies, self._entering(cells))
            taken = BlockToLookAt(
                look.name, block, runs, arms, readies, self._load, slices, recording
            )
            return look.take(taken)
        finally:
            self._come_back(cells)

    def _slices(self, runs: Sequence[Planned], cells: Sequence[CellSpec]) -> Slicing | None:
        return self._effort.slices(runs[0].cell, cells) if self._effort.in_slices else None

    def _entering(self, cells: Sequence[CellSpec]) -> list[tuple[str, ...]]:
        """For each level the statements to run when switching to it."""
        if not self._effort.in_slices:
            return [()] * len(cells)
        switch = entering(cells) if self._is_switched else [()] * len(cells)
        return [
            (*first, *(cell["server.before_run"] if ends_with_its_work(cell.values) else ()))
            for first, cell in zip(switch, cells, strict=True)
        ]

    def _come_back(self, cells: Sequence[CellSpec]) -> None:
        """Update the testbed, which still has the level of its last setting."""
        if self._is_switched:
            for statement in entering(cells)[-1]:
                self._testbeds[0].execute(statement)

    @property
    def _is_switched(self) -> bool:
        return self._effort.in_slices and len(self._testbeds) == 1

    def exit_error(self) -> ContendError | None:
        """How a server ended, if one did without a request."""
        errors = [testbed.exit_error() for testbed in self._testbeds]
        return next((exit_error for exit_error in errors if exit_error is not None), None)

    def _look_at_drift(self, cells: Sequence[CellSpec], records: Sequence[RunRecord]) -> None:
        """Continue with tables that were written to, until too many rows of one level changed; then
        all levels get new copies. Levels that only read leave them unchanged."""
        written = max(map(_drift, cells, records))
        if written == 0:
            return
        self._written += written
        if self._written <= DRIFT_MAX:
            for testbed in self._testbeds:
                testbed.keep_data()
        else:
            self._written = 0.0
            # Include levels that only read, so that all tables have the same age.
            for testbed in self._testbeds:
                testbed.spoil_data()

    def _testbed_of(self, run: Planned) -> int:
        """The number of the testbed that serves the run's level."""
        compared = self._experiment.compared
        assert compared is not None
        level = run.cell[compared.path]
        index = next(n for n, each in enumerate(compared.levels) if same_level(each, level))
        if not self._testbeds[index % len(self._testbeds)].own:
            # Servers that are levels by themselves.
            return index % len(self._testbeds)
        context = self._context_of(run)
        again = self._blocks[cell_key(context)]
        turn = turn_of(self._experiment, context, run.repeat, again)
        return (index + turn) % len(self._testbeds)

    def _context_of(self, run: Planned) -> Cell:
        compared = self._experiment.compared
        assert compared is not None
        return {path: value for path, value in run.cell.items() if path != compared.path}


def _env(readies: Sequence[Ready]) -> dict[str, str]:
    return {name: value for ready in readies for name, value in ready.env.items()}


def _drift(cell: CellSpec, record: RunRecord) -> float:
    """Share of its rows that a level may have changed."""
    workload = cell["workload"]
    share = writing_share(workload["kind"], workload)
    if share == 0 or not record.done:
        return 0.0
    # The number of rows of a dump is fixed.
    known = record.probes.get("dataset") or {}
    rows = max(1, cell.data.rows_in_all or int(known.get("rows") or 0))
    each = int(workload.get("batch_rows") or workload.get("batch") or 1)
    dones = (record.done, at_rate(record), *alone(record).values())
    begun = sum(done["begun"] for done in dones if done is not None)
    return share * each * begun / rows


class Looker(ServerOwner, Protocol):
    """Can look at the levels of a block; both kinds of runner can."""

    def at_once(self, runs: Sequence[Planned]) -> list[list[Planned]]:
        """Groups of runs, one per look; a failure loses the findings of the whole group."""
        ...

    def look(self, runs: Sequence[Planned], look: LookAtCause, block: int) -> list[LookRecord]: ...


def take_looks(
    looks: Sequence[LookAtCause],
    folder: RunFolder,
    runner: Looker,
    compared: str | None,
    listen: Listener,
) -> bool:
    """Take each of these looks at every cell, and store the findings. A look that fails is stored
    with the reason, and the others go on; a server that died is restarted for the next.

    Returns:
        whether a look found something.
    """
    number = max((record.block for record in folder.looks()), default=0)
    found_any = False
    reported: set[tuple[str, str]] = set()
    for look in looks:
        name = look.name
        for block in blocks_to_look_at(folder.meta().planned, compared):
            number += 1
            listen(Notice(f"{name}: diagnostic pass, cells side by side: {len(block)}"))
            for runs in runner.at_once(block):
                records = _taken(look, number, runs, runner)
                folder.add_looks(*records)
                if (error := records[0].error) is not None and (name, error) not in reported:
                    reported.add((name, error))
                    why = error.rstrip(".")
                    listen(Notice(f"{name}: diagnostic pass failed: {why}. All runs are kept."))
                found_any |= records[0].error is None
    return found_any


def _taken(
    look: LookAtCause, number: int, runs: Sequence[Planned], runner: Looker
) -> list[LookRecord]:
    """One look, or the reason why it failed. If one of several servers ended, the look does not
    cover all of them and is discarded."""
    started_at = now()
    try:
        records = runner.look(runs, look, number)
        if (exit_error := runner.exit_error()) is not None:
            raise exit_error
        return records
    except ContendError as error:
        why = exit_behind(runner, error) or error
        return [
            LookRecord(look.name, number, run.cell, started_at, now(), error=why.message)
            for run in runs
        ]


def blocks_to_look_at(planned: Sequence[Planned], compared: str | None) -> list[list[Planned]]:
    """One block of each context with all its levels, as in the last planned repeat, whose servers
    are already running."""
    last = max(run.repeat for run in planned)
    blocks: dict[object, dict[object, Planned]] = {}
    for run in planned:
        if run.repeat == last:
            context = {path: value for path, value in run.cell.items() if path != compared}
            blocks.setdefault(cell_key(context), {}).setdefault(cell_key(run.cell), run)
    return [list(block.values()) for block in blocks.values()]
