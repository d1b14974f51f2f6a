"""Figures of runs with the transactions of TPC-C; other runs do not have them."""

from __future__ import annotations

from contend.metrics import read
from contend.metrics.model import Metric, Read, Run

KIND = "tpcc"

NEW_ORDERS_PER_TERMINAL = 1.286
"""Maximum new orders per minute of a terminal with keying and think times: a tenth of the 12.86 per
warehouse in clause 4.2.1."""


_VERBS = ("select", "insert", "update", "delete", "begin", "commit", "rollback")
"""Statements of the transactions, as counted by the server."""


def is_tpcc(run: Run) -> bool:
    return (run.plan.get("workload") or {}).get("kind") == KIND


def waits_percent(run: Run) -> int:
    """Keying and think times of the users, in percent of the specification's."""
    percent: object = (run.plan.get("workload") or {}).get("waits_percent")
    return percent if isinstance(percent, int) else 0


def _only(figure: Read) -> Read:
    return lambda run: figure(run) if is_tpcc(run) else None


_new_orders = read.field(read.named(read.kinds, "new_order"), lambda kind: kind["events_in_parts"])
_per_s = read.over(_new_orders, read.measured_s)
_executed = read.field(
    read.status, lambda counters: float(sum(counters.get(f"Com_{verb}", 0) for verb in _VERBS))
)
_inside = read.over(_executed, read.counter("Questions"))


def _per_minute(run: Run) -> float | None:
    per_s = _per_s(run)
    return None if per_s is None else 60 * per_s


def _statements(run: Run) -> float | None:
    """Statements that the client sends, or that procedures run.

    The server's `Queries` also counts every assignment and condition of a procedure.
    """
    trips, inside = read.round_trips_per_event(run), _inside(run)
    return None if trips is None or inside is None else trips * max(1.0, inside)


def _efficiency(run: Run) -> float | None:
    """None without the specified keying and think times."""
    per_minute = _per_minute(run)
    if per_minute is None or waits_percent(run) != 100:
        return None
    return per_minute / (NEW_ORDERS_PER_TERMINAL * run.plan["load"]["connections"])


# fmt: off
TPCC = (
    Metric("new_orders_per_minute", "Rate of new orders", "orders/min", _only(_per_minute), "rate",
           phrase="make new orders per minute", counted=True),
    Metric("statements_per_transaction", "Statements per transaction", "", _only(_statements),
           phrase="take statements per transaction", counted=True),
    Metric("tpcc_efficiency", "Share of the possible new orders", "", _only(_efficiency), "rate"),
)
# fmt: on
