"""Switches between threads: what is told of a query, and what tracing did."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_looks import switches

from contend.findings.switches import held_share, switches_of


def test_figures_are_of_a_query_and_tracing_has_its_price() -> None:
    ((base, level),) = switches_of(
        [switches({"a": 0}), switches({"a": 1}, by_holder_us=0.0)], "a", 0
    )
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
    ((found,),) = switches_of([untraced], None, None)
    assert found.of_query == {} and found.held_share == 0
