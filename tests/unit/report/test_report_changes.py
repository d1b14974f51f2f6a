"""A repeat counts once, whatever it holds; and cells that were not steady are marked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from shown import report_of
from synthetic_run import (
    CONNECTIONS,
    POINTS,
    SEGMENTS,
    latency_histogram,
    study,
    write_run,
    write_slices,
)

from contend.store import RunRecord

ONE_CELL = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]")
SIX = (f"{CONNECTIONS}=[1, 8, 64]", f"{POINTS}=[10, 100]", f"{SEGMENTS}=[0, 32]")
OPEN = 'compare.until="±2 %"'
"""The first repeat then has two blocks of each cell."""


def test_two_blocks_of_a_repeat_count_once(tmp_path: Path) -> None:
    def change(record: RunRecord) -> RunRecord:
        assert record.done is not None
        gain = 1.0 if not record.cell[SEGMENTS] else 1.2 if record.block == 1 else 1.5
        return replace(record, done={**record.done, "qps": 1000.0 * gain})

    report = report_of(write_slices(tmp_path / "run", study(sets=(*ONE_CELL, OPEN)), change=change))
    (one,) = report.comparisons
    assert one.change.n == 1 and math.isinf(one.change.high)
    assert one.change.ratio == pytest.approx(math.sqrt(1.2 * 1.5))
    assert [cell.repeats for cell in report.cells] == [1, 1]


def test_a_percentile_of_a_repeat_is_that_of_all_its_queries(tmp_path: Path) -> None:
    """In one of two blocks the baseline is a hundred times slower, so its p95 over both is slow:
    a mean of the two ratios would lie at a tenth."""
    fast, _ = latency_histogram(100.0, 0.1)
    slow, _ = latency_histogram(10_000.0, 0.1)

    def change(record: RunRecord) -> RunRecord:
        assert record.done is not None
        is_slow = record.block == 2 and not record.cell[SEGMENTS]
        return replace(record, done={**record.done, "latency_hdr_ns": slow if is_slow else fast})

    path = write_slices(tmp_path / "run", study(sets=(*ONE_CELL, OPEN)), change=change)
    (one,) = report_of(path, "response_us_p95").comparisons
    assert one.change.ratio == pytest.approx(0.01, rel=0.15)


def test_a_block_that_lost_a_side_leaves_the_other_block(tmp_path: Path) -> None:
    def change(record: RunRecord) -> RunRecord | None:
        return None if record.block == 1 and record.cell[SEGMENTS] else record

    path = write_slices(tmp_path / "run", study(sets=(*ONE_CELL, OPEN)), change=change)
    (one,) = report_of(path).comparisons
    assert one.change.n == 1 and one.lost == 0


@pytest.mark.parametrize(
    ("speed", "code"),
    [
        (lambda at: 0.8 if at < 4 else 1.0, "not-steady-warming"),
        (lambda at: 0.97**at, "not-steady-cooling"),
        (lambda _: 1.0, None),
    ],
)
def test_a_cell_that_is_not_steady_is_marked(
    tmp_path: Path, speed: Callable[[int], float], code: str | None
) -> None:
    report = report_of(write_slices(tmp_path / "run", study(sets=SIX), speed=speed))
    marked = [one for one in report.warnings if one.code.startswith("not-steady")]
    if code is None:
        assert marked == []
        return
    (notice,) = marked
    assert notice.code == code and len(notice.cells) == 12
    assert "key cache misses per query" in notice.message


def test_runs_of_their_own_have_no_slices_to_look_at(tmp_path: Path) -> None:
    report = report_of(write_run(tmp_path / "run", study(sets=(*SIX, "compare.repeats=3"))))
    assert not any(one.code.startswith("not-steady") for one in report.warnings)
    assert not any("of the noise is between" in text for text in report.answer.basis)


@pytest.mark.parametrize(("server_sd", "apart"), [(0.6, True), (0.05, False)])
def test_repeats_that_are_far_apart_are_marked(
    tmp_path: Path, server_sd: float, apart: bool
) -> None:
    path = write_slices(tmp_path / "run", study(sets=SIX), server_sd=server_sd)
    marked = [one for one in report_of(path).warnings if one.code == "repeats-apart"]
    assert bool(marked) is apart
    assert all("times as fast as another" in one.message and one.cells for one in marked)
