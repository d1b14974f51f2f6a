"""Every interruption × every moment of a load on somebody's server: their tables are as they were,
and the next load makes the data whole."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from holding import Holding
from lab_that_loads import Heard, load, load_until_interrupted
from sql import query

from contend.data import ensure_on
from contend.experiment import DataSpec
from contend.servers import PrivateServer, ServerBinary
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.servers.marks import tables_of

pytestmark = pytest.mark.timeout(600)  # a busy machine may take its time

HEARD = (signal.SIGTERM, signal.SIGINT)
"""Signals that end in the same way: one of them at each moment, of one engine."""

ENGINES = ("InnoDB", "MyISAM")
ENDED_S = 60.0
"""Only keeps a broken test from hanging."""

CREATED = "LOAD DATA .* INTO TABLE `{}`"
COUNTED = r"SELECT COUNT\(\*\) FROM `{}`"
MARKED = "ALTER TABLE `{}` COMMENT"


@dataclass(frozen=True)
class Moment:
    """When a load is interrupted: in front of a statement, or within the rows that follow it."""

    name: str
    at: str
    in_rows: bool = False
    engines: tuple[str, ...] = ENGINES


@dataclass(frozen=True)
class Subject:
    """What is loaded."""

    name: str
    data: dict[str, Any]
    moments: tuple[Moment, ...]
    words: tuple[str, ...] = field(default=())

    def spec(self, engine: str) -> DataSpec:
        return DataSpec(engine=engine, **self.data)


SUBJECTS = (
    Subject(
        "sbtest",
        {"rows": 300, "tables": 2},
        (
            Moment("lock not asked for", r"GET_LOCK\(CONCAT\('contend_fill"),
            Moment("no table", "CREATE TABLE `sbtest1`"),
            Moment("created", CREATED.format("sbtest1")),
            Moment("rows there", CREATED.format("sbtest1"), in_rows=True),
            Moment("not counted", COUNTED.format("sbtest1")),
            Moment("not marked", MARKED.format("sbtest1")),
            Moment("second created", CREATED.format("sbtest2")),
            Moment("second not marked", MARKED.format("sbtest2")),
        ),
        ("--tables", "2", "--rows", "300"),
    ),
    Subject(
        "employees",
        {"schema": "employees", "rows": 100},
        (
            Moment("no journal", "CREATE TABLE `contend_employees`"),
            Moment("rows there", CREATED.format("salaries"), in_rows=True),
            Moment("between tables", "REPLACE INTO `contend_employees` .*loaded.titles"),
            Moment("no foreign key", "ADD CONSTRAINT", engines=("InnoDB",)),
            Moment("no view", "CREATE VIEW `dept_emp_latest_date`"),
            Moment("between views", "CREATE VIEW `current_dept_emp`"),
            Moment("half of them marked", MARKED.format("dept_emp")),
            Moment("journal there", "DROP TABLE `contend_employees`"),
        ),
        ("--schema", "employees", "--rows", "100"),
    ),
    Subject(
        "tpcc",
        {"schema": "tpcc", "own": {"warehouses": 1, "shrink": 100}},
        (
            Moment("created", CREATED.format("stock"), engines=("InnoDB",)),
            Moment("not complete", "REPLACE INTO `contend_tpcc` .*complete", engines=("InnoDB",)),
            Moment("journal not marked", MARKED.format("contend_tpcc"), engines=("InnoDB",)),
        ),
    ),
)

CASES = [
    pytest.param(subject, engine, moment, sign, id=f"{engine}-{moment.name}-{sign.name}")
    for subject in SUBJECTS
    for number, moment in enumerate(subject.moments)
    for place, engine in enumerate(moment.engines)
    for sign in (
        signal.SIGKILL,
        *([HEARD[number // 2 % 2]] if number % len(moment.engines) == place else []),
    )
]


@pytest.fixture(scope="module")
def standing(
    shared_server: Callable[..., PrivateServer], mariadb_binary: ServerBinary
) -> PrivateServer:
    server = shared_server(mariadb_binary, {}, tcp=True)
    query(server, "CREATE USER bench@'127.0.0.1'", "GRANT ALL ON *.* TO bench@'127.0.0.1'")
    return server


THEIRS = ("precious", "sbtest3", "my_copy")
"""Tables of theirs; the last is a copy of what the load had made when it was interrupted."""


@pytest.fixture
def theirs(standing: PrivateServer) -> Iterator[PrivateServer]:
    """A server with tables of theirs in the database that is loaded into."""
    query(
        standing,
        *("DROP DATABASE IF EXISTS mine", "CREATE DATABASE mine"),
        "CREATE TABLE mine.precious (id INT, c CHAR(9) DEFAULT 'precious') ENGINE=MyISAM",
        "INSERT INTO mine.precious (id) VALUES (1), (2)",
        "CREATE TABLE mine.sbtest3 (id INT) COMMENT 'CONTEND: people who contend'",
        "INSERT INTO mine.sbtest3 VALUES (7)",
    )
    yield standing
    query(standing, "DROP DATABASE IF EXISTS mine")


def sums(server: PrivateServer) -> list[tuple[Any, ...]]:
    """Of their tables, as far as they are there."""
    return query(server, f"CHECKSUM TABLE {', '.join(f'mine.{name}' for name in THEIRS)}")


def counts(server: PrivateServer, subject: Subject) -> dict[str, int]:
    names = subject.spec("InnoDB").table_names
    return {name: query(server, f"SELECT COUNT(*) FROM mine.{name}")[0][0] for name in names}


@pytest.fixture(scope="module")
def whole(standing: PrivateServer, load_program: Path) -> dict[str, dict[str, int]]:
    """The rows of each subject's tables."""
    found = {}
    for subject in SUBJECTS:
        query(standing, "DROP DATABASE IF EXISTS mine", "CREATE DATABASE mine")
        load(dsn(standing.port), subject.spec("InnoDB"), load_program)
        found[subject.name] = counts(standing, subject)
    assert found["sbtest"] == {"sbtest1": 300, "sbtest2": 300}
    return found


def dsn(port: int | None) -> Dsn:
    return Dsn.parse(f"mysql://bench@127.0.0.1:{port}/mine")


LABS = multiprocessing.get_context("forkserver")


def lab_that_loads(where: Dsn, data: DataSpec, program: Path) -> Any:
    """A process that loads as `contend run` does."""
    LABS.set_forkserver_preload(["lab_that_loads"])
    child = LABS.Process(target=load_until_interrupted, args=(where, data, program))
    child.start()
    return child


def ended(child: Any) -> int | None:
    """Its exit code, or minus the signal that ended it."""
    child.join(ENDED_S)
    code: int | None = child.exitcode
    if code is None:
        child.kill()
    return code


def make_copy(server: PrivateServer, subject: Subject) -> None:
    """A table of theirs, made of one that is there by now."""
    there = {str(row[0]) for row in query(server, "SHOW TABLES FROM mine")}
    for name in subject.spec("InnoDB").table_names:
        if name in there:
            query(
                server,
                f"CREATE TABLE mine.my_copy LIKE mine.{name}",
                f"INSERT INTO mine.my_copy SELECT * FROM mine.{name} LIMIT 5",
            )
            return


def finished_are_whole(server: PrivateServer, rows: dict[str, int]) -> None:
    with server.connect() as connection:
        for name, mark in tables_of(connection, "mine").items():
            if mark is not None and mark.key is not None and name in rows:
                found = query(server, f"SELECT COUNT(*) FROM mine.{name}")
                assert found == [(rows[name],)], name


@pytest.mark.parametrize(("subject", "engine", "moment", "sign"), CASES)
def test_a_load_of_the_lab(
    theirs: PrivateServer,
    whole: dict[str, dict[str, int]],
    load_program: Path,
    subject: Subject,
    engine: str,
    moment: Moment,
    sign: signal.Signals,
) -> None:
    rows = whole[subject.name]
    data = subject.spec(engine)
    assert theirs.port is not None
    with Holding(theirs.port, moment.at, moment.in_rows) as way:
        child = lab_that_loads(dsn(way.own_port), data, load_program)
        assert way.held.wait(ENDED_S), ended(child)
        os.kill(child.pid, sign)
        assert ended(child) == (-sign if sign == signal.SIGKILL else 1)
    make_copy(theirs, subject)
    before = sums(theirs)
    finished_are_whole(theirs, rows)
    load(dsn(theirs.port), data, load_program)
    assert counts(theirs, subject) == rows
    finished_are_whole(theirs, rows)
    for view in data.known.views:
        query(theirs, f"SELECT * FROM mine.{view}")
    assert "already on the server" in load(dsn(theirs.port), data, load_program).notices[0]
    assert sums(theirs) == before


@pytest.mark.parametrize("goes_on", [True, False], ids=["ends", "dies"])
def test_who_comes_while_another_loads_waits_for_it(
    theirs: PrivateServer, load_program: Path, *, goes_on: bool
) -> None:
    """By another address of the same server."""
    data = DataSpec(rows=300)
    assert theirs.port is not None
    socket = Dsn.parse(f"mysql://root@/mine?socket={theirs.socket}")
    with (
        Holding(theirs.port, CREATED.format("sbtest")) as way,
        ThreadPoolExecutor(1) as second,
    ):
        child = lab_that_loads(dsn(way.own_port), data, load_program)
        assert way.held.wait(ENDED_S)
        heard = Heard()
        begun = second.submit(
            lambda: ensure_on(
                ExistingServer(socket),
                data,
                program=load_program,
                tell=heard,
                confirm=lambda _: not goes_on,
            )
        )
        deadline = time.monotonic() + ENDED_S
        while not heard.notices and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "waiting for another contend (connection " in heard.notices[0]
        assert "of user bench from 127.0.0.1" in heard.notices[0]
        assert query(theirs, "SELECT COUNT(*) FROM mine.sbtest") == [(0,)]
        if goes_on:
            way.go_on.set()
        else:
            child.kill()
        begun.result(timeout=ENDED_S)
        assert ended(child) == (0 if goes_on else -signal.SIGKILL)
    said = "already on the server" if goes_on else "was interrupted, so it is loaded again"
    assert any(said in notice for notice in heard.notices)
    assert query(theirs, "SELECT COUNT(*) FROM mine.sbtest") == [(300,)]


ALONE = [
    pytest.param(subject, moment, sign, id=f"{moment.name}-{sign.name}")
    for subject in SUBJECTS[:2]
    for number, moment in enumerate(subject.moments[2:])
    for sign in ([HEARD[number // 2 % 2]] if number % 2 else [signal.SIGKILL])
]


@pytest.mark.parametrize(("subject", "moment", "sign"), ALONE)
def test_a_load_of_contend_load_alone(
    theirs: PrivateServer,
    whole: dict[str, dict[str, int]],
    load_program: Path,
    subject: Subject,
    moment: Moment,
    sign: signal.Signals,
) -> None:
    def words(port: int | None) -> list[str]:
        start = [str(load_program), "fill", "--host", "127.0.0.1", "--port", str(port)]
        return [*start, "--user", "bench", "--database", "mine", *subject.words]

    assert theirs.port is not None
    with Holding(theirs.port, moment.at, moment.in_rows) as way:
        child = subprocess.Popen(words(way.own_port), stderr=subprocess.PIPE, text=True)
        assert way.held.wait(ENDED_S), child.communicate()
        child.send_signal(sign)
        child.communicate(timeout=ENDED_S)
    make_copy(theirs, subject)
    before = sums(theirs)
    again = subprocess.run(
        words(theirs.port), capture_output=True, text=True, check=False, timeout=ENDED_S
    )
    if again.returncode == 0:
        assert counts(theirs, subject) == whole[subject.name]
    else:
        # A table that has its last comment is not to be told from one of somebody else's.
        assert again.returncode == 2 and "exists already; nothing was changed" in again.stderr
    assert sums(theirs) == before
