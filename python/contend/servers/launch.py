"""Runs a program that must not outlive its parent: `launch.py PARENT_PID PROGRAM ARGUMENT…`.

A script of its own rather than a hook between fork and exec, because such a hook may deadlock in
a program with threads. It asks the kernel for SIGKILL at the parent's death, which exec keeps,
and looks once whether the parent died before it could ask.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
NOT_RUN = 127


def main(arguments: list[str]) -> int:
    parent, command = int(arguments[0]), arguments[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.stderr.write(f"prctl: {os.strerror(ctypes.get_errno())}\n")
        return NOT_RUN
    if os.getppid() != parent:
        return NOT_RUN
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
        return NOT_RUN


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
