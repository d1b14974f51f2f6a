"""`contend-load recording ask` against two real servers: an index that one lacks, writes that leave
nothing behind, tables and databases that are missing, statements that take too long."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sql import Factory, query

from contend.servers import PrivateServer, ServerBinary

Ask = Callable[..., dict[str, Any]]
PASSWORD = {"SHOP_PASSWORD": "shop"}
SCHEMA = [
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop",
    "CREATE TABLE shop.items (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(30), KEY (k))",
    "INSERT INTO shop.items (k, v) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
    " WHERE i < 1000) SELECT a.i, CONCAT('v', b.i) FROM n a JOIN n b ON b.i <= 20",
    "CREATE USER IF NOT EXISTS shop@localhost IDENTIFIED BY 'shop'",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO shop@localhost",
]


def entry(sql: str, second: int, *, rows: int = 0, database: str = "shop") -> str:
    stamp = 1_700_000_000 + second
    return (
        f"# Time: 231114 22:13:{second % 60:02}\n"
        f"# User@Host: app[app] @ localhost []\n"
        f"# Thread_id: 7  Schema: {database}  QC_hit: No\n"
        f"# Query_time: 0.010000  Lock_time: 0.000000  Rows_sent: {rows}  Rows_examined: {rows}\n"
        f"SET timestamp={stamp};\n{sql};\n"
    )


@pytest.fixture(scope="module")
def servers(
    mariadb_binary: ServerBinary, shared_server: Factory
) -> tuple[PrivateServer, PrivateServer]:
    """Two servers with the same rows; the second one has no index."""
    first = shared_server(mariadb_binary)
    second = shared_server(mariadb_binary, {"max_connections": 30})
    for server in (first, second):
        for statement in SCHEMA:
            query(server, statement)
    query(second, "ALTER TABLE shop.items DROP KEY k")
    return first, second


@pytest.fixture
def ask(load_program: Path, servers: tuple[PrivateServer, PrivateServer], tmp_path: Path) -> Ask:
    """`ask(entries, **keys)`: imports a log and asks its statements; the last line."""

    def work(entries: list[str], **keys: Any) -> dict[str, Any]:
        log = tmp_path / "slow.log"
        log.write_text("".join(entries), encoding="utf-8")
        recording = tmp_path / "shop.recording"
        subprocess.run(
            [load_program, "recording", "import", log, "--to", recording],
            check=True,
            capture_output=True,
        )
        plan = {
            "version": 1,
            "recording": str(recording),
            "arms": [
                {
                    "name": name,
                    "server": {
                        "socket": str(server.socket),
                        "user": "shop",
                        "password_env": "SHOP_PASSWORD",
                    },
                    "watch": {"pid": server.pid},
                }
                for name, server in zip(("with", "without"), servers, strict=True)
            ],
            **keys,
        }
        done = subprocess.run(
            [load_program, "recording", "ask", "-"],
            input=json.dumps(plan),
            env=PASSWORD,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines[0]["type"] == "hello"
        assert [arm["arm"] for arm in lines[0]["arms"]] == ["with", "without"]
        assert lines[-1]["type"] == "ask_done"
        last: dict[str, Any] = lines[-1]
        return last

    return work


def test_the_template_that_lost_its_index_is_slower_and_finds_the_same_rows(ask: Ask) -> None:
    entries = [
        line
        for i in range(60)
        for line in (
            entry(f"SELECT id, v FROM items WHERE k = {i + 1}", i, rows=20),
            entry(f"SELECT v FROM items WHERE id = {i + 1}", i, rows=1),
            entry("SELECT NOW(), k FROM items WHERE id = 3", i, rows=1),
        )
    ]
    done = ask(entries, each=40)
    assert done["ended"] == "done"
    assert done["asked"] == done["planned"] == 120
    assert done["timestamp_refused"] is None
    by_rows = {template["arms"][0]["rows"]: template for template in done["templates"]}
    slow = by_rows[40 * 20]
    pair = slow["pairs"][0]
    assert pair["pairs"] == 40
    assert pair["mean_ln_ratio"] > 1, pair
    assert pair["var_ln_ratio"] > 0
    for template in done["templates"]:
        assert template["pairs"][0]["rows_differ"] == 0
        assert template["pairs"][0]["results_differ"] == 0
        for arm in template["arms"]:
            assert arm["count"] == arm["rows_logged"] == arm["rows_as_logged"] == 40
            assert arm["errors"] == {}
    assert sorted(template["rows_only"] for template in done["templates"]) == [0, 0, 40]
    assert all(arm["watched_cpu_us"] > 0 for arm in done["arms"])


def test_writes_are_rolled_back_and_what_commits_is_left_out(
    ask: Ask, servers: tuple[PrivateServer, PrivateServer]
) -> None:
    checksum = "CHECKSUM TABLE shop.items"
    before = [query(server, checksum) for server in servers]
    entries = [
        line
        for i in range(20)
        for line in (
            entry(f"UPDATE items SET v = 'changed' WHERE k = {i + 1}", i),
            entry(f"DELETE FROM items WHERE id = {i + 1}", i),
            entry(f"INSERT INTO items (k, v) VALUES ({i}, 'new')", i),
            entry("TRUNCATE items", i),
            entry("COMMIT", i),
        )
    ]
    done = ask(entries, writes=True)
    assert [query(server, checksum) for server in servers] == before
    assert done["left_out"]["commits"]["templates"] == 1
    assert done["left_out"]["transaction"]["calls"] == 20
    assert sorted(template["arms"][1]["rows"] for template in done["templates"]) == [20, 20, 400]
    assert all(arm["not_rolled_back"] == 0 for arm in done["arms"])
    assert all(arm["errors"] == {} for arm in done["arms"])


def test_what_is_missing_is_counted_and_the_rest_goes_on(
    ask: Ask, servers: tuple[PrivateServer, PrivateServer]
) -> None:
    query(servers[1], "CREATE TABLE IF NOT EXISTS shop.only_here (a INT)")
    entries = [
        line
        for i in range(10)
        for line in (
            entry(f"SELECT v FROM items WHERE id = {i + 1}", i, rows=1),
            entry(f"SELECT a FROM only_here WHERE a = {i}", i),
            entry(f"SELECT 1 FROM elsewhere WHERE a = {i}", i, database="gone"),
        )
    ]
    done = ask(entries)
    first, second = done["arms"]
    # A user without rights to a database cannot tell whether it exists.
    assert (first["no_database"], second["no_database"]) == (10, 10)
    assert sum(first["errors"].values()) == 10
    assert second["errors"] == {}
    assert sum(template["one_sided"] for template in done["templates"]) == 10
    if "1146" in first["errors"]:
        assert done["missing_tables"] == [{"table": "shop.only_here", "statements": 10}]
        assert done["missing_tables_share"] == pytest.approx(1 / 3)
    query(servers[1], "DROP TABLE shop.only_here")


def test_a_statement_that_takes_too_long_is_killed_by_its_own_user(ask: Ask) -> None:
    slow = "SELECT COUNT(*) FROM items a JOIN items b ON a.v < b.v JOIN items c ON c.v < {}"
    entries = [entry(slow.format(i), i) for i in range(8)]
    entries += [entry(f"SELECT v FROM items WHERE id = {i + 1}", i, rows=1) for i in range(8)]
    begun = time.monotonic()
    done = ask(entries, limit_s=0.4)
    assert time.monotonic() - begun < 30
    stopped = [template for template in done["templates"] if template["stopped"]]
    assert [template["stopped"] for template in stopped] == ["too_slow"]
    assert [arm["too_slow"] for arm in stopped[0]["arms"]] == [3, 3]
    other = next(template for template in done["templates"] if not template["stopped"])
    assert [arm["count"] for arm in other["arms"]] == [8, 8]
    assert done["incomplete_templates"] == 0


def test_time_and_signals_end_a_run_with_what_it_has(
    ask: Ask, load_program: Path, servers: tuple[PrivateServer, PrivateServer], tmp_path: Path
) -> None:
    entries = [entry(f"SELECT v FROM items WHERE k > {i}", i % 60) for i in range(50)]
    done = ask(entries, rounds=1000, for_s=0.5)
    assert done["ended"] == "time"
    assert done["incomplete_templates"] == 1
    assert 0 < done["asked"] < done["planned"] == 50_000
    arm = {"name": "a", "server": {"socket": str(servers[0].socket), "user": "root"}}
    recording = str(tmp_path / "shop.recording")
    plan = {"version": 1, "recording": recording, "arms": [arm], "rounds": 1000}
    with subprocess.Popen(
        [load_program, "recording", "ask", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps(plan))
        program.stdin.close()
        assert json.loads(program.stdout.readline())["type"] == "hello"
        assert json.loads(program.stdout.readline())["type"] == "ask_progress"
        program.send_signal(signal.SIGTERM)
        last = json.loads(program.stdout.readlines()[-1])
        assert (last["type"], last["ended"]) == ("ask_done", "signal")
        assert program.wait(10) == 0
