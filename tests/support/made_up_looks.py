"""Looks at the threads of a server with made-up figures, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contend.spec import Level
from contend.store import LookRecord


def look(**changes: Any) -> dict[str, Any]:
    """Two threads for one second, a quarter of it on a CPU, a tenth waiting for one."""
    usual: dict[str, Any] = {
        **{"duration_s": 1.0, "threads": 2, "scheduled": True},
        **{"run_us": 500_000.0, "wait_us": 200_000.0},
        **{"other_run_us": 0.0, "other_wait_us": 0.0, "user_us": 300.0, "system_us": 100.0},
        **{"minor_faults": 0, "major_faults": 0, "host_busy_us": 1e6, "host_stolen_us": 0.0},
        **{"reads": 1000, "running": 350, "idle": 400, "blocked": {"futex": 250}},
        **{"futexes": [{"address": "0x7f", "reads": 240}], "refused": None, "look_cpu_us": 5e3},
    }
    return {**usual, **changes}


def rounds(count: int = 4, slowed: float = 1.0, **changes: Any) -> list[dict[str, Any]]:
    """1000 events in each second, so that each takes two milliseconds on two connections."""
    found = []
    for number in range(count):
        looked = number % 4 in (1, 2)
        one = {
            **{"round": number, "duration_s": 1.0, "begun": 1000, "events": 1000},
            **{"qps": 1000.0 * (slowed if looked else 1.0), "client_cpu_us": 105_000.0},
            "latency_us": {"mean": 2000.0},
        }
        found.append({**one, "look": look(**changes)} if looked else one)
    return found


def record(
    all_rounds: list[dict[str, Any]],
    cell: Mapping[str, Level] | None = None,
    block: int = 1,
    **more: Any,
) -> LookRecord:
    figures = {
        **{"rounds": all_rounds, "is_here": True, "connections": 2, "depth": 1},
        **{"arrival": "closed-loop", "lag_us_mean": None, **more},
    }
    when = "2026-03-01T11:00:00.000+00:00"
    return LookRecord("budget", block, cell or {"a": 1}, when, when, figures)
