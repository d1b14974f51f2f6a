"""The model server as a kind of private server: its command line, and how it is asked to say what
it counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contend.errors import RequestError
from contend.servers.binary import ServerBinary
from contend.servers.errors import OptionRejected, ServerFailed
from contend.servers.find import find_server
from contend.servers.kinds import KINDS, refuse_unknown
from contend.servers.kinds.base import Site
from contend.servers.kinds.model import ModelKind, truth_file

MODEL = KINDS["model"]

OPTIONS = {"key_buffer_size": "512M", "query_cache_type": 0, "key-cache-segments": 32}

BINARY = ServerBinary(
    kind="model",
    version="0.9.0",
    suite=None,
    argv=("contend-load", "model-server"),
    program=Path("contend-load"),
    basedir=Path(),
    share_dir=Path(),
    plugin_dir=None,
    source="contend-load",
)


def test_its_variables_go_to_the_command_line_and_what_has_no_effect_does_not() -> None:
    assert MODEL.option_arguments(OPTIONS, BINARY) == [
        *("--variable=key_buffer_size=512M", "--variable=key_cache_segments=32")
    ]
    assert MODEL.without_effect(OPTIONS) == ["query_cache_type"]


def test_it_listens_on_its_socket_and_counts_into_a_file_beside_its_log() -> None:
    here = Path("/run/x")
    site = Site(here / "data", here / "tmp", here / "s", here / "pid", here / "l", None, None)
    arguments = MODEL.start_arguments(site)
    assert arguments == ["--socket=/run/x/s", "--truth=/run/x/truth.jsonl"]


def test_an_option_that_it_does_not_have_is_refused_with_the_nearest() -> None:
    refuse_unknown(BINARY, OPTIONS)
    with pytest.raises(OptionRejected, match="has no option key_bufer_size") as refused:
        refuse_unknown(BINARY, ["key_bufer_size"])
    assert "key_buffer_size" in str(refused.value.hint)
    with pytest.raises(OptionRejected) as far:
        refuse_unknown(BINARY, ["xyzzy"])
    assert "It has " in str(far.value.hint) and "key_cache_segments" in str(far.value.hint)


def test_it_is_not_confused_with_a_server_that_is_looked_for() -> None:
    with pytest.raises(RequestError):
        find_server("mariadb", wanted="model")
    with pytest.raises(RequestError):
        find_server("model", wanted="/usr/sbin/mariadbd")


ANSWERS = """
import signal, sys
count = 0
def write(*_):
    global count
    count += 1
    with open(sys.argv[1], "a") as file:
        file.write('{"queries": %d, "knobs": {}, "segments": []}\\n' % (10 * count))
signal.signal(signal.SIGUSR1, write)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A process that writes what it counted when it is told to, as a model server does."""
    log = tmp_path / "server.log"
    with subprocess.Popen(
        [sys.executable, "-c", ANSWERS, str(truth_file(log))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid, log
        process.kill()


def test_each_look_is_a_line_of_its_own(counting: tuple[int, Path]) -> None:
    pid, log = counting
    assert ModelKind().counted(pid, log) == {"queries": 10, "segments": []}
    assert ModelKind().counted(pid, log) == {"queries": 20, "segments": []}
    assert len(truth_file(log).read_text().splitlines()) == 2


def test_one_that_is_gone_is_said(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(ServerFailed, match="ended"):
        ModelKind().counted(process.pid, tmp_path / "server.log")
