"""Looks at the state of the host before and after every block, and keeps it with the block's runs.

A look takes some milliseconds and stands outside of what is measured. What it finds marks a block
and removes none: neighbours in a block share it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from contend import host
from contend.lab.events import Listener, Notice
from contend.load import LoadFailed
from contend.metrics.read import NEAR_NS_MAX, distance_ns, name_of
from contend.probed import CpuState, HostState, RunWarning
from contend.store import RunRecord
from contend.units import format_duration

CALM_LOOKS = 3
"""So many looks in a row that find the CPUs near: a host in a bad state is near now and then."""

LOOK_EVERY_S = 0.5

FAR_SCATTERS = (4, 9)
"""Slices scatter two to three times as much where the CPUs are far, and the time that an answer
of some width takes grows with the square."""

AskCpus = Callable[[bool], CpuState | None]
"""How far apart the CPUs are now; True if a load from memory is measured too. None if nobody
looks."""

REFAULTS = "workingset_refault_file"


class HostWatch:
    """What the host is like around the blocks of a session.

    Args:
        patience_s: how long it waits, in all, for them to be near one another.
    """

    def __init__(
        self,
        ask: AskCpus = lambda _memory: None,
        patience_s: float = 0.0,
        listen: Listener = lambda _event: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ask = ask
        self._patience_s = patience_s
        self._listen = listen
        self._clock = clock
        self._sleep = sleep
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

    def promise(self, *, is_open: bool) -> None:
        """Say what to expect if the CPUs are far apart before anything of ours runs. A run that
        `is_open` goes on until its answer is narrow enough, or its time is up."""
        if not self._is_far(state := self._look()):
            return
        assert state is not None
        low, high = FAR_SCATTERS
        expect = (
            f"the same answer takes {low} to {high} times as long as with near ones, or is wider"
            if is_open
            else "intervals are two to three times as wide as with near ones"
        )
        waits = "" if self._patience_s else "; compare.wait_for_calm has a run wait for them"
        self._listen(
            Notice(
                "the CPUs of this host are far apart now (a line of cache goes over and comes "
                f"back in {distance_ns([state]):.0f} ns). As measured on other hosts, "
                f"where a server shares locks, {expect}{waits}"
            )
        )

    def wait_for_calm(self) -> float:
        """Wait until the CPUs are near one another, or until patience is at an end; seconds that
        it took."""
        begun_s = self._clock()
        if self._patience_s <= 0 or not self._is_far(self._look()):
            return 0.0
        left = format_duration(self._patience_s)
        self._listen(Notice(f"waiting for the CPUs to be near one another, at most {left}"))
        near = 0
        while near < CALM_LOOKS and self._clock() < begun_s + self._patience_s:
            self._sleep(LOOK_EVERY_S)
            near = 0 if self._is_far(self._look()) else near + 1
        waited_s = self._clock() - begun_s
        self._patience_s -= waited_s
        if near < CALM_LOOKS:
            self._listen(
                Notice("the CPUs stayed far apart; the run goes on anyway, and the report says so")
            )
        return waited_s

    @staticmethod
    def _is_far(state: CpuState | None) -> bool:
        """What is not known is no reason to wait."""
        ns = None if state is None else distance_ns([state])
        return ns is not None and ns >= NEAR_NS_MAX

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
            replace(
                record,
                probes={**record.probes, "state": state},
                warnings=[*record.warnings, *marks],
            )
            for record in records
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
