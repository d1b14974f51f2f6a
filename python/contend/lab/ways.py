"""How levels are compared: in slices, or as runs of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contend import host
from contend.datasets import estimated_bytes
from contend.errors import RequestError
from contend.servers.options import as_text, normal_name, size_in_bytes
from contend.settings.warm import COLD
from contend.spec import SCRIPT, SCRIPT_SCHEMA, CellSpec, Experiment, cell_specs
from contend.units import format_size

FACT = "way"
"""Where the facts of a session keep it."""

SERVER_BYTES = 200 << 20
"""What a server takes beside the caches of its tables."""

_CACHES = {
    "key_buffer_size": 128 << 20,
    "aria_pagecache_buffer_size": 128 << 20,
    "innodb_buffer_pool_size": 128 << 20,
}
"""Options that size a server's caches, with what a server takes if nobody says."""

_OF_THE_LOAD = ("load.", "workload")


@dataclass(frozen=True, slots=True)
class Way:
    """`why` says why levels are not compared in slices; empty if they are, or if nothing is
    compared."""

    by: Literal["slices", "runs"]
    why: str = ""

    @property
    def in_slices(self) -> bool:
        return self.by == "slices"


def choose_way(experiment: Experiment, *, own: bool, disk: Path) -> Way:
    """Slices if they can be had, unless the experiment wants runs.

    Args:
        own: the servers are contend's to start.
        disk: a folder on the disk that holds the servers' data.

    Raises:
        RequestError: the experiment insists on slices, and they cannot be had.
    """
    wanted = experiment.compare.by
    if experiment.compared is None or wanted == "runs":
        return Way("runs")
    why = next(_obstacles(experiment, own=own, disk=disk), None)
    if why is None:
        return Way("slices")
    if wanted == "slices":
        raise RequestError(
            f'compare.by = "slices" cannot be had: {why}',
            hint='Leave compare.by out, or write "runs": one level after the other.',
        )
    return Way("runs", why)


def _obstacles(experiment: Experiment, *, own: bool, disk: Path) -> Iterator[str]:
    """What keeps the levels from being asked in slices, cheap questions first."""
    compared = experiment.compared
    assert compared is not None
    if compared.path.startswith(_OF_THE_LOAD):
        yield f"{compared.path} is a matter of the load, which all levels share in slices"
    if not own:
        yield "the server is not contend's own, and slices take one for each level"
    cells = list(cell_specs(experiment))
    for cell in cells:
        yield from _of_cell(cell)
    servers = len(compared.levels)
    needed = servers * (max(map(_memory_bytes, cells)) + SERVER_BYTES)
    available = host.memory_available_bytes()
    if needed > available:
        yield (
            f"{servers} servers with their data take about {format_size(needed)} of memory, and "
            f"{format_size(available)} are available"
        )
    needed = servers * max(estimated_bytes(cell.data) for cell in cells)
    free = shutil.disk_usage(_existing(disk)).free
    if needed > free:
        yield (
            f"{servers} copies of the data take about {format_size(needed)}, and "
            f"{format_size(free)} are free on the disk"
        )


def _of_cell(cell: CellSpec) -> Iterator[str]:
    if cell.workload.kind == SCRIPT or cell.data.schema == SCRIPT_SCHEMA:
        yield "a script asks one server at a time"
    if cell["server.warm"] == COLD:
        yield f'server.warm = "{COLD}" takes a restart before each measurement'
    if cell["load.events"] is not None or cell["load.events_each"] is not None:
        yield "a run of a fixed number of events cannot be cut into slices (load.events)"
    stages = cell["load.arrival"].get("stages") or ()
    if len(stages) > 1 or any(one.get("end_rate") is not None for one in stages):
        yield "a rate that changes cannot be cut into slices (load.arrival.stages)"


def _memory_bytes(cell: CellSpec) -> int:
    """The tables in the page cache, and what the caches of the server hold of them."""
    tables = estimated_bytes(cell.data)
    options = {normal_name(name): as_text(value) for name, value in cell["server.options"].items()}
    sizes = (size_in_bytes(options.get(name, "")) or usual for name, usual in _CACHES.items())
    return tables + sum(min(size, tables) for size in sizes)


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)
