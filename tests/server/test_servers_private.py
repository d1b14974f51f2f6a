"""A private server's life, on each kind of server."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest
from sql import Factory

from contend.servers import PrivateServer, ServerBinary, folder
from contend.servers.errors import FolderInUse, OptionRejected, ServerDied, UnusableServer


def test_initialises_starts_answers_and_stops(any_binary: ServerBinary, tmp_path: Path) -> None:
    server = PrivateServer(any_binary, tmp_path / "deep" / "server", tmp_path / "logs")
    server.initialise()
    with server:
        assert server.start({"max_connections": 50}) == []
        assert server.variables()["max_connections"] == "50"
        assert server.variables_that_differ()["max_connections"] == {
            "value": "50",
            "default": "151",
        }
        assert server.socket.parent.stat().st_mode & 0o777 == 0o700
        assert server.port is None
        # What fills tables sends their rows as a local file.
        assert server.variables()["local_infile"] == "ON"
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            assert str((cursor.fetchone() or [""])[0]).startswith(any_binary.version)
        socket = server.socket
    assert not server.running
    assert not socket.parent.exists()
    assert (tmp_path / "logs" / "server.log").stat().st_size > 0


def test_starts_again_on_the_same_data(any_binary: ServerBinary, private_server: Factory) -> None:
    server = private_server(any_binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE kept")
    server.stop()
    server.start({"max_connections": 20}, tcp=True)
    with server.connect("kept"):
        pass
    # It listens where that is asked for, and on loopback alone.
    assert server.port is not None
    assert server.variables()["bind_address"] == "127.0.0.1"


def test_names_the_option_that_the_server_rejects(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(any_binary, start=False)
    with pytest.raises(OptionRejected, match="key_cache_segmnts") as refused:
        server.start({"key_cache_segmnts": 3})
    assert "key-cache-segmnts" in (refused.value.detail or "")
    assert not server.running


def test_notices_a_server_that_was_killed(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary)
    pid = server.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(ServerDied, match="SIGKILL"):
        server.check()


def test_refuses_a_folder_that_a_live_server_uses(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    first = private_server(mariadb_binary)
    second = PrivateServer(mariadb_binary, first.folder.root)
    with pytest.raises(FolderInUse, match="running server"):
        second.start()
    with pytest.raises(FolderInUse, match="running server"):
        second.initialise()
    assert first.variables()


def test_refuses_a_folder_that_is_not_ours(mariadb_binary: ServerBinary, tmp_path: Path) -> None:
    (tmp_path / "ibdata1").write_text("precious")
    server = PrivateServer(mariadb_binary, tmp_path)
    with pytest.raises(FolderInUse, match="did not create it"):
        server.initialise()
    with pytest.raises(FolderInUse, match="not the folder of a private server"):
        server.start()
    assert (tmp_path / "ibdata1").read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["ibdata1"]


def test_options_that_shape_the_data_are_taken_when_it_is_made(
    any_binary: ServerBinary, tmp_path: Path
) -> None:
    shape = {"innodb_page_size": "8K"}
    server = PrivateServer(any_binary, tmp_path / "s")
    server.initialise(shape)
    with server:
        assert server.start(shape) == []
        assert server.variables()["innodb_page_size"] == "8192"


def test_the_redo_log_lies_elsewhere_while_it_runs(
    any_binary: ServerBinary, tmp_path: Path
) -> None:
    """What is committed there is there after a clean stop and after a crash, and the data folder
    is whole by then, without the other one."""
    away = tmp_path / "away"
    away.mkdir()
    server = PrivateServer(any_binary, tmp_path / "server")
    server.initialise()
    server.redo_log_folder = str(away)
    with server:
        server.start()
        (folder,) = away.iterdir()
        assert redo_logs(server)
        assert all((folder / name).exists() for name in redo_logs(server))
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE kept")
            cursor.execute("CREATE TABLE kept.rows_ (id INT PRIMARY KEY) ENGINE=InnoDB")
            cursor.execute("INSERT INTO kept.rows_ VALUES (1)")
            connection.commit()
        server.kill()
        assert not any(away.iterdir())
        server.redo_log_folder = ""
        server.start()
        assert not any(path.is_symlink() for path in server.data_folder.iterdir())
        with server.connect("kept") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id FROM rows_")
            assert cursor.fetchall() == ((1,),)


def redo_logs(server: PrivateServer) -> list[str]:
    """What is a link in the data folder."""
    return sorted(path.name for path in server.data_folder.iterdir() if path.is_symlink())


def test_what_a_killed_lab_left_of_a_redo_log_is_removed_by_the_next_server(
    mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    left = away / "contend-left"
    left.mkdir(parents=True)
    for name in ("contend-log.lock", "ib_logfile0"):
        (left / name).touch()
    (away / "contend-of-somebody").mkdir()
    server = PrivateServer(mariadb_binary, tmp_path / "server")
    server.initialise()
    server.redo_log_folder = str(away)
    with server:
        server.start()
        assert not left.exists()
    assert [path.name for path in away.iterdir()] == ["contend-of-somebody"]


def test_a_log_in_memory_that_a_killed_lab_left_is_removed_by_any_next_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_IN_MEMORY", tmp_path)
    used, lock = folder.new_log_folder(tmp_path)
    left, its_lock = folder.new_log_folder(tmp_path)
    os.close(its_lock)
    made, socket_lock = folder.new_socket_folder()
    assert (used.exists(), left.exists()) == (True, False)
    for one in (lock, socket_lock):
        os.close(one)
    folder.remove_socket_folder(made)


def test_a_redo_log_that_has_no_room_is_told_and_stays(
    mariadb_binary: ServerBinary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    server = PrivateServer(mariadb_binary, tmp_path / "server")
    server.initialise()

    def full(_from: Path, to: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(to))

    server.redo_log_folder = str(away)
    with monkeypatch.context() as patched:
        patched.setattr("contend.servers.folder.shutil.move", full)
        with pytest.raises(UnusableServer, match="No space left") as caught:
            server.start()
    assert "innodb_log_file_size" in str(caught.value.hint)
    assert not any(away.iterdir())
    server.redo_log_folder = ""
    with server:
        server.start()
