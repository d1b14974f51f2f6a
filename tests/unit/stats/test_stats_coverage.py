"""Do the promised frequencies hold? Simulated experiments with a known truth and a fixed seed.

The noise is that of a host as we know it: a run effect of 1.2 % and a slow drift that both runs of
a pair share.
"""

from __future__ import annotations

import numpy as np
from scipy import stats as reference

from contend.stats import estimate, hodges_lehmann, sign_flip_p

SIMULATIONS = 3000
RUN_SD, DRIFT_SD = 0.012, 0.003


def experiment(
    chance: np.random.Generator, ratio: float, n: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    drift = np.cumsum(chance.normal(0, DRIFT_SD, n))
    baseline = np.exp(drift + chance.normal(0, RUN_SD, n))
    level = ratio * np.exp(drift + chance.normal(0, RUN_SD, n))
    return 20_000 * baseline, 20_000 * level


def test_the_interval_of_a_mean_covers_the_truth_in_95_of_100() -> None:
    chance = np.random.default_rng(303)
    covered = 0
    for _ in range(SIMULATIONS):
        result = estimate(chance.normal(100, 2, 8))
        covered += result.low <= 100 <= result.high
    assert 0.93 <= covered / SIMULATIONS <= 0.97


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


def test_seconds_of_one_run_do_not_count_as_runs() -> None:
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


def test_stopping_at_significance_finds_false_differences() -> None:
    """Looking after every pair from the fifth to the fortieth finds a difference in a quarter."""
    chance = np.random.default_rng(7)
    wrong = 0
    for _ in range(200):
        baseline, level = experiment(chance, 1.0, 40)
        d = np.log(level / baseline)
        wrong += any(reference.ttest_1samp(d[:n], 0).pvalue < 0.05 for n in range(5, 41))
    assert 0.18 <= wrong / 200 <= 0.35
