"""The sizes of the tables of a database, from information_schema."""

from __future__ import annotations

from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.servers.client import fetch, qualified

_TABLES = (
    "SELECT TABLE_NAME, ENGINE, COALESCE(DATA_LENGTH + INDEX_LENGTH, 0) "
    "FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE'"
)


def table_sizes(
    connection: Connection[Any], database: str, *, analyse: bool = False
) -> dict[str, int]:
    """Bytes of data and indexes by the name of the table; empty if the server does not tell.

    Args:
        analyse: let InnoDB count its pages first. Without, its lengths are as old as its
            statistics; those of a table just made may be of an empty one.
    """
    try:
        tables = _lengths(connection, database)
        stale = [name for name, engine, _ in tables if analyse and engine == "InnoDB"]
        if stale:
            names = ", ".join(qualified(database, name) for name in stale)
            fetch(connection, f"ANALYZE NO_WRITE_TO_BINLOG TABLE {names}")
            tables = _lengths(connection, database)
    except pymysql.err.MySQLError:
        return {}
    return {name: size for name, _, size in tables}


def _lengths(connection: Connection[Any], database: str) -> list[tuple[str, str, int]]:
    with connection.cursor() as cursor:
        # MySQL keeps lengths for a day; MariaDB has no such variable.
        try:
            cursor.execute("SET SESSION information_schema_stats_expiry = 0")
        except pymysql.err.MySQLError as error:
            if not error.args or error.args[0] != pymysql.constants.ER.UNKNOWN_SYSTEM_VARIABLE:
                raise
    rows = fetch(connection, _TABLES, (database,))
    return [(str(name), str(engine), int(size)) for name, engine, size in rows]
