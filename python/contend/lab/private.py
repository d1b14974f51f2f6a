"""Private servers: contend starts them, restarts them, sets their options, fills them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from contend.data import Dataset, engine_options
from contend.errors import ContendError
from contend.experiment import CellSpec, DataSpec, Level, imported_name
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.before_run import COLD_STARTS
from contend.experiment.settings.model import Launch, Setting
from contend.host.page_cache import LockedFiles
from contend.host.placement import Placement, look
from contend.host.placement.cpus import layout
from contend.host.placement.groups import lifted
from contend.lab.caches import Caches, ColdStart, drop_files, files_of
from contend.lab.events import Listener
from contend.lab.probes import Observed, ObservedMember
from contend.lab.testbed import Ready, Testbed
from contend.load import Address, AskedMember, LoadDriver, MemberLines, plan_of
from contend.metrics.plan import HandlerSocket
from contend.metrics.probed import (
    DatasetRecord,
    DelayLine,
    ModelCounters,
    Probes,
    RunWarning,
    ServerIdentity,
    ServerRecord,
    Warming,
)
from contend.servers import Dsn, PrivateServer, Truncated
from contend.servers.client import LONG_S, LazyControl, run_statement
from contend.servers.deployment import Deployment, Member
from contend.servers.errors import ServerDied, ServerFailed
from contend.servers.undo import Journal
from contend.servers.variables import Differing
from contend.units import format_size
from contend.warm.server_list import ServerHost

USER = "root"

OF_INNODB = frozenset({".ibd"})
"""Files that a server keeps in memory of its own."""

ONE_NODE = (
    "only one NUMA node of this host has memory, so a memory policy has no effect: the measured "
    "difference is that of the server's CPUs"
)

Provide = Callable[[DataSpec, Mapping[str, Level], Path], Dataset | None]
"""Put the dataset for (data, server options) into the empty data folder of a server; nothing if the
server's own workload makes the tables."""

Prepare = Callable[[CellSpec, Address], None]
"""Make the tables that the data folder lacks, on the running server."""


@dataclass(frozen=True, slots=True)
class PrivateProgram:
    """Private servers that a cell runs on, usually one.

    Args:
        deployment: stopped until a cell wants it.
        identity: for the record: kind, version, source.
    """

    deployment: Deployment
    identity: ServerIdentity
    provide: Provide


class MemberToWarm:
    """One of several servers, for filling its caches."""

    def __init__(self, place: PrivateTestbed, member: Member) -> None:
        self._server = member.server
        self.load = place.load
        self.connection = place.control_of(member)

    @property
    def dsn(self) -> Dsn:
        return Dsn(user=USER, socket=self._server.socket)

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]:
        return self._server.connect(database, **more)

    def journal(self) -> Journal:
        return Journal.open(self._server.data_folder.parent / "undo", str(self.dsn))

    def host(self) -> ServerHost:
        return ServerHost(self._server.data_folder)


class PrivateTestbed(Testbed):
    """Private servers; those of one level work at a time.

    Args:
        prepare: makes the tables that the data folder lacks; None if it lacks none.
        between: lines between the servers of one level; None if no cell wants any.
        more: see `Testbed`.
    """

    own = True

    def __init__(
        self,
        program_of: Callable[[CellSpec], PrivateProgram],
        load: LoadDriver,
        listen: Listener,
        settings: Sequence[Setting] = SETTINGS,
        *,
        prepare: Prepare | None = None,
        between: MemberLines | None = None,
        **more: Any,
    ) -> None:
        super().__init__(listen, settings, **more)
        self._between_members = between
        self._program_of = program_of
        self._prepare = prepare
        self.load = load
        self._program: PrivateProgram | None = None
        self._control = LazyControl(lambda **more: self._server.connect(**more))
        self._controls: dict[str, LazyControl] = {}
        """Copies it to the other members, by their names."""
        self._dataset: Dataset | None = None
        self._data = DataSpec()
        self._stale = True
        self._options: dict[str, Level] = {}
        self._truncated: dict[str, Truncated] = {}
        self._differing: dict[frozenset[tuple[str, Level]], Differing] = {}
        self._caches = Caches()
        self._variables: dict[str, str] = {}
        self._recorded: set[str] = set()
        self._started: CellSpec | None = None
        self._launch = Launch()
        self._warming: Warming | None = None
        self._locked: LockedFiles | None = None

    @property
    def _deployment(self) -> Deployment:
        assert self._program is not None
        return self._program.deployment

    @property
    def _server(self) -> PrivateServer:
        return self._deployment.entry

    def usable(self) -> bool:
        return not self._stale and self._deployment.running

    def renew(self, cell: CellSpec, launch: Launch) -> None:
        """A fresh copy of the data, which every run must find in the same state: after a run that
        may have written, and after a crash, which may have damaged the old copy."""
        program = self._program_of(cell)
        entry = program.deployment.entry
        # Impossible requests are refused before minutes of loading.
        for options in (launch.options, *launch.by_kind.values()):
            entry.kind.option_arguments(options, entry.binary)
        self._stale = True
        self.leave()
        self._program = program
        deployment, options = program.deployment, cell["server.options"]
        deployment.claim()
        self._dataset = None
        for member in reversed(deployment.members):
            data = deployment.data_of(member, cell.data)
            if data is not None:
                self._dataset = program.provide(data, options, member.server.data_folder)
        self._controls = {
            member.name: LazyControl(member.server.connect) for member in deployment.others
        }
        self._data = cell.data
        self._start(cell, launch)
        if self._prepare is not None:
            self._prepare(cell, self._address())
        self._stale = False

    def restart(self, cell: CellSpec, launch: Launch) -> None:
        self._deployment.stop()
        self._start(cell, launch)

    def expect_writes(self) -> None:
        self._stale = True

    def keep_data(self) -> None:
        self._stale = False

    def execute(self, statement: str) -> float:
        return run_statement(self._server.connect, self.database, statement)

    def exit_error(self) -> ContendError | None:
        if self._program is None:
            return None
        try:
            self._deployment.check()
        except ServerDied as error:
            self._close_controls()
            return error
        except ServerFailed:
            return None  # It is stopped because contend ended it, or has not started it yet.
        return None

    def place_threads(self, placements: Mapping[str, Placement]) -> Mapping[str, Mapping[str, str]]:
        return self._server.place_threads(placements)

    def lock_files(self) -> str:
        self.unlock_files()
        folders = [each.server.data_folder / self.database for each in self._deployment.members]
        paths = (path for folder in folders for path in files_of(folder))
        files = (path for path in paths if path.suffix not in OF_INNODB)
        self._locked = LockedFiles(files)
        return format_size(self._locked.bytes)

    def unlock_files(self) -> None:
        if self._locked is not None:
            self._locked.close()
        self._locked = None

    def leave(self) -> None:
        # The next server may have different files.
        self.unlock_files()
        # Its copy of the data is no longer needed, so a clean shutdown is unnecessary.
        self._close_controls()
        if self._program is not None:
            self._deployment.kill()
        if self._between_members is not None:
            self._between_members.close()

    def _close_controls(self) -> None:
        for control in (self._control, *self._controls.values()):
            control.close()

    def _start(self, cell: CellSpec, launch: Launch) -> None:
        self._close_controls()
        self.unlock_files()
        self._options = {}
        self._differing = {}
        self._caches = Caches()
        self._started, self._launch, self._warming = cell, launch, None
        for member in self._deployment.members:
            member.server.confined = imported_name(cell.data.schema) is not None
            member.server.wrap = launch.wrap
            member.server.environment = launch.environment
            member.server.arguments = tuple(launch.arguments)
            member.server.placement = launch.placement
            member.server.redo_log_folder = launch.redo_log_folder
            if launch.from_disk:
                drop_files(member.server.data_folder)
        assert self._program is not None
        requested = launch.options_of(self._program.identity["kind"])
        options = {**engine_options(cell.data.engine), **requested}
        truncated = self._deployment.start(options, cell.data, self._lines_between(launch))
        self._variables = self._all_variables(cell, requested)
        self._truncated = {changed.name: changed for changed in truncated}
        self._options = dict(cell["server.options"])

    def _lines_between(self, launch: Launch) -> MemberLines | None:
        if self._between_members is None or not self._deployment.others:
            return None
        return self._between_members.apart(launch.member_round_trip_s)

    def set_options(self, options: Mapping[str, Level]) -> None:
        changes = {n: value for n, value in options.items() if value != self._options.get(n)}
        if not changes:
            return
        truncated = self._deployment.set_global(changes)
        self._truncated = {n: t for n, t in self._truncated.items() if n not in changes}
        self._truncated |= {changed.name: changed for changed in truncated}
        self._options = dict(options)

    # --- caches ---

    def disturbed(self, options: frozenset[str]) -> None:
        self._caches.disturbed(options)

    def control_of(self, member: Member) -> Callable[[], Connection[Any]]:
        """Opens the control connection to a member."""
        return self._controls.get(member.name, self._control).connection

    def unthrottled(self) -> contextlib.AbstractContextManager[None]:
        return lifted(
            member.server.pid for member in self._deployment.members if member.server.running
        )

    def tables(self) -> tuple[Connection[Any], str]:
        return self._server.connect(read_timeout=LONG_S), self._data.database

    def warm(self, how: str) -> None:
        if self._deployment.others:
            # Several servers have no single warm state, and no run relies on it.
            for member in self._deployment.members:
                if member.role != "front":
                    Caches().fill(how, MemberToWarm(self, member), self.database, self._tables)
        elif self._server.kind.computes_rows:
            self._caches.load_indexes(self._tables, self.execute)
        elif how not in COLD_STARTS:
            self._caches.fill(how, self, self.database, self._tables)
        elif self._data.engine.lower() == "innodb":
            self._warming = ColdStart(self, self._seed).warm(how)

    # --- for warming; see `Warmable`, `ColdStart` ---

    @property
    def dsn(self) -> Dsn:
        return Dsn(user=USER, socket=self._server.socket)

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]:
        return self._server.connect(database, **more)

    def journal(self) -> Journal:
        return Journal.open(self._server.data_folder.parent / "undo", str(self.dsn))

    def host(self) -> ServerHost:
        return ServerHost(self._server.data_folder)

    @property
    def database(self) -> str:
        """The database of the tables: a dump has a database of its own."""
        database = None if self._dataset is None else self._dataset.database
        return database or self._data.database

    @property
    def kind(self) -> str:
        assert self._program is not None
        return self._program.identity["kind"]

    def connection(self) -> Connection[Any]:
        return self._control.connection()

    def start_cold(self) -> None:
        assert self._started is not None
        self.restart(self._started, self._launch)

    def rehearse(self, seed: int) -> None:
        """Run the queries of a run with this seed."""
        assert self._started is not None
        plan = plan_of(self._started, self._address(), seed=seed, watch_pid=None)
        self.load.run(plan, env={}, on_event=lambda _event: None)

    # --- for the record ---

    def variables(self) -> dict[str, str]:
        """Every variable of the server that takes the queries."""
        return self._server.variables()

    def ready(self, cell: CellSpec) -> Ready:
        program = self._program
        assert program is not None
        self._require_healthy()
        variables, self._variables = self._variables, {}
        server: ServerRecord = {
            "kind": program.identity["kind"],
            "version": program.identity["version"],
            "source": program.identity["source"],
            "change": cell["server.change"],
        }
        if idle := self._server.kind.without_effect(self._server.options):
            server["without_effect"] = idle
        probes: Probes = {
            "server": server,
            "variables_that_differ": self._variables_that_differ(cell["server.globals"]),
            "dataset": self._about_data(cell),
            "warmed": self._caches.record(),
        }
        if variables:
            probes["variables"] = variables
        if self._launch.placement or self._launch.threads:
            probes["placement"] = {"server": look.seen(self._server.pid)}
        if self._warming is not None:
            probes["warming"] = self._warming
        return Ready(
            address=self._address(),
            watch_pid=self._server.pid,
            members=self._asked_members(),
            observed=Observed(
                self._control.connection(),
                self.kind,
                self._server.pid,
                member_line=self._member_line(),
                locks=self._counted,
                throttled_s=self._server.throttled_s,
                members=self._observed_members(),
            ),
            expected=self._caches.expected(),
            probes=probes,
            warnings=tuple(self._warnings()),
        )

    def _require_healthy(self) -> None:
        try:
            self._deployment.require_healthy(self._data)
        except ContendError:
            # If they are wrong in any way, the next cell gets different ones.
            self._stale = True
            raise

    def _asked_members(self) -> tuple[AskedMember, ...]:
        members = self._deployment.members if self._deployment.others else ()
        return tuple(
            AskedMember(
                member.name,
                replace(self._address(), socket=str(member.server.socket)),
                member.server.pid,
                member.owns,
                reaches_all=member.role != "backend",
            )
            for member in members
        )

    def _observed_members(self) -> tuple[ObservedMember, ...]:
        members = self._deployment.members if self._deployment.others else ()
        return tuple(
            ObservedMember(
                member.name,
                member.role,
                self._controls.get(member.name, self._control).connection(),
                member.server.pid,
                member.server.throttled_s,
            )
            for member in members
        )

    def _member_line(self) -> Callable[[], DelayLine | None] | None:
        lines = self._between_members
        is_apart = lines is not None and self._launch.member_round_trip_s is not None
        return lines.asker() if lines is not None and is_apart else None

    def _counted(self) -> ModelCounters | None:
        return self._server.kind.counted(self._server.pid, self._server.log_path)

    def _warnings(self) -> Iterator[RunWarning]:
        for changed in self._truncated.values():
            yield {"code": "option-truncated", "message": str(changed)}
        if self._launch.placement.memory not in (None, "default") and len(layout().memory) == 1:
            yield {"code": "one-node", "message": ONE_NODE}
        for message in self._server.misplaced:
            yield {"code": "placement-differs", "message": message}
        if (half := self._deployment.unsafe()) is not None:
            yield {"code": "not-atomic", "message": half}

    def _all_variables(self, cell: CellSpec, requested: Mapping[str, Level]) -> dict[str, str]:
        """Every variable of a server compared with others; none if an earlier run recorded it."""
        program = self._program
        assert program is not None
        state = f"{program.identity} {sorted(requested.items())}"
        if cell["server.use"] is None or state in self._recorded:
            return {}
        self._recorded.add(state)
        return self.variables()

    def _about_data(self, cell: CellSpec) -> DatasetRecord:
        if self._dataset is None:
            return {}
        about: DatasetRecord = {
            "key": self._dataset.key,
            # Made for this run alone, which may write to it.
            "fresh": self._stale,
            "engine": self._dataset.engines or cell.data.engine,
            "rows": self._dataset.rows,
            "bytes": self._dataset.bytes,
        }
        if cell.data.prepare is not None:
            about["prepared"] = dict(cell.data.prepare)
        if self._dataset.tables:
            about["tables"] = len(self._dataset.tables)
        return about

    def _address(self) -> Address:
        keys: HandlerSocket | None = None
        if (sockets := self._server.key_sockets) is not None:
            keys = {"socket": str(sockets[0]), "socket_wr": str(sockets[1])}
        return Address(
            socket=str(self._server.socket), user=USER, database=self.database, handler_socket=keys
        )

    @property
    def _tables(self) -> Sequence[str]:
        if self._dataset is not None and self._dataset.tables:
            return [table.name for table in self._dataset.tables]
        return self._data.table_names

    def _variables_that_differ(self, variables: Mapping[str, Level]) -> Differing:
        # They change only with the options and other settings, and reading all of them takes time.
        state = frozenset({**self._options, **variables}.items())
        if state not in self._differing:
            self._differing[state] = self._server.variables_that_differ()
        return self._differing[state]
