"""Datasets of several tables against real servers: what is there, whatever happened on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sql import Factory, query

from contend.experiment.settings.schemas import SCHEMAS
from contend.servers import PrivateServer, ServerBinary
from contend.servers.marks import is_our_view

Fill = Callable[..., subprocess.CompletedProcess[str]]

EMPLOYEES = 600
LOCK = "CONCAT('contend_fill.', LEFT(SHA2(DATABASE(), 256), 40))"
HALF = "COMMENT 'contend:loading {} key=- rows=0 by=x'"
"""What a load that was broken off leaves."""

BROKEN_OFF = (
    "CREATE TABLE employees.contend_employees"
    " (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL) "
    + HALF.format("employees.contend_employees"),
    "INSERT INTO employees.contend_employees VALUES ('state', 'loading'), ('seed', '1'),"
    f" ('employees', '{EMPLOYEES}'), ('emp_no_keys', 'false'), ('engine', 'InnoDB')",
)
"""A load that wrote its journal and no table."""
SMALL = ("--schema", "tpcc", "--with", "warehouses=2", "--with", "shrink=50")


@pytest.fixture
def command(load_program: Path) -> Callable[..., list[str]]:
    def words(server: PrivateServer, *more: str) -> list[str]:
        start = [str(load_program), "fill", "--socket", str(server.socket)]
        return [*start, "--create-database", *more]

    return words


@pytest.fixture
def fill(command: Callable[..., list[str]]) -> Fill:
    """`fill(server, *words)`: the program run to its end."""

    def run(server: PrivateServer, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(server, *more), capture_output=True, text=True, check=False, timeout=240
        )

    return run


@pytest.fixture
def server(any_binary: ServerBinary, shared_server: Factory) -> Iterator[PrivateServer]:
    server = shared_server(any_binary)
    yield server
    clean(server)


@pytest.fixture
def mariadb(mariadb_binary: ServerBinary, shared_server: Factory) -> Iterator[PrivateServer]:
    server = shared_server(mariadb_binary)
    yield server
    clean(server)


def clean(server: PrivateServer) -> None:
    for database in ("employees", "tpcc"):
        query(server, f"DROP DATABASE IF EXISTS {database}")


def last_line(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return line


def done(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert run.returncode == 0, run.stderr
    return last_line(run)


def tables_in(server: PrivateServer, database: str) -> set[str]:
    return {str(row[0]) for row in query(server, f"SHOW TABLES FROM {database}")}


ORPHANS = (
    "SELECT COUNT(*) FROM employees.{table} AS child LEFT JOIN employees.{parent} AS parent"
    " ON parent.{key} = child.{key} WHERE parent.{key} IS NULL"
)


@pytest.mark.parametrize("engine", ["InnoDB", "MyISAM", "Aria"])
def test_employees_are_consistent(server: PrivateServer, fill: Fill, engine: str) -> None:
    if engine == "Aria" and server.binary.kind == "mysql":
        pytest.skip("MySQL has no Aria")
    words = ["--schema", "employees", "--engine", engine, "--rows", str(EMPLOYEES)]
    filled = done(fill(server, *words, "--with", "emp_no_keys=true"))
    schema = SCHEMAS["employees"]
    assert tables_in(server, "employees") == {*schema.tables, *schema.views}
    counts = {one["table"]: one["rows"] for one in filled["tables"]}
    assert list(counts) == list(schema.tables)
    for table, rows in counts.items():
        assert query(server, f"SELECT COUNT(*) FROM employees.{table}") == [(rows,)]
    assert (counts["employees"], counts["dept_manager"], counts["departments"]) == (600, 24, 9)
    children = {
        "emp_no": ("employees", ("dept_manager", "dept_emp", "titles", "salaries")),
        "dept_no": ("departments", ("dept_manager", "dept_emp")),
    }
    for key, (parent, tables) in children.items():
        for table in tables:
            orphans = ORPHANS.format(table=table, parent=parent, key=key)
            assert query(server, orphans) == [(0,)]
    constraints = query(
        server,
        "SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS"
        " WHERE CONSTRAINT_SCHEMA = 'employees' AND DELETE_RULE = 'CASCADE'",
    )
    assert constraints == [(6 if engine == "InnoDB" else 0,)]
    current = "SELECT COUNT(*) FROM employees.current_dept_emp WHERE to_date = '9999-01-01'"
    salaries = "SELECT COUNT(*) FROM employees.salaries WHERE to_date = '9999-01-01'"
    assert query(server, current) == query(server, salaries)
    assert query(server, "SELECT COUNT(*) FROM employees.current_dept_emp") == [(EMPLOYEES,)]
    if engine == "InnoDB":
        query(server, "DELETE FROM employees.employees WHERE emp_no = 10001")
        left = "SELECT COUNT(*) FROM employees.salaries WHERE emp_no = 10001"
        assert query(server, left) == [(0,)]


STUDY = {
    "SELECT emp_no, first_name, last_name, gender FROM employees LIMIT 10": 10,
    "SELECT emp_no, first_name, last_name, gender FROM employees ORDER BY last_name ASC"
    " LIMIT 10": 10,
    "SELECT COUNT(emp_no) FROM employees WHERE last_name = 'Aamodt'": 1,
    "SELECT last_name, COUNT(emp_no) AS num_emp FROM employees GROUP BY last_name"
    " ORDER BY num_emp DESC LIMIT 10": 10,
    "SELECT employees.* FROM employees LEFT JOIN dept_emp ON (dept_emp.emp_no = employees.emp_no)"
    " LEFT JOIN salaries ON (salaries.emp_no = salaries.emp_no)"
    " WHERE employees.first_name LIKE '%Jo%' AND salaries.from_date > '1993-01-21'"
    " AND salaries.to_date < '1998-01-01' LIMIT 0, 100": 100,
}


def test_the_study_s_queries_have_answers_of_the_published_shape(
    mariadb: PrivateServer, fill: Fill
) -> None:
    done(fill(mariadb, "--schema", "employees", "--engine", "MyISAM", "--rows", str(EMPLOYEES)))
    with mariadb.connect("employees") as connection, connection.cursor() as cursor:
        for statement, rows in STUDY.items():
            cursor.execute(statement)
            answer = cursor.fetchall()
            assert len(answer) == rows, statement
            if "Aamodt" in statement:
                assert answer[0][0] >= 1
            if "ORDER BY last_name" in statement:
                assert answer[0][2] == "Aamodt"
            if "LIKE" in statement:
                assert all("Jo" in row[2] for row in answer)


def test_tpcc_is_there_whole_and_says_so(server: PrivateServer, fill: Fill) -> None:
    filled = done(fill(server, *SMALL, "--with", "foreign_keys=true"))
    schema = SCHEMAS["tpcc"]
    assert tables_in(server, "tpcc") == {*schema.tables, *schema.journal}
    for one in filled["tables"]:
        assert query(server, f"SELECT COUNT(*) FROM tpcc.{one['table']}") == [(one["rows"],)]
    told = dict(query(server, "SELECT name, value FROM tpcc.contend_tpcc"))
    assert told["state"] == "complete"
    assert (told["warehouses"], told["customers_per_district"], told["items"]) == (
        *("2", "60", "2000"),
    )
    undelivered = query(
        server,
        "SELECT COUNT(*) FROM tpcc.orders JOIN tpcc.new_order ON no_w_id = o_w_id"
        " AND no_d_id = o_d_id AND no_o_id = o_id WHERE o_carrier_id IS NULL",
    )
    nulls = "SELECT COUNT(*) FROM tpcc.orders WHERE o_carrier_id IS NULL"
    assert undelivered == query(server, nulls) == [(2 * 10 * 18,)]
    constraints = query(
        server,
        "SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS"
        " WHERE CONSTRAINT_SCHEMA = 'tpcc'",
    )
    assert constraints == [(10,)]
    again = fill(server, *SMALL, "--with", "foreign_keys=true")
    assert again.returncode == 2
    assert "exist already, complete" in again.stderr


@pytest.mark.parametrize("by", ["hash", "key", "range", "list"])
def test_warehouses_are_divided(server: PrivateServer, fill: Fill, by: str) -> None:
    words = (*SMALL, "--with", f"partition_by={by}", "--with", "partitions=2")
    refused = fill(server, *words, "--with", "foreign_keys=true")
    assert refused.returncode == 2 and "foreign_keys and partitions" in refused.stderr
    assert query(server, "SHOW DATABASES LIKE 'tpcc'") == []
    done(fill(server, *words))
    divided = query(
        server,
        "SELECT TABLE_NAME, COUNT(*) FROM information_schema.PARTITIONS"
        " WHERE TABLE_SCHEMA = 'tpcc' AND PARTITION_NAME IS NOT NULL GROUP BY TABLE_NAME",
    )
    assert dict(divided) == dict.fromkeys(set(SCHEMAS["tpcc"].tables) - {"item"}, 2)
    assert query(server, "SELECT COUNT(*) FROM tpcc.stock WHERE s_w_id = 2") == [(2_000,)]


def test_a_killed_loader_is_gone_on_with(
    server: PrivateServer, fill: Fill, command: Callable[..., list[str]]
) -> None:
    words = ("--schema", "tpcc", "--with", "shrink=10", "--sessions", "1")
    whole = {one["table"]: one["checksum"] for one in done(fill(server, *words))["tables"]}
    clean(server)
    with subprocess.Popen(
        command(server, *words, "--progress", "json"), stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            phases = [one["phase"] for one in json.loads(line)["tables"]]
            # One table is complete and another was begun.
            if "done" in phases and "load" in phases:
                break
        child.send_signal(signal.SIGKILL)
    noted = query(server, "SELECT name FROM tpcc.contend_tpcc WHERE name LIKE 'loaded.%'")
    assert 0 < len(noted) < len(whole)
    for name, wrong, there, word in (
        ("seed", "2", "1", "--seed"),
        ("engine", "MyISAM", "InnoDB", "--engine"),
        ("table_options", "COMMENT='it''s'", "", "--table-options"),
    ):
        other = fill(server, *words, word, wrong)
        assert other.returncode == 2
        refusal = f'had {name} "{there}", and this one has "{wrong}"'
        assert refusal in other.stderr
    last = fill(server, *words, "--progress", "json")
    filled = done(last)
    told = [json.loads(line) for line in last.stdout.splitlines()]
    progress = [line for line in told if line["type"] == "fill_progress"][-1]
    assert progress["phase"] == "done" and progress["rows"] == progress["rows_total"]
    assert {one["table"]: one["checksum"] for one in filled["tables"]} == whole
    for one in filled["tables"]:
        assert query(server, f"SELECT COUNT(*) FROM tpcc.{one['table']}") == [(one["rows"],)]


def test_a_signal_ends_a_loader_that_waits_for_a_table(
    mariadb: PrivateServer, command: Callable[..., list[str]]
) -> None:
    query(
        mariadb,
        "CREATE DATABASE tpcc",
        "CREATE TABLE tpcc.contend_tpcc (name VARCHAR(64) PRIMARY KEY, value VARCHAR(255)) "
        + HALF.format("tpcc.contend_tpcc"),
        "INSERT INTO tpcc.contend_tpcc VALUES ('state', 'loading')",
        "CREATE TABLE tpcc.item (half INT) " + HALF.format("tpcc.item"),
    )
    waits = (
        "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for%lock'"
    )
    with mariadb.connect("tpcc") as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES item READ")
        with subprocess.Popen(command(mariadb, *SMALL), stderr=subprocess.PIPE, text=True) as child:
            while query(mariadb, waits) == [(0,)]:
                assert child.poll() is None
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=120)
    assert child.returncode == 1
    assert "the fill was stopped by a signal" in said


def test_tables_of_one_load_have_the_same_keys(mariadb: PrivateServer, fill: Fill) -> None:
    words = ("--schema", "employees", "--rows", str(EMPLOYEES), "--with")
    wrong = fill(mariadb, *words, "emp_no_keys=perhaps")
    assert wrong.returncode == 2
    assert "--with emp_no_keys=perhaps: " in wrong.stderr
    query(mariadb, "CREATE DATABASE employees", *BROKEN_OFF)
    other = fill(mariadb, *words, "emp_no_keys=true")
    assert other.returncode == 2
    assert 'emp_no_keys "false"' in other.stderr
    done(fill(mariadb, *words, "emp_no_keys=false"))


def test_two_loaders_at_once_are_one_too_many(mariadb: PrivateServer, fill: Fill) -> None:
    query(mariadb, "CREATE DATABASE tpcc")
    with mariadb.connect("tpcc") as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT GET_LOCK(CONCAT('contend_fill.', LEFT(SHA2(DATABASE(), 256), 40)), 0)"
        )
        assert cursor.fetchone() == (1,)
        second = fill(mariadb, *SMALL)
    assert second.returncode == 2
    assert "another contend-load" in second.stderr
    assert tables_in(mariadb, "tpcc") == set()


def test_tables_of_another_kit_are_left_alone(mariadb: PrivateServer, fill: Fill) -> None:
    query(mariadb, "CREATE DATABASE tpcc")
    query(mariadb, "CREATE TABLE tpcc.stock (a INT) SELECT 7 AS a")
    run = fill(mariadb, *SMALL)
    assert run.returncode == 2
    assert "view stock exists already" in run.stderr
    assert tables_in(mariadb, "tpcc") == {"stock"}
    query(mariadb, "CREATE DATABASE employees")
    query(mariadb, "CREATE VIEW employees.current_dept_emp AS SELECT 1")
    run = fill(mariadb, "--schema", "employees", "--rows", "100")
    assert run.returncode == 2
    assert "current_dept_emp exists already" in run.stderr


def comments(server: PrivateServer, database: str) -> dict[str, str]:
    return dict(
        query(
            server,
            "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES"
            f" WHERE TABLE_SCHEMA = '{database}' AND TABLE_TYPE = 'BASE TABLE'",
        )
    )


def test_a_finished_table_has_the_mark_that_was_asked_for_or_its_own_comment(
    server: PrivateServer, fill: Fill
) -> None:
    of_employees = ("--schema", "employees", "--rows", "100")
    done(fill(server, *of_employees, "--table-options", "COMMENT='it''s' STATS_PERSISTENT=1"))
    schema = SCHEMAS["employees"]
    assert comments(server, "employees") == dict.fromkeys(schema.tables, "it's")
    clean(server)
    done(fill(server, *of_employees, "--mark", "k-1"))
    names = {name: f"contend:k-1 employees.{name}" for name in schema.tables}
    assert comments(server, "employees") == names
    for view in schema.views:
        with server.connect() as connection:
            assert is_our_view(connection, "employees", view)
            assert not is_our_view(connection, "employees", view.upper())
    done(fill(server, *SMALL, "--mark", "k-2"))
    tables = (*SCHEMAS["tpcc"].tables, *SCHEMAS["tpcc"].journal)
    assert comments(server, "tpcc") == {name: f"contend:k-2 tpcc.{name}" for name in tables}
    wrong = fill(server, *SMALL, "--mark", "not one")
    assert wrong.returncode == 2 and "letters, digits" in wrong.stderr


THEIRS = "CREATE TABLE {0} (id INT, c VARCHAR(20)) {1}"


@pytest.mark.parametrize(
    "comment",
    [
        "",
        # Of a copy, in another case, and of a finished table.
        HALF.format("employees.titles"),
        HALF.format("EMPLOYEES.DEPARTMENTS"),
        HALF.format("employees.departments").replace("contend", "CONTEND"),
        "COMMENT 'contend:k employees.departments'",
    ],
)
def test_a_table_made_after_a_broken_load_is_its_maker_s(
    mariadb: PrivateServer, fill: Fill, comment: str
) -> None:
    words = ("--schema", "employees", "--rows", str(EMPLOYEES))
    theirs = THEIRS.format("employees.departments", comment)
    query(
        mariadb,
        *("CREATE DATABASE employees", *BROKEN_OFF, theirs),
        "INSERT INTO employees.departments VALUES (1, 'precious')",
    )
    before = query(mariadb, "CHECKSUM TABLE employees.departments")
    again = fill(mariadb, *words)
    assert again.returncode == 2
    assert "view departments exists already" in again.stderr
    assert query(mariadb, "CHECKSUM TABLE employees.departments") == before
    query(mariadb, "DROP TABLE employees.departments")
    done(fill(mariadb, *words))


def test_one_that_says_it_was_complete_and_is_theirs_now_is_left_alone(
    mariadb: PrivateServer, fill: Fill
) -> None:
    query(
        mariadb,
        *("CREATE DATABASE employees", *BROKEN_OFF, THEIRS.format("employees.departments", "")),
        "INSERT INTO employees.contend_employees VALUES ('loaded.departments', '9 0aa')",
    )
    again = fill(mariadb, "--schema", "employees", "--rows", str(EMPLOYEES))
    assert again.returncode == 2
    assert tables_in(mariadb, "employees") == {"contend_employees", "departments"}


def test_a_table_with_other_rows_than_the_journal_says_is_loaded_again(
    mariadb: PrivateServer, fill: Fill
) -> None:
    half = HALF.format("employees.departments")
    query(
        mariadb,
        *("CREATE DATABASE employees", *BROKEN_OFF, THEIRS.format("employees.departments", half)),
        "INSERT INTO employees.contend_employees VALUES ('loaded.departments', '9 0aa')",
        # One that is gone was not complete for ever.
        "INSERT INTO employees.contend_employees VALUES ('loaded.titles', '9 0aa')",
    )
    done(fill(mariadb, "--schema", "employees", "--rows", str(EMPLOYEES)))
    assert query(mariadb, "SELECT COUNT(*) FROM employees.departments") == [(9,)]
    assert query(mariadb, "SELECT COUNT(*) > 600 FROM employees.titles") == [(1,)]


def test_a_view_of_theirs_is_not_replaced(mariadb: PrivateServer, fill: Fill) -> None:
    words = ("--schema", "employees", "--rows", str(EMPLOYEES))
    query(
        mariadb,
        *("CREATE DATABASE employees", *BROKEN_OFF),
        "CREATE VIEW employees.current_dept_emp AS SELECT 7 AS mine",
    )
    again = fill(mariadb, *words)
    assert again.returncode == 2
    assert "current_dept_emp exists already" in again.stderr
    assert query(mariadb, "SELECT mine FROM employees.current_dept_emp") == [(7,)]


def test_a_table_of_sbtest_left_half_filled_is_filled_again(
    server: PrivateServer, fill: Fill
) -> None:
    query(
        server,
        "CREATE DATABASE tpcc",
        THEIRS.format("tpcc.sbtest1", HALF.format("tpcc.sbtest1")),
        THEIRS.format("tpcc.sbtest2", HALF.format("tpcc.sbtest1")),
    )
    words = ("--database", "tpcc", "--rows", "50", "--tables")
    two = fill(server, *words, "2")
    assert two.returncode == 2 and "sbtest2 exists already" in two.stderr
    done(fill(server, *words, "1"))
    assert query(server, "SELECT COUNT(*) FROM tpcc.sbtest1") == [(50,)]
    assert comments(server, "tpcc")["sbtest1"] == ""
