"""The part of the scatter that the state of the host explains is found where it was put."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_module import bench_module
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_slices

from contend.store import RunRecord

state_scatter = bench_module("state_scatter")

ONE_CELL = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=24")


def session(path: Path, seed: int, slope: float) -> Path:
    """A session whose gain grows with the distance of its blocks, by so much a doubling."""
    usual = random.Random(seed).uniform(0, 1.5)

    def at_a_distance(record: RunRecord) -> RunRecord:
        chance = random.Random(f"{seed} {record.block}")
        doublings = usual + chance.uniform(0, 2)

        def look(ns: float) -> dict[str, Any]:
            pair = {"cpus": [0, 1], "handover_ns": ns, "wake_us": 30.0}
            return {"cpus": 2, "pairs": [pair], "of_pairs": 1, "memory_ns": None}

        ns = 100 * 2**doublings
        state = {"before": look(ns), "after": look(ns), "memory_ns": None, "refaults": 0}
        times = math.exp(slope * doublings) if record.cell[SEGMENTS] else 1.0
        intervals = [{**one, "qps": one["qps"] * times} for one in record.intervals]
        return replace(record, probes={**record.probes, "state": state}, intervals=intervals)  # type: ignore[arg-type, typeddict-item]

    return write_slices(path, study(sets=ONE_CELL), change=at_a_distance, seed=seed)


@pytest.fixture(params=[0.1, 0.0], ids=["it matters", "it does not"])
def slope(request: pytest.FixtureRequest) -> float:
    return float(request.param)


def test_each_tier_has_its_part(tmp_path: Path, slope: float) -> None:
    folders = [session(tmp_path / str(seed), seed, slope) for seed in range(1, 7)]
    slices = state_scatter.slices_of(folders)
    assert len(slices) == 6 * 24 * 16
    for tier in ("repeats", "sessions"):
        found = state_scatter.explained(slices, tier, "gain")
        assert found.n == {"repeats": 6 * 24, "sessions": 6}[tier]
        assert abs(found.slope - slope) < found.half + 0.01
        assert (found.part > 0.8) == (slope > 0)
    # Both looks at a block were alike, and a repeat has one block of the cell.
    for tier in ("slices", "blocks"):
        assert math.isnan(state_scatter.explained(slices, tier, "gain").part)
    table = state_scatter.table_of([state_scatter.explained(slices, "repeats", "gain")])
    assert "| repeats | gain | 144 (6) |" in table


def test_folders_without_a_state_say_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_slices(tmp_path / "run", study(sets=ONE_CELL))
    monkeypatch.setattr("sys.argv", ["state_scatter.py", str(path)])
    assert state_scatter.main() == 1
    assert "whose state is known" in capsys.readouterr().err
