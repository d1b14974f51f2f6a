"""Cells beside the client's ceiling: compared, marked, recorded, shown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from calibration_fakes import HOST, PROGRAM, ceiling, disturbed_by, scripted_program
from fake_load import FakeLoad
from lab_fakes import SessionBench, stop_at

from contend import report
from contend.experiment import CellSpec
from contend.lab.client import Calibrate, calibrate_cells
from contend.lab.events import Began, Interrupted, StepProgress
from contend.load.calibration import path_of, stored, this_host, this_program
from contend.load.ceilings import Calibration
from contend.report import export
from contend.store import RunFolder, RunRecord

LOW_AT_8 = Calibration(HOST, PROGRAM).with_more(
    # The fake client asks 1000 queries a second and connection, of 10 µs each.
    [ceiling(1, qps=90_000.0, cpu_us=10.0), ceiling(8, qps=10_000.0, cpu_us=10.0)]
)


class Bench(SessionBench):
    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path, choose_engine=lambda _experiment: {"engine": "io_uring"})
        self.asked: list[list[int]] = []

    def begin_calibrated(self, calibrate: Calibrate | None, load: FakeLoad | None = None) -> None:
        self.more["calibrate"] = calibrate
        self.begin(load)

    def known(self, calibration: Calibration | None) -> Calibrate:
        def calibrate(cells: Iterable[CellSpec]) -> Calibration | None:
            self.asked.append(sorted(cell["load.connections"] for cell in cells))
            return calibration

        return calibrate


@pytest.fixture(autouse=True)
def quiet_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contend.load.calibration.watched", disturbed_by)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def codes(record: RunRecord) -> set[str]:
    return {str(warning["code"]) for warning in record.warnings}


def test_cells_near_the_ceiling_are_marked_and_others_are_not(bench: Bench) -> None:
    bench.begin_calibrated(bench.known(LOW_AT_8))
    for record in bench.records():
        near = record.cell["load.connections"] == 8
        assert ("client-limited" in codes(record)) == near
        kept = record.probes["calibration"]
        assert kept["share"] == pytest.approx(0.8 if near else 1 / 90, rel=0.01)
        assert (kept["host"], kept["program"]) == (HOST.id, PROGRAM.sha256[:12])
        assert (kept["n"], kept["measured_at"]) == (4, "2026-11-20T10:00:00+00:00")


def test_the_mark_is_in_what_is_exported(bench: Bench) -> None:
    bench.begin_calibrated(bench.known(LOW_AT_8))
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
        document = report.as_json(built)
        cells = export.rows_of(folder, "cells")
        runs = export.rows_of(folder, "runs")
    for cell in document["cells"]:
        near = cell["factors"]["load.connections"] == 8
        assert ("client-limited" in cell["warnings"]) == near
        assert cell["client_ceiling_share"] == pytest.approx(0.8 if near else 1 / 90, rel=0.01)
    rows = list(csv.DictReader(io.StringIO(export.csv_of(cells))))
    assert {row["load.connections"] for row in rows if "client-limited" in row["warnings"]} == {"8"}
    assert all(row["client_ceiling_share"] for row in runs.rows)


def test_a_run_without_a_calibration_is_not_compared_and_says_so(bench: Bench) -> None:
    bench.begin_calibrated(bench.known(None))
    assert all("calibration" not in record.probes for record in bench.records())
    assert all("client-limited" not in codes(record) for record in bench.records())
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
    assert any("`contend calibrate`" in line for line in built.method)
    assert built.panels[0].metric("client_ceiling_share") is None


def test_a_ceiling_of_other_connections_is_not_used(bench: Bench) -> None:
    bench.begin_calibrated(bench.known(Calibration(HOST, PROGRAM).with_more([ceiling(1)])))
    compared = {r.cell["load.connections"] for r in bench.records() if "calibration" in r.probes}
    assert compared == {1}


def test_what_a_run_was_compared_with_stays_when_the_host_is_calibrated_anew(bench: Bench) -> None:
    with pytest.raises(Interrupted):
        bench.begin_calibrated(bench.known(LOW_AT_8), stop_at(4, KeyboardInterrupt()))
    before = bench.records()
    high = Calibration(HOST, PROGRAM).with_more([ceiling(1, qps=1e6), ceiling(8, qps=1e6)])
    bench.more["calibrate"] = bench.known(high)
    bench.resume()
    after = bench.records()
    assert after[:3] == before
    assert {record.probes["calibration"]["qps"] for record in after[3:]} == {1e6}
    assert [len(asked) for asked in bench.asked] == [8, 5]


class TestCalibrating:
    """The real thing over a program that plays contend-load."""

    def calibrate(self, bench: Bench, program: Path) -> Calibrate:
        cache = bench.path.parent / "cache"
        how: dict[str, Any] = {"cache": cache, "transport": "socket", "listen": bench.heard.append}
        return partial(calibrate_cells, program, **how)

    def test_what_is_missing_is_measured_before_the_runs_begin(self, bench: Bench) -> None:
        program = scripted_program(bench.path.parent)
        bench.begin_calibrated(self.calibrate(bench, program))
        steps = [event for event in bench.heard if isinstance(event, StepProgress)]
        assert (steps[-1].done, steps[-1].unit) == (steps[-1].total, "rounds")
        assert isinstance(bench.heard[bench.heard.index(steps[-1]) + 1], Began)
        assert all("calibration" in record.probes for record in bench.records())
        assert len(stored(program, bench.path.parent / "cache").ceilings) == 2

    def test_a_second_run_measures_nothing(self, bench: Bench) -> None:
        program = scripted_program(bench.path.parent)
        bench.begin_calibrated(self.calibrate(bench, program))
        bench.heard.clear()
        bench.path = bench.path.with_name("again")
        bench.begin_calibrated(self.calibrate(bench, program))
        assert isinstance(bench.heard[0], Began)
        assert all("calibration" in record.probes for record in bench.records())

    def test_a_file_of_another_format_is_measured_anew(self, bench: Bench) -> None:
        program = scripted_program(bench.path.parent)
        path = path_of(bench.path.parent / "cache", this_host(), this_program(program))
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"format": 3}))
        bench.begin_calibrated(self.calibrate(bench, program))
        assert "measures it again" in bench.notices()[0]
        assert all("calibration" in record.probes for record in bench.records())

    def test_a_null_server_that_fails_costs_the_comparison_alone(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NULL_SERVER_REFUSES", "1")
        bench.begin_calibrated(self.calibrate(bench, scripted_program(bench.path.parent)))
        assert "the null server did not start" in bench.notices()[-1]
        assert len(bench.records()) == 8

    def test_a_program_that_is_none_is_told_in_words(self, bench: Bench) -> None:
        program = bench.path.parent / "contend-load"
        program.write_text("#!/bin/false\n")
        program.chmod(0o755)
        bench.begin_calibrated(self.calibrate(bench, program))
        assert "does not print its version" in bench.notices()[-1]
