"""The host is looked at before and after every block; its state stands with the block's runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lab_in_slices import Bench

from contend.lab.host_state import HostWatch
from contend.load import LoadFailed
from contend.probed import CpuState
from contend.store import RunFolder, RunRecord

CELL = {"load.connections": 8}


def cpu_state(ns: float, memory_ns: float | None = None) -> CpuState:
    pair = {"cpus": [0, 1], "handover_ns": ns, "wake_us": 30.0}
    return {"cpus": 2, "pairs": [pair], "of_pairs": 1, "memory_ns": memory_ns}  # type: ignore[list-item]


def record() -> RunRecord:
    return RunRecord(1, 1, 1, CELL, "ok", "", "", warnings=[{"code": "own", "message": "own"}])


def watched(ask: Callable[[bool], CpuState | None]) -> RunRecord:
    watch = HostWatch(ask)
    watch.begin_repeat(1)
    watch.before()
    (found,) = watch.after([record()])
    return found


def test_the_state_before_and_after_stands_with_the_run() -> None:
    looks = iter([cpu_state(95, 180.0), cpu_state(90), cpu_state(110)])
    found = watched(lambda _memory: next(looks))
    state = found.probes["state"]
    assert (state["before"], state["after"]) == (cpu_state(90), cpu_state(110))
    assert state["memory_ns"] == 180.0
    assert state["refaults"] is not None and state["refaults"] >= 0
    assert [one["code"] for one in found.warnings] == ["own"]


def test_a_block_whose_cpus_were_moved_is_marked() -> None:
    looks = iter([cpu_state(95, 180.0), cpu_state(452), cpu_state(75)])
    found = watched(lambda _memory: next(looks))
    assert [one["code"] for one in found.warnings] == ["own", "cpus-moved"]
    assert "in 452 ns before, and in 75 ns after" in found.warnings[1]["message"]


def test_a_load_from_memory_is_measured_once_a_repeat() -> None:
    asked: list[bool] = []

    def ask(memory: bool) -> CpuState:
        asked.append(memory)
        return cpu_state(90, 170.0 if memory else None)

    watch = HostWatch(ask)
    for repeat in (1, 1, 2):
        watch.begin_repeat(repeat)
        watch.before()
        (found,) = watch.after([record()])
        assert found.probes["state"]["memory_ns"] == 170.0
    assert asked == [True, *(False, False) * 2, True, *(False, False)]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_that_nobody_knows_the_state_stops_nothing(fails_at: int) -> None:
    looks = 0

    def ask(_memory: bool) -> CpuState:
        nonlocal looks
        looks += 1
        if looks == fails_at + 1:
            raise LoadFailed("no")
        return cpu_state(90)

    found = watched(ask)
    assert ("state" in found.probes) == (fails_at == 0)


def test_one_cpu_has_a_state_without_a_mark() -> None:
    alone: CpuState = {"cpus": 1, "pairs": [], "of_pairs": 0, "memory_ns": None}
    found = watched(lambda _memory: alone)
    assert found.probes["state"]["before"] == alone
    assert [one["code"] for one in found.warnings] == ["own"]


@pytest.mark.parametrize("by", ["slices", "runs"])
def test_a_walk_keeps_the_state_of_each_block(tmp_path: Path, by: str) -> None:
    lab, looks = Bench(tmp_path), 0

    def ask(_memory: bool) -> CpuState:
        nonlocal looks
        looks += 1
        return cpu_state(100.0 + looks)

    lab.play(by=by, watch=HostWatch(ask))
    with RunFolder.open(lab.path) as folder:
        records = folder.records()
    states = {(one.block if by == "slices" else one.run): one.probes["state"] for one in records}
    assert all(one.probes["state"] == states[one.block if by == "slices" else one.run]
               for one in records)  # fmt: skip
    assert len({state["before"]["pairs"][0]["handover_ns"] for state in states.values()}) == len(
        states
    )
    for state in states.values():
        assert (
            state["after"]["pairs"][0]["handover_ns"]
            == state["before"]["pairs"][0]["handover_ns"] + 1
        )
