"""Means of treatments that lend each other degrees of freedom, and their ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from contend.stats import Mean, means_of, ratio_of, weighted


def noise(means: int, repeats: int, seed: int = 1) -> dict[str, np.ndarray]:
    drawn = np.random.default_rng(seed).standard_normal((means, repeats))
    return {str(name): one for name, one in enumerate(drawn)}


def test_one_by_itself_has_students_interval() -> None:
    (values,) = noise(1, 6).values()
    found = weighted(means_of({"a": values}), {"a": 1.0}, 0.05, 0.95)
    low, high = reference.t.interval(0.95, 5, loc=np.mean(values), scale=reference.sem(values))
    assert (found.low, found.high, found.n) == (pytest.approx(low), pytest.approx(high), 6)


def test_a_weighted_sum_has_welchs_error_and_at_least_the_fewest_degrees_of_freedom() -> None:
    means = {"a": Mean(3.0, 0.04, 9.0, 5), "b": Mean(1.0, 0.09, 7.0, 4)}
    found = weighted(means, {"a": 1.0, "b": -2.0}, 0.05, 0.95)
    half = reference.t.ppf(0.975, 7) * math.sqrt(0.04 + 4 * 0.09)
    assert (found.mean, found.n) == (pytest.approx(1.0), 4)
    assert (found.low, found.high) == (pytest.approx(1 - half), pytest.approx(1 + half))


def test_means_lend_each_other_degrees_of_freedom() -> None:
    alone, many = means_of({"a": noise(1, 5)["0"]})["a"], means_of(noise(6, 5))
    assert alone.df == 4
    assert all(one.df > 1.5 * alone.df for one in many.values())


def test_one_that_is_noisier_keeps_its_own_variance() -> None:
    values = noise(6, 8)
    values["0"] = 5 * values["0"]
    own = float(np.var(values["0"], ddof=1)) / 8
    assert means_of(values)["0"].variance == pytest.approx(own)


def test_missing_repeats_do_not_count() -> None:
    values = noise(3, 6)
    values["2"] = np.where(np.arange(6) < 4, values["2"], np.nan)
    one = means_of(values)["2"]
    assert one.n == 4
    assert one.mean == pytest.approx(np.mean(values["2"][:4]))


def test_fewer_than_two_repeats_have_no_error() -> None:
    means = means_of({**noise(2, 4), "one": np.array([1.0, np.nan]), "no": np.array([np.nan])})
    assert (means["one"].n, means["one"].mean, means["one"].df) == (1, 1.0, 0)
    assert means["no"].n == 0 and math.isnan(means["no"].mean)
    found = weighted(means, {"0": 1.0, "one": -1.0}, 0.05, 0.95)
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert ratio_of(means["0"], means["one"], 0.05, 0.95).high == math.inf


@pytest.mark.parametrize(
    ("means", "scales", "most"),
    [(4, (1, 1), 0.06), (7, (1, 1), 0.06), (4, (2, 1), 0.065)],
)
def test_a_difference_misses_the_true_one_no_more_often_than_it_may(
    means: int, scales: tuple[int, ...], most: float
) -> None:
    made, missed = 1500, 0
    for seed in range(made):
        values = noise(means, 6, seed)
        values |= {str(at): scale * values[str(at)] for at, scale in enumerate(scales)}
        found = weighted(means_of(values), {"0": 1.0, "1": -1.0}, 0.05, 0.95)
        missed += not found.low <= 0 <= found.high
    assert missed / made < most


BELOW, ABOVE = Mean(10.0, 0.1, 8.0, 5), Mean(5.0, 0.04, 8.0, 5)


def test_at_the_ends_of_a_ratio_the_difference_is_as_far_from_0_as_is_allowed() -> None:
    found = ratio_of(ABOVE, BELOW, 0.05, 0.95)
    assert found.mean == pytest.approx(0.5)
    for end in (found.low, found.high):
        t = (ABOVE.mean - end * BELOW.mean) / math.sqrt(ABOVE.variance + end**2 * BELOW.variance)
        assert 2 * reference.t.sf(abs(t), 8) == pytest.approx(0.05)


def test_an_exact_denominator_gives_students_interval() -> None:
    found = ratio_of(ABOVE, Mean(2.0, 0.0, 8.0, 5), 0.05, 0.95)
    half = reference.t.ppf(0.975, 8) * 0.2
    assert (found.low, found.high) == pytest.approx(((5 - half) / 2, (5 + half) / 2))


@pytest.mark.parametrize("below", [Mean(0.1, 1.0, 8.0, 5), Mean(0.0, 0.0, 8.0, 5)])
def test_a_ratio_over_a_mean_that_may_be_0_is_unbounded(below: Mean) -> None:
    found = ratio_of(ABOVE, below, 0.05, 0.95)
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_the_interval_covers_the_true_ratio_as_often_as_promised() -> None:
    chance = np.random.default_rng(5)
    held = 0
    for _ in range(2000):
        values = {
            "below": 1 + 0.4 * chance.standard_normal(6),
            "above": 0.5 + 0.4 * chance.standard_normal(6),
        }
        means = means_of(values)
        one = ratio_of(means["above"], means["below"], 0.1, 0.9)
        held += one.low <= 0.5 <= one.high
    assert 0.88 < held / 2000 < 0.97
