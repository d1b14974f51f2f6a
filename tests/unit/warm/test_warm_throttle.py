"""A load that is held back as a process, with a probe made up; for how long, by readings at times
of our own."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest
from fake_connection import FakeConnection, Rows

from contend.warm import throttle
from contend.warm.throttle import (
    CALM_S,
    FIRST,
    FULL,
    LEAST,
    NO_PROBE,
    REST_S,
    STEP,
    DutyCycle,
    Limits,
    Throttle,
)

SOON_S = 60
"""No answer of this takes a second; a stalled host may take longer."""

PROBE = "SELECT 1 FROM orders WHERE id = 5"
LATENCY_S = 1000.0


class Server(FakeConnection):
    """`seen` is set when the statement `wanted` arrives."""

    def __init__(self, wanted: str) -> None:
        super().__init__()
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
    with Throttle(server.connect, LATENCY_S, probe) as held:
        held.hold(load.pid)
        assert server.seen.wait(SOON_S)
    assert held.broken is None
    assert server.statements.count(PROBE) == 1
    assert load.poll() is None


def test_a_load_that_can_no_longer_be_throttled_is_ended(
    load: subprocess.Popen[bytes],
) -> None:
    def refused() -> Any:
        raise pymysql.err.OperationalError(1040, "Too many connections")

    with Throttle(refused, LATENCY_S, probe) as held:
        held.hold(load.pid)
        assert load.wait(SOON_S) != 0
    assert held.broken == "Too many connections"


def test_it_goes_on_when_the_throttle_is_over(load: subprocess.Popen[bytes]) -> None:
    server = Server(PROBE.replace("orders", "others"))
    with Throttle(server.connect, 0.0, lambda: server.wanted) as held:
        held.hold(load.pid)
        assert server.seen.wait(SOON_S)
        assert (held.held or "").startswith("latency ")
    assert held.held_s > 0
    load.terminate()
    # A stopped process would not hear it.
    assert load.wait(SOON_S) != 0


def test_a_probe_without_an_answer_is_not_waited_for_at_the_end(
    load: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "LAST_ANSWER_S", 0.01)
    sent, answered, over = (threading.Event() for _ in range(3))

    class Hanging(Server):
        def answer(self, statement: str) -> Rows:
            sent.set()
            answered.wait(SOON_S)
            over.set()
            return []

    server = Hanging(NO_PROBE)
    with Throttle(server.connect, LATENCY_S, probe) as held:
        held.hold(load.pid)
        assert sent.wait(SOON_S)
    assert not over.is_set()
    answered.set()


BOUND_S = 0.005


def walked(pace: DutyCycle, latency_of: Callable[[float], float], seconds: float) -> list[float]:
    """The shares of so long, looked at a hundred times a second by a server whose latency depends
    on the share; `pace` sees it."""
    shares = []
    for look in range(int(seconds * 100)):
        shares.append(pace.share)
        pace.see(look / 100, latency_of(pace.share))
    return shares


@pytest.mark.parametrize("most", [0.02, 0.1, 0.3, 0.7])
def test_it_finds_the_share_within_the_bound_and_rarely_exceeds_it(most: float) -> None:
    pace = DutyCycle(BOUND_S)
    shares = walked(pace, lambda share: 0.001 if share <= most else 0.02, 120)
    settled = shares[6000:]
    assert sum(settled) / len(settled) > most / 2
    assert max(settled) <= most + STEP
    above = [share > most for share in settled]
    # What a p99 allows.
    assert sum(above) < 0.01 * len(above)


def test_a_fast_server_soon_gets_the_full_load() -> None:
    pace = DutyCycle(BOUND_S)
    shares = walked(pace, lambda _share: 0.001, 10)
    assert shares[0] == FIRST
    # It doubles as long as nothing speaks against it.
    assert shares.index(FULL) <= 6 * 100 * CALM_S
    pace.ran(1.0, 200.0)
    assert (pace.rest_until_s, pace.why) == (200.0, None)


def test_a_server_that_is_slow_by_itself_gets_little_load_and_recovers() -> None:
    pace = DutyCycle(BOUND_S)
    shares = walked(pace, lambda _share: 0.02, 30)
    assert shares[-1] == LEAST
    assert pace.rest_until_s == pytest.approx(29.99 + REST_S)
    for look in range(3000, 6000):
        pace.see(look / 100, 0.001)
    assert pace.share > STEP


def test_one_crowded_moment_halves_once() -> None:
    pace = DutyCycle(BOUND_S)
    before = pace.share
    for look in range(10):
        pace.see(look / 100, 0.02)
    assert pace.share == before / 2
    assert " 2.5% " in str(pace.why)
    pace.ran(0.002, 1.0)
    assert pace.rest_until_s == pytest.approx(1.0 + 0.002 * (1 / pace.share - 1))


def test_a_pulse_is_followed_by_a_rest_and_too_high_a_latency_makes_it_longer() -> None:
    pace = DutyCycle(BOUND_S)
    pace.ran(0.002, 1.0)
    pace.see(1.0, 0.001)
    assert pace.rest_until_s == pytest.approx(1.038)
    pace.see(1.03, 0.006)
    assert pace.rest_until_s == pytest.approx(1.03 + REST_S)
    pace.ran(0.2, 2.0)
    pace.see(2.1, 0.006)
    assert pace.rest_until_s == pytest.approx(2.0 + 0.2 * 39)


def test_connections_alone_are_not_a_limit() -> None:
    assert not Limits(connections=4)
    assert Limits(pages_per_second=100) and Limits(latency_s=BOUND_S)
