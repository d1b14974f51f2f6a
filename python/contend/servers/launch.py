"""Runs a program that must not outlive its parent:
`launch.py program|group PARENT_PID PROGRAM ARGUMENT…`.

It is a separate script because a hook between fork and exec may deadlock in a program with threads.
It requests a signal from the kernel at the death of its parent, and then checks whether the parent
has already died.

As `program` it becomes the program, and exec keeps SIGKILL as that signal. A wrapper may start the
server as a child, which the kernel would not kill with the wrapper. So as `group` it stays,
receives a signal when its parent dies, and kills the whole process group.
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
    scope, parent, command = arguments[0], int(arguments[1]), arguments[2:]
    stays = scope == "group"
    if stays:
        signal.signal(signal.SIGUSR1, _kill_group)
    libc = ctypes.CDLL(None, use_errno=True)
    at_death = signal.SIGUSR1 if stays else signal.SIGKILL
    if libc.prctl(PR_SET_PDEATHSIG, at_death, 0, 0, 0) != 0:
        sys.stderr.write(f"prctl: {os.strerror(ctypes.get_errno())}\n")
        return NOT_RUN
    if os.getppid() != parent:
        return NOT_RUN
    return _run_in_group(command) if stays else _become(command)


def _become(command: list[str]) -> int:
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
        return NOT_RUN


def _run_in_group(command: list[str]) -> int:
    child = os.fork()
    if child == 0:
        os._exit(_become(command))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        # Pass on how the program ended.
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _kill_group(_signal: int, _frame: FrameType | None) -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
