"""contend's own neighbour: `spin.py SHARE PERIOD_MS arithmetic|memory [PARENT_PID]` keeps its CPU
busy for that share of each period, and sleeps for the rest, until it is killed.

It counts the CPU time that it got, not the clock, for both `arithmetic` and `memory`: a neighbour
that must share its CPU is not busy for longer. It prints nothing.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
STEPS = 2_000
"""Loop steps per piece of arithmetic: about 0.1 ms."""

MEMORY_BYTES = 32 << 20
"""Exceeds the shared CPU caches of most hosts."""

PIECE_BYTES = 256 << 10


def main(arguments: list[str]) -> int:
    share, period_s, kind = float(arguments[0]), float(arguments[1]) / 1000, arguments[2]
    if len(arguments) > 3:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(arguments[3]):
            return 1
    work = {"arithmetic": _arithmetic, "memory": _memory()}[kind]
    while True:
        begun_s = time.monotonic()
        until_s = time.thread_time() + share * period_s
        while time.thread_time() < until_s and time.monotonic() < begun_s + period_s:
            work()
        left_s = begun_s + period_s - time.monotonic()
        if left_s > 0:
            time.sleep(left_s)


def _arithmetic() -> None:
    number = 1
    for step in range(STEPS):
        number = (number * 31 + step) & 0xFFFF


def _memory() -> Callable[[], None]:
    place = memoryview(bytearray(MEMORY_BYTES))
    at = 0

    def walk() -> None:
        nonlocal at
        here = at % (MEMORY_BYTES - PIECE_BYTES)
        there = (at + MEMORY_BYTES // 2) % (MEMORY_BYTES - PIECE_BYTES)
        place[here : here + PIECE_BYTES] = place[there : there + PIECE_BYTES]
        at += PIECE_BYTES

    return walk


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
