"""Where does the noise lie? The variance of each tier of repetition, from slices in nested tiers.

A *tier* is a level of repetition (the word level is taken by what is compared): a log ratio of one
round of slices lies in a block (one run of the load generator, a set of connections), the block in
a unit (a set of freshly started server processes), and that, if copies are used again, on a copy
of the data. What differs between units of a comparison stays in it however many slices are taken.

Unweighted means: the mean of a block is that of its rounds, of a unit that of its blocks. S² of a
tier is the variance of its means, pooled over their parents and over the tables; its expectation is
T² of the tier plus known parts of those below, so T² follows without bias from counts however
unequal. With equal counts these are the S_i² and T_i² of Kalibera & Jones, Rigorous benchmarking in
reasonable time, 2013. Intervals are generalized ones (Weerahandi 1995): each S² is divided by draws
of chi²/df; a chance of no variance is then the F test's p.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

TIERS = ("copy", "unit", "block", "round")
"""Tiers of repetition, the highest first."""

PLACES = {
    "copy": "between copies of the data",
    "unit": "between server processes",
    "block": "between sets of connections",
    "round": "between slices",
}


@dataclass(frozen=True, slots=True)
class Component:
    """What one tier adds to the noise.

    tier: one of TIERS.
    variance: T², the variance of log ratios that this tier alone makes; the unbiased estimate, or 0
        if that is negative. NaN: not known (nothing was repeated at this tier).
    unbiased: the estimate itself, which chance may make negative.
    low, high: interval of the variance at the confidence asked; 0 and inf if not known.
    freedom: degrees of freedom behind it. What several tables share is counted once.
    p_none: p of "this tier adds nothing" (F test); 1 if not known.
    in_mean: the part of the variance that is left in the mean of a table: 1 / units for units,
        1 / (units x blocks) for blocks, and so on.
    """

    tier: str
    variance: float
    unbiased: float
    low: float
    high: float
    freedom: float
    p_none: float
    in_mean: float

    @property
    def known(self) -> bool:
        """Whether anything was repeated at this tier."""
        return not math.isnan(self.variance)

    @property
    def sd(self) -> float:
        """Standard deviation of log ratios; 0.04 is about 4 %."""
        return math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class Components:
    """The tiers of one experiment, the highest first.

    common: the share of the units' variance, 0 to 1, that all contexts of a unit have in common,
        so that it does not average out over contexts. 1 if not known.
    tables: pairs of a context and a level that the estimates are pooled over.
    confidence: of the intervals.
    """

    tiers: tuple[Component, ...]
    common: float
    tables: int
    confidence: float

    def __getitem__(self, tier: str) -> Component:
        """The component of a tier. Raises KeyError: the data have no such tier."""
        for component in self.tiers:
            if component.tier == tier:
                return component
        raise KeyError(tier)

    @property
    def known(self) -> bool:
        """Whether each tier was repeated, so that a plan can be made."""
        return all(component.known for component in self.tiers)

    def shares(self) -> dict[str, float]:
        """The share of each tier in the variance of a table's mean; they add up to 1.

        Empty if a tier is not known, or if there is no noise at all.
        """
        raise NotImplementedError

    def words(self) -> str:
        """One line: "of the noise 60 % lies between slices, 35 % between server processes"."""
        raise NotImplementedError


def estimate_components(
    log_ratios: Sequence[float] | np.ndarray,
    tiers: Mapping[str, Sequence[Hashable]],
    *,
    contexts: Sequence[Hashable] | None = None,
    levels: Sequence[Hashable] | None = None,
    row: str = "round",
    confidence: float = 0.95,
) -> Components:
    """Estimate the variance of each tier.

    Args:
        log_ratios: (N,) ln(level / baseline) of one round each. NaN: lost, and left out.
        tiers: for each tier above the row, (N,) labels of what the row lies in, such as
            `{"unit": [...], "block": [...]}`. The same label in two contexts or levels means the
            same thing (the same server processes, the same run of the load generator).
        contexts, levels: (N,) labels of the cell and of the level compared. Each pair is a table
            with a mean of its own. None: all rows are of one.
        row: the tier of a row. "unit" if each row is a whole unit, as with separate runs.

    Raises:
        ValueError: lengths differ, a tier is not one of TIERS, or not above the row.
    """
    raise NotImplementedError
