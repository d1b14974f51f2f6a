"""Reads from the kernel how a process and its threads are placed, and where that differs from the
request. Also places single threads of a running server by their role.

A new thread inherits the placement of its creator. The server's first thread accepts connections
and creates their threads, so it is placed like them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from contend.errors import WorkError
from contend.host.placement.become import CLASSES, IO_CLASSES
from contend.host.placement.groups import quota_of
from contend.host.placement.model import Placement, as_list, class_label, io_label
from contend.host.tree import Tree

_CLASS_OF = {number: name for name, number in CLASSES.items()}
_RESET_ON_FORK = 0x40000000
_IOPRIO_GET = {"x86_64": 252, "aarch64": 31, "riscv64": 31, "ppc64le": 274, "s390x": 283}
_IO_OF = {number: name for name, number in IO_CLASSES.items()}

ROLES = {
    "connection": ("one_connection", "main"),
    "io": ("io_read_thread", "io_write_thread", "io_log_thread", "io_ibuf_thread"),
    "cleaner": ("page_cleaner_thread", "page_flush_coordinator_thread"),
    "log": (
        *("log_writer_thread", "log_flusher_thread", "log_checkpointer_thread"),
        *("log_write_notifier_thread", "log_flush_notifier_thread"),
    ),
    "purge": ("srv_purge_thread", "srv_worker_thread", "clone_gtid_thread"),
}
"""Last parts of the thread names in performance_schema.threads, in MariaDB and MySQL."""


def seen(pid: int) -> dict[str, str]:
    """Its placement, named like `Placement.properties`. A property that differs among threads has
    all values, with the number of threads of each: `other (30), fifo 10 (2)`."""
    tree = Tree(Path("/"))
    found: dict[str, list[str]] = {}
    for thread in (int(name) for name in tree.names(f"proc/{pid}/task") if name.isdigit()):
        # A thread that has ended meanwhile is left out.
        with contextlib.suppress(ProcessLookupError):
            for name, value in of_thread(thread).items():
                found.setdefault(name, []).append(value)
    reported = {name: _together(values) for name, values in found.items()}
    # `bind:0` of the first mapping that does not have its own policy.
    if maps := tree.text(f"proc/{pid}/numa_maps"):
        reported["memory"] = maps.split()[1].replace("=static", "").replace("prefer:", "preferred:")
    if (quota := quota_of(pid)) is not None:
        reported["cpu_quota"] = quota
    autogroup = (tree.text(f"proc/{pid}/autogroup") or "").split()
    if len(autogroup) == 3:
        reported["session nice"] = autogroup[2]
    for line in (tree.text(f"proc/{pid}/limits") or "").splitlines():
        if line.startswith("Max open files"):
            reported["open_files"] = line.split()[3]
    for line in (tree.text(f"proc/{pid}/status") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "THP_enabled":
            is_off = value.strip() == "0"
            reported["transparent huge pages"] = "no" if is_off else "as the host has them"
        if name == "VmLck":
            reported["locked"] = value.strip()
    return reported


def of_thread(thread: int) -> dict[str, str]:
    """The properties of a single thread; raises ProcessLookupError if it has ended."""
    number = os.sched_getscheduler(thread) & ~_RESET_ON_FORK
    priority = os.sched_getparam(thread).sched_priority
    return {
        "cpus": as_list(tuple(os.sched_getaffinity(thread))),
        "class": class_label(_CLASS_OF.get(number, str(number)), priority),
        "nice": str(os.getpriority(os.PRIO_PROCESS, thread)),
        "io_class": _io(thread),
    }


def _io(thread: int) -> str:
    number = _IOPRIO_GET.get(os.uname().machine)
    if number is None:
        return "unknown"
    value = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), 1, thread)
    return "unknown" if value < 0 else io_label(_IO_OF.get(value >> 13, "unknown"), value & 0x1FFF)


def differences(placement: Placement, actual: dict[str, str], who: str) -> Iterator[str]:
    """Differences between request and kernel, as text; hidden properties are skipped."""
    for name, wanted in placement.properties():
        has = actual.get(name)
        if has is None or has == wanted:
            continue
        # Both leave memory to the kernel; without an I/O class, a process gets one from its nice.
        is_same = name == "memory" and {wanted, has} <= {"default", "local"}
        if not is_same and not (wanted == "none" and has.startswith("best-effort")):
            yield f"{who}: requested {name} {wanted}, but it has {has}"


def _together(values: list[str]) -> str:
    kinds = sorted(set(values), key=lambda value: -values.count(value))
    if len(kinds) == 1:
        return kinds[0]
    return ", ".join(f"{kind} ({values.count(kind)})" for kind in kinds)


def by_role(threads: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Kernel thread ids by role, from names (`thread/sql/one_connection`) and ids."""
    found: dict[str, list[int]] = {}
    for name, thread in threads:
        last = name.rpartition("/")[2]
        for role in (role for role, names in ROLES.items() if last in names):
            found.setdefault(role, []).append(thread)
    return found


def place_threads(
    threads: Mapping[str, list[int]], placements: Mapping[str, Placement]
) -> dict[str, dict[str, str]]:
    """Place threads by role; return their resulting placement by role.

    Raises:
        WorkError: the server has no thread of a role, or the kernel refuses the request.
    """
    done: dict[str, dict[str, str]] = {}
    for role, placement in placements.items():
        if not threads.get(role):
            have = ", ".join(threads) or "none that contend knows"
            raise WorkError(
                f"place.server.threads.{role}: this server has no such threads",
                hint=f"Use a role that it has: {have}. MariaDB's pool of I/O threads has no role.",
            )
        alive: dict[str, str] = {}
        for thread in threads[role]:
            # A closed connection ends its thread.
            with contextlib.suppress(ProcessLookupError):
                _place(thread, placement, role)
                alive = of_thread(thread)
        done[role] = {**alive, "threads": str(len(threads[role]))}
    return done


def _place(thread: int, placement: Placement, role: str) -> None:
    try:
        if placement.cpus is not None:
            os.sched_setaffinity(thread, placement.cpus)
        if placement.nice is not None:
            os.setpriority(os.PRIO_PROCESS, thread, placement.nice)
        if placement.scheduler is not None:
            parameters = os.sched_param(placement.priority)
            os.sched_setscheduler(thread, CLASSES[placement.scheduler], parameters)
    except ProcessLookupError:
        raise
    except OSError as error:
        request = ", ".join(f"{name} {value}" for name, value in placement.properties())
        raise WorkError(
            f"place.server.threads.{role}: the kernel refuses {request}: {error.strerror}"
        ) from error
