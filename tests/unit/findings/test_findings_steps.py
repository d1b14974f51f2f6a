"""A ladder: what each level gains over the one before it, whichever is the baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.report import Report, build
from contend.store import RunFolder


def report_of(path: Path, levels: str) -> Report:
    sets = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}={levels}")
    write_run(path, replace(study(sets=sets), explain="steps"))
    with RunFolder.open(path) as folder:
        return build(folder)


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


def test_two_levels_are_no_ladder(tmp_path: Path) -> None:
    assert report_of(tmp_path / "run", "[0, 32]").cause is None
