"""How often each index was read, as a server counts it: what is hot is loaded first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pymysql

from contend.warm.model import PRIMARY

if TYPE_CHECKING:
    from pymysql.connections import Connection

_WAITS = (
    "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_READ"
    " FROM performance_schema.table_io_waits_summary_by_index_usage"
    " WHERE OBJECT_TYPE = 'TABLE' AND COUNT_READ > 0"
)
"""What is read without an index has no name in it: the rows, in their own order."""

_STATISTICS = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ"
    " FROM information_schema.INDEX_STATISTICS"
)
"""MariaDB's, if `userstat` is on."""


def read_counts(connection: Connection[Any]) -> dict[tuple[str, str, str], int] | None:
    """(database, table, index) -> reads since the server started; None if it does not count."""
    for statement in (_WAITS, _STATISTICS):
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                rows = cursor.fetchall()
        except pymysql.err.MySQLError:
            continue
        if rows:
            return {
                (str(schema), str(table), str(index or PRIMARY)): int(count)
                for schema, table, index, count in rows
            }
    return None
