"""A look at the locks inside servers: the same load on servers that are started with their
performance_schema, which says of each lock how long threads waited for it.

It slows a server down, so nothing of it is in a measured run: its own queries a second stand beside
those without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contend.errors import WorkError
from contend.lab.look_block import BlockToLookAt
from contend.lab.looks import SLICE_S
from contend.lab.testbed import Ready
from contend.outcome import Outcome
from contend.servers.variables import LockWaits, lock_waits
from contend.store import LookRecord

LOCKS = "locks"

PARTS, ROUNDS = 4, 3
"""So many times the locks are read before and after so many rounds."""

_KEPT = 12
"""Locks of which most is known."""


def look_at_locks(block: BlockToLookAt) -> list[LookRecord]:
    """Read the locks of these cells' servers before and after rounds of slices, several times.

    Raises:
        WorkError: a server counts no locks, or one server has several levels in turn.
        LoadFailed: contend-load gave no result.
    """
    if not block.has_own_servers:
        raise WorkError("one server has all levels in turn, and counts their locks together")
    cut = block.cut(ROUNDS, SLICE_S, 0.02)
    parts: list[list[dict[str, Any]]] = [[] for _ in block.arms]
    for _ in range(PARTS):
        before = [_read(ready) for ready in block.readies]
        rates: list[list[float]] = [[] for _ in block.arms]

        def on_event(event: Outcome, into: list[list[float]] = rates) -> None:
            if event["type"] == "slice":
                into[event["arm_index"]].append(event["qps"])

        block.drive(cut, on_event)
        for place, ready in enumerate(block.readies):
            parts[place].append(_part(before[place], _read(ready), rates[place]))
    return block.records([{"parts": one} for one in parts])


def _read(ready: Ready) -> LockWaits:
    found = lock_waits(ready.observed.connection)
    if found is None:
        raise WorkError("its performance_schema is off, or counts no locks")
    return found


def _part(before: LockWaits, after: LockWaits, rates: Sequence[float]) -> dict[str, Any]:
    """Per query of that server, whoever asked it: of the locks with most waiting."""
    queries = max(1, after.queries - before.queries)
    waits = _risen(before.waits_us, after.waits_us)
    counts = _risen(before.counts, after.counts)
    most = sorted(waits, key=lambda name: -waits[name])[:_KEPT]
    return {
        "qps": sum(rates) / len(rates) if rates else 0.0,
        "locks": [
            {
                "lock": name.removeprefix("wait/synch/"),
                "wait_us": waits[name] / queries,
                "count": counts.get(name, 0.0) / queries,
            }
            for name in most
        ],
    }


def _risen(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {name: value - before.get(name, 0) for name, value in after.items()}
