"""How `bench/slices_null.py` reads the slices of a run, and what it says of its repeats."""

from __future__ import annotations

from types import SimpleNamespace

from bench_module import bench_module

slices = bench_module("slices_null")


def test_rates_are_paired_by_round_whatever_the_order() -> None:
    lines = [
        {"type": "hello"},
        {"type": "slice", "round": 1, "arm_index": 1, "qps": 4.0},
        {"type": "slice", "round": 1, "arm_index": 0, "qps": 3.0},
        {"type": "slice", "round": 0, "arm_index": 0, "qps": 1.0},
        {"type": "slice", "round": 0, "arm_index": 1, "qps": 2.0},
        {"type": "slice", "round": 2, "arm_index": 1, "qps": 9.0},
        {"type": "done"},
    ]
    assert slices.rates(lines) == ([1.0, 3.0], [2.0, 4.0])


def test_intervals_are_counted_by_whether_they_hold_the_known_ratio() -> None:
    def repeat(ratio: float, half: float) -> object:
        found = SimpleNamespace(mean=ratio, low=ratio - half, high=ratio + half)
        return slices.Repeat(found, 0.001)

    made = [repeat(0.95, 0.01), repeat(0.96, 0.01), repeat(0.97, 0.01), repeat(0.94, 0.01)]
    cells = slices.row(1.05, made)
    # The truth is 1 / 1.05, which the last two miss on either side.
    assert cells[:4] == ["1000 and 1050", "0.9524", "4", "2 of 4"]
    assert cells[4].startswith("0.9549 [")
    assert cells[5:] == ["0.0100", "0.10 %"]
    assert slices.row(1.0, made)[3] == "0 of 4"
