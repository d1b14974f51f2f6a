"""Every way of asking for many rows gives them, and every way of inserting leaves them there."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sql import query

from contend.servers import PrivateServer, ServerBinary

ROWS, BATCH, EVENTS = 100_000, 7, 3

SELECT_BY = ("select", "in", "union_all", "multi_statement", "pipeline")
INSERT_BY = ("insert", "transaction", "pipeline", "multi_row", "bulk_execute", "load_data")


@pytest.fixture
def server(
    shared_server: Callable[..., PrivateServer], any_binary: ServerBinary, load_program: Path
) -> PrivateServer:
    made = shared_server(any_binary, {"local_infile": 1})
    if not query(made, "SHOW DATABASES LIKE 'bench'"):
        command = [load_program, "fill", f"--socket={made.socket}", "--user=root"]
        command += ["--database=bench", "--create-database", f"--rows={ROWS}"]
        subprocess.run(command, check=True, capture_output=True)
    return made


def run(
    server: PrivateServer,
    program: Path,
    protocol: str,
    compression: str = "none",
    **workload: Any,
) -> dict[str, Any]:
    """The last outcome of so many events."""
    plan = {
        "version": 1,
        "server": {
            "socket": str(server.socket),
            "database": "bench",
            "compression": compression,
        },
        "workload": {"rows": ROWS, "batch_rows": BATCH, **workload},
        "load": {"connections": 1, "measure_s": 60, "events": EVENTS, "protocol": protocol},
    }
    done = subprocess.run(
        [program, "run", "-"], input=json.dumps(plan), capture_output=True, text=True, check=False
    )
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return last


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_rows_are_had_in_every_way(
    server: PrivateServer, load_program: Path, protocol: str
) -> None:
    for way in SELECT_BY:
        done = run(server, load_program, protocol, kind="batch_select", select_by=way)
        assert (done["type"], done["events"], done["errors"]) == ("done", EVENTS, []), way
        # None of the 21 keys is drawn twice.
        assert done["rows"] == BATCH * EVENTS, way
        assert done["queries"] == (BATCH * EVENTS if way == "select" else EVENTS), way


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_rows_are_inserted_in_every_way(
    server: PrivateServer, load_program: Path, protocol: str
) -> None:
    # A bulk execute is refused under the text protocol before anything is asked.
    for way in [way for way in INSERT_BY if (way, protocol) != ("bulk_execute", "text")]:
        before = rows(server)
        done = run(server, load_program, protocol, kind="batch_insert", insert_by=way)
        if way == "bulk_execute" and server.binary.kind == "mysql":
            assert done["type"] == "error"
            assert "no bulk execute" in done["message"]
            continue
        assert (done["type"], done["events"], done["errors"]) == ("done", EVENTS, []), way
        assert rows(server) - before == BATCH * EVENTS, way


def test_an_error_inside_a_pipeline_is_counted_and_the_rest_is_answered(
    server: PrivateServer, load_program: Path
) -> None:
    done = run(
        server, load_program, "text", kind="batch_select", select_by="pipeline", table="missing"
    )
    assert done["type"] == "error"
    assert done["code"] == 1146


def test_every_request_of_a_pipeline_is_answered_if_the_connection_is_compressed(
    server: PrivateServer, load_program: Path
) -> None:
    # Of several requests in one compressed packet the servers forget most.
    algorithms = ("zlib", "zstd") if server.binary.kind == "mysql" else ("zlib",)
    for way in itertools.product(algorithms, ("text", "prepared")):
        algorithm, protocol = way
        ask = {"kind": "batch_select", "select_by": "pipeline"}
        done = run(server, load_program, protocol, algorithm, **ask)
        assert (done["type"], done["rows"], done["errors"]) == ("done", BATCH * EVENTS, []), way
        before = rows(server)
        ask = {"kind": "batch_insert", "insert_by": "pipeline"}
        done = run(server, load_program, protocol, algorithm, **ask)
        assert (done["type"], done["events"], done["errors"]) == ("done", EVENTS, []), way
        assert rows(server) - before == BATCH * EVENTS, way


def rows(server: PrivateServer) -> int:
    return int(query(server, "SELECT COUNT(*) FROM bench.sbtest")[0][0])
