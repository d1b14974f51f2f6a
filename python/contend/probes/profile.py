"""A profiler beside a run, if the cell asks for one."""

from __future__ import annotations

from typing import Self

from contend.errors import WorkError
from contend.host.profiler import Profiler
from contend.probed import Probes, ProfileRecord
from contend.probes.counters import Observed

_ELSEWHERE = "the server does not run on this host"
_SHARED = "the levels had one server, whose samples are of all of them"


class ProfileWatch:
    """Samples the server from entering it to leaving it. That it could not be done is part of what
    it saw, and the run counts all the same.

    Args:
        hz: samples a second of CPU time; 0: none.
        shared: the server is that of other levels too.
    """

    def __init__(self, observed: Observed, hz: int, *, shared: bool = False) -> None:
        self._hz = hz
        self._profiler: Profiler | None = None
        self._why_not: str | None = None
        if not hz:
            return
        if shared or observed.pid is None:
            self._why_not = _SHARED if shared else _ELSEWHERE
        else:
            self._profiler = Profiler(observed.pid, hz)

    def __enter__(self) -> Self:
        if self._profiler is not None:
            try:
                self._profiler.__enter__()
            except WorkError as error:
                self._give_up(error)
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if self._profiler is not None:
            try:
                self._profiler.__exit__(kind, *rest)
            except WorkError as error:
                self._give_up(error)

    def _give_up(self, error: WorkError) -> None:
        self._why_not = error.message + (f": {error.detail}" if error.detail else "")
        self._profiler = None

    def seen(self) -> Probes:
        """For the record of the run; nothing if nothing was asked for."""
        if not self._hz:
            return {}
        stacks = self._profiler.stacks if self._profiler is not None else {}
        profile: ProfileRecord = {"hz": self._hz, "stacks": stacks, "why_not": self._why_not}
        return {"profile": profile}
