"""Durations of statements, measured before slices are cut: a slice shorter than a statement gives
no result.

Only the user's own statements are timed. contend's own take microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from contend.experiment import CellSpec, is_file
from contend.experiment.settings.load import Slicing, ends_with_its_work
from contend.experiment.settings.plan_keys import SCHEMA_OF, SCRIPT, STATEMENTS, TWINS
from contend.load import ArmSpec, LoadDriver, LoadFailed, plan_in_slices
from contend.metrics.outcome import Done

AGAIN_S = 0.5
"""Faster statements are repeated: the first time may have met cold caches."""

TIMES_AGAIN = 3


TIMED_S_MAX = 600.0
"""Slower statements are not awaited."""


def is_timed(cell: CellSpec) -> bool:
    if ends_with_its_work(cell.values):
        return False
    workload = cell["workload"]
    if workload["kind"] == SCRIPT:
        return is_file(workload["script"])
    return workload["kind"] in STATEMENTS - SCHEMA_OF.keys() - {TWINS}


def event_times(
    arms: Sequence[ArmSpec],
    load: LoadDriver,
    *,
    seed: int,
    env: Mapping[str, str],
    limit_s: float,
) -> dict[str, float]:
    """Seconds that an event of each kind takes in the slowest of the arms, on all connections at
    once; empty if none ended within the limit, or the server refused it.

    Args:
        limit_s: for each arm and kind.
    """

    def ask(arms: Sequence[ArmSpec], rounds: int = 1) -> list[dict[str, float]]:
        plan = plan_in_slices(arms, Slicing(limit_s, 0.0, rounds), seed=seed)
        try:
            whole = load.run(plan, env=env, on_event=lambda _event: None)
        except LoadFailed:
            # The next block will report the error.
            return []
        return [times_of(arm["done"]) for arm in whole["arms"]]

    def time(arms: Sequence[ArmSpec]) -> list[dict[str, float]]:
        found = ask(arms)
        if found and max(_slowest(found).values(), default=0.0) <= AGAIN_S:
            return ask(arms, TIMES_AGAIN) or found
        return found

    once = [replace(arm, cell=_once(arm.cell)) for arm in arms]
    found = time(once)
    slowest = _slowest(found)
    if len(slowest) > 1:
        # A mix may have statements that occur once in a thousand times.
        for kind in slowest:
            have = [arm for arm, times in zip(once, found, strict=True) if kind in times]
            alone = [replace(arm, cell=_only(arm.cell, kind)) for arm in have]
            slowest[kind] = _slowest(time(alone)).get(kind, slowest[kind])
    return slowest


def _slowest(of_arms: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for times in of_arms:
        for kind, seconds in times.items():
            found[kind] = max(seconds, found.get(kind, 0.0))
    return found


def times_of(done: Done) -> dict[str, float]:
    """Median seconds of each kind of event, 0 for one that did not occur; by the name of the kind,
    which is empty if there is only one."""
    kinds = {kind["name"]: kind["latency_us"] for kind in done.get("kinds", ())}
    found = {name: times["p50"] / 1e6 for name, times in kinds.items()}
    if found or not done["latency_us"]["count"]:
        return found
    return {"": done["latency_us"]["p50"] / 1e6}


def _once(cell: CellSpec) -> CellSpec:
    return cell.having(
        **{"load.events_each": 1, "load.warmup": 0.0, "load.arrival": {"kind": "closed"}}
    )


def _only(cell: CellSpec, kind: str) -> CellSpec:
    return cell.having(workload={**cell["workload"], "shares": {kind: 100}})
