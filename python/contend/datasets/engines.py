"""Storage engines: what a server needs to have one, what loads fast, how much room a row takes."""

from __future__ import annotations

from collections.abc import Mapping

from contend.datasets.errors import EngineMissing
from contend.servers import ServerBinary
from contend.spec import DataSpec, Level
from contend.units import format_count

_MIB = 1024 * 1024

PLUGINS: Mapping[str, str] = {"rocksdb": "ha_rocksdb"}
"""Engines that are a plugin, and its file."""

PACKAGES: Mapping[str, str] = {"rocksdb": "mariadb+rocksdb"}
"""What `contend server get` takes to have such an engine."""

BYTES_PER_ROW: Mapping[str, int] = {"myisam": 215, "aria": 260, "innodb": 250, "rocksdb": 230}
"""Rows and indexes of the schema `sbtest` on disk, rounded up."""

BYTES_PER_INDEX_ROW = 32
FIXED_BYTES = 300 * _MIB
"""What an empty data folder with its logs takes, rounded up."""


def engine_options(engine: str) -> dict[str, Level]:
    """Server options without which the server does not have the engine."""
    plugin = PLUGINS.get(engine.lower())
    return {"plugin_load_add": plugin} if plugin else {}


def require_engine(binary: ServerBinary, engine: str) -> None:
    """Refuse an engine whose plugin the server does not come with."""
    plugin = PLUGINS.get(engine.lower())
    if plugin is None:
        return
    if binary.plugin_dir is None or not (binary.plugin_dir / f"{plugin}.so").exists():
        raise EngineMissing(
            f"{binary.name} has no storage engine {engine}: its plugin {plugin} is missing",
            hint=f"`contend server get {PACKAGES[engine.lower()]}` gets a server that has it.",
        )


def estimated_bytes(data: DataSpec) -> int:
    """About how much disk a data folder with the table takes."""
    return FIXED_BYTES + data.rows_in_all * BYTES_PER_ROW.get(data.engine.lower(), 300)


def loading_options(kind: str, data: DataSpec) -> dict[str, Level]:
    """Options of a server that does nothing but load: no durability before the clean stop, room
    to sort the keys in memory, and a slow stop that leaves nothing to be done later."""
    index_bytes = _clamped(data.rows_in_all * BYTES_PER_INDEX_ROW, 16 * _MIB, 2048 * _MIB)
    pool_bytes = _clamped(data.rows_in_all * BYTES_PER_ROW["innodb"] // 2, 64 * _MIB, 2048 * _MIB)
    options: dict[str, Level] = {
        "local_infile": 1,
        "innodb_fast_shutdown": 0,
        "innodb_flush_log_at_trx_commit": 0,
        "innodb_doublewrite": 0,
        "innodb_buffer_pool_dump_at_shutdown": 0,
        "innodb_buffer_pool_size": pool_bytes,
        "key_buffer_size": index_bytes,
        "myisam_sort_buffer_size": index_bytes,
        "performance_schema": 0,
        "skip_log_bin": True,
    }
    if kind == "mariadb":
        options |= {
            "aria_pagecache_buffer_size": index_bytes,
            "aria_sort_buffer_size": index_bytes,
        }
    return options | engine_options(data.engine)


def describe(data: DataSpec) -> str:
    """`1M rows (MyISAM)`, for people."""
    tables = f" in each of {data.tables} tables" if (data.tables or 1) > 1 else ""
    return f"{format_count(data.rows)} rows{tables} ({data.engine})"


def _clamped(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
