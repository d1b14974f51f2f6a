"""Warming as simple tools do it: one count of rows for each column that has a key.

One connection, no index named, nothing known of the cache. It is what other ways are compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contend.servers.statements import qualified, quoted
from contend.warm.model import PRIMARY, WarmTable
from contend.warm.survey import survey

if TYPE_CHECKING:
    from pymysql.connections import Connection


def count_keyed_columns(connection: Connection[Any], database: str) -> None:
    """Count the rows of every table, once for each column that leads a key."""
    for table in survey(connection, database).tables:
        for statement in statements_of(table):
            with connection.cursor() as cursor:
                cursor.execute(statement)
                cursor.fetchall()


def statements_of(table: WarmTable) -> list[str]:
    """The counts of a table: the primary key by a column without a key, which takes reading the
    rows; other keys by a pattern, in the hope that the server walks their index for it."""
    name = qualified(table.database, table.name)
    keyed = {index.columns[0] for index in table.indexes if index.columns}
    plain = [column.name for column in table.columns if column.name not in keyed]
    statements = []
    for index in table.indexes:
        column = index.columns[0] if index.columns else None
        if index.name == PRIMARY:
            where = f" WHERE {quoted(plain[0])} = 0 OR {quoted(plain[0])} = '0'" if plain else ""
            statements.append(f"SELECT COUNT(*) FROM {name}{where}")
        elif column is not None:
            statements.append(f"SELECT COUNT(*) FROM {name} WHERE {quoted(column)} LIKE '%0%'")
    return statements
