"""How large a table is and how large the cache for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymysql.connections import Connection


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


def quoted(database: str, table: str) -> str:
    """A qualified name as a statement takes it."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in (database, table))
