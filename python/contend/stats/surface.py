"""Which inputs of a slow computation agree with measurements.

The computation is run at some points of a cube. A surface of second order through its results takes
its place, so that many more points can be tried. They are drawn in proportion to how well they
agree, by a random walk. Source: G. E. P. Box and K. B. Wilson, On the Experimental Attainment of
Optimum Conditions (1951); N. Metropolis et al., Equation of State Calculations by Fast Computing
Machines (1953).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

_RIDGE = 1e-3
_STEPS, _FIRST_STEP = 600, 0.15
_SEED = 19_530_601


@dataclass(frozen=True, slots=True)
class Surface:
    """Results as functions of second order of a point in the cube from 0 to 1.

    Args:
        off: standard deviation of the computed results from the surface, one per result.
    """

    coefficients: np.ndarray
    off: np.ndarray

    def at(self, points: np.ndarray) -> np.ndarray:
        """The results, one row per point."""
        found: np.ndarray = _terms(points) @ self.coefficients
        return found


def terms_of(inputs: int) -> int:
    """Number of coefficients of each result: more points than that are needed."""
    return 1 + 2 * inputs + inputs * (inputs - 1) // 2


def fit_surface(points: np.ndarray, results: np.ndarray) -> Surface:
    """Args:
        points: one row each, in the cube.
        results: of the computation, one row per point.

    Raises:
        ValueError: fewer points than coefficients.
    """
    terms = _terms(points)
    count, width = terms.shape
    if count <= width:
        raise ValueError(f"{count} points for a surface with {width} coefficients")
    inverse = np.linalg.inv(terms.T @ terms + _RIDGE * np.eye(width))
    coefficients = inverse @ (terms.T @ results)
    # Each point's distance from the surface through the others.
    reach = np.einsum("ij,jk,ik->i", terms, inverse, terms)
    left_out = (results - terms @ coefficients) / (1 - reach)[:, None]
    return Surface(coefficients, np.sqrt(np.mean(left_out**2, axis=0)))


def _terms(points: np.ndarray) -> np.ndarray:
    z = 2 * points - 1
    pairs = [z[:, i] * z[:, j] for i, j in itertools.combinations(range(z.shape[1]), 2)]
    return np.column_stack([np.ones(len(z)), z, z**2, *pairs])


def agreeing_points(
    surface: Surface, measured: np.ndarray, error: np.ndarray, draws: int
) -> np.ndarray:
    """Points drawn in proportion to exp(-chi²/2), one row each.

    Args:
        measured: the result wanted, and `error`, its standard deviation, of each.
    """
    chance = np.random.default_rng(_SEED)
    inputs = _inputs_of(len(surface.coefficients))

    def chi(points: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.sum(((surface.at(points) - measured) / error) ** 2, axis=1)
        return found

    # The best of many begin, so that no walk has to cross the cube.
    first = chance.random((max(4000, 10 * draws), inputs))
    order = np.argsort(chi(first))[:draws]
    at, now = first[order], chi(first[order])
    step = _FIRST_STEP
    for _ in range(_STEPS):
        to = at + step * chance.standard_normal(at.shape) / math.sqrt(inputs)
        # Reflected at the faces, so that no point is preferred.
        to = np.abs(to) % 2
        to = np.where(to > 1, 2 - to, to)
        then = chi(to)
        moves = np.log(chance.random(draws)) < (now - then) / 2
        at, now = np.where(moves[:, None], to, at), np.where(moves, then, now)
        # About a quarter of the steps is taken when the walk covers most.
        step = min(1.0, step * math.exp(0.1 * (float(np.mean(moves)) - 0.25)))
    return at


def _inputs_of(terms: int) -> int:
    return next(count for count in itertools.count() if terms_of(count) == terms)


def shares_of_spread(points: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Which share of the variance of the results goes with each input in a straight line, on
    average over the results; one per input."""
    z = points - points.mean(axis=0)
    y = results - results.mean(axis=0)
    slopes, *_ = np.linalg.lstsq(z, y, rcond=None)
    parts = slopes**2 * z.var(axis=0)[:, None]
    shares: np.ndarray = np.mean(parts / np.maximum(y.var(axis=0), 1e-12), axis=1)
    return shares
