"""The search for the highest rate that holds a goal, on servers whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contend.stats import GoalAnswer, RateRun, RateSearch, count_above, rounded_rate
from contend.stats.histogram import HistogramError

WARMUP_S, MEASURE_S = 0.5, 4.0

Measure = Callable[[int, float], RateRun]


def searched(measure: Measure, repeats: int = 8, **bounds: float) -> tuple[RateSearch, int]:
    """A search to its end, and the number of its runs."""
    given_bounds = {"lowest": 10.0, "highest": 1e6, "first": 100.0, **bounds}
    search, runs = RateSearch(**given_bounds), 0
    for repeat in range(1, repeats + 2):
        while rates := search.wanted(repeat):
            for rate in rates:
                search.add(measure(repeat, rate))
                runs += 1
    return search, runs


def answer_of(measure: Measure, **how: float) -> GoalAnswer:
    return searched(measure, **how)[0].answer(0.95)  # type: ignore[arg-type]


class OneServer:
    """One exponential server with Poisson arrivals, and a goal of its p99."""

    def __init__(self, seed: int, per_s: float, limit_s: float) -> None:
        self._chance = np.random.default_rng(seed)
        self._per_s, self._limit_s = per_s, limit_s
        # The response time is exponential with the rate that is left.
        self.exact = per_s - math.log(100) / limit_s

    def __call__(self, repeat: int, rate: float) -> RateRun:
        whole_s = WARMUP_S + MEASURE_S
        count = int(whole_s * rate * 1.3 + 100)
        at = np.cumsum(self._chance.exponential(1 / rate, count))
        at = at[at < whole_s]
        service = np.cumsum(self._chance.exponential(1 / self._per_s, len(at)))
        # Lindley: an event ends when the work since the last empty moment is done.
        idle = at - np.concatenate(([0.0], service[:-1]))
        ends = np.maximum.accumulate(idle) + service
        seen = at >= WARMUP_S
        late = float(np.mean((ends - at)[seen] > self._limit_s))
        waiting = int(np.sum(ends > whole_s)) - int(np.sum((at < WARMUP_S) & (ends > WARMUP_S)))
        return RateRun(
            repeat,
            rate,
            late / 0.01,
            math.sqrt(4 * 0.99 / (0.01 * max(1, seen.sum()))),
            grows=waiting > 3 * math.sqrt(2 * rate * MEASURE_S),
            answered=float(np.sum((ends >= WARMUP_S) & (ends < whole_s))) / MEASURE_S,
        )


def test_it_finds_the_rate_of_a_server_and_its_interval_holds_it() -> None:
    close = held = 0
    for seed in range(20):
        server = OneServer(seed, 1000.0, 0.02)
        search, runs = searched(server)
        rate = search.answer(0.95).rate
        close += abs(rate.mean / server.exact - 1) < 0.05
        held += rate.low <= server.exact <= rate.high
        assert runs <= 30 and rate.n == 8
    assert close >= 18
    assert held >= 18


def test_a_run_in_which_the_host_stalls_does_not_end_the_search_far_below() -> None:
    server, stalls = OneServer(3, 1000.0, 0.02), {1, 2, 9}
    numbers = iter(range(1000))

    def measure(repeat: int, rate: float) -> RateRun:
        run = server(repeat, rate)
        return RateRun(repeat, rate, 9.0) if next(numbers) in stalls else run

    assert answer_of(measure).rate.mean == pytest.approx(server.exact, rel=0.15)


@given(st.floats(20, 400_000), st.floats(2, 30))
@settings(max_examples=30, deadline=None)
def test_a_smooth_goal_is_found_exactly(exact: float, slope: float) -> None:
    answer = answer_of(
        lambda repeat, rate: RateRun(repeat, rate, (rate / exact) ** slope), repeats=3
    )
    assert answer.kind == "found"
    assert answer.rate.mean == pytest.approx(exact, rel=0.06)


@given(st.floats(20, 400_000))
@settings(max_examples=20, deadline=None)
def test_a_wall_is_found_between_the_rates_around_it(wall: float) -> None:
    """A generous goal: nothing is slow until the queue grows."""
    answer = answer_of(
        lambda repeat, rate: RateRun(
            repeat, rate, 0.0, grows=rate > wall, answered=min(rate, wall)
        ),
        repeats=4,
    )
    assert answer.rate.mean == pytest.approx(wall, rel=0.13)


def test_the_ends_of_a_search() -> None:
    every = answer_of(lambda repeat, rate: RateRun(repeat, rate, 0.2), highest=12_000.0)
    assert (every.kind, every.rate.mean, every.is_certain) == ("all", 12_000, True)
    none = answer_of(lambda repeat, rate: RateRun(repeat, rate, 3.0))
    assert (none.kind, none.rate.mean, none.is_certain) == ("none", 10, True)
    doubtful = answer_of(
        lambda repeat, rate: RateRun(repeat, rate, 0.5 + repeat % 2), highest=100.0, repeats=3
    )
    assert not doubtful.is_certain
    client = answer_of(
        lambda repeat, rate: RateRun(
            repeat, rate, 0.1, grows=rate > 30_000, is_client=rate > 20_000
        )
    )
    assert client.kind == "client"
    assert 20_000 < client.rate.mean <= 30_000
    dead = answer_of(lambda repeat, rate: RateRun(repeat, rate, math.inf if rate > 800 else 0.1))
    assert dead.kind == "found"
    assert dead.rate.mean == pytest.approx(800, rel=0.12)


def test_a_search_that_goes_on_later_wants_the_same() -> None:
    server = OneServer(5, 1000.0, 0.02)
    search, runs = RateSearch(10, 1e6, 100), []
    for repeat in (1, 2, 3):
        while rates := search.wanted(repeat):
            assert RateSearch(10, 1e6, 100, runs).wanted(repeat) == rates
            for rate in rates:
                runs.append(server(repeat, rate))
                search.add(runs[-1])
    assert RateSearch(10, 1e6, 100, runs).answer(0.95) == search.answer(0.95)


def test_nothing_is_known_before_the_place_is_found() -> None:
    assert RateSearch(10, 1e6, 100).answer(0.95).kind == "open"
    search = RateSearch(10, 1e6, 100, [RateRun(1, 100, 0.1)])
    assert search.wanted(1) == (400,)
    assert search.answer(0.95).kind == "open"
    located = RateSearch(10, 1e6, 100, [RateRun(1, 100, 0.1), RateRun(1, 120, 5.0)])
    answer = located.answer(0.95)
    assert (answer.kind, answer.rate.n, answer.is_certain) == ("open", 0, False)


@pytest.mark.parametrize(
    ("rate", "rounded"), [(5937.2, 5940), (99.96, 100), (12.345, 12.3), (123456.0, 123000)]
)
def test_rates_read_well(rate: float, rounded: float) -> None:
    assert rounded_rate(rate) == rounded


def test_values_above_a_limit_are_counted(one_histogram: str) -> None:
    assert count_above(one_histogram, 5_000) == (30, 100)
    assert count_above(one_histogram, 0) == (100, 100)
    with pytest.raises(HistogramError):
        count_above("HISTx", 0)


@pytest.fixture
def one_histogram() -> str:
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    histogram.record_value(1_000, 70)
    histogram.record_value(9_000, 30)
    encoded: bytes = histogram.encode()
    return encoded.decode("ascii")
