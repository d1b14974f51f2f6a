"""The contrasts of a table, and the division of its chance of a false claim."""

from __future__ import annotations

import numpy as np
import pytest

from contend.stats.contrasts import (
    TableShape,
    advantage_cells,
    advantage_weights,
    chances,
    pairs,
    places,
    weights,
)


def test_contrasts_are_levels_ranges_of_columns_rows_and_cells() -> None:
    contrasts = places(TableShape(rows=3, columns=7), levels=2)
    assert {depth: len(of) for depth, of in contrasts.items()} == {
        "whole": 2,
        # Seven single columns, five "up to" and five "from … on".
        "columns": 2 * (7 + 5 + 5),
        "row": 2 * 3,
        "cell": 2 * 21,
    }
    everything = [place.span for of in contrasts.values() for place in of]
    assert len(set(everything)) == len(everything)
    first = [(p.first_column, p.last_column) for p in contrasts["columns"] if p.level == 0]
    assert (3, 6) in first and (0, 2) in first and (2, 4) not in first


@pytest.mark.parametrize(
    ("shape", "levels", "expected"),
    [
        ((3, 7), 2, {"whole": 4, "columns": 2, "row": 2, "cell": 2, "pair": 2}),
        ((3, 7), 1, {"whole": 4, "columns": 2, "row": 2, "cell": 2}),
        ((1, 7), 1, {"whole": 4, "columns": 2}),
        ((3, 1), 2, {"whole": 4, "row": 2, "pair": 2}),
        ((1, 2), 1, {"whole": 4, "columns": 2}),
        ((1, 1), 3, {"whole": 4, "pair": 2}),
        ((1, 1), 1, {"whole": 1}),
    ],
)
def test_a_missing_depth_leaves_its_share_to_the_others(
    shape: tuple[int, int], levels: int, expected: dict[str, int]
) -> None:
    parts = sum(expected.values())
    assert chances(TableShape(*shape), levels, 0.95) == pytest.approx(
        {depth: 0.05 * share / parts for depth, share in expected.items()}
    )


def test_a_pair_is_of_all_cells_and_each_cell_may_stand_out() -> None:
    shape = TableShape(rows=2, columns=3)
    assert [(one.level, one.over) for one in pairs(shape, [(1, 0), (2, 1)])] == [(1, 0), (2, 1)]
    assert all(one.cells(shape).all() for one in pairs(shape, [(1, 0)]))
    assert len(advantage_cells(shape, 3)) == 18
    assert not advantage_cells(TableShape(1, 2), 3)


def test_weights_are_means_of_cells() -> None:
    shape = TableShape(rows=2, columns=3)
    contrasts = places(shape, 1)
    values = np.array([[1.0, 2.0, 4.0], [10.0, 20.0, 40.0]])
    for of in contrasts.values():
        for place, weight in zip(of, weights(of, shape), strict=True):
            rows = slice(place.first_row, place.last_row + 1)
            columns = slice(place.first_column, place.last_column + 1)
            assert weight @ values.ravel() == pytest.approx(values[rows, columns].mean())
    advantage = advantage_weights(contrasts["cell"], shape)[5]
    assert advantage @ values.ravel() == pytest.approx(40 - (1 + 2 + 4 + 10 + 20) / 5)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_a_table_without_cells_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least one row"):
        TableShape(*shape)
