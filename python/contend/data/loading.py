"""Requirements of loading data: a storage engine, options for fast loading, disk space; and how
progress is reported."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from contend.errors import RequestError, WorkError
from contend.experiment import DataSpec, Level
from contend.servers import ServerBinary
from contend.servers.kinds import KINDS
from contend.units import format_count, format_size

_MIB = 1024 * 1024


class EngineMissing(RequestError):
    """The server does not have the storage engine."""


class LoadingDeclined(RequestError):
    """The user did not agree to load rows into a server that is not contend's own."""


class LoadingFailed(WorkError):
    """A dataset could not be loaded; no part of it was kept."""


class NoRoomForDataset(WorkError):
    """The disk has no space for a dataset; no part of it was kept."""


PLUGINS: Mapping[str, str] = {"rocksdb": "ha_rocksdb"}
"""Engines that come as a plugin, and the plugin's file."""

PACKAGES: Mapping[str, str] = {"rocksdb": "mariadb+rocksdb"}
"""Arguments of `contend server get` for such an engine."""

BYTES_PER_ROW: Mapping[str, int] = {"myisam": 215, "aria": 260, "innodb": 250, "rocksdb": 230}
"""Rows and indexes of the schema `sbtest` on disk, rounded up."""

BYTES_PER_INDEX_ROW = 32
FIXED_BYTES = 300 * _MIB
"""Size of an empty data folder with its logs, rounded up."""


def engine_options(engine: str) -> dict[str, Level]:
    """Server options that the server needs to have the engine."""
    plugin = PLUGINS.get(engine.lower())
    return {"plugin_load_add": plugin} if plugin else {}


def require_engine(binary: ServerBinary, engine: str) -> None:
    """Refuse an engine if the server comes without its plugin."""
    plugin = PLUGINS.get(engine.lower())
    if plugin is None:
        return
    if binary.plugin_dir is None or not (binary.plugin_dir / f"{plugin}.so").exists():
        raise EngineMissing(
            f"{binary.name} has no storage engine {engine}: its plugin {plugin} is missing",
            hint=f"`contend server get {PACKAGES[engine.lower()]}` downloads a server that has it.",
        )


def estimated_bytes(data: DataSpec) -> int:
    """Approximate disk space of a data folder with the tables."""
    row_bytes = data.known.row_bytes or BYTES_PER_ROW.get(data.engine.lower(), 300)
    return FIXED_BYTES + data.rows_in_all * row_bytes


STOPS_CLEANLY: Mapping[str, Level] = {
    "innodb_fast_shutdown": 0,
    "innodb_buffer_pool_dump_at_shutdown": 0,
}
"""A copy of a data folder from such a server has no pending work, and no list of hot pages."""


def loading_options(kind: str, data: DataSpec) -> dict[str, Level]:
    """Options of a server that only loads: no durability before the clean stop, room to sort the
    keys in memory, and a slow stop that leaves no pending work."""
    index_bytes = _clamped(data.rows_in_all * BYTES_PER_INDEX_ROW, 16 * _MIB, 2048 * _MIB)
    pool_bytes = _clamped(data.rows_in_all * BYTES_PER_ROW["innodb"] // 2, 64 * _MIB, 2048 * _MIB)
    options: dict[str, Level] = {
        **STOPS_CLEANLY,
        "innodb_flush_log_at_trx_commit": 0,
        "innodb_doublewrite": 0,
        "innodb_buffer_pool_size": pool_bytes,
        "key_buffer_size": index_bytes,
        "myisam_sort_buffer_size": index_bytes,
        "performance_schema": 0,
        "skip_log_bin": True,
    }
    caches = dict.fromkeys(KINDS[kind].index_caches, index_bytes)
    return options | caches | engine_options(data.engine)


def describe(data: DataSpec) -> str:
    """`1M rows (MyISAM)`, or `tpcc, 10 warehouses (InnoDB)`, for people."""
    if data.known.tables:
        count, unit = data.size
        return f"{data.schema}, {format_count(count)} {unit} ({data.engine})"
    tables = f" in each of {data.tables} tables" if (data.tables or 1) > 1 else ""
    return f"{format_count(data.rows)} rows{tables} ({data.engine})"


def _clamped(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


DISK_FULL_CODES = frozenset({1021, 1114})
"""Error codes of servers and contend-load for a full disk."""

ROOM_HINT = "Free disk space there, or set XDG_CACHE_HOME to a folder on a larger disk."


def require_room(folder: Path, needed: int, label: str) -> None:
    """Refuse a load that cannot fit on the disk."""
    free = free_bytes(folder)
    if free < needed:
        raise NoRoomForDataset(
            f"{label} need about {format_size(needed)} under {folder}, but only "
            f"{format_size(free)} is free",
            hint=ROOM_HINT,
        )


def free_bytes(folder: Path) -> int:
    """Free space on the disk that holds a folder, or will hold it."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


class Tell(Protocol):
    """Receives notices and progress."""

    def notice(self, text: str) -> None:
        """Report something that the user should know; not an error."""
        ...

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        """`done` of `total` rows or bytes; the last call has both equal."""
        ...


class FillProgress:
    """Passes on a fill's progress; reports once that rows are loaded and keys are not."""

    def __init__(self, tell: Tell, data: DataSpec) -> None:
        self._tell = tell
        self._data = data
        self._phase = ""

    def __call__(self, phase: str, rows: int, total: int) -> None:
        self._tell.progress(f"loading {describe(self._data)}", rows, total, "rows")
        if phase == "keys" != self._phase:
            self._tell.notice(f"building the keys of {describe(self._data)}")
        self._phase = phase
