"""The control connection: PyMySQL's, with limits for what a server may say and how long it may
take, with its own login, and with every failure in words.

A server may be frozen, broken, not a server at all, or somebody else's. Nothing that it says makes
memory grow without end, an answer that does not come is waited for as long as the caller says, and
what the library raises of a statement or a login reaches the caller in words.
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable, Iterator
from socket import AF_UNIX
from socket import socket as Socket
from typing import TYPE_CHECKING, Any, NoReturn

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT, CR
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

from contend.errors import ContendError
from contend.servers.errors import BrokenProtocol, ConnectionLost, StatementRefused
from contend.servers.login import ROUNDS_MAX, Login, NotUnderstood, PasswordRoute
from contend.servers.security import Security
from contend.units import format_duration

if TYPE_CHECKING:

    class _Connection(Connection[Any]):
        """With what PyMySQL has for itself."""

        _sock: Socket
        _next_seq_id: int
        _auth_plugin_name: str
        _connect_attrs: dict[str, str]
        _result: Any
        protocol_version: int
        server_capabilities: int
        salt: bytes
        user: Any

        def _get_server_information(self) -> None: ...
        def _execute_command(self, command: int, sql: str | bytes) -> None: ...
        def _read_query_result(self, unbuffered: bool = False) -> int: ...
        def _read_packet(self, packet_type: Any = MysqlPacket) -> Any: ...
        def _force_close(self) -> None: ...

else:
    _Connection = pymysql.connections.Connection

LOGIN_BYTES = 64 * 1024
"""No login says more; a greeting has a hundred bytes."""

ANSWER_BYTES = 64 * 1024 * 1024
"""What an answer may cost in memory: its bytes, and what Python adds to each packet and value."""

_PER_PACKET, _PER_VALUE, _PER_COLUMN, _PER_RESULT = 128, 64, 1024, 4096

DOUBT_S = 5.0
"""After so long without an answer the server is asked over another connection whether it lives."""

DOUBT_AGAIN_S = 30.0

_CHUNK = 64 * 1024
_CLOSED = 0
"""PyMySQL's code for a connection that broke before."""

_LOST = frozenset({CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR, _CLOSED})
_OF_CLIENTS = 2000, 2999
"""Codes of errors that clients find, and no server sends."""

_SHOWN = 200
"""Letters of a statement in an error."""

OWN_LIMITS = (
    "SET SESSION sort_buffer_size = 2097152, sql_big_selects = 1, wait_timeout = 28800, "
    "sql_select_limit = 18446744073709551615"
    "/*M! , max_statement_time = 0 *//*!50708 , max_execution_time = 0 */"
)
"""Those of the server under test may be what is compared, and too small for a statement of ours."""

_PROTOCOL = 10
_UTF8MB4 = 45
_ASKS_FOR_FILE = b"\xfb"
_OK, _MORE, _SWITCH = 0x00, 0x01, 0xFE
_NEVER = float("inf")


class Control(_Connection):
    """A connection that tells in words when it breaks: which server, at which statement.

    `read_timeout` is the limit of a statement until its answer has ended, not of a silence.
    """

    server = ""
    security = Security()
    is_alive: Callable[[], bool] | None = None
    """Asks over another connection; None: nobody is asked, and the limit alone holds."""
    entered = ""
    """How the login went, for a record; it never holds a secret."""

    has_own_limits = True
    """`OWN_LIMITS` in place of those that the server has for everybody."""

    _read_timeout: float | None
    _is_entering = False
    _limit_at = _NEVER
    _doubt_at = _NEVER
    _left = 0
    _columns = 0
    _heard = bytearray()
    _heard_on: object = None

    # --- the login ---

    def connect(self, sock: Socket | None = None) -> None:
        self._is_entering = True
        # For all of the login: a server may say a little now and then, and never end it.
        self._limit_at = time.monotonic() + (self.connect_timeout or 0)
        self._doubt_at, self._left = _NEVER, LOGIN_BYTES
        try:
            super().connect(sock)
            if self.has_own_limits:
                self._take_own_limits()
        finally:
            self._is_entering = False

    def _take_own_limits(self) -> None:
        try:
            self.query(OWN_LIMITS)
        except pymysql.err.MySQLError as error:
            code = error.args[0] if error.args else _CLOSED
            # Who may not set them has those of the server.
            if code in _LOST or _OF_CLIENTS[0] <= code <= _OF_CLIENTS[1]:
                raise

    def _get_server_information(self) -> None:
        super()._get_server_information()
        if self.protocol_version != _PROTOCOL:
            raise NotUnderstood(f"it speaks version {self.protocol_version} of the protocol")

    def _request_authentication(self) -> None:
        offered = self.server_capabilities
        flags = self.client_flag & (offered | ~CLIENT.CONNECT_ATTRS) | CLIENT.MULTI_RESULTS
        if not offered & CLIENT.PLUGIN_AUTH or not offered & CLIENT.SECURE_CONNECTION:
            raise NotUnderstood("it is older than MySQL 5.5")
        flags = flags & ~CLIENT.PLUGIN_AUTH_LENENC_CLIENT_DATA
        way = PasswordRoute(self.server, self._is_socket, self._encrypted(flags), self.security)
        if way.tls:
            flags |= CLIENT.SSL
        login = Login(way, self.password)
        plugin, proof = login.begin(self._auth_plugin_name, bytes(self.salt))
        self.write_packet(self._head(flags) + self._named(proof, plugin))
        for _ in range(ROUNDS_MAX):
            data = self._read_packet().get_all_data()
            if data[0] == _OK:
                self.entered = str(login)
                return
            if data[0] == _SWITCH:
                answer: bytes | None = login.switch(data[1:])
            else:
                # MySQL marks what is for the plugin, MariaDB only where it must.
                answer = login.more(data[1:] if data[0] == _MORE else data)
            if answer is not None:
                self.write_packet(answer)
        raise NotUnderstood("its login never ends")

    @property
    def _is_socket(self) -> bool:
        return self._sock.family == AF_UNIX

    def _encrypted(self, flags: int) -> str:
        """Begin TLS, if there is to be some: its version."""
        mode = self.security.mode
        if mode == "disabled" or (mode == "preferred" and self._is_socket):
            return ""
        if not self.server_capabilities & CLIENT.SSL:
            if mode == "preferred":
                return ""
            raise pymysql.err.OperationalError(
                CR.CR_SSL_CONNECTION_ERROR, f"it offers no TLS, and ssl_mode is {mode}"
            )
        context = self.security.context()
        self.write_packet(self._head(flags | CLIENT.SSL))
        self._sock.settimeout(max(self._limit_at - time.monotonic(), 0.01))
        self._sock = context.wrap_socket(self._sock, server_hostname=self.host)
        return str(self._sock.version())

    def _head(self, flags: int) -> bytes:
        return struct.pack("<IIB23x", flags, 0xFFFFFF, _UTF8MB4)

    def _named(self, proof: bytes, plugin: str) -> bytes:
        user = self.user if isinstance(self.user, bytes) else self.user.encode()
        said = user.replace(b"\0", b"") + b"\0" + bytes([len(proof)]) + proof
        if self.db:
            name = self.db if isinstance(self.db, bytes) else self.db.encode()
            said += name.replace(b"\0", b"") + b"\0"
        said += plugin.encode() + b"\0"
        if self.server_capabilities & CLIENT.CONNECT_ATTRS:
            words = [word.encode() for pair in self._connect_attrs.items() for word in pair]
            attributes = b"".join(bytes([len(word)]) + word for word in words)
            said += bytes([len(attributes)]) + attributes
        return said

    # --- limits ---

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        # The rest of the last answer is still under that one's limits.
        while self._result is not None and self._result.has_next:
            self.next_result()
        if not self._is_entering:
            now = time.monotonic()
            self._limit_at = now + (self._read_timeout or _NEVER)
            self._doubt_at = _NEVER if self.is_alive is None else now + DOUBT_S
            self._left = ANSWER_BYTES
        super()._execute_command(command, sql)

    def _read_query_result(self, unbuffered: bool = False) -> int:
        self._columns = 0
        self._spend(_PER_RESULT)
        return int(super()._read_query_result(unbuffered))

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:
        self._spend(_PER_PACKET + _PER_VALUE * self._columns)
        if packet_type is FieldDescriptorPacket:
            self._columns += 1
            self._spend(_PER_COLUMN)
        is_first = self._next_seq_id == 1
        packet = super()._read_packet(packet_type)
        if is_first and packet.get_all_data()[:1] == _ASKS_FOR_FILE:
            raise NotUnderstood("it asks for a file of this host, which nobody gives it")
        return packet

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            self._force_close()
            limit = "a login" if self._is_entering else f"{ANSWER_BYTES >> 20} MB"
            raise NotUnderstood(f"its answer is longer than {limit} can be")

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._spend(num_bytes)
        if self._heard_on is not self._sock:
            if self._heard and self._heard_on is not None:
                raise NotUnderstood("it speaks on where it should wait for us")
            self._heard, self._heard_on = bytearray(), self._sock
        while len(self._heard) < num_bytes:
            self._hear()
        data = bytes(self._heard[:num_bytes])
        del self._heard[:num_bytes]
        return data

    def _hear(self) -> None:
        while True:
            now = time.monotonic()
            if now >= self._limit_at:
                self._lost("timed out", TimeoutError())
            if now >= self._doubt_at:
                if self.is_alive is not None and not self.is_alive():
                    self._lost("timed out", TimeoutError())
                self._doubt_at = time.monotonic() + DOUBT_AGAIN_S
                continue
            until = min(self._limit_at, self._doubt_at)
            self._sock.settimeout(None if until == _NEVER else max(until - now, 0.01))
            # So that PyMySQL sets its own again, for writing.
            self._current_timeout = -1.0
            try:
                part = self._sock.recv(_CHUNK)
            except TimeoutError:
                continue
            except OSError as error:
                self._lost(str(error), error)
            if not part:
                self._lost("it closed the connection", None)
            self._heard += part
            return

    def _lost(self, why: str, error: OSError | None) -> NoReturn:
        self._force_close()
        raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, why) from error

    # --- words ---

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        with self._told(sql):
            return super().query(sql, unbuffered)

    def next_result(self, unbuffered: bool = False) -> int:
        with self._told("the next result"):
            return int(super().next_result(unbuffered))

    def commit(self) -> None:
        with self._told("COMMIT"):
            super().commit()

    def select_db(self, db: str) -> None:
        with self._told(f"USE {db}"):
            super().select_db(db)

    @contextlib.contextmanager
    def _told(self, statement: str | bytes) -> Iterator[None]:
        try:
            yield
        except ContendError:
            raise
        except Exception as error:  # Whatever the library raises over what it cannot read.
            if self._is_entering:
                raise
            raise self._in_words(error, statement) from error

    def _in_words(self, error: Exception, statement: str | bytes) -> ContendError:
        text = statement if isinstance(statement, str) else statement.decode("utf-8", "replace")
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        code = error.args[0] if error.args else None
        if isinstance(error, pymysql.err.MySQLError) and isinstance(code, int):
            if code in _LOST:
                return self._broken(error, shown)
            if not _OF_CLIENTS[0] <= code <= _OF_CLIENTS[1]:
                return StatementRefused(self.server, code, str(error.args[-1]), shown)
        # What follows in the stream cannot be made sense of.
        self._force_close()
        return BrokenProtocol(f"{self.server} {not_understood(error)}.", shown)

    def _broken(self, error: Exception, statement: str) -> ConnectionLost:
        if not isinstance(error.__cause__, TimeoutError):
            return ConnectionLost(f"{self.server} broke off the connection.", statement)
        is_late = time.monotonic() >= self._limit_at
        waited = format_duration((self._read_timeout or 0) if is_late else DOUBT_S)
        neither = "" if is_late else ", nor does it answer on another connection"
        return ConnectionLost(f"{self.server} did not answer within {waited}{neither}.", statement)


def not_understood(error: Exception) -> str:
    """What is wrong with an answer, after the name of the server."""
    if isinstance(error, NotUnderstood):
        return f"gives no answer that can be used: {error}"
    return "gives an answer that is not of the protocol of MariaDB and MySQL"
