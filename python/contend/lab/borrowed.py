"""A server that is not contend's own: options are set in place and restored, data are added next to
existing ones, and nothing is started or stopped.

Each change is recorded in the server's journal first (see `servers/undo`). Such a cluster is one
level: every operation on one server is repeated on each of its members.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pymysql.connections import Connection

from contend.data import TablesSeen, entrance
from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import CellSpec, DataSpec, Experiment, Level
from contend.experiment.settings.model import Launch
from contend.experiment.settings.topology import BACKEND, FRONT, NODE
from contend.host.placement import Placement
from contend.lab.caches import Caches
from contend.lab.events import Listener, Notice
from contend.lab.probes import Observed, ObservedMember
from contend.lab.testbed import Ready, Testbed
from contend.load import AskedMember, LoadDriver
from contend.metrics.plan import HandlerSocket
from contend.metrics.probed import DatasetRecord, MemberServer, RunWarning, ServerRecord
from contend.servers import Truncated
from contend.servers.client import LONG_S, LazyControl, run_statement
from contend.servers.deployment import last_keys
from contend.servers.dsn import PASSWORD_VARIABLE, Dsn
from contend.servers.errors import OptionRejected, ReadOnly, TablesReplaced
from contend.servers.existing import ExistingServer
from contend.servers.options import as_text, normal_name, same_value
from contend.servers.topologies.galera import status_of, why_not_synced
from contend.servers.topologies.spider import NOT_ATOMIC, has_warehouse
from contend.servers.undo import Journal, put_back, statement_entry, variables
from contend.servers.undo.journal import Entry
from contend.servers.variables import Differing
from contend.warm.server_list import NoList, ServerHost, host_of

NO_MATTER = frozenset({"skip_grant_tables"})
"""Options that only make a private server reachable; elsewhere they have no meaning."""

KEY_SECRET = "CONTEND_HANDLERSOCKET_SECRET"
"""Holds the secret of HandlerSocket's read port; with the suffix _WR, of its write port."""

DATA_CHANGED = (
    "earlier runs may have changed the tables; on your own server contend does not reload them for "
    "each run"
)

Provide = Callable[[DataSpec], DatasetRecord]
"""Make sure that the server has the data; returns the facts for the record."""

Spoil = Callable[[DataSpec], None]
"""Mark the tables as changed since loading."""


class BorrowedTestbed(Testbed):
    """A server named by a DSN.

    Args:
        journal: the server's; changes are recorded there first.
        number: counts the servers of an experiment, if there are several.
        makes_tables: `provide` does; without tables there may be no database either.
        more: see `Testbed`.
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
        self._process = server.process()
        self._changed: dict[str, Entry] = {}
        self._noted: list[Entry] = []
        self._requested: dict[str, str] = {}
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
                f"the experiment needs {cell['server.kind']}, but {self._server.dsn} is "
                f"{self._identity.kind} {self._identity.version}",
                hint=f"To measure this server, add `--set server.kind={self._identity.kind}`.",
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
            # It may have altered a table, which still counts as the same table.
            if self._watched is not None:
                self._watched.look_again()

    def leave_tables(self) -> None:
        """A different testbed checks whether they are replaced."""
        self._watched = None

    def _replaced(self) -> TablesReplaced | None:
        """The error if others replaced the tables; the next cell gets new ones."""
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

    def place_threads(self, placements: Mapping[str, Placement]) -> Mapping[str, Mapping[str, str]]:
        del placements
        raise RequestError("only threads of private servers can be placed")

    def lock_files(self) -> str:
        raise RequestError("only the files of private servers can be locked in memory")

    def warm(self, how: str) -> None:
        assert self._data is not None
        if (database := self._database(self._data)) is not None:
            self._caches.fill(how, self, database, self._data.table_names)

    # --- for warming; see `Warmable` ---

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

    def exit_error(self) -> ContendError | None:
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
        reverted: list[str] = []
        try:
            put_back(self._journal, self._server, tell=reverted.append)
        finally:
            if reverted:
                self._listen(Notice(f"reverted on {self._server.dsn}: {', '.join(reverted)}"))

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
                    hint="Remove it from the experiment for this server.",
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
        self._requested[name] = as_text(value)
        self._differing = None
        self.disturbed(frozenset({name}))

    def _has(self, name: str, value: Level) -> bool:
        if name in self._requested:
            return self._requested[name] == as_text(value)
        return name in self._now and same_value(as_text(value), self._now[name])

    # --- for the record ---

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
            watch_pid=self._process.pid,
            observed=Observed(self._control.connection(), self._identity.kind, self._process.pid),
            expected=self._caches.expected(),
            probes={
                "server": self._recorded(),
                "variables_that_differ": self._differing,
                "dataset": self._dataset,
                "warmed": self._caches.record(),
            },
            warnings=tuple(self._warnings(changed=changed)),
        )

    def _recorded(self) -> ServerRecord:
        record: ServerRecord = {
            "kind": self._identity.kind,
            "version": self._identity.version,
            "comment": self._identity.comment,
            "source": str(self._server.dsn),
            "login": self._control.entered,
            "change": "in_place",
        }
        if self._process.why_not:
            record["without_process"] = self._process.why_not
        return record

    def _warnings(self, *, changed: bool) -> Iterator[RunWarning]:
        for option in self._truncated.values():
            yield {"code": "option-truncated", "message": str(option)}
        if changed:
            yield {"code": "data-changed", "message": DATA_CHANGED}

    def database_of(self, data: DataSpec) -> str:
        """The database of these data, whether it exists or not."""
        return self._server.dsn.database or data.database

    def _database(self, data: DataSpec) -> str | None:
        return self._server.dsn.database or (data.database if self._makes_tables else None)


def needs_restart(
    dsn: Dsn, refused: Mapping[str, Level], there: Mapping[str, str], *, compared: str = ""
) -> RequestError:
    """The error for options that a server cannot change while it runs.

    Args:
        compared: the option whose values are compared, if any.
    """
    lines = [
        f"{name}: the experiment needs {as_text(value)}, the server has {there[name]}"
        for name, value in refused.items()
    ]
    take_theirs = " ".join(f"--set server.options.{n}={there[n]}" for n in refused)
    return RequestError(
        f"changing {', '.join(refused)} requires a restart of {dsn}, "
        "and contend restarts only its own servers",
        hint="Remove --server: private servers are started with each value."
        if compared in refused
        else f"Use the server's own values ({take_theirs}), restart it yourself with the required "
        "ones, or remove --server to use a private server.",
        detail="\n".join(lines),
    )


def _key_ports(variables: Mapping[str, str]) -> HandlerSocket | None:
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


_OF_FRONTS = "spider_"


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """One server of a cluster that is not contend's own.

    Args:
        owns: the last of its own warehouses; None if it owns none.
    """

    name: str
    role: str
    server: ExistingServer
    owns: int | None = None


def cluster_of(
    servers: Sequence[tuple[str, str, ExistingServer]], experiment: Experiment
) -> list[ClusterMember]:
    """Members by name, role and server; each owner has the same number of warehouses."""
    owners = [name for name, role, _ in servers if role != FRONT]
    warehouses = experiment.base["data.warehouses"] if servers else 0
    owned = dict(zip(owners, last_keys(warehouses, len(owners)), strict=True)) if owners else {}
    return [ClusterMember(name, role, server, owned.get(name)) for name, role, server in servers]


def require_as_one(members: Sequence[ClusterMember]) -> None:
    """Check that all servers answer, have one version and, if they are nodes, form one cluster;
    raises an error that names the failing one."""
    versions: dict[str, str] = {}
    for member in members:
        try:
            identity = member.server.identity()
        except ContendError as error:
            raise WorkError(
                f"{member.name} of the cluster does not answer: {error.message}",
                hint=error.hint or "Nothing was started or changed.",
            ) from error
        versions[member.name] = f"{identity.kind} {identity.version}"
    if len(set(versions.values())) > 1:
        listed = ", ".join(f"{name} is {version}" for name, version in versions.items())
        raise RequestError(
            f"the servers of the cluster have different versions: {listed}",
            hint="Install one version on all of them: a difference would affect the result.",
        )
    require_synced(members)


def require_synced(members: Sequence[ClusterMember]) -> None:
    """Check that each node takes queries and sees all others; raises WorkError."""
    nodes = [member for member in members if member.role == NODE]
    for node in nodes:
        with node.server.connect() as connection:
            why = why_not_synced(status_of(connection), len(nodes))
        if why is not None:
            raise WorkError(
                f"{node.name} of the {len(nodes)} nodes of the cluster cannot be measured: {why}",
                hint="See its error log; contend does not start or stop servers there.",
            )


def require_rows(members: Sequence[ClusterMember], database: str) -> None:
    """Check that each backend has the rows of its last warehouse, and that each front reaches them;
    raises RequestError."""
    for backend in (member for member in members if member.role == BACKEND):
        for server in (backend, *(member for member in members if member.role == FRONT)):
            with server.server.connect() as connection:
                found = has_warehouse(connection, database, backend.owns or 0)
            if not found:
                raise RequestError(
                    f"{server.name} has no warehouse {backend.owns} in {database}; it belongs to "
                    f"{backend.name}",
                    hint="Load the data yourself (docs/guides/clusters.md): contend loads nothing "
                    "into your own backends and creates no tables on their fronts.",
                )


class ClusterTestbed(BorrowedTestbed):
    """Members; the first one serves callers that know only one server.

    Args:
        others: the testbeds of the remaining members, in their order.
        first: see `BorrowedTestbed`.
    """

    def __init__(
        self,
        members: Sequence[ClusterMember],
        others: Sequence[BorrowedTestbed],
        *first: Any,
        **more: Any,
    ) -> None:
        super().__init__(*first, **more)
        self._members = tuple(members)
        self._others = tuple(others)

    def usable(self) -> bool:
        return super().usable() and all(other.usable() for other in self._others)

    def renew(self, cell: CellSpec, launch: Launch) -> None:
        super().renew(cell, launch)
        for other in self._others:
            other.renew(cell, launch)
            # Changes to the first one's tables, also contend's own, are made to theirs.
            other.leave_tables()
        require_rows(self._members, self.database_of(cell.data))

    def set_options(self, options: Mapping[str, Level]) -> None:
        plain = {n: v for n, v in options.items() if not normal_name(n).startswith(_OF_FRONTS)}
        wanted = [plain if member.role == BACKEND else options for member in self._members]
        super().set_options(wanted[0])
        for other, own in zip(self._others, wanted[1:], strict=True):
            other.set_options(own)

    def warm(self, how: str) -> None:
        first, *others = self._members
        if first.role != FRONT:
            super().warm(how)
        for member, other in zip(others, self._others, strict=True):
            if member.role != FRONT:
                other.warm(how)

    def disturbed(self, options: frozenset[str]) -> None:
        super().disturbed(options)
        for other in self._others:
            other.disturbed(options)

    def ready(self, cell: CellSpec) -> Ready:
        require_synced(self._members)
        every = [super().ready(cell), *(other.ready(cell) for other in self._others)]
        entry, both = every[0], list(zip(self._members, every, strict=True))
        return replace(
            entry,
            env={name: value for ready in every for name, value in ready.env.items()},
            members=tuple(_measured_member(member, ready) for member, ready in both),
            observed=replace(
                entry.observed,
                members=tuple(
                    ObservedMember(
                        member.name, member.role, ready.observed.connection, ready.watch_pid
                    )
                    for member, ready in both
                ),
            ),
            probes={
                **entry.probes,
                "member_servers": [_recorded(member, ready) for member, ready in both],
            },
            warnings=tuple(self._of_all(every)),
        )

    def _of_all(self, every: Sequence[Ready]) -> Iterable[RunWarning]:
        for ready in every:
            yield from ready.warnings
        fronts = [member.server for member in self._members if member.role == FRONT]
        if any(front.variables().get("spider_internal_xa") == "OFF" for front in fronts):
            yield {"code": "not-atomic", "message": NOT_ATOMIC}

    def exit_error(self) -> ContendError | None:
        errors = [super().exit_error, *(other.exit_error for other in self._others)]
        for member, exit_error in zip(self._members, errors, strict=True):
            if (error := exit_error()) is not None:
                return WorkError(f"{member.name} has ended: {error.message}", hint=error.hint)
        return None

    def leave(self) -> None:
        # Leave each one, even if another fails.
        with contextlib.ExitStack() as stack:
            for other in reversed(self._others):
                stack.callback(other.leave)
            stack.callback(super().leave)


def _measured_member(member: ClusterMember, ready: Ready) -> AskedMember:
    return AskedMember(
        member.name,
        ready.address,
        ready.watch_pid,
        member.owns,
        reaches_all=member.role != BACKEND,
    )


def _recorded(member: ClusterMember, ready: Ready) -> MemberServer:
    return {
        "name": member.name,
        "role": member.role,
        "server": ready.probes["server"],
        "variables_that_differ": ready.probes["variables_that_differ"],
    }
