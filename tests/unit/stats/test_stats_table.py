"""The answer of a whole table: known values, the laws it keeps, and data that miss something."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats as reference

from contend.stats.change import Change, read_verdict
from contend.stats.contrasts import TableShape
from contend.stats.table import (
    TableAnswer,
    advantages,
    answer_table,
    answer_tables,
    single_cells,
)

MAIN = TableShape(rows=3, columns=7)


def measured(
    seed: int,
    shape: TableShape = MAIN,
    *,
    units: int = 8,
    levels: int = 2,
    process_sd: float = 0.02,
    change: float | np.ndarray = 0.0,
) -> np.ndarray:
    """Log-ratios of units whose cells share the processes."""
    chance = np.random.default_rng(seed)
    y = chance.normal(0, 0.02, (units, shape.contexts, levels + 1))
    y += chance.normal(0, process_sd, (units, 1, levels + 1))
    return np.asarray(y[:, :, 1:] - y[:, :, :1] + change)


def same(one: Change, other: Change, rel: float = 1e-9) -> bool:
    return all(
        getattr(one, name) == pytest.approx(getattr(other, name), rel=rel, nan_ok=True)
        for name in ("ratio", "low", "high", "df", "sd_log", "detectable", "p_sign_flip")
    ) and (one.verdict, one.n) == (other.verdict, other.n)


def test_one_cell_of_one_level_is_students_t() -> None:
    ratios = [1.012, 1.031, 0.998, 1.022, 1.017, 1.008, 1.041, 1.015]
    d = np.log(ratios).reshape(8, 1, 1)
    answer = answer_table(d, TableShape(1, 1))
    expected = reference.ttest_1samp(d.ravel(), 0).confidence_interval(0.95)
    (change,) = answer.changes
    assert change is answer.whole(0) is answer.cell(0, 0, 0)
    assert (change.low, change.high) == pytest.approx(np.exp([expected.low, expected.high]))
    assert (change.ratio, change.n) == (pytest.approx(math.exp(d.mean())), 8)
    assert change.df == pytest.approx(7)
    assert change.sd_log == pytest.approx(d.std(ddof=1))
    assert (change.alone.low, change.alone.high) == pytest.approx((change.low, change.high))
    assert change.verdict == "higher"
    assert change.p_sign_flip == pytest.approx(2 * 2 / 2**8)
    assert math.isnan(answer.process_share) and answer.adjustment is None


def test_alone_is_the_t_interval_of_each_unit_s_mean() -> None:
    d = measured(1)
    answer = answer_table(d, MAIN)
    for change in answer.changes:
        inside = change.place.cells(MAIN)
        of_units = d[:, inside, change.place.level].mean(axis=1)
        expected = reference.ttest_1samp(of_units, 0).confidence_interval(0.95)
        assert change.ratio == pytest.approx(math.exp(of_units.mean()))
        assert (change.alone.low, change.alone.high) == pytest.approx(
            (math.exp(expected.low), math.exp(expected.high))
        )
        assert change.sd_log == pytest.approx(of_units.std(ddof=1))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.001, 1.019, "equivalent"),
        (1 / 1.02, 1.02, "equivalent"),
        (1.001, 1.021, "higher"),
        (0.97, 0.999, "lower"),
        (0.97, 1.001, "inconclusive"),
        (1.0, 1.05, "inconclusive"),
        (0.0, math.inf, "inconclusive"),
    ],
)
def test_a_verdict_is_read_off_its_interval(low: float, high: float, verdict: str) -> None:
    assert read_verdict(low, high, 0.02) == verdict


tables = st.tuples(
    st.integers(0, 6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2)
).flatmap(
    lambda size: st.tuples(
        st.just(TableShape(size[1], size[2])),
        arrays.arrays(
            float,
            (size[0], size[1] * size[2], size[3]),
            elements=st.one_of(
                st.just(math.nan), st.sampled_from([0.0, 0.05]), st.floats(-3, 3, width=32)
            ),
        ),
    )
)


@settings(max_examples=150, deadline=None)
@given(tables)
def test_whatever_was_measured_a_verdict_and_its_interval_never_contradict(
    table: tuple[TableShape, np.ndarray],
) -> None:
    shape, d = table
    answer = answer_table(d, shape, margin=0.03)
    turned = [one.turned() for one in answer.pairs]
    for change in (*answer.changes, *answer.pairs, *turned, *advantages(d, shape)):
        assert change.low <= change.high
        if not math.isnan(change.ratio):
            assert change.low * (1 - 1e-9) <= change.ratio <= change.high * (1 + 1e-9)
        outside = change.low > 1 or change.high < 1
        if change.verdict in ("higher", "lower"):
            assert outside and (change.ratio > 1) == (change.verdict == "higher")
        if change.verdict == "inconclusive":
            assert not outside
        if change.verdict == "equivalent":
            assert change.low >= 1 / 1.03 and change.high <= 1.03
        if change.n < 2:
            assert (change.low, change.high, change.df) == (0.0, math.inf, 0.0)
            assert change.detectable == math.inf and change.verdict == "inconclusive"


def test_the_order_of_units_and_of_levels_does_not_matter() -> None:
    d = measured(2, levels=3)
    answer = answer_table(d, MAIN)
    shuffled = answer_table(d[::-1][:, :, [2, 0, 1]], MAIN)
    for change in answer.changes:
        level, *span = change.place.span
        rows, columns = (span[0], span[1]), (span[2], span[3])
        assert same(change, shuffled.at([1, 2, 0][level], rows, columns))


def test_swapping_level_and_baseline_gives_the_inverse() -> None:
    words = {"higher": "lower", "lower": "higher"}
    d = measured(3, levels=1, change=0.06)
    for one, other in zip(
        answer_table(d, MAIN).changes, answer_table(-d, MAIN).changes, strict=True
    ):
        assert (one.ratio, one.low, one.high) == pytest.approx(
            (1 / other.ratio, 1 / other.high, 1 / other.low)
        )
        assert one.verdict == words.get(str(other.verdict), other.verdict)


def test_a_unit_without_any_cell_changes_nothing() -> None:
    d = measured(4)
    more = np.concatenate([d, np.full((1, *d.shape[1:]), math.nan)])
    for one, other in zip(
        answer_table(d, MAIN).changes, answer_table(more, MAIN).changes, strict=True
    ):
        assert same(one, other)


def test_a_unit_that_misses_a_cell_still_counts_in_all_others() -> None:
    d = measured(5)
    full = answer_table(d, MAIN)
    d[3, 8, :] = math.nan
    answer = answer_table(d, MAIN)
    missing = answer.cell(0, 1, 1)
    assert (missing.n, missing.cells, answer.cell(0, 1, 2).n) == (7, 1, 8)
    assert (answer.whole(0).n, answer.whole(0).cells) == (8, 21)
    assert answer.whole(0).ratio == pytest.approx(full.whole(0).ratio, rel=0.005)
    width, before = (math.log(a.whole(0).high / a.whole(0).low) for a in (answer, full))
    assert width == pytest.approx(before, rel=0.1)


def test_a_cell_that_was_never_measured_is_named_by_its_count() -> None:
    d = measured(6, change=0.3)
    d[:, 20, 1] = math.nan
    answer = answer_table(d, MAIN)
    lost = answer.cell(1, 2, 6)
    assert math.isnan(lost.ratio) and (lost.low, lost.high) == (0.0, math.inf)
    assert (lost.n, lost.cells, lost.of_cells, lost.verdict) == (0, 0, 1, "inconclusive")
    whole = answer.whole(1)
    assert (whole.cells, whole.of_cells, whole.verdict) == (20, 21, "higher")
    assert whole.ratio == pytest.approx(math.exp(np.nanmean(d[:, :20, 1])))


def test_units_that_each_have_one_cell_only_are_compared_as_welch_does() -> None:
    """Four units have the first cell and six the second. With equal variances the mean of the two
    means has n - 2 degrees of freedom at most.
    """
    chance = np.random.default_rng(7)
    d = np.full((10, 2, 1), math.nan)
    d[:4, 0, 0], d[4:, 1, 0] = chance.normal(0, 0.05, 4), chance.normal(0, 0.05, 6)
    whole = answer_table(d, TableShape(1, 2)).whole(0)
    first, second = d[:4, 0, 0], d[4:, 1, 0]
    assert whole.ratio == pytest.approx(math.exp((first.mean() + second.mean()) / 2))
    assert whole.n == 10
    assert 5 < whole.df <= 8
    welch = math.sqrt(first.var(ddof=1) / 4 + second.var(ddof=1) / 6) / 2
    assert whole.sd_log / math.sqrt(10) == pytest.approx(welch, rel=0.15)


def test_no_units_no_answer() -> None:
    answer = answer_table(np.empty((0, 21, 2)), MAIN)
    assert all(math.isnan(c.ratio) and c.verdict == "inconclusive" for c in answer.changes)


def test_units_that_agree_to_the_last_digit_are_certain() -> None:
    d = np.full((8, 4, 1), math.log(1.25))
    answer = answer_table(d, TableShape(2, 2))
    assert {change.verdict for change in answer.changes} == {"higher"}
    assert answer.whole(0).high == pytest.approx(1.25)


def test_an_effect_that_crosses_is_found_although_its_mean_is_nil() -> None:
    d = measured(8, process_sd=0.0, levels=1)
    crossing = np.tile(np.repeat([-0.06, 0.0, 0.06], [3, 1, 3]), 3)
    answer = answer_table(d + crossing[None, :, None], MAIN)
    assert answer.whole(0).verdict in ("equivalent", "inconclusive")
    assert answer.columns(0, 4, 6).verdict == "higher"
    assert answer.columns(0, 0, 2).verdict == "lower"


def test_an_interim_answer_has_the_intervals_and_no_verdicts() -> None:
    d = measured(9)
    finished, interim = answer_table(d, MAIN), answer_table(d, MAIN, interim=True)
    assert {change.verdict for change in interim.changes} == {None}
    assert [(c.low, c.high) for c in interim.changes] == [(c.low, c.high) for c in finished.changes]
    assert {change.verdict for change in advantages(d, MAIN, interim=True)} == {None}


def test_the_advantage_of_a_cell_is_over_the_mean_of_the_others() -> None:
    """The processes' differences cancel in it, so it is far more certain than the cell itself."""
    peak = np.zeros((1, 21, 1))
    peak[0, 9, 0] = 0.15
    d = measured(10, levels=1, process_sd=0.05, change=peak)
    best = advantages(d, MAIN)[9]
    assert best.place.span == (0, 1, 1, 2, 2)
    rest = np.delete(d[:, :, 0], 9, axis=1).mean(axis=1)
    assert best.ratio == pytest.approx(math.exp(np.mean(d[:, 9, 0] - rest)))
    assert best.verdict == "higher"
    cell = answer_table(d, MAIN).cell(0, 1, 2)
    assert best.high / best.low < cell.high / cell.low
    assert not advantages(d[:, :1], TableShape(1, 1))


def test_in_one_row_the_cells_are_the_columns() -> None:
    shape = TableShape(1, 4)
    d = measured(11, shape)
    answer = answer_table(d, shape)
    assert answer.cell(1, 0, 2) is answer.columns(1, 2, 2)
    assert answer.row(1, 0) is answer.whole(1)
    assert len(advantages(d, shape)) == 8


def test_a_pair_is_of_the_units_that_have_both_levels() -> None:
    """And turned over it is the other level over the one."""
    d = measured(13, levels=3)
    d[2, :, 0] = np.nan
    answer = answer_table(d, MAIN)
    one, other = answer.pair(2, 0), answer.pair(0, 2)
    assert one.n == other.n == len(d) - 1
    assert one.ratio == pytest.approx(math.exp(np.nanmean(d[:, :, 2] - d[:, :, 0])))
    assert (other.ratio, other.low, other.high) == (1 / one.ratio, 1 / one.high, 1 / one.low)
    assert (other.place.level, other.place.over) == (0, 2)
    alone = answer_table(d[:, :, [2]] - d[:, :, [0]], MAIN).whole(0).alone
    assert one.alone == alone and other.alone.high == 1 / alone.low
    with pytest.raises(KeyError, match="no pair of levels 1 and 1"):
        answer.pair(1, 1)
    words = {answer_table(d + np.array([0, 0, by]), MAIN).pair(0, 2).verdict for by in (-1, 1)}
    assert words == {"higher", "lower"}


def test_tables_that_hold_together_are_those_of_each_with_less_chance_of_error() -> None:
    one, other = measured(15, levels=2), measured(16, levels=2)
    together = answer_tables([one, other], MAIN)
    for table, answer in zip((one, other), together, strict=True):
        alone = answer_table(table, MAIN)
        for a, b in zip(answer.changes + answer.pairs, alone.changes + alone.pairs, strict=True):
            assert a.place == b.place and a.ratio == pytest.approx(b.ratio)
        assert answer.depths[0].p_each < alone.depths[0].p_each
        assert answer.pair(1, 0).ratio == pytest.approx(alone.pair(1, 0).ratio)


def test_a_pair_is_adjusted_by_how_much_one_level_was_disturbed_more_than_the_other() -> None:
    """Two levels that were disturbed alike, and a baseline that was not: the disturbance explains
    much of each over the baseline and nothing between the two."""
    chance = np.random.default_rng(14)
    stolen = np.repeat(chance.normal(0, 0.1, (8, 21, 1)), 2, axis=2)
    d = chance.normal(0, 0.01, (8, 21, 2))
    answer = answer_table(d - 0.8 * stolen, MAIN, covariates=[stolen])
    assert answer.pair(1, 0).ratio == pytest.approx(math.exp(np.mean(d[:, :, 1] - d[:, :, 0])))


def test_a_range_in_the_middle_is_not_a_contrast() -> None:
    answer = answer_table(measured(12), MAIN)
    with pytest.raises(KeyError, match="no change of"):
        answer.columns(0, 2, 4)


def test_a_wild_unit_makes_the_twins_disagree() -> None:
    d = np.full((12, 1, 1), 0.02) + np.linspace(-0.005, 0.005, 12)[:, None, None]
    assert not answer_table(d, TableShape(1, 1)).whole(0).twins_disagree
    d[4] = -1.0
    assert answer_table(d, TableShape(1, 1)).whole(0).twins_disagree
    assert not answer_table(d[:5], TableShape(1, 1)).whole(0).twins_disagree


def disturbed(seed: int, slope: float) -> tuple[np.ndarray, np.ndarray]:
    d = measured(seed, levels=1, process_sd=0.0, change=0.03)
    stolen = np.random.default_rng(seed + 1).exponential(0.05, d.shape)
    stolen *= np.random.default_rng(seed + 2).random(d.shape) < 0.3
    return d + slope * stolen, stolen


def test_a_covariate_removes_a_disturbance_and_reports_the_benefit() -> None:
    d, stolen = disturbed(103, slope=-1.0)
    plain = answer_table(d, MAIN).whole(0)
    adjusted = answer_table(d, MAIN, covariates=[stolen])
    assert adjusted.adjustment is not None
    assert adjusted.adjustment.slopes == pytest.approx((-1.0,), abs=0.15)
    assert adjusted.adjustment.sd_after < 0.9 * adjusted.adjustment.sd_before
    assert adjusted.adjustment.sd_after == pytest.approx(0.02 * 2**0.5, rel=0.1)
    whole = adjusted.whole(0)
    assert abs(math.log(whole.ratio) - 0.03) < abs(math.log(plain.ratio) - 0.03)
    assert whole.low <= math.exp(0.03) <= whole.high


def test_each_covariate_costs_a_unit() -> None:
    d, stolen = disturbed(14, slope=0.0)
    (change,) = answer_table(d[:, :1], TableShape(1, 1), covariates=[stolen[:, :1]]).changes
    assert change.df == pytest.approx(6)
    nothing = answer_table(d, MAIN, covariates=[np.zeros_like(d)])
    assert nothing.adjustment is not None and nothing.adjustment.slopes == (0.0,)
    assert nothing.whole(0).ratio == pytest.approx(answer_table(d, MAIN).whole(0).ratio)


def test_one_covariate_of_one_cell_is_regression() -> None:
    """Against scipy: the intercept of ordinary least squares and its error, but for the few parts
    in n that errors from units differ by.
    """
    chance = np.random.default_rng(15)
    x = chance.normal(0.3, 1.0, 60)
    d = 0.05 + 0.02 * x + chance.normal(0, 0.03, 60)
    fit = reference.linregress(x, d)
    answer = answer_table(d.reshape(60, 1, 1), TableShape(1, 1), covariates=[x.reshape(60, 1, 1)])
    (change,) = answer.changes
    assert change.ratio == pytest.approx(math.exp(fit.intercept))
    assert answer.adjustment is not None
    assert answer.adjustment.slopes == pytest.approx((fit.slope,))
    assert change.sd_log / math.sqrt(60) == pytest.approx(fit.intercept_stderr, rel=0.15)


def refused(d: np.ndarray, shape: TableShape = MAIN, **options: object) -> TableAnswer:
    return answer_table(d, shape, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("d", "options", "message"),
    [
        (np.zeros((8, 20, 2)), {}, "21 contexts"),
        (np.zeros((8, 21)), {}, "21 contexts"),
        (np.zeros((8, 21, 0)), {}, "at least one level"),
        (np.full((8, 21, 2), math.inf), {}, "finite"),
        (np.zeros((8, 21, 2)), {"margin": 0.0}, "margin"),
        (np.zeros((8, 21, 2)), {"confidence": 1.0}, "confidence"),
        (np.zeros((8, 21, 2)), {"covariates": [np.zeros((8, 21, 1))]}, "shape"),
        (np.zeros((8, 21, 2)), {"covariates": [np.full((8, 21, 2), math.nan)]}, "not known"),
    ],
)
def test_data_that_are_not_a_table_are_refused(
    d: np.ndarray, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        refused(d, **options)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_single_cells_are_those_of_the_whole_answer(shape: tuple[int, int]) -> None:
    of = TableShape(*shape)
    d = np.random.default_rng(5).normal(0.0, 0.02, (9, of.contexts, 2))
    answer, cells = (
        answer_table(d, of, confidence=0.96, interim=True),
        single_cells([d], of, confidence=0.96),
    )
    assert len(cells.changes) == 2 * of.contexts
    for one in cells.changes:
        place = one.place
        whole = answer.cell(place.level, place.first_row, place.first_column)
        assert (one.low, one.high) == (whole.low, whole.high)
        assert cells.p_each in {each.p_each for each in answer.depths}
