"""What doctor found before a run stands by the verdicts that it touches, and by no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shown import as_text
from synthetic_run import FACTS, study, write_run

from contend.report import Report, as_json, build, html
from contend.store import RunFolder


def record(name: str, severity: str, touches: list[str], ignored: str | None = None) -> Any:
    return {
        "id": name,
        "title": "x",
        "severity": severity,
        "evidence": f"evidence of {name}",
        "cost": "c",
        "mend": "m",
        "touches": touches,
        "ignored": ignored,
        "measure": None,
    }


FOUND = [
    record("read-ahead", "note", ["all"]),
    record("damon-pageout", "warning", ["all"], ignored="it is the owner's"),
    record("governor", "warning", ["all"]),
    record("timer", "warning", ["latency"]),
    record("barriers", "severe", ["writes"]),
    record("somaxconn", "warning", ["tcp"]),
    record("zone-reclaim", "severe", ["all"]),
]


def report_of(path: Path, found: list[Any], metrics: tuple[str, ...] = ()) -> Report:
    write_run(path, study("quick"), facts={**FACTS, "doctor": found})
    with RunFolder.open(path) as folder:
        return build(folder, metrics)


def test_the_worst_come_first_and_each_only_where_it_touches(tmp_path: Path) -> None:
    report = report_of(tmp_path / "run", FOUND)
    # It reads, over a socket, and compares throughput.
    assert [(note.check, note.severity) for note in report.host_notes] == [
        ("zone-reclaim", "severe"),
        ("governor", "warning"),
        ("damon-pageout", "warning"),
    ]
    text = as_text(report, full=True)
    assert "that doctor reported" in text
    assert "(ignored: it is the owner's)" in text and "read-ahead" not in text
    for shown in (text, html.render(report, {})):
        assert "severe zone-reclaim: evidence" in shown
    (first, *_) = json.loads(json.dumps(as_json(report)))["host"]
    assert first["check"] == "zone-reclaim"
    assert first["metrics"] == ["qps"]


def test_a_finding_of_latency_stands_by_response_times_alone(tmp_path: Path) -> None:
    report = report_of(
        tmp_path / "run", FOUND, ("qps", "response_us_p99", "server_cpu_us_per_query")
    )
    notes = {note.check: note.metrics for note in report.host_notes}
    assert notes["timer"] == ("response_us_p99",)
    assert notes["governor"] == ("qps", "response_us_p99", "server_cpu_us_per_query")
    assert "timer (affects response_us_p99)" in as_text(report, full=True)


@pytest.mark.parametrize("found", [[], None])
def test_a_run_without_a_look_says_nothing(tmp_path: Path, found: list[Any] | None) -> None:
    report = report_of(tmp_path / "run", found or [])
    assert report.host_notes == ()
    assert "that doctor reported" not in as_text(report, full=True)
