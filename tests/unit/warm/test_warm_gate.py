"""When a warm-up is held back, by readings at times of our own."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from contend.warm.throttle import (
    CALM_S,
    FIRST,
    FULL,
    LEAST,
    REST_S,
    STEP,
    DutyCycle,
    Gate,
    GateReading,
    Limits,
)

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
def test_it_finds_the_share_that_the_bound_leaves_and_passes_it_rarely(most: float) -> None:
    pace = DutyCycle(BOUND_S)
    shares = walked(pace, lambda share: 0.001 if share <= most else 0.02, 120)
    settled = shares[6000:]
    assert sum(settled) / len(settled) > most / 2
    assert max(settled) <= most + STEP
    above = [share > most for share in settled]
    # What a p99 allows.
    assert sum(above) < 0.01 * len(above)


def test_a_server_that_bears_all_of_it_gets_it_soon() -> None:
    pace = DutyCycle(BOUND_S)
    shares = walked(pace, lambda _share: 0.001, 10)
    assert shares[0] == FIRST
    # It doubles as long as nothing speaks against it.
    assert shares.index(FULL) <= 6 * 100 * CALM_S
    assert pace.rest_s(1.0) == 0


def test_a_server_that_is_slow_by_itself_is_left_alone_and_not_for_ever() -> None:
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
    assert pace.rest_s(0.002) == pytest.approx(0.002 * (1 / pace.share - 1))


def test_without_limits_nothing_holds_it_back() -> None:
    assert not Limits()
    gate = Gate(Limits())
    gate.see(GateReading(1.0, 100.0, 500))
    gate.ran(1.0, 2.0)
    assert (gate.left_s(2.0), gate.why, gate.share) == (0.0, None, FULL)


def test_a_pulse_is_followed_by_a_rest_and_too_high_a_latency_makes_it_longer() -> None:
    gate = Gate(Limits(latency_s=BOUND_S))
    gate.ran(0.002, 1.0)
    assert gate.left_s(1.0) == pytest.approx(0.038)
    gate.see(GateReading(1.0, latency_s=0.001))
    assert gate.left_s(1.038) == pytest.approx(0.0)
    gate.see(GateReading(1.03, latency_s=0.006))
    assert gate.left_s(1.03) == pytest.approx(REST_S)
    assert gate.why == "latency, 2.5% of its speed"


def test_threads_are_counted_now_and_then_and_the_last_count_holds() -> None:
    gate = Gate(Limits(threads_running=8))
    gate.see(GateReading(0.0, threads_running=9))
    assert (gate.why, gate.left_s(0.0)) == ("threads running", inf)
    gate.see(GateReading(0.1))
    assert gate.why == "threads running"
    gate.see(GateReading(0.2, threads_running=8))
    gate.see(GateReading(0.3))
    assert (gate.why, gate.left_s(0.3)) == (None, 0.0)
