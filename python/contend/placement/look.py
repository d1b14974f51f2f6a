"""How a process and its threads are placed, as the kernel says it; and where that differs from what
was asked."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from contend.host.tree import Tree
from contend.placement.become import CLASSES, IO_CLASSES
from contend.placement.model import Placement, as_list, class_words, io_words

_IOPRIO_GET = {"x86_64": 252, "aarch64": 31, "riscv64": 31, "ppc64le": 274, "s390x": 283}
_CLASS_OF = {number: name for name, number in CLASSES.items()}
_IO_OF = {number: name for name, number in IO_CLASSES.items()}
_RESET_ON_FORK = 0x40000000


def seen(pid: int) -> dict[str, str]:
    """How it is placed, by the names of `Placement.words`. What differs among its threads has all
    its values, with the number of threads of each: `other (30), fifo 10 (2)`."""
    tree = Tree(Path("/"))
    found: dict[str, list[str]] = {}
    for thread in threads_of(pid):
        # One that has ended meanwhile says no more.
        with contextlib.suppress(ProcessLookupError):
            for name, value in of_thread(thread).items():
                found.setdefault(name, []).append(value)
    said = {name: _together(values) for name, values in found.items()}
    # `bind:0` of the first mapping that has no policy of its own.
    if maps := tree.text(f"proc/{pid}/numa_maps"):
        said["memory"] = maps.split()[1].replace("=static", "").replace("prefer:", "preferred:")
    autogroup = (tree.text(f"proc/{pid}/autogroup") or "").split()
    if len(autogroup) == 3:
        said["session nice"] = autogroup[2]
    for line in (tree.text(f"proc/{pid}/limits") or "").splitlines():
        if line.startswith("Max open files"):
            said["open_files"] = line.split()[3]
    for line in (tree.text(f"proc/{pid}/status") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "THP_enabled":
            said["transparent huge pages"] = (
                "no" if value.strip() == "0" else "as the host has them"
            )
        if name == "VmLck":
            said["locked"] = value.strip()
    return said


def of_thread(thread: int) -> dict[str, str]:
    """What is each thread's own; raises ProcessLookupError if it has ended."""
    return {
        "cpus": as_list(tuple(os.sched_getaffinity(thread))),
        "class": _class(thread),
        "nice": str(os.getpriority(os.PRIO_PROCESS, thread)),
        "io_class": _io(thread),
    }


def threads_of(pid: int) -> list[int]:
    """Its threads; none if it is gone or hidden."""
    return [int(name) for name in Tree(Path("/")).names(f"proc/{pid}/task") if name.isdigit()]


def differences(asked: Placement, got: dict[str, str], who: str) -> Iterator[str]:
    """What the kernel made otherwise than it was asked, in words; what it does not show is none."""
    for name, wanted in asked.words():
        has = got.get(name)
        if has is not None and has != wanted and not _is_same(name, wanted, has):
            yield f"{who}: {name} {wanted} was asked for, and it has {has}"


def _is_same(name: str, wanted: str, has: str) -> bool:
    if name == "memory" and wanted in ("default", "local"):
        return has in ("default", "local")
    # A process without an I/O class of its own has one by its nice.
    return name == "io_class" and wanted == "none" and has.startswith("best-effort")


def _together(values: list[str]) -> str:
    kinds = sorted(set(values), key=lambda value: -values.count(value))
    if len(kinds) == 1:
        return kinds[0]
    return ", ".join(f"{kind} ({values.count(kind)})" for kind in kinds)


def _class(thread: int) -> str:
    number = os.sched_getscheduler(thread) & ~_RESET_ON_FORK
    return class_words(_CLASS_OF.get(number, str(number)), os.sched_getparam(thread).sched_priority)


def _io(thread: int) -> str:
    number = _IOPRIO_GET.get(os.uname().machine)
    if number is None:
        return "unknown"
    value = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), 1, thread)
    return "unknown" if value < 0 else io_words(_IO_OF.get(value >> 13, "unknown"), value & 0x1FFF)
