"""Knee and peak of a sweep in the report: told where a curve fits, and said where there is none."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, as_failed, study, write_run

from contend.findings import ReportText
from contend.report import Report, as_json, build
from contend.sections.scaling import _turn
from contend.sections.shape import _most_done
from contend.stats import Estimate, UslCurve
from contend.store import RunFolder, RunRecord

CURVES = {0: UslCurve(3000.0, 0.1, 0.004), 32: UslCurve(3000.0, 0.02, 0.0005)}
SWEEP = (1, 4, 8, 16, 32, 64, 128)
TITLE = "How it scales with the connections"


def by_curve(record: RunRecord) -> RunRecord:
    """The same run at the speed of its level's curve, with its noise."""
    curve = CURVES[int(record.cell[SEGMENTS])]
    noise = math.exp(random.Random(record.run).gauss(0, 0.01))
    return at_speed(record, noise * curve.at(int(record.cell[CONNECTIONS])))


def at_speed(record: RunRecord, qps: float) -> RunRecord:
    assert record.done is not None
    return replace(record, done={**record.done, "qps": qps})


def reported(
    path: Path,
    connections: Sequence[int] = SWEEP,
    change: Callable[[RunRecord], RunRecord | None] = by_curve,
    points: Sequence[int] = (10,),
) -> Report:
    sets = f"{CONNECTIONS}={list(connections)}", f"{POINTS}={list(points)}", f"{SEGMENTS}=[0, 32]"
    run = study(sets=(*sets, "compare.repeats=5"))
    with RunFolder.open(write_run(path, run, change=change)) as folder:
        return build(folder, percentiles=False)


def section(report: Report) -> Any:
    return next((one for one in report.sections if one.title == TITLE), None)


def test_knee_and_peak_of_each_level_are_told_with_intervals(tmp_path: Path) -> None:
    report = reported(tmp_path / "run")
    first, second = as_json(report)["scaling"]
    assert (first["level"], second["level"]) == (0, 32)
    for found, curve in zip((first, second), CURVES.values(), strict=True):
        peak = ((1 - curve.contention) / curve.coherency) ** 0.5
        assert found["fits"] is True and found["n"] == 5
        assert found["peak"]["low"] <= peak <= found["peak"]["high"]
        assert found["peak"]["low"] < found["peak"]["high"]
        assert found["knee"]["value"] == pytest.approx(curve.at(peak) / curve.rate, rel=0.1)
    lead = section(report).lead
    knee, _, rest = lead.partition(" and its peak at 1")
    assert "segments = 0, 10 points" in knee and "knee at 4.6" in knee and rest
    (chart,) = section(report).charts
    sources = {row["source"] for row in chart.spec["data"]["values"]}
    assert sources == {"measured", "curve", "knee", "peak"}
    assert section(report).tables[0].rows[1][-1] == "yes"


def test_a_peak_beyond_what_was_measured_is_not_told_as_a_number(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", (1, 4, 8, 16))
    assert "no peak up to 16 connections" in section(report).lead
    (chart,) = section(report).charts
    peaks = [row for row in chart.spec["data"]["values"] if row["source"] == "peak"]
    assert [row["level"] for row in peaks] == ["off"]


def test_knee_peak_and_growth_say_no_more_than_their_intervals() -> None:
    peak = Estimate(90.0, 32.0, math.inf, 5, 0.95)
    turn = _turn("peak", peak, 64)
    assert turn.startswith("no certain peak up to 64 ") and "below 32" in turn
    made = SimpleNamespace
    growth = made(ratio=1.25, low=0.825, high=1.9, n=5), made(ratio=1.8, low=1.5, high=2.16, n=5)
    known: Any = [(8, made(change=growth[0])), (64, made(change=growth[1]))]
    assert "is 1.8 ±0.3 times as high at 64" in _most_done(CONNECTIONS, 1, known, ReportText(""))


def test_too_few_for_a_curve_says_nothing(tmp_path: Path) -> None:
    points = reported(tmp_path / "points", (1, 8))
    repeats = reported(tmp_path / "run", change=lambda r: by_curve(r) if r.repeat <= 2 else None)
    for report in (points, repeats):
        assert section(report) is None
        assert [one["fits"] for one in as_json(report)["scaling"]] == [None, None]


def test_a_number_of_connections_that_failed_is_left_out(tmp_path: Path) -> None:
    def without_eight(record: RunRecord) -> RunRecord:
        return as_failed(record, "gone") if record.cell[CONNECTIONS] == 8 else by_curve(record)

    found = as_json(reported(tmp_path / "run", change=without_eight))["scaling"][0]
    assert found["connections"] == [1, 4, 16, 32, 64, 128] and found["fits"] is True


def test_a_curve_that_does_not_fit_is_said_and_has_no_knee(tmp_path: Path) -> None:
    def up_and_down(record: RunRecord) -> RunRecord:
        speeds = dict(zip(SWEEP, (1000, 2000, 3900, 1500, 1400, 3880, 3890), strict=True))
        noise = math.exp(random.Random(record.run).gauss(0, 0.01))
        return at_speed(record, noise * speeds[int(record.cell[CONNECTIONS])])

    report = reported(tmp_path / "run", change=up_and_down)
    lead = section(report).lead
    assert "does not fit" in lead and " at 8, 64 or 128 connections." in lead
    (chart,) = section(report).charts
    assert {row["source"] for row in chart.spec["data"]["values"]} == {"measured", "no fit"}
    assert as_json(report)["scaling"][0]["measured_most_at"] == [8, 64, 128]


def test_of_many_sweeps_the_first_and_the_last_by_their_knees_are_told(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", points=(10, 50, 100))
    assert "fits 6 of 6 sweeps" in section(report).lead
    assert section(report).lead.count("knee at") == 2
    assert len(section(report).tables[0].rows) == 6


def test_without_a_sweep_nothing_is_said(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", (8,), points=(10, 50))
    assert section(report) is None
    assert "scaling" not in as_json(report)


def test_events_that_begin_by_the_clock_have_no_curve(tmp_path: Path) -> None:
    def by_the_clock(record: RunRecord) -> RunRecord:
        assert record.done is not None
        return by_curve(replace(record, done={**record.done, "arrival": "open, 100 a second"}))

    assert section(reported(tmp_path / "run", change=by_the_clock)) is None
