"""Runs a program and what it starts, all of which must not outlive the parent of this one:
`launch_group.py PARENT_PID PROGRAM ARGUMENT…`.

A wrapper may start the server as a child, which the kernel would not kill with the wrapper. So
this one stays, is told when its parent dies, and kills the whole process group.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from types import FrameType

PR_SET_PDEATHSIG = 1
NOT_RUN = 127


def main(arguments: list[str]) -> int:
    parent, command = int(arguments[0]), arguments[1:]
    signal.signal(signal.SIGUSR1, _kill_group)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0) != 0:
        sys.stderr.write(f"prctl: {os.strerror(ctypes.get_errno())}\n")
        return NOT_RUN
    if os.getppid() != parent:
        return NOT_RUN
    child = os.fork()
    if child == 0:
        try:
            os.execv(command[0], command)
        except OSError as error:
            sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
        os._exit(NOT_RUN)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        # Whoever waits for this one is to see how the program ended.
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _kill_group(_signal: int, _frame: FrameType | None) -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
