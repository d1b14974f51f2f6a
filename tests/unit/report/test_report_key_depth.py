"""Key cache requests of a point: as counted, as expected of the study's table, and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shown import report_of as built
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.findings import study_of
from contend.report import Report, as_json
from contend.store import RunFolder, RunRecord
from contend.why.studies.segmented_key_cache import known_rows, levels_of


def report_of(
    path: Path,
    *sets: str,
    change: Callable[[RunRecord], RunRecord] | None = None,
) -> Report:
    small = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]")
    paths = [one.partition("=")[0] for one in sets]
    kept = [one for one in small if one.partition("=")[0] not in paths]
    write_run(path, study(sets=(*kept, *sets)), change=change)
    return built(path)


def sentence_of(report: Report) -> str:
    assert report.cause is not None
    return next((text for text in report.cause.more if text.startswith("A point")), "")


def with_requests(factor: float) -> Callable[[RunRecord], RunRecord]:
    """So many requests more than were counted."""

    def change(record: RunRecord) -> RunRecord:
        status = dict(record.probes["status"])
        status["Key_read_requests"] = round(status["Key_read_requests"] * factor)
        return replace(record, probes={**record.probes, "status": status})

    return change


@pytest.mark.parametrize(
    ("rows", "levels"),
    [
        (1, 1),
        (127, 1),
        (128, 2),
        (11_811, 2),
        (11_812, 3),
        (1_000_000, 3),
        (1_086_739, 3),
        (1_086_740, 4),
        (20_000_000, 4),
    ],
)
def test_the_depth_is_that_of_real_tables(rows: int, levels: int) -> None:
    """The edges were seen on MariaDB 10.11; a test of the lab holds two of them to a server."""
    assert levels_of(rows) == levels


def test_what_is_expected_stands_beside_what_was_counted(study_report: Report) -> None:
    sentence = sentence_of(study_report)
    assert sentence.startswith("A point makes 9.0449")
    assert "(n = 8 repeats)" in sentence and "9 are expected" in sentence
    assert "1M rows has 3 levels" in sentence
    assert study_report.cause is not None
    table = study_report.cause.tables[1]
    assert table.columns == ("table", "off", "32", "64", "expected")
    assert [row[0] for row in table.rows] == ["10 points", "50 points", "100 points"]
    assert all(cell.startswith("9.04") for row in table.rows for cell in row[1:4])
    assert {row[4] for row in table.rows} == {"9"}
    metric = study_report.panels[0].metric("key_requests_per_point")
    assert metric is not None and metric.title == "Key cache requests per point"


@pytest.mark.parametrize(
    ("rows", "fragments"),
    [
        ("20_000_000", ("makes 12.0", ". For the study's table 12 are", "20M rows has 4 levels")),
        # 12 at 1M rows: row pointers of 6 bytes, as without MAX_ROWS.
        ("1_000_000", ("but for the study's table 9 are", "the table or the server's plan")),
        ("[1_000_000, 20_000_000]", (" 9 are expected", " 12 are expected")),
    ],
)
def test_a_count_is_held_to_the_depth_of_its_table(
    tmp_path: Path, rows: str, fragments: tuple[str, ...]
) -> None:
    def deeper(record: RunRecord) -> RunRecord:
        is_small = record.cell.get("data.rows", 0) == 1_000_000
        return record if is_small else with_requests(4 / 3)(record)

    report = report_of(tmp_path / "run", f"data.rows={rows}", change=deeper)
    sentence = sentence_of(report)
    assert all(one in sentence for one in fragments), sentence
    expected = {cell.expected["key_requests_per_point"] for cell in report.cells}
    assert expected == {12.0 if "20" in one else 9.0 for one in rows.strip("[]").split(", ")}
    assert report.cause is not None
    in_table = {float(row[-1]) for row in report.cause.tables[1].rows}
    assert in_table == expected


def otherwise(variable: str) -> Callable[[RunRecord], RunRecord]:
    def change(record: RunRecord) -> RunRecord:
        differ = {variable: {"value": "8192", "default": "1024"}}
        return replace(record, probes={**record.probes, "variables_that_differ": differ})

    return change


@pytest.mark.parametrize(
    ("sets", "how"),
    [
        pytest.param(("data.table_options=CHECKSUM=1",), {}, id="table-options"),
        pytest.param(("data.engine=Aria",), {}, id="engine"),
        pytest.param((), {"change": otherwise("eq_range_index_dive_limit")}, id="plans"),
        pytest.param((), {"change": otherwise("myisam_block_size")}, id="pages"),
    ],
)
def test_of_other_tables_plans_and_pages_nothing_is_expected(
    tmp_path: Path, sets: tuple[str, ...], how: dict[str, Any]
) -> None:
    report = report_of(tmp_path / "run", *sets, **how)
    assert "only known for the study's own table" in sentence_of(report)
    assert all(cell["expected"] == {} for cell in as_json(report)["cells"])


def test_many_points_a_query_are_not_estimated_one_by_one(study_path: Path) -> None:
    with RunFolder.open(study_path) as folder:
        whole = study_of(folder)
    record = whole.measured[0]
    known = [
        known_rows(whole, replace(record, cell={**record.cell, POINTS: points})) is not None
        for points in (199, 200)
    ]
    assert known == [True, False]


def test_other_statements_have_no_points(tmp_path: Path) -> None:
    def other(record: RunRecord) -> RunRecord:
        return replace(record, plan={**record.plan, "workload": {"kind": "read_only"}})

    report = report_of(tmp_path / "run", change=other)
    assert sentence_of(report) == ""
    assert report.cause is not None and len(report.cause.tables) == 1
    cells = as_json(report)["cells"]
    assert all(cell["key_requests_per_point"] is None for cell in cells)
    assert all(cell["expected"] == {} for cell in cells)


@pytest.mark.parametrize("counter", ["Key_read_requests", "Handler_read_key"])
@pytest.mark.parametrize("count", [None, 0])
def test_what_was_not_counted_is_no_number(tmp_path: Path, counter: str, count: int | None) -> None:
    def uncounted(record: RunRecord) -> RunRecord:
        status = {**record.probes["status"]}
        del status[counter]
        status |= {} if count is None else {counter: count}
        return replace(record, probes={**record.probes, "status": status})

    assert sentence_of(report_of(tmp_path / "run", change=uncounted)) == ""
