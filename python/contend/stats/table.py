"""One answer for a whole table: how each level changes a figure, overall, by column, row and cell.

The data are log-ratios by unit. A unit was drawn again from the highest level on: a set of freshly
started server processes, or a block of runs. In a unit the contexts share the processes,

    y[u, c, l] = mu[c, l] + block[u, c] + process[u, l] + e[u, c, l],

so that the block cancels in the ratio to the baseline, and the process does not. Neither slices
nor contexts make up for few units, so every standard error comes from the spread of the units.

Intervals hold for all members of the table together. The verdict depends on the interval alone, so
that the two cannot contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from contend.stats.change import Change, changes_of
from contend.stats.contrasts import (
    Depth,
    Place,
    TableShape,
    advantage_cells,
    advantage_weights,
    chances,
    pairs,
    places,
    weights,
)
from contend.stats.family import family_of
from contend.stats.unit_errors import Adjustment, Units, adjust, paired, units_of


@dataclass(frozen=True, slots=True)
class DepthFigures:
    """The basis of the intervals of a depth.

    alpha: its share of the chance of a false claim.
    members: number of intervals that hold together.
    p_each: two-sided chance left to each of them; `alpha / members` if they were unrelated, more if
        they are correlated.
    lent_df: degrees of freedom of the common part of the members' variances; 0 if nothing was
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

    changes: of the levels over the baseline. pairs: of the levels over each other.
    process_share: share of a cell's variance over units, 0 to 1, that all cells of the unit have
        in common (the process, its memory layout). NaN in a table of one cell.
    """

    shape: TableShape
    levels: int
    changes: tuple[Change, ...]
    pairs: tuple[Change, ...]
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
            KeyError: the table has no such contrast; for columns it has single ones, and ranges
                that begin at the first or end at the last.
        """
        wanted = (level, *rows, *columns)
        for change in self.changes:
            if change.place.span == wanted:
                return change
        raise KeyError(f"the table has no change of level, rows, columns {wanted}")

    def pair(self, level: int, over: int) -> Change:
        """A level over another, over all cells.

        Raises:
            KeyError: a level over itself.
        """
        for change in self.pairs:
            if (change.place.level, change.place.over) == (level, over):
                return change
            if (change.place.level, change.place.over) == (over, level):
                return change.turned()
        raise KeyError(f"the table has no pair of levels {level} and {over}")


@dataclass(frozen=True, slots=True)
class WholeLevels:
    """The changes of the levels as a whole, or of their cells, without verdicts. Also the
    two-sided chance of error that is left to each (see `DepthFigures`)."""

    changes: tuple[Change, ...]
    p_each: float


def wholes(
    tables: Sequence[np.ndarray],
    shape: TableShape,
    *,
    confidence: float = 0.95,
    covariates: Sequence[np.ndarray] = (),
) -> WholeLevels:
    """The levels as a whole of `answer_tables`, to the last digit, without the time for the rest;
    levels are counted on from table to table.

    Arguments and errors are those of `answer_tables`.
    """
    return _at_depth("whole", tables, shape, confidence, covariates)


def single_cells(
    tables: Sequence[np.ndarray],
    shape: TableShape,
    *,
    confidence: float = 0.95,
    covariates: Sequence[np.ndarray] = (),
) -> WholeLevels:
    """The single cells of all levels of `answer_tables`, likewise."""
    found = _at_depth(_depth_of_cells(shape), tables, shape, confidence, covariates)
    single = [one for one in found.changes if int(one.place.cells(shape).sum()) == 1]
    return WholeLevels(tuple(single), found.p_each)


def _at_depth(
    depth: Depth,
    tables: Sequence[np.ndarray],
    shape: TableShape,
    confidence: float,
    covariates: Sequence[np.ndarray],
) -> WholeLevels:
    d, levels = np.concatenate(tables, axis=2), tables[0].shape[2]
    units = _units(d, shape, covariates, _ANY_MARGIN, confidence, tables=len(tables))
    contrasts = places(shape, levels * len(tables))[depth]
    chance = chances(shape, levels, confidence)[depth]
    family = family_of(units, contrasts, weights(contrasts, shape), chance)
    changes = changes_of(family, _ANY_MARGIN, confidence, interim=True)
    return WholeLevels(tuple(changes), family.p_each)


def _depth_of_cells(shape: TableShape) -> Depth:
    """Where the single cells of a table are: those of one row are its columns."""
    if shape.rows > 1:
        return "cell" if shape.columns > 1 else "row"
    return "columns" if shape.columns > 1 else "whole"


_ANY_MARGIN = 0.02
"""It moves no interval."""


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
    return answer_tables(
        [d],
        shape,
        margin=margin,
        confidence=confidence,
        covariates=covariates,
        interim=interim,
    )[0]


def answer_tables(
    tables: Sequence[np.ndarray],
    shape: TableShape,
    *,
    margin: float = 0.02,
    confidence: float = 0.95,
    covariates: Sequence[np.ndarray] = (),
    interim: bool = False,
    only_wholes: bool = False,
    alike: bool = True,
) -> list[TableAnswer]:
    """Every change of several tables of one experiment. All their intervals hold together, like
    those of one table that has the levels of all of them.

    Arguments and errors are those of `answer_table`. `tables` are of one shape and share the slopes
    of the covariates; each covariate holds the levels of all tables in sequence. `only_wholes`
    gives the levels as a whole only, with all of the chance of error. Without `alike` the tables
    may scatter very differently: variances are drawn towards each other within each only.
    """
    for one in tables:
        _check_shape(one, shape)
    count, levels = len(tables), tables[0].shape[2]
    d = np.concatenate(tables, axis=2)
    units = _units(d, shape, covariates, margin, confidence, tables=1 if alike else count)
    chance = chances(shape, levels, confidence)
    contrasts = places(shape, levels * count)
    if only_wholes:
        contrasts, chance = {"whole": contrasts["whole"]}, {"whole": 1 - confidence}
    depths: list[DepthFigures] = []

    def changes(units: Units, of: Sequence[Place]) -> list[Change]:
        depth = of[0].depth
        family = family_of(units, of, weights(of, shape), chance[depth])
        depths.append(DepthFigures(depth, chance[depth], len(of), family.p_each, family.lent_df))
        return changes_of(family, margin, confidence, interim=interim)

    over_baseline = [change for of in contrasts.values() for change in changes(units, of)]
    sides = [
        (one, other)
        for first in range(0, levels * count, levels)
        for one in range(first, first + levels)
        for other in range(first, one)
        if not only_wholes
    ]
    between = changes(paired(units, sides), pairs(shape, sides)) if sides else []
    return [
        TableAnswer(
            shape=shape,
            levels=levels,
            changes=_of_table(over_baseline, at, levels),
            pairs=_of_table(between, at, levels),
            depths=tuple(depths),
            process_share=units.process_share if shape.contexts > 1 else math.nan,
            adjustment=units.data.adjustment,
            margin=margin,
            confidence=confidence,
        )
        for at in range(count)
    ]


def _of_table(changes: Sequence[Change], at: int, levels: int) -> tuple[Change, ...]:
    """Those of one table among several, whose levels are counted on from table to table."""
    first = at * levels

    def own(place: Place) -> Place:
        over = None if place.over is None else place.over - first
        return replace(place, level=place.level - first, over=over)

    return tuple(
        replace(change, place=own(change.place)) if first else change
        for change in changes
        if first <= change.place.level < first + levels
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

    Arguments and errors are those of `answer_table`; a `ratio` of 1.1 means that the cell gains
    10 % more than the rest. The intervals hold together: you may pick a cell for being the largest.
    Empty for a table of one or two cells.
    """
    units = _units(d, shape, covariates, margin, confidence)
    if not (cells := advantage_cells(shape, d.shape[2])):
        return ()
    family = family_of(units, cells, advantage_weights(cells, shape), 1 - confidence)
    return tuple(changes_of(family, margin, confidence, interim=interim))


def _units(
    d: np.ndarray,
    shape: TableShape,
    covariates: Sequence[np.ndarray],
    margin: float,
    confidence: float,
    *,
    tables: int = 1,
) -> Units:
    _check_shape(d, shape)
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
    return units_of(adjust(np.asarray(d, dtype=float), covariates), tables)


def _check_shape(d: np.ndarray, shape: TableShape) -> None:
    if d.ndim != 3 or d.shape[1] != shape.contexts:
        raise ValueError(
            f"the ratios are units x {shape.contexts} contexts x levels, not {d.shape}"
        )
