"""The control connection to a server, with its errors in words, and which process it leads to;
names as statements take them; a statement of the user's, run over a connection of its own.

PyMySQL, because control statements are few and need no speed; the load itself never goes through
it. See docs/decisions/0005-pymysql-for-control.md.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM
from socket import socket as Socket
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import CR, ER

from contend.errors import WorkError
from contend.servers.errors import ConnectionLost, ConnectionRefused, WrongLogin
from contend.units import format_duration

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor


if TYPE_CHECKING:
    from pymysql.connections import Connection

    _Connection = Connection[Any]
else:
    _Connection = pymysql.connections.Connection


CONNECT_TIMEOUT_S = 10
"""For the login too: a server that stands still is connected to, and never says a word."""

ANSWER_S = 600
"""A control statement that takes longer hangs, unless it is long by nature."""

LONG_S = 24 * 3600
"""For a statement that reads or makes a whole table."""

_CLOSED = 0
"""PyMySQL's code for a connection that broke before."""

_LOST = frozenset({CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR, _CLOSED})
_SHOWN = 200
"""Letters of a statement in an error."""

_WRONG_LOGIN = frozenset(
    {ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.HOST_NOT_PRIVILEGED, 1698}
)
_UNREACHABLE = frozenset({CR.CR_CONNECTION_ERROR, CR.CR_CONN_HOST_ERROR, *_LOST})


class Control(_Connection):
    """A connection that tells in words when it breaks: which server, at which statement."""

    server = ""
    _read_timeout: float | None

    def connect(self, sock: Socket | None = None) -> None:
        answer_s, self._read_timeout = self._read_timeout, self.connect_timeout
        super().connect(sock)
        self._read_timeout = answer_s

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        try:
            return super().query(sql, unbuffered)
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError) as error:
            if error.args[0] not in _LOST:
                raise
            text = sql if isinstance(sql, str) else sql.decode("utf-8", "replace")
            is_late = isinstance(error.__context__, TimeoutError)
            raise ConnectionLost(
                f"{self.server} did not answer within {format_duration(self._read_timeout or 0)}."
                if is_late
                else f"{self.server} broke off the connection.",
                text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…",
            ) from error


def connect(
    *,
    server: str,
    user: str,
    password: str = "",
    socket: Path | None = None,
    host: str | None = None,
    port: int = 3306,
    database: str | None = None,
    **more: Any,
) -> Connection[Any]:
    """Connect, or raise an error that says why not.

    Args:
        server: how the server is called in an error; never holds a password.
        socket: a Unix socket; if it is given, host and port are not used.
        more: passed to `pymysql.connect`.
    """
    try:
        connection = Control(
            unix_socket=None if socket is None else str(socket),
            host=None if socket is not None else host,
            port=port,
            user=user,
            # PyMySQL itself would send it in Latin-1, which servers do not expect.
            password=password.encode("utf-8", "surrogateescape"),
            database=database,
            connect_timeout=CONNECT_TIMEOUT_S,
            autocommit=True,
            charset="utf8mb4",
            defer_connect=True,
            # A socket needs no encryption, and to make ready for it takes longer than to connect.
            ssl_disabled=socket is not None,
            **more,
        )
        connection.server = server
        if socket is not None:
            # PyMySQL takes a socket it did not open for an insecure one, and would then ask for a
            # key when the server expects the password.
            setattr(connection, "_secure", True)  # noqa: B010
        connection.connect(None if socket is None else _open(socket))
        return connection
    except pymysql.err.MySQLError as error:
        raise _in_words(error, server, user, database, bool(password)) from error
    except (OSError, RuntimeError) as error:
        raise ConnectionRefused(f"{server} cannot be reached: {error}.") from error


def _open(path: Path) -> Socket:
    # Opened here, because PyMySQL leaves a Unix socket open if nobody listens on it.
    opened = Socket(AF_UNIX, SOCK_STREAM)
    try:
        opened.settimeout(CONNECT_TIMEOUT_S)
        opened.connect(str(path))
    except OSError as error:
        opened.close()
        raise pymysql.err.OperationalError(CR.CR_CONNECTION_ERROR, str(error)) from error
    return opened


def _in_words(
    error: pymysql.err.MySQLError, server: str, user: str, database: str | None, secret: bool
) -> ConnectionRefused:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    said = str(error.args[-1]) if error.args else str(error)
    if code in _WRONG_LOGIN:
        with_or_without = "with the password given" if secret else "without a password"
        return WrongLogin(
            f"{server} refuses user {user} {with_or_without} (error {code}).",
            hint="Give the password in an option file, in CONTEND_PASSWORD, or at the prompt.",
            detail=said,
        )
    if code == ER.BAD_DB_ERROR:
        return ConnectionRefused(f"{server} has no database {database} (error {code}).")
    if code in _UNREACHABLE:
        return ConnectionRefused(
            f"{server} does not answer (user {user}, error {code}).",
            hint="Check that it runs, and its host, port or socket.",
            detail=said,
        )
    return ConnectionRefused(f"{server} refused user {user} (error {code}).", detail=said)


_CREDENTIALS = struct.Struct("3i")


def socket_peer(path: Path) -> int | None:
    """The process that listens on the socket; None if nobody does, or it is not on this host.

    Connects for a moment without a login.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(path))
            said = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return None
    pid, _user, _group = _CREDENTIALS.unpack(said)
    return pid or None


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
