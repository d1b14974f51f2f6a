"""The ratio of two paired means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from contend.stats import ratio_of_means

BELOW = np.array([10.0, 11.0, 9.0, 10.5, 9.5])
ABOVE = np.array([5.2, 5.4, 4.7, 5.0, 5.1])


def test_at_its_ends_the_difference_is_as_far_from_0_as_is_allowed() -> None:
    found = ratio_of_means(ABOVE, BELOW, chance=0.05, confidence=0.95)
    assert found.mean == pytest.approx(np.mean(ABOVE) / np.mean(BELOW))
    for end in (found.low, found.high):
        assert reference.ttest_1samp(ABOVE - end * BELOW, 0).pvalue == pytest.approx(0.05)


def test_an_exact_denominator_gives_students_interval() -> None:
    found = ratio_of_means(ABOVE, np.full(5, 2.0), chance=0.05, confidence=0.95)
    low, high = reference.t.interval(0.95, 4, loc=np.mean(ABOVE), scale=reference.sem(ABOVE))
    assert (found.low, found.high) == pytest.approx((low / 2, high / 2))


@pytest.mark.parametrize("below", [np.array([1.0, -1.0, 2.0, -1.5, 0.1]), np.zeros(5)])
def test_over_what_may_be_0_nothing_is_known(below: np.ndarray) -> None:
    found = ratio_of_means(ABOVE, below, chance=0.05, confidence=0.95)
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_a_unit_that_lacks_one_is_left_out() -> None:
    found = ratio_of_means(
        np.append(ABOVE, np.nan), np.append(BELOW, 3.0), chance=0.05, confidence=0.95
    )
    assert found == ratio_of_means(ABOVE, BELOW, chance=0.05, confidence=0.95)


def test_it_holds_the_true_ratio_as_often_as_it_says() -> None:
    chance = np.random.default_rng(5)
    held = 0
    for _ in range(2000):
        below = 1 + 0.4 * chance.standard_normal(6)
        above = 0.5 * below + 0.2 * chance.standard_normal(6)
        one = ratio_of_means(above, below, chance=0.1, confidence=0.9)
        held += one.low <= 0.5 <= one.high
    assert 0.88 < held / 2000 < 0.94
