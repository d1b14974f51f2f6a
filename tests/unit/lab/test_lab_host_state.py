"""The host is looked at before and after every block; its state stands with the block's runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lab_in_slices import Bench

from contend.lab.events import Event, Notice
from contend.lab.shared_host import LOOK_EVERY_S, HostWatch
from contend.load import LoadFailed
from contend.metrics.probed import CpuState
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
    assert "452 ns before and 75 ns after" in found.warnings[1]["message"]


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


class TestWaiting:
    def watch(self, looks: list[float | None], patience_s: float) -> HostWatch:
        """One that finds these distances, then the last of them for ever; each look takes no time,
        and a wait what it says."""
        self.now_s, self.told = 0.0, list[str]()

        def ask(_memory: bool) -> CpuState | None:
            ns = looks.pop(0) if len(looks) > 1 else looks[0]
            return None if ns is None else cpu_state(ns)

        def sleep(seconds: float) -> None:
            self.now_s += seconds

        def listen(event: Event) -> None:
            assert isinstance(event, Notice)
            self.told.append(event.text)

        return HostWatch(ask, patience_s, listen, lambda: self.now_s, sleep)

    def test_a_near_host_is_not_waited_for(self) -> None:
        assert self.watch([95.0], 60.0).wait_for_calm() == 0.0
        assert not self.told

    def test_nobody_waits_who_was_not_asked_to(self) -> None:
        assert self.watch([800.0], 0.0).wait_for_calm() == 0.0

    def test_what_is_not_known_is_not_waited_for(self) -> None:
        assert self.watch([None], 60.0).wait_for_calm() == 0.0

    def test_it_waits_until_three_looks_in_a_row_are_near(self) -> None:
        watch = self.watch([800.0, 90.0, 90.0, 500.0, 90.0, 90.0, 90.0], 60.0)
        assert watch.wait_for_calm() == 6 * LOOK_EVERY_S
        assert "waiting up to 60 s" in "".join(self.told)

    def test_patience_is_that_of_the_whole_run(self) -> None:
        watch = self.watch([800.0], 2.0)
        assert watch.wait_for_calm() == 2.0
        assert "stayed far apart" in self.told[-1]
        assert watch.wait_for_calm() == 0.0

    def test_more_time_is_promised_before_anything_runs(self) -> None:
        self.watch([800.0], 0.0).promise(is_open=True)
        assert "800 ns" in self.told[0]
        assert "takes 4 to 9 times as long" in self.told[0]
        assert "compare.wait_for_calm" in self.told[0]
        self.watch([800.0], 60.0).promise(is_open=False)
        assert "two to three times as wide" in self.told[0]
        assert "compare.wait_for_calm" not in self.told[0]
        self.watch([95.0], 0.0).promise(is_open=True)
        assert not self.told


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
