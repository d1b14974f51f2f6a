"""Tries every start of an experiment before anything is loaded: starts a private server on an empty
folder, and asks a server that is not contend's own whether it would take the options.

Options that a server rejects, and mistakes in statements of `setup` and of the workload, appear
there within a second or two; with the data they would appear after minutes of loading, or in the
middle of the night. Accepted starts are not tried again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from contend.errors import ContendError, RequestError, did_you_mean
from contend.experiment import SCRIPT_SCHEMA, CellSpec, Experiment, Level, cell_specs, imported_name
from contend.experiment.settings import SETTINGS, launch_of
from contend.experiment.settings.model_server import is_model
from contend.experiment.settings.options import PROFILE
from contend.experiment.settings.own_statements import own_statements
from contend.lab.borrowed import NO_MATTER, needs_restart
from contend.lab.events import Listener, Notice
from contend.lab.private import PrivateProgram, PrivateTestbed
from contend.lab.statements import (
    Unprepared,
    counters_of,
    refuse_unknown_counters,
    refuse_unprepared,
)
from contend.load import Address, FillProcess, LoadProcess
from contend.metrics.probed import ServerIdentity
from contend.servers.client import StatementFailed, fetch
from contend.servers.errors import OptionRejected, ReadOnly
from contend.servers.existing import ExistingServer
from contend.servers.options import (
    as_text,
    normal_name,
    refuse_outside,
    same_value,
    variable_of,
)
from contend.servers.trial import tables_in
from contend.servers.variables import read_all, rehearse

TRIED = tuple(setting for setting in SETTINGS if setting.tried)
_SETUP = "setup"
_OPTIONS = "server.options."
_STATEMENTS = (_SETUP, "server.globals", "server.session", "server.before_run")

_SHOWN = 60
"""Number of characters of a value that are shown: an optimizer_switch has a thousand."""

ProgramOf = Callable[[CellSpec], PrivateProgram]


def try_starts(
    experiment: Experiment,
    program_of: ProgramOf,
    *,
    load: Path,
    kept: Path,
    listen: Listener,
    exact: bool = False,
    only: CellSpec | None = None,
) -> None:
    """Start a server with the options of each cell, or of one, on an empty folder.

    Args:
        program_of: the server of a cell, whose folder is empty.
        kept: a folder with the accepted starts, and the values that the server changed.
        exact: refuse a compared value that the server changes, and levels that it does not
            distinguish.

    Raises:
        RequestError: an option, a wrapper or a statement is refused.
        WorkError: a server does not start, for another reason.
    """
    of = cell_specs(experiment) if only is None else iter([only])
    cells = {
        kept / _digest(experiment, cell, program_of): cell for cell in _distinct(of, experiment)
    }
    wanted = {file: cell for file, cell in cells.items() if not file.exists()}
    if wanted:
        _try(experiment, wanted, program_of, load=load, listen=listen)
    if exact:
        starts = [
            (cell, program_of(cell).identity, json.loads(file.read_text("utf-8")))
            for file, cell in cells.items()
        ]
        for _cell, _identity, seen in starts:
            _refuse_changed(seen["changed"])
        for one, other in itertools.combinations(starts, 2):
            if _differ_as_compared(experiment, one[0], other[0]) and one[1] == other[1]:
                _refuse_same(experiment, one, other)


def _try(
    experiment: Experiment,
    wanted: Mapping[Path, CellSpec],
    program_of: ProgramOf,
    *,
    load: Path,
    listen: Listener,
) -> None:
    starts = "1 start" if len(wanted) == 1 else f"{len(wanted)} different starts"
    listen(Notice(f"testing {starts} of the server on an empty folder"))
    has_statements = any(_uses_tables(cell) for cell in wanted.values())

    def make_tables(cell: CellSpec, address: Address) -> None:
        if has_statements and not is_model(cell.values):
            FillProcess(load).run(
                cell.data.small(), address, on_progress=lambda _phase, _rows, _total: None
            )

    process = LoadProcess(load)
    with closing(
        PrivateTestbed(program_of, process, listen, TRIED, prepare=make_tables, strict=True)
    ) as testbed:
        for file, cell in wanted.items():
            try:
                ready = testbed.set(cell)
                _check(experiment, cell, testbed, ready.address.init_sql)
                if cell[_SETUP]:
                    testbed.set(cell.having(setup=[]))
            except Unprepared:
                # In all cells, or named by its place.
                raise
            except ContendError as error:
                if not _is_statement(error):
                    error.add_place(_with_levels(experiment, cell))
                    raise
                raise RequestError(
                    f"{error.message}, on an empty copy of the tables",
                    hint="Correct the statement, or its undo. No data was loaded.",
                ) from error
            file.parent.mkdir(parents=True, exist_ok=True)
            changed = [
                one["message"] for one in ready.warnings if one["code"] == "option-truncated"
            ]
            seen = {"changed": changed, "variables": testbed.variables()}
            file.write_text(json.dumps(seen), "utf-8")


def _check(
    experiment: Experiment, cell: CellSpec, testbed: PrivateTestbed, session: Sequence[str]
) -> None:
    if is_model(cell.values):
        return
    connection, database = testbed.tables()
    with closing(connection):
        if own_statements(cell["workload"]):
            connection.select_db(database)
            for statement in session:
                fetch(connection, statement)
            refuse_unprepared(connection, cell)
        refuse_unknown_counters(connection, experiment)


def _refuse_changed(changed: Sequence[str]) -> None:
    """A value that the server changed would have a wrong name in the answer."""
    if changed:
        raise RequestError(
            f"the server changes {', '.join(changed)}",
            hint="Use values that it accepts unchanged.",
        )


Start = tuple[CellSpec, ServerIdentity, Mapping[str, Any]]
"""A cell, its server, and the stored result of the trial."""


def _differ_as_compared(experiment: Experiment, one: CellSpec, other: CellSpec) -> bool:
    """Whether two cells differ only in the compared options."""
    path = next(iter(experiment.compare.baseline), "")
    name = path.removeprefix(_OPTIONS)

    def rest(cell: CellSpec) -> list[object]:
        options = {n: value for n, value in cell["server.options"].items() if n != name}
        left_out = (path, "server.options")
        return [options, *(cell[each.path] for each in TRIED if each.path not in left_out)]

    return path in (PROFILE.path, f"{_OPTIONS}{name}") and rest(one) == rest(other)


def _refuse_same(experiment: Experiment, one: Start, other: Start) -> None:
    """Comparing levels that leave the server with the same variables is useless. The effect of an
    option without a variable is invisible, so it counts as a difference."""
    kind = one[1]["kind"]
    cells = one[0], other[0]
    options, others = (launch_of(cell.values).options_of(kind) for cell in cells)
    there, here = one[2]["variables"], other[2]["variables"]
    alike = []
    for name in options | others:
        if name in options and name in others and options[name] == others[name]:
            continue
        variable = variable_of(name, there)
        if variable is None or there[variable] != here.get(variable):
            return
        value = there[variable] or "''"
        alike.append(f"{variable} is {value if len(value) <= _SHOWN else f'{value[:_SHOWN]}…'}")
    path = next(iter(experiment.compare.baseline))
    name = path.removeprefix(_OPTIONS)
    levels = [
        str(cell[path]) if name == path else as_text(cell["server.options"][name]) for cell in cells
    ]
    raise RequestError(
        f"{'the sets' if name == path else f'{name} ='} {' and '.join(levels)} are equal on "
        f"{kind} {one[1]['version']}: with both {', '.join(alike) or 'no option differs'}",
        hint="Use values that differ in effect; one of these may be the default.",
    )


def _with_levels(experiment: Experiment, cell: CellSpec) -> str:
    """A description of the start; empty if all are alike."""
    levels = []
    for factor in experiment.factors:
        setting = next((one for one in TRIED if factor.path.startswith(one.path)), None)
        if setting is None:
            continue
        value, inside = cell[setting.path], factor.path.removeprefix(setting.path).strip(".")
        level = value.get(inside) if inside else value
        is_baseline = experiment.compare.baseline.get(factor.path) == level
        name = factor.path.removeprefix(_OPTIONS)
        levels.append(f"{name} = {level}{' (the baseline)' if is_baseline else ''}")
    return f"with {', '.join(levels)}" if levels else ""


def _is_statement(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, StatementFailed):
            return True
        error = error.__cause__
    return False


def _distinct(cells: Iterator[CellSpec], experiment: Experiment) -> Iterator[CellSpec]:
    """A cell for each way to start a server that could be refused, grouped by server."""
    starts: dict[str, CellSpec] = {}
    for cell in cells:
        if cell.data.schema == SCRIPT_SCHEMA or imported_name(cell.data.schema) is not None:
            # Its tables come from the script, whose prepare may take hours, or from a dump.
            cell = cell.having(
                setup=[],
                workload={"kind": "point_select"},
                **{"data.schema": "sbtest", "data.prepare": None},
            )
        if (
            any(cell[setting.path] for setting in TRIED if setting.key.default in ({}, []))
            or own_statements(cell["workload"])
            or counters_of(experiment)
        ):
            starts.setdefault(_start_key(cell), cell)
    return iter(starts.values())


def _start_key(cell: CellSpec) -> str:
    """The properties in which starts differ."""
    data, tables = cell.data, []
    if _uses_tables(cell):
        tables = [data.schema, data.engine, data.table_options, data.tables, data.own]
    own = [one.text for one in own_statements(cell["workload"])]
    return json.dumps([*(cell[setting.path] for setting in TRIED), tables, own], sort_keys=True)


def _uses_tables(cell: CellSpec) -> bool:
    return any(cell[path] for path in _STATEMENTS) or bool(own_statements(cell["workload"]))


def _digest(experiment: Experiment, cell: CellSpec, program_of: ProgramOf) -> str:
    identity = dict(program_of(cell).identity)
    # 4: the file has the values that the server changed, and all of its variables; statements of
    # the workload were checked.
    text = f"4 {identity} {_start_key(cell)} {sorted(counters_of(experiment))}"
    return hashlib.sha256(text.encode()).hexdigest()


def rehearse_options(server: ExistingServer, experiment: Experiment, *, exact: bool) -> None:
    """Refuse options that the server would not take, and variables that name places outside its
    folder; nothing on it is changed.

    Args:
        exact: a value that the server would change is refused too.

    Raises:
        RequestError: it has no such variable, cannot change it while it runs, or refuses or changes
            the value.
    """
    cells = list(cell_specs(experiment))
    for cell in cells:
        for name, value in (*cell["server.globals"].items(), *cell["server.session"].items()):
            refuse_outside(name, value)
    wanted = {
        (normal_name(name), type(value), value)
        for cell in cells
        for name, value in cell["server.options"].items()
        if normal_name(name) not in NO_MATTER
    }
    if not wanted:
        return
    fixed: dict[str, Level] = {}
    with server.connect() as connection:
        there = read_all(connection)
        for name, _kind, value in sorted(wanted, key=lambda one: (one[0], as_text(one[2]))):
            if name not in there:
                raise OptionRejected(
                    f"{server.dsn} has no variable {name}.", hint=did_you_mean(name, there)
                )
            if same_value(as_text(value), there[name]):
                continue
            try:
                is_taken = rehearse(connection, name, value)
            except ReadOnly:
                fixed[name] = value
                continue
            if exact and not is_taken:
                raise RequestError(
                    f"{server.dsn} does not accept {name} = {as_text(value)} unchanged",
                    hint="Use values that it accepts unchanged.",
                )
    if fixed:
        raise needs_restart(server.dsn, fixed, there, compared=_compared(experiment))


def rehearse_statements(server: ExistingServer, experiment: Experiment) -> None:
    """Refuse statements of the workload that the server cannot prepare on the tables that it has,
    and counters that it lacks; nothing on it is changed. Statements on tables that contend has yet
    to make are not checked: their columns are contend's.

    Raises:
        RequestError: a statement is wrong, or names something that does not exist.
    """
    distinct = {_start_key(cell): cell for cell in cell_specs(experiment)}
    with closing(server.connect()) as connection:
        refuse_unknown_counters(connection, experiment)
        for cell in distinct.values():
            if not own_statements(cell["workload"]):
                continue
            database = server.dsn.database or cell.data.database
            tables = tables_in(connection, database)
            if tables is None:
                # contend makes it together with its tables.
                continue
            there = {name.lower() for name in tables}
            connection.select_db(database)
            refuse_unprepared(
                connection,
                cell,
                changed_by=[*(step["do"] for step in cell[_SETUP]), *cell["server.before_run"]],
                skip=[one for one in cell.data.table_names if one.lower() not in there],
            )


def _compared(experiment: Experiment) -> str:
    """The compared option; empty if something else is compared."""
    path = next(iter(experiment.compare.baseline), "")
    return normal_name(path.removeprefix(_OPTIONS)) if path.startswith(_OPTIONS) else ""
