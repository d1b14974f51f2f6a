"""The tables to warm, as the server tells of them: sizes, columns, indexes; the scans that read all
of them; and their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import ER

from contend.host import page_cache

if TYPE_CHECKING:
    from pymysql.connections import Connection


PRIMARY = "PRIMARY"


def table_size(connection: Connection[Any], database: str, table: str) -> tuple[int, int]:
    """Bytes of rows and of indexes, as the server states them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DATA_LENGTH, INDEX_LENGTH FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            (database, table),
        )
        row = cursor.fetchone()
    return (int(row[0] or 0), int(row[1] or 0)) if row else (0, 0)


def variable(connection: Connection[Any], name: str) -> int:
    """A numeric global variable. `name` comes from our own tables, never from a user."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT @@GLOBAL.{name}")
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def load_index(connection: Connection[Any], database: str, table: str) -> None:
    """Read all index blocks of a table into its key cache."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOAD INDEX INTO CACHE {qualified(database, table)}")
        cursor.fetchall()


def scan_rows(connection: Connection[Any], database: str, table: str) -> None:
    """Read every row of a table in the order in which it is stored, long columns too."""
    _scan(connection, database, table, _columns(connection, database, table))


def scan_rows_and_indexes(connection: Connection[Any], database: str, table: str) -> None:
    """Read a table whose rows are stored in its primary key: the rows, then each other index."""
    indexes = _indexes(connection, database, table)
    key = indexes.pop(PRIMARY, None)
    columns = _columns(connection, database, table)
    _scan(connection, database, table, columns, None if key is None else PRIMARY)
    for name, whole in indexes.items():
        # Every other index holds the key as well. One that holds no whole column (prefixes and
        # expressions alone, no key) cannot be walked without the rows.
        column = next(iter([*whole, *(key or [])]), None)
        if column is not None:
            _scan(connection, database, table, [column], name)


def _scan(
    connection: Connection[Any],
    database: str,
    table: str,
    columns: Sequence[str],
    index: str | None = None,
) -> None:
    if not columns:
        return
    # A sum over the columns, not COUNT(*): that reads no long column, and MySQL answers it from
    # the primary key whichever index is named.
    sums = ", ".join(f"SUM(LENGTH({quoted(column)}))" for column in columns)
    by = "" if index is None else f" FORCE INDEX ({quoted(index)})"
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"SELECT {sums} FROM {qualified(database, table)}{by}")
        except pymysql.err.MySQLError as error:
            # Of an index that is ignored or invisible: no query uses it.
            if index is None or error.args[:1] != (ER.KEY_DOES_NOT_EXITS,):
                raise
            return
        cursor.fetchall()


def _columns(connection: Connection[Any], database: str, table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
            (database, table),
        )
        return [str(name) for (name,) in cursor.fetchall()]


def _indexes(connection: Connection[Any], database: str, table: str) -> dict[str, list[str]]:
    """The indexes that can be walked in order, each with the columns that it holds whole."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_TYPE IN ('BTREE', 'LSMTREE')"
            " ORDER BY INDEX_NAME, SEQ_IN_INDEX",
            (database, table),
        )
        found: dict[str, list[str]] = {}
        for name, column, prefix in cursor.fetchall():
            whole = found.setdefault(str(name), [])
            if column is not None and prefix is None:
                whole.append(str(column))
        return found


def qualified(database: str, table: str) -> str:
    """The name of a table as a statement takes it."""
    return f"{quoted(database)}.{quoted(table)}"


def quoted(name: str) -> str:
    """A name as a statement takes it."""
    return "`" + name.replace("`", "``") + "`"


def read_rows(connection: Connection[Any], database: str) -> None:
    """Every row of every table through the server, and every index of it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT TABLE_NAME FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE'",
            (database,),
        )
        tables = [str(row[0]) for row in cursor.fetchall()]
        for table in tables:
            name = f"{quoted(database)}.{quoted(table)}"
            # Reads whole rows, whatever their columns are.
            cursor.execute(f"CHECKSUM TABLE {name} EXTENDED")
            cursor.fetchall()
            cursor.execute(
                "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS"
                " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_TYPE = 'BTREE'",
                (database, table),
            )
            for index in [str(row[0]) for row in cursor.fetchall()]:
                cursor.execute(f"SELECT COUNT(*) FROM {name} FORCE INDEX ({quoted(index)})")
                cursor.fetchall()


def read_files(folder: Path) -> bool:
    """Every file of a database into the page cache; whether all of them are there now."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return all(page_cache.warm(path) >= path.stat().st_size for path in paths)
