"""How the control connection logs in, and which of it may show the password to whom.

PyMySQL would decide that by itself, and sends a password to whoever asks for it. So the login is
here: it takes packets and gives packets. The rule is contend-load's as well, see
docs/decisions/0088-passwords-on-the-wire.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from pymysql import _auth

from contend.servers.errors import ConnectionRefused
from contend.servers.security import Security

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
    """The server says what it never should in a login."""


@dataclass(slots=True)
class PasswordRoute:
    """What lies between us and the server.

    Args:
        is_socket: a Unix socket, on which nobody listens.
        tls: the version of TLS; empty without it.
    """

    server: str
    is_socket: bool
    tls: str
    security: Security

    @property
    def is_safe(self) -> bool:
        """Nobody can listen, and whoever answers is the server."""
        return self.is_socket or (bool(self.tls) and self.security.mode == "verify_identity")

    def __str__(self) -> str:
        if not self.tls:
            return "Unix socket" if self.is_socket else "TCP, not encrypted"
        verified = {
            "verify_identity": "certificate verified",
            "verify_ca": "certificate verified, but not whom it names",
        }.get(self.security.mode, "certificate not verified")
        return f"{self.tls.replace('TLSv', 'TLS ')}, {verified}"


class Login:
    """One login, after the greeting.

    Args:
        password: as the server has it, without a NUL at the end.
    """

    def __init__(self, way: PasswordRoute, password: bytes) -> None:
        self._way = way
        self._password = password
        self._plugin = ""
        self._nonce = b""
        self._awaits_key = False
        self._shown = ""

    def __str__(self) -> str:
        """How it went, for a record: it never holds a secret."""
        return f"{self._way}; {self._plugin}{self._shown}"

    def begin(self, plugin: str, nonce: bytes) -> tuple[str, bytes]:
        """The plugin and the proof that go with the answer to the greeting."""
        # The first question of a dialog comes with a switch only.
        if plugin not in _ANSWERED or plugin == "dialog":
            # The server will then name another one.
            plugin = _NATIVE
        return plugin, self._prove(plugin, nonce)

    def switch(self, packet: bytes) -> bytes:
        """The server wants another plugin."""
        name, nul, nonce = packet.partition(b"\0")
        plugin = name.decode("ascii", "replace")[:64]
        if not nul or plugin not in _ANSWERED:
            asked = plugin if nul else "mysql_old_password"
            raise ConnectionRefused(
                f"{self._way.server} asks for a login by {asked!r}, which contend does not do.",
                hint="Give the user another plugin, such as caching_sha2_password or ed25519.",
            )
        return self._prove(plugin, nonce)

    def more(self, data: bytes) -> bytes | None:
        """The server wants more; None if there is nothing to say."""
        if self._awaits_key:
            self._awaits_key = False
            return self._encrypted(data)
        if self._plugin == _SHA2 and data == _FAST_AUTH_OK:
            return None
        if self._plugin == _SHA2 and data == _FULL_AUTH:
            return self._whole(ask=b"\x02")
        if self._plugin == "dialog":
            return self._answer(data)
        raise NotUnderstood(f"{self._plugin} says what it never should")

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
                f"{self._way.server} asks for a login by ed25519, which needs the package PyNaCl.",
                hint="Install it: pip install PyNaCl.",
            ) from error

    def _answer(self, question: bytes) -> bytes:
        # The first byte says how to show what is typed.
        if question[1:] not in _PROMPTS:
            raise ConnectionRefused(
                f"{self._way.server} asks a question at the login that is not 'Password:'.",
                hint="Use a user whose login asks for nothing else.",
            )
        return self._in_clear()

    def _in_clear(self) -> bytes:
        security = self._way.security
        if self._password and not (self._way.is_safe or security.enable_cleartext_plugin):
            raise ConnectionRefused(
                f"{self._way.server} asks for the password in clear text ({self._plugin}), and "
                f"nobody vouches for the way to it ({self._way}).",
                hint=f"Use the server's Unix socket, or add {_VERIFY} to the DSN; "
                "enable_cleartext_plugin=1 there sends it all the same.",
            )
        self._shown = ", password in clear"
        return self._password + b"\0"

    def _whole(self, ask: bytes) -> bytes:
        """The password itself: in clear over a safe way, else under the server's RSA key."""
        security = self._way.security
        if not self._password:
            return b"\0"
        if self._way.is_safe:
            return self._in_clear()
        if self._way.tls and security.get_server_public_key:
            # Inside TLS a server takes no RSA: the key that it sent is that of its certificate.
            self._shown = ", password under the server's certificate, unverified"
            return self._password + b"\0"
        key = None if self._way.tls else security.public_key()
        if key is not None:
            self._shown = f", under the key {security.server_public_key_path}"
            return self._encrypted(key)
        if not security.get_server_public_key:
            raise ConnectionRefused(
                f"{self._way.server} asks for the password itself ({self._plugin}), and nobody "
                f"vouches for the way to it ({self._way}).",
                hint="Add server_public_key_path=FILE and ssl_mode=disabled to the DSN, or "
                "get_server_public_key=1 to believe the key that the server sends, or "
                f"{_VERIFY}; or use its Unix socket.",
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
