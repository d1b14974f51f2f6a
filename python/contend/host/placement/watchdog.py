"""Ends a real-time process if the lab sends no sign of life for too long: `watchdog.py PID
SECONDS`. A sign is one byte on its standard input.

A runaway real-time server keeps everything else from its CPUs; on a host with too few other CPUs
the lab could not even stop it. So the watchdog is a separate process with its memory locked, on any
CPU, and of the highest real-time priority if permitted. A closed input means that the lab has
ended, so it ends the server too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from pathlib import Path

ENDED = 3
"""It ended the process."""

_MCL_CURRENT_AND_FUTURE = 3


def main(arguments: list[str]) -> int:
    pid, patience_s = int(arguments[0]), float(arguments[1])
    ctypes.CDLL(None).mlockall(_MCL_CURRENT_AND_FUTURE)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(
            0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO))
        )
    # A different start time means that a new process has this pid.
    born = _born(pid)
    while True:
        ready, _, _ = select.select([0], [], [], patience_s)
        if ready and os.read(0, 4096):
            continue
        if _born(pid) != born or born is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            # Together with its process group: its wrapper and its children.
            os.killpg(os.getpgid(pid), signal.SIGKILL)
        sys.stderr.write(_why(closed=bool(ready), patience_s=patience_s))
        return ENDED


def _why(*, closed: bool, patience_s: float) -> str:
    why = "contend ended" if closed else f"contend gave no sign of life for {patience_s:g} s"
    return f"contend's watchdog ended the real-time server: {why}\n"


def _born(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
