"""The log ratios of comparisons in slices: one for each round, of what decides."""

from __future__ import annotations

import math
from typing import Any

import pytest

from contend.findings import SliceRatios
from contend.metrics import metric_of
from contend.store import RunRecord

PATH = "server.options.x"


def run(level: int, events: list[int], qps: list[float]) -> RunRecord:
    """A level of a block in slices of 0.1 s."""
    slices: list[Any] = [
        {"index": at, "duration_s": 0.1, "qps": rate, "events_in_parts": count}
        for at, (count, rate) in enumerate(zip(events, qps, strict=True))
    ]
    plan: Any = {"load": {"slices": {"slice_s": 0.1, "settle_s": 0.0, "rounds": len(slices)}}}
    at = "2026-01-01T00:00:00+00:00"
    return RunRecord(1, 1, 1, {PATH: level}, "ok", at, at, plan, None, slices, {}, [], None)


@pytest.mark.parametrize(
    ("metric", "ratios"), [("qps", [1.0, 1.0, 1.25]), ("events_per_s", [0.8, 0.9])]
)
def test_events_have_a_ratio_for_each_round_as_queries_have(
    metric: str, ratios: list[float]
) -> None:
    """A level that begins its transactions again asks as much, and gets less done."""
    found = SliceRatios(PATH, 0, metric_of(metric))
    found.add([run(0, [10, 10, 0], [200.0] * 3), run(1, [8, 9, 9], [200.0, 200.0, 250.0])])
    assert [math.exp(one) for one in found.ratios] == pytest.approx(ratios)
    assert found.units == found.blocks == [1] * len(ratios)
