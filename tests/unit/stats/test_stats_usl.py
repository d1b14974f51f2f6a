"""The universal scalability law: curves of known parameters are found, and intervals hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import least_squares

from contend.stats import FIT_COLUMNS_MIN, FIT_UNITS_MIN, UslCurve, UslFit, fit_usl

CONNECTIONS = (1, 2, 4, 8, 16, 32, 64, 128)
TRUE = UslCurve(rate=4000.0, contention=0.05, coherency=0.0005)
PEAK = math.sqrt(0.95 / 0.0005)


def exact(curve: UslCurve, connections: tuple[int, ...] = CONNECTIONS, units: int = 3) -> UslFit:
    row = np.log([curve.at(n) for n in connections])
    return fit_usl(connections, np.tile(row, (units, 1)), 0.95, draws=50)


def noisy(
    chance: np.random.Generator, units: int, curve: UslCurve = TRUE, sd: float = 0.02
) -> np.ndarray:
    """Units that differ as a whole, and their runs in addition."""
    whole = chance.normal(0, sd, (units, 1))
    truth = np.log([curve.at(n) for n in CONNECTIONS])
    return truth + whole + chance.normal(0, sd, (units, len(CONNECTIONS)))


@pytest.mark.parametrize("contention", [0.0, 0.01, 0.2, 0.8])
@pytest.mark.parametrize("coherency", [1e-5, 1e-3, 0.05])
@pytest.mark.parametrize("connections", [CONNECTIONS, (8, 16, 32, 64, 128), (1, 8, 64, 512)])
def test_a_known_curve_is_found(
    contention: float, coherency: float, connections: tuple[int, ...]
) -> None:
    found = exact(UslCurve(1234.5, contention, coherency), connections)
    assert found.curve.rate == pytest.approx(1234.5, rel=1e-4)
    assert found.curve.contention == pytest.approx(contention, abs=1e-5)
    assert found.curve.coherency == pytest.approx(coherency, rel=1e-3)
    peak = max(1.0, math.sqrt((1 - contention) / coherency))
    assert found.peak.mean == pytest.approx(peak, rel=1e-3)
    assert found.most.mean == pytest.approx(found.curve.at(found.peak.mean))
    assert found.knee.mean == pytest.approx(found.most.mean / 1234.5, rel=1e-3)
    assert found.fits


def test_without_coherency_there_is_no_peak_and_the_knee_is_one_over_the_contention() -> None:
    found = exact(UslCurve(500.0, 0.04, 0.0))
    assert found.peak.mean > 1e4
    assert found.knee.mean == pytest.approx(25, rel=0.01)


def test_proportional_growth_has_no_knee() -> None:
    found = exact(UslCurve(500.0, 0.0, 0.0))
    assert min(found.knee.mean, found.peak.mean) > 10 * CONNECTIONS[-1]
    assert found.fits


def test_a_server_that_only_loses_has_its_peak_at_one_connection() -> None:
    found = exact(UslCurve(500.0, 1.0, 0.01))
    assert found.peak.mean == 1
    assert found.knee.mean == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_the_curve_is_that_of_least_squares(seed: int) -> None:
    """As scipy finds it, by another method."""
    chance = np.random.default_rng(seed)
    x = noisy(chance, 4, UslCurve(700.0, chance.uniform(0, 0.3), 10 ** chance.uniform(-5, -2)))
    found, n = fit_usl(CONNECTIONS, x, 0.95, draws=50).curve, np.array(CONNECTIONS, dtype=float)

    def residuals(p: np.ndarray) -> np.ndarray:
        cost = 1 + p[1] * (n - 1) + p[2] * n * (n - 1)
        left: np.ndarray = p[0] + np.log(n / cost) - x.mean(axis=0)
        return left

    begin = [math.log(found.rate), found.contention + 0.01, found.coherency + 1e-6]
    bounds = ([-np.inf, 0, 0], [np.inf, 1, np.inf])
    theirs = least_squares(residuals, begin, bounds=bounds, x_scale=[1, 0.1, 1e-3], xtol=1e-14)
    ours = residuals(np.array([math.log(found.rate), found.contention, found.coherency]))
    assert (ours**2).sum() <= 2 * theirs.cost * (1 + 1e-4) + 1e-12


@pytest.mark.parametrize("units", [3, 5, 10])
def test_intervals_of_knee_and_peak_hold_the_truth_in_95_of_100(units: int) -> None:
    chance, simulations = np.random.default_rng(units), 400
    knee = TRUE.at(PEAK) / TRUE.rate
    held = {"peak": 0, "knee": 0, "rate": 0, "fits": 0}
    for _ in range(simulations):
        found = fit_usl(CONNECTIONS, noisy(chance, units), 0.95, draws=400)
        held["peak"] += found.peak.low <= PEAK <= found.peak.high
        held["knee"] += found.knee.low <= knee <= found.knee.high
        held["rate"] += found.rate.low <= TRUE.rate <= found.rate.high
        held["fits"] += found.fits
    shares = {name: count / simulations for name, count in held.items()}
    assert all(0.92 <= shares[name] <= 0.985 for name in ("peak", "knee", "rate")), shares
    assert shares["fits"] >= 0.99, shares


def test_two_maxima_are_not_a_curve() -> None:
    row = np.log([1000, 2000, 3900, 1500, 1400, 3800, 3850, 900.0])
    chance = np.random.default_rng(3)
    found = fit_usl(CONNECTIONS, row + chance.normal(0, 0.02, (5, 8)), 0.95)
    assert not found.fits
    assert set(found.top) == {2, 5, 6}
    assert found.off[3].high < 1 / 1.05


def test_a_point_that_is_off_is_named() -> None:
    row = np.log([TRUE.at(n) for n in CONNECTIONS])
    row[4] += 0.3
    chance = np.random.default_rng(4)
    found = fit_usl(CONNECTIONS, row + chance.normal(0, 0.01, (5, 8)), 0.95)
    assert not found.fits
    assert CONNECTIONS[found.farthest] == 16
    assert found.off[4].mean > 1.05


def test_scatter_is_not_a_misfit() -> None:
    """What is off by no more than its interval says nothing against the curve."""
    row = np.log([TRUE.at(n) for n in CONNECTIONS])
    row[4] += 0.15
    chance = np.random.default_rng(4)
    found = fit_usl(CONNECTIONS, row + chance.normal(0, 0.3, (4, 8)), 0.95)
    assert found.fits


def test_too_few_are_refused() -> None:
    columns, units = CONNECTIONS[: FIT_COLUMNS_MIN - 1], FIT_UNITS_MIN
    with pytest.raises(ValueError, match="3 columns"):
        fit_usl(columns, np.zeros((units, len(columns))), 0.95)
    with pytest.raises(ValueError, match="2 units"):
        fit_usl(CONNECTIONS, np.zeros((2, len(CONNECTIONS))), 0.95)
    gap = np.zeros((3, len(CONNECTIONS)))
    gap[1, 1] = np.nan
    with pytest.raises(ValueError, match="gaps"):
        fit_usl(CONNECTIONS, gap, 0.95)


def test_the_same_records_give_the_same_intervals() -> None:
    x = noisy(np.random.default_rng(1), 5)
    assert fit_usl(CONNECTIONS, x, 0.95) == fit_usl(CONNECTIONS, x, 0.95)
