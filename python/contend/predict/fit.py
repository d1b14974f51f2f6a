"""The costs with which the key cache in virtual time gives the measured gains.

Costs that are not known are drawn within their ranges. Draws that give the measured gains are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contend.predict.machine import Assumed, Machine
from contend.predict.virtual import PlacedDraw, VirtualCell, VirtualStudy, speeds
from contend.stats.surface import agreeing_points, fit_surface, terms_of

MODEL_OFF_LEAST = 0.03
"""How far the model is off at least, in ln: no draw agrees better than that by right."""

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MeasuredGain:
    """The gain of a number of segments over none, as ln of a ratio, with its standard deviation."""

    points: int
    segments: int
    connections: int
    ln_gain: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Fitted:
    """Draws of the unknown costs that agree with the measured gains.

    Args:
        unknown: by name, in the order of the columns of `shares`.
        shares: one row per draw: where in its range each cost is, 0 to 1.
        off: rms of ln(computed over measured gain), for the mean of the draws.
        computed: ln of the gain of each measured cell, mean over the draws.
    """

    unknown: Mapping[str, Assumed]
    known: Mapping[str, float]
    shares: np.ndarray
    off: float
    computed: tuple[float, ...]

    def values(self, draw: int) -> dict[str, float]:
        drawn = zip(self.unknown.items(), self.shares[draw], strict=True)
        return {**self.known, **{name: one.at(float(share)) for (name, one), share in drawn}}


def spread_out(inputs: int, count: int, seed: int) -> np.ndarray:
    """Points in the cube from 0 to 1, one row each: a Latin hypercube, so that each input takes
    every part of its range once."""
    chance = np.random.default_rng(seed)
    parts = chance.permuted(np.tile(np.arange(count), (inputs, 1)), axis=1).T
    found: np.ndarray = (parts + chance.random((count, inputs))) / count
    return found


def cells_of(gains: Sequence[MeasuredGain]) -> list[VirtualCell]:
    """The cells that give these gains, each once."""
    both = [
        VirtualCell(one.points, segments, one.connections)
        for one in gains
        for segments in (0, one.segments)
    ]
    return list(dict.fromkeys(both))


def ln_gains(
    found: Sequence[Mapping[VirtualCell, float]], gains: Sequence[MeasuredGain]
) -> np.ndarray:
    """One row per draw, one column per gain."""
    pairs = [
        (
            VirtualCell(one.points, one.segments, one.connections),
            VirtualCell(one.points, 0, one.connections),
        )
        for one in gains
    ]
    return np.log([[each[level] / each[base] for level, base in pairs] for each in found])


def fit(
    program: Path,
    study: VirtualStudy,
    machine: Machine,
    work: Mapping[str, Assumed],
    gains: Sequence[MeasuredGain],
    *,
    tried: int,
    draws: int,
    on_progress: OnProgress = lambda _done, _all: None,
) -> Fitted:
    """Draws of the costs of `work` and of `machine` that agree with the gains measured there.

    Args:
        tried: draws that are computed; more than twice as many as a surface has terms are good.
        draws: how many are returned.

    Raises:
        ValueError: `tried` is too small for that number of unknown costs.
        LoadFailed: contend-load gave no result.
    """
    unknown = {name: one for name, one in work.items() if not one.is_known} | machine.unknown()
    known = {name: one.value for name, one in {**work, **machine.costs}.items()}
    if tried <= terms_of(len(unknown)):
        raise ValueError(f"{tried} draws of {len(unknown)} costs")
    points = spread_out(len(unknown), tried, seed=1)
    cells = cells_of(gains)
    placed = []
    for row in points:
        drawn = zip(unknown.items(), row, strict=True)
        at = {**known, **{name: one.at(float(share)) for (name, one), share in drawn}}
        placed.append(PlacedDraw(machine, at, cells))
    computed = ln_gains(speeds(program, study, placed, on_progress), gains)
    surface = fit_surface(points, computed)
    measured = np.array([one.ln_gain for one in gains])
    error = np.array([one.error for one in gains])
    off = MODEL_OFF_LEAST
    # How far the model is off decides which draws agree, and these show how far it is off.
    for _ in range(4):
        spread = np.sqrt(error**2 + surface.off**2 / 2 + off**2)
        shares = agreeing_points(surface, measured, spread, draws)
        mean = surface.at(shares).mean(axis=0)
        beyond = np.mean((mean - measured) ** 2 - error**2)
        off = max(MODEL_OFF_LEAST, float(np.sqrt(max(0.0, beyond))))
    return Fitted(unknown, known, shares, off, tuple(map(float, mean)))
