"""Does the answer of a table keep its promises? Simulated tables with a known truth, fixed seeds.

Units are sets of processes: what a process is faster or slower by for life, all its cells share.
Cells add their own noise of 2 %. Tables have three rows, seven columns and two levels, so that 84
intervals hold together, on eight units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from contend.stats.change import Change, read_verdict
from contend.stats.contrasts import Depth, TableShape, chances, places, weights
from contend.stats.family import family_of
from contend.stats.table import advantages, answer_table, answer_tables
from contend.stats.unit_errors import adjust, units_of

MAIN = TableShape(rows=3, columns=7)
UNITS, LEVELS, NOISE_SD = 8, 2, 0.02
CONTRASTS = places(MAIN, LEVELS)
CHANCES = chances(MAIN, LEVELS, 0.95)
WEIGHTS = {depth: weights(of, MAIN) for depth, of in CONTRASTS.items()}


def tables(
    seed: int,
    count: int,
    *,
    process_sd: float,
    missing: float = 0.0,
    noise: np.ndarray | float = 1.0,
    units: int = UNITS,
) -> Iterator[np.ndarray]:
    """Log-ratios of tables in which nothing differs. What is missing stays so for 50 tables."""
    chance = np.random.default_rng(seed)
    size = (units, MAIN.contexts, LEVELS + 1)
    lost = np.zeros(size[:2], dtype=bool)
    for i in range(count):
        y = chance.normal(0, NOISE_SD, size) * noise
        y += chance.normal(0, process_sd, (units, 1, LEVELS + 1))
        d = y[:, :, 1:] - y[:, :, :1]
        if missing and i % 50 == 0:
            lost = chance.random(size[:2]) < missing
        d[lost] = np.nan
        yield d


def misses(d: np.ndarray, truth: np.ndarray) -> dict[Depth, bool]:
    """Of each depth: whether any of its intervals misses the truth (contexts x levels)."""
    units = units_of(adjust(d + truth, ()))
    found: dict[Depth, bool] = {}
    for depth, contrasts in CONTRASTS.items():
        family = family_of(units, contrasts, WEIGHTS[depth], CHANCES[depth])
        true = np.sum(WEIGHTS[depth] * truth.T[[place.level for place in contrasts]], axis=1)
        off = np.abs(family.errors.estimate - true)
        assert np.all(family.df > 0)
        found[depth] = bool(np.any(off > family.critical * family.se))
    return found


@dataclass
class Tally:
    tables: int
    any_false: int
    by_depth: dict[Depth, int]


TRUTH = np.random.default_rng(99).normal(0, 0.1, (MAIN.contexts, LEVELS))
"""A change of its own in each cell: an interval that misses it would be a false claim of the same
table without changes, because only differences from the truth matter."""


def tally(of: Iterator[np.ndarray]) -> Tally:
    result = Tally(0, 0, dict.fromkeys(CONTRASTS, 0))
    for d in of:
        found = misses(d, TRUTH)
        result.tables += 1
        result.any_false += any(found.values())
        for depth, missed in found.items():
            result.by_depth[depth] += missed
    return result


def holds(result: Tally) -> None:
    """At most 5 of 100 tables in all; of each depth no more than its share and three standard
    errors of a share that is counted."""
    assert result.any_false <= 0.05 * result.tables, result
    for depth, count in result.by_depth.items():
        p = CHANCES[depth]
        allowed = p + 3 * (p * (1 - p) / result.tables) ** 0.5
        assert count <= allowed * result.tables, (depth, result)


def test_tables_of_equal_cells_make_a_false_claim_in_at_most_5_of_100() -> None:
    """500 tables, processes that differ by 0 to 4 %. Seen: 2 to 3 of 100 (in 1,000)."""

    def all_tables() -> Iterator[np.ndarray]:
        for seed, process_sd in enumerate([0.0, 0.01, 0.02, 0.04]):
            yield from tables(1000 + seed, 125, process_sd=process_sd)

    holds(tally(all_tables()))


@pytest.mark.parametrize("process_sd", [0.0, 0.03])
def test_they_do_not_if_one_cell_in_twenty_is_missing(process_sd: float) -> None:
    holds(tally(tables(2001, 100, process_sd=process_sd, missing=0.05)))


def test_they_do_not_if_noise_grows_with_load_and_processes_differ() -> None:
    """Seven columns; the last is 4.5 times as noisy as the first."""
    grows = np.tile([1, 1, 1, 1.5, 2, 3, 4.5], 3)[None, :, None]
    holds(tally(tables(3001, 150, process_sd=0.02, noise=grows)))


@pytest.mark.parametrize("times", [3, 5])
def test_they_do_not_if_one_cell_is_far_noisier_than_the_others(times: int) -> None:
    """Drawn towards the quiet ones, its variance would be too low: cells then are wrong in 4 to 7
    of 100 tables instead of 1."""
    noise = np.ones(MAIN.contexts)
    noise[10] = times
    result = tally(tables(3101 + times, 150, process_sd=0.0, noise=noise[None, :, None]))
    holds(result)


def test_they_do_not_with_three_units() -> None:
    holds(tally(tables(4001, 100, process_sd=0.02, units=3)))


def test_a_null_table_s_verdicts_are_never_higher_or_lower_in_95_of_100() -> None:
    """The whole function, with its verdicts, and the claim that the largest cell stands out."""
    false = stands_out = 0
    count = 60
    for d in tables(5001, count, process_sd=0.01):
        false += any(c.verdict in ("higher", "lower") for c in answer_table(d, MAIN).changes)
        stands_out += any(c.verdict in ("higher", "lower") for c in advantages(d, MAIN))
    assert false <= 0.05 * count + 2
    assert stands_out <= 0.01 * count + 2


@pytest.mark.parametrize(("contexts", "process_sd"), [(1, 0.0), (6, 0.02)])
@pytest.mark.parametrize("levels", [3, 5])
def test_levels_that_are_equal_seldom_differ_from_each_other(
    contexts: int, process_sd: float, levels: int
) -> None:
    """All pairs hold together, so the best level may be picked after it was seen. Each of the
    others tested against it at 5 % says "differs" in 12 to 14 of 100 experiments of three levels,
    and in 27 to 29 of five."""
    shape, chance = TableShape(1, contexts), np.random.default_rng(9100 + levels)
    false, count = 0, 150
    for _ in range(count):
        y = chance.normal(0, NOISE_SD, (UNITS, contexts, levels + 1))
        y += chance.normal(0, process_sd, (UNITS, 1, levels + 1))
        answer = answer_table(y[:, :, 1:] - y[:, :, :1], shape)
        best = max(range(levels), key=lambda one: answer.whole(one).ratio)
        others = [answer.pair(best, one) for one in range(levels) if one != best]
        false += any(one.verdict in ("higher", "lower") for one in others)
    p = chances(shape, levels, 0.95)["pair"]
    assert false <= (p + 3 * (p * (1 - p) / count) ** 0.5) * count


def test_tables_of_many_statements_hold_together() -> None:
    """Twelve statements that a level does not change, some far noisier than others: each for itself
    would be called changed in one of three experiments."""
    shape, chance = TableShape(1, 2), np.random.default_rng(9200)
    noise = np.array([1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 8])
    false, count = 0, 300
    for _ in range(count):
        y = chance.normal(0, NOISE_SD, (UNITS, 2, 2, 12)) * noise
        y += chance.normal(0, 0.01, (UNITS, 1, 2, 1))
        d = np.moveaxis(y[:, :, 1:] - y[:, :, :1], 3, 0)
        false += any(
            change.verdict in ("higher", "lower")
            for answer in answer_tables(list(d), shape)
            for change in answer.changes
        )
    assert false <= (0.05 + 3 * (0.05 * 0.95 / count) ** 0.5) * count


def detected(seed: int, process_sd: float, pick: str) -> tuple[float, float]:
    """What is printed as detectable (median over tables), and how often it then is found."""
    shape = TableShape(2, 3)
    chance = np.random.default_rng(seed)

    def change(truth: float) -> Change:
        y = chance.normal(0, NOISE_SD, (UNITS, 6, 2))
        y += chance.normal(0, process_sd, (UNITS, 1, 2))
        answer = answer_table(y[:, :, 1:] - y[:, :, :1] + truth, shape)
        return answer.whole(0) if pick == "whole" else answer.cell(0, 1, 1)

    printed = float(np.median([change(0.0).detectable for _ in range(100)]))
    found = [change(np.log1p(printed)).verdict == "higher" for _ in range(200)]
    return printed, float(np.mean(found))


@pytest.mark.parametrize(("pick", "process_sd"), [("whole", 0.0), ("whole", 0.02), ("cell", 0.02)])
def test_a_detectable_change_is_found_in_4_of_5(pick: str, process_sd: float) -> None:
    """By its verdict, which a change inside the margin does not get."""
    printed, found = detected(6001, process_sd, pick)
    assert printed > 0.015
    assert 0.72 <= found <= 0.9


def test_a_change_beyond_the_margin_is_not_called_equivalent() -> None:
    """3 % at a margin of 2 %, and a change exactly at the margin, on units quiet enough to call
    nothing at all equivalent."""
    equivalent = {0.0: 0, 0.02: 0, 0.03: 0}
    count = 150
    for d in tables(7001, count, process_sd=0.005):
        units = units_of(adjust(d, ()))
        family = family_of(units, CONTRASTS["whole"], WEIGHTS["whole"], CHANCES["whole"])
        half = family.critical * family.se
        for change in equivalent:
            middle = family.errors.estimate + np.log1p(change)
            bounds = zip(np.exp(middle - half), np.exp(middle + half), strict=True)
            words = [read_verdict(low, high, 0.02) for low, high in bounds]
            equivalent[change] += "equivalent" in words
    assert equivalent[0.03] == 0
    assert equivalent[0.02] <= CHANCES["whole"] * count + 2
    assert equivalent[0.0] > 0.8 * count


def test_estimates_are_unbiased_with_and_without_missing_cells() -> None:
    for missing in (0.0, 0.1):
        errors = []
        for d in tables(8001, 200, process_sd=0.02, missing=missing):
            units = units_of(adjust(d + TRUTH, ()))
            family = family_of(units, CONTRASTS["whole"], WEIGHTS["whole"], CHANCES["whole"])
            errors.append(family.errors.estimate - TRUTH.mean(axis=0))
        off = np.mean(errors, axis=0)
        assert np.all(np.abs(off) < 3 * np.std(errors, axis=0) / len(errors) ** 0.5)
        # A fifth of the half-width is what a user would notice.
        assert np.all(np.abs(off) < 0.2 * np.mean(family.critical * family.se))


def test_effects_that_cross_are_found_although_their_mean_is_nil() -> None:
    crossing = np.tile([-0.04, -0.04, -0.04, 0.0, 0.04, 0.04, 0.04], 3)[:, None]
    found = 0
    count = 40
    for d in tables(9001, count, process_sd=0.005):
        answer = answer_table(d + crossing, MAIN)
        found += (
            answer.columns(0, 4, 6).verdict == "higher"
            and answer.columns(0, 0, 2).verdict == "lower"
        )
    assert found >= 0.9 * count


def test_intervals_hold_with_a_covariate_whose_slope_is_only_estimated() -> None:
    """A neighbour that differs from unit to unit, alike in all its cells: eight units have eight
    values of it, and it is separated from the change only if its mean is near 0.
    """
    chance = np.random.default_rng(10_001)
    missed, count = 0, 300
    for d in tables(10_001, count, process_sd=0.02):
        stolen = chance.normal(0.02, 0.05, (UNITS, 1, LEVELS)) + chance.normal(0, 0.01, d.shape)
        units = units_of(adjust(d - 0.8 * stolen, [stolen]))
        family = family_of(units, CONTRASTS["whole"], WEIGHTS["whole"], CHANCES["whole"])
        missed += bool(np.any(np.abs(family.errors.estimate) > family.critical * family.se))
    assert missed <= 0.04 * count
