"""The private server of a level, by kind or by name; its environment, a wrapper such as numactl or
strace, the round trip to it, and whether a profiler samples it under load.
"""

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
from contend.experiment.settings.values import (
    AnyLevel,
    Choice,
    Command,
    Duration,
    Key,
    Text,
    WholeNumber,
    shown,
)
from contend.host.profiler import why_no_profiler

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
    "kind of a private server, if server.use names none: mariadb, mysql, or model (contend's own, "
    "not a database: the index of sbtest and a segmented key cache, with knobs)",
    need=Need.DATA,
    tried=True,
)


@dataclass(frozen=True)
class Use(Setting):
    """A server by name, so that versions can be compared."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] is not None and not own and not is_dsn(cell[self.path]):
            raise RequestError(
                f"server.use names {cell[self.path]}, but --server names a running server",
                hint="Leave one of them out.",
            )


USE = Use.of(
    "server",
    "use",
    Text(r"[^\x00-\x1f]+", "a server's name or the path of its program, in quotes"),
    None,
    'the server: a private one by name ("mariadb@bookworm" as for `contend server get`, or a name '
    "from `contend server list`) or by the path of its program, or the DSN of a running one "
    "(default: a private one of server.kind)",
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
                f"{self.path} sets {', '.join(table)}, which needs a private server",
                hint="Leave --server out to use a private server.",
            )
        # The dynamic loader only warns of a missing library, and continues without it.
        for name in filter(None, re.split("[ :]", str(table.get(_PRELOAD, "")))):
            if "/" in name and not Path(name).is_file():
                raise RequestError(
                    f"{self.path}.{_PRELOAD} names {name}, which is not a file",
                    hint="Correct the path: the server would start without the library.",
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
                f"{self.path} = {' '.join(command)!r} needs a private server",
                hint="Leave --server out to use a private server.",
            )
        if shutil.which(command[0]) is None:
            raise RequestError(
                f"{self.path} names {command[0]}, which is not a program on this machine",
                hint="Install it, or write its whole path.",
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
    "a program with arguments that starts a private server, whose command line follows them: "
    '["numactl", "--interleave=all"]; text is split like in a shell',
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
                f"{self.path} = {shown(folder)} needs a private server",
                hint="Leave --server out to use a private server.",
            )
        if not (Path(folder).is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise RequestError(
                f"{self.path} = {shown(folder)} is not a writable folder",
                hint="Create it, or name a different one; /dev/shm is in memory.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.redo_log_folder = cell[self.path]


REDO_LOG_FOLDER = RedoLogFolder.of(
    "server",
    "redo_log_folder",
    Text("(/.*)?", 'the whole path of a folder in quotes, or ""'),
    "",
    "folder for InnoDB's redo log of a private server, such as one on a different device, or "
    "/dev/shm for memory. contend makes a folder in it and removes that at the end",
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
    "round trip between client and server, kept by a delay line between them; 0 still uses the "
    "line (default: no line)",
    need=Need.IN_PLACE,
    differs=Differs.ROUTE,
)


HZ_MAX = 4_999


@dataclass(frozen=True)
class ProfilerSetting(Setting):
    """Its cost is not known beforehand: it interrupts working threads, including those that hold a
    lock. A level with it is compared with a level that has it too."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        del own
        if cell[self.path] and (why := why_no_profiler()) is not None:
            raise RequestError(
                f"{self.path} = {cell[self.path]}: servers cannot be profiled here: {why}",
                hint=f"Leave {self.path} (or --profile) out.",
            )


PROFILER_HZ = ProfilerSetting(
    "server",
    Key(
        "profiler_hz",
        WholeNumber(0, HZ_MAX),
        0,
        "perf's samples of the loaded server per second of CPU time, which show its functions; 0: "
        "none. Profiling slows down the server, and may change the comparison",
    ),
)
