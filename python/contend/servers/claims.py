"""The lock of a database on its server that contend-load holds while it loads tables there.

It is waited for here, by whatever address the other one loads. The server holds a lock for a
connection and drops it with that, so it outlives nobody. That one contend at a time is at work on a
server is another lock: see `hold`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from pymysql.connections import Connection

from contend.errors import RequestError, WorkError
from contend.servers.client import LONG_S, fetch
from contend.servers.existing import ExistingServer
from contend.servers.hold import whose
from contend.units import format_duration

WAITED_S = 3600.0
"""How long another load is waited for."""

_AT_ONCE_S = 2
"""So that Ctrl-C is heard soon."""

_STORED = "IF(@@lower_case_table_names = 1, LOWER(%s), %s)"
_NAME = f"CONCAT('contend_fill.', LEFT(SHA2({_STORED}, 256), 40))"


class LoadingElsewhere(RequestError):
    """Somebody else loads tables into the database."""


def wait_for_fill(server: ExistingServer, database: str, on_wait: Callable[[str], None]) -> None:
    """Wait until no contend-load fills the database.

    Args:
        on_wait: told who loads now, before that is waited for.

    Raises:
        LoadingElsewhere: it went on for too long.
    """
    deadline = time.monotonic() + WAITED_S
    told = False
    with server.connect(read_timeout=LONG_S) as connection:
        while not _get(connection, server, database, _AT_ONCE_S if told else 0):
            who = _holder(connection, database)
            if not told:
                on_wait(who)
                told = True
            if time.monotonic() > deadline:
                raise LoadingElsewhere(
                    f"{who} still loads tables into {database} on {server.dsn} after "
                    f"{format_duration(WAITED_S)}; nothing was touched",
                    hint="Try again when that one has ended, or end it.",
                )


@contextlib.contextmanager
def nobody_fills(server: ExistingServer, database: str) -> Iterator[None]:
    """No contend-load fills the database, and none begins meanwhile.

    Raises:
        LoadingElsewhere: one does.
    """
    with server.connect(read_timeout=LONG_S) as connection:
        if not _get(connection, server, database, _AT_ONCE_S):
            raise LoadingElsewhere(
                f"{_holder(connection, database)} loads tables into {database} on {server.dsn} "
                "now; nothing was touched",
                hint="Try again when that one has ended.",
            )
        yield


def _get(connection: Connection[Any], server: ExistingServer, database: str, wait_s: int) -> bool:
    rows = fetch(connection, f"SELECT GET_LOCK({_NAME}, %s)", (database, database, wait_s))
    got = rows[0][0] if rows else None
    if got not in (0, 1):
        raise WorkError(
            f"{server.dsn} did not say whether somebody loads tables into {database}: GET_LOCK "
            f"gave {got!r}.",
            hint="Check that it is a server of MariaDB or MySQL.",
        )
    return bool(got)


def _holder(connection: Connection[Any], database: str) -> str:
    """Who has the lock, as well as the server says it to us."""
    rows = fetch(connection, f"SELECT IS_USED_LOCK({_NAME})", (database, database))
    number = rows[0][0] if rows else None
    if number is None:
        return "another contend"
    return f"another contend (connection {number}{whose(connection, number)})"
