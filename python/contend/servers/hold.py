"""Identifies a server under all its names; and the lock on a server for the process that changes
it.

One contend at a time changes a server, even from different hosts or under different names of the
server; if the server lacks such locks, one per host. So the lock is the server's own: `GET_LOCK`,
held by a connection without other work. It ends with that connection, however contend ends.
contend-load holds a similar lock on a database while it loads tables there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.connections import Connection

from contend.errors import RequestError, WorkError
from contend.servers.client import LONG_S, close_quietly, fetch
from contend.servers.errors import ConnectionLost
from contend.units import format_duration

if TYPE_CHECKING:
    from contend.servers.existing import ExistingServer


LOCK = "contend.changes"

_WAIT_S = 2
"""A server notices only after a moment that the lock's holder was killed."""

_LIMIT_S = 30.0
"""For each statement here; the only intended wait is `_WAIT_S`."""

_IDLE_S = 365 * 24 * 3600
"""Allowed silence of this connection, in place of the server's own limit. The maximum."""

_POLL_S, _LOOKS = 0.05, 100
"""Interval and number of checks for the end of a connection."""

_NO_SUCH_LOCK = frozenset({1235, 1305, 1105})
"""Not supported, no such function; and the code with which Percona's cluster prohibits the lock. A
node of Galera itself has it."""


class ServerInUse(RequestError):
    """Another contend changes this server."""


class AnotherServer(WorkError):
    """A different server answers than before."""


def unique_name(connection: Connection[Any]) -> str:
    """A name of the server that is the same by TCP and by socket; empty if it reports none.

    A copied data folder contains the server's own id, and on one host all MariaDB servers without a
    port have the same id. So host and data folder are part of the name.
    """
    try:
        names = dict(
            fetch(
                connection,
                "SHOW GLOBAL VARIABLES WHERE Variable_name IN"
                " ('server_uuid', 'server_uid', 'hostname', 'datadir')",
            )
        )
    except pymysql.err.MySQLError:
        return ""
    return "\n".join(f"{name}={names[name]}" for name in sorted(names))


class ServerHold:
    """The lock on a server, once it is taken.

    Args:
        connect: the server's; takes the timeouts.
        server: the server's name in errors.
    """

    def __init__(self, connect: Callable[..., Connection[Any]], server: str) -> None:
        self._connect = connect
        self._server = server
        self._connection: Connection[Any] | None = None
        self._has_lock = False
        self.name: str | None = None

    def take(self) -> str:
        """Take the lock, if the server has such locks; returns the server's `unique_name`.

        Raises:
            ServerInUse: another contend has it.
            AnotherServer: the lock was on a different server before.
            ContendError: the server does not answer.
        """
        connection = self._connect(read_timeout=_LIMIT_S, write_timeout=_LIMIT_S)
        try:
            name = unique_name(connection)
            if self.name not in (None, name):
                raise AnotherServer(
                    f"a different server now answers at {self._server}.",
                    hint="The changes on the previous one are recorded; this one was not touched.",
                )
            with contextlib.suppress(pymysql.err.MySQLError):
                fetch(connection, f"SET SESSION wait_timeout = {_IDLE_S}")
            self._has_lock = self._lock(connection)
        except BaseException:
            close_quietly(connection)
            raise
        self._connection, self.name = connection, name
        return name

    def require(self) -> None:
        """Check that the lock is still held. If its connection was lost, by a restart of the server
        or a KILL, it is taken again.

        Raises:
            ContendError: like `take`; nothing may be changed then.
        """
        if self._connection is not None:
            try:
                if not self._has_lock or _is_ours(self._connection):
                    return
            except (ConnectionLost, pymysql.err.MySQLError):
                pass
            close_quietly(self._connection)
            self._connection = None
        self.take()

    def release(self) -> None:
        """Release it at once: closing the connection alone does it a moment later."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(ConnectionLost, pymysql.err.MySQLError):
            if self._has_lock:
                fetch(connection, "SELECT RELEASE_LOCK(%s)", (LOCK,))
        close_quietly(connection)

    @classmethod
    @contextlib.contextmanager
    def of(cls, connect: Callable[..., Connection[Any]], server: str) -> Iterator[None]:
        """Hold it for a block; raises like `take`."""
        hold = cls(connect, server)
        hold.take()
        try:
            yield
        finally:
            hold.release()

    def end(self, other: Connection[Any]) -> None:
        """End one of contend's connections that may still run a statement, and wait until it is
        gone, if possible. The statement must not take effect after its change was reverted."""
        connection = self._connection
        if connection is None:
            return
        number = int(other.thread_id())  # type: ignore[no-untyped-call]
        with contextlib.suppress(ConnectionLost, pymysql.err.MySQLError):
            with contextlib.suppress(pymysql.err.MySQLError):  # It is gone already.
                fetch(connection, f"KILL {number}")
            for _ in range(_LOOKS):
                if not _connected(connection, number):
                    return
                time.sleep(_POLL_S)

    def _lock(self, connection: Connection[Any]) -> bool:
        """Whether the lock was taken; False if the server has no such lock."""
        try:
            rows = fetch(connection, "SELECT GET_LOCK(%s, %s)", (LOCK, _WAIT_S))
        except pymysql.err.MySQLError as error:
            if error.args[0] in _NO_SUCH_LOCK:
                return False
            raise
        got = rows[0][0] if rows else None
        if got == 0:
            raise self._in_use(connection)
        if got is None:
            raise WorkError(f"{self._server} did not grant the lock that contend needs.")
        return bool(got == 1)  # A different answer comes from a program that imitates a server.

    def _in_use(self, connection: Connection[Any]) -> ServerInUse:
        holder = _holder(connection)
        known = "" if holder is None else f": connection {holder}{whose(connection, holder)}"
        ends = "" if holder is None else f" If that host is gone, `KILL {holder}` ends it."
        return ServerInUse(
            f"another contend process is using {self._server}{known}. It reverts its own changes.",
            hint=f"Wait until it ends, or stop it.{ends}",
        )


def _holder(connection: Connection[Any]) -> int | None:
    ((holder,),) = fetch(connection, "SELECT IS_USED_LOCK(%s)", (LOCK,))
    return None if holder is None else int(holder)


def _is_ours(connection: Connection[Any]) -> bool:
    ((is_ours,),) = fetch(connection, "SELECT IS_USED_LOCK(%s) = CONNECTION_ID()", (LOCK,))
    return bool(is_ours == 1)


def _connected(connection: Connection[Any], number: int) -> list[Any]:
    """User and host of a connection, if it exists and is visible."""
    return fetch(
        connection,
        "SELECT USER, HOST FROM information_schema.PROCESSLIST WHERE ID = %s",
        (number,),
    )


def whose(connection: Connection[Any], number: int) -> str:
    """User and host of a connection, if the server shows them; else empty."""
    try:
        rows = _connected(connection, number)
    except pymysql.err.MySQLError:
        return ""
    return "" if not rows else f", of user {rows[0][0]} from {rows[0][1] or 'localhost'}"


WAITED_S = 3600.0
"""Limit of the wait for a different load."""

_AT_ONCE_S = 2
"""A short wait, so that Ctrl-C takes effect soon."""

_STORED = "IF(@@lower_case_table_names = 1, LOWER(%s), %s)"
_NAME = f"CONCAT('contend_fill.', LEFT(SHA2({_STORED}, 256), 40))"


class LoadingElsewhere(RequestError):
    """Another process loads tables into the database."""


def wait_for_fill(server: ExistingServer, database: str, on_wait: Callable[[str], None]) -> None:
    """Wait until no contend-load fills the database.

    Args:
        on_wait: called with the current loader, before the wait.

    Raises:
        LoadingElsewhere: the load took longer than the limit.
    """
    deadline = time.monotonic() + WAITED_S
    is_reported = False
    with server.connect(read_timeout=LONG_S) as connection:
        while not _get(connection, server, database, _AT_ONCE_S if is_reported else 0):
            who = _filler(connection, database)
            if not is_reported:
                on_wait(who)
                is_reported = True
            if time.monotonic() > deadline:
                raise LoadingElsewhere(
                    f"{who} still loads tables into {database} on {server.dsn} after "
                    f"{format_duration(WAITED_S)}; nothing was changed",
                    hint="Try again when it has ended, or end it.",
                )


@contextlib.contextmanager
def nobody_fills(server: ExistingServer, database: str) -> Iterator[None]:
    """A context in which no contend-load fills the database.

    Raises:
        LoadingElsewhere: one is already filling it.
    """
    with server.connect(read_timeout=LONG_S) as connection:
        if not _get(connection, server, database, _AT_ONCE_S):
            raise LoadingElsewhere(
                f"{_filler(connection, database)} loads tables into {database} on {server.dsn} "
                "now; nothing was changed",
                hint="Try again when it has ended.",
            )
        yield


def _get(connection: Connection[Any], server: ExistingServer, database: str, wait_s: int) -> bool:
    rows = fetch(connection, f"SELECT GET_LOCK({_NAME}, %s)", (database, database, wait_s))
    got = rows[0][0] if rows else None
    if got not in (0, 1):
        raise WorkError(
            f"{server.dsn} did not report whether tables are being loaded into {database}: "
            f"GET_LOCK returned {got!r}.",
            hint="Check that it is a server of MariaDB or MySQL.",
        )
    return bool(got)


def _filler(connection: Connection[Any], database: str) -> str:
    rows = fetch(connection, f"SELECT IS_USED_LOCK({_NAME})", (database, database))
    number = rows[0][0] if rows else None
    if number is None:
        return "another contend"
    return f"another contend (connection {number}{whose(connection, number)})"
