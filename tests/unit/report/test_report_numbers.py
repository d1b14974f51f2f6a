"""How values are written: rounded where their interval stops saying anything."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.sections.words import (
    change_text,
    changed_text,
    estimate_text,
    figure_text,
    gain_text,
    plain_gain,
    share_text,
    significant,
    size_text,
    times_text,
)
from contend.stats import Change, Estimate, TableShape, answer_table


def change_of(*ratios: float) -> Change:
    """Of one cell, from a ratio a repeat."""
    d = np.log(np.array(ratios, dtype=float)).reshape(-1, 1, 1)
    return answer_table(d, TableShape(1, 1)).whole(0)


def estimate(mean: float, half: float, n: int = 8) -> Estimate:
    return Estimate(mean, mean - half, mean + half, n, 0.95)


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (23.4567, 0.2134, "23.5 ±0.2"),
        (23.4567, 0.1334, "23.46 ±0.13"),
        (12_345.6, 1_210, "12346 ±1210"),
        (1.979, 0.0063, "1.979 ±0.006"),
        (0.0, 0.0, "0 ±0"),
        (5.0, math.inf, "5.00 ±?"),
    ],
)
def test_an_estimate_is_rounded_to_its_error(mean: float, half: float, text: str) -> None:
    assert estimate_text(estimate(mean, half)) == text


@given(mean=st.floats(1e-6, 1e9), half=st.floats(1e-6, 1e6))
def test_rounding_stays_within_the_interval(mean: float, half: float) -> None:
    value, _, error = estimate_text(estimate(mean, half)).partition(" ±")
    assert abs(float(value) - mean) <= half
    assert float(error) == pytest.approx(half, rel=0.5)
    assert "e" not in value + error


@pytest.mark.parametrize(
    ("ratio", "half", "text"),
    [
        (1.82, 0.06, "+82 ±6"),
        (0.868, 0.005, "-13 ±0.5"),
        (0.997, 0.014, "-0.3 ±1.4"),
        (1.0, 0.001, "+0.0 ±0.1"),
        (2.56, 0.114, "+156 ±11"),
        (0.93, 0.43, "-7 ±43"),
        # One more digit where rounding would hide that the interval ends before 0.
        (1.0099, 0.0097, "+0.99 ±0.97"),
    ],
)
def test_a_gain_is_written_as_the_studies_do(ratio: float, half: float, text: str) -> None:
    one = replace(change_of(1.0, 1.01), ratio=ratio, low=ratio - half, high=ratio + half, n=8)
    assert gain_text(one) == text
    assert size_text(one).lstrip("0123456789.").startswith(" % (±")


@pytest.mark.parametrize(
    ("low", "ratio", "high", "text", "size"),
    [
        (1.02, 4.95, 24.0, "+395 (+2.0 to +2300)", "395 % (2.0 to 2300)"),
        (0.08, 0.30, 1.15, "-70 (-92 to +15)", None),
        (0.19, 0.83, 3.6, "-17 (-81 to +260)", None),
    ],
)
def test_an_uneven_interval_is_written_out(
    low: float, ratio: float, high: float, text: str, size: str | None
) -> None:
    """±half would cover 0 where the interval does not, or the other way round."""
    one = replace(change_of(1.0, 1.01), ratio=ratio, low=low, high=high, n=4)
    assert gain_text(one) == text
    assert size is None or size_text(one) == size


@pytest.mark.parametrize(
    ("low", "ratio", "high", "size", "words"),
    [
        (118.0, 160.77, 204.0, "a factor of 161 (±43)", "a factor of 161 (±43)"),
        (60.0, 161.0, 400.0, "a factor of 161 (60 to 400)", "a factor of 161 (60 to 400)"),
        (1 / 13, 1 / 12, 1 / 11, "a factor of 12 (±1)", "a factor of 1/12 (±1)"),
        (0.0, 0.01, 5.0, "a factor of 100", "a factor of 1/100"),
        (8.9, 9.9, 10.9, "890 % (±100)", "+890 ±100 %"),
        (0.09, 0.11, 0.13, "89 % (±2)", "-89 ±2 %"),
    ],
)
def test_from_ten_times_on_a_sentence_has_the_factor(
    low: float, ratio: float, high: float, size: str, words: str
) -> None:
    one = replace(change_of(1.0, 1.01), ratio=ratio, low=low, high=high, n=8)
    assert (size_text(one), change_text(one)) == (size, words)
    assert changed_text(one, "longer") == (
        f"longer by {size}" if size.startswith("a") else f"{size} longer"
    )


def test_a_gain_without_an_interval_says_so() -> None:
    assert gain_text(change_of(1.5)) == "+50 ±?"
    # As of two values that are far apart.
    assert gain_text(change_of(1.0, 100.0)) == "+900 ±?"
    assert gain_text(change_of()) == "n/a"
    assert size_text(change_of(1.5)) == "50 %"


def test_published_gains_keep_their_tenths() -> None:
    assert [plain_gain(g) for g in (-3, 269, -0.3, 0, 6)] == ["-3", "+269", "-0.3", "+0", "+6"]


def test_shares_and_plain_digits() -> None:
    assert share_text(estimate(0.2607, 0.0005)) == "26.07 % ±0.05"
    assert share_text(estimate(0.2607, 0.02)) == "26.1 % ±2.0"
    assert significant(0.000123456, 3) == "0.000123"
    assert significant(0, 3) == "0"


def test_of_a_figure_that_the_interval_says_nothing_of_there_is_no_interval() -> None:
    assert figure_text(estimate(194904, 9156103)) == "194904 ±?"
    assert figure_text(estimate(23.46, 0.13)) == "23.46 ±0.13"
    assert figure_text(estimate(0.02, 0.1)) == estimate_text(estimate(0.02, 0.1))


def test_so_many_times_has_the_ends_of_a_wide_interval() -> None:
    one = change_of(2.0, 2.0)
    assert times_text(replace(one, low=1.05, high=4.2)) == "1.05 to 4.20"
    assert times_text(replace(one, low=1.9, high=2.1)) == "2.00 ±0.10"
    assert times_text(replace(one, low=1e-9, high=1e9)) == "2.0 ±?"
