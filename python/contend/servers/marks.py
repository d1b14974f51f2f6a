"""Marks: the comment of a table names its owner and the progress of its load.

    contend:loading DATABASE.TABLE key=KEY rows=N by=WHO    while rows are loaded
    contend:KEY DATABASE.TABLE                              when all are loaded and counted

contend-load writes them, and compares them byte by byte like this module; the server would ignore
case. A mark names its table. So copies by CREATE TABLE … LIKE, renamed tables, and tables of a dump
restored in a different database carry the mark of another table, and are not contend's. Bytes of a
name other than ASCII letters, digits and `_$-` are written as % and two digits. A view has no
comment: its definition holds a condition with such a text.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from contend.servers.client import VERSIONED, fetch, qualified
from contend.servers.errors import TableNotOurs

CHANGED = "changed"
"""In place of a dataset's key, once a workload may have written."""

_LOADING = re.compile(r"contend:loading (\S+) key=(\S+) rows=([0-9]+) by=(\S*)", re.ASCII)
_FINISHED = re.compile(r"contend:([A-Za-z0-9._-]+) (\S+)", re.ASCII)
_PLAIN = frozenset(f"{string.ascii_letters}{string.digits}_$-".encode())


@dataclass(frozen=True, slots=True)
class Mark:
    """A table of contend's.

    Args:
        key: of the data in it; None while it is loaded.
        by: the loading process, if any.
    """

    key: str | None
    by: str = ""


def mark_of(comment: str, database: str, table: str) -> Mark | None:
    """The mark in a comment, if it names this very table."""
    loading, finished = _LOADING.fullmatch(comment), _FINISHED.fullmatch(comment)
    if loading is not None and loading[1] == _named(database, table):
        return Mark(None, by=loading[4])
    if finished is not None and finished[2] == _named(database, table):
        return Mark(finished[1])
    return None


def finished(database: str, table: str, key: str) -> str:
    """The comment of a completely loaded table."""
    return f"contend:{key} {_named(database, table)}"


def of_view(database: str, view: str) -> str:
    """The text in the definition of contend's views."""
    return f"'contend:view {_named(database, view)}'"


def _named(database: str, table: str) -> str:
    return f"{_plain(database)}.{_plain(table)}"


def _plain(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in data)


def table_mark(connection: Connection[Any], database: str, table: str) -> Mark | None:
    """The mark of a table that contend made; None if there is no table of that name.

    Raises:
        TableNotOurs: there is one, and contend did not make it.
    """
    rows = fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_COMMENT, TABLE_TYPE FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        (database, table),
    )
    # The server may ignore case where the names do.
    same = [tuple(map(str, row)) for row in rows if str(row[1]) == table]
    if not same:
        return None
    stored, name, comment, kind = next((row for row in same if row[0] == database), same[0])
    mark = mark_of(comment, stored, name) if kind == "BASE TABLE" else None
    if mark is None:
        raise TableNotOurs(
            f"the server already has a table {database}.{table} that contend did not create.",
            hint="Name a different database in the DSN, or move the table. Nothing was changed.",
        )
    return mark


def tables_of(connection: Connection[Any], database: str) -> dict[str, Mark | None]:
    """All tables of a database by name, and the marks of those that contend made."""
    rows = fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_COMMENT, TABLE_TYPE FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE IN ('BASE TABLE', %s)",
        (database, VERSIONED),
    )
    named = [tuple(map(str, row)) for row in rows]
    return {
        name: None if kind == VERSIONED else mark_of(comment, stored, name)
        for stored, name, comment, kind in sorted(named)
    }


def is_our_view(connection: Connection[Any], database: str, view: str) -> bool:
    """Whether there is a view of that name that contend made."""
    rows = fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        (database, view),
    )
    return any(
        str(name) == view and of_view(str(stored), view) in str(definition)
        for stored, name, definition in rows
    )


def set_key(connection: Connection[Any], database: str, table: str, key: str) -> None:
    """Change the mark of a finished table. The caller has checked that it is contend's."""
    ((stored, engine),) = fetch(
        connection,
        "SELECT TABLE_SCHEMA, ENGINE FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s LIMIT 1",
        (database, table),
    )
    if str(engine).upper() == "ROCKSDB":
        # It copies the table, and locks each row except in a bulk load.
        fetch(connection, "SET SESSION rocksdb_bulk_load = 1")
    comment = finished(str(stored), table, key)
    fetch(connection, f"ALTER TABLE {qualified(database, table)} COMMENT = %s", (comment,))
    if str(engine).upper() == "ROCKSDB":
        fetch(connection, "SET SESSION rocksdb_bulk_load = 0")


def identities(
    connection: Connection[Any], database: str, tables: tuple[str, ...]
) -> dict[str, tuple[str, str]]:
    """Distinguishes these tables from replacements: their comments and creation times."""
    found = {}
    for table in tables:
        rows = fetch(
            connection,
            "SELECT TABLE_COMMENT, CREATE_TIME FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            (database, table),
        )
        for comment, created in rows:
            found[table] = (str(comment), str(created))
    return found
