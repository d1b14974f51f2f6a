"""Which private server is used, by kind or by name; its environment, and a wrapper such as numactl
or strace; and the round trip to it."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from contend.errors import RequestError
from contend.experiment.settings.model import Differs, Launch, Need, Setting, Target, Values
from contend.experiment.settings.tables import Named
from contend.experiment.settings.values import AnyLevel, Choice, Command, Duration, Text, shown

_DSN_BEGINNINGS = ("mysql:", "mariadb:", "socket:")


def is_dsn(name: str) -> bool:
    """Whether this names a running server, and not a program or a kind of server."""
    return name.lstrip().lower().startswith(_DSN_BEGINNINGS)


def is_on_this_host(name: str) -> bool:
    """Whether that server runs here, as far as its name shows: a private one does, and one reached
    by a socket or the loopback address."""
    text = name.strip()
    if not is_dsn(text) or text.lower().startswith("socket:"):
        return True
    parts = urlsplit(text)
    return "socket" in parse_qs(parts.query) or parts.hostname in ("localhost", "127.0.0.1", "::1")


MARIADB, MYSQL, MODEL = "mariadb", "mysql", "model"
"""The kinds of server; `model` is contend-load's own, see `model_server`."""

PRODUCTS = {MARIADB: "MariaDB", MYSQL: "MySQL", MODEL: "model server"}


def server_named(cell: Values) -> str:
    """The server of a cell, as named in the experiment: `server.use`, or else a kind."""
    return str(cell["server.use"] or cell["server.kind"])


KIND = Setting.of(
    "server",
    "kind",
    Choice((MARIADB, MYSQL, MODEL)),
    MARIADB,
    "which server a private one is, if server.use names none: mariadb, mysql, or model "
    "(contend's own, no database: the index of sbtest and a segmented key cache, with knobs)",
    need=Need.DATA,
    tried=True,
)


@dataclass(frozen=True)
class Use(Setting):
    """A server by name, so that versions can be compared."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] is not None and not own and not is_dsn(cell[self.path]):
            raise RequestError(
                f"server.use names {cell[self.path]}, and --server a server that runs already",
                hint="Leave --server out, or server.use.",
            )


USE = Use.of(
    "server",
    "use",
    Text(r"[^\x00-\x1f]+", "a server's name or the path of its program, in quotes"),
    None,
    'which server: a private one by name, "mariadb@bookworm" as `contend server get` takes it, '
    "a name as `contend server list` shows it, or the path of a program; or the DSN of one "
    "that runs already (default: a private one of server.kind)",
    need=Need.DATA,
    tried=True,
    decides=(KIND.path,),
    differs=Differs.SERVERS,
)


_PRELOAD = "LD_PRELOAD"


@dataclass(frozen=True)
class Environment(Setting):
    """Variables in addition to the few that every private server gets."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        table = cell[self.path]
        if table and not own:
            raise RequestError(
                f"{self.path} sets {', '.join(table)}, and contend does not start a server that "
                "is not its own",
                hint="Leave --server out to use a private server.",
            )
        # The dynamic loader only warns of a missing library, and continues without it.
        for name in filter(None, re.split("[ :]", str(table.get(_PRELOAD, "")))):
            if "/" in name and not Path(name).is_file():
                raise RequestError(
                    f"{self.path}.{_PRELOAD} names {name}, which is no file",
                    hint="The server would start without it.",
                )

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.environment.update({name: str(value) for name, value in cell[self.path].items()})


ENVIRONMENT = Environment.of(
    "server",
    "env",
    Named(
        "environment variable",
        "an environment variable",
        r"[A-Za-z_][A-Za-z0-9_]*",
        AnyLevel(),
        dashes=False,
    ),
    {},
    "environment variables of a private server, by name",
    need=Need.RESTART,
    tried=True,
)


@dataclass(frozen=True)
class Wrap(Setting):
    """The server's command line follows that of the wrapper."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        command = cell[self.path]
        if not command:
            return
        if not own:
            raise RequestError(
                f"{self.path} = {' '.join(command)!r} starts the server, and contend does not "
                "start a server that is not its own",
                hint="Leave --server out to use a private server.",
            )
        if shutil.which(command[0]) is None:
            raise RequestError(
                f"{self.path} names {command[0]}, which is no program on this machine",
                hint="Install it, or give its whole path.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        program, *arguments = cell[self.path] or [""]
        if program:
            launch.wrap = (shutil.which(program) or program, *arguments)


WRAP = Wrap.of(
    "server",
    "wrap",
    Command(),
    [],
    "a program with its arguments that starts a private server, which stands behind them: "
    '["numactl", "--interleave=all"]; as text it is split as a shell splits it',
    need=Need.RESTART,
    tried=True,
)


@dataclass(frozen=True)
class RedoLogFolder(Setting):
    """For a private server: on a different device, or in memory."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        folder = cell[self.path]
        if not folder:
            return
        if not own:
            raise RequestError(
                f"{self.path} = {shown(folder)} is for the redo log of a private server, and "
                "contend moves none of a server that is not its own",
                hint="Leave --server out to use a private server.",
            )
        if not (Path(folder).is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise RequestError(
                f"{self.path} = {shown(folder)} is no folder that can be written to",
                hint="Make it, or name another one; /dev/shm is in memory.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.redo_log_folder = cell[self.path]


REDO_LOG_FOLDER = RedoLogFolder.of(
    "server",
    "redo_log_folder",
    Text("(/.*)?", 'the whole path of a folder in quotes, or ""'),
    "",
    "where InnoDB's redo log of a private server lies in place of its data folder, in a folder "
    "that is made for it and removed at its end: on another device, or /dev/shm for memory",
    need=Need.RESTART,
)


@dataclass(frozen=True)
class RoundTrip(Setting):
    """A delay line before the server: only the address that clients use changes."""

    def apply(self, target: Target, cell: Values) -> None:
        target.stand_apart(cell[self.path])


ROUND_TRIP = RoundTrip.of(
    "server",
    "round_trip",
    Duration(zero_allowed=True, most="60s"),
    None,
    "how far the client is from the server: the time of a round trip, kept by a delay line "
    "that stands between them; 0 passes the line too (default: no line)",
    need=Need.IN_PLACE,
    differs=Differs.ROUTE,
)
