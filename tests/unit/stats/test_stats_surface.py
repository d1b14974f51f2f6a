"""Surfaces of second order, and the points on them that agree with a measurement."""

from __future__ import annotations

import numpy as np
import pytest

from contend.stats.surface import agreeing_points, fit_surface, shares_of_spread, terms_of


@pytest.fixture
def chance() -> np.random.Generator:
    return np.random.default_rng(5)


def quadratic(points: np.ndarray) -> np.ndarray:
    x, y, z = points.T
    return np.column_stack([1 + x - 2 * y * z + x**2, 3 * z + 0 * x])


def test_what_is_of_second_order_is_met_everywhere(chance: np.random.Generator) -> None:
    points, others = chance.random((60, 3)), chance.random((50, 3))
    surface = fit_surface(points, quadratic(points))
    assert np.allclose(surface.at(others), quadratic(others), atol=2e-3)
    assert np.all(surface.off < 2e-3)


def test_noise_is_the_distance_from_the_surface(chance: np.random.Generator) -> None:
    points = chance.random((400, 3))
    noisy = quadratic(points) + 0.1 * chance.standard_normal((400, 2))
    assert np.allclose(fit_surface(points, noisy).off, 0.1, rtol=0.25)


def test_too_few_points_are_refused(chance: np.random.Generator) -> None:
    assert terms_of(3) == 10
    points = chance.random((10, 3))
    with pytest.raises(ValueError, match="10 points"):
        fit_surface(points, quadratic(points))


def test_points_that_agree_are_otherwise_free(
    chance: np.random.Generator,
) -> None:
    points = chance.random((200, 3))
    results = np.column_stack([points[:, 0] + points[:, 1]])
    surface = fit_surface(points, results)
    found = agreeing_points(surface, np.array([1.2]), np.array([0.02]), 400)
    sums = found[:, 0] + found[:, 1]
    assert abs(sums.mean() - 1.2) < 0.005 and 0.015 < sums.std() < 0.025
    # The sum leaves each of the two a range of 0.8, and says nothing of the third.
    assert found[:, 0].min() < 0.3 and found[:, 0].max() > 0.9
    assert abs(found[:, 2].mean() - 0.5) < 0.06 and abs(found[:, 2].std() - 0.289) < 0.04


def test_shares_are_those_of_the_variance(chance: np.random.Generator) -> None:
    points = chance.random((4000, 3))
    results = np.column_stack([3 * points[:, 0] + points[:, 1], points[:, 0]])
    shares = shares_of_spread(points, results)
    assert np.allclose(shares, [(0.9 + 1) / 2, 0.05, 0], atol=0.02)
