"""contend's own processes next to a server: a neighbour that takes CPU time as foreign processes
would (`spin.py`), and the watchdog of a real-time server (`watchdog.py`)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from contend.errors import WorkError
from contend.host.placement.model import Placement

_SCRIPTS = Path(__file__).parent

PATTERNS = {
    "steady": (2, "arithmetic"),
    "bursts": (200, "arithmetic"),
    "memory": (2, "memory"),
}
"""A neighbour's pattern -> length of a period in milliseconds, and its kind of work."""

PATIENCE_S = 10.0
SIGN_EVERY_S = 0.5


def _command(script: str, *arguments: object) -> list[str]:
    return [sys.executable, "-I", "-S", str(_SCRIPTS / script), *map(str, arguments)]


@dataclass(frozen=True, slots=True)
class Spin:
    """The work of a neighbour.

    Args:
        share: of the time of each CPU, 0 to 1.
        cpus: one process per CPU.
        pattern: one of `PATTERNS`.
        placement: of each process, except its CPU.
    """

    share: float
    cpus: tuple[int, ...]
    pattern: str = "steady"
    placement: Placement = field(default_factory=Placement)


class Neighbour:
    """Runs until `close`, or until this process ends for any reason."""

    def __init__(self, spin: Spin) -> None:
        period_ms, work = PATTERNS[spin.pattern]
        self._processes = [
            subprocess.Popen(
                [
                    *replace(spin.placement, cpus=(cpu,)).prefix(),
                    *_command("spin.py", spin.share, period_ms, work, os.getpid()),
                ],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # So that its nice counts between sessions.
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
                output = process.stderr.read().decode(errors="replace").strip()
                raise WorkError("the neighbour process ended", detail=output or None)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()
        self._processes = []


class Watched:
    """A real-time process under the watchdog. The lab sends the watchdog a sign of life twice a
    second, until `close`.

    Args:
        log: where the watchdog reports that it ended the process.
    """

    def __init__(self, pid: int, log: IO[bytes] | int, patience_s: float = PATIENCE_S) -> None:
        self.process = subprocess.Popen(
            _command("watchdog.py", pid, patience_s),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        self._over = threading.Event()
        self._signs = threading.Thread(target=self._give_signs, name="contend-signs", daemon=True)
        self._signs.start()

    def close(self) -> None:
        """Stop the watchdog; the caller that started the process has ended it."""
        self._over.set()
        self._signs.join()
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def _give_signs(self) -> None:
        signs = self.process.stdin
        assert signs is not None
        # The watchdog may have ended the process and exited.
        with contextlib.suppress(OSError):
            while not self._over.wait(SIGN_EVERY_S):
                signs.write(b".")
                signs.flush()
