"""Where a process runs and how it is scheduled, resolved to numbers: the settings that are applied
to it before it executes its program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

CLASSES = ("other", "batch", "idle", "fifo", "rr")
"""Scheduling classes, as `chrt` calls them."""

REAL_TIME = ("fifo", "rr")

IO_CLASSES = ("none", "realtime", "best-effort", "idle")
"""The names used by `ionice`."""

PROGRAM = Path(__file__).with_name("become.py")

NICEST = 19


@dataclass(frozen=True, slots=True)
class Placement:
    """The placement requested for one process; None leaves a property unchanged.

    Args:
        cpus: CPUs that it may run on.
        memory, nodes: its memory policy, from `become.MEMORY`, and the policy's nodes.
        scheduler, priority: its class, from `CLASSES`; 1 or more if it is a real-time class.
        nice: within its own session, and of its session among the others (autogroup).
        io_class, io_level: as in ionice.
        transparent_huge: False to have the kernel give it no transparent huge pages.
        open_files: maximum number of open files.
        cpu_quota: CPUs for all of its threads together. It needs a group.
        groups: files that its pid is written to, to put it into these control groups.
        lock_memory: it may lock any amount of memory.
    """

    cpus: tuple[int, ...] | None = None
    memory: str | None = None
    nodes: tuple[int, ...] = ()
    scheduler: str | None = None
    priority: int = 0
    nice: int | None = None
    io_class: str | None = None
    io_level: int = 0
    transparent_huge: bool | None = None
    open_files: int | None = None
    cpu_quota: float | None = None
    groups: tuple[str, ...] = ()
    lock_memory: bool = False

    def __bool__(self) -> bool:
        return self != Placement()

    @property
    def is_real_time(self) -> bool:
        return self.scheduler in REAL_TIME

    @property
    def session_nice(self) -> int | None:
        """Nice of its whole session: the class idle has no effect across sessions, so the session
        gets the lowest priority."""
        return NICEST if self.scheduler == "idle" else self.nice

    def prefix(self) -> tuple[str, ...]:
        """The command line that goes before the program's own; empty if nothing is requested."""
        if not self:
            return ()
        settings = {**asdict(self), "session_nice": self.session_nice}
        return (sys.executable, "-I", "-S", str(PROGRAM), json.dumps(settings))

    def properties(self) -> Iterator[tuple[str, str]]:
        """The requested properties by name, in the form in which `look.seen` reports them."""
        if self.cpus is not None:
            yield "cpus", as_list(self.cpus)
        if self.memory is not None:
            nodes = f":{as_list(self.nodes)}" if self.nodes else ""
            yield "memory", f"{self.memory}{nodes}"
        if self.cpu_quota is not None:
            yield "cpu_quota", f"{self.cpu_quota:g}"
        if self.scheduler is not None:
            yield "class", class_label(self.scheduler, self.priority)
        if self.nice is not None:
            yield "nice", str(self.nice)
        if self.session_nice is not None:
            yield "session nice", str(self.session_nice)
        if self.io_class is not None:
            yield "io_class", io_label(self.io_class, self.io_level)
        if self.open_files is not None:
            yield "open_files", str(self.open_files)
        if self.transparent_huge is not None:
            yield (
                "transparent huge pages",
                "as the host has them" if self.transparent_huge else "no",
            )


def class_label(scheduler: str, priority: int) -> str:
    return f"{scheduler} {priority}" if scheduler in REAL_TIME else scheduler


def io_label(io_class: str, level: int) -> str:
    return f"{io_class}:{level}" if io_class in ("realtime", "best-effort") else io_class


def as_list(numbers: tuple[int, ...]) -> str:
    """`0-3,8`, the kernel's notation."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


@dataclass(slots=True)
class Placed:
    """A process to be placed, and its actual placement, as reported by `look.seen`."""

    placement: Placement
    seen: dict[str, str] = field(default_factory=dict)
