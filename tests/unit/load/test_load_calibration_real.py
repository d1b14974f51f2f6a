"""The real contend-load against its own null server: no database, nothing asserted of its speed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calibration_fakes import shape

from contend.cli.main import main
from contend.load import LoadProcess
from contend.load.calibration import Extent, calibrate, null_server
from contend.load.ceilings import Ceiling, RunShape, shape_of

SHORT = Extent(rounds=2, warmup_s=0.0, measure_s=0.25)
POINTS = {"kind": "random_points", "points": 10, "distribution": {"kind": "special"}}


def calibrated(shapes: list[RunShape], program: Path) -> list[Ceiling]:
    """The ceilings of all shapes: those for which a busy host had no time are measured again."""
    found: list[Ceiling] = []
    while left := [one for one in shapes if one not in [made.shape for made in found]]:
        found += calibrate(left, program, SHORT, lambda _done, _total: None)
    return found


def test_every_shape_has_its_figures(load_program: Path) -> None:
    shapes = [
        shape(1),
        shape(64),
        shape(8, protocol="text"),
        shape(8, transport="tcp"),
        shape(8, threads=2),
        shape(8, workload=POINTS),
    ]
    found = calibrated(shapes, load_program)
    assert sorted(one.shape.title for one in found) == sorted(one.title for one in shapes)
    for one in found:
        assert 1 <= len(one.rounds) <= 2
        for made in one.rounds:
            assert made.qps > 0
            assert made.cpu_us_per_query > 0
            assert 0 < made.p50_us <= made.p99_us
            assert 0 < made.busiest_thread_share <= 1.05
    assert {one.workers for one in found if one.shape.threads == 2} == {2}


def test_the_null_server_leaves_nothing_behind(load_program: Path) -> None:
    with null_server(load_program, "socket") as address:
        socket = Path(address.socket or "")
        assert socket.is_socket()
        assert socket.parent.stat().st_mode & 0o077 == 0
        plan = shape(4).plan(address, warmup_s=0.0, measure_s=600.0)
        plan["load"]["events"] = 40
        done = LoadProcess(load_program).run(plan, env={}, on_event=lambda _event: None)
        assert done["rows"] == done["queries"] == 40
        assert shape_of(plan) == shape(4)
    assert not socket.parent.exists()


def test_the_command_measures_keeps_and_shows(
    load_program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CONTEND_LOAD", str(load_program))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ["calibrate", "--connections", "8,1"]
    assert main([*words, "--seconds", "0.5", "--rounds", "2"]) == 0
    measured = capsys.readouterr()
    assert "contend-load for 4 kinds of load" in measured.err
    assert main(["calibrate", "--show"]) == 0
    assert capsys.readouterr().out == measured.out
    assert main(["calibrate", "--show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["connections"] for one in shown["ceilings"]] == [1, 8, 1, 8]
    for one in shown["ceilings"]:
        assert 1 <= one["n"] <= 2
        assert one["qps"]["mean"] > 0
        assert Path(shown["file"]).exists()
