"""Every start of an experiment tried before anything is loaded: a private server on an empty
folder, a server that is not ours by asking whether it would take the options.

What a server rejects, and what a statement of `setup` has wrong, shows there within a second or
two; with the data of the experiment it would show after minutes of loading, or in the middle of the
night. What was accepted once is not tried again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from contend.errors import ContendError, RequestError, did_you_mean
from contend.lab.borrowed import NO_MATTER, needs_restart
from contend.lab.events import Listener, Notice
from contend.lab.private import PrivateProgram, PrivateUnderTest
from contend.lab.testbed import Testbed
from contend.load import Address, FillProcess, LoadProcess
from contend.servers.client import StatementFailed
from contend.servers.errors import OptionRejected, ReadOnly
from contend.servers.existing import ExistingServer
from contend.servers.options import as_text, normal_name, same_value
from contend.servers.variables import read_all, rehearse
from contend.settings import SETTINGS
from contend.settings.model_server import is_model
from contend.spec import SCRIPT_SCHEMA, CellSpec, Experiment, Level, cell_specs, imported_name

TRIED = tuple(setting for setting in SETTINGS if setting.tried)
_SETUP = "setup"
_STATEMENTS = (_SETUP, "server.globals", "server.session", "server.before_run")

ProgramOf = Callable[[CellSpec], PrivateProgram]


def try_starts(
    experiment: Experiment,
    program_of: ProgramOf,
    *,
    load: Path,
    kept: Path,
    listen: Listener,
    exact: bool = False,
) -> None:
    """Start a server as each of the cells wants it, on an empty folder.

    Args:
        program_of: the server of a cell, whose folder is empty.
        kept: a folder that remembers what was accepted, and what the server made of it.
        exact: a compared value that the server changes is refused.

    Raises:
        RequestError: an option, a wrapper or a statement is refused.
        WorkError: a server does not start, for another reason.
    """
    cells = {kept / _digest(cell, program_of): cell for cell in _distinct(experiment)}
    wanted = {file: cell for file, cell in cells.items() if not file.exists()}
    if wanted:
        _try(experiment, wanted, program_of, load=load, listen=listen)
    if exact:
        for file in cells:
            _refuse_changed(file.read_text("utf-8"))


def _try(
    experiment: Experiment,
    wanted: Mapping[Path, CellSpec],
    program_of: ProgramOf,
    *,
    load: Path,
    listen: Listener,
) -> None:
    starts = "1 start" if len(wanted) == 1 else f"{len(wanted)} different starts"
    listen(Notice(f"trying {starts} of the server on an empty folder"))
    has_statements = any(cell[path] for cell in wanted.values() for path in _STATEMENTS)

    def make_tables(cell: CellSpec, address: Address) -> None:
        if has_statements and not is_model(cell.values):
            FillProcess(load).run(
                cell.data.small(), address, on_progress=lambda _phase, _rows, _total: None
            )

    place = PrivateUnderTest(program_of, make_tables, LoadProcess(load))
    with closing(Testbed(place, listen, TRIED, strict=True)) as testbed:
        for file, cell in wanted.items():
            try:
                marks = testbed.set(cell).warnings
                if cell[_SETUP]:
                    testbed.set(cell.having(setup=[]))
            except ContendError as error:
                if not _is_statement(error):
                    error.told_of(_with_levels(experiment, cell))
                    raise
                raise RequestError(
                    f"{error.message}, on an empty copy of the tables",
                    hint="Nothing was loaded yet. Correct the statement, or its undo.",
                ) from error
            file.parent.mkdir(parents=True, exist_ok=True)
            changed = [one["message"] for one in marks if one["code"] == "option-truncated"]
            file.write_text("\n".join(changed), "utf-8")


def _refuse_changed(changed: str) -> None:
    """What a server takes otherwise than it was asked would go by a wrong name in the answer."""
    if changed:
        raise RequestError(
            f"the server changes {', '.join(changed.splitlines())}",
            hint="Name values that it takes as they are.",
        )


def _with_levels(experiment: Experiment, cell: CellSpec) -> str:
    """Which of the starts it was; nothing if all are alike."""
    levels = []
    for factor in experiment.factors:
        setting = next((one for one in TRIED if factor.path.startswith(one.path)), None)
        if setting is None:
            continue
        value, inside = cell[setting.path], factor.path.removeprefix(setting.path).strip(".")
        level = value.get(inside) if inside else value
        is_baseline = experiment.compare.baseline.get(factor.path) == level
        name = factor.path.removeprefix("server.options.")
        levels.append(f"{name} = {level}{' (the baseline)' if is_baseline else ''}")
    return f"with {', '.join(levels)}" if levels else ""


def _is_statement(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, StatementFailed):
            return True
        error = error.__cause__
    return False


def _distinct(experiment: Experiment) -> Iterator[CellSpec]:
    """A cell for each way to start a server that could be refused, those on one server together."""
    starts: dict[str, CellSpec] = {}
    for cell in cell_specs(experiment):
        if cell.data.schema == SCRIPT_SCHEMA or imported_name(cell.data.schema) is not None:
            # Its tables come from the script, whose prepare may take hours, or from a dump.
            cell = cell.having(setup=[], **{"data.schema": "sbtest", "data.prepare": None})
        if any(cell[setting.path] for setting in TRIED if setting.key.default in ({}, [])):
            starts.setdefault(_asked(cell), cell)
    return iter(starts.values())


def _asked(cell: CellSpec) -> str:
    """What makes a start differ from another one."""
    data, tables = cell.data, []
    if any(cell[path] for path in _STATEMENTS):
        tables = [data.schema, data.engine, data.table_options, data.tables, data.own]
    return json.dumps([*(cell[setting.path] for setting in TRIED), tables], sort_keys=True)


def _digest(cell: CellSpec, program_of: ProgramOf) -> str:
    identity = dict(program_of(cell).identity)
    # 2: the file has what the server changed.
    return hashlib.sha256(f"2 {identity} {_asked(cell)}".encode()).hexdigest()


_OPTIONS = "server.options."


def rehearse_options(server: ExistingServer, experiment: Experiment, *, exact: bool) -> None:
    """Refuse an option that the server would not take; nothing on it is changed.

    Args:
        exact: a value that the server would change is refused too.

    Raises:
        RequestError: it has no such variable, does not change it while it runs, or refuses or
            changes the value.
    """
    wanted = {
        (normal_name(name), type(value), value)
        for cell in cell_specs(experiment)
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
                    f"{server.dsn} changes {name} = {as_text(value)}: it does not take that value",
                    hint="Name values that it takes as they are.",
                )
    if fixed:
        raise needs_restart(server.dsn, fixed, there, compared=_compared(experiment))


def _compared(experiment: Experiment) -> str:
    """The option that is compared; empty if something else is."""
    path = next(iter(experiment.compare.baseline), "")
    return normal_name(path.removeprefix(_OPTIONS)) if path.startswith(_OPTIONS) else ""
