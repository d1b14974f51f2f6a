"""Screens of many lines and crossings of a few: designs by their properties, estimates without
noise and with it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from contend.stats import (
    Change,
    crossing_pairs,
    fitted,
    screen_effects,
    screen_rows,
    sum_of,
    together,
)
from contend.stats.crossing import Corner
from contend.stats.fit import DF_MIN

JUDGED = {"confidence": 0.95, "margin": 0.02}
effect = st.floats(-0.3, 0.3)


def rounds(lines: int, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and places of so many pairs; the places are exchanged in each round."""
    rows = screen_rows(lines)
    count, at = np.divmod(np.arange(pairs), len(rows))
    return rows[at], 1 - 2 * (count % 2)


def edges(m: int, pairs: int) -> tuple[list[tuple[Corner, Corner]], np.ndarray]:
    order = crossing_pairs(m)
    count, at = np.divmod(np.arange(pairs), len(order))
    return [order[edge] for edge in at], 1 - 2 * (count % 2)


def logs(changes: tuple[Change, ...]) -> list[float]:
    return [math.log(one.ratio) for one in changes]


@pytest.mark.parametrize("lines", range(2, 32))
def test_columns_are_orthogonal_to_each_other_and_to_the_constant(lines: int) -> None:
    rows = screen_rows(lines)
    order = len(rows)
    assert rows.dtype == np.int8 and set(np.unique(rows)) == {-1, 1}
    assert order % 4 == 0 and lines < order <= lines + 4
    assert np.all(rows[0] == 1)
    whole = np.column_stack((np.ones(order), rows))
    assert np.array_equal(whole.T @ whole, order * np.eye(lines + 1))


@pytest.mark.parametrize("lines", [-1, 0, 1, 32])
def test_other_numbers_of_lines_are_refused(lines: int) -> None:
    with pytest.raises(ValueError, match="2 to 31"):
        screen_rows(lines)


@given(data=st.data(), lines=st.integers(2, 31))
@settings(max_examples=30)
def test_effects_are_recovered_and_what_two_lines_do_together_cancels(
    data: st.DataObject, lines: int
) -> None:
    """The metric is computed from dummies (0 old, 1 new), as a server would."""
    alone = np.array(data.draw(st.lists(effect, min_size=lines, max_size=lines)))
    i, j = np.triu_indices(lines, 1)
    both = np.random.default_rng(lines).normal(0, 0.1, len(i))
    x, place = rounds(lines, 2 * len(screen_rows(lines)))

    def metric(signs: np.ndarray) -> np.ndarray:
        new = (signs + 1) / 2
        return np.asarray(7 + new @ alone + (new[:, i] * new[:, j]) @ both)

    y = metric(x) - metric(-x) + 0.05 * place
    # Half of what two lines do together counts for each.
    of_each = alone + [both[(i == line) | (j == line)].sum() / 2 for line in range(lines)]
    changes = screen_effects(y, x, place, **JUDGED)
    assert logs(changes) == pytest.approx(of_each, abs=1e-9)
    assert all(one.low <= math.exp(e) <= one.high for one, e in zip(changes, of_each, strict=True))
    everything = metric(np.ones((1, lines)))[0] - metric(-np.ones((1, lines)))[0]
    total = sum_of(y, x, place, range(lines), **JUDGED)
    assert math.log(total.ratio) == pytest.approx(everything, abs=1e-8)
    some = sum_of(y, x, place, [1], **JUDGED)
    assert math.log(some.ratio) == pytest.approx(of_each[1], abs=1e-9)


def test_what_three_lines_do_together_does_not_cancel() -> None:
    x, place = rounds(7, 16)
    three = np.prod(x[:, :3], axis=1)
    assert np.array_equal(three - np.prod(-x[:, :3], axis=1), 2 * three)
    changes = screen_effects(0.1 * three, x, place, **JUDGED)
    assert max(map(abs, logs(changes))) > 0.01


def test_an_interval_is_that_of_least_squares() -> None:
    """Two contrasts of an unbalanced design against the textbook's formulas."""
    chance = np.random.default_rng(4)
    x = chance.normal(size=(20, 3))
    y = x @ [0.1, 0.0, -0.1] + chance.normal(0, 0.05, 20)
    contrasts = np.array([[1.0, 0, 0], [0, 1, -1]])
    inverse = np.linalg.inv(x.T @ x)
    parameters = inverse @ x.T @ y
    sd = math.sqrt(np.sum((y - x @ parameters) ** 2) / 17)
    changes = fitted(y, x, contrasts=contrasts, **JUDGED)
    for one, weights in zip(changes, contrasts, strict=True):
        se = sd * math.sqrt(weights @ inverse @ weights)
        assert math.log(one.ratio) == pytest.approx(weights @ parameters)
        half = reference.t.ppf(0.975, 17) * se
        assert math.log(one.alone.high / one.ratio) == pytest.approx(half)
        assert half < math.log(one.high / one.ratio) < half * 1.3
        t = abs(weights @ parameters) / se
        assert one.p_sign_flip == pytest.approx(2 * reference.t.sf(t, 17))
        assert (one.n, one.df, one.verdict is None) == (20, 17, False)
        assert not one.twins_disagree
    interim = fitted(y, x, contrasts=contrasts, interim=True, **JUDGED)
    assert [one.verdict for one in interim] == [None, None]
    assert [one.low for one in interim] == [one.low for one in changes]


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("pairs", [20, 48])
def test_all_intervals_hold_together(pairs: int, heavy: bool) -> None:
    """Also with an incomplete last round, and if one pair in twenty is wild."""
    chance = np.random.default_rng(1946)
    x, place = rounds(12, pairs)
    truth = np.log1p([0] * 9 + [0.05, -0.05, 0.1])
    held = wrong = 0
    for _ in range(300):
        noise = chance.normal(0, 0.04, pairs) * (1 + 4 * heavy * (chance.random(pairs) < 0.05))
        changes = screen_effects(x @ truth + noise, x, place, **JUDGED)
        pairs_of = list(zip(changes, truth, strict=True))
        held += all(one.low <= math.exp(e) <= one.high for one, e in pairs_of)
        wrong += any(one.verdict in ("higher", "lower") for one, e in pairs_of if e == 0)
    # Two standard deviations of such a count around 95 and 5 %; wild pairs may only widen.
    assert 0.925 <= held / 300 <= (1.0 if heavy else 0.975)
    assert wrong / 300 <= 0.075


def test_one_wild_pair_claims_nothing() -> None:
    x, place = rounds(12, 48)
    for wild in range(48):
        y = np.zeros(48)
        y[wild] = 2.0
        assert {one.verdict for one in screen_effects(y, x, place, **JUDGED)} == {"inconclusive"}


def test_a_lost_pair_is_left_out() -> None:
    chance = np.random.default_rng(8)
    x, place = rounds(5, 24)
    y = chance.normal(0, 0.05, 24)
    y[[3, 9]] = math.nan, math.inf
    kept = np.isfinite(y)
    lost = screen_effects(y, x, place, **JUDGED)
    assert lost == screen_effects(y[kept], x[kept], place[kept], **JUDGED)
    assert lost[0].n == 22 and lost[0].df == 16


@given(lines=st.integers(2, 31), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_no_line_has_an_interval_before_a_round_is_complete(lines: int, seed: int) -> None:
    order = len(screen_rows(lines))
    x, place = rounds(lines, order - 1)
    y = np.random.default_rng(seed).normal(0, 0.05, len(x))
    for pairs in (0, 1, order // 2, order - 1):
        for one in screen_effects(y[:pairs], x[:pairs], place[:pairs], **JUDGED):
            assert (one.low, one.high, one.df, one.verdict) == (0, math.inf, 0, "inconclusive")
            assert (one.n, one.detectable) == (pairs, math.inf)


def test_what_cannot_be_told_apart_has_no_interval() -> None:
    chance = np.random.default_rng(5)
    one, other = chance.normal(size=(2, 12))
    x = np.column_stack((one, one, other))
    contrasts = np.array([[1.0, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    first, both, third, none = fitted(chance.normal(size=12), x, contrasts=contrasts, **JUDGED)
    assert all(math.isnan(change.ratio) and change.low == 0 for change in (first, none))
    assert all(math.isfinite(change.high) and change.df == 10 for change in (both, third))


@given(values=st.lists(st.floats(-50, 50) | st.just(math.nan), max_size=40))
def test_any_pairs_give_an_answer(values: list[float]) -> None:
    x, place = rounds(3, len(values))
    for one in screen_effects(np.array(values), x, place, **JUDGED):
        assert math.isnan(one.ratio) or one.low <= one.ratio <= one.high
        assert one.df == 0 or one.df >= DF_MIN


def test_shapes_that_do_not_fit_are_refused() -> None:
    x = np.ones((4, 2))
    with pytest.raises(ValueError, match="per unit"):
        fitted(np.ones(3), x, contrasts=np.eye(2), **JUDGED)
    with pytest.raises(ValueError, match="per unit"):
        fitted(np.ones(4), x, contrasts=np.eye(3), **JUDGED)
    with pytest.raises(ValueError, match="finite"):
        fitted(np.ones(4), x * math.nan, contrasts=np.eye(2), **JUDGED)
    with pytest.raises(ValueError, match="2 to 4"):
        together(np.ones(1), [((0,), (1,))], 1, np.ones(1), **JUDGED)


@pytest.mark.parametrize(("m", "fewest"), [(2, 4), (3, 7), (4, 11)])
def test_a_round_has_every_edge_and_its_beginning_has_estimates(m: int, fewest: int) -> None:
    order = crossing_pairs(m)
    assert len({frozenset(pair) for pair in order}) == len(order) == m * 2 ** (m - 1)
    assert all(sum(a != b for a, b in zip(*pair, strict=True)) == 1 for pair in order)
    place = np.ones(len(order))
    for pairs in range(fewest, len(order) + 1):
        answer = together(np.zeros(pairs), order[:pairs], m, place[:pairs], **JUDGED)
        assert logs(answer.alone + answer.together) == pytest.approx([0.0] * (fewest - 1))
        has = {math.isfinite(one.high) for one in answer.together}
        assert has == {pairs >= fewest + DF_MIN}
    early = together(
        np.zeros(fewest - 1), order[: fewest - 1], m, place[:-1][: fewest - 1], **JUDGED
    )
    assert any(math.isnan(one.ratio) for one in early.alone + early.together)


@pytest.mark.parametrize("m", [1, 5])
def test_a_crossing_of_other_numbers_of_lines_is_refused(m: int) -> None:
    with pytest.raises(ValueError, match="2 to 4"):
        crossing_pairs(m)


@given(data=st.data(), m=st.integers(2, 4), more=st.integers(0, 30))
def test_a_crossing_recovers_what_lines_do_alone_and_together(
    data: st.DataObject, m: int, more: int
) -> None:
    """Also from an unbalanced beginning, and if the first place is faster."""
    two = list(itertools.combinations(range(m), 2))
    alone = np.array(data.draw(st.lists(effect, min_size=m, max_size=m)))
    both = np.array(data.draw(st.lists(effect, min_size=len(two), max_size=len(two))))
    pairs, place = edges(m, m + len(two) + 1 + DF_MIN + more)

    def metric(corner: Corner) -> float:
        return float(alone @ corner + both @ [corner[i] * corner[j] for i, j in two])

    y = np.array([metric(one) - metric(other) for one, other in pairs]) + 0.05 * place
    answer = together(y, pairs, m, place, **JUDGED)
    assert logs(answer.alone) == pytest.approx(alone, abs=1e-9)
    assert logs(answer.together) == pytest.approx(both, abs=1e-9)


@pytest.mark.parametrize(("m", "pairs"), [(2, 7), (3, 12), (4, 20)])
def test_lines_that_only_add_up_seldom_seem_to_work_together(m: int, pairs: int) -> None:
    chance = np.random.default_rng(11)
    order, place = edges(m, pairs)
    wrong = 0
    for _ in range(300):
        noise = chance.normal(0, 0.04, pairs) * (1 + 4 * (chance.random(pairs) < 0.05))
        answer = together(noise, order, m, place, **JUDGED)
        wrong += any(one.verdict in ("higher", "lower") for one in answer.together)
    assert wrong / 300 <= 0.075
