"""Comparisons of pairs: the numbers, the words for them, and the laws they keep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as reference

from contend.stats import (
    Comparison,
    compare,
    compare_family,
    hodges_lehmann,
    sign_flip_p,
    verdict,
)

BASELINE = [1096.6, 1099.9, 1093.6, 1086.9, 1091.7, 1085.8, 1097.3, 1111.4, 1091.2]
LEVEL = [1095.5, 1108.6, 1101.1, 1092.2, 1087.9, 1089.9, 1107.8, 1103.9, 1091.6]

speeds = st.floats(min_value=1e-3, max_value=1e6, allow_subnormal=False)
pairs = st.lists(st.tuples(speeds, speeds), min_size=2, max_size=12)


def test_interval_and_p_are_those_of_the_paired_t_test_on_logs() -> None:
    result = compare(BASELINE, LEVEL)
    expected = reference.ttest_rel(np.log(LEVEL), np.log(BASELINE))
    interval = expected.confidence_interval(0.95)
    assert result.n == 9
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.low == pytest.approx(math.exp(interval.low))
    assert result.high == pytest.approx(math.exp(interval.high))
    # The same figures as computed once by scipy 1.17, so that a shared mistake would show.
    assert result.p_value == pytest.approx(0.22034010322618097)
    assert (result.low, result.high) == pytest.approx((0.99820825, 1.00669903))


def test_equivalence_p_is_that_of_two_one_sided_tests() -> None:
    """Against statsmodels 0.14: ttost_paired(log b, log a, -log 1.02, log 1.02)."""
    result = compare(BASELINE, LEVEL, margin=0.02)
    assert result.p_equivalent == pytest.approx(6.447858818439929e-06)
    assert result.verdict == "equivalent"


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        pytest.param([1.19, 1.21, 1.20, 1.22, 1.18, 1.20], "higher", id="clear gain"),
        pytest.param([0.81, 0.79, 0.80, 0.78, 0.82, 0.80], "lower", id="clear loss"),
        pytest.param([1.001, 0.999, 1.002, 0.998, 1.0, 1.001], "equivalent", id="no difference"),
        pytest.param(
            [1.0050, 1.0052, 1.0049, 1.0051, 1.0050, 1.0048],
            "equivalent",
            id="certain, but smaller than the margin",
        ),
        pytest.param([1.2, 0.85, 1.1, 0.9, 1.05, 0.95], "inconclusive", id="noise"),
    ],
)
def test_verdicts(factors: list[float], expected: str) -> None:
    baseline = [1000.0 + 10 * i for i in range(len(factors))]
    level = [b * f for b, f in zip(baseline, factors, strict=True)]
    assert compare(baseline, level).verdict == expected


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_pairs_have_no_interval(n: int) -> None:
    result = compare([100.0] * n, [150.0] * n)
    assert (result.low, result.high, result.n) == (0.0, math.inf, n)
    assert result.verdict == "inconclusive"
    assert result.p_value == result.p_equivalent == 1.0
    assert math.isnan(result.ratio) if n == 0 else result.ratio == 1.5


def test_a_run_without_any_query_has_no_ratio_and_claims_nothing() -> None:
    result = compare([100.0, 0.0, 100.0], [150.0, 150.0, 150.0])
    assert result.verdict == "inconclusive"
    assert (result.low, result.high) == (0.0, math.inf)


def test_pairs_that_agree_to_the_last_digit_give_no_division_by_zero() -> None:
    same = compare([100.0] * 4, [100.0] * 4)
    assert (same.ratio, same.p_value, same.verdict) == (1.0, 1.0, "equivalent")
    twice = compare([100.0] * 4, [200.0] * 4)
    assert (twice.ratio, twice.p_value, twice.verdict) == (pytest.approx(2.0), 0.0, "higher")


@pytest.mark.parametrize(
    ("baseline", "level", "margin"),
    [
        pytest.param([1.0, 2.0], [1.0], 0.02, id="lengths"),
        pytest.param([1.0, -2.0], [1.0, 2.0], 0.02, id="negative"),
        pytest.param([1.0, math.nan], [1.0, 2.0], 0.02, id="not a number"),
        pytest.param([1.0, 2.0], [1.0, 2.0], 0.0, id="margin"),
    ],
)
def test_what_is_no_comparison_is_refused(
    baseline: list[float], level: list[float], margin: float
) -> None:
    with pytest.raises(ValueError, match=r"comparison|margin"):
        compare(baseline, level, margin=margin)


@given(pairs, st.floats(min_value=1e-3, max_value=1e3))
def test_the_unit_does_not_matter(data: list[tuple[float, float]], scale: float) -> None:
    a, b = zip(*data, strict=True)
    plain = compare(a, b)
    scaled = compare([x * scale for x in a], [x * scale for x in b])
    assert scaled.ratio == pytest.approx(plain.ratio, rel=1e-9)
    assert scaled.low == pytest.approx(plain.low, rel=1e-6)
    assert scaled.high == pytest.approx(plain.high, rel=1e-6)


@given(pairs)
def test_swapping_the_sides_inverts_the_ratio(data: list[tuple[float, float]]) -> None:
    a, b = zip(*data, strict=True)
    there, back = compare(a, b), compare(b, a)
    assert there.ratio * back.ratio == pytest.approx(1.0)
    assume(there.high < 1e300)
    assert there.low * back.high == pytest.approx(1.0)
    assert there.p_value == pytest.approx(back.p_value)
    opposite = {"higher": "lower", "lower": "higher"}
    assert back.verdict == opposite.get(there.verdict, there.verdict)


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(
    data: list[tuple[float, float]], chance: object
) -> None:
    shuffled = list(data)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    plain, mixed = (compare(*zip(*d, strict=True)) for d in (data, shuffled))
    assert mixed.ratio == pytest.approx(plain.ratio, rel=1e-9)
    assert mixed.low == pytest.approx(plain.low, rel=1e-6)


@given(pairs)
def test_the_ratio_lies_in_its_interval_and_the_verdict_agrees_with_it(
    data: list[tuple[float, float]],
) -> None:
    a, b = zip(*data, strict=True)
    result = compare(a, b)
    assert result.low <= result.ratio * (1 + 1e-12)
    assert result.ratio <= result.high * (1 + 1e-12)
    if result.verdict == "higher":
        assert result.low > 1
    if result.verdict == "lower":
        assert result.high < 1


def make(p_value: float, p_equivalent: float = 1.0, ratio: float = 1.1) -> Comparison:
    return Comparison(
        ratio=ratio,
        low=ratio * 0.9,
        high=ratio * 1.1,
        n=8,
        verdict=verdict(p_value, p_equivalent, ratio, 0.95),
        p_value=p_value,
        p_equivalent=p_equivalent,
        p_adjusted=p_value,
        p_equivalent_adjusted=p_equivalent,
        detectable=0.02,
        sd_log=0.01,
        pairs=(np.ones(8), np.full(8, ratio)),
        margin=0.02,
        confidence=0.95,
    )


def test_a_family_withdraws_the_claims_that_chance_alone_would_make() -> None:
    family = compare_family([make(0.04), make(0.001), make(0.03, ratio=0.9), make(0.9, 0.02)])
    assert [c.verdict for c in family] == [
        "inconclusive",
        "higher",
        "inconclusive",
        "inconclusive",
    ]
    assert [c.p_adjusted for c in family] == pytest.approx([0.09, 0.004, 0.09, 0.9])
    assert family[3].p_equivalent_adjusted == pytest.approx(0.08)


def test_a_family_leaves_ratios_and_intervals_alone() -> None:
    before = make(0.04)
    (after, _) = compare_family([before, make(0.5)])
    assert (after.ratio, after.low, after.high) == (before.ratio, before.low, before.high)
    assert after.p_value == 0.04


def test_a_family_of_one_or_none_changes_nothing() -> None:
    assert compare_family([]) == []
    assert compare_family([make(0.04)]) == [make(0.04)]


def test_a_comparison_carries_its_twins() -> None:
    result = compare(BASELINE, LEVEL)
    assert result.p_sign_flip == sign_flip_p(BASELINE, LEVEL)
    assert result.robust == hodges_lehmann(BASELINE, LEVEL)


@pytest.mark.parametrize(
    ("factors", "disagree"),
    [
        pytest.param([1.19, 1.21, 1.20, 1.22, 1.18, 1.20, 1.2, 1.21], False, id="all agree"),
        pytest.param([1.05, 1.06, 1.04, 1.05, 1.06, 1.05, 1.04, 2.2], True, id="a wild pair"),
        pytest.param([1.19, 1.21, 1.20, 1.22, 1.18], False, id="too few for a twin to tell"),
        pytest.param([1.2], False, id="one pair"),
    ],
)
def test_twins_disagree_over_a_wild_pair(factors: list[float], disagree: bool) -> None:
    result = compare([100.0] * len(factors), [100 * factor for factor in factors])
    assert result.twins_disagree is disagree
