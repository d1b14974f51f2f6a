"""Durations, sizes and counts: read, shown and refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.units import (
    format_count,
    format_duration,
    format_size,
    parse_duration_s,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2s", 2.0),
        ("500ms", 0.5),
        ("250us", 250e-6),
        ("8m", 480.0),
        ("8 min", 480.0),
        ("1h 30m", 5400.0),
        ("1.5h", 5400.0),
        ("  2s ", 2.0),
        ("0s", 0.0),
        (1.5, 1.5),
        (3, 3.0),
    ],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["5 parsecs", "", "s", "2", "2 s x", "-2s", "1e3s", True, -1, math.nan, math.inf]
)
def test_invalid_durations(text: str | float) -> None:
    with pytest.raises(ValueError, match=r"duration|unit of time"):
        parse_duration_s(text)


def test_an_unknown_unit_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r'"parsecs" is not a unit of time.* us, ms'):
        parse_duration_s("5 parsecs")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (12e-6, "12 µs"),
        (0.5, "500 ms"),
        (0.9999, "1 s"),
        (2.5, "2.5 s"),
        (119, "119 s"),
        (480, "8 min"),
        (7500, "2 h 05 min"),
        (-2, "-2 s"),
        (math.inf, "unknown"),
    ],
)
def test_durations_are_shown_in_their_usual_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(120, "120 B"), (512 << 20, "512 MiB"), (3.6 * 2**30, "3.6 GiB")]
)
def test_sizes_are_shown_in_binary_units(size: float, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (950, "950"), (12_345, "12.3k"), (1_000_000, "1M"), (20_000_000, "20M")],
)
def test_counts(count: int, text: str) -> None:
    assert format_count(count) == text


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_shown_number_is_within_half_a_percent(value: float) -> None:
    shown = float(format_size(value * 1024).split()[0])
    assert shown > 0
    assert len(format_count(value)) <= 9
