"""Hundreds of counters: those that differ, and the share of false ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from contend.stats import discover, pair_counts, picked_change

MANY = 50_000.0


def paired(one: np.ndarray, other: np.ndarray, queries: float = 10_000.0):  # type: ignore[no-untyped-def]
    sent = np.full(one.shape, queries)
    return pair_counts((one, other), (sent, sent), (sent, sent))


def test_p_is_that_of_a_paired_t_test() -> None:
    chance = np.random.default_rng(1)
    one, other = np.exp(chance.normal(20, 0.05, (2, 8, 30)))
    other[:, :5] *= 1.1
    expected = ttest_1samp(np.log(other / one), 0, axis=0).pvalue
    found = paired(one, other).p
    small = expected < 0.05
    assert small.any() and found[small] == pytest.approx(expected[small], rel=1e-6)
    assert (found[~small] == 1).all()


def test_picked_counters_follow_benjamini_and_hochberg() -> None:
    chance = np.random.default_rng(2)
    p = np.concatenate([chance.random(200), chance.random(40) / 1000, [math.nan] * 5])
    seen = discover(p)
    assert seen.tested == 240
    assert list(seen.picked[:240]) == list(false_discovery_control(p[:240]) <= 0.05)
    assert not seen.picked[240:].any()
    assert seen.confidence == pytest.approx(1 - 0.05 * seen.picked.sum() / 240)


def test_an_interval_excludes_no_change_exactly_if_it_was_picked() -> None:
    chance = np.random.default_rng(3)
    one, other = np.exp(chance.normal(20, 0.05, (2, 8, 100)))
    other[:, :30] *= np.linspace(1, 1.2, 30)
    found = paired(one, other)
    seen = discover(found.p)
    assert 5 < seen.picked.sum() < 35
    for at, picked in enumerate(seen.picked):
        one_change = picked_change(
            found.mean[at], found.se[at], int(found.n[at]), 0, seen.confidence, 0.0001
        )
        assert (not one_change.low <= 1 <= one_change.high) == picked


@pytest.mark.parametrize("kind", ["alike", "in groups", "rare", "bursts"])
@pytest.mark.parametrize("units", [4, 8])
def test_where_nothing_differs_few_lists_have_anything(kind: str, units: int) -> None:
    chance = np.random.default_rng([4, units])
    shape, lists, wrong = (2, units, 200), 300, 0
    for _ in range(lists):
        match kind:
            case "alike":
                both = np.exp(chance.normal(12, 0.1, shape))
            case "in groups":  # ten counters that all say what one thing does
                own = chance.normal(0, 0.01, shape)
                both = np.exp(12 + own + np.repeat(chance.normal(0, 0.1, (2, units, 20)), 10, 2))
            case "rare":
                both = chance.poisson(np.exp(chance.uniform(-2, 3, 200)), shape).astype(float)
            case _:  # a background task that is in a run or is not
                both = MANY * (chance.random(shape) < 0.3)
        wrong += bool(discover(paired(*both).p).picked.any())
    # 5 % and three standard errors.
    assert wrong <= lists * 0.05 + 3 * math.sqrt(lists * 0.05 * 0.95)


def test_true_differences_are_found_and_few_found_are_false() -> None:
    chance = np.random.default_rng(5)
    shares, found = [], 0
    for _ in range(60):
        one, other = np.exp(chance.normal(12, 0.03, (2, 8, 200)))
        other[:, :20] *= 1.15
        picked = discover(paired(one, other).p).picked
        found += int(picked[:20].sum())
        shares.append(picked[20:].sum() / max(1, picked.sum()))
    assert found > 0.9 * 20 * 60
    assert np.mean(shares) < 0.06


class TestConstants:
    def test_the_same_in_every_unit_is_not_tested(self) -> None:
        same = np.full((8, 1), 7.0)
        found = paired(np.hstack([same, 0 * same]), np.hstack([same, 0 * same]))
        assert np.isnan(found.p).all()

    def test_a_ratio_of_2_of_two_counts_is_not_picked(self) -> None:
        assert paired(np.full((8, 1), 1.0), np.full((8, 1), 2.0)).p[0] > 0.05

    def test_a_ratio_of_2_of_many_counts_is_picked(self) -> None:
        assert paired(np.full((8, 1), MANY), np.full((8, 1), 2 * MANY)).p[0] < 1e-6

    def test_three_units_are_too_few(self) -> None:
        assert np.isnan(paired(np.full((3, 1), MANY), np.full((3, 1), 2 * MANY)).p[0])

    def test_a_unit_without_one_side_is_not_counted(self) -> None:
        one = np.full((5, 1), MANY)
        one[0] = math.nan
        assert paired(one, np.full((5, 1), MANY)).n[0] == 4

    def test_no_unit_at_all(self) -> None:
        found = paired(np.zeros((0, 3)), np.zeros((0, 3)))
        assert np.isnan(found.p).all() and list(found.n) == [0, 0, 0]


@pytest.mark.parametrize(("turned", "only", "ratio"), [(False, 1, math.inf), (True, -1, 0.0)])
def test_a_counter_of_one_side_alone_is_marked(turned: bool, only: int, ratio: float) -> None:
    none, some = np.zeros((4, 1)), np.full((4, 1), MANY)
    found = paired(some, none) if turned else paired(none, some)
    assert found.only[0] == only and found.p[0] < 0.01 and found.p[0] >= 2 * 4.0**-4
    change = picked_change(found.mean[0], found.se[0], 4, only, 0.95, 0.02)
    assert change.ratio == ratio
    assert (change.low > 1) if only > 0 else (change.high < 1)


def test_a_counter_that_follows_time_is_marked() -> None:
    chance = np.random.default_rng(6)
    ticks = chance.poisson(10_000, (2, 8, 1)).astype(float)
    rows = np.array([np.full((8, 1), 100_000.0), np.full((8, 1), 100_000.0)])
    sent = (np.full((8, 2), 10_000.0), np.full((8, 2), 5_000.0))
    lasted = (np.full((8, 2), 10.0), np.full((8, 2), 10.0))
    counts = tuple(np.hstack([ticks[side], rows[side] * (1 + 2 * side)]) for side in (0, 1))
    found = pair_counts(counts, sent, lasted)  # type: ignore[arg-type]
    assert list(found.by_rate) == [True, False]
    assert (found.p < 0.01).all()
