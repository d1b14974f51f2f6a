"""The control connection of a stage, and what is read over it for the record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pymysql

from contend.errors import WorkError
from contend.servers.client import ANSWER_S, LONG_S

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor


class StatementFailed(WorkError):
    """The server refused a statement of the experiment."""


def run_statement(connect: Callable[..., Connection[Any]], database: str, statement: str) -> float:
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


class Control:
    """Connects when it is first needed, and is kept until it is closed.

    Args:
        connect: the server's; takes the timeouts.
    """

    def __init__(self, connect: Callable[..., Connection[Any]]) -> None:
        self._connect = connect
        self._connection: Connection[Any] | None = None

    def connection(self) -> Connection[Any]:
        if self._connection is None:
            self._connection = self._connect(read_timeout=ANSWER_S, write_timeout=ANSWER_S)
        return self._connection

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # The other side may be gone already.
            with contextlib.suppress(OSError, pymysql.err.MySQLError):
                connection.close()


class _Server(Protocol):
    def variables_that_differ(self) -> dict[str, tuple[str, str | None]]: ...


def differing_variables(server: _Server) -> dict[str, Any]:
    """The variables that are not at their defaults, as a record keeps them."""
    return {
        name: {"value": value, "default": default}
        for name, (value, default) in server.variables_that_differ().items()
    }
