"""Queries a server's tables, their sizes and its caches. Changes nothing."""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.servers.client import SYSTEM_DATABASES, VERSIONED, fetch
from contend.servers.existing import identify
from contend.servers.kinds import KINDS
from contend.warm.plan import FILES, PRIMARY, Cache, Column, Index, Survey, WarmTable
from contend.warm.tablespaces import CLUSTERED_WITHOUT_KEY

_CLUSTERED = ("innodb", "rocksdb")
"""Engines that keep the rows in the primary key."""

_MARKS = ("#P#", "#p#", "#SP#", "#sp#")
"""Separator between a table's name and its partition's, in InnoDB's statistics."""


def survey(
    connection: Connection[Any], database: str | None = None, *, memory: int | None = None
) -> Survey:
    """The tables of a database, or all except the server's own, and the caches.

    `memory`: bytes that the server's host has for files; None if not known.
    """
    ((version, comment),) = fetch(connection, "SELECT VERSION(), @@version_comment")
    identity = identify(str(version), str(comment))
    notices: list[str] = []
    passed_over: list[tuple[str, str]] = []
    caches = _caches(connection, identity.kind)
    if memory is not None:
        caches[FILES] = Cache(FILES, "the page cache of the host", memory, None, mmap.PAGESIZE)
    names, values = _where(database)
    columns = _columns(connection, names, values)
    indexes, others = _indexes(connection, names, values)
    pages = _index_sizes(connection, caches, notices)
    tables = []
    for row in fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, DATA_LENGTH, INDEX_LENGTH"
        f" FROM information_schema.TABLES WHERE {names} ORDER BY 1, 2",
        values,
    ):
        schema, name, kind, engine = (str(word or "") for word in row[:4])
        why = _why_not(kind, engine, caches)
        if why is not None:
            passed_over.append((f"{schema}.{name}", why))
            continue
        key = (schema, name)
        sizes = int(row[4] or 0), int(row[5] or 0)
        tables.append(_table(key, engine, columns[key], indexes[key], sizes, pages.get(key)))
        passed_over += [(f"{schema}.{name}.{index}", why) for index, why in others[key].items()]
    return Survey(
        identity.kind,
        identity.version,
        tuple(tables),
        tuple(caches.values()),
        tuple(passed_over),
        tuple(notices),
    )


def _why_not(kind: str, engine: str, caches: Mapping[str, Cache]) -> str | None:
    """The reason why a table cannot be warmed."""
    if kind == "VIEW" or kind == "SYSTEM VIEW":
        return "a view has no rows of its own"
    if kind == "SEQUENCE":
        return "a sequence is one row"
    if kind not in ("BASE TABLE", VERSIONED):
        return f"it is a {kind.lower()}"
    if not engine:
        return "the server cannot open it (CHECK TABLE shows why)"
    if engine.lower() not in caches:
        return f"{engine} has no cache that contend can fill"
    return None


def _table(
    key: tuple[str, str],
    engine: str,
    columns: Sequence[Column],
    indexes: Mapping[str, tuple[str | None, ...]],
    sizes: tuple[int, int],
    pages: Mapping[str, int] | None,
) -> WarmTable:
    rows_size, index_size = sizes
    if engine.lower() not in _CLUSTERED:
        # All indexes are in one file, so they have no separate sizes.
        each = index_size // max(1, len(indexes))
        listed = tuple(Index(name, parts, each) for name, parts in indexes.items())
        return WarmTable(*key, engine, tuple(columns), listed, rows_size, PRIMARY in indexes)
    known = dict(pages or {})
    clustered = known.pop(PRIMARY, None) or known.pop(CLUSTERED_WITHOUT_KEY, None)
    others = {name: parts for name, parts in indexes.items() if name != PRIMARY}
    if clustered is None and pages:
        # Without a primary key, the first unique key whose columns are never NULL is the clustered
        # one; it is the largest.
        name = max(pages, key=lambda name: pages[name])
        clustered = known.pop(name)
        others.pop(name, None)
    each = index_size // max(1, len(others))
    primary = Index(PRIMARY, indexes.get(PRIMARY, ()), clustered or rows_size)
    listed = tuple(Index(name, parts, known.get(name, each)) for name, parts in others.items())
    return WarmTable(*key, engine, tuple(columns), (primary, *listed), 0, PRIMARY in indexes)


def _where(database: str | None) -> tuple[str, tuple[str, ...]]:
    if database is not None:
        return "TABLE_SCHEMA = %s", (database,)
    own = tuple(SYSTEM_DATABASES)
    return f"TABLE_SCHEMA NOT IN ({', '.join(['%s'] * len(own))})", own


def _columns(
    connection: Connection[Any], names: str, values: Sequence[str]
) -> Mapping[tuple[str, str], list[Column]]:
    columns: dict[tuple[str, str], list[Column]] = defaultdict(list)
    for schema, table, name, kind, extra, nullable, octets in fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, EXTRA, IS_NULLABLE,"
        " CHARACTER_OCTET_LENGTH"
        f" FROM information_schema.COLUMNS WHERE {names} ORDER BY ORDINAL_POSITION",
        values,
    ):
        columns[str(schema), str(table)].append(
            Column(
                str(name),
                str(kind).lower(),
                is_virtual="VIRTUAL" in str(extra).upper(),
                is_nullable=str(nullable) == "YES",
                octets=int(octets or 0),
            )
        )
    return columns


_IndexColumns = dict[str, tuple[str | None, ...]]


def _indexes(
    connection: Connection[Any], names: str, values: Sequence[str]
) -> tuple[Mapping[tuple[str, str], _IndexColumns], Mapping[tuple[str, str], dict[str, str]]]:
    """Per table, the indexes that can be walked, and those that cannot, with the reason."""
    indexes: dict[tuple[str, str], _IndexColumns] = defaultdict(dict)
    others: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for schema, table, name, column, prefix, kind, hidden in fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART, INDEX_TYPE,"
        f" {_hidden(connection)} FROM information_schema.STATISTICS"
        f" WHERE {names} ORDER BY 1, 2, 3, SEQ_IN_INDEX",
        values,
    ):
        key = (str(schema), str(table))
        if kind not in ("BTREE", "LSMTREE"):
            others[key][str(name)] = f"a {str(kind).lower()} index cannot be read in order"
            continue
        if hidden:
            others[key][str(name)] = "it is hidden from the optimizer, so no query uses it"
            continue
        whole = None if column is None or prefix is not None else str(column)
        indexes[key][str(name)] = (*indexes[key].get(str(name), ()), whole)
    return indexes, others


def _hidden(connection: Connection[Any]) -> str:
    """Whether an index is ignored (MariaDB 10.6) or invisible (MySQL 8), as an expression."""
    rows = fetch(
        connection,
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME = 'STATISTICS'"
        " AND TABLE_SCHEMA = 'information_schema' AND COLUMN_NAME IN ('IGNORED', 'IS_VISIBLE')",
    )
    names = {str(name).upper() for (name,) in rows}
    return "IGNORED = 'YES'" if "IGNORED" in names else "IS_VISIBLE = 'NO'" if names else "0"


def _index_sizes(
    connection: Connection[Any], caches: Mapping[str, Cache], notices: list[str]
) -> Mapping[tuple[str, str], Mapping[str, int]]:
    """Bytes of each index of each InnoDB table, summed over partitions."""
    page = caches["innodb"].page if "innodb" in caches else 0
    try:
        rows = fetch(
            connection,
            "SELECT database_name, table_name, index_name, stat_value"
            " FROM mysql.innodb_index_stats WHERE stat_name = 'size'",
        )
    except pymysql.err.MySQLError as error:
        notices.append(
            "the sizes of single indexes cannot be read (SELECT on mysql.innodb_index_stats:"
            f" error {error.args[0] if error.args else 0}), so all indexes of a table except the"
            " primary key count as equally large"
        )
        return {}
    sizes: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for database, table, index, pages in rows:
        name = str(table)
        for mark in _MARKS:
            name = name.partition(mark)[0]
        sizes[str(database), name][str(index)] += int(pages) * page
    return sizes


_BLOCK_CACHES = (
    ("myisam", "MyISAM's key cache", "key_buffer_size", "key_cache_block_size",
     "Key_blocks_unused"),
    ("aria", "Aria's page cache", "aria_pagecache_buffer_size", "aria_block_size",
     "Aria_pagecache_blocks_unused"),
)  # fmt: skip


def _caches(connection: Connection[Any], kind: str) -> dict[str, Cache]:
    """The caches that this server has, by engine."""
    values = {
        str(name): int(value)
        for statement in (
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_page_size', 'key_buffer_size',"
            " 'key_cache_block_size', 'aria_pagecache_buffer_size', 'aria_block_size',"
            " 'rocksdb_block_cache_size', 'innodb_buffer_pool_size', 'innodb_lru_scan_depth',"
            " 'innodb_buffer_pool_instances')",
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_pages_total',"
            " 'Innodb_buffer_pool_pages_data', 'Key_blocks_unused', 'Aria_pagecache_blocks_unused',"
            " 'Rocksdb_block_cache_usage')",
        )
        for name, value in fetch(connection, statement)
    }
    found = {}
    page = values.get("innodb_page_size")
    if page:
        total, used = (values.get(f"Innodb_buffer_pool_pages_{part}") for part in ("total", "data"))
        size = values["innodb_buffer_pool_size"] if total is None else total * page
        held = None if used is None else used * page
        # Every second, MySQL evicts until this number of pages per instance is free.
        depth = values.get("innodb_lru_scan_depth", 0) if KINDS[kind].frees_pages else 0
        kept_free = depth * values.get("innodb_buffer_pool_instances", 1) * page
        found["innodb"] = Cache("innodb", "InnoDB's buffer pool", size, held, page, kept_free)
    for engine, name, size_name, page_name, unused_name in _BLOCK_CACHES:
        room, block = values.get(size_name), values.get(page_name)
        if room and block:
            unused = values.get(unused_name)
            held = None if unused is None else max(0, room - unused * block)
            found[engine] = Cache(engine, name, room, held, block)
    room = values.get("rocksdb_block_cache_size")
    if room:
        held = values.get("Rocksdb_block_cache_usage")
        found["rocksdb"] = Cache("rocksdb", "RocksDB's block cache", room, held, 4096)
    return found
