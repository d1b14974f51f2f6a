"""A neighbour of ours: processes that take CPU time beside a run, as those of others would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from contend.errors import WorkError
from contend.placement.model import Placement

PATTERNS = {
    "steady": (2, "arithmetic"),
    "bursts": (200, "arithmetic"),
    "memory": (2, "memory"),
}
"""Length of a period in milliseconds, and what is done in it."""

_PROGRAM = Path(__file__).with_name("spin.py")


@dataclass(frozen=True, slots=True)
class Spin:
    """What a neighbour does.

    Args:
        share: of the time of each CPU, 0 to 1.
        cpus: one process each.
        pattern: one of `PATTERNS`.
        placement: of each process, but for its CPU.
    """

    share: float
    cpus: tuple[int, ...]
    pattern: str = "steady"
    placement: Placement = field(default_factory=Placement)


class Neighbour:
    """At work until `close`, or until this process ends, however it ends."""

    def __init__(self, spin: Spin) -> None:
        period_ms, what = PATTERNS[spin.pattern]
        program = [sys.executable, "-I", "-S", str(_PROGRAM)]
        arguments = [str(spin.share), str(period_ms), what, str(os.getpid())]
        self._processes = [
            subprocess.Popen(
                [*replace(spin.placement, cpus=(cpu,)).prefix(), *program, *arguments],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # So that its nice counts among sessions.
                start_new_session=True,
            )
            for cpu in spin.cpus
        ]

    @property
    def pids(self) -> Sequence[int]:
        return [process.pid for process in self._processes]

    def check(self) -> None:
        """Raise WorkError if one of its processes has ended."""
        for process in self._processes:
            if process.poll() is not None:
                assert process.stderr is not None
                said = process.stderr.read().decode(errors="replace").strip()
                raise WorkError("the neighbour ended", detail=said or None)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()
        self._processes = []
