"""A load that is held back as a process, with a probe made up."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
from fake_connection import FakeConnection, Rows

from contend.warm import throttle
from contend.warm.throttle import NO_PROBE, Limits, Throttle

SOON_S = 60
"""No answer of this takes a second; a host that stands still may take longer."""

PROBE = "SELECT 1 FROM orders WHERE id = 5"
LATENCY = Limits(latency_s=1000.0)


class Server(FakeConnection):
    """`seen` is set when `wanted` was asked."""

    def __init__(self, wanted: str, *, running: int = 0) -> None:
        super().__init__({"Threads_running": [("Threads_running", str(running))]})
        self.wanted = wanted
        self.seen = threading.Event()

    def connect(self) -> Any:
        return self

    def answer(self, statement: str) -> Rows:
        if statement == PROBE:
            raise pymysql.err.ProgrammingError(1146, "Table 'shop.orders' doesn't exist")
        if self.statements.count(self.wanted) > 2:
            self.seen.set()
        return super().answer(statement)


@pytest.fixture
def load() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "3600"]) as process:
        yield process
        process.kill()


def probe() -> str:
    return PROBE


def test_a_probe_whose_table_was_dropped_reads_nothing_from_then_on(
    load: subprocess.Popen[bytes],
) -> None:
    server = Server(NO_PROBE)
    with Throttle(server.connect, LATENCY, probe, 1) as held:
        held.hold(load.pid)
        assert server.seen.wait(SOON_S)
    assert held.broken is None
    assert server.statements.count(PROBE) == 1
    assert load.poll() is None


def test_a_load_that_nobody_could_hold_back_any_more_is_ended(
    load: subprocess.Popen[bytes],
) -> None:
    def refused() -> Any:
        raise pymysql.err.OperationalError(1040, "Too many connections")

    with Throttle(refused, LATENCY, probe, 1) as held:
        held.hold(load.pid)
        assert load.wait(SOON_S) != 0
    assert held.broken == "Too many connections"


def test_it_goes_on_when_the_throttle_is_over(load: subprocess.Popen[bytes]) -> None:
    server = Server("SHOW GLOBAL STATUS LIKE 'Threads_running'", running=50)
    with Throttle(server.connect, Limits(threads_running=8), probe, 1) as held:
        held.hold(load.pid)
        assert server.seen.wait(SOON_S)
        assert held.held == "threads running"
    assert held.held_s > 0
    load.terminate()
    # A stopped process would not hear it.
    assert load.wait(SOON_S) != 0


def test_a_probe_without_an_answer_is_not_waited_for_at_the_end(
    load: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "LAST_ANSWER_S", 0.01)
    asked, answered, over = (threading.Event() for _ in range(3))

    class Hanging(Server):
        def answer(self, statement: str) -> Rows:
            asked.set()
            answered.wait(SOON_S)
            over.set()
            return []

    server = Hanging(NO_PROBE)
    with Throttle(server.connect, LATENCY, probe, 1) as held:
        held.hold(load.pid)
        assert asked.wait(SOON_S)
    assert not over.is_set()
    answered.set()
