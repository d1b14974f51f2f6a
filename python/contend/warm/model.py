"""Tables, indexes, caches and the plan of a warm-up, as plain data; which storage engines have a
cache, what counts its misses, and what empties it. Sizes are bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from contend.servers.client import ANSWER_S

PRIMARY = "PRIMARY"
"""The clustered index of InnoDB, which holds the rows, whether the table has a primary key or not;
of other engines the index of that name."""

ROWS = "rows"
"""Of engines that keep the rows beside the indexes: the rows."""

KEYS = "keys"
"""Of the same engines: all indexes of a table, which are in one file."""

_SLOWEST = 1 << 20
"""Bytes a second that the slowest disk reads at least."""

FILES = "files"
"""In place of an engine: the page cache of the server's host, in which MyISAM's rows are."""


def within_s(size: int) -> float:
    """A statement that reads so many bytes hangs if it takes longer."""
    return ANSWER_S + size / _SLOWEST


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        type: as information_schema calls it, such as `bigint`.
        is_virtual: it is stored nowhere, and reading it computes it.
        is_nullable: it may be NULL.
        octets: bytes that a value of text may have at most; 0 for what is no text.
    """

    name: str
    type: str
    is_virtual: bool = False
    is_nullable: bool = False
    octets: int = 0


@dataclass(frozen=True, slots=True)
class Index:
    """An index that can be walked in order.

    Args:
        columns: the columns that it holds whole, in its order; a prefix or an expression is None.
        size: bytes, inner pages too.
    """

    name: str
    columns: tuple[str | None, ...]
    size: int


@dataclass(frozen=True, slots=True)
class WarmTable:
    """A table that can be warmed.

    Args:
        rows_size: bytes of the rows if they are kept beside the indexes; of an InnoDB table 0,
            its rows are in the index `PRIMARY`.
        has_primary: the index `PRIMARY` can be named in a statement.
    """

    database: str
    name: str
    engine: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...]
    rows_size: int = 0
    has_primary: bool = True

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def index(self, name: str) -> Index | None:
        return next((index for index in self.indexes if index.name == name), None)


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache of the server.

    Args:
        engine: in small letters, with the name of a key cache behind it if it has one; or
            `FILES`.
        used: what is in it now; None if the server does not say.
        kept_free: what the server evicts at once from a cache that is full.
    """

    engine: str
    name: str
    size: int
    used: int | None
    page: int
    kept_free: int = 0


@dataclass(frozen=True, slots=True)
class Survey:
    """What a server has.

    Args:
        passed_over: what cannot be, as `db.name`, with the reason.
        notices: what the server did not let us see, and what that means.
    """

    kind: str
    version: str
    tables: tuple[WarmTable, ...]
    caches: tuple[Cache, ...]
    passed_over: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()

    def cache(self, engine: str) -> Cache | None:
        return next((cache for cache in self.caches if cache.engine == engine.lower()), None)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to load: an index, or the rows or all indexes of a table.

    Args:
        part: the index, or `ROWS` or `KEYS`.
        take: bytes that are to be loaded: less than the size if the cache holds no more.
        reads: how often it was read, if a server said so.
        key_cache: the named key cache that it is given to; None: the one it is in.
    """

    table: WarmTable
    part: str
    size: int
    take: int
    reads: int | None = None
    key_cache: str | None = None

    def __str__(self) -> str:
        return f"{self.table}.{self.part}"

    @property
    def cache(self) -> str:
        """The engine of the cache that holds it; `FILES` for rows that the engine does not hold."""
        engine = self.table.engine.lower()
        if self.key_cache is not None:
            return f"{engine} {self.key_cache}"
        return FILES if engine == "myisam" and self.part == ROWS else engine


@dataclass(frozen=True, slots=True)
class Skipped:
    """What is not loaded, and why."""

    name: str
    size: int | None
    why: str


@dataclass(frozen=True, slots=True)
class WarmPlan:
    """What a warm-up loads, in this order.

    Args:
        ordered_by: what the order goes by, in words.
    """

    items: tuple[Item, ...]
    caches: tuple[Cache, ...]
    left_out: tuple[Skipped, ...] = ()
    notices: tuple[str, ...] = ()
    ordered_by: str = ""

    @property
    def size(self) -> int:
        return sum(item.take for item in self.items)

    def of(self, cache: Cache) -> Iterator[Item]:
        """The items that go to this cache."""
        return (item for item in self.items if item.cache == cache.engine)


@dataclass(frozen=True, slots=True)
class EngineCache:
    """A storage engine with a cache of its own.

    Args:
        requests: the status counter of pages that are asked of the cache; None: there is none.
        misses: that of pages which it had to read from a file.
        options: how the names of the options begin whose change empties the cache.
    """

    requests: str | None
    misses: str
    options: str


ENGINES: Mapping[str, EngineCache] = {
    "innodb": EngineCache(
        "Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_reads", "innodb_buffer_pool_"
    ),
    "myisam": EngineCache("Key_read_requests", "Key_reads", "key_"),
    "aria": EngineCache("Aria_pagecache_read_requests", "Aria_pagecache_reads", "aria_pagecache_"),
    "rocksdb": EngineCache(None, "Rocksdb_block_cache_data_miss", "rocksdb_block_cache"),
}
"""By their names in small letters."""


def disturbs(engine: str, changed: Iterable[str]) -> bool:
    """Whether a change of these options empties the cache of an engine."""
    known = ENGINES.get(engine.lower())
    return known is not None and any(name.startswith(known.options) for name in changed)
