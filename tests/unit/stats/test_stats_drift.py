"""Drift, against series whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from contend.stats import trend


def test_a_trend_is_kendalls() -> None:
    chance = np.random.default_rng(3)
    values = np.exp(np.linspace(0, 0.1, 40) + chance.normal(0, 0.01, 40))
    found = trend(values)
    expected = reference.kendalltau(np.arange(40), values, method="asymptotic")
    assert found.p_value < 1e-6
    assert expected.pvalue < 1e-6
    assert found.slope == pytest.approx(math.expm1(0.1 / 39), rel=0.15)


def test_noise_has_no_trend() -> None:
    chance = np.random.default_rng(4)
    p = [trend(np.exp(chance.normal(0, 0.01, 20))).p_value for _ in range(500)]
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.07


@pytest.mark.parametrize("values", [[], [1.0, 2.0, 3.0], [5.0] * 10])
def test_what_cannot_show_a_trend(values: list[float]) -> None:
    assert trend(values).p_value == 1.0


@pytest.mark.parametrize("values", [[1.0, 0.0], [1.0, math.nan]])
def test_a_trend_needs_positive_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite values above 0"):
        trend(values)
