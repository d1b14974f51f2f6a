"""Whatever interrupts contend, and whenever: the server's variables, the user's tables and the
host's files are as they were; after `contend restore`, if contend had no time for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import changing_child
import pytest
from changing_child import MOMENTS
from child_python import import_path
from run_lab import wait_for
from sql import query

from contend.cli.main import main
from contend.servers import PrivateServer, ServerBinary
from contend.undo import journals_in

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

Factory = Callable[..., PrivateServer]

VALUES: dict[str, str | int | float | bool] = {
    "sort_buffer_size": 300032,
    "innodb_io_capacity": 150,
    "innodb_io_capacity_max": 1500,
    "max_connections": 77,
}
"""What the user has, also after a restart."""

USER = "bench@localhost"


class Theirs:
    """A user's server and host."""

    def __init__(self, server: PrivateServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        # Its socket has another path after a restart.
        self.socket = folder / "s"
        self.dsn = f"mysql://bench@/?socket={self.socket}"
        self.link()
        self.sql(
            "CREATE DATABASE mine",
            "CREATE TABLE mine.own (a INT PRIMARY KEY, b TEXT)",
            "INSERT INTO mine.own VALUES (1, 'one'), (2, 'two')",
            f"CREATE USER {USER}",
        )
        self.grant()

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        return query(self.server, *statements)

    def link(self) -> None:
        self.socket.unlink(missing_ok=True)
        self.socket.symlink_to(self.server.socket)

    def grant(self) -> None:
        self.sql(f"GRANT ALL ON *.* TO {USER}")

    def revoke(self) -> None:
        self.sql(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {USER}")

    def restart(self) -> None:
        options = dict(self.server.options)
        self.server.kill()
        self.server.start(options)
        self.link()

    def end_connections(self) -> None:
        for (number,) in self.sql(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'bench'"
        ):
            self.sql(f"KILL {number}")

    def seen(self) -> dict[str, Any]:
        """All that must be as it was."""
        names = ", ".join(f"@@GLOBAL.{name}" for name in VALUES)
        return {
            "variables": self.sql(f"SELECT {names}")[0],
            "own": self.sql("CHECKSUM TABLE mine.own")[0][1],
            "tables": self.sql("SHOW TABLES FROM mine"),
        }


@pytest.fixture(scope="module")
def theirs(
    shared_server: Factory, mariadb_binary: ServerBinary, tmp_path_factory: pytest.TempPathFactory
) -> Theirs:
    return Theirs(shared_server(mariadb_binary, VALUES), tmp_path_factory.mktemp("theirs"))


@pytest.fixture(scope="module")
def theirs_mysql(
    shared_server: Factory, mysql_binary: ServerBinary, tmp_path_factory: pytest.TempPathFactory
) -> Theirs:
    return Theirs(shared_server(mysql_binary, VALUES), tmp_path_factory.mktemp("theirs"))


Act = Callable[[Theirs, "subprocess.Popen[str]"], None]


def sends(*signals: signal.Signals) -> Act:
    def act(_theirs: Theirs, process: subprocess.Popen[str]) -> None:
        for one in signals:
            process.send_signal(one)
            time.sleep(0.01)

    return act


INTERRUPTIONS: dict[str, Act] = {
    "kill": sends(signal.SIGKILL),
    "term": sends(signal.SIGTERM),
    "int": sends(signal.SIGINT),
    "int-3": sends(signal.SIGINT, signal.SIGINT, signal.SIGINT),
    "hup": sends(signal.SIGHUP),
    "restarted": lambda theirs, _process: theirs.restart(),
    "connections-killed": lambda theirs, _process: theirs.end_connections(),
    "revoked": lambda theirs, _process: theirs.revoke(),
}

RESTORED = {"kill", "revoked"}
"""After which contend itself cannot put all of it back."""


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("how", INTERRUPTIONS)
def test_all_is_as_it_was(
    theirs: Theirs, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str, moment: str
) -> None:
    interrupted(theirs, tmp_path, capsys, how, moment)


@pytest.mark.parametrize(
    ("how", "moment"),
    [("kill", "noted"), ("int-3", "changed"), ("int-3", "half"), ("connections-killed", "changed")],
)
def test_all_is_as_it_was_on_mysql(
    theirs_mysql: Theirs, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str, moment: str
) -> None:
    interrupted(theirs_mysql, tmp_path, capsys, how, moment)


def interrupted(
    theirs: Theirs, folder: Path, capsys: pytest.CaptureFixture[str], how: str, moment: str
) -> None:
    (folder / "vm").mkdir()
    file = folder / "vm" / "swappiness"
    file.write_text("60\n")
    before = theirs.seen()
    journals = folder / "undo"
    process = subprocess.Popen(
        [sys.executable, changing_child.__file__, folder, theirs.dsn, moment],
        env={**os.environ, **import_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for(lambda: (folder / moment).exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        INTERRUPTIONS[how](theirs, process)
        (folder / "go").touch()
        said, _ = process.communicate()
    finally:
        process.kill()
        theirs.grant()
    assert "Traceback" not in said, said
    left = bool(journals_in(journals))
    if how == "kill":
        assert left == (moment != "before")
    elif how not in RESTORED:
        assert not left, said
        assert theirs.seen() == before, said
    if how in ("term", "int", "int-3", "hup"):
        assert process.returncode == 1
        assert "contend: interrupted" in said
    if how == "revoked" and left:
        assert process.returncode in (1, 2)
        assert f"`contend restore {theirs.dsn}" in said
    assert main(["restore", "--journal", str(journals)]) == 0, capsys.readouterr()
    assert theirs.seen() == before
    assert file.read_text().strip() == "60"
    assert journals_in(journals) == []
