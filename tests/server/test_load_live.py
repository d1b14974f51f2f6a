"""Loads against each kind of server: every workload answered right, every way in, every trouble."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from load_live import DATABASE, ROWS, Stage, script, staged
from run_lab import wait_for as wait_until
from tls_files import make

from contend.servers import PrivateServer, ServerBinary

POINT_SELECT = {"kind": "point_select", "rows": ROWS}
UNIFORM_ID = "{id:uniform(1,2000)}"


@pytest.fixture(scope="module")
def stage(
    any_binary: ServerBinary,
    shared_server: Callable[..., PrivateServer],
    load_program: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("tls")
    yield from staged(shared_server, any_binary, load_program, folder)


WORKLOADS: dict[str, dict[str, Any]] = {
    "point_select": POINT_SELECT,
    "random_points": {"kind": "random_points", "rows": ROWS, "points": 10},
    "random_ranges": {"kind": "random_ranges", "rows": ROWS, "delta": 7},
    "read_only": {"kind": "read_only", "rows": ROWS, "distribution": {"kind": "special"}},
    "insert": {"kind": "insert", "rows": ROWS, "auto_increment": False},
    "insert, numbered by the server": {"kind": "insert", "rows": ROWS},
    "bulk_insert": {"kind": "bulk_insert", "rows": ROWS, "batch": 50},
    "update_index": {"kind": "update_index", "rows": ROWS},
    "update_non_index": {"kind": "update_non_index", "rows": ROWS},
    "write_only": {"kind": "write_only", "rows": ROWS, "distribution": {"kind": "pareto"}},
    "read_write": {"kind": "read_write", "rows": ROWS},
    "delete": {"kind": "delete", "rows": ROWS, "distribution": {"kind": "zipfian"}},
    "sql": script(
        "@read weight 4\n"
        f"SELECT id, k, c, '{{}}', NULL FROM sbtest WHERE id = {UNIFORM_ID};\n"
        "@range\n"
        f"SELECT SUM(k), MIN(c), AVG(id) FROM sbtest WHERE id >= {UNIFORM_ID};\n"
        "@change\n"
        "BEGIN;\n"
        f"UPDATE sbtest SET k = {{k:uniform(1,50)}} WHERE id = {UNIFORM_ID};\n"
        "SELECT k, NOW() > '2020-01-01', CAST(k / 7 AS DECIMAL(10,4)) FROM sbtest WHERE id = {id};"
        "\nCOMMIT;\n"
    ),
}


TABLE = f"SELECT id, k, c, pad FROM {DATABASE}.sbtest ORDER BY id"
CHECKS = ("SELECT @@max_connections", "SHOW GLOBAL STATUS")


@dataclass(frozen=True)
class Seen:
    """Events of one connection: statements in the server's log, rows answered, the table after."""

    statements: list[str]
    rows: int
    table: list[tuple[Any, ...]]


def seen(stage: Stage, server: dict[str, Any], workload: dict[str, Any], **load: Any) -> Seen:
    """Send 75 events to a table that is as it was at first."""
    stage.fill_anew()
    stage.sql(
        "SET GLOBAL log_output = 'TABLE'",
        "TRUNCATE mysql.general_log",
        "SET GLOBAL general_log = 1",
    )
    try:
        done = stage.events(server, workload, 75, connections=1, **load)
    finally:
        stage.sql("SET GLOBAL general_log = 0")
    assert done["errors"] == []
    by_connection: dict[int, list[str]] = {}
    for connection, statement in stage.sql(
        "SELECT thread_id, CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        " WHERE command_type IN ('Query', 'Execute')"
    ):
        if not statement.startswith(CHECKS):
            by_connection.setdefault(connection, []).append(statement)
    statements = max(by_connection.values(), key=len)
    assert len(statements) == done["queries"]
    return Seen(statements, done["rows"], stage.sql(TABLE))


@pytest.mark.timeout(900)
def test_statements_answers_and_tables_are_right(stage: Stage) -> None:
    """Both protocols send the same, and a different client gets the same answers to it."""
    tls = {"mode": "verify-identity", "ca": str(stage.files.ca)}
    for name, workload in WORKLOADS.items():
        prepared = seen(stage, stage.socket, workload, protocol="prepared")
        assert seen(stage, stage.tcp(tls=tls), workload, protocol="text") == prepared, name
        stage.fill_anew()
        with stage.server.connect() as connection, connection.cursor() as cursor:
            connection.select_db(DATABASE)
            changed = ("INSERT", "UPDATE", "DELETE")
            rows = 0
            for statement in prepared.statements:
                count = cursor.execute(statement)
                rows += 0 if statement.startswith(changed) else count
            connection.commit()
        assert Seen(prepared.statements, rows, stage.sql(TABLE)) == prepared, name


def test_bulk_execute_inserts_whole_batches_where_the_server_has_it(stage: Stage) -> None:
    batches = {"kind": "bulk_insert", "rows": ROWS, "batch": 40}
    workload = batches | {"bulk_execute": True}
    stage.fill_anew()
    if stage.is_mysql:
        failure = stage.failure(stage.socket, workload)
        assert "no bulk execute" in failure["message"]
        assert "MariaDB has it" in failure["hint"]
        return
    tables = []
    for one in (batches, workload):
        stage.fill_anew()
        assert stage.events(stage.socket, one, 20, connections=1)["queries"] == 20
        # The server numbers the rows of both in different steps.
        tables.append([row[1:] for row in stage.sql(TABLE)])
    assert tables[0] == tables[1]
    assert len(tables[0]) == ROWS + 20 * 40


def test_every_way_in_is_named_and_carries_a_load(stage: Stage) -> None:
    stage.fill_anew()
    tls = {"mode": "verify-ca", "ca": str(stage.files.ca)}
    ways: list[tuple[dict[str, Any], list[str]]] = [
        (stage.socket, []),
        (stage.tcp(tls={"mode": "disabled"}), []),
        (stage.tcp(), ["tls"]),
        (stage.tcp(tls=tls, compression="zlib"), ["tls", "zlib"]),
        (stage.socket | {"compression": "zlib"}, ["zlib"]),
    ]
    if stage.is_mysql:
        ways.append((stage.tcp(tls=tls, compression="zstd"), ["tls", "zstd"]))
        ways.append((stage.socket | {"cache_metadata": True}, []))
    else:
        ways.append((stage.socket | {"cache_metadata": True}, ["cached_metadata"]))
        failure = stage.failure(stage.socket | {"compression": "zstd"}, POINT_SELECT)
        assert "offers no zstd compression" in failure["message"]
    for server, session in ways:
        for protocol in ("prepared", "text"):
            done = stage.events(server, POINT_SELECT, 40, protocol=protocol)
            assert done["hello"]["session"] == session
            assert done["rows"] == done["queries"] == 40
            assert done["errors"] == []


def test_connections_begin_with_the_statements_of_the_plan(stage: Stage) -> None:
    server = stage.socket | {"init_sql": ["SET @begun = 7", "SET @begun = @begun + 1"]}
    text = script("SELECT 1 FROM DUAL WHERE @begun = 8;")
    done = stage.events(server, text, 80, reconnect_every=5)
    assert done["rows"] == done["queries"] == 80
    assert done["connect_us"]["count"] > 0


@pytest.mark.parametrize("charset", ["utf8mb4", "utf8mb3", "latin1", "ascii", "binary"])
def test_the_server_is_told_the_charset_of_the_plan(stage: Stage, charset: str) -> None:
    # Older servers call utf8mb3 utf8.
    names = f"'{charset}', '{charset.removesuffix('mb3')}'"
    text = script(f"SELECT 1 FROM DUAL WHERE @@character_set_client IN ({names});")
    done = stage.events(stage.socket | {"charset": charset}, text, 8)
    assert done["rows"] == done["queries"] == 8


def test_procedures_with_several_results(stage: Stage) -> None:
    stage.sql(
        f"DROP PROCEDURE IF EXISTS {DATABASE}.several",
        f"CREATE PROCEDURE {DATABASE}.several(IN n INT) BEGIN SELECT n; SELECT n, n; DO 1; END",
    )
    for protocol in ("prepared", "text"):
        text = script("CALL several({n:uniform(1, 9)});")
        done = stage.events(stage.socket, text, 20, protocol=protocol)
        assert (done["queries"], done["rows"]) == (20, 40)


def test_a_local_file_is_never_read(stage: Stage, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not for servers\n")
    stage.sql(f"CREATE TABLE IF NOT EXISTS {DATABASE}.loaded (line TEXT)")
    text = script(f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE loaded;")
    refused = stage.failure(stage.socket, text, measure_s=600)
    assert refused["code"] in (1148, 3948, 4166)
    stage.events(stage.socket | {"local_infile": True}, text, 8)
    assert stage.sql(f"SELECT COUNT(*) FROM {DATABASE}.loaded") == [(0,)]


def test_deadlocks_are_counted_with_an_example_and_asked_again(stage: Stage) -> None:
    text = script(
        "@up\nBEGIN;\nUPDATE sbtest SET k = k + 1 WHERE id = 1;\n"
        "UPDATE sbtest SET k = k + 1 WHERE id = 2;\nCOMMIT;\n"
        "@down\nBEGIN;\nUPDATE sbtest SET k = k + 1 WHERE id = 2;\n"
        "UPDATE sbtest SET k = k + 1 WHERE id = 1;\nCOMMIT;\n"
    )
    events = 400
    total = f"SELECT SUM(k) FROM {DATABASE}.sbtest WHERE id IN (1, 2)"
    stage.fill_anew()
    before = int(stage.sql(total)[0][0])
    done = stage.events(stage.socket, text, events, connections=16)
    deadlocks = {error["code"]: error for error in done["errors"]}
    assert set(deadlocks) <= {1213, 1205, 1020}
    assert deadlocks[1213]["sqlstate"] == "40001"
    assert deadlocks[1213]["statement"].startswith("UPDATE sbtest SET k")
    # What was begun again was taken back: each event has happened once.
    assert int(stage.sql(total)[0][0]) == before + 2 * events


def test_a_server_without_room_names_its_variable(stage: Stage) -> None:
    stage.sql("SET GLOBAL max_prepared_stmt_count = 3")
    try:
        failure = stage.failure(stage.socket, POINT_SELECT)
        assert "SET GLOBAL max_prepared_stmt_count = " in failure["hint"]
        # Text needs none of them.
        stage.events(stage.socket, POINT_SELECT, 8, protocol="text")
    finally:
        stage.sql("SET GLOBAL max_prepared_stmt_count = 16382")
    before = stage.sql("SELECT @@max_connections")[0][0]
    stage.sql("SET GLOBAL max_connections = 10")
    try:
        failure = stage.failure(stage.socket, POINT_SELECT, connections=40)
        assert "SET GLOBAL max_connections = " in failure["hint"]
    finally:
        stage.sql(f"SET GLOBAL max_connections = {before}")


def test_a_server_that_closes_idle_connections_is_told_of(stage: Stage) -> None:
    server = stage.socket | {"init_sql": ["SET SESSION wait_timeout = 1"]}
    thinking = {"kind": "closed", "think_s": 2.0}
    done = stage.done(server, POINT_SELECT, measure_s=3, arrival=thinking)
    assert done["reconnects"] > 0
    assert done["outage_s"] > 0
    error = done["errors"][0]
    assert error["code"] in (2013, 4031)
    assert "wait_timeout" in error["hint"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("depth", [1, 16])
def test_a_server_that_dies_is_come_back_to(
    depth: int,
    any_binary: ServerBinary,
    private_server: Callable[..., PrivateServer],
    load_program: Path,
    tmp_path: Path,
) -> None:
    server = private_server(any_binary)
    stage = Stage(load_program, server, make(tmp_path))
    stage.fill()
    # The socket's folder is another one after a start: the load goes by a name that stays.
    link = tmp_path / "stays"
    link.symlink_to(server.socket.parent)
    at = {"socket": str(link / server.socket.name), "database": DATABASE}
    plan = stage.plan(at, POINT_SELECT, measure_s=500, interval_s=0.2, depth=depth)
    with subprocess.Popen(
        [load_program, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as load:
        assert load.stdin is not None and load.stdout is not None
        load.stdin.write(json.dumps(plan))
        load.stdin.close()
        lines = (json.loads(line) for line in load.stdout)

        def wait_for(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
            return next(line for line in lines if wanted(line))

        wait_for(lambda line: line.get("queries", 0) > 0)
        server.kill()
        wait_for(lambda line: line.get("queries") == 0)
        server.start()
        link.unlink()
        link.symlink_to(server.socket.parent)
        wait_until(lambda: statements_prepared(stage) == 4)
        wait_for(lambda line: line.get("queries", 0) > 0)
        load.send_signal(signal.SIGINT)
        done = wait_for(lambda line: line["type"] == "done")
    assert done["ended"] == "signal"
    assert done["reconnects"] >= 4
    assert done["outage_s"] > 0
    assert done["begun"] == done["events"] + done["failed"] + done["unfinished"]
    assert {error["code"] for error in done["errors"]} <= {2002, 2006, 2013, 1053, 1927, 1317}
    assert load.returncode == 0


def statements_prepared(stage: Stage) -> int:
    """One for each connection of a point select that is ready."""
    return int(stage.sql("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")[0][1])


def test_a_server_that_another_authority_signed_is_not_believed(stage: Stage) -> None:
    # The server's own certificate is nobody's authority.
    for mode in ("verify-ca", "verify-identity"):
        tls = {"mode": mode, "ca": str(stage.files.certificate)}
        failure = stage.failure(stage.tcp(tls=tls), POINT_SELECT)
        assert "TLS certificate is refused" in failure["message"]
