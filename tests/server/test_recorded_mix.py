"""Transactions of a recording as a load on a real server: closed and open, in slices, with writes;
and a whole run of `contend` with its likeness beside it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from null_server import run_plan
from run_lab import Lab
from sql import Factory, query

from contend.servers import PrivateServer, ServerBinary

Mix = Callable[..., dict[str, Any]]
SCHEMA = [
    "DROP DATABASE IF EXISTS mix",
    "CREATE DATABASE mix",
    "USE mix",
    "CREATE TABLE mix.items (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE mix.sums (id INT PRIMARY KEY, v INT)",
    "INSERT INTO mix.items SELECT seq, 0 FROM seq_1_to_1000",
    "INSERT INTO mix.sums SELECT seq, 0 FROM seq_1_to_1000",
]


def entry(sql: str, second: int, thread: int, *, took_s: float = 0.01, schema: str = "mix") -> str:
    return (
        f"# Time: 231114 22:{second // 60:02}:{second % 60:02}\n"
        f"# User@Host: app[app] @ localhost []\n"
        f"# Thread_id: {thread}  Schema: {schema}  QC_hit: No\n"
        f"# Query_time: {took_s:.6f}  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n"
        f"SET timestamp={1_700_000_000 + second};\n{sql};\n"
    )


def written(second: int) -> str:
    """Two sessions: one reads, one adds the same number to two tables in a transaction."""
    row = second + 1
    return "".join(
        [
            entry("BEGIN", second, 8),
            entry(f"SELECT v FROM items WHERE id = {row}", second, 7),
            entry(f"UPDATE items SET v = v + 1 WHERE id = {row}", second, 8, took_s=0.2),
            entry(f"SELECT id FROM items WHERE v > {row} LIMIT 3", second, 7),
            entry(f"UPDATE sums SET v = v + 1 WHERE id = {row}", second, 8),
            entry("COMMIT", second, 8),
            entry(f"SELECT v FROM items WHERE id = {row + 1}", second, 7),
        ]
    )


LOG = "".join(written(second) for second in range(100))


@pytest.fixture(scope="module")
def servers(
    mariadb_binary: ServerBinary, shared_server: Factory
) -> tuple[PrivateServer, PrivateServer]:
    first = shared_server(mariadb_binary)
    second = shared_server(mariadb_binary, {"max_connections": 40})
    for server in (first, second):
        query(server, *SCHEMA)
    return first, second


@pytest.fixture
def mix(load_program: Path, servers: tuple[PrivateServer, PrivateServer], tmp_path: Path) -> Mix:
    """`mix(log, plan, workload, **load)`: runs a recording of the log; the last line."""

    def run(log: str, plan: dict[str, Any] | None = None, **load: Any) -> dict[str, Any]:
        workload = load.pop("workload", {})
        recording = recorded(load_program, log, tmp_path)
        whole = {
            "version": 1,
            "server": at(servers[0]),
            "workload": {"kind": "recorded", "recording": str(recording), **workload},
            "load": {"connections": 3, "measure_s": 600, **load},
            "seed": 5,
            **(plan or {}),
        }
        whole["load"] = {key: one for key, one in whole["load"].items() if one is not None}
        lines, code, words = run_plan(load_program, whole)
        assert code == 0, words or lines[-1]
        return lines[-1]

    return run


def recorded(program: Path, log: str, folder: Path) -> Path:
    path, recording = folder / "slow.log", folder / "mix.recording"
    path.write_text(log, encoding="utf-8")
    argv = [program, "recording", "import", path, "--to", recording]
    subprocess.run(argv, check=True, capture_output=True)
    return recording


def at(server: PrivateServer) -> dict[str, Any]:
    return {"socket": str(server.socket), "database": "mysql"}


def queries(done: dict[str, Any]) -> dict[str, int]:
    return {one["name"]: one["queries"] for one in done["classes"]}


def sums(server: PrivateServer) -> tuple[int, int]:
    """Of the two tables that the transactions write."""
    ((items, of_sums),) = query(
        server, "SELECT (SELECT SUM(v) FROM mix.items), (SELECT SUM(v) FROM mix.sums)"
    )
    return int(items), int(of_sums)


def test_a_closed_load_sends_the_reads_and_writes_nothing(
    mix: Mix, servers: tuple[PrivateServer, PrivateServer]
) -> None:
    before = sums(servers[0])
    done = mix(LOG, events=3000)
    assert (done["events"], done["errors"]) == (3000, [])
    assert done["arrival"] == "closed-loop"
    assert sums(servers[0]) == before
    # The templates by their numbers: two of three reads are the first of them.
    counts = queries(done)
    assert set(counts) == {"t1", "t3"}
    assert counts["t1"] + counts["t3"] == done["queries"] == 3000
    assert abs(counts["t1"] - 2000) <= 30
    assert all(one["latency_us"]["p99"] > 0 for one in done["classes"])


def test_transactions_with_writes_are_whole(
    mix: Mix, servers: tuple[PrivateServer, PrivateServer]
) -> None:
    before = sums(servers[0])
    done = mix(LOG, events=2000, workload={"writes": True, "block_s": 2.0})
    after = sums(servers[0])
    counts = queries(done)
    begun, committed = counts["t0"], counts["t5"]
    assert begun == committed > 300
    # No transaction wrote one of its tables alone, and each wrote once unless it was retried.
    assert after[0] - before[0] == after[1] - before[1]
    assert 0 < after[0] - before[0] <= committed
    assert done["events"] == 2000


def test_an_open_load_begins_them_at_its_rate(mix: Mix) -> None:
    done = mix(
        LOG,
        measure_s=2.0,
        arrival={"kind": "open", "stages": [{"rate": 400.0}]},
        workload={"shares": {"t3": 80}},
    )
    assert done["arrival"] == "open-loop"
    assert 500 < done["events"] < 1100
    counts = queries(done)
    assert counts["t3"] / (counts["t1"] + counts["t3"]) > 0.7


def test_two_arms_in_slices_send_the_same_statements(
    mix: Mix, servers: tuple[PrivateServer, PrivateServer]
) -> None:
    arms = [{"name": name, "server": at(one)} for name, one in zip("ab", servers, strict=True)]
    slices = {"slice_s": 0.05, "settle_s": 0.005, "rounds": 6}
    done = mix(LOG, {"arms": arms}, measure_s=None, slices=slices)
    shares = []
    for arm in done["arms"]:
        counts = queries(arm["done"])
        assert sum(counts.values()) == arm["done"]["queries"] > 100
        shares.append(counts["t1"] / arm["done"]["queries"])
    assert abs(shares[0] - shares[1]) < 0.05


def test_arms_in_slices_go_on_after_an_error(
    mix: Mix, servers: tuple[PrivateServer, PrivateServer]
) -> None:
    arms = [{"name": name, "server": at(one)} for name, one in zip("ab", servers, strict=True)]
    slices = {"slice_s": 0.05, "settle_s": 0.005, "rounds": 4}
    log = entry("SELECT v FROM items WHERE id = 1", 0, 7) + entry("SELECT v FROM nothing", 1, 7)
    for arm in mix(log, {"arms": arms}, measure_s=None, slices=slices)["arms"]:
        done = arm["done"]
        assert done["events"] > 10 and done["failed"] > 10
        assert [error["code"] for error in done["errors"]] == [1146]


def test_tables_and_databases_that_are_missing_are_errors_by_number(mix: Mix) -> None:
    log = "".join(
        [
            entry("SELECT v FROM items WHERE id = 1", 0, 7),
            entry("SELECT v FROM nothing WHERE id = 'secret'", 1, 7),
            entry("SELECT v FROM items WHERE id = 2", 2, 7, schema="nowhere"),
        ]
    )
    done = mix(log, events=51)
    # Each statement is a transaction, and one without an answer has failed.
    assert (done["events"], done["failed"]) == (17, 34)
    errors = {one["code"]: one for one in done["errors"]}
    assert set(errors) == {1146, 1049}
    # The values stay in the recording.
    assert "secret" not in json.dumps(done)
    assert errors[1146]["statement"] == "SELECT v FROM nothing WHERE id = ?"


def test_a_load_without_one_answer_has_only_failed_events(mix: Mix) -> None:
    """The lab takes it for a failed run, like every run without an answer."""
    done = mix(entry("SELECT v FROM nothing", 0, 7), measure_s=0.5)
    assert done["events"] == 0 and done["failed"] > 0
    assert [error["code"] for error in done["errors"]] == [1146]


def test_quotes_are_read_as_logged(mix: Mix) -> None:
    log = entry("SET sql_mode='ANSI_QUOTES'", 0, 7) + entry(
        'SELECT "v" FROM "items" WHERE id = 1', 1, 7
    )
    log += entry('SELECT "v" FROM items WHERE id = 1', 2, 8)
    done = mix(log, events=200)
    assert (done["events"], done["errors"]) == (200, [])


EXPERIMENT = """
[server]
options = { innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M" }
[data]
rows = 5_000
[workload]
kind = "recorded"
recording = "mix"
block = "2s"
[load]
connections = 2
slice = "20ms"
settle = "5ms"
[factors]
"server.options.innodb_buffer_pool_size" = ["32M", "64M"]
[compare]
by = "slices"
repeats = 2
baseline = { "server.options.innodb_buffer_pool_size" = "32M" }
"""


def test_a_run_of_a_recording_says_how_alike_it_is(lab: Lab) -> None:
    log = lab.folder / "slow.log"
    log.write_text(
        "".join(
            entry(f"SELECT k FROM sbtest WHERE id = {second + 1}", second, 7, schema="")
            + entry(f"SELECT COUNT(*) FROM sbtest WHERE id < {second + 2}", second, 7, schema="")
            + entry("UPDATE sbtest SET k = k + 1 WHERE id = 5", second, 7, schema="")
            for second in range(60)
        )
    )
    lab.file.write_text(EXPERIMENT)
    refused = lab.run()
    assert refused.returncode == 2
    assert 'there is no recording "mix"' in refused.stderr
    assert lab.contend("log", "import", log, "--name", "mix").returncode == 0
    done = lab.run()
    assert done.returncode == 0, done.stderr
    shown = json.loads(lab.contend("show", lab.out, "--json").stdout)
    found = shown["recorded"]
    assert found["recording"] == "mix"
    assert found["covered"] == pytest.approx(2 / 3)
    assert sorted(one["template"] for one in found["templates"]) == [0, 1]
    assert len(found["cells"]) == 2
    for cell in found["cells"]:
        assert cell["statements"] > 100
        assert cell["moved"] < 0.1
        assert cell["rows_per_statement"] == pytest.approx(1.0)
    assert found["rows_per_statement"] == pytest.approx(1.0)
    names = {one["name"] for one in shown["statements"]}
    assert names == {"t0", "t1"}
    # Another log of the same name is another workload.
    log.write_text(entry("SELECT 1", 0, 7))
    assert lab.contend("log", "import", log, "--name", "mix", "--replace").returncode == 0
    again = lab.contend("run", "--resume", lab.out)
    assert again.returncode == 2
    assert "recording mix" in again.stderr
    assert lab.contend("log", "drop", "mix", "--yes").returncode == 0
