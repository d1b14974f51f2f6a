"""The control connection of a testbed, and what is read over it for the record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pymysql

from contend.servers.client import ANSWER_S

if TYPE_CHECKING:
    from pymysql.connections import Connection


class LazyControl:
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
