"""Stopping by width: the rule, and whether intervals hold where it stopped."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from contend.stats import Standing, StoppingRule, TableShape, answer_table
from contend.stats import progress as progress_of_table

EXPERIMENTS, MOST = 40_000, 120


def progress(values: np.ndarray, rule: StoppingRule, **spent: float) -> Standing:
    """Of a table of one cell: (n,) or (n, levels)."""
    levels = values.reshape(len(values), 1, -1) if values.size else np.empty((len(values), 1, 1))
    return progress_of_table([levels], TableShape(1, 1), rule, **spent)


def first_narrow(values: np.ndarray, half_width_log: float, confidence: float) -> tuple:  # type: ignore[type-arg]
    """Units at which (experiments, units, levels) stop, with means and half-widths there."""
    n = np.arange(1, values.shape[1] + 1)[None, :, None]
    mean = np.cumsum(values, axis=1) / n
    squares = np.cumsum(values**2, axis=1) - n * mean**2
    freedom = np.maximum(n - 1, 1)
    half = reference.t.ppf(0.5 + confidence / 2, freedom) * np.sqrt(squares / freedom / n)
    narrow = (half.max(axis=2) <= half_width_log) & (n[:, :, 0] >= 8)
    assert narrow.any(axis=1).all()
    at = np.argmax(narrow, axis=1)
    rows = np.arange(len(values))
    return at + 1, mean[rows, at], half[rows, at]


def width_of(units: int, sd: float = 1.0) -> float:
    """The half-width that so many units have if the scatter is known to the t quantile."""
    return float(reference.t.ppf(0.975, units - 1)) * sd / math.sqrt(units)


@pytest.mark.parametrize(("suffice", "taken"), [(8, 9.7), (20, 21.7), (30, 33.0)])
def test_intervals_hold_where_an_experiment_stopped(suffice: int, taken: float) -> None:
    values = np.random.default_rng(suffice).normal(size=(EXPERIMENTS, MOST, 1))
    confidence = StoppingRule(until=(0.02,)).interval_confidence
    n, mean, half = first_narrow(values, width_of(suffice), confidence)
    assert np.mean(np.abs(mean) <= half) >= 0.947
    assert n.mean() == pytest.approx(taken, abs=0.2)
    # The answer itself is not moved.
    assert abs(mean.mean()) < 4 * mean.std() / math.sqrt(EXPERIMENTS)


def test_why_the_quantile_is_tightened() -> None:
    values = np.random.default_rng(20).normal(size=(EXPERIMENTS, MOST, 1))
    _, mean, half = first_narrow(values, width_of(20), 0.95)
    assert 0.928 <= np.mean(np.abs(mean) <= half) <= 0.937


def test_intervals_of_three_levels_hold_together() -> None:
    """Three levels with a shared baseline, each at a third of what may be missed; the experiment
    goes on until the widest is narrow.
    """
    chance = np.random.default_rng(3)
    values = chance.normal(size=(EXPERIMENTS // 4, MOST, 4))
    values = (values[:, :, :3] - values[:, :, 3:]) / math.sqrt(2)
    confidence = 1 - (1 - StoppingRule(until=(0.02,)).interval_confidence) / 3
    _, mean, half = first_narrow(values, width_of(20), confidence)
    assert np.mean(np.all(np.abs(mean) <= half, axis=1)) >= 0.947


def test_the_rule_stops_where_the_simulation_does() -> None:
    values = 0.05 * np.random.default_rng(12).normal(size=(40, MOST, 1))
    rule = StoppingRule(until=(math.expm1(width_of(12, 0.05)),))
    n, _, half = first_narrow(values, width_of(12, 0.05), rule.interval_confidence)
    for i, stops in enumerate(n):
        state = [progress(values[i, :k], rule, spent_s=0, unit_s=1) for k in range(1, stops + 1)]
        assert [one.stop for one in state] == [False] * (stops - 1) + [True]
        assert state[-1].reason == "width reached"
        assert (state[-1].units_more, state[-1].seconds_more) == (0, 0.0)
        assert state[-1].half_width == pytest.approx(math.expm1(half[i].max()))


def test_the_estimate_of_missing_units_is_about_right() -> None:
    """Estimated after eight units; the median of the true number is within a fifth."""
    sd, rule = 0.05, StoppingRule(until=(0.02,))
    values = sd * np.random.default_rng(5).normal(size=(200, MOST, 1))
    n, _, _ = first_narrow(values, math.log1p(0.02), rule.interval_confidence)
    state = [progress(one[:8], rule, spent_s=0, unit_s=10) for one in values]
    more = [one.units_more or 0 for one in state]
    assert np.median(more) + 8 == pytest.approx(np.median(n), rel=0.2)
    assert all(one.seconds_more == 10 * (one.units_more or 0) for one in state)


@given(st.lists(st.floats(-1, 1), max_size=20), st.floats(0.001, 0.5), st.floats(0, 100))
def test_a_width_counts_from_the_least_units_on(
    values: list[float], until: float, spent: float
) -> None:
    state = progress(
        np.array(values), StoppingRule(until=(until,), at_most_s=50), spent_s=spent, unit_s=5
    )
    assert state.n == len(values)
    assert state.stop == (state.reason in ("width reached", "time is up"))
    if state.reason == "width reached":
        assert state.n >= 8 and state.half_width <= until
    elif state.reason == "time is up":
        assert spent + 5 > 50
    else:
        assert spent + 5 <= 50
        assert (state.reason == "too few units") == (state.n < 8)
    if state.n >= 2 and state.units_more is not None and state.reason != "width reached":
        assert state.units_more >= max(8 - state.n, 1)


def test_the_answer_itself_does_not_matter() -> None:
    values = np.random.default_rng(1).normal(0, 0.05, 10)
    rule = StoppingRule(until=(0.03,))
    one, other = (progress(values + by, rule, spent_s=1, unit_s=1) for by in (0.0, 0.7))
    assert one.half_width == pytest.approx(other.half_width)
    assert (one.stop, one.reason, one.units_more) == (other.stop, other.reason, other.units_more)


def test_time_alone_ends_it_without_a_requested_width() -> None:
    values = np.full(20, 0.1)
    timed = StoppingRule(at_most_s=60)
    assert timed.interval_confidence == 0.95
    assert not progress(values, timed, spent_s=50, unit_s=10).stop
    assert progress(values, timed, spent_s=51, unit_s=10).reason == "time is up"
    counted = StoppingRule()
    assert not progress(values[:7], counted, spent_s=0, unit_s=1).stop
    assert progress(values[:8], counted, spent_s=0, unit_s=1).reason == "units measured"


def test_lost_units_are_left_out_of_their_level() -> None:
    values = np.random.default_rng(1).normal(0, 0.001, (8, 2))
    values[3, 1] = math.nan
    state = progress(values, StoppingRule(until=(0.1,)), spent_s=0, unit_s=2)
    assert (state.n, state.reason, state.units_more) == (7, "too few units", 1)
    assert state.half_width < 0.01


def test_fewer_than_two_units_have_no_interval() -> None:
    for values in (np.empty(0), np.empty((0, 3)), np.array([0.1])):
        state = progress(values, StoppingRule(until=(0.02,)), spent_s=0, unit_s=1)
        assert (state.stop, state.reason, state.units_more) == (False, "too few units", None)
        assert math.isinf(state.half_width) and math.isinf(state.seconds_more)
        assert state.words() in ("no interval after 0 repeats", "no interval after 1 repeat")


def test_the_line_has_the_missing_time() -> None:
    state = Standing(False, "too wide", 0.0263, 9, 21, 840.0, 0.02, 0.035)
    width, missing = state.words().split("; ")
    assert width == "±2.63 % after 9 repeats" and "±2 %" in missing and "14 min" in missing
    reached = Standing(True, "width reached", 0.0198, 12, 0, 0.0, 0.02, 0.035)
    assert reached.words() == "±1.98 % after 12 repeats"
    never = Standing(True, "time is up", 2.5, 2, None, math.inf, 0.02, 0.035)
    assert "±250 %" in never.words() and "±2 % is out of reach" in never.words()
    two = Standing(True, "time is up", 7e4, 2, None, math.inf, None, 0.05)
    assert two.words() == "no useful interval after 2 repeats"


def test_a_run_stops_at_the_interval_that_is_printed() -> None:
    """Of a table of many cells and levels, with a disturbance taken out."""
    chance, shape = np.random.default_rng(1), TableShape(2, 3)
    stolen = chance.normal(0, 0.1, (10, 6, 2))
    d = chance.normal(0, 0.05, (10, 6, 2)) - 0.5 * stolen
    rule = StoppingRule(until=(0.03,))
    state = progress_of_table([d], shape, rule, spent_s=0, unit_s=1, covariates=[stolen])
    printed = answer_table(d, shape, confidence=rule.interval_confidence, covariates=[stolen])
    wholes = [printed.whole(level) for level in (0, 1)]
    assert state.half_width == pytest.approx(
        max(math.sqrt(one.high / one.low) - 1 for one in wholes)
    )
    assert state.p_each == printed.depths[0].p_each
    without = progress_of_table([d], shape, rule, spent_s=0, unit_s=1)
    assert without.half_width > state.half_width


def test_nothing_compared_has_no_width_and_ends_with_its_time() -> None:
    nothing, shape = np.empty((3, 6, 0)), TableShape(2, 3)
    rule = StoppingRule(at_most_s=10)
    state = progress_of_table([nothing], shape, rule, spent_s=9, unit_s=2)
    assert (state.stop, state.reason, state.n, state.units_more) == (True, "time is up", 3, None)
    assert not progress_of_table([nothing], shape, rule, spent_s=1, unit_s=2).stop


def test_every_table_has_to_reach_its_own_width() -> None:
    chance, of = np.random.default_rng(11), TableShape(1, 1)
    calm, wild = (chance.normal(0.0, sd, (12, 1, 1)) for sd in (0.004, 0.05))

    def state(*until: float | None) -> Standing:
        rule = StoppingRule(until=until)
        return progress_of_table([calm, wild], of, rule, spent_s=0.0, unit_s=1.0)

    assert (state(0.01, 0.1).stop, state(0.01, 0.02).stop, state(0.001, 0.1).stop) == (True, 0, 0)
    # The one that is furthest from its width is the one to report.
    assert (state(0.01, 0.02).until, state(0.001, 0.1).until) == (0.02, 0.001)
    assert state(0.01, None).stop
    assert state(0.01, None).half_width < state(None, 0.02).half_width


def test_a_width_of_cells_waits_for_the_widest_cell() -> None:
    chance = np.random.default_rng(11)
    d = chance.normal(0.0, (0.004, 0.05), (12, 2))[:, :, None]
    of = TableShape(1, 2)
    whole, cells = (
        progress_of_table(
            [d], of, StoppingRule(until=(0.03,), of_cells=each), spent_s=0.0, unit_s=1.0
        )
        for each in (False, True)
    )
    assert whole.half_width < 0.03 < cells.half_width
    assert (whole.stop, cells.stop) == (True, False)
    assert cells.units_more is not None
    assert cells.units_more > 0
