"""Do the promised frequencies hold? Simulated experiments with a known truth and a fixed seed.

The noise is that of a host as we know it: a run effect of 1.2 % and a slow drift that both runs of
a pair share.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from contend.stats import (
    compare,
    compare_family,
    estimate,
    hodges_lehmann,
    minimal_detectable_effect,
    sign_flip_p,
)

SIMULATIONS = 3000
RUN_SD, DRIFT_SD = 0.012, 0.003


def experiment(
    chance: np.random.Generator, ratio: float, n: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    drift = np.cumsum(chance.normal(0, DRIFT_SD, n))
    baseline = np.exp(drift + chance.normal(0, RUN_SD, n))
    level = ratio * np.exp(drift + chance.normal(0, RUN_SD, n))
    return 20_000 * baseline, 20_000 * level


@pytest.mark.parametrize("ratio", [1.0, 1.03, 2.4])
@pytest.mark.parametrize("n", [6, 8])
def test_the_interval_of_a_ratio_covers_the_truth_in_95_of_100(ratio: float, n: int) -> None:
    chance = np.random.default_rng(303)
    covered = 0
    for _ in range(SIMULATIONS):
        result = compare(*experiment(chance, ratio, n))
        covered += result.low <= ratio <= result.high
    assert 0.93 <= covered / SIMULATIONS <= 0.97


def test_the_interval_of_a_mean_covers_the_truth_in_95_of_100() -> None:
    chance = np.random.default_rng(303)
    covered = 0
    for _ in range(SIMULATIONS):
        result = estimate(chance.normal(100, 2, 8))
        covered += result.low <= 100 <= result.high
    assert 0.93 <= covered / SIMULATIONS <= 0.97


def test_a_cell_compared_with_itself_differs_in_5_of_100() -> None:
    chance = np.random.default_rng(1)
    p = [compare(*experiment(chance, 1.0)).p_value for _ in range(SIMULATIONS)]
    assert 0.04 <= np.mean(np.array(p) < 0.05) <= 0.06
    # p is uniform where nothing differs, not only small 5 % of the time.
    assert np.histogram(p, bins=10, range=(0, 1))[0].min() > 0.8 * SIMULATIONS / 10


def test_a_whole_table_of_equal_cells_makes_a_false_claim_in_at_most_5_of_100() -> None:
    chance = np.random.default_rng(2)
    tables = 300
    false = 0
    for _ in range(tables):
        family = [compare(*experiment(chance, 1.0)) for _ in range(42)]
        claims = {c.verdict for c in compare_family(family)}
        false += bool(claims & {"higher", "lower"})
    assert false / tables <= 0.08


def test_a_difference_at_the_margin_is_called_equivalent_in_at_most_5_of_100() -> None:
    chance = np.random.default_rng(3)
    wrong = 0
    for _ in range(SIMULATIONS):
        wrong += compare(*experiment(chance, 1.02), margin=0.02).verdict == "equivalent"
    assert wrong / SIMULATIONS <= 0.06


def test_what_is_said_to_be_detectable_is_detected_in_4_of_5() -> None:
    """The pairs' standard deviation is sqrt(2) times that of a run."""
    effect = minimal_detectable_effect(RUN_SD * 2**0.5, 8)
    chance = np.random.default_rng(4)
    seen = 0
    for _ in range(SIMULATIONS):
        seen += compare(*experiment(chance, 1 + effect)).p_value < 0.05
    assert 0.78 <= seen / SIMULATIONS <= 0.82


def test_the_twins_keep_their_promises_too() -> None:
    chance = np.random.default_rng(5)
    covered = rejected = 0
    simulations = 1000
    for _ in range(simulations):
        pairs = experiment(chance, 1.0)
        rejected += sign_flip_p(*pairs) < 0.05
        interval = hodges_lehmann(*pairs)
        covered += interval.low <= 1.0 <= interval.high
    assert 0.03 <= rejected / simulations <= 0.07
    assert 0.94 <= covered / simulations <= 0.985


def test_why_seconds_of_one_run_are_not_taken_as_runs() -> None:
    """The page on statistics warns of this: identical servers differ in about half of all cases."""
    chance = np.random.default_rng(6)

    def seconds_of_a_run() -> np.ndarray:
        values, level = np.empty(60), 0.0
        for second in range(60):
            level = 0.6 * level + chance.normal(0, 0.02 * 0.8)
            values[second] = level
        return 1000 * np.exp(values + chance.normal(0, 0.008))

    wrong = sum(
        reference.ttest_ind(seconds_of_a_run(), seconds_of_a_run(), equal_var=False).pvalue < 0.05
        for _ in range(400)
    )
    assert 0.4 <= wrong / 400 <= 0.7


def test_why_nobody_stops_when_it_is_significant() -> None:
    """Looking after every pair from the fifth to the fortieth finds a difference in a quarter."""
    chance = np.random.default_rng(7)
    wrong = 0
    for _ in range(200):
        baseline, level = experiment(chance, 1.0, 40)
        d = np.log(level / baseline)
        wrong += any(reference.ttest_1samp(d[:n], 0).pvalue < 0.05 for n in range(5, 41))
    assert 0.18 <= wrong / 200 <= 0.35
