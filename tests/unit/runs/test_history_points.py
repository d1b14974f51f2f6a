"""Which change points are told: enough runs a side, and certain, whatever was proposed."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contend.metrics import metric_of
from contend.runs.model import RUNS_A_SIDE, Series, SeriesPoint
from contend.runs.otava import Proposed
from contend.runs.points import change_points, enough_a_side


def series(logs: list[float]) -> Series:
    points = [SeriesPoint(at, float(log), 0.01, 2) for at, log in enumerate(logs)]
    return Series("figure", metric_of("qps"), {}, None, None, points)


def step(seed: int, before: int, after: int, size: float) -> Series:
    noise = np.random.default_rng(seed).normal(0, 0.01, before + after)
    return series([float(x) + size * (at >= before) for at, x in enumerate(noise)])


proposals = st.lists(
    st.builds(Proposed, st.integers(1, 59), st.floats(0, 0.001)), unique_by=lambda one: one.at
)


@given(proposals)
def test_what_is_kept_leaves_enough_runs_everywhere_and_nothing_is_lost(
    proposed: list[Proposed],
) -> None:
    kept, dropped = enough_a_side(proposed, 60)
    ends = [0, *(one.at for one in kept), 60]
    if kept:
        assert all(two - one >= RUNS_A_SIDE for one, two in itertools.pairwise(ends))
    assert sorted(one.at for one in (*kept, *dropped)) == sorted(one.at for one in proposed)


@given(proposals, st.integers(0, 2**32 - 1))
def test_each_proposal_has_one_answer_and_only_those_with_few_runs_have_no_finding(
    proposed: list[Proposed], seed: int
) -> None:
    one = step(seed, 60, 0, 0.0)
    found = change_points([one], [proposed], 0.02)
    assert sorted(point.at for point in found) == sorted(each.at for each in proposed)
    for point in found:
        if point.finding is not None:
            assert min(point.runs_a_side) >= RUNS_A_SIDE
        assert point.first < point.at < point.last


@given(st.integers(0, 2**32 - 1), st.integers(8, 30), st.integers(8, 30))
def test_a_step_of_ten_sigma_is_told_from_eight_runs_on(seed: int, before: int, after: int) -> None:
    (point,) = change_points([step(seed, before, after, 0.1)], [[Proposed(before, 1e-9)]], 0.02)
    assert point.told and point.finding is not None
    assert point.finding.word == "faster"
    assert point.finding.contrast.units == "runs"
    assert point.finding.change.low < 1.1052 * 1.03


def test_seven_runs_are_too_few_however_large_the_step() -> None:
    for before, after in ((7, 30), (30, 7)):
        one = step(1, before, after, 1.0)
        (point,) = change_points([one], [[Proposed(before, 1e-12)]], 0.02)
        assert point.finding is None and not point.told
        assert point.runs_a_side == (before, after)


def test_an_outlier_beside_a_step_does_not_hide_it() -> None:
    one = step(2, 30, 30, 0.2)
    proposed = [Proposed(26, 9e-4), Proposed(27, 8e-4), Proposed(30, 1e-12)]
    told = [point for point in change_points([one], [proposed], 0.02) if point.told]
    assert [(point.at, point.first, point.last) for point in told] == [(30, 0, 60)]


def test_the_more_series_a_page_has_the_more_is_asked_of_each() -> None:
    """The interval of the same step widens with the places at which a change could be told."""
    one = step(3, 20, 20, 0.1)
    widths = []
    for others in (0, 99):
        quiet = [step(10 + at, 40, 0, 0.0) for at in range(others)]
        points = change_points([one, *quiet], [[Proposed(20, 1e-9)], *([[]] * others)], 0.02)
        assert points[0].finding is not None
        change = points[0].finding.change
        widths.append(change.high / change.low)
    assert widths[1] > widths[0]


def test_in_series_that_do_not_change_the_worst_place_is_rarely_told() -> None:
    """Whatever proposes: even the most conspicuous place of each series is told in 5 % at most.
    Places are chosen here with the series in sight, by the largest t of all."""
    false, tries = 0, 300
    chance = np.random.default_rng(11)
    for _ in range(tries):
        x = chance.normal(0, 0.05, 40)
        t = {at: abs(_t(x[:at], x[at:])) for at in range(RUNS_A_SIDE, 40 - RUNS_A_SIDE + 1)}
        worst = max(t, key=lambda at: t[at])
        points = change_points([series(list(x))], [[Proposed(worst, 1e-6)]], 1e-6)
        false += any(point.told for point in points)
    assert false <= 0.05 * tries


def _t(one: np.ndarray, other: np.ndarray) -> float:
    variance = np.var(one, ddof=1) / len(one) + np.var(other, ddof=1) / len(other)
    return float((np.mean(other) - np.mean(one)) / np.sqrt(variance))
