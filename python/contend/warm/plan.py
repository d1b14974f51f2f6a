"""The parts of a server that can be warmed, as plain data, and the plan: the items to load, in
order, and those that do not fit. Sizes are bytes. No effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from contend.errors import RequestError, did_you_mean
from contend.units import format_size

PRIMARY = "PRIMARY"
"""InnoDB's clustered index, which holds the rows, with or without a primary key; in other engines,
the index of that name."""

ROWS, KEYS = "rows", "keys"
"""For engines that keep rows and indexes apart: the rows; all indexes of a table, which share one
file."""

FILES = "files"
"""Used as an engine: the page cache of the server's host, which holds MyISAM's rows."""

WHOLE_NUMBERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})

USABLE = 0.95
"""Share of a cache that a warm-up fills. The rest is for the server's own pages: filling the whole
cache would evict the pages loaded first."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        type: the name in information_schema, such as `bigint`.
        is_virtual: it is not stored; reading it computes it.
        octets: maximum bytes of a text value; 0 if the column is not text.
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
        columns: its columns in order; None for a prefix or an expression.
        size: includes inner pages.
    """

    name: str
    columns: tuple[str | None, ...]
    size: int


@dataclass(frozen=True, slots=True)
class WarmTable:
    """A table that can be warmed.

    Args:
        rows_size: size of the rows if they are stored apart from the indexes; 0 for InnoDB, whose
            rows are in the index `PRIMARY`.
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

    def index(self, name: str) -> Index | None:
        return next((index for index in self.indexes if index.name == name), None)

    def leads(self, index: Index | None) -> Column | None:
        """The first column of an index, if the index holds it whole."""
        name = next(iter(index.columns), None) if index is not None else None
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache of the server.

    Args:
        engine: in lower case, or `FILES`.
        used: bytes in it now; None if the server does not report it.
        kept_free: bytes that the server evicts at once from a full cache.
    """

    engine: str
    name: str
    size: int
    used: int | None
    page: int
    kept_free: int = 0

    @property
    def room(self) -> int:
        """Bytes that a warm-up may fill."""
        return max(0, min(int(self.size * USABLE), self.size - self.kept_free))

    @property
    def capacity(self) -> str:
        """The size as text."""
        size = format_size(self.size)
        if not self.kept_free:
            return size
        return f"{size}, {format_size(self.kept_free)} of it kept free by the server"


@dataclass(frozen=True, slots=True)
class Survey:
    """The tables and caches of a server.

    Args:
        passed_over: items that cannot be warmed, as `db.name`, with the reason.
        notices: information that the server withheld, and the consequences.
    """

    kind: str
    version: str
    tables: tuple[WarmTable, ...]
    caches: tuple[Cache, ...]
    passed_over: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()

    def cache(self, engine: str) -> Cache | None:
        return next((cache for cache in self.caches if cache.engine == engine), None)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to load: an index, or the rows or all indexes of a table.

    Args:
        part: the index, or `ROWS` or `KEYS`.
        take: bytes to load: less than the size if the cache cannot hold more.
    """

    table: WarmTable
    part: str
    size: int
    take: int

    def __str__(self) -> str:
        return f"{self.table}.{self.part}"

    @property
    def cache(self) -> str:
        """The engine of its cache; `FILES` for rows that the engine does not cache."""
        engine = self.table.engine.lower()
        return FILES if engine == "myisam" and self.part == ROWS else engine


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that is not loaded, with the reason."""

    name: str
    size: int | None
    why: str


@dataclass(frozen=True, slots=True)
class WarmPlan:
    """The items that a warm-up loads, in this order."""

    items: tuple[Item, ...]
    caches: tuple[Cache, ...]
    left_out: tuple[Skipped, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(item.take for item in self.items)

    def of(self, cache: Cache) -> Iterator[Item]:
        """The items that go to this cache."""
        return (item for item in self.items if item.cache == cache.engine)


def make_plan(survey: Survey, *, database: str | None = None, only: Sequence[str] = ()) -> WarmPlan:
    """The plan of a warm-up: the smallest items first, so that most tables are completely warm.

    Args:
        database: default for names without one.
        only: `table`, `db.table` or `db.table.index`; nothing else is loaded, in this order.

    Raises:
        RequestError: a name in `only` does not exist, or cannot be warmed.
    """
    items = [item for table in survey.tables for item in _items(table)]
    left_out = [Skipped(name, None, why) for name, why in survey.passed_over]
    if only:
        items, left_out = _named(items, only, database, survey), []
    else:
        items.sort(key=lambda item: (item.size, str(item)))
    taken, too_large = _fit(items, survey.caches)
    return WarmPlan(tuple(taken), survey.caches, tuple(too_large + left_out), survey.notices)


def _items(table: WarmTable) -> Iterator[Item]:
    if table.index(PRIMARY) is not None and not table.rows_size:
        for index in table.indexes:
            yield Item(table, index.name, index.size, index.size)
        return
    for part, size in (KEYS, sum(index.size for index in table.indexes)), (ROWS, table.rows_size):
        if size:
            yield Item(table, part, size, size)


def _named(
    items: Sequence[Item], names: Iterable[str], database: str | None, survey: Survey
) -> list[Item]:
    chosen: dict[Item, None] = {}
    for name in names:
        whole = (
            name if database is None or name.startswith(f"{database}.") else f"{database}.{name}"
        )
        # A table may have the name of its database.
        possible = {name, whole, f"{database}.{name}"}
        matching = [item for item in items if possible & {str(item.table), str(item)}]
        if not matching:
            raise _unknown(name, whole, items, survey)
        chosen |= dict.fromkeys(matching)
    return list(chosen)


def _unknown(name: str, whole: str, items: Sequence[Item], survey: Survey) -> RequestError:
    why = dict(survey.passed_over).get(whole)
    if why is not None:
        return RequestError(f"{name} cannot be warmed: {why}.")
    hint = "Write database.table, or name the database in the DSN." if "." not in whole else None
    known = {str(item.table) for item in items} | {str(item) for item in items}
    return RequestError(
        f"the server has no table or index {name}, or this user may not see it.",
        hint=hint or did_you_mean(whole, sorted(known)),
    )


def _fit(items: Iterable[Item], caches: Iterable[Cache]) -> tuple[list[Item], list[Skipped]]:
    """The items that fit; the last one of a cache may be loaded in part."""
    named = {cache.engine: cache for cache in caches}
    room = {engine: cache.room for engine, cache in named.items()}
    taken, left_out = [], []
    for item in items:
        cache = named.get(item.cache)
        if cache is None:
            why = "the server's host caches its rows, and its memory is unknown here"
            left_out.append(Skipped(str(item), item.size, why))
            continue
        left = room[item.cache]
        if item.size <= left:
            taken.append(item)
            room[item.cache] = left - item.size
        elif _in_parts(item) and left >= cache.page:
            taken.append(replace(item, take=left))
            why = f"{cache.name} is too small for the rest ({cache.capacity})"
            left_out.append(Skipped(f"{item}, the lower keys", item.size - left, why))
            room[item.cache] = 0
        else:
            fits = item.size <= cache.room
            why = "earlier items fill" if fits else "it does not fit in"
            left_out.append(Skipped(str(item), item.size, f"{why} {cache.name} ({cache.capacity})"))
    return taken, left_out


def _in_parts(item: Item) -> bool:
    """Whether a part can be loaded alone: the end of a key, where the newest rows are."""
    column = item.table.leads(item.table.index(item.part))
    return column is not None and column.type in WHOLE_NUMBERS


MISSES = {
    "innodb": "Innodb_buffer_pool_reads",
    "myisam": "Key_reads",
    "aria": "Aria_pagecache_reads",
    "rocksdb": "Rocksdb_block_cache_data_miss",
}
"""Storage engine, in lower case -> the status counter of its cache's page misses."""

_OPTIONS = {
    "innodb": "innodb_buffer_pool_",
    "myisam": "key_",
    "aria": "aria_pagecache_",
    "rocksdb": "rocksdb_block_cache",
}
"""Storage engine -> prefixes of the options that empty its cache when changed."""


def disturbs(engine: str, changed: Iterable[str]) -> bool:
    """Whether a change of these options empties the cache of an engine."""
    prefix = _OPTIONS.get(engine.lower())
    return prefix is not None and any(name.startswith(prefix) for name in changed)
