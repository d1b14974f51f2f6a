"""Where the private server and contend-load run, and how they are scheduled: set before each
becomes its program, and read back from it. Threads of the server by role; a neighbour of ours."""

from __future__ import annotations

import ctypes.util
import os
import re
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.errors import RequestError
from contend.host.tree import Tree
from contend.placement import cpus as words
from contend.placement.groups import real_time_file
from contend.placement.model import CLASSES, IO_CLASSES, REAL_TIME, Placement, as_list
from contend.placement.neighbour import PATTERNS, Spin
from contend.placement.threads import ROLES
from contend.settings.model import Differs, Launch, Need, Setting, Target, Values
from contend.settings.values import (
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

SERVER, CLIENT, NEIGHBOUR = "place.server", "place.client", "place.neighbour"
THREADS = f"{SERVER}.threads"

PRIORITY_USUAL = 10
PRIORITY_MAX = 98
"""One below the watchdog's."""

_CAP_SYS_NICE = 23


@dataclass(frozen=True, slots=True)
class CpuWords:
    """CPUs by words; a bare number is a CPU."""

    pattern: str
    meaning: str

    def read(self, value: object) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if isinstance(text, str) and re.fullmatch(self.pattern, text):
            return text
        raise Refused(f"must be {self.words()}, not {shown(value)}")

    def words(self) -> str:
        return self.meaning

    def schema(self) -> dict[str, object]:
        text = {"type": "string", "pattern": f"^(?:{self.pattern})$"}
        return {"anyOf": [text, {"type": "integer", "minimum": 0}]}


_ONE = CpuWords(
    words.PATTERN,
    f'CPUs such as "0-5,8", "node:0", "{words.ONE_THREAD}" or "{words.ALL}"',
)
_RELATED = CpuWords(
    "|".join((words.PATTERN, *words.RELATIONS)),
    f'{_ONE.meaning}, or "{words.APART}", "{words.TOGETHER}" or "{words.ONE_EACH}"',
)
_CLIENTS = CpuWords(
    f"{words.PATTERN}|{words.HALF}",
    f'{_ONE.meaning}, or "{words.HALF}"',
)
_MEMORY = Text(
    words.MEMORY_PATTERN,
    '"node:0" (bound to it, with its CPUs unless cpus names others), "bind:0", "preferred:0", '
    '"interleave" (over all nodes), "interleave:0-1", "local" or "default"',
)
_IO = Text(
    r"none|idle|(realtime|best-effort):[0-7]",
    '"best-effort:0" to "best-effort:7", "realtime:0" to "realtime:7", "idle" or "none"',
)
_LOCAL = "of the server's memory, set before its first page"

MALLOCS = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
}
"""The library, and Debian's package of it."""


def _scheduling(whose: str) -> tuple[Key, ...]:
    return (
        Key(
            "class",
            Choice(CLASSES),
            None,
            f"scheduling class of {whose}: other (the usual one), batch, idle, fifo or rr "
            "(real-time: before all others on its CPUs, which then must not be all; a watchdog "
            "ends a real-time server after 10 s without a sign of contend)",
        ),
        Key("priority", WholeNumber(1, PRIORITY_MAX), PRIORITY_USUAL, "of fifo and rr"),
        Key("nice", WholeNumber(-20, 19), None, f"niceness of {whose}"),
    )


def _process(whose: str, cpus: CpuWords, more: str) -> tuple[Key, ...]:
    return (
        Key("cpus", cpus, None, f"CPUs that {whose} may run on{more} (default: as contend's own)"),
        Key("memory", _MEMORY, None, f"on which NUMA nodes the memory of {whose} lies"),
        Key(
            "cpu_quota",
            Real(0.0, 8192.0),
            None,
            f"CPUs that {whose} may have, all threads together: 1.5; by a control group of its own",
        ),
        *_scheduling(whose),
        Key("io_class", _IO, None, f"I/O class of {whose}, for schedulers that know one (bfq)"),
    )


_RELATION = (
    f". Of both at once: {words.APART} (each has half of the cores), {words.TOGETHER} (both have "
    f"the half that the server has then), {words.ONE_EACH} (one CPU each)"
)

_SERVER_KEYS = (
    *_process("a private server", _RELATED, _RELATION),
    Key(
        "huge_pages",
        Choice(("system", "never", "malloc", "reserved")),
        "system",
        "huge pages for a private server's memory: system (as the host has them), never "
        "(transparent ones are turned off for it), malloc (the C library asks for transparent ones "
        "for all that it allocates), reserved (large_pages: the caches lie in huge pages that "
        "host.huge_pages reserves)",
    ),
    Key(
        "malloc",
        Choice(("system", *MALLOCS)),
        "system",
        "the library that a private server allocates memory by",
    ),
    Key(
        "lock_memory",
        Flag(),
        False,
        "lock all memory of a private server (its option memlock), so that nothing of it is "
        "swapped out",
    ),
    Key(
        "open_files",
        WholeNumber(64, 1 << 30),
        None,
        "how many files a private server may have open (ulimit -n)",
    ),
)
_CLIENT_KEYS = _process(
    "contend-load",
    _CLIENTS,
    f". {words.HALF}: those that it has if the server is {words.APART}, whatever the server has, "
    f"so that {words.APART}, {words.TOGETHER} (on the client's half) and {words.ALL} can be "
    "compared in slices",
)

_OWN_ONLY = "and contend does not place a server that is not its own"


@dataclass(frozen=True)
class Placing(Setting):
    """Of one process. `cpus` has all of it put into force."""

    def given(self, cell: Values) -> bool:
        return bool(cell[self.path] != self.key.default)

    def refuse(self, cell: Values, *, own: bool) -> None:
        if self.section != CLIENT and not own and self.given(cell):
            raise RequestError(
                f"{self.path} = {shown(cell[self.path])} places the server, {_OWN_ONLY}: here or "
                "on another host, whoever runs it starts it so",
                hint="Leave --server out to use a private server.",
            )


@dataclass(frozen=True)
class Cpus(Placing):
    """The CPUs, and with them all that is asked of the process."""

    def check(self, cell: Values) -> None:
        relation = _relation(cell)
        goes = cell[f"{CLIENT}.cpus"] == words.HALF and relation != words.ONE_EACH
        if self.section == CLIENT and self.given(cell) and relation is not None and not goes:
            raise Refused(
                f'and {SERVER}.cpus = "{_relation(cell)}" both say where contend-load runs',
                hint="Leave one of them out.",
            )

    def refuse(self, cell: Values, *, own: bool) -> None:
        super().refuse(cell, own=own)
        refuse_placement(placement_of(cell, self.section), self.section)

    def launch(self, cell: Values, launch: Launch) -> None:
        placed = placement_of(cell, self.section)
        if self.section == SERVER:
            launch.placement = placed
        else:
            launch.client = placed


@dataclass(frozen=True)
class HugePages(Placing):
    """`never` is part of the placement; the others are of how the server is started."""

    def launch(self, cell: Values, launch: Launch) -> None:
        if cell[self.path] == "malloc":
            launch.environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
        if cell[self.path] == "reserved":
            launch.options["large_pages"] = True

    def refuse(self, cell: Values, *, own: bool) -> None:
        super().refuse(cell, own=own)
        tree = Tree(Path("/"))
        enabled = tree.text("sys/kernel/mm/transparent_hugepage/enabled") or ""
        if (
            cell[self.path] == "malloc"
            and cell["host.transparent_hugepage"] is None
            and "[never]" in enabled
        ):
            raise RequestError(
                f'{self.path} = "malloc" asks for transparent huge pages, and this host gives none '
                "(/sys/kernel/mm/transparent_hugepage/enabled says never)",
                hint='host.transparent_hugepage = "madvise" with --touch-host has it give some.',
            )
        if cell[self.path] == "reserved" and not cell["host.huge_pages"]:
            pages = (tree.text("proc/sys/vm/nr_hugepages") or "0").strip()
            if pages == "0":
                raise RequestError(
                    f'{self.path} = "reserved" takes huge pages that are reserved, and this host '
                    "has reserved none (vm.nr_hugepages = 0)",
                    hint="host.huge_pages with --touch-host reserves some.",
                )


@dataclass(frozen=True)
class Malloc(Placing):
    """By the loader of programs, beside what `server.env` has it load."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        super().refuse(cell, own=own)
        wanted = cell[self.path]
        if wanted in MALLOCS and find_library(wanted) is None:
            library, package = MALLOCS[wanted]
            raise RequestError(
                f'{self.path} = "{wanted}" needs {library}, which this machine does not have',
                hint=f"Debian's package is {package}.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        if (library := find_library(cell[self.path])) is not None:
            others = launch.environment.get("LD_PRELOAD")
            launch.environment["LD_PRELOAD"] = ":".join(filter(None, (library, others)))


def find_library(malloc: str) -> str | None:
    """The path of a malloc's library; None if it is not there, or is the system's."""
    name, _ = MALLOCS.get(malloc, ("", ""))
    if not name:
        return None
    known = ctypes.util.find_library(malloc if malloc == "jemalloc" else "tcmalloc_minimal")
    folders = (
        "/usr/lib",
        "/usr/lib64",
        "/usr/local/lib",
        f"/usr/lib/{os.uname().machine}-linux-gnu",
    )
    found = (Path(folder, name) for folder in folders)
    return next((str(path) for path in found if path.exists()), known)


@dataclass(frozen=True)
class LockMemory(Placing):
    """The server locks it, since a lock does not outlive the start of a program."""

    def launch(self, cell: Values, launch: Launch) -> None:
        if cell[self.path]:
            launch.options["memlock"] = True

    def refuse(self, cell: Values, *, own: bool) -> None:
        super().refuse(cell, own=own)
        if cell[self.path] and os.geteuid() != 0:
            raise RequestError(
                f"{self.path} needs root: a server locks its memory before it gives that up",
                hint="Run contend as root, or leave it out.",
            )


_CLASSES_OF: Mapping[str, type[Placing]] = {
    "cpus": Cpus,
    "huge_pages": HugePages,
    "malloc": Malloc,
    "lock_memory": LockMemory,
}


def placement_of(cell: Values, section: str) -> Placement:
    """What the keys of a section ask; raises RequestError if the host has no such CPU or node."""

    def asked(name: str) -> Any:
        return cell.get(f"{section}.{name}")

    memory: str | None = None
    nodes: tuple[int, ...] = ()
    if asked("memory") is not None:
        memory, nodes = words.memory_of(asked("memory"), words.layout(), f"{section}.memory")
    io_class, _, io_level = (asked("io_class") or "").partition(":")
    assert io_class in ("", *IO_CLASSES)
    scheduler = asked("class")
    return Placement(
        cpus=_cpus_of(cell, section),
        memory=memory,
        nodes=nodes,
        scheduler=scheduler,
        priority=asked("priority") if scheduler in REAL_TIME else 0,
        nice=asked("nice"),
        io_class=io_class or None,
        io_level=int(io_level or 0),
        transparent_huge=False if asked("huge_pages") == "never" else None,
        open_files=asked("open_files"),
        cpu_quota=asked("cpu_quota"),
        lock_memory=asked("lock_memory") is True or asked("huge_pages") == "reserved",
    )


def _cpus_of(cell: Values, section: str) -> tuple[int, ...] | None:
    relation = _relation(cell)
    if cell[f"{CLIENT}.cpus"] == words.HALF and section in (SERVER, CLIENT):
        server, client = words.both(words.APART, words.layout(), f"{CLIENT}.cpus")
        if section == CLIENT or relation is not None:
            return server if (section, relation) == (SERVER, words.APART) else client
    elif relation is not None and section in (SERVER, CLIENT):
        return words.both(relation, words.layout(), f"{SERVER}.cpus")[section == CLIENT]
    path = f"{section}.cpus"
    named = cell[path]
    memory = str(cell.get(f"{section}.memory"))
    if named is None and memory.startswith(words.NODE):
        named, path = memory, f"{section}.memory"
    return None if named is None else words.cpus_of(named, words.layout(), path)


def _relation(cell: Values) -> str | None:
    """How the server stands to the client, if that is what its CPUs are named by."""
    named = cell[f"{SERVER}.cpus"]
    return named if named in words.RELATIONS else None


def refuse_placement(placement: Placement, section: str) -> None:
    """Raise RequestError if this process may not place another one so."""
    if placement.is_real_time:
        _refuse_real_time(placement, section)
    if placement.nice is not None and placement.nice < 0 and not _may_schedule():
        least = 20 - resource.getrlimit(resource.RLIMIT_NICE)[0]
        if placement.nice < least:
            raise RequestError(
                f"{section}.nice = {placement.nice} needs root, or a limit for it (RLIMIT_NICE "
                f"allows {least})",
                hint="`ulimit -e` shows the limit; /etc/security/limits.conf sets it.",
            )


def _refuse_real_time(placement: Placement, section: str) -> None:
    if placement.cpu_quota is not None and real_time_file() is None:
        raise RequestError(
            f'{section}.cpu_quota holds back no process of class "{placement.scheduler}" on this '
            "kernel, which has no real time of control groups",
            hint="Leave one of them out.",
        )
    online = words.layout().online
    if placement.cpus is None or set(placement.cpus) >= set(online):
        what = "all CPUs" if placement.cpus is None else as_list(placement.cpus)
        raise RequestError(
            f'{section}.class = "{placement.scheduler}" would have {what} of this host, and '
            "whatever else runs here would wait for it",
            hint=f"Give {section}.cpus fewer than all of {as_list(online)}."
            if len(online) > 1
            else "This host has one CPU.",
        )
    limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    if limit != resource.RLIM_INFINITY and limit < placement.priority and not _may_schedule():
        raise RequestError(
            f'{section}.class = "{placement.scheduler}" needs root, or a limit of at least '
            f"{placement.priority} for real-time priorities (RLIMIT_RTPRIO is {limit})",
            hint="`ulimit -r` shows the limit; /etc/security/limits.conf sets it (rtprio).",
        )


def refuse_group(cell: Values) -> None:
    """Raise RequestError if the control group of this process may have no real time at all."""
    file = real_time_file()
    if file is None or cell["host.rt_runtime_us"]:
        return
    if Tree(file.parent).text(file.name) == "0":
        raise RequestError(
            f"the control group of contend may have nothing real-time ({file} is 0)",
            hint="host.rt_runtime_us = 950000 with --touch-host raises it while the run lasts.",
        )


def _may_schedule() -> bool:
    """Whether this process has the capability to schedule as it likes (CAP_SYS_NICE)."""
    status = Tree(Path("/")).text("proc/self/status") or ""
    held = next((line.split()[1] for line in status.splitlines() if line[:7] == "CapEff:"), "0")
    return bool(int(held, 16) >> _CAP_SYS_NICE & 1)


@dataclass(frozen=True)
class SchedulingClass(Placing):
    """A real-time one takes leave of the control group."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        super().refuse(cell, own=own)
        if cell[self.path] in REAL_TIME:
            refuse_group(cell)


def _settings(section: str, keys: tuple[Key, ...], differs: Differs) -> tuple[Setting, ...]:
    kinds = {**_CLASSES_OF, "class": SchedulingClass}
    return tuple(
        kinds.get(key.name, Placing)(
            section,
            key,
            need=Need.RESTART if section == SERVER else Need.NOTHING,
            tried=key.name in ("huge_pages", "malloc", "lock_memory"),
            differs=differs,
        )
        for key in keys
    )


ROLE_MEANS = {
    "connection": "that serve connections, and its first one, which makes them",
    "io": "that read and write files for InnoDB, if it has such (MySQL)",
    "cleaner": "that write dirty pages of InnoDB",
    "log": "that write InnoDB's redo log, if it has such (MySQL)",
    "purge": "that remove what InnoDB's readers no longer need",
}


@dataclass(frozen=True)
class Threads(Placing):
    """Of one role; placed once the server runs. The first of all has them placed together."""

    def launch(self, cell: Values, launch: Launch) -> None:
        role = self.section.removeprefix(f"{THREADS}.")
        if self.key.name == "cpus" and (placed := placement_of(cell, self.section)):
            launch.threads[role] = placed
            # By its instruments the server knows which thread is which.
            launch.options.setdefault("performance_schema", "ON")

    def refuse(self, cell: Values, *, own: bool) -> None:
        super().refuse(cell, own=own)
        if self.key.name != "cpus":
            return
        placed = placement_of(cell, self.section)
        if placed.is_real_time:
            refuse_group(cell)
        if placed:
            refuse_placement(placed, self.section)

    def apply(self, target: Target, cell: Values) -> None:
        if (self.section, self.key.name) != _FIRST:
            return
        asked = {role: placement_of(cell, f"{THREADS}.{role}") for role in ROLES}
        if asked := {role: placed for role, placed in asked.items() if placed}:
            target.note(THREADS, target.place_threads(asked))


def _of_role(role: str) -> tuple[Setting, ...]:
    whose = f"the threads of a private server {ROLE_MEANS[role]}"
    keys = (Key("cpus", _ONE, None, f"CPUs of {whose}"), *_scheduling("these threads"))
    section = f"{THREADS}.{role}"
    return tuple(Threads(section, key, need=Need.RESTART) for key in keys)


_FIRST = (f"{THREADS}.{next(iter(ROLES))}", "cpus")


@dataclass(frozen=True)
class NeighbourSetting(Setting):
    """`share` has all of it put into force."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        del own
        if self.key.name == "share" and cell[self.path]:
            refuse_placement(_spin(cell).placement, NEIGHBOUR)

    def launch(self, cell: Values, launch: Launch) -> None:
        if self.key.name == "share" and cell[self.path]:
            launch.neighbour = _spin(cell)


def _spin(cell: Values) -> Spin:
    placed = placement_of(cell, NEIGHBOUR)
    cpus = placed.cpus or words.layout().allowed
    return Spin(cell[f"{NEIGHBOUR}.share"], cpus, cell[f"{NEIGHBOUR}.pattern"], placed)


_NEIGHBOUR_KEYS = (
    Key(
        "share",
        Bounded(0.0, 1.0),
        0.0,
        "how much of each of its CPUs a neighbour of ours wants, 0 to 1: processes that take CPU "
        "time beside a run, as those of others would; 0: there is none",
    ),
    Key("cpus", _ONE, None, "CPUs of the neighbour, one process each (default: all)"),
    Key(
        "pattern",
        Choice(tuple(PATTERNS)),
        "steady",
        "what it does: steady (arithmetic, a share of each 2 ms), bursts (of each 200 ms), memory "
        "(walks over 32 MB, which takes the others' caches)",
    ),
    *_scheduling("the neighbour"),
)

PLACE_MEANINGS = {
    SERVER: "where a private server runs and how it is scheduled: set before it becomes its "
    "program, and read back from it",
    THREADS: "threads of a private server by what they do for it",
    **{
        f"{THREADS}.{role}": f"threads {means}; placed once the server runs, which then has "
        "performance_schema on"
        for role, means in ROLE_MEANS.items()
    },
    CLIENT: "where contend-load runs and how it is scheduled",
    NEIGHBOUR: "a neighbour of ours, which takes CPU time beside every run",
}
"""What each table of the file is about."""

PLACE: tuple[Setting, ...] = (
    *_settings(SERVER, _SERVER_KEYS, Differs.SERVER),
    *(setting for role in ROLES for setting in _of_role(role)),
    *_settings(CLIENT, _CLIENT_KEYS, Differs.LOAD),
    *(NeighbourSetting(NEIGHBOUR, key, differs=Differs.HOST) for key in _NEIGHBOUR_KEYS),
)
"""In the order in which they are applied."""
