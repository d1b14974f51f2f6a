"""What is loaded, in which order, and what does not fit. No effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from contend.errors import RequestError, did_you_mean
from contend.units import format_size
from contend.warm.model import (
    KEYS,
    PRIMARY,
    ROWS,
    Cache,
    Item,
    Skipped,
    Survey,
    WarmPlan,
    WarmTable,
)
from contend.warm.tablespaces import CLUSTERED_WITHOUT_KEY

if TYPE_CHECKING:
    from contend.warm.transfer import Share


USABLE = 0.95
"""Share of a cache that a warm-up fills. The rest is for pages of the server's own; a warm-up that
filled it whole would evict what it loaded first."""

Reads = Mapping[tuple[str, str, str], int]
"""(database, table, index) -> how often it was read; the index is `PRIMARY` for the rows."""


def make_plan(
    survey: Survey,
    *,
    database: str | None = None,
    only: Sequence[str] = (),
    first: Sequence[str] = (),
    reads: Reads | None = None,
    key_caches: Mapping[str, Cache] | None = None,
) -> WarmPlan:
    """The plan of a warm-up.

    Args:
        database: of names that have none.
        only: `table`, `db.table` or `db.table.index`; nothing else is loaded, in this order.
        first: names that come before all others, in this order; one that is not there is noted.
        reads: how often each index was read somewhere; what is read most for its size comes
            first. None: what is smallest comes first, so that most tables are warm as a whole.
        key_caches: table, as `db.table` -> the named key cache that its indexes are given to.

    Raises:
        RequestError: `only` names what is not there, or cannot be warmed.
    """
    named = dict(key_caches or {})
    items = [item for table in survey.tables for item in _items(table, reads, named)]
    lost = named.keys() - {str(item.table) for item in items if item.key_cache is not None}
    if lost:
        raise RequestError(f"{min(lost)} is not a MyISAM table with an index.")
    caches = (*survey.caches, *dict.fromkeys(named.values()))
    notices = list(survey.notices)
    left_out = [Skipped(name, None, why) for name, why in survey.passed_over]
    if only:
        items = _named(items, only, database, survey)
        left_out = []
        order = "as named"
    else:
        items.sort(key=_hottest if reads else _smallest)
        order = "reads for their size" if reads else "the smallest first"
        chosen, unknown = _first(items, first, database)
        notices += [f"there is no {name} to load first" for name in unknown]
        items = chosen + [item for item in items if item not in chosen]
        order = f"the named first, then {order}" if chosen else order
    taken, too_large = _fit(items, caches)
    return WarmPlan(tuple(taken), caches, tuple(too_large + left_out), tuple(notices), order)


def _items(table: WarmTable, reads: Reads | None, named: Mapping[str, Cache]) -> list[Item]:
    """What can be loaded of a table. The rows come first: if there is an index that holds them, it
    gives the others the places at which to cut."""
    if table.index(PRIMARY) is not None and not table.rows_size:
        return [
            Item(table, index.name, index.size, index.size, _reads(table, index.name, reads))
            for index in table.indexes
        ]
    keys = sum(index.size for index in table.indexes)
    cache = named.get(str(table)) if table.engine.lower() == "myisam" else None
    key_cache = None if cache is None else cache.engine.partition(" ")[2]
    counted = _reads(table, None, reads)
    items_of_table = [Item(table, KEYS, keys, keys, counted, key_cache)] if keys else []
    if table.rows_size:
        items_of_table.append(Item(table, ROWS, table.rows_size, table.rows_size, counted))
    return items_of_table


def _reads(table: WarmTable, index: str | None, reads: Reads | None) -> int | None:
    if reads is None:
        return None
    if index is None:
        return sum(
            count for (schema, name, _), count in reads.items()
            if (schema, name) == (table.database, table.name)
        )  # fmt: skip
    count = reads.get((table.database, table.name, index), 0)
    if index == PRIMARY:
        # A query that walks another index mostly wants the row as well, and only that one counts.
        others = (reads.get((table.database, table.name, index.name), 0) for index in table.indexes)
        return max(count, *others)
    return count


def _hottest(item: Item) -> tuple[float, int]:
    return -((item.reads or 0) / max(1, item.size)), item.size


def _smallest(item: Item) -> tuple[int, str]:
    return item.size, str(item)


def _matches(item: Item, name: str, database: str | None) -> bool:
    names = [str(item.table), str(item)]
    if database is not None and item.table.database == database:
        names += [item.table.name, f"{item.table.name}.{item.part}"]
    return name in names


def _named(
    items: Sequence[Item], names: Sequence[str], database: str | None, survey: Survey
) -> list[Item]:
    chosen, unknown = _first(items, names, database)
    if unknown:
        raise _unknown(unknown[0], items, database, survey)
    return chosen


def _unknown(
    name: str, items: Sequence[Item], database: str | None, survey: Survey
) -> RequestError:
    whole = name if database is None or name.startswith(f"{database}.") else f"{database}.{name}"
    why = dict(survey.passed_over).get(whole)
    if why is not None:
        return RequestError(f"{name} cannot be warmed: {why}.")
    hint = None
    if "." not in name and database is None:
        hint = "Write database.table, or name the database in the DSN."
    known = {str(item.table) for item in items} | {str(item) for item in items}
    return RequestError(
        f"the server has no table or index {name}, or this user may not see it.",
        hint=hint or did_you_mean(whole, sorted(known)),
    )


def _first(
    items: Sequence[Item], names: Iterable[str], database: str | None
) -> tuple[list[Item], list[str]]:
    chosen: list[Item] = []
    unknown = []
    for name in names:
        matching = [item for item in items if _matches(item, name, database)]
        if not matching:
            unknown.append(name)
        chosen += [item for item in matching if item not in chosen]
    return chosen, unknown


def _fit(items: Iterable[Item], caches: Iterable[Cache]) -> tuple[list[Item], list[Skipped]]:
    """The items for which there is room, the last of a cache as far as it fits."""
    room = {cache.engine: _room(cache) for cache in caches}
    names = {cache.engine: cache for cache in caches}
    taken, left_out = [], []
    for item in items:
        left = room.get(item.cache)
        if left is None:
            left_out.append(Skipped(str(item), item.size, _NO_MEMORY))
            continue
        cache = names[item.cache]
        if item.size <= left:
            taken.append(item)
            room[item.cache] = left - item.size
        elif _in_parts(item) and left >= cache.page:
            taken.append(replace(item, take=left))
            why = f"{cache.name} has no room for the rest ({_size(cache)})"
            left_out.append(Skipped(f"{item}, the lower keys", item.size - left, why))
            room[item.cache] = 0
        else:
            why = f"it does not fit in {cache.name} ({_size(cache)})"
            if item.size <= _room(cache):
                why = f"what comes first fills {cache.name} ({_size(cache)})"
            left_out.append(Skipped(str(item), item.size, why))
    return taken, left_out


def _room(cache: Cache) -> int:
    """Bytes of a cache that are filled."""
    return max(0, min(int(cache.size * USABLE), cache.size - cache.kept_free))


def _size(cache: Cache) -> str:
    size = format_size(cache.size)
    if not cache.kept_free:
        return size
    return f"{size}, of which the server keeps {format_size(cache.kept_free)} free"


_NO_MEMORY = "the server's host caches its rows, and how much memory it has is not known here"


def _in_parts(item: Item) -> bool:
    """A part of it can be loaded alone: the end of a key, where the newest rows are."""
    first = next((index.columns[:1] for index in item.table.indexes if index.name == item.part), ())
    column = item.table.column(first[0]) if first and first[0] is not None else None
    return column is not None and column.type in WHOLE_NUMBERS


WHOLE_NUMBERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})


def plan_of_shares(survey: Survey, shares: Sequence[Share]) -> WarmPlan:
    """The plan that loads so much of each index.

    Args:
        survey: of the server to warm. What it does not have is left out.
        shares: of a partitioned table there may be several of an index; the largest counts.
    """
    largest: dict[tuple[str, str], float] = {}
    for held in shares:
        key = held.table, PRIMARY if held.index == CLUSTERED_WITHOUT_KEY else held.index
        largest[key] = max(largest.get(key, 0.0), held.share)
    items = []
    for table in survey.tables:
        for index in table.indexes:
            share = largest.get((str(table), index.name), 0.0)
            if share > 0 and index.size:
                items.append(Item(table, index.name, index.size, max(1, round(index.size * share))))
    return _that_fits(survey, items)


def _that_fits(survey: Survey, items: Sequence[Item]) -> WarmPlan:
    """Less of each if the buffer pool here is smaller."""
    pool = survey.cache("innodb")
    room = int(pool.size * USABLE) if pool is not None else 0
    wanted = sum(item.take for item in items)
    notices = list(survey.notices)
    if wanted > room:
        scale = room / wanted
        items = [
            Item(item.table, item.part, item.size, max(1, int(item.take * scale))) for item in items
        ]
        notices.append(
            f"the list has {format_size(wanted)}, and {format_size(room)} fit here, so as much "
            "less of each index is loaded"
        )
    return WarmPlan(tuple(items), survey.caches, (), tuple(notices), "as the list has it")
