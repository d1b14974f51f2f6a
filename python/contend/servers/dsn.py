"""How to reach a server that is not contend's: `mysql://user@host:port/db?…` or `socket:/path`.

A DSN is typed on a command line, which other users of the machine can read. So it holds no
password; that comes from an option file that it names, or from the environment.

Only the groups and keys for a client's connection are read from option files of MySQL and MariaDB
clients (`~/.my.cnf`). `!include` is not followed. contend-load has the same rule for giving a
password away: see docs/decisions/0088-passwords-on-the-wire.md.
"""

from __future__ import annotations

import getpass
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from contend.errors import did_you_mean, is_secret
from contend.metrics.plan import Server, TlsMode
from contend.servers.errors import DsnError
from contend.servers.option_file import entries

SSL_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")

_YES = ("", "1", "on", "true", "yes")
_NO = ("0", "off", "false", "no")
_SWITCHES = ("enable_cleartext_plugin", "get_server_public_key")


@dataclass(frozen=True, slots=True)
class Security:
    """Security settings of a DSN or an option file. None means not given."""

    ssl_mode: str | None = None
    """Whether to encrypt, and what to verify."""
    ssl_ca: Path | None = None
    """PEM file with the certificates that may sign the server's."""
    ssl_cert: Path | None = None
    """PEM file with a client certificate, for a server that requests one."""
    ssl_key: Path | None = None
    """PEM file with its key."""
    enable_cleartext_plugin: bool | None = None
    """Send the password in clear, to any server, if it requests that."""
    get_server_public_key: bool | None = None
    """Accept the RSA key that a server sends, without verifying it."""
    server_public_key_path: Path | None = None
    """PEM file with the server's RSA key."""

    @classmethod
    def of(cls, options: Mapping[str, str], where: str) -> Security:
        found: dict[str, Any] = {}
        for key in KEYS:
            if key not in options:
                continue
            if key == "ssl_mode":
                found[key] = _mode(options[key], where)
            elif key in _SWITCHES:
                found[key] = _switch(key, options[key], where)
            elif options[key]:
                found[key] = Path(options[key]).expanduser().absolute()
        return cls(**found)

    @classmethod
    def of_file(cls, options: Mapping[str, str], where: str) -> Security:
        """Read an option file's settings; switches of older clients may set the mode too."""
        found = cls.of(options, where)
        if found.ssl_mode is not None:
            return found
        ssl_is_on = _switch("ssl", options["ssl"], where) if "ssl" in options else None
        if ssl_is_on is False or any(name in options for name in ("skip_ssl", "disable_ssl")):
            return replace(found, ssl_mode="disabled")
        verify = options.get("ssl_verify_server_cert")
        if verify is not None and _switch("ssl_verify_server_cert", verify, where):
            return replace(found, ssl_mode="verify_identity")
        return replace(found, ssl_mode="required") if ssl_is_on and not found.ssl_ca else found

    def over(self, other: Security) -> Security:
        """These settings, completed with those of `other`."""
        own = {key: getattr(self, key) for key in KEYS if getattr(self, key) is not None}
        return replace(other, **own)

    @property
    def mode(self) -> str:
        """The given mode, or the default."""
        if self.ssl_mode is not None:
            return self.ssl_mode
        if self.ssl_ca is not None:
            return "verify_ca"
        return "preferred" if self.ssl_cert is None else "required"

    def check(self, where: str) -> None:
        if self.mode.startswith("verify") and self.ssl_ca is None:
            raise DsnError(
                f"{where}: ssl_mode={self.mode} needs a certificate authority.",
                hint="Name its PEM file: ssl_ca=/path/ca.pem.",
            )
        if (self.ssl_cert is None) != (self.ssl_key is None):
            raise DsnError(
                f"{where}: ssl_cert and ssl_key belong together; one of them is missing."
            )

    def context(self) -> ssl.SSLContext:
        """The settings of an encrypted connection."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.mode == "verify_identity"
        is_verified = self.mode.startswith("verify")
        context.verify_mode = ssl.CERT_REQUIRED if is_verified else ssl.CERT_NONE
        try:
            if is_verified:
                context.load_verify_locations(self.ssl_ca)
            if self.ssl_cert is not None:
                # Without an explicit password Python would prompt for it on the terminal.
                context.load_cert_chain(self.ssl_cert, self.ssl_key, password="")
        except (OSError, ValueError) as error:
            named = ", ".join(str(p) for p in (self.ssl_ca, self.ssl_cert, self.ssl_key) if p)
            reason = getattr(error, "strerror", None) or str(error)
            raise DsnError(f"TLS cannot be set up with {named}: {reason}.") from error
        return context

    def public_key(self) -> bytes | None:
        """The server's RSA key, if it is known."""
        if self.server_public_key_path is None:
            return None
        try:
            return self.server_public_key_path.read_bytes()
        except OSError as error:
            raise DsnError(
                f"the key {self.server_public_key_path} cannot be read: {error.strerror}."
            ) from error

    def in_query(self) -> dict[str, str]:
        found = {}
        for key in KEYS:
            value = getattr(self, key)
            if value is not None:
                found[key] = str(int(value)) if isinstance(value, bool) else str(value)
        return found

    def in_plan(self) -> Server:
        """The settings for the plan of a run; empty if none were given."""
        server: Server = {}
        if self.ssl_mode or self.ssl_ca or self.ssl_cert:
            server["tls"] = {"mode": cast(TlsMode, self.mode.replace("_", "-"))}
            if self.ssl_ca:
                server["tls"]["ca"] = str(self.ssl_ca)
            if self.ssl_cert:
                server["tls"]["certificate"] = str(self.ssl_cert)
                server["tls"]["key"] = str(self.ssl_key)
        if self.enable_cleartext_plugin:
            server["enable_cleartext_plugin"] = True
        if self.get_server_public_key:
            server["get_server_public_key"] = True
        if self.server_public_key_path:
            server["server_public_key_path"] = str(self.server_public_key_path)
        return server


KEYS = tuple(field.name for field in fields(Security))


def _mode(text: str, where: str) -> str:
    mode = text.lower()
    if mode not in SSL_MODES:
        raise DsnError(f"{where}: unknown ssl_mode={text}.", hint=did_you_mean(mode, SSL_MODES))
    return mode


def _switch(key: str, text: str, where: str) -> bool:
    if text.lower() not in _YES + _NO:
        raise DsnError(f"{where}: {key}={text} is not a switch; use 1 or 0.")
    return text.lower() in _YES


class Password:
    """Holds a password. Only `reveal()` gives it, so every place that uses one can be found."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Password('***')" if self._text else "Password('')"

    __str__ = __repr__


GROUPS = frozenset({"client", "client-mariadb", "client-server", "mysql", "mariadb-client"})


def read_option_file(path: Path) -> dict[str, str]:
    """The connection's options in the file. Later lines win, like in the clients."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DsnError(f"there is no option file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DsnError(f"the option file {path} cannot be read: {_reason(error)}.") from error
    return parse_option_file(text)


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return error.strerror or str(error)


def parse_option_file(text: str) -> dict[str, str]:
    """The options of the client groups, names with underscores."""
    return {
        one.name.lower().replace("-", "_"): one.value or ""
        for one in entries(text)
        if one.group in GROUPS and not one.name.startswith("!")
    }


PASSWORD_VARIABLE = "CONTEND_PASSWORD"

DEFAULT_PORT = 3306
_SCHEMES = ("mysql", "mariadb")
_KEYS = ("socket", "option_file", *KEYS)
_EXAMPLES = (
    "Write mysql://user@host:3306/database, mysql://user@/?option_file=~/.my.cnf, or socket:/path."
)


@dataclass(frozen=True, slots=True)
class Dsn:
    """The address of a server, and the user that logs in. None means not given.

    A socket takes precedence over host and port.
    """

    user: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    socket: Path | None = None
    option_file: Path | None = None
    password: Password = field(default=Password(""), repr=False)
    security: Security = field(default_factory=Security)

    @classmethod
    def parse(cls, text: str) -> Dsn:
        """Read a DSN. No file is read and no name is resolved."""
        # A path may end with a blank.
        scheme, colon, rest = text.lstrip().partition(":")
        if colon and scheme.lower() == "socket":
            if not rest.startswith("/"):
                raise DsnError(f"the socket in {text!r} is not an absolute path.", hint=_EXAMPLES)
            return cls(socket=Path(rest))
        if not colon or scheme.lower() not in _SCHEMES or not rest.startswith("//"):
            raise DsnError("this is not a DSN of a server.", hint=_EXAMPLES)
        return cls._of_url(text.strip())

    @classmethod
    def _of_url(cls, text: str) -> Dsn:
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise DsnError("the host or the port of the DSN is wrong.", hint=_EXAMPLES) from None
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.password is not None or any(map(is_secret, query)):
            # Not repeated here: errors end up in logs.
            raise DsnError(
                "every user of this machine can read a password in a DSN.",
                hint="Put it in an option file (?option_file=~/.my.cnf) or in CONTEND_PASSWORD.",
            )
        if parts.fragment:
            raise DsnError("a DSN must not have a part after #.", hint=_EXAMPLES)
        for key, value in query.items():
            if key not in _KEYS:
                raise DsnError(
                    f"the DSN has an unknown key {key!r}.", hint=did_you_mean(key, _KEYS)
                )
            if not value:
                raise DsnError(f"{key} of the DSN is empty.", hint=_EXAMPLES)
        database = unquote(parts.path).strip("/")
        if "/" in database:
            raise DsnError(f"{database!r} is not the name of a database.", hint=_EXAMPLES)
        return cls(
            user=unquote(parts.username) if parts.username else None,
            host=parts.hostname or None,
            port=port,
            database=database or None,
            socket=Path(query["socket"]) if "socket" in query else None,
            option_file=Path(query["option_file"]) if "option_file" in query else None,
            security=Security.of(query, "the DSN"),
        )

    def complete(self, environment: Mapping[str, str] | None = None) -> Dsn:
        """Complete the DSN from the option file and the environment. The DSN takes precedence."""
        environment = os.environ if environment is None else environment
        options = (
            read_option_file(self.option_file.expanduser()) if self.option_file is not None else {}
        )
        socket = self.socket
        if socket is None and self.host is None and "socket" in options:
            socket = Path(options["socket"])
        port = _port(options.get("port"), self.option_file)
        secret = options.get("password") or environment.get(PASSWORD_VARIABLE, "")
        security = self.security.over(Security.of_file(options, str(self.option_file)))
        security.check(str(self))
        return replace(
            self,
            user=self.user or options.get("user") or _user_of_this_process(),
            host=None if socket is not None else self.host or options.get("host") or "127.0.0.1",
            port=self.port if socket is not None else self.port or port or DEFAULT_PORT,
            database=self.database or options.get("database"),
            socket=socket,
            password=self.password or Password(secret),
            security=security,
        )

    @property
    def place(self) -> str:
        """The address of the server, without the user."""
        if self.socket is not None:
            return f"socket:{self.socket}"
        host = (self.host or "127.0.0.1").lower().replace("localhost", "127.0.0.1")
        return f"{host}:{self.port or DEFAULT_PORT}"

    def __str__(self) -> str:
        """A text that can be typed again, and shown to anyone."""
        if self.socket is not None and self == Dsn(socket=self.socket, password=self.password):
            return f"socket:{self.socket}"
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        port = f":{self.port}" if self.port is not None else ""
        keys = {"socket": self.socket, "option_file": self.option_file}
        named = {k: str(v) for k, v in keys.items() if v is not None} | self.security.in_query()
        query = urlencode(named, safe="/~")
        path = f"/{quote(self.database, safe='')}" if self.database else "/"
        return f"mysql://{user}{host}{port}{path}" + (f"?{query}" if query else "")


def passwords(*dsns: Dsn, environment: Mapping[str, str] | None = None) -> frozenset[Password]:
    """All known passwords: those of the servers, and the one in the environment."""
    environment = os.environ if environment is None else environment
    password = Password(environment.get(PASSWORD_VARIABLE, ""))
    return frozenset(filter(None, (password, *(dsn.password for dsn in dsns))))


def _port(text: str | None, file: Path | None) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise DsnError(f"{text!r} in {file} is not a port (1 to 65535).")
    return int(text)


def _user_of_this_process() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "root"
