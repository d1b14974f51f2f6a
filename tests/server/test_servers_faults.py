"""What goes wrong around a private server: the lab dies, the disk is full, no rights."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from child_python import import_path
from sql import Factory

import contend
from contend.servers import PrivateServer, ServerBinary
from contend.servers.errors import DiskFull, FolderInUse, ServerFailed, UnusableServer

LAB = """
import json, signal, sys, time
from pathlib import Path
from contend.servers.find import find_server
from contend.servers import PrivateServer
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, in children too
binary = find_server(sys.argv[1], wanted=sys.argv[2])
server = PrivateServer(binary, Path(sys.argv[3]))
server.initialise()
server.start()
print(json.dumps({"pid": server.pid, "socket": str(server.socket)}), flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def gone(pid: int) -> bool:
    """Whether a process ends within a generous while."""
    for _ in range(600):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_the_server_dies_with_the_lab(
    mariadb_binary: ServerBinary, tmp_path: Path, end: signal.Signals
) -> None:
    assert_dies_with_its_lab(mariadb_binary, tmp_path / "s", end)


def assert_dies_with_its_lab(binary: ServerBinary, folder: Path, end: signal.Signals) -> None:
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, binary.kind, binary.name, str(folder)],
        stdout=subprocess.PIPE,
        env=os.environ | import_path(),
    )
    assert lab.stdout is not None
    with lab:
        pid = json.loads(lab.stdout.readline())["pid"]
        assert alive(pid)
        lab.send_signal(end)
    assert gone(pid)


def test_what_a_killed_server_left_is_removed_by_the_next(
    mariadb_binary: ServerBinary,
    private_server: Factory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A folder of its own: another test's server would remove it too.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    killed, living = private_server(mariadb_binary), private_server(mariadb_binary)
    left, pid = killed.socket.parent, killed.pid
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert left.exists()
    private_server(mariadb_binary)
    assert not left.exists()
    assert living.variables()


def test_mysql_dies_with_the_lab(mysql_binary: ServerBinary, tmp_path: Path) -> None:
    assert_dies_with_its_lab(mysql_binary, tmp_path / "s", signal.SIGKILL)


def test_the_server_outlives_the_thread_that_started_it(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary, start=False)
    starter = threading.Thread(target=server.start)
    starter.start()
    starter.join()
    assert server.variables()
    server.check()


def test_a_server_that_was_killed_behind_a_wrapper_has_ended(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    """The wrapper ends first, and the next start would find the folder in use."""
    server = private_server(mariadb_binary, start=False)
    server.wrap = ("/usr/bin/env",)
    for _ in range(3):
        server.start({"innodb_buffer_pool_size": "512M"})
        pid = server.pid
        server.kill()
        assert not alive(pid)
        os.close(server.folder.lock())


def test_a_signal_of_the_terminal_does_not_reach_the_server(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary)
    assert os.getpgid(server.pid) != os.getpgid(0)
    assert os.getsid(server.pid) != os.getsid(0)


def test_a_full_disk_is_told_when_data_is_made(
    any_binary: ServerBinary, small_disk: Callable[[int], Path]
) -> None:
    server = PrivateServer(any_binary, small_disk(6) / "s")
    with pytest.raises(DiskFull, match="the disk is full") as failed:
        server.initialise(timeout_s=60)
    assert failed.value.hint is not None
    assert not server.running


def test_a_full_disk_is_told_at_start(
    mariadb_binary: ServerBinary, small_disk: Callable[[int], Path], tmp_path: Path
) -> None:
    disk = small_disk(200)
    server = PrivateServer(mariadb_binary, disk / "s", tmp_path / "logs")
    server.initialise()
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "ballast").write_bytes(b"x" * (free - 100_000))
    with pytest.raises(DiskFull, match="the disk is full"):
        server.start(timeout_s=60)
    assert not server.running


def test_a_server_that_crashes_at_start_shows_its_words(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary, start=False)
    (server.data_folder / "ibdata1").write_bytes(b"rubbish" * 4096)
    with pytest.raises(ServerFailed, match="did not start") as failed:
        server.start()
    assert "InnoDB" in (failed.value.detail or "")


def test_a_server_that_never_answers_is_given_up(
    mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    sleeper = replace(mariadb_binary, argv=("/bin/sh", "-c", "exec sleep 600"))
    server = PrivateServer(sleeper, tmp_path / "s")
    server.claim()
    with pytest.raises(ServerFailed, match="did not start within"):
        server.start(timeout_s=0.1)
    assert not server.running


def test_a_program_that_cannot_be_run_is_told(mariadb_binary: ServerBinary, tmp_path: Path) -> None:
    gone_binary = replace(mariadb_binary, program=tmp_path / "mariadbd")
    with pytest.raises(UnusableServer, match="no server program at"):
        PrivateServer(gone_binary, tmp_path / "s").initialise()
    no_loader = replace(mariadb_binary, argv=(str(tmp_path / "ld.so"), *mariadb_binary.argv[1:]))
    with pytest.raises(ServerFailed, match="exit code 127") as failed:
        PrivateServer(no_loader, tmp_path / "s").initialise()
    assert "cannot be run: No such file or directory" in (failed.value.detail or "")


def test_the_data_of_another_version_is_not_touched(
    mariadb_binary: ServerBinary, mariadb_new_binary: ServerBinary, private_server: Factory
) -> None:
    old = private_server(mariadb_binary, start=False)
    new = PrivateServer(mariadb_new_binary, old.folder.root)
    with pytest.raises(FolderInUse, match=r"mariadb 10\.\S+ .*mariadb 11"):
        new.start()


def test_a_server_that_is_stopped_twice_or_never_started(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary, start=False)
    server.stop()
    server.kill()
    with pytest.raises(ServerFailed, match="is not running"):
        server.connect()
    server.start()
    with pytest.raises(ServerFailed, match="already running"):
        server.start()
    server.stop()
    server.stop()


def test_a_killed_server_recovers_at_the_next_start(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(any_binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE kept")
        cursor.execute("CREATE TABLE kept.t (a INT PRIMARY KEY) ENGINE=InnoDB")
        cursor.execute("INSERT INTO kept.t VALUES (1)")
    server.kill()
    server.start()
    with server.connect("kept") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT a FROM t")
        assert cursor.fetchall() == ((1,),)


PLAIN_USER = 65534

AS_PLAIN_USER = """
import json, os
from pathlib import Path
from contend.servers import debian
from contend.servers import PrivateServer
binary = debian.get("mariadb")
with PrivateServer(binary, Path(os.environ["HOME"]) / "s") as server:
    server.initialise()
    server.start({"key_cache_segments": 32})
    process = Path(f"/proc/{server.pid}")
    words = process.joinpath("cmdline").read_text().split("\\0")
    print(json.dumps({"segments": server.variables()["key_cache_segments"],
                      "owner": process.stat().st_uid, "uid": os.getuid(),
                      "verified": binary.verified,
                      "socket_folder": oct(server.socket.parent.stat().st_mode & 0o777),
                      "as_user": [word for word in words if word.startswith("--user")]}))
"""


def _python_for_anyone() -> str | None:
    """A Python that a user without rights may run, with what contend needs on its path."""
    for program in (sys.executable, "/usr/bin/python3"):
        check = "import sys; raise SystemExit(sys.version_info[:2] != " + repr(sys.version_info[:2])
        try:
            done = subprocess.run([program, "-c", check + ")"], user=PLAIN_USER, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return program
    return None


def test_works_for_a_plain_user(tmp_path_factory: pytest.TempPathFactory) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test is already run by a plain user")
    python = _python_for_anyone()
    if python is None:
        pytest.skip("no Python here may be run by a plain user")
    home = Path("/var/tmp") / f"contend-test-{os.getpid()}"
    home.mkdir(mode=0o700)
    os.chown(home, PLAIN_USER, -1)
    try:
        done = subprocess.run(
            [python, "-c", AS_PLAIN_USER],
            user=PLAIN_USER,
            group=PLAIN_USER,
            extra_groups=[],
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": str(home), **import_path()},
            capture_output=True,
            text=True,
            check=False,
        )
        if "PermissionError" in done.stderr and str(Path(contend.__file__).parent) in done.stderr:
            pytest.skip("this checkout may not be read by a plain user")
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said == {
            "segments": "32",
            "owner": PLAIN_USER,
            "uid": PLAIN_USER,
            "verified": True,
            "socket_folder": "0o700",
            "as_user": [],
        }
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)
