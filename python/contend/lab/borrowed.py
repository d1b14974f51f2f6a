"""A server that is not ours: options are set in place and put back, data are added
beside what is there, and nothing is started or stopped.

What is to be put back is in the server's journal before it is changed (see `contend.undo`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pymysql.connections import Connection

from contend.datasets import TablesSeen, entrance
from contend.errors import ContendError, RequestError
from contend.lab.caches import Caches
from contend.lab.events import Listener, Notice
from contend.lab.testbed import Ready, Testbed
from contend.load import LoadDriver
from contend.placement import Placement
from contend.plan import HandlerSocket
from contend.probed import DatasetRecord, RunWarning
from contend.probes import Observed
from contend.servers import Truncated
from contend.servers.client import LONG_S, LazyControl, run_statement
from contend.servers.dsn import PASSWORD_VARIABLE, Dsn
from contend.servers.errors import OptionRejected, ReadOnly, TablesReplaced
from contend.servers.existing import ExistingServer
from contend.servers.options import as_text, normal_name, same_value
from contend.servers.variables import Differing
from contend.settings.model import Launch
from contend.spec import CellSpec, DataSpec, Level
from contend.undo import Journal, put_back, statement_entry, variables
from contend.undo.journal import Entry
from contend.warm.server_list import NoList, ServerHost, host_of

NO_MATTER = frozenset({"skip_grant_tables"})
"""Options that only make a private server reachable; elsewhere they have no meaning."""

KEY_SECRET = "CONTEND_HANDLERSOCKET_SECRET"
"""Holds the secret of HandlerSocket's port for reading; with _WR behind it, of the other."""

DATA_CHANGED = (
    "earlier runs may have written to the tables, which are not loaded anew for each run on a "
    "server that is not contend's own"
)

Provide = Callable[[DataSpec], DatasetRecord]
"""See that the server has the data; what the record says of them."""

Spoil = Callable[[DataSpec], None]
"""Mark the tables as no longer what they were loaded as."""


class BorrowedTestbed(Testbed):
    """A server that a DSN names.

    Args:
        journal: the server's; what is changed is noted there before.
        number: counts the servers of an experiment, if there are several.
        makes_tables: `provide` does; without tables there may be no database either.
        more: as of `Testbed`.
    """

    own = False

    def __init__(
        self,
        server: ExistingServer,
        provide: Provide,
        spoil: Spoil,
        load: LoadDriver,
        journal: Journal,
        listen: Listener,
        number: int = 0,
        *,
        makes_tables: bool = True,
        **more: Any,
    ) -> None:
        super().__init__(listen, **more)
        self._makes_tables = makes_tables
        self._server = server
        self._provide = provide
        self._spoil = spoil
        self._journal = journal
        self._password_variable = f"{PASSWORD_VARIABLE}_{number}" if number else PASSWORD_VARIABLE
        self._identity = server.identity()
        self._now = server.variables()
        self._pid = server.pid()
        self._changed: dict[str, Entry] = {}
        self._noted: list[Entry] = []
        self._asked: dict[str, str] = {}
        self._truncated: dict[str, Truncated] = {}
        self._control = LazyControl(server.connect)
        self._data: DataSpec | None = None
        self._dataset: DatasetRecord = {}
        self._may_be_changed = False
        self._differing: Differing | None = None
        self._caches = Caches()
        self._will_write = False
        self._watched: TablesSeen | None = None
        self._is_age_moot = False
        self.load = load

    def usable(self) -> bool:
        return self._data is not None

    def renew(self, cell: CellSpec, launch: Launch) -> None:
        del launch
        if cell["server.use"] is None and cell["server.kind"] != self._identity.kind:
            raise RequestError(
                f"the experiment is for {cell['server.kind']}, and {self._server.dsn} is "
                f"{self._identity.kind} {self._identity.version}",
                hint=f"`--set server.kind={self._identity.kind}` measures that one.",
            )
        if cell.data == self._data:
            return
        self._caches = Caches()
        self._dataset = self._provide(cell.data)
        self._data = cell.data
        self._may_be_changed = False
        self._watched = TablesSeen(self._server, cell.data)
        self._watched.look()

    def expect_writes(self) -> None:
        data = self._data
        if data is not None and data.table_names and not self._may_be_changed:
            # Before the caches are warmed: it closes the tables.
            self._spoil(data)
            self._caches = Caches()
            if self._watched is not None:
                self._watched.look()
        self._will_write = True

    def remember(self, undos: Sequence[str]) -> None:
        assert self._data is not None
        database = self._database(self._data)
        before, self._noted = self._noted, [statement_entry(undo, database) for undo in undos]
        if len(self._noted) > len(before):
            self._journal.require_held()
        self._journal.replace(before, self._noted)

    def execute(self, statement: str) -> float:
        assert self._data is not None
        try:
            return run_statement(self._server.connect, self._database(self._data), statement)
        finally:
            # It may have altered a table, which is the same for all that.
            if self._watched is not None:
                self._watched.look_again()

    def leave_tables(self) -> None:
        """Whether somebody replaces them is seen elsewhere."""
        self._watched = None

    def _replaced(self) -> TablesReplaced | None:
        """What somebody did to the tables, if anything: the next cell has others."""
        watched = self._watched
        error = watched.replaced(written=self._is_age_moot) if watched is not None else None
        if error is not None:
            self._data = None
        return error

    def disturbed(self, options: frozenset[str]) -> None:
        self._caches.disturbed(options)
        if options:
            self._differing = None

    def tables(self) -> tuple[Connection[Any], str]:
        assert self._data is not None
        database = self._database(self._data) or self._data.database
        return self._server.connect(read_timeout=LONG_S), database

    def place_threads(self, asked: Mapping[str, Placement]) -> Mapping[str, Mapping[str, str]]:
        del asked
        raise RequestError("only threads of private servers can be placed")

    def lock_files(self) -> str:
        raise RequestError("only the files of private servers can be locked in memory")

    def warm(self, how: str) -> None:
        assert self._data is not None
        if (database := self._database(self._data)) is not None:
            self._caches.fill(how, self, database, self._data.table_names)

    # --- what warming needs; see `Warmable` ---

    @property
    def dsn(self) -> Dsn:
        return self._server.dsn

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]:
        return self._server.connect(database, **more)

    def connection(self) -> Connection[Any]:
        return self._control.connection()

    @contextlib.contextmanager
    def journal(self) -> Iterator[Journal]:
        yield self._journal

    def host(self) -> ServerHost | None:
        try:
            return host_of(self._control.connection(), self._server.dsn.socket)
        except NoList:
            return None

    def death(self) -> ContendError | None:
        try:
            self._server.identity()
        except ContendError as error:
            self._control.close()
            return error
        replaced = self._replaced()
        if replaced is not None:
            self._watched = None
        return replaced

    def leave(self) -> None:
        self._control.close()
        self._changed, self._noted = {}, []
        told: list[str] = []
        try:
            put_back(self._journal, self._server, tell=told.append)
        finally:
            if told:
                self._listen(Notice(f"put back on {self._server.dsn}: {', '.join(told)}"))

    # --- options ---

    def set_options(self, options: Mapping[str, Level]) -> None:
        wanted = {normal_name(name): value for name, value in options.items()}
        refused: dict[str, Level] = {}
        for name, value in wanted.items():
            if name in NO_MATTER or self._has(name, value):
                continue
            if name not in self._now:
                raise OptionRejected(
                    f"{self._server.dsn} has no variable {name}.",
                    hint="Leave it out of the experiment for this server.",
                )
            try:
                self._set_one(name, value)
            except ReadOnly:
                refused[name] = value
        if refused:
            raise needs_restart(self._server.dsn, refused, self._now)

    def _set_one(self, name: str, value: Level) -> None:
        before = self._changed.get(name)
        with self._server.connect() as connection:
            entry, cut = variables.change(connection, self._journal, name, value, before)
        self._changed[name] = entry
        self._truncated.pop(name, None)
        if cut is not None:
            self._truncated[name] = cut
        self._asked[name] = as_text(value)
        self._differing = None
        self.disturbed(frozenset({name}))

    def _has(self, name: str, value: Level) -> bool:
        """Whether the server runs with that value, or with what it made of it, already."""
        if name in self._asked:
            return self._asked[name] == as_text(value)
        return name in self._now and same_value(as_text(value), self._now[name])

    # --- what the record needs ---

    def ready(self, cell: CellSpec) -> Ready:
        dsn = self._server.dsn
        database = self._database(cell.data)
        address, env = entrance(dsn, database, variable=self._password_variable)
        address = replace(address, handler_socket=_key_ports(self._now))
        if self._differing is None:
            self._differing = self._server.variables_that_differ()
        changed, self._may_be_changed = (
            self._may_be_changed,
            self._may_be_changed or self._will_write,
        )
        # Statements of such a run may alter the tables.
        self._is_age_moot = self._may_be_changed or bool(cell["server.before_run"])
        self._will_write = False
        if (error := self._replaced()) is not None:
            raise error
        return Ready(
            address=address,
            env=env,
            watch_pid=self._pid,
            observed=Observed(self._control.connection(), self._identity.kind, self._pid),
            expected=self._caches.expected(),
            probes={
                "server": {
                    "kind": self._identity.kind,
                    "version": self._identity.version,
                    "comment": self._identity.comment,
                    "source": str(dsn),
                    "login": self._control.entered,
                    "change": "in_place",
                },
                "variables_that_differ": self._differing,
                "dataset": self._dataset,
                "warmed": self._caches.record(),
            },
            warnings=tuple(self._warnings(changed=changed)),
        )

    def _warnings(self, *, changed: bool) -> Iterator[RunWarning]:
        for option in self._truncated.values():
            yield {"code": "option-truncated", "message": str(option)}
        if changed:
            yield {"code": "data-changed", "message": DATA_CHANGED}

    def database_of(self, data: DataSpec) -> str:
        """Where the tables of these data are, or would be."""
        return self._server.dsn.database or data.database

    def _database(self, data: DataSpec) -> str | None:
        return self._server.dsn.database or (data.database if self._makes_tables else None)


def needs_restart(
    dsn: Dsn, refused: Mapping[str, Level], there: Mapping[str, str], *, compared: str = ""
) -> RequestError:
    """The error for options that a server does not change while it runs.

    Args:
        compared: the one whose values are compared, if any are.
    """
    lines = [
        f"{name}: the experiment wants {as_text(value)}, the server has {there[name]}"
        for name, value in refused.items()
    ]
    take_theirs = " ".join(f"--set server.options.{n}={there[n]}" for n in refused)
    return RequestError(
        f"{dsn} would have to be restarted to change {', '.join(refused)}, "
        "and contend restarts no server that is not its own",
        hint="Leave --server out: private servers are started with each value."
        if compared in refused
        else f"Take the server's own values ({take_theirs}), restart it with the wanted ones "
        "yourself, or leave --server out to use a private server.",
        detail="\n".join(lines),
    )


def _key_ports(variables: Mapping[str, str]) -> HandlerSocket | None:
    """Where HandlerSocket listens for reads and for writes, as the server's variables say it."""
    reads, writes = (variables.get(f"handlersocket_port{end}", "") for end in ("", "_wr"))
    if not reads:
        return None
    sockets: HandlerSocket
    if variables.get("handlersocket_address") == "/":
        sockets = {"socket": reads, "socket_wr": writes}
    else:
        sockets = {"port": int(reads), "port_wr": int(writes or reads)}
    if KEY_SECRET in os.environ:
        sockets["secret_env"] = KEY_SECRET
    if f"{KEY_SECRET}_WR" in os.environ:
        sockets["secret_wr_env"] = f"{KEY_SECRET}_WR"
    return sockets
