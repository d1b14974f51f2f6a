"""`contend warm` of a server that stands still: it accepts, and never answers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contend.cli.main import main
from contend.servers import PrivateServer, ServerBinary, client, existing
from contend.warm import status
from contend.warm.work import set_variable

Factory = Callable[..., PrivateServer]

LIMIT_S = 1


@pytest.fixture
def server(
    mariadb_binary: ServerBinary, private_server: Factory, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[PrivateServer]:  # fmt: skip
    """One whose user waits for a moment only; it may be left standing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(client, "CONNECT_TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr(existing, "ANSWER_S", LIMIT_S)
    server = private_server(mariadb_binary)
    yield server
    go_on(server)


def halt(server: PrivateServer) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)


def go_on(server: PrivateServer) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGCONT)


@pytest.mark.parametrize("words", [["--status"], ["--dry-run"], []])
def test_it_is_not_waited_for(
    server: PrivateServer, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    halt(server)
    assert main(["warm", f"socket:{server.socket}", *words]) == 1
    assert f"socket={server.socket} does not answer (user" in capsys.readouterr().err


def test_it_is_said_at_which_statement_and_what_was_changed_can_be_put_back(
    server: PrivateServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"socket:{server.socket}"
    percent = "innodb_buffer_pool_dump_pct"
    before = server.variables()[percent]
    read_status = status.read_status

    def halting(connection: Any, survey: Any, journal: Any, *words: Any, **more: Any) -> Any:
        assert set_variable(connection, journal, percent, 99) is None
        halt(server)
        return read_status(connection, survey, journal, *words, **more)

    with monkeypatch.context() as patched:
        patched.setattr(status, "read_status", halting)
        assert main(["warm", address, "--status"]) == 1
    err = capsys.readouterr().err
    assert f"socket={server.socket} did not answer within {LIMIT_S} s." in err
    assert "SHOW GLOBAL STATUS" in err
    assert "contend restore mysql:" in err
    go_on(server)
    assert server.variables()[percent] == "99"
    assert main(["warm", address, "--restore"]) == 0
    assert server.variables()[percent] == before
