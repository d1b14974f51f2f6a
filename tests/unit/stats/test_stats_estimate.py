"""Means with their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from contend.stats import estimate

VALUES = [10.1, 9.8, 10.4, 10.0, 9.9, 10.6]


def test_the_interval_is_students() -> None:
    result = estimate(VALUES, 0.95)
    expected = reference.t.interval(
        0.95, len(VALUES) - 1, loc=np.mean(VALUES), scale=reference.sem(VALUES)
    )
    assert (result.low, result.high) == pytest.approx(expected)
    assert result.mean == pytest.approx(10.133333)
    assert (result.n, result.confidence) == (6, 0.95)


def test_a_textbook_case() -> None:
    """n = 3, mean 2, sd 1: 2 ± 4.302653 / sqrt(3)."""
    result = estimate([1.0, 2.0, 3.0])
    assert (result.low, result.high) == pytest.approx((2 - 2.484138, 2 + 2.484138), abs=1e-6)


def test_on_the_log_scale_the_interval_is_a_ratio() -> None:
    result = estimate([50.0, 200.0, 100.0], log_scale=True)
    assert result.mean == pytest.approx(100.0)
    assert result.mean / result.low == pytest.approx(result.high / result.mean)


@pytest.mark.parametrize(("log_scale", "lowest"), [(False, -math.inf), (True, 0.0)])
def test_one_value_says_nothing_about_its_error(log_scale: bool, lowest: float) -> None:
    result = estimate([5.0], log_scale=log_scale)
    assert (result.mean, result.low, result.high, result.n) == (5.0, lowest, math.inf, 1)


def test_no_value_has_no_mean() -> None:
    assert math.isnan(estimate([]).mean)


@pytest.mark.parametrize(
    ("values", "log_scale"), [([1.0, math.nan], False), ([1.0, math.inf], False), ([0.0], True)]
)
def test_values_without_a_mean_are_refused(values: list[float], log_scale: bool) -> None:
    with pytest.raises(ValueError, match=r"finite|positive"):
        estimate(values, log_scale=log_scale)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.floats(0.6, 0.98))
def test_more_confidence_is_a_wider_interval(values: list[float], confidence: float) -> None:
    narrow, wide = estimate(values, confidence), estimate(values, confidence + 0.01)
    assert wide.low <= narrow.low <= narrow.high <= wide.high
