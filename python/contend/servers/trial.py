"""Questions to a server before it has its data: would it prepare a statement, and which names may
have been meant. Nothing is executed."""

from __future__ import annotations

import contextlib
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from contend.servers.client import fetch

NO_COLUMN = frozenset({ER.BAD_FIELD_ERROR, ER.KEY_COLUMN_DOES_NOT_EXITS})
NO_TABLE = frozenset({ER.NO_SUCH_TABLE, ER.UNKNOWN_TABLE, ER.BAD_DB_ERROR})
NO_ROUTINE = frozenset({ER.SP_DOES_NOT_EXIST})
NO_NAME = NO_COLUMN | NO_TABLE | NO_ROUTINE
_WRONG_ARGUMENTS = 1582
NO_FORM = frozenset(
    {ER.PARSE_ERROR, ER.WRONG_VALUE_COUNT_ON_ROW, ER.NON_UNIQ_ERROR, _WRONG_ARGUMENTS}
)
"""Errors that no content of the tables would prevent. Other errors of preparing do not count: a
server cannot prepare every statement, and a missing privilege is one of the connection."""

_NAME = "contend_trial"


def refusal_of(connection: Connection[Any], statement: str) -> tuple[int, str] | None:
    """The error code and the message with which the server refuses to prepare a statement."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"PREPARE {_NAME} FROM {connection.literal(statement)}")
        except pymysql.err.MySQLError as error:
            return (error.args[0], str(error.args[1])) if len(error.args) > 1 else None
        with contextlib.suppress(pymysql.err.MySQLError):
            cursor.execute(f"DEALLOCATE PREPARE {_NAME}")
    return None


def tables_in(connection: Connection[Any], database: str) -> list[str] | None:
    """The tables of a database; None if it does not exist."""
    if not fetch(
        connection,
        "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s",
        (database,),
    ):
        return None
    rows = fetch(
        connection,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = %s",
        (database,),
    )
    return [str(name) for (name,) in rows]


def columns(connection: Connection[Any]) -> list[tuple[str, str]]:
    """The tables of the connection's database with their columns."""
    rows = fetch(
        connection,
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position",
    )
    return [(str(table), str(column)) for table, column in rows]


def routines(connection: Connection[Any]) -> list[str]:
    """The functions and procedures of the connection's database."""
    rows = fetch(
        connection,
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()",
    )
    return [str(name) for (name,) in rows]


def status_variables(connection: Connection[Any]) -> list[str]:
    return [str(name) for name, _ in fetch(connection, "SHOW GLOBAL STATUS")]
