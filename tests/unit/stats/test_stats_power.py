"""What could have been seen, against statsmodels."""

from __future__ import annotations

import math

import pytest

from contend.stats import minimal_detectable_effect


@pytest.mark.parametrize(("n", "effect_size"), [(8, 1.156035271959959), (20, 0.6604416544380312)])
def test_detectable_effect_against_statsmodels(n: int, effect_size: float) -> None:
    """Expected: statsmodels 0.14, TTestPower().solve_power(nobs=n, alpha=.05, power=.8)."""
    found = math.log1p(minimal_detectable_effect(0.012, n)) / 0.012
    assert found == pytest.approx(effect_size, rel=1e-5)


def test_without_pairs_nothing_is_detectable() -> None:
    assert minimal_detectable_effect(0.01, 1) == math.inf
    assert minimal_detectable_effect(math.nan, 8) == math.inf
    assert minimal_detectable_effect(1e6, 2) == math.inf


def test_without_noise_everything_is() -> None:
    assert minimal_detectable_effect(0.0, 8) == 0.0
