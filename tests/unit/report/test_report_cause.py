"""The analysis of the segmented key cache: shares, ceiling, warmth, and when it does not hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shown import report_of
from synthetic_model import of_model
from synthetic_run import CONNECTIONS, FACTS, POINTS, SEGMENTS, study, write_run, write_slices

from contend.report import Report, as_json, build, html
from contend.sections.words import gain_text
from contend.store import RunFolder, RunRecord


def study_with(tmp_path: Path, change: Any = None, *sets: str) -> Report:
    small = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", *sets)
    path = write_run(tmp_path / "run", study(sets=small), change=change)
    return report_of(path)


def probed(record: RunRecord, **probes: Any) -> RunRecord:
    return replace(record, probes={**record.probes, **probes})


def test_the_hottest_share_and_its_ceiling(study_report: Report) -> None:
    cause = study_report.cause
    assert cause is not None
    assert "26.14 % ±" in cause.lead
    assert "+28" in cause.lead
    table, _requests = cause.tables
    assert len(table.rows) == 6
    assert table.rows[0][:2] == ("10 points", "32")
    assert any("26, 17, 13, 12, 10, 8 %" in text for text in cause.more)
    assert any("No gain is certainly above" in text for text in cause.more)
    assert [chart.id for chart in cause.charts] == [
        "segments-10-points",
        "segments-50-points",
        "segments-100-points",
    ]


def test_uneven_visits_count_as_they_are(tmp_path: Path) -> None:
    """Segment 1 has 70 % of the visits in one half of the runs and 50 % in the other."""
    halves = ((700, 200, 100, 0), (500, 300, 200, 0))

    def uneven(record: RunRecord) -> RunRecord:
        visits = halves[record.repeat % 2]
        segments = [
            {"segment": number, "read_requests": count} for number, count in enumerate(visits, 1)
        ]
        return probed(record, key_caches=segments) if record.cell[SEGMENTS] else record

    report = study_with(tmp_path, uneven)
    cause = report.cause
    assert cause is not None
    for claim in ("4 segments", "60.0 % ±8.9", "(10 points), n = 8 repeats", "25.0 %"):
        assert claim in cause.lead
    # 1/0.6 - 1 is 66.7 %; the interval is that of the share, turned over.
    assert "1/share - 1 = +67 ±25 %" in cause.lead
    (row,) = cause.tables[0].rows
    assert row[:4] == ("10 points", "32", "60.0 % ±8.9", "+67 ±25")
    (whole,) = report.compared[0].rows
    assert row[4] == gain_text(whole.change) and row[4].startswith("+12 ")
    assert row[5] == "8 connections"
    assert "60, 25, 15, 0 % of the visits" in cause.more[2]
    assert "certainly above +67 %" in cause.more[-1]


def test_a_full_machine_is_named_as_a_bound(study_report: Report) -> None:
    text = " ".join(study_report.found("bounds"))
    assert "used 1.9" in text and "2 CPUs" in text and "limits the gain" in text


def busy_in(seconds: Callable[[int], float]) -> Callable[[RunRecord], RunRecord]:
    """Runs whose server used so many CPUs, by repeat, and contend-load none."""

    def used(record: RunRecord) -> RunRecord:
        assert record.done is not None
        done = dict(record.done)
        cpu_us = seconds(record.repeat) * done["measured_s"] * 1e6
        done["server"] = {**done["server"], "cpu_us": cpu_us}
        done["client"] = {**done["client"], "cpu_us": 0.0}
        return replace(record, done=done)

    return used


@pytest.mark.parametrize(
    ("cpus", "verdict"),
    [
        ((1.99, 1.97), "More CPUs may show more"),
        ((1.5, 1.6), "did not limit"),
        # A mean below a full machine, and one above, whose intervals hold both.
        ((1.99, 1.7), "does not decide"),
        ((2.0, 1.82), "does not decide"),
    ],
)
def test_what_bounds_it_is_told_by_the_interval_and_not_by_the_mean(
    tmp_path: Path, cpus: tuple[float, float], verdict: str
) -> None:
    steps = f"{SEGMENTS}=[0, 32, 64]"
    report = study_with(tmp_path, busy_in(lambda repeat: cpus[repeat % 2]), steps)
    assert len(report.found("bounds")) >= 2
    assert verdict in report.found("bounds")[1]
    is_full = "More CPUs" in verdict
    answer = (*report.answer.others, *report.answer.basis)
    assert any("a machine with more CPUs" in one for one in answer) == is_full


@pytest.mark.parametrize(("together", "shared"), [(1.32, True), (1.9, False), (None, False)])
def test_cpus_that_share_a_core_are_told(
    tmp_path: Path, together: float | None, shared: bool
) -> None:
    facts = {**FACTS, "cpu": {**FACTS["cpu"], "together": together}}
    with RunFolder.open(write_slices(tmp_path / "run", study("quick"), facts=facts)) as folder:
        text = " ".join(build(folder).found("bounds") or ())
    assert "limits the gain" in text
    assert ("together do 1.3 times" in text) == shared


def test_a_gain_above_the_ceiling_refutes_it(tmp_path: Path) -> None:
    def half(record: RunRecord) -> RunRecord:
        segments = [{"segment": 1, "read_requests": 90}, {"segment": 2, "read_requests": 10}]
        return probed(record, key_caches=segments) if record.cell[SEGMENTS] else record

    cause = study_with(tmp_path, half).cause
    assert cause is not None
    assert any("is above the ceiling" in text for text in cause.more)


@pytest.mark.parametrize(
    ("reads", "warmth"),
    [
        (0, "The key cache was warm: no"),
        (1, "was warm in every cell: at most 0.00"),
        (10**6, "was not warm everywhere"),
    ],
)
def test_warmth_is_what_was_counted(tmp_path: Path, reads: int, warmth: str) -> None:
    def read(record: RunRecord) -> RunRecord:
        return probed(record, status={**record.probes["status"], "Key_reads": reads})

    cause = study_with(tmp_path, read).cause
    assert cause is not None
    assert any(warmth in text for text in cause.more)


def test_unknown_misses_are_not_called_warm(tmp_path: Path) -> None:
    cause = study_with(tmp_path, lambda record: probed(record, status={})).cause
    assert cause is not None
    assert any("were not recorded" in text for text in cause.more)


@pytest.mark.parametrize("rows", [None, [], [{"segment": None, "read_requests": 5}]])
def test_without_segments_there_is_no_cause(tmp_path: Path, rows: Any) -> None:
    assert study_with(tmp_path, lambda record: probed(record, key_caches=rows)).cause is None


def test_a_difference_of_something_else_is_not_put_down_to_segments(tmp_path: Path) -> None:
    compared = f'compare.baseline={{ "{POINTS}" = 10 }}'
    report = study_with(tmp_path, None, f"{SEGMENTS}=32", f"{POINTS}=[10, 50]", compared)
    assert report.cause is None
    assert not any("cause" in section.title for section in report.sections)
    assert "splitting" not in report.answer.sentence


def test_a_model_server_says_what_its_locks_did(tmp_path: Path) -> None:
    report = study_with(tmp_path, of_model)
    cause = report.cause
    assert cause is not None
    text = " ".join(cause.more)
    assert "30.0 % ±0.0 with off" in text and "5.0 % ±0.0 with 32" in text
    assert "80.0 ±0 ns and 80.0 ±0 ns" in text


def test_locks_have_a_section_of_their_own(tmp_path: Path) -> None:
    sections = study_with(tmp_path, of_model).sections
    (section,) = [one for one in sections if one.lead.startswith("Visits waited")]
    most, _, least = section.lead.partition("Visits waited least often with")
    assert "segments = 0," in most and "30.0 % ±0.0 of them" in most
    assert "segments = 32," in least
    hottest = section.lead.partition("The most visited segment is number 1: ")[2]
    assert re.findall(r"\S+ (?:% )?±\S+", hottest) == ["40.0 % ±0.0", "5.0 % ±0.0", "80.0 ±0"]
    of_cells, of_segments = section.tables
    waits = {row[0]: row[1:3] for row in of_cells.rows}
    assert len(waits) == 4
    for cell, figures in waits.items():
        share = "30.0" if "segments = 0" in cell else "5.0"
        assert figures == (f"{share} % ±0.0", "80.0 ±0")
    assert [row[:3] for row in of_segments.rows] == [
        (str(n), f"{share}.0 % ±0.0", "5.0 % ±0.0") for n, share in enumerate((40, 30, 20, 10), 1)
    ]


def test_other_servers_have_no_such_section(study_report: Report) -> None:
    assert not any("locks" in section.title for section in study_report.sections)


def test_the_head_says_that_it_is_a_model(tmp_path: Path) -> None:
    report = study_with(tmp_path, of_model)
    assert report.about_server.startswith("This is a model, not a server")
    assert report.about_server.endswith("no effect on it: query_cache_type.")
    assert as_json(report)["about_server"] == report.about_server
    assert report.about_server in html.render(report, {})
    assert ("Server", "model server 10.11.14-MariaDB") in report.summary


def test_a_server_is_not_said_to_be_none(study_report: Report) -> None:
    assert study_report.about_server == ""
    assert "about_server" not in as_json(study_report)


def test_an_analysis_of_a_newer_contend_is_left_out(tmp_path: Path) -> None:
    experiment = replace(study("quick"), explain="quantum-locks", words={})
    report = report_of(write_run(tmp_path / "run", experiment, runs=12))
    assert report.cause is None
    assert report.layout.baseline == "0"
