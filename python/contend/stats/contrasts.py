"""What a table of changes is asked: the level as a whole, its columns, its rows, its cells.

Each question is a mean of cells of one level, and has a depth. The chance of a false claim that
a table may have (5 % at a confidence of 95 %) is divided over the depths before anything is
measured: 2 : 1 : 1 : 1. No depth has to pass before another may speak, so an effect that crosses
(faster here, slower there) is found although its mean is nil.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Depth = Literal["whole", "columns", "row", "cell"]


@dataclass(frozen=True, slots=True)
class TableShape:
    """Rows and columns of the table, at least 1 of each. Contexts are counted row by row: the one
    in `row` and `column` is `row * columns + column`.
    """

    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Place:
    """What a change is of: the mean over the cells of `level` in rows `first_row` to `last_row`
    and columns `first_column` to `last_column`, all counted from 0, the last ones included.

    depth: "whole" has all cells, "columns" all rows of one column or of a range of neighbouring
        ones that begins at the first column or ends at the last, "row" all columns of one row.
    level: index of the level among those that are compared with the baseline.
    """

    depth: Depth
    level: int
    first_row: int
    last_row: int
    first_column: int
    last_column: int
