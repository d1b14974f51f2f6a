"""Places itself, then executes a program: `become.py PLACEMENT PROGRAM ARGUMENT…`, where PLACEMENT
is the JSON of `model.Placement`.

Like `servers/launch.py`, this is a separate script: its settings apply before the program's first
page of memory and first thread. It imports nothing from contend, so that it starts at once. If the
kernel refuses something, it reports that on its standard error and does not start the program.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

NOT_RUN = 127

CLASSES = {"other": 0, "fifo": 1, "rr": 2, "batch": 3, "idle": 5}
IO_CLASSES = {"none": 0, "realtime": 1, "best-effort": 2, "idle": 3}
MEMORY = {"default": 0, "preferred": 1, "bind": 2, "interleave": 3, "local": 4}

SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "s390x": 270}
IOPRIO_SET = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "ppc64le": 273, "s390x": 282}
"""Numbers of system calls that Python's library does not provide."""

PR_SET_THP_DISABLE = 41
MEMLOCK = resource.RLIMIT_MEMLOCK
NODES_MAX = 1024


class NotPlaced(Exception):
    """The kernel refused it."""


def main(arguments: list[str]) -> int:
    spec, command = json.loads(arguments[0]), arguments[1:]
    try:
        place(spec)
    except (NotPlaced, OSError) as error:
        sys.stderr.write(f"contend cannot place {Path(command[0]).name}: {error}\n")
        return NOT_RUN
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
        return NOT_RUN


def place(spec: dict[str, Any]) -> None:
    """Apply in this order: the group first, since it limits the rest; the class last, since it may
    keep others from their CPU."""
    for group in spec["groups"]:
        _do(f"cannot join {group}", lambda file=group: _write(file, str(os.getpid())))
    if spec["open_files"] is not None:
        _do(f"{spec['open_files']} open files", lambda: _open_files(spec["open_files"]))
    if spec["lock_memory"]:
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        _do("no limit on locked memory", lambda: resource.setrlimit(MEMLOCK, unlimited))
    if spec["transparent_huge"] is False:
        _do(
            "no transparent huge pages",
            lambda: _call(_libc().prctl, PR_SET_THP_DISABLE, 1, 0, 0, 0),
        )
    if spec["memory"] is not None:
        request = f"memory {spec['memory']} of nodes {spec['nodes']}"
        _do(request, lambda: _set_memory(spec["memory"], spec["nodes"]))
    if spec["cpus"] is not None:
        _do(f"CPUs {spec['cpus']}", lambda: os.sched_setaffinity(0, spec["cpus"]))
    if spec["io_class"] is not None:
        _do(f"I/O class {spec['io_class']}", lambda: _set_io(spec["io_class"], spec["io_level"]))
    if spec["nice"] is not None:
        _do(f"nice {spec['nice']}", lambda: os.setpriority(os.PRIO_PROCESS, 0, spec["nice"]))
    if spec["session_nice"] is not None:
        _autogroup(spec["session_nice"])
    if spec["scheduler"] is not None:
        parameters = os.sched_param(spec["priority"])
        number = CLASSES[spec["scheduler"]]
        request = f"class {spec['scheduler']}, priority {spec['priority']}"
        _do(request, lambda: os.sched_setscheduler(0, number, parameters))


def _do(request: str, step: Any) -> None:
    try:
        step()
    except OSError as error:
        raise NotPlaced(f"{request}: {error.strerror or error}") from error
    except ValueError as error:
        # setrlimit's message for a hard limit that may not be raised.
        raise NotPlaced(f"{request}: {error}") from error


def _open_files(wanted: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard != resource.RLIM_INFINITY and hard < wanted else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _autogroup(nice: int) -> None:
    """Between sessions, an autogroup's nice counts; a process's counts only within its own."""
    file = "/proc/self/autogroup"
    if Path(file).exists():
        _do(f"session nice {nice}", lambda: _write(file, str(nice)))


def _set_memory(policy: str, nodes: list[int]) -> None:
    mask = (ctypes.c_ulong * (NODES_MAX // (8 * ctypes.sizeof(ctypes.c_ulong))))()
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    for node in nodes:
        mask[node // bits] |= 1 << node % bits
    count = ctypes.c_ulong(NODES_MAX if nodes else 0)
    number = ctypes.c_long(_number(SET_MEMPOLICY))
    _call(_libc().syscall, number, MEMORY[policy], ctypes.byref(mask) if nodes else None, count)


def _set_io(io_class: str, level: int) -> None:
    value = IO_CLASSES[io_class] << 13 | level
    _call(_libc().syscall, ctypes.c_long(_number(IOPRIO_SET)), 1, 0, value)


def _number(calls: dict[str, int]) -> int:
    machine = os.uname().machine
    if machine not in calls:
        raise NotPlaced(f"contend does not know the system call on {machine}")
    return calls[machine]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(function: Any, *arguments: Any) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
