"""Whatever interrupts contend, and whenever: the server's variables, the user's tables and the
host's files are as they were; after `contend restore`, if contend had no time for it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import changing_child
import pytest
from changing_child import MOMENTS
from child_python import import_path
from forked_contend import Forked
from run_lab import Lab, interrupt, wait_for
from sql import Factory, query
from test_run_restore import DIRTY, EXPERIMENT

from contend import errors
from contend.cli.main import main
from contend.servers import Dsn, PrivateServer, ServerBinary
from contend.servers.existing import ExistingServer
from contend.servers.hold import ServerHold
from contend.servers.undo import journals_in

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


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


def started(
    theirs: Theirs, folder: Path, moment: str, limit_s: float = errors.LIMIT_S
) -> subprocess.Popen[str]:
    """A process that changes them and a file of the kernel's in the folder, at that moment."""
    (folder / "vm").mkdir()
    (folder / "vm" / "swappiness").write_text("60\n")
    process = Forked(
        [str(folder), theirs.dsn, moment, str(limit_s)],
        folder,
        {**os.environ, **import_path()},
        script=changing_child.__file__,
    )
    wait_for(lambda: (folder / moment).exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def swappiness(folder: Path) -> str:
    return (folder / "vm" / "swappiness").read_text().strip()


def interrupted(
    theirs: Theirs, folder: Path, capsys: pytest.CaptureFixture[str], how: str, moment: str
) -> None:
    before = theirs.seen()
    journals = folder / "undo"
    process = started(theirs, folder, moment)
    try:
        INTERRUPTIONS[how](theirs, process)
        (folder / "go").touch()
        said = "".join(process.communicate())
    finally:
        process.kill()
        theirs.grant()
    assert "Traceback" not in said, said
    left = bool(journals_in(journals))
    if how == "kill":
        assert left == (moment != "before")
    elif how != "revoked":
        assert not left, said
        assert theirs.seen() == before, said
    if how in ("term", "int", "int-3", "hup"):
        assert process.returncode == 1
        assert "contend: interrupted" in said
    if how == "revoked":
        assert left == (moment in ("noted", "changed", "switching"))
    if how == "revoked" and left:
        assert process.returncode in (1, 2)
        assert f"`contend restore {theirs.dsn}" in said
    assert main(["restore", "--journal", str(journals)]) == 0, capsys.readouterr()
    assert theirs.seen() == before
    assert swappiness(folder) == "60"
    assert journals_in(journals) == []


@pytest.mark.parametrize("moment", ["changed", "half"])
def test_a_terminal_that_is_gone_keeps_nothing_from_being_put_back(
    theirs: Theirs, tmp_path: Path, moment: str
) -> None:
    before = theirs.seen()
    process = started(theirs, tmp_path, moment)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stderr.close()  # Whatever it says from now on is an error of its own.
    INTERRUPTIONS["hup"](theirs, process)
    (tmp_path / "go").touch()
    assert process.wait() != 0
    assert theirs.seen() == before
    assert swappiness(tmp_path) == "60"
    assert journals_in(tmp_path / "undo") == []


def test_a_change_that_was_given_up_does_not_come_about_later(
    theirs: Theirs, tmp_path: Path
) -> None:
    """The server waits with it for somebody's lock, and would go on after it was put back."""
    at_work = (
        "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SET GLOBAL read_only%'"
    )
    with theirs.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES mine.own WRITE")
        process = started(theirs, tmp_path, "waiting", limit_s=0.5)
        wait_for(lambda: bool(theirs.sql(at_work)) or process.poll() is not None)
        INTERRUPTIONS["int-3"](theirs, process)
        said = "".join(process.communicate())
        assert process.returncode == 1
        assert "contend: interrupted" in said
        assert theirs.sql(at_work) == []
        cursor.execute("UNLOCK TABLES")
    assert theirs.sql("SELECT @@GLOBAL.read_only") == [(0,)]
    assert journals_in(tmp_path / "undo") == []


def test_who_insists_need_not_wait_for_a_server_that_stands_still(
    theirs: Theirs, tmp_path: Path
) -> None:
    before = theirs.seen()
    process = started(theirs, tmp_path, "changed", limit_s=0.5)
    pid = theirs.server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        INTERRUPTIONS["int-3"](theirs, process)
        said = "".join(process.communicate())
    finally:
        os.kill(pid, signal.SIGCONT)
        process.kill()
    assert process.returncode == 1
    assert f"`contend restore {theirs.dsn}" in said.splitlines()[-1]
    # What needs no server was put back nevertheless.
    assert swappiness(tmp_path) == "60"
    assert main(["restore", "--journal", str(tmp_path / "undo")]) == 0
    assert theirs.seen() == before


class Run:
    """`contend run` on a user's server, by its socket and by TCP."""

    def __init__(self, lab: Lab, server: PrivateServer) -> None:
        self.lab, self.server = lab, server
        lab.file.write_text(EXPERIMENT)
        lab.edit('measure = "100ms"', 'measure = "500ms"')
        lab.edit("repeats = 2", "repeats = 8")
        users = ("bench@localhost", "bench@127.0.0.1")
        self.sql(
            *(f"CREATE USER IF NOT EXISTS {user}" for user in users),
            *(f"GRANT ALL ON *.* TO {user}" for user in users),
            f"SET GLOBAL {DIRTY} = 90",
        )
        self.socket = f"mysql://bench@/?socket={server.socket}"
        self.tcp = f"mysql://bench@127.0.0.1:{server.port}/"

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        return query(self.server, *statements)

    def value(self) -> Any:
        return self.sql(f"SELECT @@GLOBAL.{DIRTY}")[0][0]

    def begin(self, dsn: str) -> subprocess.Popen[str]:
        """A run, as soon as it has stored something and measures with its own value."""
        process = self.lab.start(*self.lab.arguments("--server", dsn, "--yes"))
        self.lab.wait_for_runs(1, process)
        wait_for(lambda: self.value() == 80 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process


@pytest.fixture
def run(lab: Lab, shared_server: Factory, mariadb_binary: ServerBinary) -> Run:
    return Run(lab, shared_server(mariadb_binary, tcp=True))


def test_three_stops_in_a_moment_leave_nothing_changed(run: Run) -> None:
    process = run.begin(run.socket)
    sends(signal.SIGINT, signal.SIGINT, signal.SIGINT)(None, process)  # type: ignore[arg-type]
    _out, said = process.communicate()
    assert process.returncode == 1
    assert run.value() == 90
    assert run.lab.journals == []
    assert f"contend run --resume {run.lab.out}" in said
    assert "contend restore" not in said


def test_what_a_stopped_run_could_not_put_back_is_named_with_how_to_go_on(run: Run) -> None:
    # The value stays for longer than this test needs to take the privileges away.
    run.lab.edit('measure = "500ms"', 'measure = "3s"')
    process = run.begin(run.socket)
    # Nor is it the end of a period that has begun before.
    wait_for(lambda: run.value() != 80 or process.poll() is not None)
    wait_for(lambda: run.value() == 80 or process.poll() is not None)
    run.sql("REVOKE ALL PRIVILEGES, GRANT OPTION FROM bench@localhost")
    said = interrupt(process)
    assert process.returncode == 1
    assert run.value() == 80
    assert f"contend run --resume {run.lab.out}" in said
    assert f"`contend restore {run.socket}`" in said.splitlines()[-1]
    # By another of its names, with the rights that it needs.
    done = run.lab.contend("restore", run.tcp)
    assert done.returncode == 0, done.stderr
    assert run.value() == 90


def test_a_killed_run_is_put_back_by_another_name_of_its_server(run: Run) -> None:
    process = run.begin(run.tcp)
    process.kill()
    process.communicate()
    assert run.value() == 80
    refused = run.lab.contend("run", run.lab.file, "--server", run.socket)
    assert refused.returncode == 2
    assert f"{DIRTY} (was 90)" in refused.stderr
    for name in ("localhost", "127.0.0.1"):
        told = run.lab.contend("restore", f"mysql://bench@{name}:{run.server.port}/", "--dry-run")
        assert f"would be reverted: {DIRTY} (was 90)" in told.stdout
    assert run.lab.contend("restore", run.socket).returncode == 0
    assert run.value() == 90


def test_of_two_runs_by_two_names_the_second_is_refused(run: Run, tmp_path: Path) -> None:
    """Also after the connection that had the first one's lock was ended."""
    process = run.begin(run.tcp)
    held = "SELECT IS_USED_LOCK('contend.changes')"
    ((number,),) = run.sql(held)
    run.sql(f"KILL {number}")
    wait_for(lambda: run.sql(held) not in ([(None,)], [(number,)]) or process.poll() is not None)
    other = ("--out", tmp_path / "other", "--server", run.socket, "--yes")
    refused = run.lab.contend("run", run.lab.file, *other)
    assert refused.returncode == 2, refused.stderr
    assert "another contend process is using" in refused.stderr
    assert not (tmp_path / "other").exists()
    _out, said = process.communicate()
    assert process.returncode == 0, said
    assert run.value() == 90


@pytest.fixture
def another_host(run: Run) -> Iterator[None]:
    """One that changes the server just now; nothing of that is known on this host."""
    hold = ServerHold(ExistingServer(Dsn.parse(run.tcp)).connect, run.tcp)
    hold.take()
    yield
    hold.release()


def test_every_command_that_changes_something_is_refused(run: Run, another_host: None) -> None:
    for words in (
        ("run", run.lab.file, "--out", run.lab.out, "--server", run.socket, "--yes"),
        ("try", "sort_buffer_size=256K,512K", "--data", "1000", "--server", run.socket, "--yes"),
        ("warm", run.socket),
        ("warm", "--status", run.socket),
    ):
        refused = run.lab.contend(*words)
        assert (words, refused.returncode) == (words, 2)
        assert "another contend process is using" in refused.stderr
        assert ", of user bench from 127.0.0.1" in refused.stderr
    assert not run.lab.out.exists()


def test_a_run_whose_lock_somebody_else_took_stops_and_names_the_way_back(run: Run) -> None:
    process = run.begin(run.socket)
    with run.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT IS_USED_LOCK('contend.changes')")
        ((number,),) = cursor.fetchall()
        cursor.execute(f"KILL {number}")
        cursor.execute("SELECT GET_LOCK('contend.changes', 10)")
        assert cursor.fetchall() == ((1,),)
        # The other one takes what it finds for the user's, and puts that back itself.
        _out, said = process.communicate()
        assert len(run.lab.journals) == 1
    assert process.returncode in (1, 2)
    assert "another contend process is using" in said
    assert f"`contend restore {run.socket}`" in said
    assert run.lab.contend("restore").returncode == 0
    assert run.value() == 90
