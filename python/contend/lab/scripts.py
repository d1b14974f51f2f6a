"""Workloads asked before the first run; scripts kept beside the results."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from contend.datasets import LoadingFailed
from contend.errors import RequestError
from contend.lab.errors import ChangedExperiment
from contend.load import Address, LoadFailed, ScriptProcess, plan_of
from contend.probed import ScriptFacts, SessionFacts
from contend.spec import (
    SCRIPT,
    SCRIPT_SCHEMA,
    CellSpec,
    Experiment,
    cell_specs,
    is_file,
)

FOLDER = "scripts"
_ASKED_OF_LOAD = frozenset({"load.protocol", "load.arrival", "load.events", "load.errors"})
_NOWHERE = Address(socket="/", database="sbtest", handler_socket={"socket": "/", "socket_wr": "/"})


def check_workloads(experiment: Experiment, program: Path) -> None:
    """Ask contend-load about every workload with every set of options, without a server.

    Raises:
        RequestError: a script, a statement or an option is wrong, or there is no prepare where one
            is due.
    """
    process = ScriptProcess(program)
    for cell in _distinct(experiment):
        plan = plan_of(cell, _NOWHERE, seed=0, watch_pid=None)
        if cell.workload.kind != SCRIPT:
            process.check(plan)
            continue
        described = process.describe(plan)
        if cell.data.schema == SCRIPT_SCHEMA and not described["prepare"]:
            raise RequestError(
                f"the script {cell.workload.parameters['script']} has no prepare, and the "
                "experiment says nothing of its tables",
                hint="Give the file a [data] table, such as rows = 10_000, for tables of "
                "contend's, or the script a function prepare().",
            )


def blocking_script(experiment: Experiment, program: Path) -> str | None:
    """A script of the experiment that needs threads of the operating system, if there is one.

    Raises:
        RequestError: a script cannot be read.
    """
    process = ScriptProcess(program)
    for cell in _distinct(experiment):
        if cell.workload.kind != SCRIPT:
            continue
        plan = plan_of(cell, _NOWHERE, seed=0, watch_pid=None)
        if process.describe(plan)["os_threads"]:
            return str(cell.workload.parameters["script"])
    return None


def prepare_tables(cell: CellSpec, address: Address, program: Path) -> None:
    """Let the cell's script make its tables.

    Raises:
        LoadingFailed: it could not.
    """
    told = {"kind": SCRIPT, **(cell.data.prepare or {})}
    plan = plan_of(cell.having(workload=told), address, seed=cell["load.seed"], watch_pid=None)
    try:
        ScriptProcess(program).prepare(plan)
    except LoadFailed as error:
        raise LoadingFailed(
            f"the script's prepare failed: {error.message}",
            hint=error.hint,
            detail=error.detail or error.statement,
        ) from error


def script_facts(experiment: Experiment) -> list[ScriptFacts]:
    """Path and checksum of every script that is a file."""
    return [{"path": str(path), "sha256": _digest(path)} for path in _files(experiment)]


def keep_scripts(experiment: Experiment, run_folder: Path) -> None:
    """Copy the scripts into the run folder, so that it says what was run."""
    for path in _files(experiment):
        kept = run_folder / FOLDER / path.name
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, kept)


def require_same_scripts(facts: SessionFacts) -> None:
    """Refuse to go on with a script that is not what the run began with.

    Raises:
        ChangedExperiment: it was edited, or is gone.
    """
    for script in facts.get("scripts", ()):
        path = Path(script["path"])
        if _digest(path) != script["sha256"]:
            raise ChangedExperiment(
                f"{path} is not the script that this run began with",
                hint=f"The run folder has a copy of it in {FOLDER}/; or start a new run.",
            )


def _distinct(experiment: Experiment) -> Iterator[CellSpec]:
    """A cell for each workload with different options."""
    seen = set()
    for cell in cell_specs(experiment):
        load = [v for path, v in cell.values.items() if path in _ASKED_OF_LOAD]
        asks = [cell["workload"], load]
        key = json.dumps(asks, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield cell


def _files(experiment: Experiment) -> list[Path]:
    asked = (cell.workload for cell in _distinct(experiment))
    named = (str(workload.parameters["script"]) for workload in asked if workload.kind == SCRIPT)
    return [Path(name) for name in dict.fromkeys(named) if is_file(name)]


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
