"""Rows by key over a real server's HandlerSocket: right answers, clear refusals, slices."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from null_server import run_plan
from run_lab import Lab, with_figures
from sql import query

from contend.servers import PrivateServer, ServerBinary, debian

ROWS, EVENTS = 5000, 200
DATABASE = "bench"
SECRET = "s e'cret\\"


@pytest.fixture(scope="module")
def binary() -> ServerBinary:
    return debian.get("mariadb", extras=("handlersocket",))


@pytest.fixture(scope="module")
def server(
    shared_server: Callable[..., PrivateServer], binary: ServerBinary, load_program: Path
) -> PrivateServer:
    made = shared_server(binary)
    command = [load_program, "fill", f"--socket={made.socket}", "--user=root"]
    command += [f"--database={DATABASE}", "--create-database", f"--rows={ROWS}"]
    subprocess.run(command, check=True, capture_output=True)
    return made


def plan_of(server: PrivateServer, kind: str, **more: Any) -> dict[str, Any]:
    assert server.key_sockets is not None
    reads, writes = map(str, server.key_sockets)
    keys = {"socket": reads, "socket_wr": writes, **more.pop("keys", {})}
    workload = {"kind": kind, "rows": ROWS, **more.pop("workload", {})}
    return {
        "version": 1,
        "server": {"socket": str(server.socket), "database": DATABASE, "handler_socket": keys},
        "workload": workload,
        "load": {
            "connections": 3,
            "measure_s": 600,
            "events": EVENTS,
            "protocol": "handler_socket",
            **more,
        },
        "seed": 5,
    }


def done_of(program: Path, plan: dict[str, Any], **env: str) -> dict[str, Any]:
    lines, code, words = run_plan(program, plan, env={"PATH": "/usr/bin:/bin", **env})
    assert code == 0, words
    done: dict[str, Any] = lines[-1]
    return done


def refusal(program: Path, plan: dict[str, Any], *, code: int = 1, **env: str) -> str:
    _lines, ended, words = run_plan(program, plan, env={"PATH": "/usr/bin:/bin", **env})
    assert ended == code, words
    assert "Traceback" not in words and "panicked" not in words
    return words


@pytest.mark.parametrize("engine", ["epoll", "io_uring"])
def test_as_many_rows_are_found_and_changed_as_by_sql(
    server: PrivateServer, load_program: Path, engine: str
) -> None:
    found = done_of(load_program, plan_of(server, "point_select", engine=engine))
    assert (found["events"], found["rows"], found["errors"]) == (EVENTS, EVENTS, [])
    points = done_of(
        load_program, plan_of(server, "random_points", engine=engine, workload={"points": 7})
    )
    # k is the number of the row, so each is found once, however often it is named.
    sql = plan_of(server, "random_points", engine=engine, workload={"points": 7}) | {}
    sql["load"]["protocol"] = "prepared"
    assert EVENTS * 7 >= points["rows"] >= done_of(load_program, sql)["rows"] > EVENTS * 6
    before = {row[0]: row[1] for row in query(server, f"SELECT id, c FROM {DATABASE}.sbtest")}
    changed = plan_of(server, "update_non_index", engine=engine)
    changed["seed"] = len(engine)
    done = done_of(load_program, changed)
    assert (done["events"], done["rows"], done["errors"]) == (EVENTS, 0, [])
    after = {row[0]: row[1] for row in query(server, f"SELECT id, c FROM {DATABASE}.sbtest")}
    others = sum(before[number] != after[number] for number in before)
    assert EVENTS * 0.9 < others <= EVENTS
    # The same events by SQL find every row as they would leave it: nothing is to be changed.
    changed["load"]["protocol"] = "prepared"
    done_of(load_program, changed)
    assert after == dict(query(server, f"SELECT id, c FROM {DATABASE}.sbtest"))


def test_tables_by_number_have_keys_by_number(server: PrivateServer, load_program: Path) -> None:
    command = [load_program, "sysbench", "oltp_read_only", f"--mysql-socket={server.socket}"]
    command += ["--mysql-user=root", f"--mysql-db={DATABASE}", "--tables=2", "--table-size=500"]
    subprocess.run([*command, "prepare"], check=True, capture_output=True)
    plan = plan_of(server, "random_points", workload={"points": 3, "tables": 2, "rows": 500})
    assert done_of(load_program, plan)["errors"] == []


def test_values_come_as_they_were_sent(server: PrivateServer, load_program: Path) -> None:
    """NUL, TAB, line ends and the escape itself, in the secret too."""
    awkward = bytes(range(32)) + b"\\'\xff"
    query(
        server,
        f"CREATE OR REPLACE TABLE {DATABASE}.odd1 (id INT PRIMARY KEY, k INT NOT NULL, "
        "c VARBINARY(200) NOT NULL, pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k))",
        f"INSERT INTO {DATABASE}.odd1 VALUES (1, 1, 0x{awkward.hex()}, '')",
    )
    plan = plan_of(server, "point_select", workload={"table": "odd1", "rows": 1})
    done = done_of(load_program, plan)
    assert (done["rows"], done["errors"]) == (EVENTS, [])


def test_what_cannot_be_asked_is_refused_before_anything_is_connected(
    server: PrivateServer, load_program: Path
) -> None:
    words = refusal(load_program, plan_of(server, "read_only"), code=2)
    assert "read_only needs SQL" in words
    lua = plan_of(server, "point_select") | {
        "workload": {"kind": "lua", "script": "oltp_point_select"}
    }
    assert "cannot be used by a script" in refusal(load_program, lua, code=2)
    nowhere = plan_of(server, "point_select")
    del nowhere["server"]["database"]
    assert "needs server.database" in refusal(load_program, nowhere, code=2)
    idle = plan_of(server, "point_select", idle_connections=2)
    assert "remove nodes, load.idle_connections" in refusal(load_program, idle, code=2)


def test_who_speaks_another_protocol_is_named(server: PrivateServer, load_program: Path) -> None:
    plan = plan_of(server, "point_select", keys={"socket": str(server.socket)})
    words = refusal(load_program, plan)
    assert str(server.socket) in words and "a port of HandlerSocket" in words
    assert server.key_sockets is not None
    plan = plan_of(server, "point_select", protocol="prepared")
    plan["server"] |= {"socket": str(server.key_sockets[0]), "connect_timeout_s": 1.0}
    assert str(server.key_sockets[0]) in refusal(load_program, plan)


def test_a_table_or_an_index_that_is_not_there(server: PrivateServer, load_program: Path) -> None:
    gone = plan_of(server, "point_select", workload={"table": "gone"})
    words = refusal(load_program, gone)
    assert "open_table" in words and f"open_index {DATABASE}.gone PRIMARY (c)" in words
    query(
        server,
        f"CREATE OR REPLACE TABLE {DATABASE}.bare (id INT PRIMARY KEY, k INT, c CHAR(9), pad INT)",
    )
    bare = plan_of(server, "random_points", workload={"table": "bare"})
    assert "idxnum" in refusal(load_program, bare)


def test_secrets_are_sent_and_told_to_nobody(
    binary: ServerBinary, load_program: Path, tmp_path: Path
) -> None:
    server = PrivateServer(binary, tmp_path / "server")
    server.initialise()
    secrets = {"handlersocket_plain_secret": "right", "handlersocket_plain_secret_wr": SECRET}
    with server:
        server.start(secrets)
        command = [load_program, "fill", f"--socket={server.socket}", "--user=root"]
        command += [f"--database={DATABASE}", "--create-database", f"--rows={ROWS}"]
        subprocess.run(command, check=True, capture_output=True)
        keys = {"secret_env": "READS", "secret_wr_env": "WRITES"}
        env = {"READS": "right", "WRITES": SECRET}
        for kind in ("point_select", "update_non_index"):
            done = done_of(load_program, plan_of(server, kind, keys=keys), **env)
            assert done["errors"] == []
        wrong = refusal(
            load_program, plan_of(server, "point_select", keys=keys), READS="wrong", WRITES=SECRET
        )
        assert "refused the connection" in wrong and "unauth" in wrong
        assert "unauth" in refusal(load_program, plan_of(server, "point_select"))
        shown = json.dumps([server.variables(), server.variables_that_differ()])
        assert "right" not in shown and "handlersocket_plain_secret" not in shown


def test_protocols_are_compared_in_slices(lab: Lab) -> None:
    lab.file.write_text(
        """
[server]
use = "mariadb+handlersocket"
options = { innodb_log_file_size = "8M" }
[data]
rows = 5_000
[workload]
kind = "point_select"
[load]
connections = 2
slice = "20ms"
settle = "5ms"
[factors]
"load.protocol" = ["prepared", "text", "handler_socket"]
[compare]
by = "slices"
repeats = 2
baseline = { "load.protocol" = "prepared" }
"""
    )
    done = lab.contend("run", lab.file, "--out", lab.out)
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert len(records) == 6
    for record in with_figures(records):
        assert record.done is not None
        assert record.plan["load"]["protocol"] == record.cell["load.protocol"]
        assert record.done["rows"] == record.done["queries"] > 0
    # One server, which all of them ask in turn.
    assert len({arm["watch"]["pid"] for arm in with_figures(records)[0].plan["arms"]}) == 1


def test_a_server_without_the_plugin_is_refused(lab: Lab) -> None:
    lab.edit("[load]\n", '[load]\nprotocol = "handler_socket"\n')
    done = lab.contend(*lab.arguments())
    assert done.returncode == 2
    assert '"mariadb+handlersocket"' in done.stderr
