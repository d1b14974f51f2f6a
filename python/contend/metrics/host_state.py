"""How far apart the host's CPUs were while a block was measured: near, far, or first one and then
the other.

The virtual CPUs of a host move between cores that share a cache and cores that do not. Who shares
lines of cache, as a server with locks does, changes pace with that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from contend.metrics.model import Run
from contend.probed import CpuState, HostState

Name = Literal["near", "far", "changed"]

NAMES: tuple[Name, ...] = ("near", "changed", "far")

NEAR_NS_MAX = 200.0
"""A line of cache goes over and comes back in 70 to 160 ns between cores that share a cache, and in
400 to 1,300 between cores that do not."""

MOVED_MIN = 2.5
"""A pair whose two looks differ by more was moved; looks at one that stays differ by up to 2."""


def distance_ns(states: Sequence[CpuState]) -> float | None:
    """For a line of cache to go over and to come back: geometric mean over all pairs and looks;
    None if no pair was seen."""
    logs = [math.log(pair["handover_ns"]) for state in states for pair in state["pairs"]]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def name_of(state: HostState) -> Name | None:
    """What the state is called; None if no pair was seen before and after."""
    before, after = (_by_pair(state[when]) for when in ("before", "after"))
    both = before.keys() & after.keys()
    if not both:
        return None
    if any(abs(math.log(after[pair] / before[pair])) > math.log(MOVED_MIN) for pair in both):
        return "changed"
    ns = distance_ns((state["before"], state["after"]))
    return "near" if ns is not None and ns < NEAR_NS_MAX else "far"


def _by_pair(state: CpuState) -> dict[tuple[int, ...], float]:
    return {tuple(pair["cpus"]): pair["handover_ns"] for pair in state["pairs"]}


def state_of(run: Run) -> HostState | None:
    return run.probes.get("state")


def ln_distance(run: Run) -> float | None:
    """Natural logarithm of the distance in ns, over both looks: twice as far is 0.69 more."""
    state = state_of(run)
    ns = None if state is None else distance_ns((state["before"], state["after"]))
    return None if ns is None else math.log(ns)
