"""Student's t against scipy's."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special

from contend.stats.student import t_cdf, t_quantile


@given(freedom=st.floats(1, 5000), t=st.floats(-400, 400))
def test_the_distribution_is_students(freedom: float, t: float) -> None:
    assume(abs(t) > 1e-4)
    expected = float(special.stdtr(freedom, t))
    assert t_cdf(freedom, t) == pytest.approx(expected, rel=1e-9, abs=1e-250)


def test_near_nothing_it_is_exact() -> None:
    """scipy's is off by 1e-9 there; with one degree of freedom it is Cauchy's."""
    assert t_cdf(1, 1e-8) == pytest.approx(0.5 + math.atan(1e-8) / math.pi, abs=1e-16)
    assert t_cdf(3, 0.0) == 0.5
    assert t_quantile(3, 0.5) == 0.0


@given(freedom=st.floats(1, 5000), p=st.floats(0.001, 0.9999))
def test_quantiles_are_students(freedom: float, p: float) -> None:
    expected = float(special.stdtrit(freedom, p))
    assert t_quantile(freedom, p) == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert t_cdf(freedom, t_quantile(freedom, p)) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(
    ("freedom", "p", "t"), [(1, 0.975, 12.7062047), (2, 0.975, 4.3026527), (7, 0.975, 2.3646243)]
)
def test_quantiles_of_a_printed_table(freedom: int, p: float, t: float) -> None:
    assert t_quantile(freedom, p) == pytest.approx(t, abs=1e-7)


def test_the_ends() -> None:
    assert t_cdf(3, 0.0) == 0.5
    assert (t_cdf(3, -math.inf), t_cdf(3, math.inf)) == (0.0, 1.0)
    assert t_quantile(3, 0.5) == pytest.approx(0.0, abs=1e-12)
    for p in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            t_quantile(3, p)
