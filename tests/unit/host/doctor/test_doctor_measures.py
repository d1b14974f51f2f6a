"""The small measurements, on this host: each gives what can be, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contend.host.doctor import measures
from contend.load import LoadFailed
from contend.metrics.host import UNITS, Measure, in_words


def test_a_flush_is_measured_and_leaves_no_file(tmp_path: Path) -> None:
    found = measures.fsync_us(tmp_path / "not" / "there")
    assert 0 < found.low <= found.value <= found.high
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "take", [measures.timer_late_us, lambda: measures.fault_us_per_mib(1)], ids=["timer", "fault"]
)
def test_parts_lie_around_their_middle(take: Any) -> None:
    found = take()
    assert found.low <= found.value <= found.high


def test_the_quiet_window_counts_what_others_do() -> None:
    found = measures.quiet_window(0.25)
    assert 0 <= found["busy_share"].value <= 1.5
    assert found.keys() <= UNITS.keys()


def _state(handover_ns: float, memory_ns: float | None) -> dict[str, Any]:
    pair = {"cpus": [0, 1], "handover_ns": handover_ns, "wake_us": 20.0}
    return {"cpus": 2, "pairs": [pair], "of_pairs": 1, "memory_ns": memory_ns}


def test_cpus_that_move_show_in_the_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures.time, "sleep", lambda _s: None)
    loads = iter([150.0, 140.0, 190.0])
    looks = iter([80.0, 75.0, 410.0, 90.0, 85.0])

    def ask(memory: bool) -> Any:
        return _state(next(looks), next(loads) if memory else None)

    found = measures.cpus(ask)
    assert found["handover_ns"] == Measure(85.0, 75.0, 410.0)
    assert found["memory_ns"] == Measure(150.0, 140.0, 190.0)


def test_a_load_generator_that_cannot_look_leaves_it_out() -> None:
    def ask(_memory: bool) -> Any:
        raise LoadFailed("no")

    assert measures.cpus(ask) == {}


def _nodes(*pairs: tuple[int, int, float | None]) -> Any:
    of = [
        {"cpus_of": one, "memory_of": other, "latency_ns": ns, "bandwidth_gb_s": 9.0}
        for one, other, ns in pairs
    ]
    return {"bytes": 1, "caches_bytes": 0, "nodes": [], "pairs": of}


def test_the_memory_of_other_nodes_is_a_measure_of_its_own() -> None:
    two = _nodes((0, 0, 90.0), (1, 0, 150.0), (0, 1, 160.0), (1, 1, 95.0), (2, 0, None))
    found = measures.nodes(lambda: two)
    assert found == {"far_memory_ns": Measure(155.0, 150.0, 160.0)}


def test_one_node_has_no_other_and_one_that_cannot_look_says_nothing() -> None:
    assert measures.nodes(lambda: _nodes((0, 0, 90.0))) == {}

    def ask() -> Any:
        raise LoadFailed("no")

    assert measures.nodes(ask) == {}


def test_folders_on_one_disk_are_told_from_others(tmp_path: Path) -> None:
    assert measures.same_disk(tmp_path / "a" / "b", tmp_path)
    assert not measures.same_disk(Path("/proc"), tmp_path)


@pytest.mark.parametrize(
    ("name", "found", "words"),
    [
        ("fsync_us", Measure(412.3, 380, 455), "412 µs (380 to 455)"),
        ("fsync_us", Measure(2500, 2500, 2500), "2,500 µs"),
        ("steal_share", Measure(0.0123, 0, 0.04), "1.2 % (0 to 4)"),
        ("clock_ns", Measure(25, 25, 25), "25 ns"),
    ],
)
def test_measures_in_words(name: str, found: Measure, words: str) -> None:
    assert in_words(name, found) == words
