"""The stage of a private server: contend starts it, restarts it, sets its options, fills it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.datasets import Dataset, engine_options
from contend.errors import ContendError
from contend.lab.control import Control, differing_variables
from contend.lab.stage import Ready, Server
from contend.load import Address
from contend.probes import Expected, Sight
from contend.servers.errors import ServerDied, ServerFailed
from contend.servers.options import as_arguments
from contend.spec import SCRIPT_SCHEMA, CellSpec, DataSpec, Level, may_write
from contend.warm import Table, Warmed, disturbs, warmer_of

if TYPE_CHECKING:
    from contend.servers import Truncated

USER = "root"

Provide = Callable[[DataSpec, Mapping[str, Level], Path], Dataset | None]
"""Put the dataset for (data, server options) into an empty data folder; none, and a data folder
without tables, where a script makes them."""

Prepare = Callable[[CellSpec, Address], None]
"""Let the cell's script make its tables on the server that runs."""


class PrivateStage:
    """One private server, used for one cell after another.

    Args:
        server: not running yet.
        identity: what the record says of the server: kind, version, source.
        provide: fills a data folder.
        prepare: makes the tables of a script.
    """

    def __init__(
        self, server: Server, identity: Mapping[str, Any], provide: Provide, prepare: Prepare
    ) -> None:
        self._server = server
        self._identity = dict(identity)
        self._provide = provide
        self._prepare = prepare
        self._control = Control(server.connect)
        self._dataset: Dataset | None = None
        self._data: DataSpec | None = None
        self._may_be_changed = False
        self._options: dict[str, Level] = {}
        self._truncated: dict[str, Truncated] = {}
        self._differing: dict[frozenset[tuple[str, Level]], dict[str, Any]] = {}
        self._warmed: Warmed | None = None
        self._files_cached: bool | None = None

    def set(self, cell: CellSpec) -> Ready:
        if cell.data != self._data or self._may_be_changed or not self._server.running:
            self._change_data(cell)
        elif self._must_restart(cell):
            self._server.stop()
            self._start(cell)
        else:
            self._change_in_place(cell)
        warmed = self._warm(cell.data)
        ready = self._ready(cell, warmed)
        # Tables of a script's own are the script's to look after; its prepare may take hours.
        self._may_be_changed = may_write(cell.workload) and cell.data.schema != SCRIPT_SCHEMA
        return ready

    def death(self) -> ContendError | None:
        try:
            self._server.check()
        except ServerDied as error:
            self._control.close()
            return error
        except ServerFailed:
            return None  # It does not run because we ended it, or have not started it yet.
        return None

    def close(self) -> None:
        # Its data is a copy that nobody needs any more, so there is nothing to shut down in order.
        self._control.close()
        self._server.kill()

    # --- server and data ---

    def _must_restart(self, cell: CellSpec) -> bool:
        wanted = dict(cell.server.options)
        if wanted == self._options:
            return False
        return cell.server.change != "in_place" or wanted.keys() != self._options.keys()

    def _change_data(self, cell: CellSpec) -> None:
        """A fresh copy of the data, also after the server died, because a crash may have hurt the
        old, and after a run that may have written: the next must find what this one found."""
        as_arguments(
            cell.server.options
        )  # What can never be said is said before minutes of loading.
        self._control.close()
        self._data = None
        self._server.kill()
        self._server.claim()
        self._dataset = self._provide(cell.data, cell.server.options, self._server.data_folder)
        self._start(cell)
        if cell.data.schema == SCRIPT_SCHEMA:
            self._prepare(cell, self._address(cell))
        self._data = cell.data

    def _start(self, cell: CellSpec) -> None:
        self._control.close()
        self._options = {}
        self._differing = {}
        self._warmed = None
        self._files_cached = None
        needed = engine_options(cell.data.engine)
        truncated = self._server.start({**needed, **cell.server.options})
        self._truncated = {one.name: one for one in truncated}
        self._options = dict(cell.server.options)

    def _change_in_place(self, cell: CellSpec) -> None:
        wanted = cell.server.options
        changes = {name: v for name, v in wanted.items() if v != self._options.get(name)}
        if not changes:
            return
        # Until the server has taken all of them, what it runs with is not known.
        self._options = {}
        truncated = self._server.set_global(changes)
        self._truncated = {n: t for n, t in self._truncated.items() if n not in changes}
        self._truncated |= {one.name: one for one in truncated}
        self._options = dict(wanted)
        warmer = warmer_of(cell.data.engine)
        if warmer is not None and disturbs(warmer, changes):
            self._warmed = None

    # --- what the record needs ---

    def _warm(self, data: DataSpec) -> Warmed | None:
        warmer = warmer_of(data.engine)
        folder = self._server.data_folder
        tables = [Table(data.database, name, folder) for name in data.table_names]
        if warmer is not None and self._warmed is None and tables:
            # Files that the memory could not hold are not read again and again.
            if self._files_cached is not False:
                left_out = [table for table in tables if not warmer.warm_files(table)]
                self._files_cached = not left_out
            self._warmed = warmer.warm(self._control.connection(), tables)
        return self._warmed

    def _ready(self, cell: CellSpec, warmed: Warmed | None) -> Ready:
        warmer = warmer_of(cell.data.engine)
        counter = warmer.counter if warmer is not None and warmed and warmed.cache else None
        return Ready(
            address=self._address(cell),
            watch_pid=self._server.pid,
            sight=Sight(self._control.connection(), cell.server.kind, self._server.pid),
            expected=Expected(counter, files_cached=bool(self._files_cached)),
            probes={
                "server": {**self._identity, "change": cell.server.change},
                "variables_that_differ": self._variables_that_differ(),
                "dataset": self._about_data(cell),
                "warmed": asdict(warmed) | {"files": self._files_cached} if warmed else None,
            },
            warnings=tuple(
                {"code": "option-truncated", "message": str(one)}
                for one in self._truncated.values()
            ),
        )

    def _about_data(self, cell: CellSpec) -> dict[str, Any]:
        if self._dataset is None:
            return {"prepared": dict(cell.data.prepare or {})}
        return {
            "key": self._dataset.key,
            # Made for this run alone, which may write to it.
            "fresh": may_write(cell.workload),
            "engine": cell.data.engine,
            "rows": self._dataset.rows,
            "bytes": self._dataset.bytes,
        }

    def _address(self, cell: CellSpec) -> Address:
        return Address(socket=str(self._server.socket), user=USER, database=cell.data.database)

    def _variables_that_differ(self) -> dict[str, Any]:
        # They change only with the options, and asking for all of them takes its time.
        state = frozenset(self._options.items())
        if state not in self._differing:
            self._differing[state] = differing_variables(self._server)
        return self._differing[state]
