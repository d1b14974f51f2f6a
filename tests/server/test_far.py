"""`server.round_trip`: the client stands apart from a private server and from a borrowed one, in
slices and in runs, and how exact the line was is in each cell."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_lab import Lab, finish, wait_for

from contend.load import Address, LineFailed, Lines
from contend.metrics import metric_of
from contend.servers import PrivateServer, ServerBinary

FAR = """
[experiment]
name = "far"

[server]
options = { innodb_buffer_pool_size = "16M", innodb_log_file_size = "8M" }

[data]
rows = 1000

[workload]
kind = "batch_select"
batch_rows = 3
select_by = "select"

[load]
warmup = "5ms"
measure = "150ms"
slice = "100ms"
settle = "10ms"

[factors]
"server.round_trip" = ["0us", "5ms"]

[compare]
baseline = { "server.round_trip" = "0us" }
metric = ["response_us_mean", "line_late_us_p50"]
repeats = 2
"""


def test_a_private_server_is_as_far_as_asked_in_slices(lab: Lab) -> None:
    Path(lab.file).write_text(FAR)
    finish(lab)
    records = lab.records()
    assert {record.status for record in records} == {"ok"}
    # Three round trips an event, of one server that is asked by way of two lines.
    for record in records:
        far_us = {"0us": 0, "5ms": 5_000}[str(record.cell["server.round_trip"])]
        mean_us = metric_of("response_us_mean").value(record)
        assert mean_us is not None and mean_us >= 3 * far_us
        line = record.probes["line"]
        assert line["round_trip_us"] == pytest.approx(far_us)
        assert line["late_us"]["count"] > 0 and line["refused"] == 0
        assert metric_of("line_late_us_p50").value(record) == line["late_us"]["p50"]
        assert "arms" in record.plan and "status" not in record.probes


def test_a_borrowed_server_is_far_too(
    lab: Lab, shared_server: Callable[..., PrivateServer], mariadb_binary: ServerBinary
) -> None:
    server = shared_server(mariadb_binary, tcp=True)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER bench@'127.0.0.1'")
        cursor.execute("GRANT ALL ON *.* TO bench@'127.0.0.1'")
    Path(lab.file).write_text(
        FAR.replace(
            'options = { innodb_buffer_pool_size = "16M", innodb_log_file_size = "8M" }', ""
        ).replace("[compare]", '[compare]\nby = "runs"')
    )
    finish(lab, "--server", f"mysql://bench@127.0.0.1:{server.port}/mine", "--yes")
    near, *_, far = sorted(lab.records(), key=lambda one: one.probes["line"]["round_trip_us"])
    assert near.probes["line"]["round_trip_us"] == 0
    assert metric_of("response_us_mean").value(far) >= 15_000
    assert far.plan["server"]["port"] != server.port


@pytest.fixture
def gone(tmp_path: Path) -> Any:
    """A server that lets one client in, and has gone then."""
    path = tmp_path / "gone.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def once() -> None:
        client, _ = listener.accept()
        client.close()
        listener.close()
        path.unlink()

    thread = threading.Thread(target=once)
    thread.start()
    yield path
    thread.join()


def test_a_target_that_has_gone_is_named(gone: Path, load_program: Path) -> None:
    lines = Lines(load_program)
    try:
        line = lines.before(Address(socket=str(gone)), 0.0)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            wait_for(lambda: not gone.exists())
            client.connect(str(line.address.socket))
            said = client.recv(1000)
        assert f"cannot reach socket {gone}".encode() in said
        # A number of the client libraries' own would be a broken packet to MariaDB's.
        assert int.from_bytes(said[5:7], "little") < 2000
        assert line.report()["refused"] == 1
        with pytest.raises(LineFailed, match="could not be set up") as caught:
            lines.before(Address(socket=str(gone)), 0.1)
        assert "cannot connect to socket" in str(caught.value.detail)
    finally:
        lines.close()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--round-trip=-1", "--listen=0", "127.0.0.1:1"], 2, "such as 200us"),
        (["--round-trip=200", "--listen=0", "127.0.0.1:1"], 2, "with its unit"),
        (["--round-trip=1us", "--listen=nowhere", "127.0.0.1:1"], 2, "a port of 127.0.0.1"),
        (["--round-trip=1us", "--listen=0", "db1"], 2, "HOST:PORT"),
        (["--round-trip=1us", "--listen=0", "127.0.0.1:1"], 1, "cannot connect to 127.0.0.1:1"),
    ],
)
def test_bad_requests_are_answered_in_words(
    load_program: Path, arguments: list[str], code: int, says: str
) -> None:
    done = subprocess.run(
        [load_program, "far", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "panicked" not in done.stderr
