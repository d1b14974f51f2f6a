"""A server that is not contend's own: contend starts and stops nothing, and touches only its own.

A table that contend makes carries a mark in its comment (`contend.servers.marks`). A table of the
wanted name without that mark belongs to others, and is refused before anything is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from socket import gethostname
from typing import Any

from pymysql.connections import Connection

from contend.errors import one_line
from contend.host.counters import process_age_s
from contend.host.tree import is_whole
from contend.servers import variables
from contend.servers.client import ANSWER_S, connect, fetch, socket_peer
from contend.servers.dsn import DEFAULT_PORT, Dsn, Password
from contend.servers.errors import WrongLogin
from contend.servers.hold import unique_name
from contend.servers.kinds import KINDS, kind_in
from contend.servers.variables import Differing

Ask = Callable[[str], str]
"""Asks the user for a password with the text given."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The server's description of itself."""

    kind: str
    version: str
    comment: str


@dataclass(frozen=True, slots=True)
class Process:
    """The number of a server's process on this host; None with the reason if it is not known."""

    pid: int | None
    why_not: str = ""


class ExistingServer:
    """The server that a DSN names.

    Args:
        dsn: completed here with its option file and the environment.
        ask: prompts for a password if the server wants one and none was given; None without a user.
    """

    def __init__(self, dsn: Dsn, *, ask: Ask | None = None) -> None:
        self.dsn = dsn.complete()
        self._ask = ask

    def __repr__(self) -> str:
        return f"ExistingServer({self.dsn})"

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]:
        """A control connection. `more` goes to PyMySQL; `read_timeout` is `ANSWER_S` without it."""
        try:
            return self._login(database, more)
        except WrongLogin:
            if self._ask is None or self.dsn.password:
                raise
        secret = Password(self._ask(one_line(f"Password of {self.dsn.user} at {self.dsn}: ")))
        self.dsn = replace(self.dsn, password=secret)
        return self._login(database, more)

    def _login(self, database: str | None, more: Mapping[str, Any]) -> Connection[Any]:
        return connect(
            server=str(self.dsn),
            user=self.dsn.user or "",
            password=self.dsn.password.reveal(),
            socket=self.dsn.socket,
            host=self.dsn.host,
            port=self.dsn.port or DEFAULT_PORT,
            database=database,
            security=self.dsn.security,
            is_doubted=True,
            **{"read_timeout": ANSWER_S, "write_timeout": ANSWER_S, **more},
        )

    def identity(self) -> Identity:
        with self.connect() as connection:
            ((version, comment),) = fetch(connection, "SELECT VERSION(), @@version_comment")
        return identify(str(version), str(comment))

    def unique_name(self) -> str:
        """The same for every DSN of the server; see `hold.unique_name`."""
        with self.connect() as connection:
            return unique_name(connection)

    def variables(self) -> dict[str, str]:
        with self.connect() as connection:
            return variables.read_all(connection)

    def variables_that_differ(self) -> Differing:
        """name -> (value, default) of every variable whose value is not the default."""
        kind = self.identity().kind
        with self.connect() as connection:
            return KINDS[kind].differing(connection)

    def is_here(self) -> bool:
        """Whether it runs on this host, judging by its address."""
        host = self.dsn.host or ""
        return (
            self.dsn.socket is not None or host.startswith("127.") or host in ("localhost", "::1")
        )

    def process(self) -> Process:
        """Its process, by its socket or its file with the number. A socket may also lead to a
        tunnel or to the server of a different container, which began at a different time."""
        if not self.is_here():
            return Process(None, f"it runs on a different host, {self.dsn.host}")
        with self.connect() as connection:
            query = "SELECT @@hostname, @@datadir, @@socket, @@pid_file"
            (found,) = fetch(connection, query)
            status = fetch(connection, "SHOW GLOBAL STATUS LIKE 'Uptime'")
        hostname, folder, socket, file = (str(one or "") for one in found)
        if hostname != gethostname():
            return Process(None, f"it runs on a different host or in a container, {hostname}")
        own = self.dsn.socket or Path(folder, socket)
        pid = socket_peer(own) or _number_in(Path(folder, file))
        age_s = None if pid is None else process_age_s(pid)
        if age_s is None:
            return Process(None, f"neither {own} nor {Path(folder, file)} leads to its process")
        if any(abs(age_s - float(uptime)) > _STARTS_WITHIN_S for _, uptime in status):
            return Process(None, f"{own} leads to process {pid}, which began at a different time")
        return Process(pid)


_STARTS_WITHIN_S = 10.0
"""Seconds from the beginning of a process until its server counts its own time."""


def _number_in(file: Path) -> int | None:
    try:
        text = file.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if is_whole(text) else None


def identify(version: str, comment: str) -> Identity:
    """From `SELECT VERSION()`: `10.11.19-MariaDB-…` or `9.7.4-2`."""
    return Identity(kind_in(f"{version} {comment}"), version.partition("-")[0], comment)
