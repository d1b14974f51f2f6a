"""Runs that share no unit: each with its own scatter, and what sessions of its host differ by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from contend.errors import RequestError
from contend.findings import Family, Side, run_over_run
from contend.metrics import metric_of
from contend.stats import Between, Session, between, welch

FAMILY = Family("first", 0.95, 0.95)
QPS = metric_of("qps")


def sessions(tau: float, count: int = 6) -> Between:
    apart = np.linspace(-1, 1, count)
    apart *= tau / np.std(apart, ddof=1)
    found = between([Session(float(one), tau / 100, 7) for one in apart])
    assert found is not None
    return found


def drawn(
    chance: np.random.Generator, units: int, mean: float = 0.0, sd: float = 0.02
) -> list[float]:
    return [float(one) for one in chance.normal(mean, sd, units)]


def test_it_is_welchs_interval() -> None:
    chance = np.random.default_rng(1)
    one, other = drawn(chance, 6, 0.1, 0.05), drawn(chance, 11)
    found = welch(one, other)
    theirs = scipy_stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert math.log(found.low) == pytest.approx(theirs.low)
    assert math.log(found.high) == pytest.approx(theirs.high)
    p = scipy_stats.ttest_ind(one, other, equal_var=False).pvalue
    assert found.p_sign_flip == pytest.approx(p)
    assert found.n == 6 and not found.twins_disagree


def test_without_the_hosts_spread_there_is_no_verdict_and_it_is_said() -> None:
    chance = np.random.default_rng(2)
    one, other = Side("monday", drawn(chance, 8, 0.3)), Side("tuesday", drawn(chance, 8))
    found = run_over_run(QPS, {"load.connections": 8}, one, other, FAMILY)
    assert found.change.low > 1.2 and found.tone == "open" and found.word == ""
    assert "monday and tuesday" in found.without and "not known" in found.without
    assert (found.contrast.kind, found.level, found.baseline) == ("runs", "monday", "tuesday")
    known = Side("monday", one.logs, sessions(0.01)), Side("tuesday", other.logs, sessions(0.01))
    decided = run_over_run(QPS, {}, *known, FAMILY)
    assert decided.word == "faster" and decided.without == ""
    assert decided.change.low < found.change.low and decided.change.high > found.change.high


def test_sessions_that_differ_by_more_than_the_runs_make_it_uncertain() -> None:
    chance = np.random.default_rng(3)
    logs = drawn(chance, 8, 0.05), drawn(chance, 8)
    calm = [Side(name, one, sessions(0.002)) for name, one in zip("ab", logs, strict=True)]
    restless = [Side(name, one, sessions(0.08)) for name, one in zip("ab", logs, strict=True)]
    assert run_over_run(QPS, {}, *calm, FAMILY).word == "faster"
    assert run_over_run(QPS, {}, *restless, FAMILY).tone == "inconclusive"
    # Several contrasts of one family each have a part of its error.
    alone, among = (run_over_run(QPS, {}, *calm, FAMILY, members=m).change for m in (1, 20))
    assert among.low < alone.low < alone.high < among.high


def test_of_runs_that_differ_by_their_sessions_alone_five_in_a_hundred_are_missed() -> None:
    """With a spread that is estimated from six other sessions each."""
    chance, tau, missed, draws = np.random.default_rng(4), 0.03, 0, 600
    for _ in range(draws):
        sides = []
        for name in "ab":
            apart = chance.normal(0, tau, 6) + chance.normal(0, 0.007, 6)
            spread = between([Session(float(one), 0.007, 7) for one in apart])
            own = chance.normal(0, tau)
            sides.append(Side(name, drawn(chance, 8, own), spread))
        change = run_over_run(QPS, {}, *sides, FAMILY).change
        missed += not change.low <= 1 <= change.high
    assert 0.02 <= missed / draws <= 0.085


@pytest.mark.parametrize("units", [0, 1])
def test_one_unit_gives_no_interval(units: int) -> None:
    with pytest.raises(RequestError) as refused:
        run_over_run(QPS, {}, Side("new", [0.0] * units), Side("old", [0.0, 0.1]), FAMILY)
    assert refused.value.message.startswith(f"new has {units} of the two units of qps")
    assert "two repeats" in (refused.value.hint or "")
