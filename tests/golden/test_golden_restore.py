"""The output of `contend restore`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_variables import FakeVariables
from transcripts import check, name_of

from contend.cli.main import main
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.servers.undo import Journal, default_folder, journals_in, statement_entry
from contend.servers.undo.variables import change

DSN = "mysql://bench@db1:3306/mine"
OTHER = "mysql://bench@db2:3306/"
DIRTY = "innodb_max_dirty_pages_pct"

Say = Callable[..., None]


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, FakeVariables]:
    """By where they are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "STATE"))
    there = {
        place: FakeVariables({DIRTY: 90.0, "max_connections": 151, "sql_mode": "ANSI"})
        for place in ("db1:3306", "db2:3306")
    }
    names = {"socket:/run/db1": "db1:3306", "db1.example:3306": "db1:3306"}

    def connect(self: ExistingServer, *arguments: object, **more: object) -> object:
        place = self.dsn.place
        return there[names.get(place, place)].connect(*arguments, **more)

    monkeypatch.setattr(ExistingServer, "connect", connect)
    return there


@pytest.fixture
def transcript(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Say]:
    """Run a command line and keep what it says; the fixture's end compares all of it."""
    lines: list[str] = []

    def run(*arguments: str) -> None:
        code = main(arguments)
        captured = capsys.readouterr()
        output = (captured.out + captured.err).replace(str(tmp_path) + "/", "")
        output = output.replace(
            f"process {os.getpid()} of {os.uname().nodename}", "process P of HOST"
        )
        lines.append(f"$ contend {' '.join(arguments)}\n{output}exit {code}\n")

    yield run
    check(name_of(request.node.name), "\n".join(lines))


def leave(server: FakeVariables, dsn: str = DSN) -> None:
    """As a command that is killed leaves it."""
    existing = ExistingServer(Dsn.parse(dsn))
    with Journal.of_server(default_folder(), existing) as journal, server.connect() as connection:
        change(connection, journal, DIRTY, 80)
        change(connection, journal, "sql_mode", "")
        journal.replace([], [statement_entry("DROP INDEX made ON t", "mine")])


def test_restore(servers: dict[str, FakeVariables], transcript: Say) -> None:
    transcript("restore")
    leave(servers["db1:3306"])
    transcript("restore", "--dry-run")
    transcript("restore", "mysql://bench@db2/")
    transcript("restore", "mysql://root@db1/")
    transcript("restore", "mysql://root@db1/")
    leave(servers["db1:3306"])
    transcript("restore", "--forget")


def test_restore_trouble(servers: dict[str, FakeVariables], transcript: Say) -> None:
    first, second = servers.values()
    leave(first)
    first.there[DIRTY] = 75.0
    transcript("restore")
    leave(second, OTHER)
    first.gone, second.refuses = True, {"DROP"}
    transcript("restore")
    transcript("restore", DSN)
    first.gone, second.refuses = False, set()
    transcript("restore", OTHER)
    transcript("restore", "--yes")
    leave(first)
    (journal,) = journals_in(default_folder())
    with Journal.of_server(default_folder(), ExistingServer(Dsn.parse(DSN))):
        transcript("restore", DSN)
    journal.write_bytes(journal.read_bytes()[:50])
    transcript("restore")
    transcript("restore", "nowhere")


def test_restore_by_name(servers: dict[str, FakeVariables], transcript: Say) -> None:
    """A journal is its server's, and not that of whichever server is at the place now."""
    first, _second = servers.values()
    leave(first)
    transcript("restore", "--dry-run", "socket:/run/db1")
    transcript("restore", "mysql://root@db1.example/")
    leave(first)
    first.gone = True
    transcript("restore", "mysql://root@db1.example/")
    transcript("restore", "mysql://root@db1/")
    first.gone = False
    first.name, before = "another", first.name
    transcript("restore", "mysql://root@db1/")
    transcript("restore")
    assert first.there[DIRTY] == 80.0
    first.name, first.holder = before, 4711
    transcript("restore", "mysql://root@db1/")
    transcript("restore")
    assert first.there[DIRTY] == 80.0
    first.name, first.holder = "another", None
    transcript("restore", "mysql://root@db1/", "--yes")
    assert first.there[DIRTY] == 90.0
