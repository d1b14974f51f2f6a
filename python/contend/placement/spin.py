"""A neighbour of ours: `spin.py SHARE [PARENT_PID]` keeps its CPU busy for that share of each
2 ms, and sleeps for the rest of it, until it is killed.

By the CPU time that it got, and not by the clock: who has to share his CPU is not busy for longer.
It prints nothing.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PERIOD_S = 0.002
STEPS = 2_000
"""Of a piece of arithmetic: about 0.1 ms."""


def main(arguments: list[str]) -> int:
    share = float(arguments[0])
    if len(arguments) > 1:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(arguments[1]):
            return 1
    while True:
        begun_s = time.monotonic()
        until_s = time.thread_time() + share * PERIOD_S
        while time.thread_time() < until_s and time.monotonic() < begun_s + PERIOD_S:
            number = 1
            for step in range(STEPS):
                number = (number * 31 + step) & 0xFFFF
        left_s = begun_s + PERIOD_S - time.monotonic()
        if left_s > 0:
            time.sleep(left_s)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
