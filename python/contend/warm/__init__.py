"""Filling the caches before a measurement. An engine is one entry of `WARMERS`.

Engines that keep rows and indexes in a cache of their own are scanned, once by rows and once by
each index. Others have a statement that loads an index into their cache: MyISAM keeps only index
blocks in the key cache, and its rows come through the page cache of the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from contend.host import page_cache
from contend.units import format_size
from contend.warm.table import (
    load_index,
    read_files,
    read_rows,
    scan_rows,
    scan_rows_and_indexes,
    table_size,
    variable,
)

if TYPE_CHECKING:
    from pymysql.connections import Connection

__all__ = [
    "WARMERS",
    "Table",
    "Warmed",
    "Warmer",
    "disturbs",
    "read_files",
    "read_rows",
    "warmer_of",
]


@dataclass(frozen=True, slots=True)
class Table:
    """The table to warm. `data_folder` is None if the server's files cannot be read."""

    database: str
    name: str
    data_folder: Path | None


@dataclass(frozen=True, slots=True)
class Warmed:
    """What is warm now.

    Args:
        cache: all that the queries touch fits the server's cache and is in it.
        why_not: the reason if it is not.
    """

    cache: bool
    why_not: str | None = None


class Warmer(Protocol):
    """How one engine's cache is filled."""

    @property
    def counter(self) -> str:
        """The status counter of reads that missed the cache."""
        ...

    @property
    def options(self) -> tuple[str, ...]:
        """How the names of the options begin whose change empties the cache."""
        ...

    def warm_files(self, table: Table) -> bool:
        """Read the table's files into the page cache if the engine relies on it; True if all
        of them are there now."""
        ...

    def warm(self, connection: Connection[Any], tables: Sequence[Table]) -> Warmed:
        """Fill the server's cache with all of the tables."""
        ...

    def refill(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """Statements that fill the cache with these tables again within moments, from files that
        are in the page cache; None if there are none."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedIndex:
    """LOAD INDEX INTO CACHE, after the files are in the page cache.

    Args:
        counter: see `Warmer`.
        options: see `Warmer`.
        size: the variable with the size of the cache.
        endings: of the table's files.
        holds_rows: the cache holds rows too, so a scan of them is part of warming.
    """

    counter: str
    options: tuple[str, ...]
    size: str
    endings: tuple[str, ...]
    holds_rows: bool

    def warm_files(self, table: Table) -> bool:
        if table.data_folder is None:
            return False
        folder = table.data_folder / table.database
        paths = [folder / f"{table.name}{ending}" for ending in self.endings]
        return sum(map(_missing_bytes, paths)) == 0

    def warm(self, connection: Connection[Any], tables: Sequence[Table]) -> Warmed:
        needed = 0
        for table in tables:
            load_index(connection, table.database, table.name)
            if self.holds_rows:
                scan_rows(connection, table.database, table.name)
            rows, index = table_size(connection, table.database, table.name)
            needed += rows + index if self.holds_rows else index
        room = variable(connection, self.size)
        if needed <= room:
            return Warmed(cache=True)
        return Warmed(
            cache=False,
            why_not=f"{format_size(needed)} do not fit in {self.size} = {format_size(room)}",
        )

    def refill(self, names: Sequence[str]) -> tuple[str, ...] | None:
        if self.holds_rows:
            return None
        return tuple(f"LOAD INDEX INTO CACHE `{name}`" for name in names)


def _missing_bytes(path: Path) -> int:
    """Bytes of the file that are not in the page cache although it was read."""
    size = path.stat().st_size
    if page_cache.resident_bytes(path) >= size:
        return 0
    return size - page_cache.warm(path)


@dataclass(frozen=True, slots=True)
class Scanned:
    """One pass over the rows, one over each other index. See `Warmer` for counter and options."""

    counter: str
    options: tuple[str, ...]
    size: str

    def warm_files(self, table: Table) -> bool:  # noqa: ARG002
        return False

    def warm(self, connection: Connection[Any], tables: Sequence[Table]) -> Warmed:
        needed = sum(sum(table_size(connection, one.database, one.name)) for one in tables)
        room = variable(connection, self.size)
        if needed > room:
            # A scan of more than fits would leave only its last part in the cache.
            return Warmed(
                cache=False,
                why_not=f"{format_size(needed)} do not fit in {self.size} = {format_size(room)}",
            )
        for table in tables:
            scan_rows_and_indexes(connection, table.database, table.name)
        return Warmed(cache=True)

    def refill(self, names: Sequence[str]) -> tuple[str, ...] | None:  # noqa: ARG002
        return None


WARMERS: Mapping[str, Warmer] = {
    "myisam": LoadedIndex(
        counter="Key_reads",
        options=("key_",),
        size="key_buffer_size",
        endings=(".MYD", ".MYI"),
        holds_rows=False,
    ),
    "aria": LoadedIndex(
        counter="Aria_pagecache_reads",
        options=("aria_pagecache_",),
        size="aria_pagecache_buffer_size",
        endings=(".MAD", ".MAI"),
        holds_rows=True,
    ),
    "innodb": Scanned(
        counter="Innodb_buffer_pool_reads",
        options=("innodb_buffer_pool_",),
        size="innodb_buffer_pool_size",
    ),
    "rocksdb": Scanned(
        counter="Rocksdb_block_cache_data_miss",
        options=("rocksdb_block_cache",),
        size="rocksdb_block_cache_size",
    ),
}


def warmer_of(engine: str) -> Warmer | None:
    """The warmer of an engine, or None if there is nothing to warm."""
    return WARMERS.get(engine.lower())


def disturbs(warmer: Warmer, changed: Iterable[str]) -> bool:
    """Whether a change of these options empties the cache."""
    return any(name.startswith(warmer.options) for name in changed)
