"""The control connection to a server, with readable errors, and the process at its other end;
quoted names for statements; the user's statements, each on a connection of its own; a readable
error for answers of an unexpected form.

It uses PyMySQL, because control statements are few and need no speed; the load itself never goes
through it. See docs/decisions/0005-pymysql-for-control.md.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM
from socket import socket as Socket
from types import FrameType
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER
from pymysql.cursors import Cursor

from contend.errors import ContendError, WorkError
from contend.servers.control import Control, not_understood
from contend.servers.dsn import Security
from contend.servers.errors import (
    WHAT_HELPS,
    ConnectionLost,
    ConnectionRefused,
    Silent,
    StatementRefused,
    WrongLogin,
)

CONNECT_TIMEOUT_S = 10
"""Includes the login: a frozen server accepts a connection, and then never answers."""

ANSWER_S = 600
"""A control statement that takes longer hangs, unless it is a lengthy one by nature."""

LONG_S = 24 * 3600
"""For a statement that reads or makes a whole table."""

_WRONG_LOGIN = frozenset(
    {ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.HOST_NOT_PRIVILEGED, 1698}
)
_UNREACHABLE = frozenset(
    {CR.CR_CONNECTION_ERROR, CR.CR_CONN_HOST_ERROR, CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR}
)
ALIVE_S = 4
"""Limits for a login and for a statement of the connection that checks whether a server lives."""


def connect(
    *,
    server: str,
    user: str,
    password: str = "",
    socket: Path | None = None,
    host: str | None = None,
    port: int = 3306,
    database: str | None = None,
    security: Security | None = None,
    connect_timeout: float | None = None,
    is_doubted: bool = False,
    has_own_limits: bool = True,
    **more: Any,
) -> Control:
    """Connect, or raise an error with the reason.

    Args:
        server: the server's name in errors; never holds a password.
        socket: a Unix socket; if it is given, host and port are not used.
        is_doubted: a slow statement is awaited only while the server answers on a second
            connection.
        has_own_limits: statements are contend's, and exempt from the server's limits for its users.
        more: passed to `pymysql.connect`.
    """
    entered_s = CONNECT_TIMEOUT_S if connect_timeout is None else connect_timeout
    try:
        connection = Control(
            unix_socket=None if socket is None else str(socket),
            host=None if socket is not None else host,
            port=port,
            user=user,
            # PyMySQL itself would send it in Latin-1, which servers do not expect.
            password=password.encode("utf-8", "surrogateescape"),
            database=database,
            connect_timeout=entered_s,
            autocommit=True,
            charset="utf8mb4",
            defer_connect=True,
            # Control does TLS itself.
            ssl_disabled=True,
            **more,
        )
        connection.server = server
        connection.security = security or Security()
        connection.has_own_limits = has_own_limits
        if is_doubted:
            connection.is_alive = partial(
                _is_alive,
                server=server,
                user=user,
                password=password,
                socket=socket,
                host=host,
                port=port,
                security=security,
            )
        connection.connect(None if socket is None else _open(socket))
        return connection
    except ContendError:
        raise
    except pymysql.err.MySQLError as error:
        raise _login_error(error, server, user, database, bool(password)) from error
    except OSError as error:
        raise ConnectionRefused(f"{server} cannot be reached: {error}.") from error
    except Exception as error:  # Any error of the library over unreadable data.
        raise _no_server(error, server) from error


def _no_server(error: Exception, server: str) -> ConnectionRefused:
    return ConnectionRefused(
        f"{server} {not_understood(error)}.",
        hint="Check that it is a server of MariaDB or MySQL.",
    )


def _is_alive(**where: Any) -> bool:
    try:
        with connect(**where, connect_timeout=ALIVE_S, read_timeout=ALIVE_S) as connection:
            fetch(connection, "SELECT 1")
    except Silent:
        return False
    except (ConnectionLost, OSError):
        return False
    except (ConnectionRefused, StatementRefused):
        # Too many connections, for example.
        return True
    return True


def _open(path: Path) -> Socket:
    # Opened here, because PyMySQL leaves a Unix socket open if the connection is refused.
    opened = Socket(AF_UNIX, SOCK_STREAM)
    try:
        opened.settimeout(CONNECT_TIMEOUT_S)
        opened.connect(str(path))
    except OSError as error:
        opened.close()
        raise pymysql.err.OperationalError(CR.CR_CONNECTION_ERROR, str(error)) from error
    return opened


def _login_error(
    error: pymysql.err.MySQLError, server: str, user: str, database: str | None, secret: bool
) -> ConnectionRefused:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if not code:
        return _no_server(error, server)
    message = str(error.args[-1]) if error.args else str(error)
    if code in _WRONG_LOGIN:
        with_or_without = "with this password" if secret else "without a password"
        return WrongLogin(
            f"{server} refuses user {user} {with_or_without} (error {code}).",
            hint="Give the password in an option file, in CONTEND_PASSWORD, or at the prompt.",
            detail=message,
        )
    if code == ER.BAD_DB_ERROR:
        return ConnectionRefused(f"{server} has no database {database} (error {code}).")
    if code in _UNREACHABLE:
        return Silent(
            f"{server} does not answer (user {user}, error {code}).",
            hint="Check that the server is running, and its host, port or socket.",
            detail=message,
        )
    return ConnectionRefused(
        f"{server} refused user {user} (error {code}).", hint=WHAT_HELPS.get(code), detail=message
    )


_CREDENTIALS = struct.Struct("3i")


def socket_peer(path: Path) -> int | None:
    """The process that listens on the socket; None if there is none, or it is on a different host.

    Connects for a moment without a login.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(path))
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return None
    pid, _user, _group = _CREDENTIALS.unpack(credentials)
    return pid or None


def fetch(connection: Connection[Any], statement: str, values: object = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


class LazyControl:
    """Connects when first needed; the connection is kept until it is closed.

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

    @property
    def entered(self) -> str:
        """The course of its login, for a record."""
        return str(getattr(self.connection(), "entered", ""))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            close_quietly(connection)


def close_quietly(connection: Connection[Any]) -> None:
    # The peer may have closed it already.
    with contextlib.suppress(OSError, pymysql.err.MySQLError):
        connection.close()


SYSTEM_DATABASES = frozenset({"mysql", "sys", "information_schema", "performance_schema"})
VERSIONED = "SYSTEM VERSIONED"
"""The TABLE_TYPE of a table with historical rows; MariaDB has them."""


def qualified(database: str, table: str) -> str:
    return f"{quoted(database)}.{quoted(table)}"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


Connect = Callable[..., "Connection[Any]"]
"""Connects to a database, by its name, and takes the timeouts."""


class StatementFailed(WorkError):
    """The server refused a statement of the experiment."""


def run_statement(connect: Connect, database: str | None, statement: str) -> float:
    """Run one of the user's statements; returns its duration in seconds.

    Raises:
        StatementFailed: the server refused it.
    """
    started = time.monotonic()
    connection = connect(database, read_timeout=LONG_S, write_timeout=LONG_S, has_own_limits=False)
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            refused = _refusal(cursor)
        connection.commit()
    except pymysql.err.MySQLError as error:
        message = str(error.args[-1]) if error.args else str(error)
        code = f" ({error.args[0]})" if len(error.args) > 1 else ""
        raise StatementFailed(f"the server refused {statement!r}: {message}{code}") from error
    finally:
        close_quietly(connection)
    if refused is not None:
        raise StatementFailed(f"the server refused {statement!r}: {refused}")
    return time.monotonic() - started


def _refusal(cursor: Cursor) -> str | None:
    """Statements such as ANALYZE TABLE report errors in a row of their result."""
    names = [column[0] for column in cursor.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    wrong = (row for row in rows if str(row.get("Msg_type")).lower() == "error")
    return next((str(row.get("Msg_text")) for row in wrong), None)


SHAPES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""Errors that reading an answer can raise."""

_ASKS = frozenset({"fetch", "fetchall", "fetchone", "cursor"})
"""A function that names one of these reads answers."""


class Misread(WorkError):
    """A server's answer does not have the expected form."""


def misread(error: BaseException) -> Misread | None:
    """A readable error, if a function that queries a server raised it; else None."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    code = [frame.f_code for frame in frames]
    if not any(_ASKS.intersection(one.co_names + one.co_varnames) for one in code):
        return None
    servers = [connection.server for frame in frames for connection in _connections(frame)]
    places = traceback.extract_tb(error.__traceback__)
    return Misread(
        f"{servers[-1] if servers else 'the server'} sent an answer that contend does not "
        f"understand ({type(error).__name__}: {error}).",
        hint="Check that it is a server of MariaDB or MySQL; if it is, contend has a bug.",
        detail="\n".join(
            f"{Path(place.filename).name}:{place.lineno} {place.name}" for place in places[-6:]
        ),
    )


def _connections(frame: FrameType) -> Iterator[Control]:
    return (value for value in frame.f_locals.values() if isinstance(value, Control))
