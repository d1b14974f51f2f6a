"""How to reach a server that is not ours: `mysql://user@host:port/db?…` or `socket:/path`.

A DSN is typed on a command line, which other users of the machine can read. So it holds no
password; that comes from an option file that it names, or from the environment.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from contend.servers.errors import DsnError
from contend.servers.names import nearest_hint
from contend.servers.option_file import read_option_file
from contend.servers.secret import Password

PASSWORD_VARIABLE = "CONTEND_PASSWORD"
DEFAULT_PORT = 3306
_SCHEMES = ("mysql", "mariadb")
_KEYS = ("socket", "option_file")
_EXAMPLES = (
    "Write mysql://user@host:3306/database, mysql://user@/?option_file=~/.my.cnf, or socket:/path."
)


@dataclass(frozen=True, slots=True)
class Dsn:
    """Where a server is and who enters. What is None was not said.

    A socket goes before host and port.
    """

    user: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    socket: Path | None = None
    option_file: Path | None = None
    password: Password = field(default=Password(""), repr=False)

    @classmethod
    def parse(cls, text: str) -> Dsn:
        """Read a DSN. No file is read and no name is resolved."""
        # A path may end with a blank.
        scheme, colon, rest = text.lstrip().partition(":")
        if colon and scheme.lower() == "socket":
            if not rest.startswith("/"):
                raise DsnError(f"the socket in {text!r} is no absolute path.", hint=_EXAMPLES)
            return cls(socket=Path(rest))
        if not colon or scheme.lower() not in _SCHEMES or not rest.startswith("//"):
            raise DsnError("that is no DSN of a server.", hint=_EXAMPLES)
        return cls._of_url(text.strip())

    @classmethod
    def _of_url(cls, text: str) -> Dsn:
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise DsnError("the host or the port of the DSN is wrong.", hint=_EXAMPLES) from None
        if parts.password is not None:
            # Not repeated here: errors end up in logs.
            raise DsnError(
                "a password in a DSN can be read by every user of this machine.",
                hint="Put it in an option file (?option_file=~/.my.cnf) or in CONTEND_PASSWORD.",
            )
        if parts.fragment:
            raise DsnError("a DSN has no part after #.", hint=_EXAMPLES)
        asked = dict(parse_qsl(parts.query, keep_blank_values=True))
        for key, value in asked.items():
            if key not in _KEYS:
                raise DsnError(
                    f"the DSN has an unknown key {key!r}.", hint=nearest_hint(key, _KEYS)
                )
            if not value:
                raise DsnError(f"{key} of the DSN is empty.", hint=_EXAMPLES)
        database = unquote(parts.path).strip("/")
        if "/" in database:
            raise DsnError(f"{database!r} is no name of a database.", hint=_EXAMPLES)
        return cls(
            user=unquote(parts.username) if parts.username else None,
            host=parts.hostname or None,
            port=port,
            database=database or None,
            socket=Path(asked["socket"]) if "socket" in asked else None,
            option_file=Path(asked["option_file"]) if "option_file" in asked else None,
        )

    def complete(self, environment: Mapping[str, str] | None = None) -> Dsn:
        """With what the option file and the environment say. What the DSN says goes first."""
        environment = os.environ if environment is None else environment
        said = (
            read_option_file(self.option_file.expanduser()) if self.option_file is not None else {}
        )
        socket = self.socket
        if socket is None and self.host is None and "socket" in said:
            socket = Path(said["socket"])
        port = _port(said.get("port"), self.option_file)
        secret = said.get("password") or environment.get(PASSWORD_VARIABLE, "")
        return replace(
            self,
            user=self.user or said.get("user") or _user_of_this_process(),
            host=None if socket is not None else self.host or said.get("host") or "127.0.0.1",
            port=self.port if socket is not None else self.port or port or DEFAULT_PORT,
            database=self.database or said.get("database"),
            socket=socket,
            password=self.password or Password(secret),
        )

    def __str__(self) -> str:
        """As it can be typed again, and shown to anyone."""
        if self.socket is not None and self == Dsn(socket=self.socket, password=self.password):
            return f"socket:{self.socket}"
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        port = f":{self.port}" if self.port is not None else ""
        asked = {
            "socket": self.socket,
            "option_file": self.option_file,
        }
        query = urlencode({k: str(v) for k, v in asked.items() if v is not None}, safe="/~")
        path = f"/{quote(self.database, safe='')}" if self.database else "/"
        return f"mysql://{user}{host}{port}{path}" + (f"?{query}" if query else "")


def _port(text: str | None, file: Path | None) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise DsnError(f"the port {text!r} in {file} is no port.")
    return int(text)


def _user_of_this_process() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "root"
