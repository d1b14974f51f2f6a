"""The watch over the query cache's lock."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest
from fake_connection import FakeConnection, Rows

from contend.lab.probes import Observed, QueryCacheWatch, watches
from contend.metrics import metric_of


class Connection(FakeConnection):
    """A server with these variables, on which so many queries run and wait."""

    def __init__(self, variables: dict[str, str], row: tuple[Any, ...] = (8, 3)) -> None:
        super().__init__()
        self.variables = variables
        self.row = row
        self.looks = 0

    def answer(self, statement: str) -> Rows:
        if "PROCESSLIST" not in statement:
            return list(self.variables.items())
        self.looks += 1
        if self.looks > 2:
            raise pymysql.err.OperationalError(2013, "Lost connection")
        return [self.row]


ON = {"query_cache_type": "ON", "query_cache_size": "1048576"}


def watched(connection: Connection, kind: str = "mariadb") -> Any:
    found: Any = connection
    with QueryCacheWatch(Observed(found, kind)) as watch:
        limit = time.monotonic() + 30
        while connection.looks < 3 and watch.is_looking and time.monotonic() < limit:
            time.sleep(0.001)
    return watch.seen()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "PERIOD_S", 0.001)


def test_looks_are_added_up_until_the_server_is_gone() -> None:
    seen = watched(Connection(ON))
    assert seen == {"query_cache_waits": {"looks": 2, "running": 16, "waiting": 6}}


def test_nothing_that_runs_is_no_waiter() -> None:
    seen = watched(Connection(ON, (0, None)))
    assert seen == {"query_cache_waits": {"looks": 2, "running": 0, "waiting": 0}}


@pytest.mark.parametrize(
    ("variables", "kind"),
    [
        ({**ON, "query_cache_type": "OFF"}, "mariadb"),
        ({**ON, "query_cache_size": "0"}, "mariadb"),
        ({}, "mariadb"),
        (ON, "mysql"),
    ],
)
def test_without_a_query_cache_nobody_looks(variables: dict[str, str], kind: str) -> None:
    connection = Connection(variables)
    assert watched(connection, kind) == {}
    assert connection.looks == 0


def test_the_metrics_read_it() -> None:
    run: Any = SimpleNamespace(
        probes={
            "query_cache_waits": {"looks": 5, "running": 40, "waiting": 10},
            "status": {"Qcache_hits": 30, "Com_select": 40, "Qcache_inserts": 2},
        }
    )
    assert metric_of("query_cache_wait_share").value(run) == 0.25
    assert metric_of("query_cache_miss_share").value(run) == 0.25
    run.probes = {"status": {"Qcache_hits": 0, "Com_select": 10}}
    assert metric_of("query_cache_miss_share").value(run) is None
    assert metric_of("query_cache_wait_share").value(run) is None
