"""One answer for a whole table: how each level changes a figure, overall, by column, row and cell.

The data are log-ratios by unit. A unit is what was drawn anew from the highest level on: a set of
freshly started server processes, or a block of runs. In a unit the contexts share the processes,

    y[u, c, l] = mu[c, l] + block[u, c] + process[u, l] + e[u, c, l],

so that the block cancels in the ratio to the baseline, and the process does not: neither slices
nor contexts make up for few units. Every standard error therefore comes from how far the units
lie apart.

Intervals hold for all members of the table together, and a verdict is read off its interval and
nothing else: the two cannot contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contend.stats.change import Change, changes_of
from contend.stats.contrasts import Depth, TableShape, advantage_weights, chances, places, weights
from contend.stats.covariates import Adjustment, adjust
from contend.stats.family import family_of
from contend.stats.unit_errors import Units, units_of


@dataclass(frozen=True, slots=True)
class DepthFigures:
    """What the intervals of a depth rest on.

    alpha: its share of the chance of a false claim.
    members: how many intervals hold together.
    p_each: two-sided chance left to each of them; `alpha / members` if they told nothing of each
        other, more if they are correlated.
    lent_df: degrees of freedom of what the members' variances have in common; 0 if nothing was
        lent, inf if they differ by no more than chance.
    """

    depth: Depth
    alpha: float
    members: int
    p_each: float
    lent_df: float


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """Every change of the table by one metric.

    process_share: share of a cell's variance over units that all cells of the unit have in common
        (the process, its memory layout), 0 to 1; NaN in a table of one cell.
    """

    shape: TableShape
    levels: int
    changes: tuple[Change, ...]
    depths: tuple[DepthFigures, ...]
    process_share: float
    adjustment: Adjustment | None
    margin: float
    confidence: float

    def whole(self, level: int) -> Change:
        """The level as a whole."""
        return self.at(level, (0, self.shape.rows - 1), (0, self.shape.columns - 1))

    def columns(self, level: int, first: int, last: int) -> Change:
        """All rows of the columns first to last: one column, "up to" or "from … on"."""
        return self.at(level, (0, self.shape.rows - 1), (first, last))

    def row(self, level: int, row: int) -> Change:
        """All columns of a row."""
        return self.at(level, (row, row), (0, self.shape.columns - 1))

    def cell(self, level: int, row: int, column: int) -> Change:
        """One cell. In a table of one row it is the column, in one of one column the row."""
        return self.at(level, (row, row), (column, column))

    def at(self, level: int, rows: tuple[int, int], columns: tuple[int, int]) -> Change:
        """The mean over first to last row and column.

        Raises:
            KeyError: the table is not asked that; of columns it is asked single ones, and ranges
                that begin at the first or end at the last.
        """
        wanted = (level, *rows, *columns)
        for change in self.changes:
            if change.place.span == wanted:
                return change
        raise KeyError(f"the table has no change of level, rows, columns {wanted}")


def answer_table(
    d: np.ndarray,
    shape: TableShape,
    *,
    margin: float = 0.02,
    confidence: float = 0.95,
    covariates: Sequence[np.ndarray] = (),
    interim: bool = False,
) -> TableAnswer:
    """Every change of a table, with intervals that hold together.

    Args:
        d: ln(metric at the level / metric at the baseline), units x contexts x levels, NaN if it
            was not measured. Contexts are counted row by row. Units are independent of each other.
        shape: rows and columns of the table.
        margin: relative difference that does not matter: 0.02 for 2 %.
        confidence: 0.95 for intervals that all hold in 95 of 100 experiments.
        covariates: differences of a measured disturbance between level and baseline, each shaped
            as `d`, 0 if nothing differed. The answer is then that of undisturbed units. Only those
            that were chosen before the run.
        interim: intervals without verdicts, for a run that is not finished.

    Raises:
        ValueError: the shapes do not fit, a value is infinite, or a covariate is not known
            although the ratio is.
    """
    units = _units(d, shape, covariates, margin, confidence)
    asked = places(shape, d.shape[2])
    changes: list[Change] = []
    depths: list[DepthFigures] = []
    for depth, alpha in chances(list(asked), confidence).items():
        family = family_of(units, asked[depth], weights(asked[depth], shape), alpha)
        changes += changes_of(family, margin, confidence, interim=interim)
        depths.append(DepthFigures(depth, alpha, len(asked[depth]), family.p_each, family.lent_df))
    return TableAnswer(
        shape=shape,
        levels=d.shape[2],
        changes=tuple(changes),
        depths=tuple(depths),
        process_share=units.process_share if shape.contexts > 1 else math.nan,
        adjustment=units.data.adjustment,
        margin=margin,
        confidence=confidence,
    )


def advantages(
    d: np.ndarray,
    shape: TableShape,
    *,
    margin: float = 0.02,
    confidence: float = 0.95,
    covariates: Sequence[np.ndarray] = (),
    interim: bool = False,
) -> tuple[Change, ...]:
    """For each cell of each level: its change over the mean change of the level's other cells.

    Arguments and errors as of `answer_table`; a `ratio` of 1.1 means that the cell gains 10 % more
    than the rest. The intervals have the chance of error of the table's cells, and hold together:
    a cell may be picked because it is the largest. Empty for a table of one cell.
    """
    units = _units(d, shape, covariates, margin, confidence)
    if shape.contexts == 1:
        return ()
    asked = places(shape, d.shape[2])
    depth = next(one for one in _DEPTHS_OF_CELLS if one in asked)
    cells = [one for one in asked[depth] if np.count_nonzero(one.cells(shape)) == 1]
    alpha = chances(list(asked), confidence)[depth]
    family = family_of(units, cells, advantage_weights(cells, shape), alpha)
    return tuple(changes_of(family, margin, confidence, interim=interim))


_DEPTHS_OF_CELLS: tuple[Depth, ...] = ("cell", "columns", "row")


def _units(
    d: np.ndarray,
    shape: TableShape,
    covariates: Sequence[np.ndarray],
    margin: float,
    confidence: float,
) -> Units:
    if d.ndim != 3 or d.shape[1] != shape.contexts:
        raise ValueError(
            f"the ratios are units x {shape.contexts} contexts x levels, not {d.shape}"
        )
    if not d.shape[2]:
        raise ValueError("a table has at least one level besides the baseline")
    if np.any(np.isinf(d)):
        raise ValueError("a ratio is finite, or NaN if it was not measured")
    if any(np.shape(x) != d.shape for x in covariates):
        raise ValueError("a covariate has the shape of the ratios")
    if not margin > 0:
        raise ValueError("a margin is above 0")
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies between 0 and 1")
    return units_of(adjust(np.asarray(d, dtype=float), covariates))
