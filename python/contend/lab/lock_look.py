"""A look at the locks inside servers: the same load on servers that are started with their
performance_schema, which says of each lock how long threads waited for it.

It slows a server down, so nothing of it is in a measured run: its own queries a second stand beside
those without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from contend.errors import WorkError
from contend.lab.looks import SLICE_S, now
from contend.lab.testbed import Ready
from contend.load import ArmSpec, LoadDriver, plan_in_slices
from contend.outcome import Outcome
from contend.placement import Placed
from contend.servers.lock_waits import LockWaits, lock_waits
from contend.settings.load import Slicing
from contend.spec import Planned
from contend.store import LookRecord

LOCKS = "locks"

PARTS, ROUNDS = 4, 3
"""So many times the locks are read before and after so many rounds."""

_KEPT = 12
"""Locks of which most is known."""


def look_at_locks(
    name: str,
    block: int,
    runs: Sequence[Planned],
    arms: Sequence[ArmSpec],
    readies: Sequence[Ready],
    load: LoadDriver,
    slices: Slicing | None = None,
) -> list[LookRecord]:
    """Read the locks of these arms' servers before and after rounds of slices, several times.

    Raises:
        WorkError: a server counts no locks, or one server has several levels in turn.
        LoadFailed: contend-load gave no result.
    """
    if len({ready.observed.pid for ready in readies}) < len(readies):
        raise WorkError("one server has all levels in turn, and counts their locks together")
    usual = slices or Slicing(SLICE_S, 0.02, ROUNDS)
    cut = replace(usual, slice_s=max(SLICE_S, usual.slice_s), rounds=ROUNDS)
    plan = plan_in_slices(arms, cut, seed=block)
    placed = Placed(readies[0].client) if readies[0].client else None
    env = {key: value for ready in readies for key, value in ready.env.items()}
    parts: list[list[dict[str, Any]]] = [[] for _ in arms]
    started_at = now()
    for _ in range(PARTS):
        before = [_read(ready) for ready in readies]
        rates: list[list[float]] = [[] for _ in arms]

        def on_event(event: Outcome, into: list[list[float]] = rates) -> None:
            if event["type"] == "slice":
                into[event["arm_index"]].append(event["qps"])

        load.run(plan, env=env, on_event=on_event, placed=placed)
        for place, ready in enumerate(readies):
            parts[place].append(_part(before[place], _read(ready), rates[place]))
    return [
        LookRecord(name, block, run.cell, started_at, now(), {"parts": parts[place]})
        for place, run in enumerate(runs)
    ]


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
