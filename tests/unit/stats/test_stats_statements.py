"""Changes of many statements: which are claimed, and intervals that say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as reference
from scipy.stats import false_discovery_control

from contend.stats import StatementChanges, statement_changes


def alike(d: np.ndarray) -> StatementChanges:
    """The changes if all pairs scatter alike."""
    return statement_changes(d, np.full(d.shape, 0.01))


def test_two_statements_by_hand() -> None:
    """Both have the variance 1 (times 1e-4) in three repeats, so the common one is 1 too and no
    variance differs by more than chance."""
    d = np.array([[0.09, -0.01], [0.10, 0.01], [0.11, 0.0]])
    found = alike(d)
    assert found.mean == pytest.approx([0.10, 0.0])
    assert list(found.n) == [3, 3]
    assert found.df[0] == found.df[1]
    t = found.mean / found.se
    assert found.p == pytest.approx(2 * reference.t.sf(np.abs(t), found.df))
    assert list(found.picked) == [True, False]
    # One of two: each may err with 0.05 * 1 / 2; the other needs 0.05 * 2 / 2.
    assert found.confidence == pytest.approx([0.975, 0.95])
    half = reference.t.isf([0.0125, 0.025], found.df) * found.se
    assert found.low == pytest.approx(found.mean - half)
    assert found.high == pytest.approx(found.mean + half)


def test_statements_of_equal_variance_have_the_pooled_t() -> None:
    """Orthogonal deviations of one size: 40 statements have the variance of all of them, with
    nearly all their degrees of freedom."""
    chance = np.random.default_rng(1)
    deviations = np.array([[1.0, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
    kinds = chance.permutation(np.repeat(np.arange(3), 40))
    d = 0.01 * deviations[kinds].T
    d[:, 7] += 0.04
    found = alike(d)
    pooled = math.sqrt(4 * 0.01**2 / 3 / 4)
    # A variance's logarithm is lower than the variance's by chance, which members that agree
    # exactly do not show.
    assert found.se / pooled == pytest.approx(np.full(120, found.se[0] / pooled))
    assert 1 <= found.se[0] / pooled < 1.3
    assert found.df.min() > 60
    assert list(np.flatnonzero(found.picked)) == [7]


def test_one_slower_statement_of_forty_is_found_in_four_repeats() -> None:
    """A plain t needs ten standard errors and there are six."""
    chance = np.random.default_rng(2)
    studies, found, plain = 60, 0, 0
    for _ in range(studies):
        d = chance.normal(0, 0.03, (4, 40))
        d[:, 11] += math.log(1.1)
        found += bool(alike(d).picked[11])
        p = reference.ttest_1samp(d, 0, axis=0).pvalue
        plain += bool((false_discovery_control(p) <= 0.05)[11])
    assert found >= 0.9 * studies
    assert plain <= 0.4 * studies


def test_what_the_pairs_show_decides_what_is_alike() -> None:
    """Every second statement has a tenth of the others' scatter, which its pairs show."""
    chance = np.random.default_rng(7)
    sd = np.where(np.arange(40) % 2, 0.003, 0.03)
    studies, found, without, wrong = 60, 0, 0, 0
    for _ in range(studies):
        d = chance.normal(0, sd, (4, 40))
        within = sd**2 * chance.chisquare(10, d.shape) / 10
        wrong += bool(statement_changes(d, within).picked.any())
        d[:, 11] += 0.012
        found += bool(statement_changes(d, within).picked[11])
        without += bool(alike(d).picked[11])
    assert found >= 0.85 * studies
    assert without <= 0.5 * studies
    assert wrong <= 8


def test_variances_of_the_pairs_that_are_unknown_are_the_usual_ones() -> None:
    chance = np.random.default_rng(8)
    d = chance.normal(0, 0.02, (4, 10))
    within = np.full(d.shape, 0.01)
    known = statement_changes(d, within)
    within[:, 3], within[1, 4], within[:, 5] = math.nan, math.nan, 0.0
    assert statement_changes(d, within).se == pytest.approx(known.se)
    nothing = statement_changes(d, np.full(d.shape, math.nan))
    assert nothing.se == pytest.approx(known.se)
    assert nothing.p == pytest.approx(known.p)


SCENES = ["alike", "shift", "only shift", "noisy", "growing"]


def null(chance: np.random.Generator, scene: str, repeats: int) -> np.ndarray:
    """Log-ratios of 40 statements on equal servers."""
    d = chance.normal(0, 0.02, (repeats, 40))
    match scene:
        case "shift":
            d += chance.normal(0, 0.02, (repeats, 1))
        case "only shift":
            d = d / 10 + chance.normal(0, 0.02, (repeats, 1))
        case "noisy":
            d[:, :4] *= 10
        case "growing":
            d *= np.exp(np.linspace(-1, 1, 40))
    return d


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("repeats", [2, 4, 8])
def test_equal_servers_are_rarely_claimed_to_differ(scene: str, repeats: int) -> None:
    chance = np.random.default_rng([3, SCENES.index(scene), repeats])
    studies = 300
    wrong = sum(bool(alike(null(chance, scene, repeats)).picked.any()) for _ in range(studies))
    # 5 % and three standard errors.
    assert wrong <= studies * 0.05 + 3 * math.sqrt(studies * 0.05 * 0.95)


def test_one_repeat_says_nothing() -> None:
    found = alike(np.array([[0.5, -2.0, math.nan]]))
    assert found.tested == 0
    assert not found.picked.any()
    assert np.isnan(found.p).all()
    assert list(found.n) == [1, 1, 0]
    assert np.isneginf(found.low).all() and np.isposinf(found.high).all()


def test_missing_repeats_count_where_they_are() -> None:
    chance = np.random.default_rng(4)
    d = chance.normal(0, 0.02, (6, 20))
    d[:, 3] += 0.3
    d[2, 3] = math.nan
    d[1:, 5] = math.nan
    d[:, 6] = math.nan
    found = alike(d)
    assert found.mean[3] == pytest.approx(np.nanmean(d[:, 3]))
    assert (found.n[3], found.n[5], found.n[6]) == (5, 1, 0)
    assert found.tested == 18
    assert found.picked[3]
    assert not found.picked[[5, 6]].any()
    assert math.isinf(found.high[5]) and math.isinf(found.low[6])


def test_statements_without_scatter_are_not_tested() -> None:
    chance = np.random.default_rng(5)
    d = chance.normal(0, 0.02, (4, 40))
    alone = alike(d[:, 2:])
    d[:, 0] = 0.004
    d[:, 1] = 0.0
    found = alike(d)
    assert np.isnan(found.p[:2]).all()
    assert found.mean[0] == pytest.approx(0.004)
    assert found.tested == 38
    assert found.se[2:] == pytest.approx(alone.se)
    assert alike(np.zeros((5, 8))).tested == 0


def tables() -> st.SearchStrategy[np.ndarray]:
    value = st.one_of(st.just(math.nan), st.just(0.0), st.floats(-3, 3))
    shape = st.tuples(st.integers(1, 8), st.integers(1, 12))
    return shape.flatmap(lambda of: arrays(float, of, elements=value))


@settings(deadline=None)
@given(tables(), st.sampled_from([0.0, 0.1, 2.0]))
def test_verdict_and_interval_always_agree(d: np.ndarray, added: float) -> None:
    d[:, : d.shape[1] // 2] += added
    found = alike(d)
    excludes = (found.low > 0) | (found.high < 0)
    assert list(excludes) == list(found.picked)
    assert (found.low <= found.high).all()
    assert found.tested == int(np.sum(np.isfinite(found.p)))
    assert (np.isinf(found.high) == np.isnan(found.p)).all()
    assert (found.n[np.isfinite(found.p)] > 1).all()
    turned = alike(-d)
    assert list(turned.picked) == list(found.picked)
    assert turned.low == pytest.approx(-found.high)


def test_a_table_is_asked_for() -> None:
    for d, within in ((np.zeros(4), np.zeros(4)), (np.zeros((4, 2)), np.zeros((4, 1)))):
        with pytest.raises(ValueError, match="table"):
            statement_changes(d, within)
