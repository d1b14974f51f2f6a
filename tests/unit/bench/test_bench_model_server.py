"""How the model server is put beside MariaDB: what is fitted, and how a gain is told."""

from __future__ import annotations

import math
from typing import Any

import pytest
from bench_module import bench_module

from contend.store import RunRecord

model_server = bench_module("model_server")

SEGMENTS = model_server.SEGMENTS


def run(segments: int, cpu_us: float, *, queries: int = 100, pages: int = 90) -> RunRecord:
    done: Any = {"queries": queries, "server": {"cpu_us": cpu_us * queries}}
    status = {"Key_read_requests": pages * queries, "Questions": queries}
    return RunRecord(
        *(1, 1, 1, {SEGMENTS: segments}, "ok", "", ""), done=done, probes={"status": status}
    )


def test_cpu_is_that_of_a_query_at_a_level() -> None:
    runs = [run(0, 40.0), run(0, 60.0), run(32, 10.0)]
    assert model_server.cpu_us(runs, 0) == pytest.approx(50.0)
    assert model_server.cpu_us(runs, 32) == pytest.approx(10.0)
    assert model_server.requests(runs) == pytest.approx(90.0)


@pytest.mark.parametrize(
    ("bare", "sets"),
    [
        # 45 µs over 90 requests are 500 ns each.
        (55.0, [(500, 0), (375, 125), (250, 250)]),
        (120.0, []),
    ],
)
def test_what_is_missing_is_put_into_the_requests_of_a_page(
    monkeypatch: pytest.MonkeyPatch, bare: float, sets: list[tuple[int, int]]
) -> None:
    def measured(one: Any, *_: object) -> tuple[list[RunRecord], dict[object, object]]:
        cpu_us = 100.0 if one.kind == "mariadb" else bare
        return [run(0, cpu_us - 10), run(32, cpu_us + 10)], {}

    monkeypatch.setattr(model_server, "measure", measured)
    found, said = model_server.contestants(10, 1.0)
    assert [one.sets for one in found[2:]] == [
        (f"server.knobs.outside_lock_ns={out}", f"server.knobs.under_lock_ns={under}")
        for out, under in sets
    ]
    assert ("nothing is fitted" in said[0]) == (not sets)


def test_a_gain_has_its_interval_or_is_not_told() -> None:
    assert model_server.gain([0.1]) == ("–", None)
    text, found = model_server.gain([math.log(1.2), math.log(1.25), math.log(1.3)])
    assert text.startswith("+25 % [") and text.endswith("n=3")
    assert found.low < 1.25 < found.high
