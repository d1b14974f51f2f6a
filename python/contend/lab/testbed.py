"""The server a cell runs on, with every setting applied in order."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pymysql.connections import Connection

from contend.errors import ContendError, WorkError, shielded
from contend.experiment import CellSpec, Level
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.before_run import EACH_RUN, NEVER
from contend.experiment.settings.model import Launch, Need, Setting, Target
from contend.host.placement import Placement
from contend.lab.conditions import Conditions
from contend.lab.events import Listener, Notice
from contend.lab.probes import Expected, Observed
from contend.lab.shared_host import SharedHost
from contend.load import Address, AskedMember, Lines, together
from contend.metrics.probed import Probes, RunWarning
from contend.servers.client import StatementFailed
from contend.servers.options import assignment
from contend.servers.sizes import table_sizes
from contend.servers.variables import giving_back, read_global


@dataclass(frozen=True, slots=True)
class Ready:
    """A testbed that is ready for one cell.

    Args:
        address: where contend-load connects.
        env: environment of contend-load; holds the password if there is one.
        watch_pid: the server's process, if it runs on this host.
        members: the servers that form the level, if several; the first is at `address`.
        client: the placement of contend-load.
        probes: facts of the testbed, for the record.
        warnings: marks of the testbed on the cell.
    """

    address: Address
    observed: Observed
    expected: Expected
    env: Mapping[str, str] = field(default_factory=dict)
    watch_pid: int | None = None
    members: tuple[AskedMember, ...] = ()
    client: Placement = field(default_factory=Placement)
    probes: Probes = field(default_factory=Probes)
    warnings: tuple[RunWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class _Undo:
    """How to undo an action of a setting: a statement or a function; None: impossible."""

    setting: Setting
    action: Callable[[], None] | str | None


class Testbed(Target):
    """A server that serves cell after cell, setting by setting; it knows no setting by name. Its
    subclasses, private or not contend's own, define the possible operations.

    Args:
        strict: a failure to undo is an error; otherwise it only discards the copy of the data.
        lines: makes delay lines; None if no cell wants one.
        conditions: checks the tables; None for no checks.
        shared: the host that this and other testbeds are on; None if it is not watched.
    """

    def __init__(
        self,
        listen: Listener,
        settings: Sequence[Setting] = SETTINGS,
        *,
        strict: bool = False,
        lines: Lines | None = None,
        conditions: Conditions | None = None,
        shared: SharedHost | None = None,
    ) -> None:
        self._shared = shared
        self._strict = strict
        self._lines = lines
        self._conditions = conditions
        self._check = NEVER
        self._is_new_copy = False
        self._seen_loaded: list[CellSpec] = []
        self._round_trip_s: float | None = None
        self._session: tuple[str, ...] = ()
        self._listen = listen
        self._settings = tuple(settings)
        self._data_of: CellSpec | None = None
        self._cell: CellSpec | None = None
        self._undos: list[_Undo] = []
        self._stuck: list[str] = []
        self._applied: Setting | None = None
        self._seed = 0
        self._notes: dict[str, object] = {}
        self._shape_launch: Callable[[Launch], None] = lambda _launch: None

    # --- operations on any kind of server ---

    @abstractmethod
    def usable(self) -> bool:
        """Whether it runs, on data in their original state."""

    @abstractmethod
    def renew(self, cell: CellSpec, launch: Launch) -> None:
        """Replace the data, even by the same, and start a server on them."""

    def restart(self, cell: CellSpec, launch: Launch) -> None:
        """Restart the server on the same data. Does nothing to a server that is not contend's
        own."""

    def remember(self, undos: Sequence[str]) -> None:
        """Keep the statements that undo present changes, to be run at the end even if the lab
        dies."""

    def unlock_files(self) -> None:
        """Does nothing if no files are locked."""

    @abstractmethod
    def tables(self) -> tuple[Connection[Any], str]:
        """A connection of its own to the server, and the database of the tables."""

    def unthrottled(self) -> AbstractContextManager[None]:
        """A context in which no CPU quota of contend's limits the server."""
        return nullcontext()

    @abstractmethod
    def disturbed(self, options: frozenset[str]) -> None:
        """The caches that these options size may be empty."""

    def keep_data(self) -> None:
        """Let the next cell use the same tables, although they were written to."""

    @abstractmethod
    def ready(self, cell: CellSpec) -> Ready: ...

    @abstractmethod
    def exit_error(self) -> ContendError | None:
        """How the server ended, if it did without a request; reported once."""

    @abstractmethod
    def leave(self) -> None:
        """Remove all traces of the server that need not be kept."""

    # --- from cell to cell ---

    def start_anew(self, shape_launch: Callable[[Launch], None]) -> None:
        """Let the next cell find a server started for it; `shape_launch` makes the last changes to
        the launch."""
        self._cell = None
        self._shape_launch = shape_launch

    def spoil_data(self) -> None:
        """Let the next cell find new tables, even if nothing wrote to these."""
        if self.own:
            self.expect_writes()

    def set(self, cell: CellSpec, seed: int = 0) -> Ready:
        """Apply all settings of the cell; `seed` is that of the queries of its run."""
        self._seed = seed
        before = self._cell
        need = self._need(cell)
        self._look_back(is_end=need is Need.DATA)
        self._cell = None
        due = [setting for setting in self._settings if self._is_due(setting, before, cell, need)]
        if not self._undo(due, need):
            need, due = Need.DATA, list(self._settings)
        launch = Launch()
        for setting in self._settings:
            setting.launch(cell.values, launch)
        self._shape_launch(launch)
        if self._shared is not None:
            self._shared.bring(launch)
        again = {setting.path for setting in due}
        self._notes = {path: message for path, message in self._notes.items() if path not in again}
        if need is Need.DATA:
            self._data_of = None
            self.renew(cell, launch)
            self._data_of = cell
            self._is_new_copy = True
        elif need is Need.RESTART:
            self.restart(cell, launch)
        try:
            for setting in due:
                self._applied = setting
                if before is not None:
                    self.disturbed(setting.disturbs(before.values, cell.values))
                setting.apply(self, cell.values)
        except BaseException:
            self._give_up()
            raise
        self._cell = cell
        ready = self._with_session(self._apart(self.ready(cell)))
        if self._shared is not None:
            others = self._shared.neighbours
            ready = replace(
                ready,
                observed=replace(ready.observed, others=others),
                warnings=(*ready.warnings, *self._shared.warnings),
            )
        noted = {**self._values_to_note(cell), **self._notes}
        probes: Probes = {**ready.probes, "settings": noted}
        return replace(ready, client=launch.client, probes=probes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            # After Ctrl-C the user does not want to wait for reads of whole tables.
            self.close(look_back=not isinstance(error, KeyboardInterrupt))
        except ContendError as stuck:
            self._listen(Notice(stuck.in_full))

    def close(self, *, look_back: bool = True) -> None:
        """Check the tables a last time, if requested, and remove all traces."""
        # Failures to undo stay in the journal of the server, which tries again and names them.
        try:
            if look_back:
                self._look_back(is_end=True)
        finally:
            with shielded():
                self._end()
        if self._conditions is not None:
            self._conditions.close()

    def _end(self) -> None:
        try:
            self._undo(list(self._settings), Need.DATA if self.own else Need.NOTHING)
        finally:
            if self._lines is not None:
                self._lines.close()
            self.leave()

    # --- operations of settings ---

    def set_globals(self, values: Mapping[str, Level]) -> None:
        connection, _database = self.tables()
        with closing(connection):
            before = {name: read_global(connection, name) for name in values}
        for name, value in values.items():
            self.change(assignment(name, value), giving_back(name, before[name]))

    def set_session(self, values: Mapping[str, Level]) -> None:
        self._session = tuple(assignment(name, value, "SESSION") for name, value in values.items())
        # A refusal of the server is reported once, not by every connection of a load.
        for statement in self._session:
            self.execute(statement)

    def change(self, statement: str, undo: str | None) -> float:
        self.on_undo(undo)
        try:
            return self.execute(statement)
        except BaseException as error:
            # If it was not refused, its effect is unknown.
            if self.own or isinstance(error, StatementFailed):
                self._undos.pop()
                self._remember()
            raise

    def table_sizes(self, *, analyse: bool) -> Mapping[str, int]:
        connection, database = self.tables()
        with closing(connection):
            return table_sizes(connection, database, analyse=analyse and self.own)

    def stand_apart(self, round_trip_s: float | None) -> None:
        self._round_trip_s = round_trip_s

    def see_conditions(self, when: str) -> None:
        self._check = when
        if self._is_new_copy and when != NEVER and not self._is_seen_loaded():
            self._look("loaded")
        self._is_new_copy = False

    def on_undo(self, undo: Callable[[], None] | str | None) -> None:
        assert self._applied is not None
        self._undos.append(_Undo(self._applied, undo))
        self._remember()

    def note(self, path: str, value: object) -> None:
        self._notes[path] = value

    # --- how ---

    def _is_seen_loaded(self) -> bool:
        """Whether tables made in the same way were checked before. Checksums verify each copy, and
        a check can take half a minute through a front that is far from its backends."""
        cell = self._data_of
        if cell is None or not self.own:
            return False
        seen = any(self._between(before, cell) < Need.DATA for before in self._seen_loaded)
        if not seen:
            self._seen_loaded.append(cell)
        return seen

    def _between(self, before: CellSpec, after: CellSpec) -> Need:
        return max(setting.between(before.values, after.values) for setting in self._settings)

    def _look_back(self, *, is_end: bool) -> None:
        """Check the tables after the last run, before they are changed again."""
        if self._cell is not None and (is_end or self._check == EACH_RUN) and self._check != NEVER:
            self._look("end" if is_end else "run")

    def _look(self, when: str) -> None:
        cell = self._cell or self._data_of
        if self._conditions is not None and cell is not None:
            settings = self._values_to_note(cell)
            with self.unthrottled():
                self._conditions.look(self.tables, cell.data, when, settings)

    def _apart(self, ready: Ready) -> Ready:
        """The same server, through a delay line if it is to be far away."""
        if self._round_trip_s is None:
            return ready
        assert self._lines is not None
        before = functools.partial(self._lines.before, round_trip_s=self._round_trip_s)
        line = before(ready.address)
        more = [before(member.address) for member in ready.members]
        lines = {id(each): each for each in (line, *more)}
        observed = replace(ready.observed, line=lambda: together(list(lines.values())))
        members = [
            replace(member, address=each.address)
            for member, each in zip(ready.members, more, strict=True)
        ]
        return replace(ready, address=line.address, members=tuple(members), observed=observed)

    def _with_session(self, ready: Ready) -> Ready:
        if not self._session:
            return ready

        def begun(address: Address) -> Address:
            return replace(address, init_sql=self._session)

        members = tuple(replace(member, address=begun(member.address)) for member in ready.members)
        return replace(ready, address=begun(ready.address), members=members)

    def _need(self, cell: CellSpec) -> Need:
        before = self._cell or self._data_of
        if before is None or not self.usable():
            return Need.DATA
        need = self._between(before, cell)
        # After a cell that could not be set up, the server's settings are unknown.
        return need if self._cell is not None else max(need, Need.RESTART)

    def _is_due(
        self, setting: Setting, before: CellSpec | None, cell: CellSpec, need: Need
    ) -> bool:
        return (
            before is None
            or setting.each_run
            or need >= setting.lasts
            or setting.between(before.values, cell.values) > Need.NOTHING
        )

    def _undo(self, settings: Sequence[Setting], need: Need) -> bool:
        """Undo the changes of these settings, the last first, unless they end with discarded data
        or servers; returns whether the data are in their original state."""
        theirs = [undo for undo in self._undos if undo.setting in settings]
        if not theirs:
            return True
        due = [undo for undo in theirs if not (self.own and need >= undo.setting.lasts)]
        failed: list[ContendError] = []
        for undo in reversed(theirs):
            error = self._undone(undo) if undo in due else None
            self._undos.remove(undo)
            if error is not None:
                failed.append(error)
                self._stuck += [undo.action] if isinstance(undo.action, str) else []
            self._remember()
        if failed and (self._strict or not self.own):
            raise failed[0]
        for error in failed:
            self._listen(Notice(f"{error.message}, so the copy of the data is discarded"))
        return not failed and all(undo.action is not None for undo in due)

    def _undone(self, undo: _Undo) -> ContendError | None:
        try:
            if isinstance(undo.action, str):
                self.execute(undo.action)
            elif undo.action is not None:
                undo.action()
        except ContendError as error:
            failed = WorkError(
                f"{undo.setting.path} could not be undone: {error.message}",
                hint=None if self.own else "To try again, run `contend restore`.",
            )
            failed.__cause__ = error
            return failed
        return None

    def _remember(self) -> None:
        due = [undo.action for undo in self._undos if isinstance(undo.action, str)]
        self.remember([*self._stuck, *due])

    def _give_up(self) -> None:
        """Undo all settings, because the next cell cannot continue from here."""
        if not self._undo(list(self._settings), Need.NOTHING):
            self._data_of = None

    def _values_to_note(self, cell: CellSpec) -> dict[str, object]:
        """The cell's unusual values that neither its plan nor its dataset contains."""
        return {
            setting.path: cell[setting.path]
            for setting in self._settings
            if setting.section not in ("data", "load")
            and setting.path != "workload"
            and cell[setting.path] != setting.key.default
        }
