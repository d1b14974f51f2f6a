"""The twins of the paired t against exact enumeration and scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from contend.stats import hodges_lehmann, sign_flip_p

speeds = st.floats(min_value=0.5, max_value=2.0)
pairs = st.lists(st.tuples(speeds, speeds), min_size=1, max_size=9)


def brute_force(d: np.ndarray) -> float:
    seen = abs(d.sum()) - 1e-12 * np.abs(d).sum()
    signs = itertools.product((1, -1), repeat=len(d))
    sums = [abs(float(np.dot(s, d))) for s in signs]
    return sum(x >= seen for x in sums) / len(sums)


@settings(max_examples=60)
@given(pairs)
def test_sign_flip_counts_every_choice_of_signs(data: list[tuple[float, float]]) -> None:
    a, b = zip(*data, strict=True)
    assert sign_flip_p(a, b) == pytest.approx(brute_force(np.log(b) - np.log(a)), abs=2e-3)


@pytest.mark.parametrize(("n", "least"), [(5, 2 / 32), (6, 2 / 64), (8, 2 / 256), (20, 2 / 2**20)])
def test_sign_flip_cannot_be_surer_than_the_pairs_allow(n: int, least: float) -> None:
    level = 1.1 + 0.01 * np.arange(n)
    assert sign_flip_p(np.ones(n), level) == pytest.approx(least)


def test_sign_flip_is_sampled_above_twenty_pairs_and_repeatable() -> None:
    chance = np.random.default_rng(9)
    a, b = np.ones(60), np.exp(chance.normal(0.004, 0.012, 60))
    p = sign_flip_p(a, b)
    assert p == sign_flip_p(a, b)
    assert p == pytest.approx(reference.ttest_1samp(np.log(b), 0).pvalue, abs=0.02)


def test_hodges_lehmann_interval_is_wilcoxons() -> None:
    """n = 8 at 95 %: the 4th smallest and 4th largest of the 36 averages (R: qsignrank = 4)."""
    a = np.ones(8)
    b = np.exp([0.01, 0.02, -0.005, 0.03, 0.015, 0.022, 0.018, 0.027])
    d = np.log(b)
    walsh = sorted((d[i] + d[j]) / 2 for i in range(8) for j in range(i, 8))
    result = hodges_lehmann(a, b)
    assert result.mean == pytest.approx(math.exp(np.median(walsh)))
    assert result.low == pytest.approx(math.exp(walsh[3]))
    assert result.high == pytest.approx(math.exp(walsh[-4]))


def test_the_interval_excludes_1_exactly_where_wilcoxon_rejects() -> None:
    chance = np.random.default_rng(11)
    for _ in range(200):
        b = np.exp(chance.normal(0.008, 0.012, 8))
        interval = hodges_lehmann(np.ones(8), b)
        excludes = not interval.low <= 1 <= interval.high
        assert excludes == (reference.wilcoxon(np.log(b), method="exact").pvalue < 0.05)


def test_one_wild_pair_moves_it_little() -> None:
    level = [1.10, 1.11, 1.09, 1.10, 1.12, 1.10, 1.11, 5.0]
    assert hodges_lehmann([1.0] * 8, level).mean == pytest.approx(1.11, abs=0.01)


@pytest.mark.parametrize("n", [1, 5])
def test_below_six_pairs_there_is_no_95_percent_interval(n: int) -> None:
    result = hodges_lehmann([1.0] * n, [1.1] * n)
    assert (result.low, result.high) == (0.0, math.inf)


def test_nothing_compares_to_nothing() -> None:
    assert sign_flip_p([], []) == 1.0
    assert math.isnan(hodges_lehmann([], []).mean)


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [math.nan])])
def test_pairs_without_a_log_ratio_are_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match=r"pairs|log-ratios"):
        sign_flip_p(a, b)
