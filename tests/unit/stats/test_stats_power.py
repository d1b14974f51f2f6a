"""What could have been seen, against statsmodels."""

from __future__ import annotations

import math

import pytest

from contend.stats import minimal_detectable_effect, pairs_needed


@pytest.mark.parametrize(("n", "effect_size"), [(8, 1.156035271959959), (20, 0.6604416544380312)])
def test_detectable_effect_against_statsmodels(n: int, effect_size: float) -> None:
    """Expected: statsmodels 0.14, TTestPower().solve_power(nobs=n, alpha=.05, power=.8)."""
    found = math.log1p(minimal_detectable_effect(0.012, n)) / 0.012
    assert found == pytest.approx(effect_size, rel=1e-5)


def test_pairs_needed_against_statsmodels() -> None:
    """solve_power(effect_size=0.02/0.012, alpha=.05, power=.8) is 5.05 pairs: six."""
    assert pairs_needed(0.012, math.expm1(0.02)) == 6


@pytest.mark.parametrize("sd", [0.003, 0.012, 0.05])
@pytest.mark.parametrize("effect", [0.005, 0.02, 0.3])
def test_pairs_needed_is_the_least_number_that_does(sd: float, effect: float) -> None:
    n = pairs_needed(sd, effect)
    assert n is not None
    assert minimal_detectable_effect(sd, n) <= effect
    assert n == 2 or minimal_detectable_effect(sd, n - 1) > effect


def test_what_no_reasonable_number_of_pairs_shows() -> None:
    assert pairs_needed(0.5, 0.001) is None


def test_without_pairs_nothing_is_detectable() -> None:
    assert minimal_detectable_effect(0.01, 1) == math.inf
    assert minimal_detectable_effect(math.nan, 8) == math.inf
    assert minimal_detectable_effect(1e6, 2) == math.inf


def test_without_noise_everything_is() -> None:
    assert minimal_detectable_effect(0.0, 8) == 0.0
