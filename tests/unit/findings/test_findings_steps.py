"""A ladder: what each level gains over the one before it, whichever is the baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from shown import report_of as built
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, with_warning, write_run

from contend.report import Report
from contend.store import RunRecord

Change = Callable[[RunRecord], RunRecord | None]


def report_of(path: Path, levels: str, change: Change | None = None) -> Report:
    sets = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}={levels}")
    write_run(path, replace(study(sets=sets), explain="steps"), change=change)
    return built(path)


def test_each_step_stands_beside_the_one_before_it(tmp_path: Path) -> None:
    cause = report_of(tmp_path / "run", "[0, 32, 64]").cause
    assert cause is not None and cause.title == "Step by step"
    (table,) = cause.tables
    assert table.columns[-1] == "gain"
    first, second, whole = ([row[-2], row[-1]] for row in table.rows)
    # 46 % are made up for the first step, and next to nothing for the second.
    assert first[1].startswith("+4") and "±" in first[1]
    assert abs(float(second[1].split()[0])) <= 3
    assert whole[0] == "all together" and whole[1].startswith("+4")

    (chart,) = cause.charts
    values = chart.spec["data"]["values"]
    assert [one["step"] for one in values] == ["32", "64", "all together"]
    assert values[0]["low"] < values[0]["gain"] < values[0]["high"]
    assert abs(values[0]["gain"] - float(first[1].split()[0])) <= 1


def test_a_cell_whose_delay_line_was_late_gives_no_step_a_verdict(tmp_path: Path) -> None:
    def late(record: RunRecord) -> RunRecord:
        is_one = record.cell[SEGMENTS] == 64 and record.repeat == 1
        return with_warning(record, "line-late", "late") if is_one else record

    cause = report_of(tmp_path / "run", "[0, 32, 64]", late).cause
    assert cause is not None
    first, second, whole = (row[-1] for row in cause.tables[0].rows)
    assert first.startswith("+4")
    assert second == whole == "the delay line was late"
    assert any("farther apart than asked" in one for one in cause.paragraphs)
    (chart,) = cause.charts
    assert [one["step"] for one in chart.spec["data"]["values"]] == ["32"]


def test_two_levels_are_no_ladder(tmp_path: Path) -> None:
    assert report_of(tmp_path / "run", "[0, 32]").cause is None
