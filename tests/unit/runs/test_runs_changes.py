"""Splitting a series, and its reported change points: certain, with enough runs on each side."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.metrics import metric_of
from contend.runs.changes import (
    NEAR,
    SEEN_MIN,
    after_over_before,
    change_points,
    enough_a_side,
    split,
)
from contend.runs.series import RUNS_A_SIDE, Series, SeriesPoint


def series(logs: list[float]) -> Series:
    points = [SeriesPoint(at, float(log), 0.01, 2) for at, log in enumerate(logs)]
    return Series("figure", metric_of("qps"), {}, None, None, points)


def steps(seed: int, *lengths: int, size: float) -> list[float]:
    """Noise of 1 % around a level that alternates between two values."""
    chance = np.random.default_rng(seed)
    return [
        float(chance.normal(size * (part % 2), 0.01))
        for part, length in enumerate(lengths)
        for _ in range(length)
    ]


@given(st.lists(st.floats(-5, 5), max_size=60), st.integers(1, 9))
def test_every_segment_is_long_enough(values: list[float], least: int) -> None:
    ends = [0, *split(values, least), len(values)]
    if len(ends) > 2:
        assert all(two - one >= least for one, two in itertools.pairwise(ends))


def test_segments_are_the_cheapest_there_are() -> None:
    """Compared with every split of a short series into up to three segments."""
    for seed in range(20):
        x = np.array(steps(seed, 5, 4, 5, size=0.03))
        variance = (float(np.median(np.abs(np.diff(x)))) / 0.954) ** 2
        price = 4 * np.log(len(x)) * variance

        def cost(cuts: tuple[int, ...], x: np.ndarray = x, price: float = price) -> float:
            parts = np.split(x, cuts)
            return sum(float(np.sum((one - one.mean()) ** 2)) for one in parts) + price * len(cuts)

        ways = [cuts for n in range(3) for cuts in itertools.combinations(range(1, len(x)), n)]
        long = [cuts for cuts in ways if min(np.diff([0, *cuts, len(x)])) >= 3]
        assert cost(tuple(split(list(x), 3))) <= min(map(cost, long)) + 1e-12


@pytest.mark.parametrize("lengths", [(20, 20), (12, 9, 14), (10, 8, 10, 12)])
def test_lasting_steps_are_located(lengths: tuple[int, ...]) -> None:
    wanted = list(itertools.accumulate(lengths))[:-1]
    found = change_points([series(steps(1, *lengths, size=0.1))], 0.02)
    assert [point.at for point in found if point.is_reported] == wanted


def test_equal_values_do_not_change() -> None:
    assert split([0.5] * 40, RUNS_A_SIDE) == []
    assert split([0.5] * 20 + [0.6] * 20, RUNS_A_SIDE) == [20]


@given(st.sets(st.integers(1, 59)), st.integers(0, 2**32 - 1))
def test_kept_places_leave_enough_runs(places: set[int], seed: int) -> None:
    kept = enough_a_side(steps(seed, 60, size=0.0), sorted(places))
    if kept:
        ends = itertools.pairwise([0, *kept, 60])
        assert all(two - one >= RUNS_A_SIDE for one, two in ends)
    assert set(kept) <= places


@given(st.integers(0, 2**32 - 1), st.integers(8, 30), st.integers(8, 30))
def test_eight_runs_are_enough_for_ten_sigma(seed: int, before: int, after: int) -> None:
    found = change_points([series(steps(seed, before, after, size=0.1))], 0.02)
    (point,) = [one for one in found if one.is_reported and abs(one.at - before) <= 1]
    assert point.finding is not None
    assert point.finding.word == "faster"
    assert point.finding.contrast.units == "runs"
    assert point.finding.change.low < 1.1052 * 1.03


def test_seven_runs_are_too_few_however_large_the_step() -> None:
    for before, after in ((7, 30), (30, 7), (SEEN_MIN, 5)):
        (point,) = change_points([series(steps(1, before, after, size=1.0))], 0.02)
        assert point.finding is None and not point.is_reported
        assert point.runs_a_side == (before, after)


def test_an_outlier_near_a_step_does_not_hide_it() -> None:
    values = steps(2, 30, 30, size=0.2)
    values[26] += 0.3
    (point,) = [one for one in change_points([series(values)], 0.02) if one.is_reported]
    assert abs(point.at - 30) <= NEAR and (point.first, point.last) == (0, 60)


def test_more_series_widen_the_intervals() -> None:
    """The interval of a step widens with the number of places where a change could be reported."""
    one = series(steps(3, 20, 20, size=0.1))
    widths = []
    for others in (0, 99):
        quiet = [series(steps(10 + at, 40, size=0.0)) for at in range(others)]
        found = change_points([one, *quiet], 0.02)[0].finding
        assert found is not None
        widths.append(found.change.high / found.change.low)
    assert widths[1] > widths[0]


def test_unchanged_series_rarely_have_a_reported_change() -> None:
    """At most 5 % even at the most conspicuous place of each series, that with the largest t."""
    false, tries = 0, 300
    chance = np.random.default_rng(11)
    for _ in range(tries):
        x = chance.normal(0, 0.05, 40)
        one = series(list(x))
        t = {at: abs(_t(x[:at], x[at:])) for at in range(RUNS_A_SIDE, 40 - RUNS_A_SIDE + 1)}
        worst = max(t, key=lambda at: t[at])
        found = after_over_before(one, list(x[:worst]), list(x[worst:]), one.places, 1e-6)
        false += found.is_certain
    assert false <= 0.05 * tries


def _t(one: np.ndarray, other: np.ndarray) -> float:
    variance = np.var(one, ddof=1) / len(one) + np.var(other, ddof=1) / len(other)
    return float((np.mean(other) - np.mean(one)) / np.sqrt(variance))
