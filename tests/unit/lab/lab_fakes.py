"""A server, a testbed and an experiment that exist only here, for the tests of the lab."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
from fake_connection import FakeConnection, Rows
from fake_load import FakeLoad, done_of
from unrun_server import UNRUN

from contend.data import Dataset
from contend.errors import ContendError
from contend.experiment import CellSpec, DataSpec, Experiment, Level, load_experiment
from contend.host.placement import Placement
from contend.lab.design import Design
from contend.lab.events import Event, Listener, Notice
from contend.lab.private import PrivateProgram, PrivateTestbed
from contend.lab.probes import Expected, Observed
from contend.lab.runner import Runner
from contend.lab.session import Equipment, begin, resume
from contend.lab.testbed import Ready
from contend.lab.walk import Schedule, walk
from contend.load import Address, LoadDriver
from contend.load.ceilings import Calibration
from contend.metrics.probed import ServerIdentity
from contend.servers import Truncated
from contend.servers.client import StatementFailed
from contend.servers.deployment import alone
from contend.servers.dsn import Password
from contend.servers.errors import ServerDied, ServerFailed
from contend.servers.kinds import KINDS
from contend.servers.variables import Differing
from contend.store import RunFolder, RunRecord

EXPERIMENT = """
[experiment]
name = "tiny"
question = "Does it help?"

[server]
kind = "mariadb"
change = "in_place"
options = { key_buffer_size = "64M", key_cache_segments = 0 }

[data]
engine = "MyISAM"
rows = 1000

[workload]
kind = "point_select"

[load]
warmup = "100ms"
measure = "200ms"

[factors]
"server.options.key_cache_segments" = [0, 32]
"load.connections" = [1, 8]

[compare]
baseline = { "server.options.key_cache_segments" = 0 }
by = "runs"
repeats = 2
"""

IDENTITY: ServerIdentity = {"kind": "mariadb", "version": "10.11.19", "source": "path"}


def experiment(tmp_path: Path, text: str = EXPERIMENT, **changes: str) -> Experiment:
    """The tiny experiment; `changes` replace words of its text."""
    for old, new in changes.items():
        text = text.replace(old, new)
    path = tmp_path / "tiny.toml"
    path.write_text(textwrap.dedent(text))
    return load_experiment(str(path))


TABLES = ("sbtest", "sbtest1", "sbtest2", "sbtest3")

ANSWERS: dict[str, Rows] = {
    "SELECT VERSION()": [("10.11.19-MariaDB", "a fake")],
    "SHOW GLOBAL VARIABLES": [("key_buffer_size", "1000000"), ("key_cache_block_size", "1024")],
    "'Key_blocks_unused'": [],
    "@@datadir": [("/nowhere",)],
    "'Uptime'": [("Uptime", "5"), ("Connections", "7")],
    "UNIX_TIMESTAMP": [(1_800_000_000,)],
    "TABLE_NAME = 'STATISTICS'": [],
    "information_schema.COLUMNS": [
        ("sbtest", table, "id", "int", "", "NO", None) for table in TABLES
    ],
    "information_schema.STATISTICS": [
        ("sbtest", table, "PRIMARY", "id", None, "BTREE", 0) for table in TABLES
    ],
    "COALESCE(DATA_LENGTH + INDEX_LENGTH": [(table, "MyISAM", 1500) for table in TABLES],
    "FROM information_schema.TABLES": [
        ("sbtest", table, "BASE TABLE", "MyISAM", 1000, 500) for table in TABLES
    ],
    "SHOW GLOBAL STATUS": [("Questions", "10"), ("Key_reads", "0"), ("Name", "text")],
    "information_schema.KEY_CACHES": [("default", None, 5, 0, 0, 0)],
}
"""To the statements of probes and of warming."""


class FakeServer:
    """Writes down what is done to it: `life` is the list of it, `launches` has the wrapper and the
    environment of each start, `options` what is in force."""

    def __init__(self, folder: Path) -> None:
        self.kind = KINDS["mariadb"]
        self.binary = UNRUN
        self.data_folder = folder / "data"
        self.log_path = folder / "server.log"
        self.socket = folder / "s"
        self.key_sockets: tuple[Path, Path] | None = None
        self.pid = 4711
        self.running = False
        self.wrap: tuple[str, ...] = ()
        self.environment: dict[str, str] = {}
        self.placement = Placement()
        self.misplaced: tuple[str, ...] = ()
        self.life: list[str] = []
        self.launches: list[tuple[tuple[str, ...], dict[str, str]]] = []
        self.options: dict[str, Level] = {}
        self.connection = FakeConnection(ANSWERS)
        self.truncates: dict[str, str] = {}
        self.dead = False

    def claim(self) -> None:
        database = self.data_folder / "sbtest"
        database.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            for ending in (".MYD", ".MYI"):
                (database / f"{name}{ending}").write_bytes(b"x" * 1000)

    def start(self, options: Mapping[str, Level]) -> list[Truncated]:
        assert not self.running
        self.running, self.dead = True, False
        self.launches.append((self.wrap, dict(self.environment)))
        self.options = dict(options)
        self.life.append("start " + " ".join(f"{k}={v}" for k, v in options.items()))
        return self._truncated(options)

    def throttled_s(self) -> float | None:
        return None

    def stop(self) -> None:
        self.running = False
        self.life.append("stop")

    def kill(self) -> None:
        if self.running:
            self.life.append("kill")
        self.running = False

    def check(self) -> None:
        if self.dead:
            self.running = self.dead = False
            raise ServerDied("the server ended by itself", detail="[ERROR] mariadbd got signal 11")
        if not self.running:
            raise ServerFailed("the private server is not running.")

    def connect(self, database: str | None = None, **_more: Any) -> Any:
        return self.connection

    def set_global(self, changes: Mapping[str, Level]) -> list[Truncated]:
        self.options |= changes
        self.life.append("set " + " ".join(f"{k}={v}" for k, v in changes.items()))
        return self._truncated(changes)

    def variables(self) -> dict[str, str]:
        return {"key_buffer_size": "67108864"}

    def variables_that_differ(self) -> Differing:
        self.life.append("differ")
        return {"key_buffer_size": {"value": "67108864", "default": "134217728"}}

    def _truncated(self, options: Mapping[str, Level]) -> list[Truncated]:
        return [
            Truncated(name, str(value), self.truncates[name])
            for name, value in options.items()
            if name in self.truncates and str(value) != self.truncates[name]
        ]


class PlaceBench:
    """A testbed over a fake server, and what was done; `more` is of the testbed.

    Attributes:
        provided, options: data that were put into its folder, and the options they were made for.
        no_data: why none can be.
        said: the statements that it ran; those in `refuses` it refuses.
    """

    def __init__(self, folder: Path, **more: Any) -> None:
        self.folder = folder
        self.server = FakeServer(folder)
        self.provided: list[DataSpec] = []
        self.options: list[Mapping[str, Level]] = []
        self.no_data: ContendError | None = None
        self.heard: list[Event] = []
        self.said: list[str] = []
        self.refuses: set[str] = set()
        self.program = PrivateProgram(alone(self.server), IDENTITY, self.provide)
        self.testbed = self.make_testbed(**more)

    def make_testbed(self, **more: Any) -> PrivateTestbed:
        return PrivateTestbed(lambda _cell: self.program, NoLoad(), self.heard.append, **more)

    def with_statements(self, monkeypatch: pytest.MonkeyPatch) -> Self:
        monkeypatch.setattr(self.testbed, "execute", self.execute)
        return self

    def provide(self, data: DataSpec, options: Mapping[str, Level], into: Path) -> Dataset:
        assert not self.server.running
        if self.no_data is not None:
            raise self.no_data
        self.provided.append(data)
        self.options.append(options)
        return dataset(data, into)

    def execute(self, statement: str) -> float:
        if statement in self.refuses:
            raise StatementFailed(f"the server refused {statement!r}: it is not in the mood")
        self.said.append(statement)
        return 0.5

    @property
    def life(self) -> list[str]:
        return [what for what in self.server.life if what != "differ"]


class FakeTestbed:
    """Ready for every cell; `on_set` may object."""

    own = True

    def __init__(self, on_set: Callable[[CellSpec], None] = lambda _cell: None) -> None:
        self._on_set = on_set
        self.cells: list[CellSpec] = []
        self.died: ServerDied | None = None
        self.closed = False

    def set(self, cell: CellSpec, seed: int = 0) -> Ready:
        del seed
        self.cells.append(cell)
        self._on_set(cell)
        connection: Any = FakeConnection(ANSWERS)
        return Ready(
            address=Address(socket="/s", database="sbtest"),
            observed=Observed(connection, "mariadb"),
            expected=Expected(),
            watch_pid=1,
            probes={"dataset": {"rows": 1000}},
            warnings=({"code": "from-stage", "message": "a mark"},),
        )

    def exit_error(self) -> ServerDied | None:
        died, self.died = self.died, None
        return died

    def close(self) -> None:
        self.closed = True


def play_alone(
    experiment: Experiment,
    folder: RunFolder,
    testbed: Any,
    load: LoadDriver,
    listen: Listener,
    calibration: Calibration | None = None,
) -> None:
    """Make every planned run by itself."""
    schedule = Schedule(experiment, folder, Design("runs"))
    walk(
        experiment,
        folder,
        schedule,
        Runner(experiment, [testbed], load, schedule.effort, listen, calibration),
        listen,
    )


def dataset(data: DataSpec, folder: Path) -> Dataset:
    return Dataset(folder, "key-1", {}, data.rows, "2026-01-01", 1.0, (), ())


def numbers() -> Iterator[int]:
    count = 0
    while True:
        count += 1
        yield count


class NoLoad:
    """Stands for contend-load if there is nothing to scan."""

    def run(self, *_arguments: object, **_more: object) -> Any:
        raise AssertionError("a MyISAM table is warmed without contend-load")


SERVERS = {"mariadb": {"kind": "mariadb", "version": "10.11.19", "source": "path"}}


class SessionBench:
    """The tiny experiment in a run folder, on one testbed; `more` is of its equipment."""

    def __init__(
        self, tmp_path: Path, passwords: frozenset[Password] = frozenset(), **more: Any
    ) -> None:
        self.more = {"passwords": passwords, **more}
        self.tiny = experiment(tmp_path)
        self.path = tmp_path / "run"
        self.testbed = FakeTestbed()
        self.heard: list[Event] = []
        self.data_folder = tmp_path

    @contextlib.contextmanager
    def open_testbeds(self, logs: Path, _count: int) -> Iterator[list[FakeTestbed]]:
        assert logs.is_dir()
        try:
            yield [self.testbed]
        finally:
            self.testbed.close()

    def equipment(self, load: FakeLoad | None = None) -> Equipment:
        return Equipment(
            SERVERS,
            self.open_testbeds,
            load or FakeLoad(),
            self.data_folder,
            **self.more,
        )

    def begin(self, load: FakeLoad | None = None) -> None:
        self.begin_with(self.equipment(load))

    def begin_with(self, equipment: Equipment) -> None:
        begin(self.tiny, self.path, equipment, self.heard.append)

    def resume(
        self,
        *,
        given: Experiment | None = None,
        version: str = "10.11.19",
        load: FakeLoad | None = None,
        looks: Sequence[str] = (),
    ) -> FakeLoad:
        load = load or FakeLoad()
        servers = {"mariadb": {**SERVERS["mariadb"], "version": version}}
        equipment = replace(self.equipment(load), servers=servers)
        resume(self.path, equipment, self.heard.append, experiment=given, looks=looks)
        return load

    def records(self) -> list[RunRecord]:
        with RunFolder.open(self.path) as folder:
            return folder.records()

    def runs(self) -> list[int]:
        return [record.run for record in self.records()]

    def notices(self) -> list[str]:
        return [event.text for event in self.heard if isinstance(event, Notice)]


def stop_at(count: int, error: BaseException) -> FakeLoad:
    """One that answers until it is asked for that time, and then raises."""
    made: list[object] = []

    def answer(plan: dict[str, Any]) -> dict[str, Any]:
        made.append(plan)
        if len(made) == count:
            raise error
        return done_of(plan)

    return FakeLoad(answer)
