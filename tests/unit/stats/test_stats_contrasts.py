"""What a table is asked, and how its chance of a false claim is divided."""

from __future__ import annotations

import numpy as np
import pytest

from contend.stats.contrasts import TableShape, advantage_weights, chances, places, weights


def test_a_table_is_asked_levels_ranges_of_columns_rows_and_cells() -> None:
    asked = places(TableShape(rows=3, columns=7), levels=2)
    assert {depth: len(of) for depth, of in asked.items()} == {
        "whole": 2,
        # Seven single columns, five "up to" and five "from … on".
        "columns": 2 * (7 + 5 + 5),
        "row": 2 * 3,
        "cell": 2 * 21,
    }
    everything = [place.span for of in asked.values() for place in of]
    assert len(set(everything)) == len(everything)
    first = [(p.first_column, p.last_column) for p in asked["columns"] if p.level == 0]
    assert (3, 6) in first and (0, 2) in first and (2, 4) not in first


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3, 7), {"whole": 0.02, "columns": 0.01, "row": 0.01, "cell": 0.01}),
        ((1, 7), {"whole": 0.1 / 3, "columns": 0.05 / 3}),
        ((3, 1), {"whole": 0.1 / 3, "row": 0.05 / 3}),
        ((1, 1), {"whole": 0.05}),
    ],
)
def test_a_depth_that_repeats_another_leaves_its_share(
    shape: tuple[int, int], expected: dict[str, float]
) -> None:
    assert chances(list(places(TableShape(*shape), 2)), 0.95) == pytest.approx(expected)


def test_weights_are_means_of_cells() -> None:
    shape = TableShape(rows=2, columns=3)
    asked = places(shape, 1)
    values = np.array([[1.0, 2.0, 4.0], [10.0, 20.0, 40.0]])
    for of in asked.values():
        for place, weight in zip(of, weights(of, shape), strict=True):
            rows = slice(place.first_row, place.last_row + 1)
            columns = slice(place.first_column, place.last_column + 1)
            assert weight @ values.ravel() == pytest.approx(values[rows, columns].mean())
    advantage = advantage_weights(asked["cell"], shape)[5]
    assert advantage @ values.ravel() == pytest.approx(40 - (1 + 2 + 4 + 10 + 20) / 5)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_a_table_without_cells_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least one row"):
        TableShape(*shape)
