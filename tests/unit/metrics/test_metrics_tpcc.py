"""Metrics of TPC-C, and the runs without them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from contend.metrics import metric_of

NAMES = (
    "new_orders_per_minute",
    "statements_per_transaction",
    "tpcc_efficiency",
)


@dataclass
class Run:
    plan: dict[str, Any]
    probes: dict[str, Any] = field(default_factory=dict)
    done: dict[str, Any] | None = field(
        default_factory=lambda: {
            "measured_s": 120.0,
            "events": 600,
            "queries": 12_000,
            "kinds": [
                {"name": "new_order", "events": 272, "events_in_parts": 270},
                {"name": "payment", "events": 260, "events_in_parts": 261},
            ],
        }
    )


def run(**workload: Any) -> Run:
    return Run({"workload": {"kind": "tpcc", **workload}, "load": {"connections": 120}})


def values(of: Run) -> list[float | None]:
    return [metric_of(name).value(of) for name in NAMES]


def test_new_orders_are_counted() -> None:
    assert values(run()) == [135.0, None, None]
    assert metric_of("round_trips_per_event").value(run()) == 20.0


def test_statements_inside_procedures_count_but_no_other_commands() -> None:
    in_procedures = run(ask="procedure")
    counters = {"Com_select": 2_400, "Com_update": 1_000, "Com_commit": 100, "Com_set_option": 9}
    in_procedures.probes = {"status": {**counters, "Queries": 9_000, "Questions": 100}}
    assert metric_of("statements_per_transaction").value(in_procedures) == 20.0 * 35
    # A counter below the number sent removes no statement.
    in_procedures.probes = {"status": {"Com_select": 90, "Questions": 100}}
    assert metric_of("statements_per_transaction").value(in_procedures) == 20.0


def test_efficiency_is_of_terminals_that_wait_as_specified() -> None:
    assert metric_of("tpcc_efficiency").value(run(waits_percent=50)) is None
    share = metric_of("tpcc_efficiency").value(run(waits_percent=100))
    assert share == pytest.approx(135.0 / (12 * 12.86))


def test_other_runs_have_none_of_them() -> None:
    other = run()
    other.plan = {"workload": {"kind": "read_write"}, "load": {"connections": 120}}
    assert values(other) == [None] * 3
    other.plan = {}
    assert values(other) == [None] * 3
    unfinished = run()
    unfinished.done = None
    assert values(unfinished) == [None] * 3
