"""Holm's adjustment against statsmodels, and the laws it keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.stats import holm

p_values = st.lists(st.floats(min_value=0.0, max_value=1.0), max_size=20)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        (
            [0.001, 0.2, 0.02, 0.02, 0.8, 0.049, 0.012],
            [0.007, 0.4, 0.1, 0.1, 0.8, 0.147, 0.072],
        ),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.0, 1.0, 0.05], [0.0, 1.0, 0.1]),
        ([0.03], [0.03]),
        ([], []),
    ],
)
def test_against_statsmodels(p: list[float], expected: list[float]) -> None:
    """Expected: statsmodels 0.14, multipletests(p, method="holm")[1]."""
    assert holm(p) == pytest.approx(expected)


@given(p_values)
def test_adjusting_keeps_the_order_and_never_lowers(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(a >= b for a, b in zip(adjusted, p, strict=True))
    assert all(0 <= a <= 1 for a in adjusted)
    ranked = sorted(zip(p, adjusted, strict=True))
    assert [a for _, a in ranked] == sorted(adjusted)


@given(p_values)
def test_at_least_as_many_claims_as_bonferroni(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(a <= min(1.0, b * len(p)) + 1e-12 for a, b in zip(adjusted, p, strict=True))


@pytest.mark.parametrize("p", [[1.1], [-0.1], [float("nan")]])
def test_what_is_no_p_value_is_refused(p: list[float]) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm(p)
