"""The control connection: PyMySQL's, with limits for the size and duration of answers, its own
login, and readable errors.

A server may be frozen, broken, not a server at all, or a stranger's. No answer makes memory grow
without limit, and a missing answer is awaited for the time that the caller sets. The library's
errors reach the caller as readable ones. PyMySQL would send a password to any server that requests
it, so the login is here.
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from socket import AF_UNIX
from socket import socket as Socket
from typing import TYPE_CHECKING, Any, NoReturn

import pymysql
from pymysql import _auth
from pymysql.connections import Connection
from pymysql.constants import CLIENT, CR
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

from contend.errors import ContendError
from contend.servers.dsn import Security
from contend.servers.errors import (
    BrokenProtocol,
    ConnectionLost,
    ConnectionRefused,
    StatementRefused,
)
from contend.units import format_duration

ROUNDS_MAX = 16
"""A server that keeps asking is not a server."""

_NATIVE = "mysql_native_password"
_SHA2 = "caching_sha2_password"
_SHA256 = "sha256_password"
_CLEAR = ("mysql_clear_password", "dialog")
_BY_SOCKET = ("unix_socket", "auth_socket")
_ED25519 = "client_ed25519"

_FAST_AUTH_OK, _FULL_AUTH = b"\x03", b"\x04"
_NONCE_BYTES = 20
_PROMPTS = (b"Password: ", b"Password:")

_VERIFY = "ssl_mode=verify_identity and ssl_ca=FILE"


class NotUnderstood(ValueError):
    """The server sent data that do not belong in a login."""


@dataclass(slots=True)
class PasswordRoute:
    """The route from contend to the server.

    Args:
        is_socket: a Unix socket, which cannot be overheard.
        tls: the version of TLS; empty without it.
    """

    server: str
    is_socket: bool
    tls: str
    security: Security

    @property
    def is_safe(self) -> bool:
        """The route cannot be overheard, and leads to the real server."""
        return self.is_socket or (bool(self.tls) and self.security.mode == "verify_identity")

    def __str__(self) -> str:
        if not self.tls:
            return "Unix socket" if self.is_socket else "TCP, not encrypted"
        verified = {
            "verify_identity": "certificate verified",
            "verify_ca": "certificate verified, but not its host name",
        }.get(self.security.mode, "certificate not verified")
        return f"{self.tls.replace('TLSv', 'TLS ')}, {verified}"


class Login:
    """One login, after the greeting.

    Args:
        password: as stored by the server, without a NUL at the end.
    """

    def __init__(self, way: PasswordRoute, password: bytes) -> None:
        self._way = way
        self._password = password
        self._plugin = ""
        self._nonce = b""
        self._awaits_key = False
        self._shown = ""

    def __str__(self) -> str:
        """Its course, for a record: it never holds a secret."""
        return f"{self._way}; {self._plugin}{self._shown}"

    def begin(self, plugin: str, nonce: bytes) -> tuple[str, bytes]:
        """The plugin and the proof for the answer to the greeting."""
        # The first question of a dialog comes with a switch only.
        if plugin not in _ANSWERED or plugin == "dialog":
            # The server will then name a different one.
            plugin = _NATIVE
        return plugin, self._prove(plugin, nonce)

    def switch(self, packet: bytes) -> bytes:
        """The server wants a different plugin."""
        name, nul, nonce = packet.partition(b"\0")
        plugin = name.decode("ascii", "replace")[:64]
        if not nul or plugin not in _ANSWERED:
            requested = plugin if nul else "mysql_old_password"
            raise ConnectionRefused(
                f"{self._way.server} requires login by {requested!r}, which contend lacks.",
                hint="Change the user's plugin, for instance to caching_sha2_password or ed25519.",
            )
        return self._prove(plugin, nonce)

    def more(self, data: bytes) -> bytes | None:
        """Answer a further request of the server; None if no answer is due."""
        if self._awaits_key:
            self._awaits_key = False
            return self._encrypted(data)
        if self._plugin == _SHA2 and data == _FAST_AUTH_OK:
            return None
        if self._plugin == _SHA2 and data == _FULL_AUTH:
            return self._whole(ask=b"\x02")
        if self._plugin == "dialog":
            return self._answer(data)
        raise NotUnderstood(f"{self._plugin} sent an unexpected message")

    def _prove(self, plugin: str, nonce: bytes) -> bytes:
        self._plugin, self._awaits_key, self._shown = plugin, False, ""
        if plugin in _BY_SOCKET:
            return b""
        if plugin == "dialog":
            return self._answer(nonce)
        if plugin in _CLEAR:
            return self._in_clear()
        if plugin == _ED25519:
            return self._ed25519(nonce)
        if len(nonce) < _NONCE_BYTES:
            raise NotUnderstood("its nonce is too short")
        self._nonce = nonce[:_NONCE_BYTES]
        if plugin == _SHA256:
            return self._whole(ask=b"\x01")
        scramble = (
            _auth.scramble_caching_sha2 if plugin == _SHA2 else _auth.scramble_native_password
        )
        return bytes(scramble(self._password, self._nonce))

    def _ed25519(self, nonce: bytes) -> bytes:
        try:
            return bytes(_auth.ed25519_password(self._password, nonce[:32]))
        except RuntimeError as error:
            raise ConnectionRefused(
                f"{self._way.server} requires a login by ed25519, which needs the package PyNaCl.",
                hint="Install it: pip install PyNaCl.",
            ) from error

    def _answer(self, question: bytes) -> bytes:
        # The first byte controls how typed text is shown.
        if question[1:] not in _PROMPTS:
            raise ConnectionRefused(
                f"{self._way.server} asks for more than a password at login.",
                hint="Use a user whose login asks only for a password.",
            )
        return self._in_clear()

    def _in_clear(self) -> bytes:
        security = self._way.security
        if self._password and not (self._way.is_safe or security.enable_cleartext_plugin):
            raise ConnectionRefused(
                f"{self._way.server} requires the password in clear text ({self._plugin}), but "
                f"the connection is not secure ({self._way}).",
                hint=f"Use the server's Unix socket, or add {_VERIFY} to the DSN. "
                "enable_cleartext_plugin=1 in the DSN sends the password despite the risk.",
            )
        self._shown = ", password in clear"
        return self._password + b"\0"

    def _whole(self, ask: bytes) -> bytes:
        """The password itself: in clear over a safe route, else under the server's RSA key."""
        security = self._way.security
        if not self._password:
            return b"\0"
        if self._way.is_safe:
            return self._in_clear()
        if self._way.tls and security.get_server_public_key:
            # Inside TLS a server takes no RSA: the key that it sent belongs to its certificate.
            self._shown = ", password under the server's certificate, unverified"
            return self._password + b"\0"
        key = None if self._way.tls else security.public_key()
        if key is not None:
            self._shown = f", under the key {security.server_public_key_path}"
            return self._encrypted(key)
        if not security.get_server_public_key:
            raise ConnectionRefused(
                f"{self._way.server} requires the password itself ({self._plugin}), but the "
                f"connection is not secure ({self._way}).",
                hint="Add server_public_key_path=FILE and ssl_mode=disabled to the DSN, or "
                "get_server_public_key=1 to trust the key that the server sends, or "
                f"{_VERIFY}; or use the server's Unix socket.",
            )
        self._awaits_key = True
        self._shown = ", RSA key fetched from the server, unverified"
        return ask

    def _encrypted(self, key: bytes) -> bytes:
        try:
            return bytes(_auth.sha2_rsa_encrypt(self._password, self._nonce, key))
        except ValueError as error:
            raise NotUnderstood("its RSA key cannot be used") from error


_ANSWERED = frozenset({_NATIVE, _SHA2, _SHA256, _ED25519, *_CLEAR, *_BY_SOCKET})


if TYPE_CHECKING:

    class _Connection(Connection[Any]):
        """Use PyMySQL's own plugin."""

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
"""Limit for a login; a greeting has a hundred bytes."""

ANSWER_BYTES = 64 * 1024 * 1024
"""Memory limit of an answer: its bytes, and Python's overhead per packet and value."""

_PER_PACKET, _PER_VALUE, _PER_COLUMN, _PER_RESULT = 128, 64, 1024, 4096

DOUBT_S = 5.0
"""Time without an answer after which a second connection checks whether the server lives."""

DOUBT_AGAIN_S = 30.0

_CHUNK = 64 * 1024
_CLOSED = 0
"""PyMySQL's code for a connection that broke before."""

_LOST = frozenset({CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR, _CLOSED})
_OF_CLIENTS = 2000, 2999
"""Range of error codes that clients generate; servers send none of them."""

_SHOWN = 200
"""Number of characters of a statement in an error."""

OWN_LIMITS = (
    "SET SESSION sort_buffer_size = 2097152, sql_big_selects = 1, wait_timeout = 28800, "
    "sql_select_limit = 18446744073709551615"
    "/*M! , max_statement_time = 0 *//*!50708 , max_execution_time = 0 */"
)
"""The limits of the server under test may be compared, and too small for contend's statements."""

_PROTOCOL = 10
_UTF8MB4 = 45
_ASKS_FOR_FILE = b"\xfb"
_OK, _MORE, _SWITCH = 0x00, 0x01, 0xFE
_NEVER = float("inf")


class Control(_Connection):
    """A connection that reports readable errors when it breaks: the server and the statement.

    `read_timeout` limits a statement until its answer has ended, not a silence.
    """

    server = ""
    security = Security()
    is_alive: Callable[[], bool] | None = None
    """Checks on a second connection; None: no check, and the limit alone holds."""
    entered = ""
    """The course of the login, for a record; it never holds a secret."""

    has_own_limits = True
    """`OWN_LIMITS` in place of the server's general ones."""

    _read_timeout: float | None
    _is_entering = False
    _limit_at = _NEVER
    _doubt_at = _NEVER
    _left = 0
    _columns = 0
    _received = bytearray()
    _received_on: object = None

    # --- the login ---

    def connect(self, sock: Socket | None = None) -> None:
        self._is_entering = True
        # Limits the whole login: a server might send a little now and then, and never end it.
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
            # An account that may not set them has the server's limits.
            if code in _LOST or _OF_CLIENTS[0] <= code <= _OF_CLIENTS[1]:
                raise

    def _get_server_information(self) -> None:
        super()._get_server_information()
        if self.protocol_version != _PROTOCOL:
            raise NotUnderstood(f"it uses version {self.protocol_version} of the protocol")

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
                # MySQL marks data for the plugin, MariaDB only where it must.
                answer = login.more(data[1:] if data[0] == _MORE else data)
            if answer is not None:
                self.write_packet(answer)
        raise NotUnderstood("its login never ends")

    @property
    def _is_socket(self) -> bool:
        return self._sock.family == AF_UNIX

    def _encrypted(self, flags: int) -> str:
        """Begin TLS, if it is to be used; returns its version."""
        mode = self.security.mode
        if mode == "disabled" or (mode == "preferred" and self._is_socket):
            return ""
        if not self.server_capabilities & CLIENT.SSL:
            if mode == "preferred":
                return ""
            raise pymysql.err.OperationalError(
                CR.CR_SSL_CONNECTION_ERROR, f"it offers no TLS, but ssl_mode is {mode}"
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
        payload = user.replace(b"\0", b"") + b"\0" + bytes([len(proof)]) + proof
        if self.db:
            name = self.db if isinstance(self.db, bytes) else self.db.encode()
            payload += name.replace(b"\0", b"") + b"\0"
        payload += plugin.encode() + b"\0"
        if self.server_capabilities & CLIENT.CONNECT_ATTRS:
            words = [word.encode() for pair in self._connect_attrs.items() for word in pair]
            attributes = b"".join(bytes([len(word)]) + word for word in words)
            payload += bytes([len(attributes)]) + attributes
        return payload

    # --- limits ---

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        # Read the rest of the last answer first, under its own limits.
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
            raise NotUnderstood("it requests a file of this host, which contend never sends")
        return packet

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            self._force_close()
            limit = "a login" if self._is_entering else f"{ANSWER_BYTES >> 20} MB"
            raise NotUnderstood(f"its answer exceeds the limit of {limit}")

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._spend(num_bytes)
        if self._received_on is not self._sock:
            if self._received and self._received_on is not None:
                raise NotUnderstood("it keeps sending although it should wait")
            self._received, self._received_on = bytearray(), self._sock
        while len(self._received) < num_bytes:
            self._receive()
        data = bytes(self._received[:num_bytes])
        del self._received[:num_bytes]
        return data

    def _receive(self) -> None:
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
            # Makes PyMySQL set its own timeout again, for writing.
            self._current_timeout = -1.0
            try:
                part = self._sock.recv(_CHUNK)
            except TimeoutError:
                continue
            except OSError as error:
                self._lost(str(error), error)
            if not part:
                self._lost("it closed the connection", None)
            self._received += part
            return

    def _lost(self, why: str, error: OSError | None) -> NoReturn:
        self._force_close()
        raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, why) from error

    # --- errors ---

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        with self._reporting(sql):
            return super().query(sql, unbuffered)

    def next_result(self, unbuffered: bool = False) -> int:
        with self._reporting("the next result"):
            return int(super().next_result(unbuffered))

    def commit(self) -> None:
        with self._reporting("COMMIT"):
            super().commit()

    def select_db(self, db: str) -> None:
        with self._reporting(f"USE {db}"):
            super().select_db(db)

    @contextlib.contextmanager
    def _reporting(self, statement: str | bytes) -> Iterator[None]:
        try:
            yield
        except ContendError:
            raise
        except Exception as error:  # Any error of the library over unreadable data.
            if self._is_entering:
                raise
            raise self._as_error(error, statement) from error

    def _as_error(self, error: Exception, statement: str | bytes) -> ContendError:
        text = statement if isinstance(statement, str) else statement.decode("utf-8", "replace")
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        code = error.args[0] if error.args else None
        if isinstance(error, pymysql.err.MySQLError) and isinstance(code, int):
            if code in _LOST:
                return self._broken(error, shown)
            if not _OF_CLIENTS[0] <= code <= _OF_CLIENTS[1]:
                return StatementRefused(self.server, code, str(error.args[-1]), shown)
        # The rest of the stream is unreadable.
        self._force_close()
        return BrokenProtocol(f"{self.server} {not_understood(error)}.", shown)

    def _broken(self, error: Exception, statement: str) -> ConnectionLost:
        if not isinstance(error.__cause__, TimeoutError):
            return ConnectionLost(f"{self.server} closed the connection.", statement)
        is_late = time.monotonic() >= self._limit_at
        waited = format_duration((self._read_timeout or 0) if is_late else DOUBT_S)
        neither = "" if is_late else ", also not on a second connection"
        return ConnectionLost(f"{self.server} did not answer within {waited}{neither}.", statement)


def not_understood(error: Exception) -> str:
    """The fault of an answer, to follow the name of the server."""
    if isinstance(error, NotUnderstood):
        return f"sent an unusable answer: {error}"
    return "sent an answer outside the protocol of MariaDB and MySQL"
