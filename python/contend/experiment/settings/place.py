"""Where the private server and contend-load run, and how they are scheduled: applied before each
executes its program, and read back from it. Also the server's threads by role, and a neighbour.

A row of `PLACE` is a key. The first key of a section applies all keys of the section together.
"""

from __future__ import annotations

import ctypes.util
import os
import re
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.errors import RequestError
from contend.experiment.settings.model import Differs, Launch, Need, Setting, Target, Values
from contend.experiment.settings.plan_keys import TWINS
from contend.experiment.settings.values import (
    Bounded,
    Choice,
    Flag,
    Key,
    Real,
    Refused,
    Text,
    WholeNumber,
    shown,
)
from contend.host.placement import cpus
from contend.host.placement.beside import PATTERNS, Spin
from contend.host.placement.groups import real_time_file
from contend.host.placement.look import ROLES
from contend.host.placement.model import CLASSES, REAL_TIME, Placement, as_list
from contend.host.tree import Tree

SERVER, CLIENT, NEIGHBOUR = "place.server", "place.client", "place.neighbour"
THREADS = f"{SERVER}.threads"

PRIORITY_USUAL = 10
PRIORITY_MAX = 98
"""One below the watchdog's."""

_CAP_SYS_NICE = 23


@dataclass(frozen=True, slots=True)
class CpuNames:
    """CPUs by name; a bare number is a CPU."""

    pattern: str
    meaning: str

    def read(self, value: object) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if isinstance(text, str) and re.fullmatch(self.pattern, text):
            return text
        raise Refused(f"must be {self.expected()}, not {shown(value)}")

    def expected(self) -> str:
        return self.meaning

    def schema(self) -> dict[str, object]:
        text = {"type": "string", "pattern": f"^(?:{self.pattern})$"}
        return {"anyOf": [text, {"type": "integer", "minimum": 0}]}


_ONE = CpuNames(
    cpus.PATTERN, f'CPUs such as "0-5,8", "node:0", "{cpus.ONE_THREAD}" or "{cpus.ALL}"'
)
_RELATED = CpuNames(
    "|".join((cpus.PATTERN, *cpus.RELATIONS)),
    f'{_ONE.meaning}, or "{cpus.APART}", "{cpus.TOGETHER}" or "{cpus.ONE_EACH}"',
)
_CLIENTS = CpuNames(f"{cpus.PATTERN}|{cpus.HALF}", f'{_ONE.meaning}, or "{cpus.HALF}"')
_MEMORY = Text(
    cpus.MEMORY_PATTERN,
    '"node:0" (bound to it and, unless cpus is set, its CPUs), "bind:0", "preferred:0", '
    '"interleave" (over all nodes), "interleave:0-1", "local" or "default"',
)

_IO = Text(
    r"none|idle|(realtime|best-effort):[0-7]",
    '"best-effort:0" to "best-effort:7", "realtime:0" to "realtime:7", "idle" or "none"',
)

MALLOCS = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
}
"""The library, and its Debian package."""


Hook = Callable[..., None]


@dataclass(frozen=True)
class Placing(Setting):
    """A key of `place`.

    Args:
        is_first: of its section; it applies the whole section.
        hooks: its additional effects; see `_HOOKS`.
    """

    is_first: bool = False
    hooks: tuple[Hook, Hook] | None = None

    def check(self, cell: Values) -> None:
        if self.path != f"{CLIENT}.cpus" or cell[self.path] is None:
            return
        relation = _relation(cell)
        goes = cell[self.path] == cpus.HALF and relation != cpus.ONE_EACH
        if relation is not None and not goes:
            raise Refused(
                f'conflicts with {SERVER}.cpus = "{relation}", which places contend-load too',
                hint="Leave one of them out.",
            )

    def refuse(self, cell: Values, *, own: bool) -> None:
        if self.section.startswith(SERVER) and not own and cell[self.path] != self.key.default:
            raise RequestError(
                f"{self.path} = {shown(cell[self.path])} needs a private server: contend does not "
                "place a server that it did not start",
                hint="Leave --server out, or place your server when you start it.",
            )
        if self.is_first and (self.section != NEIGHBOUR or cell[self.path]):
            refuse_placement(placement_of(cell, self.section), self.section, cell)
        if self.hooks is not None:
            self.hooks[0](self.path, cell)

    def launch(self, cell: Values, launch: Launch) -> None:
        if self.hooks is not None:
            self.hooks[1](self.path, cell, launch)
        if not self.is_first:
            return
        placed = placement_of(cell, self.section)
        if self.section == SERVER:
            launch.placement = placed
        elif self.section == CLIENT:
            launch.client = placed
        elif self.section == NEIGHBOUR:
            if share := cell[self.path]:
                spun = placed.cpus or cpus.layout().allowed
                pattern = cell[f"{NEIGHBOUR}.pattern"]
                launch.neighbour = Spin(share, spun, pattern, placed)
        elif placed:
            launch.threads[self.section.removeprefix(f"{THREADS}.")] = placed
            # The server's instruments identify its threads.
            launch.options.setdefault("performance_schema", "ON")

    def apply(self, target: Target, cell: Values) -> None:
        """Threads are placed once the server runs; the first key places all of them together."""
        if self.path != _FIRST_OF_THREADS:
            return
        every = {role: placement_of(cell, f"{THREADS}.{role}") for role in ROLES}
        if wanted := {role: placed for role, placed in every.items() if placed}:
            target.note(THREADS, target.place_threads(wanted))


_FIRST_OF_THREADS = f"{THREADS}.{next(iter(ROLES))}.cpus"


def placement_of(cell: Values, section: str) -> Placement:
    """The placement requested by a section; raises RequestError if the host lacks a CPU or node."""

    def value(name: str) -> Any:
        return cell.get(f"{section}.{name}")

    memory: str | None = None
    nodes: tuple[int, ...] = ()
    if value("memory") is not None:
        memory, nodes = cpus.memory_of(value("memory"), cpus.layout(), f"{section}.memory")
    io_class, _, io_level = (value("io_class") or "").partition(":")
    scheduler = value("class")
    return Placement(
        cpus=_cpus_of(cell, section),
        memory=memory,
        nodes=nodes,
        scheduler=scheduler,
        priority=value("priority") if scheduler in REAL_TIME else 0,
        nice=value("nice"),
        io_class=io_class or None,
        io_level=int(io_level or 0),
        transparent_huge=False if value("huge_pages") == "never" else None,
        open_files=value("open_files"),
        cpu_quota=value("cpu_quota"),
        lock_memory=value("lock_memory") is True or value("huge_pages") == "reserved",
    )


def _cpus_of(cell: Values, section: str) -> tuple[int, ...] | None:
    relation = _relation(cell)
    if cell[f"{CLIENT}.cpus"] == cpus.HALF and section in (SERVER, CLIENT):
        server, client = cpus.both(cpus.APART, cpus.layout(), f"{CLIENT}.cpus")
        if section == CLIENT or relation is not None:
            return server if (section, relation) == (SERVER, cpus.APART) else client
    elif relation is not None and section in (SERVER, CLIENT):
        return cpus.both(relation, cpus.layout(), f"{SERVER}.cpus")[section == CLIENT]
    path = f"{section}.cpus"
    named = cell[path]
    memory = str(cell.get(f"{section}.memory"))
    if named is None and memory.startswith(cpus.NODE):
        named, path = memory, f"{section}.memory"
    if named is None and section == SERVER and cell["workload"]["kind"] == TWINS:
        # One statement runs at a time. On several CPUs its time depends on whether the kernel wakes
        # the server's thread on the client's CPU: docs/decisions/0099.
        return cpus.layout().allowed[-1:]
    return None if named is None else cpus.cpus_of(named, cpus.layout(), path)


def _relation(cell: Values) -> str | None:
    """The relation of server and client, if the server's CPUs are given as one."""
    named = cell[f"{SERVER}.cpus"]
    return named if named in cpus.RELATIONS else None


def refuse_placement(placement: Placement, section: str, cell: Values) -> None:
    """Raise RequestError if this process may not place a different one this way."""
    if placement.is_real_time:
        _refuse_real_time(placement, section, cell)
    if placement.nice is not None and placement.nice < 0 and not _may_schedule():
        least = 20 - resource.getrlimit(resource.RLIMIT_NICE)[0]
        if placement.nice < least:
            raise RequestError(
                f"{section}.nice = {placement.nice} needs root: RLIMIT_NICE allows {least} at the "
                "lowest",
                hint="`ulimit -e` shows the limit; /etc/security/limits.conf sets it.",
            )


def _refuse_real_time(placement: Placement, section: str, cell: Values) -> None:
    wanted = f'{section}.class = "{placement.scheduler}"'
    group = real_time_file()
    if placement.cpu_quota is not None and group is None:
        raise RequestError(
            f'{section}.cpu_quota does not limit processes of class "{placement.scheduler}" on '
            "this kernel, which has no real-time control groups",
            hint="Leave one of them out.",
        )
    online = cpus.layout().online
    if placement.cpus is None or set(placement.cpus) >= set(online):
        raise RequestError(
            f"{wanted} would take all CPUs of this host, and everything else would wait",
            hint=f"Set {section}.cpus to fewer CPUs than {as_list(online)}."
            if len(online) > 1
            else "This host has only one CPU.",
        )
    limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    if limit != resource.RLIM_INFINITY and limit < placement.priority and not _may_schedule():
        raise RequestError(
            f"{wanted} needs root, or a limit of at least {placement.priority} for real-time "
            f"priorities (RLIMIT_RTPRIO is {limit})",
            hint="`ulimit -r` shows the limit; /etc/security/limits.conf sets it (rtprio).",
        )
    if group is not None and not cell["host.rt_runtime_us"] and _text(group) == "0":
        raise RequestError(
            f"contend's control group may not run real-time processes ({group} is 0)",
            hint="Set host.rt_runtime_us = 950000 with --touch-host to allow them during the run.",
        )


def _text(file: Path) -> str | None:
    return Tree(file.parent).text(file.name)


def _may_schedule() -> bool:
    """Whether this process may schedule freely (CAP_SYS_NICE)."""
    status = _text(Path("/proc/self/status")) or ""
    held = next((line.split()[1] for line in status.splitlines() if line[:7] == "CapEff:"), "0")
    return bool(int(held, 16) >> _CAP_SYS_NICE & 1)


def _refuse_huge_pages(path: str, cell: Values) -> None:
    enabled = _text(Path("/sys/kernel/mm/transparent_hugepage/enabled")) or ""
    if (
        cell[path] == "malloc"
        and cell["host.transparent_hugepage"] is None
        and "[never]" in enabled
    ):
        raise RequestError(
            f'{path} = "malloc" needs transparent huge pages, but this host has turned them off '
            "(/sys/kernel/mm/transparent_hugepage/enabled is never)",
            hint='Set host.transparent_hugepage = "madvise" with --touch-host.',
        )
    reserved = cell["host.huge_pages"] or _text(Path("/proc/sys/vm/nr_hugepages"))
    if cell[path] == "reserved" and reserved in (None, "0"):
        raise RequestError(
            f'{path} = "reserved" needs reserved huge pages, but this host has none '
            "(vm.nr_hugepages = 0)",
            hint="Reserve some with host.huge_pages and --touch-host.",
        )


def _launch_huge_pages(path: str, cell: Values, launch: Launch) -> None:
    """`never` is part of the placement."""
    if cell[path] == "malloc":
        launch.environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    if cell[path] == "reserved":
        launch.options["large_pages"] = True


def _refuse_malloc(path: str, cell: Values) -> None:
    if cell[path] in MALLOCS and find_library(cell[path]) is None:
        library, package = MALLOCS[cell[path]]
        raise RequestError(
            f'{path} = "{cell[path]}" needs {library}, which this machine does not have',
            hint=f"Install it: Debian's package is {package}.",
        )


def _launch_malloc(path: str, cell: Values, launch: Launch) -> None:
    """Preload it with the dynamic loader, in addition to the libraries in `server.env`."""
    if (library := find_library(cell[path])) is not None:
        others = launch.environment.get("LD_PRELOAD")
        launch.environment["LD_PRELOAD"] = ":".join(filter(None, (library, others)))


def find_library(malloc: str) -> str | None:
    """The path of a malloc's library; None if it is missing, or is the system's."""
    name, _ = MALLOCS.get(malloc, ("", ""))
    if not name:
        return None
    known = ctypes.util.find_library(malloc if malloc == "jemalloc" else "tcmalloc_minimal")
    folders = (
        *("/usr/lib", "/usr/lib64", "/usr/local/lib"),
        f"/usr/lib/{os.uname().machine}-linux-gnu",
    )
    found = (Path(folder, name) for folder in folders)
    return next((str(path) for path in found if path.exists()), known)


def _refuse_lock(path: str, cell: Values) -> None:
    if cell[path] and os.geteuid() != 0:
        raise RequestError(
            f"{path} needs root: a server locks its memory before it drops root",
            hint="Run contend as root, or leave it out.",
        )


def _launch_lock(path: str, cell: Values, launch: Launch) -> None:
    """The server locks it itself, since a lock ends when a program is executed."""
    if cell[path]:
        launch.options["memlock"] = True


_HOOKS: dict[str, tuple[Hook, Hook]] = {
    "huge_pages": (_refuse_huge_pages, _launch_huge_pages),
    "malloc": (_refuse_malloc, _launch_malloc),
    "lock_memory": (_refuse_lock, _launch_lock),
}
"""Additional effects of keys: how each is refused, and how a server is started with it."""


def _rows(section: str, *keys: Key) -> tuple[Placing, ...]:
    """A setting for each key of a section; the first one applies all of them."""
    is_of_server = section.startswith(SERVER)
    return tuple(
        Placing(
            section,
            key,
            need=Need.RESTART if is_of_server else Need.NOTHING,
            differs={CLIENT: Differs.LOAD, NEIGHBOUR: Differs.HOST}.get(section, Differs.SERVER),
            tried=key.name in _HOOKS,
            is_first=key is keys[0],
            hooks=_HOOKS.get(key.name),
        )
        for key in keys
    )


def _scheduling(whose: str) -> tuple[Key, ...]:
    means = (
        f"scheduling class of {whose}: other (the usual one), batch, idle, fifo or rr. fifo and rr "
        "are real-time: they run before everything else on their CPUs, which must not be all of "
        "the host's. A watchdog ends a real-time server 10 s after contend's last sign of life"
    )
    return (
        Key("class", Choice(CLASSES), None, means),
        Key(
            "priority",
            WholeNumber(1, PRIORITY_MAX),
            PRIORITY_USUAL,
            "priority for fifo and rr",
        ),
        Key("nice", WholeNumber(-20, 19), None, f"niceness of {whose}"),
    )


def _process(whose: str, kind: CpuNames, more: str) -> tuple[Key, ...]:
    limit = f"limit in CPUs for all threads of {whose} together, such as 1.5 (by a control group)"
    return (
        Key("cpus", kind, None, f"CPUs for {whose}{more} (default: contend's own CPUs)"),
        Key("memory", _MEMORY, None, f"NUMA nodes for the memory of {whose}"),
        Key("cpu_quota", Real(0.0, 8192.0), None, limit),
        *_scheduling(whose),
        Key("io_class", _IO, None, f"I/O class of {whose}, for I/O schedulers that use it (bfq)"),
    )


ROLE_MEANS = {
    "connection": "that serve connections, and the first thread, which creates them",
    "io": "that read and write InnoDB's files, if the server has any (MySQL)",
    "cleaner": "that write InnoDB's dirty pages",
    "log": "that write InnoDB's redo log, if the server has any (MySQL)",
    "purge": "that remove row versions that InnoDB's readers no longer need",
}

PLACE_MEANINGS = {
    SERVER: "where a private server runs and how it is scheduled: set before its program starts, "
    "and read back",
    THREADS: "threads of a private server, by role",
    **{
        f"{THREADS}.{role}": f"threads of a private server {means}; placed once the server runs, "
        "with performance_schema on"
        for role, means in ROLE_MEANS.items()
    },
    CLIENT: "where contend-load runs and how it is scheduled",
    NEIGHBOUR: "contend's own neighbour process, which takes CPU time during every run",
}
"""The subject of each table of the file."""

PLACE: tuple[Setting, ...] = (
    *_rows(
        SERVER,
        *_process(
            "a private server",
            _RELATED,
            f"; or for server and client: {cpus.APART} (half of the cores each), {cpus.TOGETHER} "
            f"(both on the server's half), {cpus.ONE_EACH} (one CPU each)",
        ),
        Key(
            "huge_pages",
            Choice(("system", "never", "malloc", "reserved")),
            "system",
            "huge pages for a private server's memory: system (the host's setting), never (no "
            "transparent ones), malloc (the C library requests transparent ones for all of its "
            "memory), reserved (large_pages: the caches use the pages of host.huge_pages)",
        ),
        Key(
            "malloc",
            Choice(("system", *MALLOCS)),
            "system",
            "the memory allocation library of a private server",
        ),
        Key(
            "lock_memory",
            Flag(),
            False,
            "lock all memory of a private server (its option memlock), so that none is swapped out",
        ),
        Key(
            "open_files",
            WholeNumber(64, 1 << 30),
            None,
            "maximum number of open files of a private server (ulimit -n)",
        ),
    ),
    *(
        setting
        for role in ROLE_MEANS
        for setting in _rows(
            f"{THREADS}.{role}",
            Key("cpus", _ONE, None, "CPUs for these threads"),
            *_scheduling("these threads"),
        )
    ),
    *_rows(
        CLIENT,
        *_process(
            "contend-load",
            _CLIENTS,
            f"; {cpus.HALF}: always the client's half of {cpus.APART}, so that {cpus.APART}, "
            f"{cpus.TOGETHER} (on that half) and {cpus.ALL} can be compared in slices",
        ),
    ),
    *_rows(
        NEIGHBOUR,
        Key(
            "share",
            Bounded(0.0, 1.0),
            0.0,
            "share of each of its CPUs that a neighbour process wants during a run, like those of "
            "other users; 0: no neighbour",
        ),
        Key("cpus", _ONE, None, "CPUs of the neighbour, with one process each (default: all)"),
        Key(
            "pattern",
            Choice(tuple(PATTERNS)),
            "steady",
            "its work: steady (arithmetic, a share of each 2 ms), bursts (of each 200 ms), memory "
            "(walks over 32 MB, which evicts the caches of others)",
        ),
        *_scheduling("the neighbour"),
    ),
)
"""In the order in which they are applied."""
