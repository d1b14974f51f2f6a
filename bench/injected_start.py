"""Starts a server with something in it that contend does not know of: a wrapper for `server.wrap`.

    injected_start.py [--option NAME=VALUE ...] [--burn PROCESSES] -- SERVER ARGUMENT ...

Options stand before contend's own, which win. So many processes burn CPU time beside the server as
long as it lives, in sessions of their own, so that they are nobody's children. Used by
`attribution_levers.py`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FIRST = "--no-defaults"
"""What has to stand before all options."""
LOOK_S = 0.05


def with_options(command: Sequence[str], options: Sequence[str]) -> list[str]:
    at = command.index(FIRST) + 1
    return [*command[:at], *(f"--{one}" for one in options), *command[at:]]


def burn_beside(pid: int) -> None:
    """Burn CPU time in a process of its own until that process ended."""
    if os.fork():
        os.wait()
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # It is a neighbour like any other, wherever contend has placed the server.
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    # It must not keep a lock of the server's folder.
    os.closerange(3, 1024)
    while Path(f"/proc/{pid}").exists():
        until = time.monotonic() + LOOK_S
        while time.monotonic() < until:
            pass
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--burn", type=int, default=0)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    for _ in range(given.burn):
        burn_beside(os.getpid())
    command = with_options(given.command, given.option)
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
