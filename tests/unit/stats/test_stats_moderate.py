"""Variances that lend each other degrees of freedom, and intervals that hold together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special
from scipy import stats as reference

from contend.stats.change import detectable_changes
from contend.stats.family import chance_each, digamma, inverse_trigamma, moderate, trigamma


@pytest.mark.parametrize("x", [0.25, 0.5, 1.0, 3.5, 7.0, 40.0, 3000.0])
def test_gamma_functions_are_scipys(x: float) -> None:
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-9)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-9)
    assert inverse_trigamma(trigamma(x)) == pytest.approx(x, rel=1e-6)


def sampled(
    chance: np.random.Generator, members: int, df: int, prior_df: float
) -> tuple[np.ndarray, np.ndarray]:
    """Units' deviations of independent members whose true variances scatter about 4."""
    true = 4 * prior_df / chance.chisquare(prior_df, members)
    values = chance.normal(0, 1, (members, df + 1)) * np.sqrt(true)[:, None]
    return values - values.mean(axis=1, keepdims=True), true


def test_many_independent_members_find_how_far_their_variances_differ() -> None:
    """Smyth's setting: the scatter of the variances tells the degrees of freedom lent, and a
    moderated t then is Student's with those and its own.
    """
    chance = np.random.default_rng(1)
    members, df, prior_df = 4000, 7, 10.0
    parts, true = sampled(chance, members, df, prior_df)
    variance = np.sum(parts**2, axis=1) / df
    result = moderate(variance, np.full(members, float(df)), np.eye(members), parts)
    assert result.lent_df == pytest.approx(prior_df, rel=0.15)
    assert np.median(result.df) == pytest.approx(prior_df + df, rel=0.1)
    t = chance.normal(0, np.sqrt(true)) / np.sqrt(result.variance)
    assert reference.kstest(t, reference.t(prior_df + df).cdf).pvalue > 0.01


def test_members_of_one_variance_share_all_their_degrees_of_freedom() -> None:
    chance = np.random.default_rng(2)
    parts, _ = sampled(chance, 300, 7, 1e9)
    variance = np.sum(parts**2, axis=1) / 7
    result = moderate(variance, np.full(300, 7.0), np.eye(300), parts)
    drawn_up = result.variance[variance < 3]
    assert len(drawn_up) > 50 and drawn_up.min() > 3.2
    assert result.df.min() > 30


def test_no_variance_is_drawn_downwards() -> None:
    """One member is five times as noisy as forty others: it keeps its own variance, and theirs
    stays near what they have in common."""
    chance = np.random.default_rng(5)
    parts, _ = sampled(chance, 41, 7, 1e9)
    parts[0] *= 5
    variance = np.sum(parts**2, axis=1) / 7
    result = moderate(variance, np.full(41, 7.0), np.eye(41), parts)
    assert np.all(result.variance >= variance)
    assert result.variance[0] == variance[0] > 30
    assert np.median(result.variance) < 6


def test_members_that_are_the_same_have_nothing_to_lend() -> None:
    """Forty cells whose noise comes from one process know no more than one cell."""
    chance = np.random.default_rng(3)
    one = chance.normal(0, 0.04, 8)
    parts = np.tile(one - one.mean(), (40, 1))
    variance = np.sum(parts**2, axis=1) / 7
    result = moderate(variance, np.full(40, 7.0), np.ones((40, 40)), parts)
    assert np.all((result.df > 6) & (result.df <= 7))
    assert result.variance == pytest.approx(variance, rel=0.1)


def test_the_units_are_believed_if_they_show_more_in_common_than_the_model() -> None:
    chance = np.random.default_rng(3)
    one = chance.normal(0, 0.04, 8)
    parts = np.tile(one - one.mean(), (40, 1))
    variance = np.sum(parts**2, axis=1) / 7
    result = moderate(variance, np.full(40, 7.0), np.eye(40), parts)
    assert np.all((result.df > 6) & (result.df <= 7))


def test_one_member_stays_as_it_is() -> None:
    result = moderate(np.array([0.3]), np.array([5.0]), np.eye(1), np.ones((1, 6)))
    assert (result.variance[0], result.df[0], result.lent_df) == (0.3, 5.0, 0.0)


def test_two_members_lend_each_other_little() -> None:
    """Two variances that happen to be equal hardly show a common one."""
    parts = np.array([[1.0, -1, 1, -1, 1, -1, 1, -1], [1.0, 1, -1, -1, 1, 1, -1, -1]])
    result = moderate(np.ones(2), np.full(2, 7.0), np.eye(2), parts)
    assert np.all(result.df < 14)


def test_units_that_agree_to_the_last_digit_do_not_divide_by_zero() -> None:
    parts = np.array([np.zeros(4), [1.0, -1.0, 0.5, -0.5]])
    result = moderate(np.array([0.0, 1.0]), np.full(2, 3.0), np.eye(2), parts)
    assert np.all(np.isfinite(result.variance)) and np.all(result.variance > 0)


@pytest.mark.parametrize("m", [2, 17, 42])
def test_independent_members_get_what_sidak_gives(m: int) -> None:
    assert chance_each(np.eye(m), 0.05) == pytest.approx(1 - 0.95 ** (1 / m), rel=0.1)


def test_equal_members_get_the_whole_chance() -> None:
    assert chance_each(np.ones((9, 9)), 0.01) == pytest.approx(0.01, rel=0.1)
    assert chance_each(np.eye(1), 0.02) == 0.02


def test_members_that_share_a_baseline_get_what_the_normal_distribution_says() -> None:
    correlation = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    critical = reference.norm.isf(chance_each(correlation, 0.05) / 2)
    together = reference.multivariate_normal(cov=correlation, seed=1)
    inside = together.cdf(np.full(3, critical), lower_limit=np.full(3, -critical))
    assert inside == pytest.approx(0.95, abs=0.004)


def test_no_chance_is_below_bonferronis() -> None:
    for m in (2, 5, 60):
        assert 0.01 / m <= chance_each(np.eye(m), 0.01) <= 0.01


@pytest.mark.parametrize("df", [2.0, 7.0, 60.0])
@pytest.mark.parametrize("critical", [2.4, 5.0])
def test_far_above_the_margin_what_is_detectable_is_noncentral_t(
    df: float, critical: float
) -> None:
    """The margin does not matter where even the lower bound of its interval is above it."""
    se = 0.5
    shift = math.log1p(
        detectable_changes(np.array([se]), np.array([df]), np.array([critical]), 1e-9)[0]
    )
    assert reference.nct(df, shift / se).sf(critical) == pytest.approx(0.8, abs=0.002)


def test_where_units_are_exact_only_the_margin_hides_a_change() -> None:
    """An estimate of 1.9 % that is certain to 0.01 % is equivalent by a margin of 2 %."""
    found = detectable_changes(np.array([1e-5]), np.array([1e6]), np.array([2.0]), 0.02)
    assert found[0] == pytest.approx(0.02, abs=1e-4)


def test_errors_without_bound_detect_nothing() -> None:
    found = detectable_changes(np.array([1e4]), np.array([7.0]), np.array([3.0]), 0.02)
    assert found[0] > 1e100
