"""The questions put to a table of changes: the level as a whole, its columns, rows and cells,
which cell differs most, and how two levels differ from each other.

Each question is a mean of cells, and has a depth. The table's permitted chance of a false claim is
divided over the depths before measuring: 2 for the whole, 1 each for columns, rows, cells and pairs
of levels. No depth has to pass before another is answered. So an effect that crosses (faster here,
slower there) is found although its mean is nil. Which cell differs most is a separate question,
with its own chance (`advantages`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Depth = Literal["whole", "columns", "row", "cell", "pair", "advantage"]

_SHARES: dict[Depth, float] = {"whole": 2, "columns": 1, "row": 1, "cell": 1, "pair": 1}


@dataclass(frozen=True, slots=True)
class TableShape:
    """Rows and columns of the table, at least 1 of each. Contexts are counted row by row: the one
    in `row` and `column` is `row * columns + column`.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise ValueError("a table has at least one row and one column")

    @property
    def contexts(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Place:
    """Where a change applies: the mean over the cells of `level` in rows `first_row` to `last_row`
    and columns `first_column` to `last_column`. All count from 0 and include the last ones.

    depth: "whole" has all cells, "row" all columns of one row. "columns" has all rows of one
        column, or of neighbouring columns that include the first or the last column.
        "pair" has all cells of a level over another, "advantage" one cell over the others' mean.
    level: index of the level among those that are compared with the baseline.
    over: index of the level that it is compared with; None for the baseline.
    """

    depth: Depth
    level: int
    first_row: int
    last_row: int
    first_column: int
    last_column: int
    over: int | None = None

    @property
    def span(self) -> tuple[int, int, int, int, int]:
        """Level, first and last row, first and last column."""
        return self.level, self.first_row, self.last_row, self.first_column, self.last_column

    def cells(self, shape: TableShape) -> np.ndarray:
        """Which contexts it has: a truth value each."""
        of = np.zeros((shape.rows, shape.columns), dtype=bool)
        of[self.first_row : self.last_row + 1, self.first_column : self.last_column + 1] = True
        return of.ravel()


def places(shape: TableShape, levels: int) -> dict[Depth, list[Place]]:
    """All contrasts of each level over the baseline, by depth. A depth that would repeat another is
    left out: the cells of a table of one row are its columns.
    """
    rows, columns = shape.rows - 1, shape.columns - 1
    spans: dict[Depth, list[tuple[int, int, int, int]]] = {"whole": [(0, rows, 0, columns)]}
    if columns:
        spans["columns"] = [(0, rows, *span) for span in _column_spans(shape.columns)]
    if rows:
        spans["row"] = [(row, row, 0, columns) for row in range(shape.rows)]
    if rows and columns:
        spans["cell"] = [
            (row, row, column, column)
            for row in range(shape.rows)
            for column in range(shape.columns)
        ]
    return {
        depth: [Place(depth, level, *span) for level in range(levels) for span in of]
        for depth, of in spans.items()
    }


def pairs(shape: TableShape, of: Sequence[tuple[int, int]]) -> list[Place]:
    """A level over another, over all cells."""
    span = 0, shape.rows - 1, 0, shape.columns - 1
    return [Place("pair", level, *span, over=over) for level, over in of]


def advantage_cells(shape: TableShape, levels: int) -> list[Place]:
    """Each cell of each level, for its change over the mean change of the others. None in a table
    of two cells, which have one difference.
    """
    if shape.contexts < 3:
        return []
    return [
        Place("advantage", level, row, row, column, column)
        for level in range(levels)
        for row in range(shape.rows)
        for column in range(shape.columns)
    ]


def chances(shape: TableShape, levels: int, confidence: float) -> dict[Depth, float]:
    """The chance of a false claim that each depth of a table may have. Depths that the table lacks
    leave their share to the others.
    """
    depths: list[Depth] = list(places(shape, levels))
    depths += ["pair"] * (levels > 1)
    whole = sum(_SHARES[depth] for depth in depths)
    return {depth: (1 - confidence) * _SHARES[depth] / whole for depth in depths}


def weights(of: Sequence[Place], shape: TableShape) -> np.ndarray:
    """places x contexts: the mean over each place's cells."""
    inside = np.array([place.cells(shape) for place in of], dtype=float)
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))


def advantage_weights(of: Sequence[Place], shape: TableShape) -> np.ndarray:
    """places x contexts: the mean over each place's cells less the mean over all others."""
    inside = np.array([place.cells(shape) for place in of], dtype=float)
    rest = 1 - inside
    return np.asarray(
        inside / inside.sum(axis=1, keepdims=True) - rest / rest.sum(axis=1, keepdims=True)
    )


def _column_spans(columns: int) -> list[tuple[int, int]]:
    """First and last column of each single one, of each "up to" and of each "from … on"."""
    singles = [(column, column) for column in range(columns)]
    up_to = [(0, last) for last in range(1, columns - 1)]
    from_on = [(first, columns - 1) for first in range(1, columns - 1)]
    return singles + up_to + from_on
