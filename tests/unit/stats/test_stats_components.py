"""Variances of the tiers: known answers by hand, laws, and simulated experiments with a truth."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from contend.stats import Component, Components, estimate_components

Counts = Sequence[Sequence[int]]
"""Rounds of each block of each unit."""


def nested(
    chance: np.random.Generator, counts: Counts, sds: tuple[float, float, float]
) -> tuple[list[float], dict[str, list[int]]]:
    values, units, blocks = [], [], []
    for unit, rounds_of_blocks in enumerate(counts):
        of_unit = chance.normal(0.05, sds[0])
        for block, rounds in enumerate(rounds_of_blocks):
            of_block = of_unit + chance.normal(0, sds[1])
            values += list(of_block + chance.normal(0, sds[2], rounds))
            units += [unit] * rounds
            blocks += [block] * rounds
    return values, {"unit": units, "block": blocks}


def component(tier: str, variance: float, in_mean: float = 1.0, p_none: float = 0.0) -> Component:
    known = not math.isnan(variance)
    high = variance * 2 if known else math.inf
    return Component(tier, variance, variance, 0.0, high, 7.0, p_none, in_mean)


def shares(found: Components) -> list[tuple[int, str]]:
    """Percents and their places, as the line of the report has them."""
    parts = re.findall(r"(\d+) % [a-z ]*between ([a-z ]+)", found.words())
    return [(int(percent), place) for percent, place in parts]


def test_two_units_of_two_blocks_of_two_rounds_by_hand() -> None:
    """Rounds scatter by 2 in each block; block means 2, 6 and 1, 3 by (8 + 2) / 2 = 5; unit means
    4 and 2 by 2. So T² is 2, 5 - 2 / 2 = 4, and 2 - 5 / 2, which is below nothing.
    """
    units, blocks = [0] * 4 + [1] * 4, [0, 0, 1, 1] * 2
    found = estimate_components([1, 3, 5, 7, 0, 2, 2, 4], {"unit": units, "block": blocks})
    assert [c.tier for c in found.tiers] == ["unit", "block", "round"]
    assert [c.unbiased for c in found.tiers] == pytest.approx([-0.5, 4, 2])
    assert [c.variance for c in found.tiers] == pytest.approx([0, 4, 2])
    assert [c.in_mean for c in found.tiers] == pytest.approx([1 / 2, 1 / 4, 1 / 8])
    assert [c.freedom for c in found.tiers] == [1, 2, 4]
    assert found.shares() == pytest.approx({"unit": 0, "block": 0.8, "round": 0.2})


def test_unequal_counts_by_hand() -> None:
    """Units of 1 and 3 rounds: S² of rounds 4 with 2 degrees; the means 0 and 4 scatter by 8, of
    which the rounds make 4 x (1 + 1/3) / 2.
    """
    found = estimate_components([0, 2, 4, 6], {"unit": [0, 1, 1, 1]})
    assert [c.unbiased for c in found.tiers] == pytest.approx([8 - 8 / 3, 4])
    assert found.tiers[1].in_mean == pytest.approx((1 + 1 / 3) / 4)


@pytest.mark.parametrize("rounds", [2, 8])
def test_the_chance_of_no_difference_is_the_f_test_of_equal_counts(rounds: int) -> None:
    chance = np.random.default_rng(11)
    for sd in (0.0, 0.5, 1.0):
        values, tiers = nested(chance, [[rounds]] * 5, (sd, 0, 1))
        found = estimate_components(values, {"unit": tiers["unit"]})
        groups = np.reshape(values, (5, rounds))
        f, p = reference.f_oneway(*groups)
        assert found.tiers[0].p_none == pytest.approx(p, abs=0.012)
        within = float(np.mean(np.var(groups, axis=1, ddof=1)))
        assert found.tiers[0].unbiased == pytest.approx((f - 1) * within / rounds)


UNEVEN = [[4, 4], [4], [2, 5, 1], [3, 3], [6, 2], [4, 4]]


@pytest.mark.parametrize("counts", [[[4, 4]] * 6, UNEVEN], ids=["even", "uneven"])
def test_estimates_are_unbiased_and_their_intervals_hold(counts: Counts) -> None:
    chance = np.random.default_rng(2013)
    sds = (0.04, 0.03, 0.08)
    found = [estimate_components(*nested(chance, counts, sds)) for _ in range(500)]
    for i, sd in enumerate(sds):
        estimates = np.array([one.tiers[i].unbiased for one in found])
        error = estimates.std(ddof=1) / math.sqrt(len(estimates))
        assert abs(estimates.mean() - sd * sd) < 3 * error
        held = np.mean([one.tiers[i].low <= sd * sd <= one.tiers[i].high for one in found])
        assert 0.93 <= held <= 0.99


def test_equal_processes_seem_to_differ_in_at_most_5_of_100() -> None:
    chance = np.random.default_rng(5)
    differ = [
        estimate_components(*nested(chance, UNEVEN, (0, 0.02, 0.08))).tiers[0].p_none < 0.05
        for _ in range(400)
    ]
    assert 0.01 <= np.mean(differ) <= 0.07


def table(
    chance: np.random.Generator, units: int, contexts: int, levels: int, common: float
) -> dict[str, list[int] | list[float] | list[tuple[int, int]]]:
    """Units that differ by 5 %, part of it in all contexts alike; two blocks of two rounds."""
    alike = chance.normal(0, 0.05 * math.sqrt(common), (units, levels))
    own = chance.normal(0, 0.05 * math.sqrt(1 - common), (units, contexts, levels))
    rows = [
        (alike[u, v] + own[u, c, v] + chance.normal(0, 0.02), u, (c, b), c, v)
        for u in range(units)
        for c in range(contexts)
        for b in range(2)
        for _ in range(2)
        for v in range(levels)
    ]
    names = ("log_ratios", "unit", "block", "contexts", "levels")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))  # type: ignore[arg-type]


def of_table(rows: dict[str, list]) -> Components:  # type: ignore[type-arg]
    return estimate_components(
        rows["log_ratios"],
        {"unit": rows["unit"], "block": rows["block"]},
        contexts=rows["contexts"],
        levels=rows["levels"],
    )


@pytest.mark.parametrize("common", [0.0, 0.5, 1.0])
def test_the_common_part_of_a_difference_is_found(common: float) -> None:
    chance = np.random.default_rng(8)
    found = [of_table(table(chance, 8, 5, 2, common)).common for _ in range(20)]
    assert np.mean(found) == pytest.approx(common, abs=0.1)


def test_shared_units_are_counted_once() -> None:
    """Eight units of five contexts and two levels are 7 degrees of freedom and not 70."""
    found = of_table(table(np.random.default_rng(9), 8, 5, 2, 0.5))
    assert found.tables == 10
    # Blocks: 8 units x 5 contexts x 1. Rounds: 80 blocks x 1. Each is in both levels.
    assert [c.freedom for c in found.tiers] == [7, 40, 80]


def test_each_table_has_its_own_mean() -> None:
    rows = table(np.random.default_rng(9), 4, 3, 2, 0.5)
    moved = dict(rows)
    moved["log_ratios"] = [
        x + 0.7 * c - 0.3 * v
        for x, c, v in zip(rows["log_ratios"], rows["contexts"], rows["levels"], strict=True)
    ]
    for one, other in zip(of_table(rows).tiers, of_table(moved).tiers, strict=True):
        assert one.unbiased == pytest.approx(other.unbiased)


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
def test_order_names_and_scale_do_not_matter(seed: int, scale: float) -> None:
    chance = np.random.default_rng(seed)
    counts = [list(chance.integers(1, 4, chance.integers(1, 4))) for _ in range(4)]
    values, tiers = nested(chance, counts, (1, 1, 1))
    order = chance.permutation(len(values))
    shuffled = estimate_components(
        scale * np.array(values)[order],
        {
            "unit": [f"u{tiers['unit'][i]}" for i in order],
            "block": [-tiers["block"][i] for i in order],
        },
    )
    for one, other in zip(estimate_components(values, tiers).tiers, shuffled.tiers, strict=True):
        assert one.known == other.known
        if one.known:
            assert one.unbiased * scale**2 == pytest.approx(other.unbiased, rel=1e-6, abs=1e-9)
            assert 0 <= one.low <= one.high


def test_a_tier_that_was_not_repeated_is_part_of_the_one_above() -> None:
    """One block a unit: differences between blocks and between units cannot be separated."""
    chance = np.random.default_rng(3)
    values, tiers = nested(chance, [[4]] * 6, (0.05, 0, 0.08))
    found, without = (
        estimate_components(values, tiers),
        estimate_components(values, {"unit": tiers["unit"]}),
    )
    unit, block, _ = found.tiers
    assert found.known and not block.known
    assert (block.low, block.high, block.p_none) == (0, math.inf, 1)
    assert unit.unbiased == pytest.approx(without.tiers[0].unbiased)
    assert "processes and sets of connections" in found.words()


def test_with_one_unit_nothing_is_known_about_processes() -> None:
    values, tiers = nested(np.random.default_rng(3), [[4, 4]], (0.05, 0, 0.08))
    found = estimate_components(values, tiers)
    assert not found.known and found.tiers[2].known
    assert found.shares() == {} and "two server processes" in found.words()


def test_units_of_separate_runs_are_rows() -> None:
    found = estimate_components([0.1, 0.3, math.nan, 0.2], {}, row="unit")
    assert found.tiers[0].variance == pytest.approx(0.01)
    assert found.tiers[0].in_mean == pytest.approx(1 / 3)
    assert shares(found) == [(100, "server processes")]


def test_copies_of_the_data_are_a_tier_above_units() -> None:
    chance = np.random.default_rng(4)
    estimates = []
    for _ in range(200):
        copies = np.repeat(chance.normal(0, 0.05, 6), 6)
        units = copies + np.repeat(chance.normal(0, 0.03, 18), 2)
        found = estimate_components(
            units + chance.normal(0, 0.02, 36),
            {"copy": np.repeat(range(6), 6).tolist(), "unit": np.repeat(range(18), 2).tolist()},
        )
        estimates.append([c.unbiased for c in found.tiers])
    assert np.mean(estimates, axis=0) == pytest.approx([0.05**2, 0.03**2, 0.02**2], rel=0.15)


def test_shares_add_up_to_100_and_the_largest_comes_first() -> None:
    found, thirds = (
        Components(tuple(map(component, ("unit", "block", "round"), variances)), 1, 1, 0.95)
        for variances in ((0.0035, 0.0005, 0.006), (1.0, 1.0, 1.0))
    )
    assert shares(found) == [(60, "slices"), (35, "server processes"), (5, "sets of connections")]
    assert sum(percent for percent, _ in shares(thirds)) == 100


def test_the_common_part_does_not_average_out_over_contexts() -> None:
    found = Components((component("unit", 0.01), component("round", 0.01)), 0.5, 1, 0.95)
    assert found.of_a_level("unit", 4) == pytest.approx(0.01 * (0.5 + 0.5 / 4))
    assert found.of_a_level("round", 4) == pytest.approx(0.01 / 4)
    assert found.of_a_level("block", 4) == 0
    assert found.shares(4)["unit"] == pytest.approx(0.625 / 0.875)


def test_equal_repeats_have_no_noise() -> None:
    found = estimate_components([0.1] * 8, {"unit": [0, 0, 1, 1, 2, 2, 3, 3]})
    assert found.shares() == {} and "no noise" in found.words()


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="one label"):
        estimate_components([0.1, 0.2], {"unit": [0]})
    with pytest.raises(ValueError, match="above the row"):
        estimate_components([0.1], {"server": [0]})
    with pytest.raises(ValueError, match="above the row"):
        estimate_components([0.1], {"block": [0]}, row="unit")
    with pytest.raises(ValueError, match="finite"):
        estimate_components([math.inf], {"unit": [0]})
    with pytest.raises(ValueError, match="at least one"):
        estimate_components([math.nan], {"unit": [0]})
