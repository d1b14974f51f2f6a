"""Looks at the state of the host before and after every block, and keeps it with the block's runs.

A look takes some milliseconds and stands outside of what is measured. What it finds marks a block
and removes none: neighbours in a block share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from contend import host
from contend.load import LoadFailed
from contend.metrics.host_state import distance_ns, name_of
from contend.probed import CpuState, HostState, RunWarning
from contend.store import RunRecord

AskCpus = Callable[[bool], CpuState | None]
"""How far apart the CPUs are now; True if a load from memory is measured too. None if nobody
looks."""

REFAULTS = "workingset_refault_file"


class HostWatch:
    """What the host is like around the blocks of a session.

    Args:
        ask: looks at the CPUs.
    """

    def __init__(self, ask: AskCpus = lambda _memory: None) -> None:
        self._ask = ask
        self._repeat: int | None = None
        self._memory_ns: float | None = None
        self._before: CpuState | None = None
        self._refaults: int | None = None

    def begin_repeat(self, repeat: int) -> None:
        """Measure a load from memory if the repeat is new: before its servers are started, since
        that empties the caches."""
        if repeat == self._repeat:
            return
        self._repeat = repeat
        state = self._look(memory=True)
        self._memory_ns = None if state is None else state["memory_ns"]

    def before(self) -> None:
        """A block begins."""
        self._before = self._look()
        self._refaults = None if self._before is None else _refaults()

    def after(self, records: Sequence[RunRecord]) -> list[RunRecord]:
        """The records of the block that ended, with the state that it was measured in."""
        before = self._before
        if before is None:
            return list(records)
        refaults, came_back = _refaults(), None
        if refaults is not None and self._refaults is not None:
            came_back = refaults - self._refaults
        after = self._look()
        if after is None:
            return list(records)
        state: HostState = {
            "before": before,
            "after": after,
            "memory_ns": self._memory_ns,
            "refaults": came_back,
        }
        marks = _marks(state)
        return [
            replace(one, probes={**one.probes, "state": state}, warnings=[*one.warnings, *marks])
            for one in records
        ]

    def _look(self, *, memory: bool = False) -> CpuState | None:
        try:
            return self._ask(memory)
        except LoadFailed:
            return None  # That nobody knows the state is no reason not to measure.


def _refaults() -> int | None:
    return host.pressure().vm.get(REFAULTS)


def _marks(state: HostState) -> list[RunWarning]:
    if name_of(state) != "changed":
        return []
    before, after = (distance_ns([state[when]]) for when in ("before", "after"))
    return [
        {
            "code": "cpus-moved",
            "message": "the host moved its CPUs while this was measured: a line of cache went over "
            f"and came back in {before:.0f} ns before, and in {after:.0f} ns after",
        }
    ]
