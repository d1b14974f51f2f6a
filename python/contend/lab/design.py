"""How levels are compared: in slices, or as runs of their own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contend import host
from contend.datasets import estimated_bytes
from contend.errors import RequestError
from contend.lab.layouts import why_not_matched
from contend.lab.switching import why_not_switched
from contend.probed import DesignFacts
from contend.servers.options import as_text, normal_name, size_in_bytes
from contend.settings import SETTINGS
from contend.settings.model import Differs
from contend.settings.workload import may_write
from contend.spec import CellSpec, Experiment, Factor, cell_specs
from contend.spec.keys import resolve
from contend.units import format_size

SERVER_BYTES = 200 << 20
"""What a server takes beside the caches of its tables."""

_CACHES = {
    "key_buffer_size": 128 << 20,
    "aria_pagecache_buffer_size": 128 << 20,
    "innodb_buffer_pool_size": 128 << 20,
}
"""Options that size a server's caches, with what a server takes if nobody says."""

CONNECTIONS_MAX = 151
"""A server's max_connections if nobody says."""

NOT_OURS = "contend starts no server for each level beside one that is not its own"


@dataclass(frozen=True, slots=True)
class Design:
    """
    Args:
        by: slices or runs.
        why: levels are not compared in slices; empty if they are, or if nothing is compared.
        servers: that are asked in turn: one for each level, or one that is switched.
        own: contend starts them.
    """

    by: Literal["slices", "runs"]
    why: str = ""
    servers: int = 1
    own: bool = True

    @property
    def is_switching(self) -> bool:
        """One server takes on all levels in turn."""
        return self.in_slices and self.servers == 1

    @property
    def in_slices(self) -> bool:
        return self.by == "slices"

    def facts(self) -> DesignFacts:
        """What a session keeps of it, under `way`."""
        return {"by": self.by, "why": self.why, "servers": self.servers, "own": self.own}


def choose_design(
    experiment: Experiment, *, own: bool, disk: Path, blocking: str | None = None
) -> Design:
    """Slices if they can be had, unless the experiment wants runs.

    Args:
        own: the servers are contend's to start.
        disk: a folder on the disk that holds the servers' data.
        blocking: a script that needs threads of its own, which cannot hop from level to level.

    Raises:
        RequestError: the experiment insists on slices, and they cannot be had.
    """
    compare, compared = experiment.compare, experiment.compared
    if compare.layout is not None and not own:
        raise RequestError(
            f'compare.layout = "{compare.layout}" is of servers that contend starts, a process for '
            "each level",
            hint="Leave --server out to use private servers.",
        )
    if compare.layout == "matched" and (lacks := why_not_matched()) is not None:
        raise RequestError(
            f'compare.layout = "matched" cannot be had: this host lacks {lacks}',
            hint="Provide it, or leave compare.layout out.",
        )
    if compared is None or compare.by == "runs":
        return Design("runs", own=own)
    cells = list(cell_specs(experiment))
    why = _of_load(compared) or next(filter(None, map(_of_cell, cells)), None)
    if why is None and blocking is not None:
        why = f"the script {blocking} needs threads of its own, which cannot ask in turn"
    differs = differs_in(compared)
    if why is None and (differs is Differs.ROUTE or _share_server(experiment, cells)):
        # One server for all of them: each level reaches it by another route, or asks it otherwise.
        return Design("slices", own=own)
    servers = len(compared.levels)
    if why is None and (own or differs is not Differs.SERVERS):
        # One server for each level, or one for all of them.
        why = _no_room(servers, cells, disk) if own else NOT_OURS
        if why is not None and (switched := why_not_switched(experiment)) is not None:
            why = f"{why}, and {switched}"
        elif why is not None:
            return Design("slices", own=own)
    if why is None:
        return Design("slices", servers=servers, own=own)
    if compare.by == "slices":
        raise RequestError(
            f'compare.by = "slices" cannot be had: {why}',
            hint='Leave compare.by out, or write "runs": one level after the other.',
        )
    return Design("runs", why, own=own)


def _of_load(compared: Factor) -> str | None:
    if differs_in(compared) is not Differs.LOAD:
        return None
    return f"{compared.path} is a matter of the load, which all levels share in slices"


def differs_in(compared: Factor) -> Differs:
    """What is other at each level of a factor."""
    setting = resolve(compared.path).setting
    assert setting is not None, "a factor is a path into a cell"
    return setting.differs


def _share_server(experiment: Experiment, cells: Sequence[CellSpec]) -> bool:
    """Levels that ask otherwise, and change no rows, are compared on one server, if it has room for
    the connections of all of them."""
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
    """Why so many servers with their data cannot run side by side; None if they can."""
    needed = servers * (max(map(_memory_bytes, cells)) + SERVER_BYTES)
    available = host.memory_available_bytes()
    if needed > available:
        return (
            f"{servers} servers with their data take about {format_size(needed)} of memory, and "
            f"{format_size(available)} are available"
        )
    needed = servers * max(estimated_bytes(cell.data) for cell in cells)
    free = shutil.disk_usage(_existing(disk)).free
    if needed > free:
        return (
            f"{servers} copies of the data take about {format_size(needed)}, and "
            f"{format_size(free)} are free on the disk"
        )
    return None


def _of_cell(cell: CellSpec) -> str | None:
    for setting in SETTINGS:
        if (why := setting.why_not_in_slices(cell.values)) is not None:
            return why
    return None


def _memory_bytes(cell: CellSpec) -> int:
    """The tables in the page cache, and what the caches of the server hold of them."""
    tables = estimated_bytes(cell.data)
    options = {normal_name(name): as_text(value) for name, value in cell["server.options"].items()}
    sizes = (size_in_bytes(options.get(name, "")) or usual for name, usual in _CACHES.items())
    return tables + sum(min(size, tables) for size in sizes)


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)
