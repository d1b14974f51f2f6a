"""The twelve conditions of TPC-C: they hold on a consistent population, and each is broken by rows
that break it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tpcc_tiny
from run_lab import Lab

from contend import experiment
from contend.cli.main import main
from contend.data.conditions import check, lines_of
from contend.errors import RequestError, WorkError
from contend.servers import PrivateServer, ServerBinary

DATABASE = "tpcc_tiny"

BROKEN = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", {"1": 1, "8": 1}),
    ("DELETE FROM warehouse WHERE w_id = 2", {"1": 1, "8": 1}),
    ("UPDATE warehouse SET w_ytd = NULL", {"1": 2, "8": 2}),
    ("UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 1 AND d_id = 1", {"1": 1, "9": 1}),
    ("DELETE FROM district WHERE d_w_id = 1", {"1": 1, "2": 2, "9": 2}),
    ("UPDATE district SET d_next_o_id = 12 WHERE d_id = 2", {"2": 2}),
    # The newest of the new orders: their greatest is no longer the greatest of all.
    ("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 10",
     {"2": 1, "5": 1, "11": 1}),
    ("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 9",
     {"3": 1, "5": 1, "11": 1}),
    # None at all: only condition 5 can see that some are missing.
    ("DELETE FROM new_order WHERE no_w_id = 1", {"5": 6, "11": 2}),
    ("INSERT INTO order_line VALUES (1, 1, 1, 6, NOW(), 0)", {"4": 1, "6": 1}),
    ("DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 8",
     {"4": 1, "6": 1}),
    ("UPDATE orders SET o_ol_cnt = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1",
     {"4": 1, "6": 1}),
    ("UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 3",
     {"5": 1, "7": 5}),
    ("UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 8",
     {"5": 1, "7": 5}),
    ("UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 2 AND ol_o_id = 1",
     {"7": 10}),
    # Delivered after all: the customer of the order owes it.
    ("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = 2 AND ol_d_id = 1"
     " AND ol_o_id = 9", {"7": 5, "10": 1, "12": 1}),
    ("UPDATE history SET h_amount = h_amount + 1 WHERE h_w_id = 1 AND h_d_id = 1 AND h_c_id = 5",
     {"8": 1, "9": 1, "10": 1}),
    ("DELETE FROM history WHERE h_w_id = 1", {"8": 1, "9": 2, "10": 20}),
    ("UPDATE customer SET c_balance = 0 WHERE c_id = 4", {"10": 4, "12": 4}),
    ("UPDATE customer SET c_ytd_payment = NULL WHERE c_id = 4", {"12": 4}),
    ("DELETE FROM customer WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 9",
     {"10": 1, "11": 1, "12": 1}),
    ("INSERT INTO orders VALUES (11, 1, 1, 1, 3, 0)", {"2": 1, "6": 1, "11": 1}),
]  # fmt: skip


@pytest.fixture
def server(
    shared_server: Callable[..., PrivateServer], mariadb_binary: ServerBinary
) -> PrivateServer:
    return shared_server(mariadb_binary)


@pytest.fixture
def tables(server: PrivateServer) -> Iterator[Any]:
    with population(server) as connection:
        yield connection


def population(server: PrivateServer) -> Any:
    """A connection into the database with the tiny population, as it was at first."""
    connection = server.connect()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"CREATE DATABASE {DATABASE}")
    connection.select_db(DATABASE)
    with connection.cursor() as cursor:
        tpcc_tiny.make(cursor)
        tpcc_tiny.fill(cursor)
    return connection


def broken(connection: Any) -> dict[str, int]:
    found = check(connection, DATABASE, "tpcc", fresh=True)
    assert [one["name"] for one in found] == [str(number) for number in range(1, 13)]
    return {one["name"]: one["broken"] for one in found if one["broken"]}


def test_they_hold_on_every_server_and_each_sees_what_breaks_it(
    private_server: Callable[..., PrivateServer], any_binary: ServerBinary
) -> None:
    with population(private_server(any_binary)) as connection, connection.cursor() as cursor:
        assert broken(connection) == {}
        for statement, expected in BROKEN:
            cursor.execute(statement)
            assert broken(connection) == expected, statement
            tpcc_tiny.fill(cursor)
        assert {name for _, names in BROKEN for name in names} == {
            str(number) for number in range(1, 13)
        }


def test_examples_name_the_rows_and_the_rest_is_counted(tables: Any) -> None:
    with tables.cursor() as cursor:
        cursor.execute("UPDATE customer SET c_balance = 0.5 WHERE c_id = 4")
    found = {one["name"]: one for one in check(tables, DATABASE, "tpcc", fresh=False)}
    assert found["11"]["broken"] is None
    lines = list(lines_of([found["10"], found["11"]]))
    assert lines[0].endswith(": BROKEN by 4")
    assert "c_id = 4, c_balance = 0.50" in lines[1] and "= -10.00" in lines[1]
    assert lines[4].strip() == "and 1 more"
    assert lines[5].startswith(" 11  ") and "2,100 of 3,000: not checked" in lines[5]


def test_the_command_says_what_is_broken_and_ends_with_1(
    server: PrivateServer, tables: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn = f"mysql://root@/{DATABASE}?socket={server.socket}"
    assert main(["check", "tpcc", dsn, "--fresh"]) == 0
    assert "12 of 12 conditions checked: all hold\n" in capsys.readouterr().out
    with tables.cursor() as cursor:
        cursor.execute("UPDATE warehouse SET w_ytd = 1")
    assert main(["check", "tpcc", dsn, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["conditions"] if one["broken"]] == ["1", "8"]


def test_tables_that_are_not_tpcc_are_refused(tables: Any) -> None:
    with tables.cursor() as cursor:
        cursor.execute("CREATE TABLE contend_tpcc (name VARCHAR(64), value VARCHAR(64))")
        cursor.execute("INSERT INTO contend_tpcc VALUES ('state', 'loading')")
        with pytest.raises(RequestError, match="not complete"):
            check(tables, DATABASE, "tpcc", fresh=False)
        cursor.execute("UPDATE contend_tpcc SET value = 'complete'")
        assert broken(tables) == {}
        cursor.execute("ALTER TABLE history RENAME COLUMN h_amount TO amount")
        with pytest.raises(WorkError, match="h_amount"):
            check(tables, DATABASE, "tpcc", fresh=False)
        cursor.execute("DROP TABLE stock, item")
        with pytest.raises(RequestError, match="no table item, stock"):
            check(tables, DATABASE, "tpcc", fresh=False)
        with pytest.raises(RequestError, match="database nosuch has no table warehouse"):
            check(tables, "nosuch", "tpcc", fresh=False)
        cursor.execute("UPDATE contend_tpcc SET value = 'loading'")
        with pytest.raises(RequestError, match="not complete"):
            check(tables, DATABASE, "tpcc", fresh=False)


def test_a_schema_without_conditions_and_a_dsn_without_database(
    server: PrivateServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "tpc", "socket:/nowhere"]) == 2
    assert "Did you mean" in capsys.readouterr().err
    assert main(["check", "tpcc", f"mysql://root@/?socket={server.socket}"]) == 2
    assert "names no database" in capsys.readouterr().err
    assert main(["check", "tpcc", "runs/x"]) == 2
    assert "neither a DSN nor a run folder" in capsys.readouterr().err


SCRIPT = Path(experiment.__file__).with_name("recipes") / "tpcc.lua"


def test_they_hold_after_loading_and_after_the_script_by_both_hosts(
    server: PrivateServer, load_program: Path, sysbench: str
) -> None:
    login = [f"socket={server.socket}", "user=root"]
    fill = [load_program, "fill", *(f"--{one}" for one in login), "--database=filled"]
    fill += ["--create-database", "--schema=tpcc", "--with=warehouses=2", "--with=shrink=30"]
    subprocess.run(fill, check=True, capture_output=True)
    with server.connect() as connection:
        assert not any(one["broken"] for one in check(connection, "filled", "tpcc", fresh=True))
    mysql = [*(f"--mysql-{one}" for one in login), "--mysql-db=filled"]
    for host in ([load_program, "sysbench"], [sysbench]):
        command = [*host, SCRIPT, *mysql, "--threads=4", "--events=150", "--time=0"]
        command += ["--warehouses=2", "--rollbacks-percent=10", "run"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "transactions: 150 " in " ".join(done.stdout.split())
        with server.connect() as connection:
            found = check(connection, "filled", "tpcc", fresh=False)
        assert [one["name"] for one in found if one["broken"]] == []


BREAKS = """
[experiment]
name = "breaks"

[data]
schema = "tpcc"
warehouses = 1
shrink = 30

[workload]
kind = "sql"
text = "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1;"

[load]
warmup = "0s"
measure = "50ms"

[factors]
"load.connections" = [1, 2]

[compare]
baseline = { "load.connections" = 1 }
repeats = 2
"""


def test_a_run_that_breaks_its_tables_says_so_in_the_end(lab: Lab) -> None:
    lab.file.write_text(BREAKS)
    done = lab.run("--check-each")
    assert done.returncode == 1
    assert re.search(r"violate condition 8 .*: 1\b", " ".join(done.stderr.split()))
    assert "violated conditions" in done.stderr
    assert {record.status for record in lab.records()} == {"ok"}
    shown = lab.contend("check", "tpcc", lab.out)
    assert shown.returncode == 1
    assert "after loading" in shown.stdout
    assert "12 of 12 conditions checked: all hold" in shown.stdout
    assert re.search(r"^ +8  .*: BROKEN by 1$", shown.stdout, re.M)
