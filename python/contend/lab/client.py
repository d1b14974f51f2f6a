"""The lab's questions to contend-load before its runs: the engine of all cells, its capacity on
this host, its consent to every workload; copies of scripts next to the results.

By itself, contend-load chooses an engine that the kernel allows for the sockets of a run. That may
differ between few and many sockets, or on the host of a resume. The lab asks it once, for the
largest cell, and writes the answer into the plans of all cells. If `load.engine` is a factor, each
level names its own. The client's ceilings for the cells are looked up, or measured if missing.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from contend.data import LoadingFailed
from contend.errors import ContendError, RequestError
from contend.experiment import (
    SCRIPT,
    SCRIPT_SCHEMA,
    CellSpec,
    DataSpec,
    Experiment,
    asks_twins,
    cell_specs,
    is_file,
)
from contend.lab.events import Listener, Notice, StepProgress
from contend.load import Address, Fleet, LoadFailed, ScriptProcess, ask_engine, plan_of
from contend.load.calibration import QUICK, ensure
from contend.load.ceilings import Calibration, Transport, has_ceiling, shape_of
from contend.metrics.probed import EngineFacts, ScriptFacts, SessionFacts
from contend.store import Meta, RunFolder

PATH = "load.engine"
_NOWHERE = Address(socket="/", database="sbtest", handler_socket={"socket": "/", "socket_wr": "/"})

ChooseEngine = Callable[[Experiment], EngineFacts]
"""A session's fact about the engine of all cells: its name; empty if it is a factor."""


def choose_engine(program: Path, experiment: Experiment) -> EngineFacts:
    """Let contend-load at `program` choose; raises RequestError if the kernel refuses an engine
    that the experiment names."""
    if asks_twins(experiment):
        # Its statements are sent one at a time, by a plain connection.
        return {}
    in_order = sorted(cell_specs(experiment), key=lambda cell: cell["load.connections"])
    # The largest cell per engine: one for all of them, unless it is a factor.
    largest = {spec[PATH]: spec for spec in in_order}
    engines = []
    for spec in largest.values():
        plan = plan_of(spec, _NOWHERE, seed=0, watch_pid=None)
        try:
            engines.append(ask_engine(program, plan))
        except ContendError as error:
            raise RequestError(f"{PATH}: {error.message}", hint=error.hint) from error
    if len(engines) > 1:
        return {}
    (engine,) = engines
    if engine.refused is None:
        return {"engine": engine.name}
    return {"engine": engine.name, "io_uring_refused": engine.refused}


def with_engine(experiment: Experiment, engine: str | None) -> Experiment:
    """The experiment with this engine in all of its cells; unchanged if it is a factor."""
    if engine is None or any(factor.path == PATH for factor in experiment.factors):
        return experiment
    return replace(experiment, base=CellSpec({**experiment.base.values, PATH: engine}))


def kept_engine(meta: Meta) -> str | None:
    """The engine of a run folder's cells so far; None if none was kept."""
    for session in meta.sessions:
        engine = session.facts.get("load_generator", {}).get("engine")
        if engine is not None:
            return engine
    return None


def require_engine(choose: ChooseEngine, experiment: Experiment, engine: str) -> EngineFacts:
    """The facts of a session that continues with `engine`.

    Raises:
        RequestError: the engine is no longer available.
    """
    try:
        return choose(with_engine(experiment, engine))
    except RequestError as error:
        raise RequestError(
            f"this run began with the engine {engine} of contend-load, which is not available "
            f"now: {error.message}",
            hint="Resume on a host that has it, or start a new run.",
        ) from error


Calibrate = Callable[[Iterable[CellSpec]], Calibration | None]
"""The calibration for some cells; None, after a notice, if there can be none."""

ADDRESSES = {"socket": Address(socket="s"), "tcp": Address(host="127.0.0.1")}
"""Example addresses for plans of each transport; no client connects to them."""


def calibrate_cells(
    program: Path, cells: Iterable[CellSpec], *, cache: Path, transport: Transport, listen: Listener
) -> Calibration | None:
    """Calibrate contend-load at `program` for the cells, and keep the result in `cache`.

    If it fails, a run goes on with the same figures, but without proof that the client was fast
    enough. The user's own statements have no ceiling: they may be edited, and need not work with
    canned answers.
    """
    address = ADDRESSES[transport]
    # This host cannot measure a ceiling for several hosts.
    alone = (cell for cell in cells if cell["load.hosts"] == 1)
    plans = (plan_of(cell, address, seed=0, watch_pid=None) for cell in alone)
    shapes = [shape_of(plan) for plan in plans if has_ceiling(plan["workload"])]
    try:
        return ensure(
            shapes,
            program,
            cache,
            QUICK,
            tell=lambda done, total: listen(
                StepProgress("calibrating contend-load", done, total, "rounds")
            ),
            notice=lambda text: listen(Notice(text)),
        )
    except (ContendError, OSError) as error:
        listen(
            Notice(
                f"this host is not calibrated ({error}), so no run is compared with the load "
                "generator's own limit; `contend calibrate` measures it"
            )
        )
        return None


def check_hosts(experiment: Experiment, load: Fleet) -> None:
    """Check as many hosts as the experiment wants, before anything is measured.

    Raises:
        RequestError: there are too few, or one of them cannot do its part.
    """
    most = max(cell["load.hosts"] for cell in cell_specs(experiment))
    if most == 1:
        return
    try:
        load.hosts(most)
    except BaseException:
        load.close()
        raise


FOLDER = "scripts"
_ASKED_OF_LOAD = frozenset({"load.protocol", "load.arrival", "load.events", "load.errors"})


def check_workloads(experiment: Experiment, program: Path) -> None:
    """Ask contend-load about every workload with every set of options, without a server.

    Raises:
        RequestError: a script, a statement or an option is wrong, or a required prepare is missing.
    """
    if asks_twins(experiment):
        return
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
                "experiment defines no tables",
                hint="Add a [data] table such as rows = 10_000 to the file for contend's own "
                "tables, or a function prepare() to the script.",
            )


def prepare_tables(cell: CellSpec, data: DataSpec, address: Address, program: Path) -> None:
    """Let the script of these data make its tables, with the cell's request protocol.

    Raises:
        LoadingFailed: it could not.
    """
    cell = cell.having(workload={"kind": SCRIPT, **(data.prepare or {})})
    plan = plan_of(cell, address, seed=cell["load.seed"], watch_pid=None)
    try:
        ScriptProcess(program).prepare(plan)
    except LoadFailed as error:
        raise LoadingFailed(
            f"the script's prepare failed: {error.message}",
            hint=error.hint,
            detail=error.detail or error.statement,
        ) from error


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts of an experiment.

    Args:
        files: those that are files, each with the files that its body loads: modules, and arguments
            of `dofile`.
        blocking: one that needs threads of the operating system, if there is one.
    """

    files: tuple[Path, ...] = ()
    blocking: str | None = None


def scripts_of(experiment: Experiment, program: Path) -> Scripts:
    """Ask contend-load about them; raises RequestError if one cannot be read."""
    process = ScriptProcess(program)
    found: dict[str, list[str]] = {}
    blocking: str | None = None
    for cell in _distinct(experiment):
        if cell.workload.kind != SCRIPT:
            continue
        script = str(cell.workload.parameters["script"])
        description = process.describe(plan_of(cell, _NOWHERE, seed=0, watch_pid=None))
        if blocking is None and description["os_threads"]:
            blocking = script
        if is_file(script):
            found.setdefault(script, description["files"])
    named = (name for script, loaded in found.items() for name in (script, *loaded))
    return Scripts(tuple(map(Path, dict.fromkeys(named))), blocking)


def script_facts(files: Iterable[Path]) -> list[ScriptFacts]:
    return [{"path": str(path), "sha256": _digest(path)} for path in files]


def keep_scripts(facts: SessionFacts, run_folder: Path) -> None:
    taken: set[str] = set()
    for script in facts.get("scripts", ()):
        path = Path(script["path"])
        # Files of two folders may have the same name.
        others = (f"{path.stem}-{number}{path.suffix}" for number in itertools.count(2))
        name = next(one for one in itertools.chain([path.name], others) if one not in taken)
        taken.add(name)
        (run_folder / FOLDER).mkdir(exist_ok=True)
        shutil.copyfile(path, run_folder / FOLDER / name)


def require_same_scripts(folder: RunFolder, now: Callable[[], Iterable[Path]]) -> None:
    """Refuse to continue with scripts that differ from those of the runs so far.

    Args:
        now: returns the files that the scripts load now.

    Raises:
        RequestError: one was edited, or is gone; or a new one is loaded.
    """
    began_with = folder.meta().facts.get("scripts", [])
    loaded = [one.probes.get("loaded", []) for one in folder.records(intervals=False)]
    for script in itertools.chain(began_with, *loaded):
        path = Path(script["path"])
        if _digest(path) != script["sha256"]:
            raise RequestError(
                f"{path} has changed since this run began",
                hint=f"Restore it from the copy in {FOLDER}/ of the run folder, or start a new run."
                if script in began_with
                else "Undo the edit, or start a new run.",
            )
    known = {script["path"] for script in began_with}
    for path in now():
        if str(path) not in known:
            raise RequestError(
                f"{path} was not loaded when this run began",
                hint="Remove it, or start a new run.",
            )


def _distinct(experiment: Experiment) -> Iterator[CellSpec]:
    seen = set()
    for cell in cell_specs(experiment):
        load = [v for path, v in cell.values.items() if path in _ASKED_OF_LOAD]
        asks = [cell["workload"], load]
        key = json.dumps(asks, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield cell


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
