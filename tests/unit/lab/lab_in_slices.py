"""A comparison in slices on servers, and in a time, that exist only here."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fake_load import FakeLoad, Rates, done_of
from lab_fakes import EXPERIMENT, IDENTITY, FakeServer, NoLoad, dataset, experiment

from contend.experiment import DataSpec, Experiment, Level, planned_runs, to_dict
from contend.lab import measure, walk
from contend.lab.design import Design
from contend.lab.events import Event
from contend.lab.private import PrivateProgram, PrivateTestbed
from contend.lab.runner import Runner
from contend.lab.shared_host import HostWatch
from contend.lab.testbed import Testbed
from contend.lab.twins import KnownRecording
from contend.lab.walk import Schedule
from contend.load import LoadFailed
from contend.load.plan import planned_s
from contend.metrics.outcome import Done
from contend.servers.deployment import alone
from contend.store import RunFolder, RunRecord

SEGMENTS = "server.options.key_cache_segments"
IN_SLICES = EXPERIMENT.replace('by = "runs"', 'by = "slices"')

START_S = 2.0
"""What a server takes to start."""


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s

    def iso(self) -> str:
        return datetime.fromtimestamp(self.now_s, UTC).isoformat(timespec="milliseconds")


class Bench:
    """The tiny experiment in slices: a server for each of its two levels.

    Attributes:
        servers: one for each level.
        copies: how many copies of the data were made for each server.
        clock: what starts and loads take passes on it.
        heard: what the lab told.
        copy_s: what each of them takes.
        rest_s: what servers take to come to rest after a slice.
        each_plan: is shown each plan before it is answered, and may raise.
        facts: of the session.
        recordings, asked: those of the experiment, and the answer to a plan that asks one.
    """

    def __init__(self, tmp_path: Path, text: str = IN_SLICES, **changes: str) -> None:
        self.tiny: Experiment = experiment(tmp_path, text, **changes)
        self.path = tmp_path / "run"
        self.clock = Clock()
        self.heard: list[Event] = []
        self.copy_s = self.rest_s = 0.0
        self.each_plan: Callable[[dict[str, Any]], None] = lambda _plan: None
        self.changes: dict[str, Any] = {}
        self.facts: Any = {}
        self.recordings: Mapping[str, KnownRecording] = {}
        self.asked: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _plan: {}
        compared = self.tiny.compared
        assert compared is not None
        self.copies = [0 for _ in compared.levels]
        self.servers = [
            _Server(tmp_path / str(place), place, self.clock)
            for place in range(len(compared.levels))
        ]

    def play(
        self, rates: Rates | None = None, *, by: str = "slices", watch: HostWatch | None = None
    ) -> FakeLoad:
        """Make all that is to be made, on testbeds of a session of their own."""
        load = FakeLoad(lambda plan: self._answer(plan, rates), rates)
        load.rest_s = self.rest_s
        load.asked = self.asked
        testbeds = [self.testbed(place) for place in range(len(self.servers))]
        design = Design("slices" if by == "slices" else "runs")
        with self.folder(in_slices=design.in_slices) as folder:
            schedule = Schedule(self.tiny, folder, design, self.clock)
            listen = self.heard.append
            runner = Runner(
                self.tiny,
                testbeds,
                load,
                schedule.effort,
                listen,
                recordings=self.recordings,
            )
            walk.walk(self.tiny, folder, schedule, runner, listen, watch)
        return load

    @contextmanager
    def folder(self, *, in_slices: bool = True) -> Iterator[RunFolder]:
        """The run folder, made by the first who asks."""
        if self.path.exists():
            opened = RunFolder.open(self.path, write=True)
        else:
            planned = planned_runs(self.tiny, in_slices=in_slices)
            opened = RunFolder.create(self.path, to_dict(self.tiny), planned, self.facts)
        with opened:
            yield opened

    def records(self) -> list[RunRecord]:
        with self.folder() as folder:
            return folder.records()

    def blocks(self) -> dict[int, list[RunRecord]]:
        """The records of each block."""
        found: dict[int, list[RunRecord]] = {}
        for record in self.records():
            found.setdefault(record.block, []).append(record)
        return found

    def starts(self) -> list[int]:
        """How often each server was started."""
        return [len(server.launches) for server in self.servers]

    def place_of(self, arm: Mapping[str, Any]) -> int:
        """The number of the server that an arm of a plan is."""
        sockets = [str(server.socket) for server in self.servers]
        return sockets.index(arm["server"]["socket"])

    def kills(self, place: int) -> LoadFailed:
        """End a server while it is asked; what contend-load then says."""
        self.servers[place].dead = True
        return LoadFailed("the connection was lost")

    def _answer(self, plan: dict[str, Any], rates: Rates | None) -> Done:
        self.each_plan(plan)
        self.clock.now_s += planned_s(plan)
        return done_of(plan, rates=rates, **self.changes)

    def testbed(self, place: int) -> Testbed:
        """A testbed of a session of its own, over one of the servers."""
        server = self.servers[place]
        server.running = False

        def provide(data: DataSpec, _options: Mapping[str, Level], into: Path) -> Any:
            self.copies[place] += 1
            self.clock.now_s += self.copy_s
            return dataset(data, into)

        program = PrivateProgram(alone(server), IDENTITY, provide)
        return PrivateTestbed(lambda _cell: program, NoLoad(), self.heard.append)


class _Server(FakeServer):
    def __init__(self, folder: Path, place: int, clock: Clock) -> None:
        super().__init__(folder)
        self.pid += place
        self._clock = clock

    def start(self, options: Mapping[str, Level]) -> Any:
        self._clock.now_s += START_S
        return super().start(options)


def made_up(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> Bench:
    """Have the records of a bench told in its own time, and no file looked at."""
    monkeypatch.setattr(measure, "now", bench.clock.iso)
    monkeypatch.setattr(walk, "now", bench.clock.iso)
    return bench


class Noise:
    """Speeds of slices that scatter by known parts, the same whenever they are asked for.

    Args:
        bench: whose plans and repeats are counted.
        slices, servers: standard deviations of logarithms between slices, and between one start of
            the servers and the next.
    """

    def __init__(self, bench: Bench, *, slices: float = 0.0, servers: float = 0.0) -> None:
        self._bench = bench
        self._slices = slices
        self._servers = servers
        self._plans = 0
        bench.each_plan = self._count

    def _count(self, _plan: dict[str, Any]) -> None:
        self._plans += 1

    def __call__(self, arm: str, round_: int) -> float:
        starts = self._bench.starts()[0]
        server = random.Random(f"{starts} {level_of(arm)}").gauss(0.0, self._servers)
        of_slice = random.Random(f"{self._plans} {arm} {round_}").gauss(0.0, self._slices)
        return 1000.0 * math.exp(server + of_slice)


def level_of(arm_name: str) -> int:
    """The level in the name of an arm, `path = level`."""
    return int(arm_name.partition(" = ")[2].split()[0])
