"""Where a process runs and how it is scheduled, resolved to numbers: what is done to it before it
becomes its program."""

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
"""As `ionice` calls them."""

PROGRAM = Path(__file__).with_name("become.py")

NICEST = 19


@dataclass(frozen=True, slots=True)
class Placement:
    """What is asked of one process; None leaves it as it is.

    Args:
        cpus: on which it may run.
        memory, nodes: its memory policy, of `become.MEMORY`, and the nodes that it is about.
        scheduler, priority: its class, of `CLASSES`; from 1 on if it is a real-time one.
        nice: among those of its own session, and its session among the others (autogroup).
        io_class, io_level: as ionice has them.
        transparent_huge: False if the kernel is to give it no transparent huge pages.
        open_files: how many it may have open.
        cpu_quota: CPUs that it may have, all of its threads together. It takes a group.
        groups: files that its pid is written to: it belongs to these control groups then.
        lock_memory: it may lock as much memory as it likes.
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
        """Of its whole session: the class idle means nothing to another session, so the session
        gets the least there is."""
        return NICEST if self.scheduler == "idle" else self.nice

    def prefix(self) -> tuple[str, ...]:
        """The command line that the program's own stands behind; none if nothing is asked."""
        if not self:
            return ()
        asked = {**asdict(self), "session_nice": self.session_nice}
        return (sys.executable, "-I", "-S", str(PROGRAM), json.dumps(asked))

    def words(self) -> Iterator[tuple[str, str]]:
        """What is asked, by name, as `look.seen` says what was got."""
        if self.cpus is not None:
            yield "cpus", as_list(self.cpus)
        if self.memory is not None:
            nodes = f":{as_list(self.nodes)}" if self.nodes else ""
            yield "memory", f"{self.memory}{nodes}"
        if self.cpu_quota is not None:
            yield "cpu_quota", f"{self.cpu_quota:g}"
        if self.scheduler is not None:
            yield "class", class_words(self.scheduler, self.priority)
        if self.nice is not None:
            yield "nice", str(self.nice)
        if self.session_nice is not None:
            yield "session nice", str(self.session_nice)
        if self.io_class is not None:
            yield "io_class", io_words(self.io_class, self.io_level)
        if self.open_files is not None:
            yield "open_files", str(self.open_files)
        if self.transparent_huge is not None:
            yield (
                "transparent huge pages",
                "as the host has them" if self.transparent_huge else "no",
            )


def class_words(scheduler: str, priority: int) -> str:
    return f"{scheduler} {priority}" if scheduler in REAL_TIME else scheduler


def io_words(io_class: str, level: int) -> str:
    return f"{io_class}:{level}" if io_class in ("realtime", "best-effort") else io_class


def as_list(numbers: tuple[int, ...]) -> str:
    """`0-3,8` as the kernel writes it."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


@dataclass(slots=True)
class Placed:
    """A process that is to be placed, and how it was, as `look.seen` says it."""

    placement: Placement
    seen: dict[str, str] = field(default_factory=dict)
