"""The spread between sessions against simulations whose truth is known, and by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from contend.stats import Session, between
from contend.stats.student import chi_square_cdf, chi_square_quantile

TIMES = 500


@given(freedom=st.integers(1, 400), p=st.floats(0.001, 0.999))
def test_quantiles_of_chi_square_are_scipys(freedom: int, p: float) -> None:
    expected = float(special.chdtri(freedom, 1 - p))
    assert chi_square_quantile(freedom, p) == pytest.approx(expected, rel=1e-7)


@given(freedom=st.integers(1, 400), x=st.floats(0, 800))
def test_the_distribution_of_chi_square_is_scipys(freedom: int, x: float) -> None:
    expected = float(special.chdtr(freedom, x))
    assert chi_square_cdf(freedom, x) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def drawn(tau: float, n: int, df: int, times: int = TIMES) -> Iterator[tuple[list[Session], float]]:
    """So many times n sessions around 0, whose own errors are about 1 and estimated."""
    chance = np.random.default_rng(19)
    for _ in range(times):
        se = np.exp(chance.normal(0, 0.3, n))
        y = chance.normal(0, np.sqrt(tau**2 + se**2))
        seen = se * np.sqrt(chance.chisquare(df, n) / df)
        yield [Session(float(a), float(b), df) for a, b in zip(y, seen, strict=True)], tau


@pytest.mark.parametrize(
    ("tau", "n", "df"), [(0.0, 4, 7), (0.0, 24, 7), (1.0, 4, 7), (1.0, 24, 19), (2.0, 10, 7)]
)
def test_the_interval_of_tau_and_of_the_mean_hold(tau: float, n: int, df: int) -> None:
    held = means = 0
    for sessions, truth in drawn(tau, n, df):
        found = between(sessions)
        assert found is not None
        held += found.low <= truth <= found.high
        means += abs(found.mean) <= found.half_width
    # Two standard deviations of such a count below 93 %; the exact ones are in the room's table.
    assert held / TIMES >= 0.907
    assert means / TIMES >= 0.907


def test_estimated_errors_alone_are_no_spread() -> None:
    """Taken as they come, sessions that do not differ would seem to in 24 % of cases."""
    found = [between(sessions) for sessions, _ in drawn(0.0, 24, 7)]
    assert sum(one is not None and one.low > 0 for one in found) / TIMES < 0.08


def test_sessions_that_agree_do_not_differ() -> None:
    found = between([Session(0.05, 0.01, 7)] * 5)
    assert found is not None
    assert (found.tau, found.low, found.spread) == (0.0, 0.0, 0.0)
    assert found.mean == pytest.approx(0.05)
    # The five have a fifth of the variance, which 7 degrees of freedom leave 7 / 5 times as large.
    assert found.se == pytest.approx(0.01 * math.sqrt(7 / 5 / 5))


def test_four_minutes_of_one_host() -> None:
    """Half-widths of 4.8, 2.2, 3.7 and 3.6 % by 8, 8, 20 and 33 repeats."""
    seen = [
        (10.0, 4.8, 7, 2.365),
        (12.4, 2.2, 7, 2.365),
        (4.7, 3.7, 19, 2.093),
        (5.7, 3.6, 32, 2.037),
    ]
    sessions = [
        Session(math.log1p(gain / 100), math.log1p(half / 100) / t, df)
        for gain, half, df, t in seen
    ]
    found = between(sessions)
    assert found is not None
    assert 0.02 < found.tau < 0.05
    assert found.low < found.tau < found.high
    assert 0.06 < found.mean < 0.11


@given(
    ratios=st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=12),
    se=st.floats(1e-4, 0.1),
    scale=st.floats(0.1, 10),
    shift=st.floats(-1, 1),
)
def test_scale_and_shift(ratios: list[float], se: float, scale: float, shift: float) -> None:
    found = between([Session(one, se, 7) for one in ratios])
    moved = between([Session(one * scale + shift, se * scale, 7) for one in ratios])
    assert found is not None and moved is not None
    for name in ("tau", "low", "high"):
        assert getattr(moved, name) == pytest.approx(scale * getattr(found, name), abs=1e-6)
    assert moved.mean == pytest.approx(found.mean * scale + shift, abs=1e-6)
    assert found.low <= found.tau <= found.high


def test_too_few_sessions_have_no_spread() -> None:
    one, wild, exact = Session(0.1, 0.01, 7), Session(0.2, 0.01, 2), Session(0.1, 0.0, 7)
    assert between([one, one]) is None
    assert between([one, one, wild, exact]) is None
    with pytest.raises(ValueError, match="finite"):
        between([one, one, Session(math.nan, 0.1, 7)])
