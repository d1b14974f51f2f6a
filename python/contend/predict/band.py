"""A prediction for another machine: a band, and the assumptions it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contend.predict.fit import (
    Fitted,
    MeasuredGain,
    OnProgress,
    cells_of,
    ln_gains,
    spread_out,
)
from contend.predict.machine import Machine
from contend.predict.virtual import PlacedDraw, VirtualStudy, speeds
from contend.stats.surface import shares_of_spread

BAND = 0.90
"""Chance that the band is meant to hold the figure."""

MODEL = "model"
"""The name of the part of a band that is the model's own error, as seen where it was fitted."""


@dataclass(frozen=True, slots=True)
class PredictedGain:
    """A predicted gain of a number of segments over none, as ln of a ratio, with its band."""

    points: int
    segments: int
    connections: int
    ln_gain: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """All predicted gains of one machine.

    Args:
        draws: number of draws of the costs.
        parts: by name of a cost or `MODEL`, its share of the variance of a gain, the largest first.
    """

    machine: Machine
    gains: tuple[PredictedGain, ...]
    draws: int
    parts: tuple[tuple[str, float], ...]


def predict(
    program: Path,
    study: VirtualStudy,
    fitted: Fitted,
    machine: Machine,
    wanted: Sequence[tuple[int, int, int]],
    on_progress: OnProgress = lambda _done, _all: None,
) -> Prediction:
    """The gains on `machine`, one draw for each of `fitted`.

    Costs that the description of the machine gives are drawn from it; all others are the fitted
    ones.

    Args:
        wanted: points, segments and connections of each gain.

    Raises:
        RequestError: the machine is impossible.
        LoadFailed: contend-load gave no result.
    """
    gains = [MeasuredGain(*one, 0.0) for one in wanted]
    own = {name: one for name, one in machine.unknown().items() if name in machine.given}
    fixed = {name: machine.costs[name].value for name in machine.given}
    draws = len(fitted.shares)
    points = spread_out(len(own), draws, seed=2) if own else np.zeros((draws, 0))
    cells, placed = cells_of(gains), []
    for draw, row in enumerate(points):
        drawn = {name: one.at(float(at)) for (name, one), at in zip(own.items(), row, strict=True)}
        placed.append(PlacedDraw(machine, {**fitted.values(draw), **fixed, **drawn}, cells))
    found = ln_gains(speeds(program, study, placed, on_progress), gains)
    chance = np.random.default_rng(3)
    with_model = found + fitted.off * chance.standard_normal(found.shape)
    ends = np.quantile(with_model, [(1 - BAND) / 2, (1 + BAND) / 2], axis=0)
    middle = np.median(found, axis=0)
    return Prediction(
        machine,
        tuple(
            PredictedGain(*one, float(at), float(low), float(high))
            for one, at, low, high in zip(wanted, middle, ends[0], ends[1], strict=True)
        ),
        draws,
        _parts(fitted, points, list(own), found),
    )


def _parts(
    fitted: Fitted, points: np.ndarray, own: Sequence[str], found: np.ndarray
) -> tuple[tuple[str, float], ...]:
    names = [name for name in fitted.unknown if name not in own]
    columns = [at for at, name in enumerate(fitted.unknown) if name not in own]
    shares = shares_of_spread(np.hstack([fitted.shares[:, columns], points]), found)
    of_draws = float(np.mean(found.var(axis=0) / (found.var(axis=0) + fitted.off**2)))
    parts = dict(zip([*names, *own], map(float, shares * of_draws), strict=True))
    parts[MODEL] = 1 - of_draws
    return tuple(sorted(parts.items(), key=lambda part: -part[1]))
