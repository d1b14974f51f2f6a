"""The ratio of two gains, with Welch's interval."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats as scipy_stats

from contend.stats import Comparison, compare, ratio_of_ratios


def gain(ratio: float, n: int, noise: float, seed: int) -> Comparison:
    chance = random.Random(seed)
    base = [1000 * math.exp(chance.gauss(0, noise)) for _ in range(n)]
    return compare(base, [b * ratio * math.exp(chance.gauss(0, noise)) for b in base])


def test_it_is_welchs_test_on_log_ratios() -> None:
    chance = random.Random(3)
    one = [math.exp(chance.gauss(0.4, 0.02)) for _ in range(8)]
    other = [math.exp(chance.gauss(0.45, 0.05)) for _ in range(5)]
    found = ratio_of_ratios(compare([1.0] * 8, one), compare([1.0] * 5, other))
    theirs = scipy_stats.ttest_ind(np.log(other), np.log(one), equal_var=False)
    interval = theirs.confidence_interval(0.95)
    assert found.low == pytest.approx(math.exp(interval.low))
    assert found.high == pytest.approx(math.exp(interval.high))
    assert found.n == 5


def test_equal_gains_lie_in_the_interval_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(200):
        found = ratio_of_ratios(gain(1.8, 6, 0.02, 2 * seed), gain(1.8, 8, 0.01, 2 * seed + 1))
        hits += found.low <= 1 <= found.high
    assert 0.9 < hits / 200 < 0.99


def test_too_few_pairs_say_nothing() -> None:
    whole = gain(1.5, 8, 0.02, 1)
    single = compare([100.0], [150.0])
    assert (ratio_of_ratios(whole, single).low, ratio_of_ratios(single, whole).high) == (
        0.0,
        math.inf,
    )
    broken = compare([0.0, 0.0], [1.0, 2.0])
    assert ratio_of_ratios(whole, broken).n == 0


def test_without_noise_there_is_no_error() -> None:
    exact = compare([100.0, 100.0], [150.0, 150.0])
    found = ratio_of_ratios(exact, compare([100.0, 100.0], [180.0, 180.0]))
    assert (found.low, found.mean, found.high) == (pytest.approx(1.2),) * 3
