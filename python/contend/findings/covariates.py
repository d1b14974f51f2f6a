"""Disturbances of the runs that `compare.adjust` removes from the log-ratios, place by place.

In separate runs, the disturbance may be unequal: the level's excess over the baseline counts. In
slices all levels of a block have the same host, so there is no such excess. There the state of the
block itself may make the gain larger or smaller. It counts from its mean, and the answer is that of
the usual state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contend.metrics import DISTURBANCES
from contend.stats.unit_errors import centred
from contend.store import RunRecord

SAME = 1e-12
"""Below this a difference is one of rounding."""

Disturbed = Mapping[str, float | None]
"""How much a run was disturbed, by the names of `compare.adjust`; None if it is not known."""

Pairs = Sequence[tuple[Disturbed, Disturbed]]
"""The runs of the baseline and of a level in a repeat, those of one block side by side."""


def disturbed(names: Sequence[str], run: RunRecord) -> Disturbed:
    """Read a run."""
    return {name: DISTURBANCES[name](run) for name in names}


@dataclass(frozen=True, slots=True)
class Covariates:
    """The usable covariates.

    arrays: by name, shaped like the table's log-ratios, NaN where they are NaN.
    left_out: the unusable ones, with the reason.
    """

    arrays: dict[str, np.ndarray]
    left_out: dict[str, str]


def covariates_of(
    names: Sequence[str],
    pairs: Mapping[tuple[int, int, int], Pairs],
    d: np.ndarray,
    *,
    in_slices: bool,
) -> Covariates:
    """The covariates of these names.

    Args:
        names: of disturbances.
        pairs: the runs at each place of the table.
        d: the log-ratios, units x contexts x levels, NaN if they are not known.
        in_slices: the runs of a block were made at once.
    """
    found = Covariates({}, {})
    for name in names:
        x = np.full(d.shape, np.nan)
        for place, runs in pairs.items():
            if np.isfinite(d[place]):
                x[place] = _of_place(name, runs, in_slices=in_slices)
        present = np.isfinite(d)
        unknown = int(np.count_nonzero(present & ~np.isfinite(x)))
        if unknown:
            why = f"it is not known in {unknown} of {int(np.count_nonzero(present))} comparisons"
            found.left_out[name] = why
        elif not np.any(np.abs(centred(np.where(present, x, np.nan))) > SAME):
            # A covariate that does not vary from repeat to repeat within a cell has no slope.
            found.left_out[name] = "it was the same in every repeat"
        else:
            found.arrays[name] = x - x[present].mean() if in_slices else x
    return found


def _of_place(name: str, runs: Pairs, *, in_slices: bool) -> float:
    """NaN if it is not known of one of the runs, which is different from 0."""
    values = []
    for baseline, level in runs:
        one, other = baseline[name], level[name]
        if one is None or other is None:
            return math.nan
        values.append((one + other) / 2 if in_slices else other - one)
    return math.fsum(values) / len(values) if values else math.nan
