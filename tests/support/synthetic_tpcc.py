"""Runs of a study as if they had asked the transactions of TPC-C."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from contend.store import RunRecord

KINDS = {
    "new_order": (1000, 7.5),
    "payment": (1000, 0.2),
    "order_status": (100, 0.1),
    "delivery": (100, 0.4),
    "stock_level": (80, 6.0),
}
"""Of each transaction how many ended, and the 90th percentile in seconds."""


def of_tpcc(record: RunRecord, waits_percent: int) -> RunRecord:
    """A run of a study as if it had asked these transactions."""
    assert record.done is not None
    times = record.done["latency_us"]
    kinds = [
        {
            "name": name,
            "events": events,
            "events_in_parts": events,
            "rolled_back": 10 if name == "new_order" else 0,
            "failed": 3 if name == "payment" else 0,
            "retries": 46 if name == "payment" else 0,
            "latency_us": {**times, "p90": p90_s * 1e6},
            "latency_hdr_ns": "",
            "classes": [],
        }
        for name, (events, p90_s) in KINDS.items()
    ]
    events = sum(events for events, _ in KINDS.values())
    workload: Any = {"kind": "tpcc", "waits_percent": waits_percent}
    done: Any = {
        **record.done,
        **{"events": events, "events_in_parts": events, "queries": 30 * events, "kinds": kinds},
    }
    plan: Any = {**record.plan, "workload": workload}
    return replace(record, plan=plan, done=done)
