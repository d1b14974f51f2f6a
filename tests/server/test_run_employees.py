"""A dataset of several tables in the lab: loaded once, copied for each level, warm, and on a server
that is not contend's."""

from __future__ import annotations

import pytest
from run_lab import Lab, with_figures
from sql import Factory, query

from contend.data import list_datasets
from contend.experiment.settings.schemas import SCHEMAS
from contend.servers import ServerBinary

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

AAMODT = "SELECT COUNT(emp_no) FROM employees WHERE last_name = 'Aamodt';"
SCHEMA = SCHEMAS["employees"]


@pytest.fixture
def employees(lab: Lab) -> Lab:
    """The tiny experiment on 300 employees, one number of connections."""
    lab.edit("rows = 10_000", 'schema = "employees"\nrows = 300')
    lab.edit('kind = "random_points"', f'kind = "sql"\ntext = "{AAMODT}"')
    lab.edit('"load.connections" = [1, 4]\n', "")
    return lab


def test_each_level_has_all_tables_and_warm_caches(employees: Lab) -> None:
    done = employees.run()
    assert done.returncode == 0, done.stderr
    records = with_figures(employees.records())
    assert all(employees.answered().values())
    assert all((record.probes["warmed"] or {}).get("cache") for record in records)
    (kept,) = [one for one in list_datasets(employees.cache) if one.key.startswith("employees")]
    assert kept.rows > 3_000
    names = {entry.path for entry in kept.files}
    assert {f"employees/{table}.MYD" for table in SCHEMA.tables} <= names
    assert {f"employees/{view}.frm" for view in SCHEMA.views} <= names
    assert "employees, 300 employees" in done.stdout


def test_a_server_that_is_not_ours_gets_the_tables_and_loses_them_again(
    employees: Lab, mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary)
    query(server, "CREATE DATABASE theirs")
    query(server, "CREATE TABLE theirs.wages (a INT) SELECT 7 AS a")
    dsn = f"mysql://root@/theirs?socket={server.socket}"
    employees.edit(', innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M"', "")
    employees.edit('"server.options.key_cache_segments" = [0, 32]', '"load.connections" = [1, 2]')
    employees.edit('"server.options.key_cache_segments" = 0', '"load.connections" = 1')
    done = employees.run("--server", dsn, "--yes")
    assert done.returncode == 0, done.stderr
    tables = {str(row[0]) for row in query(server, "SHOW TABLES FROM theirs")}
    assert tables == {*SCHEMA.tables, *SCHEMA.views, "wages"}
    dropped = employees.contend("data", "drop", "--server", dsn, "--yes")
    assert dropped.returncode == 0, dropped.stderr
    assert query(server, "SHOW TABLES FROM theirs") == [("wages",)]
