"""Merging the histograms that the load generator writes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from contend.stats import HistogramError, merge, merge_percentiles

STORED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "rust_histograms.json").read_text(encoding="utf-8")
)
RUST: dict[str, Any] = STORED["histograms"]
QUANTILES: list[float] = STORED["quantiles"]


def check(names: list[str], expected: str) -> None:
    merged = merge([RUST[name]["hdr"] for name in names], QUANTILES)
    want = RUST[expected]
    assert (merged.count, merged.min, merged.max) == (want["count"], want["min"], want["max"])
    assert merged.mean == pytest.approx(want["mean"], rel=1e-4)
    assert [merged.quantiles[q] for q in QUANTILES] == want["values"]


@pytest.mark.parametrize("name", ["a", "b", "one"])
def test_reads_what_rust_wrote(name: str) -> None:
    check([name], name)


def test_the_sum_is_the_histogram_of_all_values() -> None:
    check(["a", "b", "one", "empty"], "sum")
    check(["empty", "one", "b", "a"], "sum")


@pytest.mark.parametrize("encoded", [[], [RUST["empty"]["hdr"]]])
def test_nothing_recorded_has_no_percentiles(encoded: list[str]) -> None:
    merged = merge(encoded, [0.5])
    assert merged.count == 0
    assert math.isnan(merged.quantiles[0.5])
    assert math.isnan(merged.max)


def test_merge_percentiles_is_the_short_form() -> None:
    assert merge_percentiles([RUST["a"]["hdr"]], [0.5]) == {0.5: RUST["a"]["values"][1]}
    assert merge_percentiles([RUST["a"]["hdr"]], []) == {}


def test_other_buckets_would_lose_digits_and_are_refused() -> None:
    with pytest.raises(HistogramError, match="histogram 2 cannot be read: its buckets"):
        merge([RUST["a"]["hdr"], RUST["coarse"]["hdr"]], [0.5])


@pytest.mark.parametrize("encoded", ["", "x", "HIST", "HISTFAAAACF4", RUST["a"]["hdr"][:100]])
def test_damaged_text_is_refused(encoded: str) -> None:
    with pytest.raises(HistogramError, match="histogram 1 cannot be read"):
        merge([encoded], [0.5])


@given(st.integers(0, len(RUST["a"]["hdr"]) - 1), st.sampled_from("ABCxyz019+/="))
def test_no_damage_escapes_as_another_error(position: int, character: str) -> None:
    good = RUST["a"]["hdr"]
    try:
        merged = merge([good[:position] + character + good[position + 1 :]], [0.5])
    except HistogramError:
        return
    assert merged.count >= 0


@pytest.mark.parametrize("quantile", [-0.1, 1.1, 99])
def test_a_quantile_is_a_share(quantile: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        merge([], [quantile])


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
    merged = merge(encoded, [1.0])
    assert merged.count == library.get_total_count()
    if merged.count:
        assert merged.min == library.get_min_value()
        assert merged.max == merged.quantiles[1.0] == library.get_max_value()
