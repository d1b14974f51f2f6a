"""Locks of a database on its server: nobody else loads tables there, by whatever address.

The server holds a lock for a connection, and drops it with the connection, so it outlives nobody.
The lab holds one of its own while it looks at tables, drops and loads them; contend-load holds
another one while it loads.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.errors import RequestError
from contend.servers.client import LONG_S, fetch
from contend.servers.existing import ExistingServer
from contend.units import format_duration

WAITED_S = 3600.0
"""How long another load is waited for."""

_AT_ONCE_S = 2
"""So that Ctrl-C is heard soon."""

_LAB, _FILL = "contend_data.", "contend_fill."

_STORED = "IF(@@lower_case_table_names = 1, LOWER(%s), %s)"
_NAME = f"CONCAT(%s, LEFT(SHA2({_STORED}, 256), 40))"


class LoadingElsewhere(RequestError):
    """Somebody else loads tables into the database."""


@contextlib.contextmanager
def loading(
    server: ExistingServer, database: str, on_wait: Callable[[str], None] | None
) -> Iterator[None]:
    """Nobody else loads tables into the database meanwhile.

    Args:
        on_wait: told who loads now, before that is waited for; None if nobody waits.

    Raises:
        LoadingElsewhere: somebody does, and went on for too long.
    """
    with server.connect(read_timeout=LONG_S) as connection:
        # It waits while tables load, however long that takes.
        with contextlib.suppress(pymysql.err.MySQLError):
            fetch(connection, "SET SESSION wait_timeout = 31536000")
        _take(connection, server, database, _LAB, on_wait)
        _take(connection, server, database, _FILL, on_wait)
        # contend-load is to have it.
        _release(connection, database, _FILL)
        yield


@contextlib.contextmanager
def nobody_fills(server: ExistingServer, database: str) -> Iterator[bool]:
    """Whether no contend-load fills the database; none begins meanwhile."""
    with server.connect(read_timeout=LONG_S) as connection:
        yield _get(connection, database, _FILL, _AT_ONCE_S)


def _take(
    connection: Connection[Any],
    server: ExistingServer,
    database: str,
    lock: str,
    on_wait: Callable[[str], None] | None,
) -> None:
    deadline = time.monotonic() + WAITED_S
    wait_s = 0 if on_wait is not None else _AT_ONCE_S
    told = False
    while not _get(connection, database, lock, wait_s):
        who = _holder(connection, database, lock)
        if on_wait is None:
            raise LoadingElsewhere(
                f"{who} loads tables into {database} on {server.dsn} now; nothing was touched",
                hint="Try again when that one has ended.",
            )
        if not told:
            on_wait(who)
            told, wait_s = True, _AT_ONCE_S
        if time.monotonic() > deadline:
            raise LoadingElsewhere(
                f"{who} still loads tables into {database} on {server.dsn} after "
                f"{format_duration(WAITED_S)}; nothing was touched",
                hint="Try again when that one has ended, or end it.",
            )


def _get(connection: Connection[Any], database: str, lock: str, wait_s: int) -> bool:
    rows = fetch(connection, f"SELECT GET_LOCK({_NAME}, %s)", (lock, database, database, wait_s))
    return bool(rows and rows[0][0] == 1)


def _release(connection: Connection[Any], database: str, lock: str) -> None:
    fetch(connection, f"SELECT RELEASE_LOCK({_NAME})", (lock, database, database))


def _holder(connection: Connection[Any], database: str, lock: str) -> str:
    """Who has the lock, as well as the server says it to us."""
    rows = fetch(connection, f"SELECT IS_USED_LOCK({_NAME})", (lock, database, database))
    number = rows[0][0] if rows else None
    if number is None:
        return "another contend"
    asked = "SELECT USER, HOST FROM information_schema.PROCESSLIST WHERE ID = %s"
    said = []
    with contextlib.suppress(pymysql.err.MySQLError):
        said = fetch(connection, asked, (number,))
    whose = "".join(f" of {user}@{host}" for user, host in said)
    return f"another contend (connection {number}{whose})"
