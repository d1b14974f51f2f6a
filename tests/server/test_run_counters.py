"""Counters that differ, on every kind of server with its real counters."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from needs import missing
from pymysql.connections import Connection
from run_lab import SMALL_LOG, Lab, wait_for

from contend.errors import ContendError
from contend.metrics.counters import GAUGES, GAUGES_OF
from contend.sections.counters import LISTED
from contend.servers import PrivateServer, debian
from contend.servers.client import fetch

pytestmark = pytest.mark.timeout(1200)

KINDS = [("mariadb", None), ("mariadb", "trixie"), ("mysql", "sid")]

ON_DISK = {
    "mariadb": ("server.options.tmp_memory_table_size", '"16M"', "0"),
    "mysql": ("server.options.big_tables", "false", "true"),
}

TEMPORARY = """
[experiment]
name = "tmp"
question = "What differs if temporary tables go to the disk?"
[server]
kind = "{kind}"
change = "in_place"
options = {{ {log}innodb_buffer_pool_size = "32M" }}
[data]
rows = 2_000
[workload]
kind = "sql"
text = "SELECT c, COUNT(*) FROM sbtest WHERE id <= 200 GROUP BY c ORDER BY 2;"
[load]
connections = 2
warmup = "20ms"
measure = "100ms"
[factors]
"{path}" = [{off}, {on}]
[compare]
by = "runs"
baseline = {{ "{path}" = {off} }}
repeats = 5
"""


def got(kind: str, suite: str | None) -> str:
    try:
        return debian.get(kind, suite, extras=()).name
    except ContendError as error:
        return missing(f"{kind}@{suite}: {error}")


@pytest.mark.parametrize(("kind", "suite"), KINDS)
def test_temporary_tables_on_disk_are_among_the_first(
    lab: Lab, kind: str, suite: str | None
) -> None:
    path, off, on = ON_DISK[kind]
    log = SMALL_LOG if kind == "mariadb" else ""
    lab.file.write_text(TEMPORARY.format(kind=kind, path=path, off=off, on=on, log=log))
    done = lab.contend("run", lab.file, "--out", lab.out, "--server", got(kind, suite))
    assert done.returncode == 0, done.stderr
    shown = json.loads(lab.contend("show", lab.out, "--json").stdout)["counters"]
    first = shown["found"][:LISTED]
    disk = [one for one in first if "Created_tmp_disk_tables" in one["metric"]]
    assert disk, [one["metric"] for one in shown["found"]]
    # The looks at the server make a few themselves.
    assert disk[0]["verdict"] == "higher" and (disk[0]["low"] or 0) > 3
    # One a query, of all that were asked: those of the looks, too.
    assert 0.3 < disk[0]["at_level"] < 1.1
    page = (lab.out / "report.html").read_text().replace("<wbr>", "")
    assert "Created_tmp_disk_tables" in page


def status(connection: Connection[Any]) -> dict[str, int]:
    rows = fetch(connection, "SHOW GLOBAL STATUS")
    return {name: int(value) for name, value in rows if value.isdecimal()}


@pytest.mark.parametrize(("kind", "suite"), KINDS)
def test_the_list_of_gauges_is_that_of_the_server(
    private_server: Callable[..., PrivateServer], kind: str, suite: str | None
) -> None:
    """Each name is there, and what is not named never falls."""
    got(kind, suite)
    server = private_server(debian.get(kind, suite, extras=()))
    with server.connect() as control, server.connect() as other:
        before = status(control)
        names = {name for name, _ in fetch(control, "SHOW GLOBAL STATUS")}
        assert GAUGES_OF["every"] | GAUGES_OF[kind] <= names
        with other.cursor() as cursor:
            cursor.execute("CREATE DATABASE d")
            cursor.execute("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(200)) ENGINE=InnoDB")
            for first in range(0, 3000, 300):
                rows = ", ".join(f"({n}, REPEAT('x', 200))" for n in range(first, first + 300))
                cursor.execute(f"INSERT INTO d.t VALUES {rows}")
            cursor.execute("SELECT b, COUNT(*) FROM d.t GROUP BY b")
            between = status(control)
            cursor.execute("DROP DATABASE d")
        with server.connect() as third:
            more = status(third)
        wait_for(lambda: status(control)["Threads_connected"] < more["Threads_connected"])
        after = status(control)
    fell = {
        name
        for one, later in itertools.pairwise((before, between, more, after))
        for name, value in later.items()
        if value < one.get(name, value)
    }
    assert fell <= GAUGES and "Threads_connected" in fell
