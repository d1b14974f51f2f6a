"""The statements that the datasets room sends itself; the table is made by contend-load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymysql.connections import Connection


def drop_table(connection: Connection[Any], database: str, table: str) -> None:
    """Drop the table where it is there. Who calls has seen that it is contend's."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {_quoted(database)}.{_quoted(table)}")


def set_comment(connection: Connection[Any], database: str, table: str, comment: str) -> None:
    """Give the table another comment. Who calls has seen that it is contend's."""
    with connection.cursor() as cursor:
        name = f"{_quoted(database)}.{_quoted(table)}"
        cursor.execute(f"ALTER TABLE {name} COMMENT = %s", (comment,))


def _quoted(name: str) -> str:
    """A name as a statement takes it."""
    return "`" + name.replace("`", "``") + "`"
