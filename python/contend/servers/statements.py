"""Names as statements take them; a statement of the user's, run over a connection of its own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pymysql

from contend.errors import WorkError
from contend.servers.client import LONG_S

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

SYSTEM_DATABASES = frozenset({"mysql", "sys", "information_schema", "performance_schema"})


def qualified(database: str, table: str) -> str:
    """The name of a table as a statement takes it."""
    return f"{quoted(database)}.{quoted(table)}"


def quoted(name: str) -> str:
    """A name as a statement takes it."""
    return "`" + name.replace("`", "``") + "`"


Connect = Callable[..., "Connection[Any]"]
"""Connects to a database, by its name, and takes the timeouts."""


class StatementFailed(WorkError):
    """The server refused a statement of the experiment."""


def run_statement(connect: Connect, database: str, statement: str) -> float:
    """Run a statement of the user's; seconds that it took.

    Raises:
        StatementFailed: the server refused it.
    """
    started = time.monotonic()
    connection = connect(database, read_timeout=LONG_S, write_timeout=LONG_S)
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            refused = _refusal(cursor)
        connection.commit()
    except pymysql.err.MySQLError as error:
        said = str(error.args[-1]) if error.args else str(error)
        code = f" ({error.args[0]})" if len(error.args) > 1 else ""
        raise StatementFailed(f"the server refused {statement!r}: {said}{code}") from error
    finally:
        with contextlib.suppress(OSError, pymysql.err.MySQLError):
            connection.close()
    if refused is not None:
        raise StatementFailed(f"the server refused {statement!r}: {refused}")
    return time.monotonic() - started


def _refusal(cursor: Cursor) -> str | None:
    """Statements such as ANALYZE TABLE say what went wrong in a row of their result."""
    names = [column[0] for column in cursor.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    wrong = (row for row in rows if str(row.get("Msg_type")).lower() == "error")
    return next((str(row.get("Msg_text")) for row in wrong), None)
