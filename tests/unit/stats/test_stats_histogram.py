"""Merging the histograms that the load generator writes."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from contend.stats import HistogramError, merge_percentiles

STORED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "rust_histograms.json").read_text(encoding="utf-8")
)
RUST: dict[str, Any] = STORED["histograms"]
QUANTILES: list[float] = STORED["quantiles"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a"], "a"),
        (["b"], "b"),
        (["one"], "one"),
        (["a", "b", "one", "empty"], "sum"),
        (["empty", "one", "b", "a"], "sum"),
    ],
)
def test_the_sum_is_the_histogram_of_all_values(names: list[str], expected: str) -> None:
    found = merge_percentiles([RUST[name]["hdr"] for name in names], [0.0, *QUANTILES, 1.0])
    want = RUST[expected]
    assert (found[0.0], found[1.0]) == (want["min"], want["max"])
    assert [found[q] for q in QUANTILES] == want["values"]


@pytest.mark.parametrize("encoded", [[], [RUST["empty"]["hdr"]]])
def test_nothing_recorded_has_no_percentiles(encoded: list[str]) -> None:
    assert math.isnan(merge_percentiles(encoded, [0.5])[0.5])


def test_other_buckets_would_lose_digits_and_are_refused() -> None:
    with pytest.raises(HistogramError, match="histogram 2 cannot be read: its buckets"):
        merge_percentiles([RUST["a"]["hdr"], RUST["coarse"]["hdr"]], [0.5])


@pytest.mark.parametrize("encoded", ["", "x", "HIST", "HISTFAAAACF4", RUST["a"]["hdr"][:100]])
def test_damaged_text_is_refused(encoded: str) -> None:
    with pytest.raises(HistogramError, match="histogram 1 cannot be read"):
        merge_percentiles([encoded], [0.5])


@given(st.integers(0, len(RUST["a"]["hdr"]) - 1), st.sampled_from("ABCxyz019+/="))
def test_no_damage_escapes_as_another_error(position: int, character: str) -> None:
    good = RUST["a"]["hdr"]
    with contextlib.suppress(HistogramError):
        merge_percentiles([good[:position] + character + good[position + 1 :]], [0.5])


@pytest.mark.parametrize("quantile", [-0.1, 1.1, 99])
def test_a_quantile_is_a_share(quantile: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        merge_percentiles([], [quantile])


@given(
    st.lists(
        st.dictionaries(st.integers(0, 3_599_999_999_999), st.integers(1, 1 << 40), max_size=20),
        min_size=1,
        max_size=3,
    )
)
def test_the_library_counts_the_same(runs: list[dict[int, int]]) -> None:
    library = HdrHistogram(1, 3_600_000_000_000, 3)
    encoded = []
    for run in runs:
        one = HdrHistogram(1, 3_600_000_000_000, 3)
        for value, count in run.items():
            one.record_value(value, count)
            library.record_value(value, count)
        encoded.append(one.encode().decode())
    found = merge_percentiles(encoded, [0.0, 1.0])
    if library.get_total_count():
        assert found == {0.0: library.get_min_value(), 1.0: library.get_max_value()}
