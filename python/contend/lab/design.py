"""How levels are compared: in slices, or by separate runs; how one server switches between levels.
Memory layout of a repeat's servers: the same for all and different in the next repeat, or chosen by
the system.

Without the kernel's randomisation, two things decide where memory lies. The environment moves the
stack. The limit of the stack moves all mapped memory: libraries, large allocations, thread stacks,
and a server started by its loader. The heap for small allocations (brk), and the program of a
server started by its name, do not move: only the kernel's randomisation moves them.
"""

from __future__ import annotations

import mmap
import os
import random
import resource
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contend import host
from contend.data import estimated_bytes, free_bytes
from contend.errors import RequestError
from contend.experiment import (
    CellKey,
    CellSpec,
    Experiment,
    Factor,
    cell_key,
    cell_spec,
    cell_specs,
    cells,
    imported_name,
)
from contend.experiment.keys import resolve
from contend.experiment.settings import SETTINGS, launch_of
from contend.experiment.settings.model import Differs, Launch
from contend.experiment.settings.model_server import is_model
from contend.experiment.settings.topology import (
    BACKENDS,
    FRONTS,
    GALERA,
    SINGLE,
    TOPOLOGY,
    members_in,
)
from contend.experiment.settings.workload import may_write
from contend.metrics.probed import DesignFacts, LayoutRecord
from contend.servers.options import as_text, assignment, normal_name, size_in_bytes
from contend.units import format_size
from contend.warm.myisam import reloading
from contend.warm.plan import disturbs

SERVER_BYTES = 200 << 20
"""Memory of a server besides the caches of its tables."""

_CACHES = {
    "key_buffer_size": 128 << 20,
    "aria_pagecache_buffer_size": 128 << 20,
    "innodb_buffer_pool_size": 128 << 20,
}
"""Options that size a server's caches, with their usual defaults."""

CONNECTIONS_MAX = 151
"""The default of a server's max_connections."""

WRITES_BESIDE = (
    "one level writes and another only reads: in slices, the after-effects of writing may slow the "
    'other by some percent (compare.by = "slices" accepts that)'
)
"""2 % in the measurement of docs/decisions/0038."""

NOT_OURS = "contend cannot start a server per level when you name your own"


@dataclass(frozen=True, slots=True)
class Design:
    """
    Args:
        by: slices or runs.
        why: why levels are not compared in slices; empty if they are, or if nothing is compared.
        servers: number of servers, queried in turn: one per level, or one that is switched.
    """

    by: Literal["slices", "runs"]
    why: str = ""
    servers: int = 1
    own: bool = True

    @property
    def is_switching(self) -> bool:
        """One server serves all levels in turn."""
        return self.in_slices and self.servers == 1

    @property
    def in_slices(self) -> bool:
        return self.by == "slices"

    def facts(self) -> DesignFacts:
        return {"by": self.by, "why": self.why, "servers": self.servers, "own": self.own}


def choose_design(
    experiment: Experiment, *, own: bool, disk: Path, blocking: str | None = None
) -> Design:
    """Slices if possible, unless the experiment wants runs.

    Args:
        disk: a folder on the disk that holds the servers' data.
        blocking: a script that needs threads of its own, which cannot switch between levels.

    Raises:
        RequestError: the experiment insists on slices, and they are not possible.
    """
    compare, compared = experiment.compare, experiment.compared
    if experiment.lines:
        return _of_screen(experiment, own=own, disk=disk, blocking=blocking)
    if compare.layout is not None and not own:
        raise RequestError(
            f'compare.layout = "{compare.layout}" needs private servers, one process per level',
            hint="Remove --server to use private servers.",
        )
    if compare.layout == "matched" and (lacks := why_not_matched()) is not None:
        raise RequestError(
            f'compare.layout = "matched" is not possible: this host lacks {lacks}',
            hint="Provide it, or remove compare.layout.",
        )
    if experiment.goal is not None:
        return Design("runs", servers=_servers_of_search(experiment, disk) if own else 1, own=own)
    if compared is None or compare.by == "runs":
        return Design("runs", own=own)
    specs = list(cell_specs(experiment))
    why = _of_load(compared) or next(filter(None, map(_of_cell, specs)), None)
    if why is None and blocking is not None:
        why = f"the script {blocking} needs its own threads, which cannot take turns"
    if why is None and _clients_differ(experiment):
        why = "the levels place contend-load on different CPUs, but slices share one process"
    if why is None and compare.by is None and _one_writes(experiment):
        why = WRITES_BESIDE
    differs = differs_in(compared)
    if why is None and (differs is Differs.ROUTE or _share_server(experiment, specs)):
        # One server for all levels, which differ in their route to it or in their requests.
        return Design("slices", own=own)
    servers = len(compared.levels)
    if why is None and (own or differs is not Differs.SERVERS):
        # One server for each level, or one for all of them.
        why = _no_room(servers, specs, disk) if own else NOT_OURS
        if why is not None and (switched := why_not_switched(experiment)) is not None:
            why = f"{why}, and {switched}"
        elif why is not None:
            return Design("slices", own=own)
    if why is None:
        return Design("slices", servers=servers, own=own)
    if compare.by == "slices":
        raise RequestError(
            f'compare.by = "slices" is not possible: {why}',
            hint='Remove compare.by, or use "runs": one level after the other.',
        )
    return Design("runs", why, own=own)


PAIR = 2
"""Servers of a screen."""


def _of_screen(experiment: Experiment, *, own: bool, disk: Path, blocking: str | None) -> Design:
    """Two servers side by side; or one that is not contend's own, switched between the two cells of
    a pair."""
    specs = list(cell_specs(experiment))
    why = next(filter(None, map(_of_cell, specs)), None)
    if why is None and blocking is not None:
        why = f"the script {blocking} needs its own threads, which cannot take turns"
    if why is not None:
        raise RequestError(f"a screen compares in slices, and that is not possible: {why}")
    if own:
        if (why := _no_room(PAIR, specs, disk)) is not None:
            raise RequestError(
                f"a screen needs {PAIR} servers side by side: {why}",
                hint="Use fewer rows, or smaller caches in both sets.",
            )
        return Design("slices", servers=PAIR, own=own)
    one_sided = next((one for one in experiment.lines if one.old is None or one.new is None), None)
    if one_sided is not None:
        raise RequestError(
            f"only one set has a value of {one_sided.name}, and a running server is switched "
            "between two",
            hint=f"Give it both values: {one_sided.name}=OLD,NEW.",
        )
    names = [one.name for one in experiment.lines]
    engines = {cell.data.engine for cell in specs}
    if any(imported_name(cell.data.schema) is not None for cell in specs):
        engines.add("InnoDB")
    for name in names:
        if any(_refill(engine, [name], ()) is None for engine in engines):
            raise RequestError(
                f"a running server cannot be switched by {name}: that empties a cache that takes "
                "longer than a slice to refill",
                hint="Leave this line out, or use private servers.",
            )
    return Design("slices", own=own)


def _servers_of_search(experiment: Experiment, disk: Path) -> int:
    """A server for each level, if there is room for them; each run has the host for itself."""
    if experiment.compared is None:
        return 1
    servers = len(experiment.compared.levels)
    return 1 if _no_room(servers, list(cell_specs(experiment)), disk) else servers


def _differ(experiment: Experiment, of: Callable[[CellSpec], object]) -> bool:
    compared = experiment.compared
    assert compared is not None
    seen: dict[CellKey, object] = {}
    for cell in cells(experiment):
        context = cell_key({path: cell[path] for path in cell if path != compared.path})
        found = of(cell_spec(experiment, cell))
        if seen.setdefault(context, found) != found:
            return True
    return False


def _clients_differ(experiment: Experiment) -> bool:
    return _differ(experiment, lambda cell: launch_of(cell.values).client)


def _one_writes(experiment: Experiment) -> bool:
    return _differ(experiment, lambda cell: may_write(cell.workload.kind, cell.workload.parameters))


def _of_load(compared: Factor) -> str | None:
    of = {Differs.LOAD: "load", Differs.HOST: "host"}.get(differs_in(compared))
    return of and f"{compared.path} is a property of the {of}, which all levels share in slices"


def differs_in(compared: Factor) -> Differs:
    setting = resolve(compared.path).setting
    assert setting is not None, "a factor is a path into a cell"
    return setting.differs


def _share_server(experiment: Experiment, cells: Sequence[CellSpec]) -> bool:
    """Levels that differ in their requests, and change no rows, are compared on one server, if it
    has room for the connections of all of them."""
    compared = experiment.compared
    assert compared is not None
    if differs_in(compared) is not Differs.QUERIES:
        return False
    # In slices each level has connections of its own.
    writes = any(may_write(cell.workload.kind, cell.workload.parameters) for cell in cells)
    return not writes and all(_has_room(cell, len(compared.levels)) for cell in cells)


def _has_room(cell: CellSpec, levels: int) -> bool:
    options = {normal_name(name): value for name, value in cell["server.options"].items()}
    room = int(options.get("max_connections", CONNECTIONS_MAX))
    each = cell["load.connections"] + cell["load.idle_connections"]
    return bool(levels * each <= room)


def _no_room(servers: int, cells: Sequence[CellSpec], disk: Path) -> str | None:
    """Why this number of servers with their data cannot run side by side; None if they can."""
    needed = servers * (max(map(_memory_bytes, cells)) + SERVER_BYTES)
    available = host.memory_available_bytes()
    if needed > available:
        return (
            f"{servers} servers with their data need about {format_size(needed)} of memory, but "
            f"only {format_size(available)} is available"
        )
    needed = servers * max(map(_data_bytes, cells))
    free = free_bytes(disk)
    if needed > free:
        return (
            f"{servers} copies of the data need about {format_size(needed)}, but only "
            f"{format_size(free)} is free on the disk"
        )
    return None


def _data_bytes(cell: CellSpec) -> int:
    """Size of the tables; 0 for a model server, which makes them up."""
    return 0 if is_model(cell.values) else estimated_bytes(cell.data)


def _of_cell(cell: CellSpec) -> str | None:
    for setting in SETTINGS:
        if (why := setting.why_not_in_slices(cell.values)) is not None:
            return why
    return None


def _memory_bytes(cell: CellSpec) -> int:
    """The tables in the page cache, and the server's caches of them."""
    tables = _data_bytes(cell)
    return tables + cache_bytes(cell, tables)


def cache_bytes(cell: CellSpec, tables: int) -> int:
    """The part of `tables` bytes that the caches of a server hold."""
    options = {normal_name(name): as_text(value) for name, value in cell["server.options"].items()}
    sizes = (size_in_bytes(options.get(name, "")) or usual for name, usual in _CACHES.items())
    return sum(min(size, tables) for size in sizes)


PADDING_MAX_BYTES = 4096
"""Limit of the padding of the environment: one page."""

PADDING_VARIABLE = "CONTEND_PADDING"

STACK_MIN_BYTES = 128 << 20
"""With a lower limit the kernel reserves the same room."""

STACK_SPAN_BYTES = 128 << 20
"""The most that mapped memory moves. Threads without an explicit size get stacks as large as the
limit, but touch no more of them."""

PROGRAMS = ("setarch", "prlimit")
"""Start a server without address space randomisation, and with a stack limit."""


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Memory layout of one repeat's servers. Without values the system chooses it.

    Args:
        padding_bytes: of environment.
        stack_limit_bytes: a whole number of pages.
    """

    padding_bytes: int | None = None
    stack_limit_bytes: int | None = None

    def record(self) -> LayoutRecord:
        return {"padding_bytes": self.padding_bytes, "stack_limit_bytes": self.stack_limit_bytes}

    def apply(self, launch: Launch) -> None:
        if self.padding_bytes is None or self.stack_limit_bytes is None:
            return
        launch.environment[PADDING_VARIABLE] = "x" * (1 + self.padding_bytes)
        setarch, prlimit = (shutil.which(program) for program in PROGRAMS)
        assert setarch is not None and prlimit is not None, why_not_matched()
        limit = (prlimit, f"--stack={self.stack_limit_bytes}:")
        launch.wrap = (setarch, os.uname().machine, "-R", *limit, *launch.wrap)


def layout_of(experiment: Experiment, repeat: int, *, matched: bool) -> MemoryLayout:
    """The layout of a repeat's servers, drawn for each repeat."""
    if not matched:
        return MemoryLayout()
    chance = random.Random(f"layout {experiment.base['load.seed']} {repeat}")
    padding = chance.randrange(PADDING_MAX_BYTES)
    pages = chance.randrange(1, STACK_SPAN_BYTES // mmap.PAGESIZE)
    return MemoryLayout(padding, STACK_MIN_BYTES + pages * mmap.PAGESIZE)


def why_not_matched() -> str | None:
    """The missing requirement of this host for laying servers out alike; None if it has all."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"the program {program} (package util-linux)"
    _soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    needed = STACK_MIN_BYTES + STACK_SPAN_BYTES
    if hard != resource.RLIM_INFINITY and hard < needed:
        return f"a stack limit of {format_size(needed)} (ulimit -Hs allows {format_size(hard)})"
    return None


OPTIONS = "server.options."


def why_not_switched(experiment: Experiment) -> str | None:
    """Why one server cannot serve the compared levels in turn; None if it may try."""
    compared = experiment.compared
    assert compared is not None
    if not compared.path.startswith(OPTIONS):
        return f"a running server cannot be switched by {compared.path}"
    name = normal_name(compared.path.removeprefix(OPTIONS))
    if any(imported_name(cell.data.schema) is not None for cell in cell_specs(experiment)):
        return "the caches that the tables of a dump use are unknown before it is loaded"
    engines = {cell.data.engine for cell in cell_specs(experiment)}
    if any(_refill(engine, [name], ()) is None for engine in engines):
        return f"{name} empties a cache that takes longer than a slice to refill"
    return None


def entering(cells: Sequence[CellSpec]) -> list[tuple[str, ...]]:
    """For each cell, the statements that switch a server to it from any of the others."""
    options = [
        {normal_name(name): value for name, value in cell["server.options"].items()}
        for cell in cells
    ]
    differ = [name for name in options[0] if any(o.get(name) != options[0][name] for o in options)]
    data = cells[0].data
    refill = _refill(data.engine, differ, data.table_names) or ()
    return [(*(assignment(name, of_cell[name]) for name in differ), *refill) for of_cell in options]


def _refill(engine: str, changed: Sequence[str], tables: Sequence[str]) -> tuple[str, ...] | None:
    return reloading(engine, tables) if disturbs(engine, changed) else ()


def refuse_without_memory(experiment: Experiment) -> None:
    """Raises RequestError if the servers of a level take more memory than is available."""
    several = (cell for cell in cell_specs(experiment) if cell[TOPOLOGY.path] != SINGLE)
    most = max(several, key=members_bytes, default=None)
    if most is None:
        return
    needed, available = members_bytes(most), host.memory_available_bytes()
    if needed > available:
        raise RequestError(
            f"the {members_in(most.values)} servers of a level need about {format_size(needed)} of "
            f"memory together, but only {format_size(available)} is available",
            hint="Use fewer servers, or smaller caches (server.options.innodb_buffer_pool_size).",
        )


def members_bytes(cell: CellSpec) -> int:
    """Memory of all servers of a level; of the tables, only the part in their caches."""
    tables = estimated_bytes(cell.data)
    if cell[TOPOLOGY.path] == GALERA:
        return members_in(cell.values) * (SERVER_BYTES + cache_bytes(cell, tables))
    # A front has no rows, and each backend has its share of them.
    backends: int = cell[BACKENDS.path]
    of_backends = backends * (SERVER_BYTES + cache_bytes(cell, tables // backends))
    of_fronts: int = cell[FRONTS.path] * SERVER_BYTES
    return of_backends + of_fronts
