"""Recorded sessions are summed up as they were made, and the recording goes on where it ended."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import pytest
from bench_module import bench_module
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_slices

from contend.store import RunFolder

sessions = bench_module("sessions")

ONE_CELL = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")


def line(log_ratio: float) -> dict[str, Any]:
    look = {"cpus": 2, "of_pairs": 1, "memory_ns": None}
    pair = {"cpus": [0, 1], "handover_ns": 91.2, "wake_us": 30.0}
    whole = {"metric": "qps", "level": 32, "log_ratio": log_ratio, "se": 0.01, "df": 7}
    return {
        "begun_at": "2026-03-01T10:00:00+00:00",
        "load_1m": 0.1,
        "before": {**look, "pairs": [pair]},
        "after": {**look, "pairs": []},
        "wholes": [whole],
        "logs": [log_ratio] * 8,
    }


def test_what_sessions_differ_by_is_found_where_it_was_put() -> None:
    chance = random.Random(4)
    said = sessions.summary(
        [line(0.1 + chance.gauss(0, math.hypot(0.04, 0.01))) for _ in range(40)]
    )
    assert "qps, 32: 40 sessions, common mean +1" in said
    sd, low, high = map(float, re.findall(r"deviation of (\S+) % \[(\S+), (\S+)\]", said)[0])
    assert low < 100 * math.expm1(0.04) < high and 3 < sd < 5.5
    own, with_tau = (int(part.split()[-1]) for part in said.split(" holds ")[1].split(" %")[:2])
    assert own < 60 and with_tau > 90, said
    assert "| 2026-03-01T10:00:00+00:00 | 32: +" in said
    assert "| 8 | 91, ? | 0.1 |" in said


def test_few_sessions_say_nothing_and_three_no_coverage() -> None:
    assert "2 sessions are too few" in sessions.summary([line(0.1)] * 2)
    three = sessions.summary([line(0.1)] * 3)
    assert "3 sessions, common mean" in three and "holds" not in three
    assert sessions.summary([]).startswith("| begun")


def test_a_recording_goes_on_where_it_was_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(
        sessions, "made", lambda time_each, _sets, _keep: made.append(time_each) or line(0)
    )
    monkeypatch.setattr(sessions.time, "sleep", lambda _s: None)
    path = tmp_path / "sessions" / "a.jsonl"
    sessions.record(path, 2, 600.0, "60s", [])
    with path.open("a") as file:
        file.write('{"session": 3, "beg')
    sessions.record(path, 4, 600.0, "60s", [])
    assert [one["session"] for one in sessions.read(path)] == [1, 2, 3, 4]
    assert len(made) == 4
    sessions.record(path, 4, 600.0, "60s", [])
    assert len(made) == 4


def test_a_line_has_what_its_run_said_and_how_it_was_cut(tmp_path: Path) -> None:
    with RunFolder.open(write_slices(tmp_path / "run", study(sets=ONE_CELL))) as folder:
        found = sessions.of_folder(folder)
    json.dumps(found, allow_nan=False)
    (whole,) = found["wholes"]
    assert whole["log_ratio"] == pytest.approx(sum(found["logs"]) / 8)
    assert found["blocks"] == len(found["rounds"]) == 8
    assert set(found["variances"]) == {"unit", "block", "round"}
