"""Switches between threads: which rounds of a look are traced, what is told of a query, and what
tracing did."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_up_looks import switches

from contend.findings.figures import SWITCHES, held_share
from contend.host.switches import Switches
from contend.sections.looks import groups_of
from contend.sections.switches import _figures, _Rounds, switches_of


def test_figures_are_of_a_query_and_tracing_has_its_price() -> None:
    looks = [switches({"a": 0}), switches({"a": 1}, by_holder_us=0.0)]
    ((base, level),) = groups_of(looks, SWITCHES, switches_of, "a", 0)
    assert base.of_query["preempted"].mean == pytest.approx(0.1)
    assert base.of_query["asleep_us"].mean == pytest.approx(800)
    assert base.of_query["by_holder_us"].n == 4
    assert base.held_share == pytest.approx(0.08) and level.held_share == 0
    assert base.speed.mean == pytest.approx(0.9535, abs=0.001)
    assert base.effect is None
    assert level.effect is not None and level.effect.mean == pytest.approx(1)


def test_what_was_not_traced_is_not_known() -> None:
    whole = switches({"a": 0})
    plain = [{k: v for k, v in one.items() if k != "look"} for one in whole.figures["rounds"]]
    untraced = replace(whole, figures={**whole.figures, "rounds": plain})
    assert held_share(untraced.figures) is None
    found = switches_of(untraced, None)
    assert found.of_query == {} and found.held_share == 0


class Tracer:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def watch(self, threads: object) -> None:
        self.calls.append("watch")

    def begin(self) -> None:
        self.calls.append("begin")

    def pause(self) -> None:
        self.calls.append("pause")


def a_slice(arm: int, round_: int) -> Any:
    return {
        "start_s": 1.0 + round_ + 0.5 * arm,
        **{"type": "slice", "arm_index": arm, "round": round_, "duration_s": 0.1},
        **{"qps": 100.0, "queries": 10, "latency_us": {"mean": 50.0}},
    }


def test_two_rounds_of_four_are_traced_at_all_levels_whatever_their_order() -> None:
    tracer: Any = Tracer()
    seen = _Rounds(tracer, [7, 8])
    calls = []
    for round_ in range(9):
        for arm in (0, 1) if round_ % 2 else (1, 0):
            seen.on_event(a_slice(arm, round_))
            calls.append((round_, arm, list(tracer.calls)))
            tracer.calls.clear()
    assert [one for one in calls if one[2]] == [
        (0, 1, ["watch"]),
        (1, 1, ["begin"]),
        (3, 1, ["pause"]),
        (5, 1, ["begin"]),
        (7, 1, ["pause"]),
    ]
    assert [key for _, key in seen.windows()] == [
        (arm, round_)
        for round_, arms in ((2, (1, 0)), (3, (0, 1)), (6, (1, 0)), (7, (0, 1)))
        for arm in arms
    ]
    assert [window.pid for window, _ in seen.windows()[:2]] == [8, 7]
    # By the clock of contend-load, however late the lab hears of a slice.
    begins = {key: window.begin_s for window, key in seen.windows()}
    assert begins[0, 3] - begins[0, 2] == pytest.approx(1.0)
    assert all(w.end_s - w.begin_s == pytest.approx(0.1) for w, _ in seen.windows())


def test_only_rounds_that_were_traced_have_a_look_and_the_first_is_in_no_figure() -> None:
    slices = [a_slice(1, round_) for round_ in range(5)]
    figures = _figures(slices, {(1, 2): Switches(slept=3), (0, 3): Switches()}, 1, 5)
    assert [one.get("look", {}).get("slept") for one in figures["rounds"]] == [None, 3, None, None]
    assert [one["round"] for one in figures["rounds"]] == [1, 2, 3, 4]
    assert figures["lost"] == 5 and figures["rounds"][0]["latency_us_mean"] == 50.0
