"""A whole run folder: made and filled, or resumed. It holds the experiment, so that a resume makes
the same requests, and no password."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contend import host
from contend.data import CONTENT_VERSION
from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import (
    SCRIPT_SCHEMA,
    DataSpec,
    Experiment,
    GoalSpec,
    cell_spec,
    cell_specs,
    from_dict,
    has_word,
    hide_in_comments,
    is_open,
    place_of_secret,
    planned_load_s,
    planned_runs,
    prepared_with,
    refuse_settings,
    to_dict,
    without_lines,
)
from contend.experiment.settings.load import ends_with_its_work
from contend.experiment.settings.model import Differs
from contend.experiment.settings.plan_keys import SUPPLIED
from contend.experiment.settings.values import shown
from contend.files import read_file
from contend.lab.client import (
    Calibrate,
    ChooseEngine,
    Scripts,
    keep_scripts,
    kept_engine,
    require_engine,
    require_same_scripts,
    script_facts,
    with_engine,
)
from contend.lab.design import Design, choose_design, differs_in, refuse_without_memory
from contend.lab.effort import require_time, short_of_repeats
from contend.lab.equal_load import equal_loads, why_not_equal_load
from contend.lab.events import (
    Began,
    Interrupted,
    Listener,
    Notice,
)
from contend.lab.goal import GoalRunner, GoalSchedule
from contend.lab.looks import LookAtCause
from contend.lab.runner import Runner, take_looks
from contend.lab.screen import ScreenRunner, ScreenSchedule
from contend.lab.sessions import SessionSeries, sessions_of
from contend.lab.shared_host import AskCpus, HostWatch, SharedHost
from contend.lab.testbed import Testbed
from contend.lab.twins import (
    KnownRecording,
    refuse_design,
    require_same_recordings,
    with_recordings,
)
from contend.lab.walk import RunSchedule, Schedule, walk
from contend.load import Address, LoadDriver, LoadFailed, plan_of
from contend.load.ceilings import Calibration
from contend.metrics.probed import (
    CheckRecord,
    EngineFacts,
    LeftOut,
    NodeMatrix,
    ServerIdentity,
    SessionFacts,
    WhyFacts,
)
from contend.servers.dsn import Password
from contend.store import RunFolder

Identities = Mapping[str, ServerIdentity]
"""kind -> the recorded facts of the server: kind, version, source."""

OpenTestbeds = Callable[[Path, int], contextlib.AbstractContextManager[Sequence[Testbed]]]
"""Opens the given number of testbeds, each with a server of its own; servers write their logs to
the path. A server that is not contend's own has exactly one testbed."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """The tools of a session.

    Args:
        data_folder: on the disk that holds the servers' data, for the host's facts.
        calibrate: returns the ceilings of the client; None if it is not a real client.
        check: refuses mistakes in the experiment's scripts, before anything is started.
        check_hosts: refuses more hosts than there are, in each session.
        scripts: returns the files and requirements of the experiment's scripts.
        choose_engine: chooses the engine of the load generator for all cells.
        cpus_together: returns the capacity of all CPUs at once, in units of one alone.
        memory_nodes: returns the distance of each node's memory from each node.
        ask_cpus: returns the present distance between CPUs.
        own: the servers are contend's to start and stop.
        passwords: all that are known; no run folder may hold one.
        history: results of runs on this host; None: no history is kept.
        doctor: returns the problems of this host that it finds at once.
        recordings: returns the recordings of the experiment, by name.
        starting_lines: returns a screen without the lines with which a server does not start.
        host: changes the host; None: it cannot be changed.
    """

    servers: Identities
    open_testbeds: OpenTestbeds
    load: LoadDriver
    data_folder: Path
    calibrate: Calibrate | None = None
    check: Callable[[Experiment], None] = lambda _experiment: None
    check_hosts: Callable[[Experiment], None] = lambda _experiment: None
    scripts: Callable[[Experiment], Scripts] = lambda _experiment: Scripts()
    choose_engine: ChooseEngine = lambda _experiment: {}
    cpus_together: Callable[[], float | None] = lambda: None
    memory_nodes: Callable[[], NodeMatrix | None] = lambda: None
    ask_cpus: AskCpus = lambda _memory: None
    confirm: Callable[[str], bool] = lambda _question: True
    own: bool = True
    passwords: frozenset[Password] = frozenset()
    history: Path | None = None
    doctor: Callable[[], list[CheckRecord]] = list
    recordings: Callable[[Experiment], Mapping[str, KnownRecording]] = lambda _experiment: {}
    starting_lines: Callable[[Experiment], tuple[Experiment, list[LeftOut]]] = lambda one: (one, [])
    host: SharedHost | None = None

    @property
    def known_passwords(self) -> frozenset[str]:
        return frozenset(password.reveal() for password in self.passwords)


def begin(
    experiment: Experiment,
    path: Path,
    equipment: Equipment,
    listen: Listener,
    *,
    about_why: WhyFacts | None = None,
    looks: Sequence[LookAtCause] = (),
) -> None:
    """Make the run folder `path`, every run of the experiment, and then these looks at causes;
    `about_why` is kept with its facts."""
    experiment, left_out = equipment.starting_lines(experiment)
    scripts = functools.cache(lambda: equipment.scripts(experiment))
    recordings = equipment.recordings(experiment)
    stored = kept(experiment, equipment.known_passwords)
    experiment = with_recordings(experiment, recordings)
    refuse_passwords(experiment, equipment.known_passwords, lambda: scripts().files)
    _refuse(experiment, equipment)
    design = choose_design(
        experiment,
        own=equipment.own,
        disk=equipment.data_folder,
        blocking=scripts().blocking,
    )
    if (
        design.is_switching
        and not equipment.own
        and not _leaves_server(experiment)
        and not equipment.confirm(_question(experiment))
    ):
        if experiment.lines:
            raise RequestError(
                f"{_question(experiment).rstrip('?')}: that needs your consent",
                hint="Add --yes, or leave --server out to use private servers.",
            )
        why = "switching the server several times per second needs your consent (--yes)"
        design = replace(design, by="runs", why=why)
    if experiment.goal is not None and not equipment.own:
        _agree_to_overload(experiment.goal, equipment)
    why_not_equal_load(experiment, design)
    refuse_design(experiment, design)
    require_time(experiment, design)
    if design.why:
        listen(Notice(f"levels are compared by runs, not in slices: {design.why}"))
    if (values := prepared_with(experiment)) is not None:
        listen(Notice(f"the script's prepare creates the tables of all runs with {values}"))
    if (short := short_of_repeats(experiment, design)) is not None:
        listen(Notice(short))
    equipment.check(experiment)
    equipment.check_hosts(experiment)
    planned = planned_runs(experiment, in_slices=design.in_slices)
    engine = equipment.choose_engine(experiment)
    facts = _facts(equipment, scripts().files, engine, design)
    if recordings:
        facts["recordings"] = {name: one.facts for name, one in recordings.items()}
    if about_why is not None:
        facts["why"] = about_why
    if left_out:
        facts["left_out"] = left_out
    if (words := doctor_summary(facts.get("doctor", []))) is not None:
        listen(Notice(words))
    sessions = _sessions_of(equipment, experiment, facts)
    if sessions is not None:
        facts["sessions"] = sessions.facts(listen)
    with RunFolder.create(path, stored, planned, facts) as folder:
        try:
            keep_scripts(facts, path)
            _conduct(
                with_engine(experiment, engine.get("engine")),
                folder,
                design,
                equipment,
                listen,
                looks,
                recordings,
            )
        except RequestError:
            # The request is impossible, as the first block shows: there is nothing to keep.
            if not _is_past_first_block(folder):
                shutil.rmtree(path, ignore_errors=True)
            raise


def _agree_to_overload(goal: GoalSpec, equipment: Equipment) -> None:
    server = next((one.get("source") for one in equipment.servers.values()), "that server")
    if not equipment.confirm(f"Load {server} beyond the rate that holds {goal.text}?"):
        raise RequestError(
            f"finding the rate that holds {goal.text} overloads {server} for seconds at a time, "
            "which needs your consent",
            hint="Add --yes, or name the highest rate that the server may get: "
            "--set goal.highest=RATE --yes.",
        )


def _question(experiment: Experiment) -> str:
    compared = experiment.compared
    assert compared is not None
    if experiment.lines:
        names = ", ".join(line.name for line in experiment.lines)
        return f"Switch {names} on that server back and forth, several times per second?"
    return f"Switch {compared.path} on that server back and forth, several times per second?"


def _leaves_server(experiment: Experiment) -> bool:
    compared = experiment.compared
    return compared is not None and differs_in(compared) in (Differs.ROUTE, Differs.QUERIES)


def _refuse(experiment: Experiment, equipment: Equipment) -> None:
    refuse_settings(experiment, own=equipment.own)
    if equipment.own:
        refuse_without_memory(experiment)
    if equipment.host is not None:
        equipment.host.refuse(cell_specs(experiment))


def resume(
    path: Path,
    equipment: Equipment,
    listen: Listener,
    *,
    experiment: Experiment | None = None,
    looks: Sequence[LookAtCause] = (),
) -> None:
    """Make the runs that the folder does not hold yet, and then these looks at causes.

    Args:
        path: the run folder. Its stored spec is used, even if its recipe has changed.
        experiment: the experiment that the caller expects in the folder; None if not given.

    Raises:
        RequestError: the experiment, its file, the server's version, the tables or the engine
            differ from the earlier runs.
        WorkError: only looks were left to do, and each of them failed.
    """
    with RunFolder.open(path, write=True) as folder:
        stored = from_dict(folder.meta().experiment)
        require_same_experiment(folder, stored, experiment, equipment.known_passwords)
        recordings = equipment.recordings(stored)
        require_same_recordings(folder, recordings)
        stored = with_recordings(stored, recordings)
        _require_same_asked(folder, stored)
        _require_same_servers(folder, equipment.servers)
        design = _kept_design(folder)
        is_over = folder.meta().finished or (
            not is_open(stored) and len(folder.ended()) == len(folder.meta().planned)
        )
        if is_over and not looks:
            listen(Notice(f"{path} is complete; no runs are left"))
            return
        files = functools.cache(lambda: equipment.scripts(stored).files)
        require_same_scripts(folder, files)
        require_same_tables(path, folder.meta().facts, stored.base.data)
        _refuse(stored, equipment)
        equipment.check_hosts(stored)
        engine = _same_engine(folder, equipment, stored, listen)
        folder.add_session(_facts(equipment, files(), engine, design))
        stored = with_engine(stored, engine.get("engine"))
        looked = _conduct(stored, folder, design, equipment, listen, looks, recordings)
        if is_over and not looked:
            raise WorkError(
                f"every diagnostic pass failed; the measurements in {path} are unchanged",
                hint=f"For the reasons, run `contend show {path}`.",
            )


def require_same_tables(path: Path, facts: SessionFacts, data: DataSpec) -> None:
    """Refuse tables that are made differently than at the start of the run.

    Raises:
        RequestError: the figures of the two could not be compared.
    """
    if data.schema == SCRIPT_SCHEMA or facts.get("content_version") == CONTENT_VERSION:
        return
    raise RequestError(
        f"{path} began with different tables: this version of contend has changed their columns, "
        "options or rows",
        hint="Start a new run for the rest; the stored measurements can still be shown.",
    )


def stored_experiment(path: Path) -> Experiment:
    with RunFolder.open(path) as folder:
        return from_dict(folder.meta().experiment)


def stored_servers(path: Path) -> dict[str, ServerIdentity]:
    with RunFolder.open(path) as folder:
        return dict(folder.meta().facts.get("servers", {}))


def _kept_design(folder: RunFolder) -> Design:
    """The design of a folder's runs so far. Older versions without slices used runs."""
    return Design(**folder.meta().facts.get("way", {"by": "runs"}))


def _conduct(
    experiment: Experiment,
    folder: RunFolder,
    design: Design,
    equipment: Equipment,
    listen: Listener,
    looks: Sequence[LookAtCause],
    recordings: Mapping[str, KnownRecording],
) -> bool:
    """Make the remaining runs, then take the looks; whether one of these found something."""
    total, ended = len(folder.meta().planned), len(folder.ended())
    watch = HostWatch(equipment.ask_cpus, experiment.compare.wait_for_calm_s or 0.0, listen)
    with _resumable(folder, listen):
        # Before contend starts anything.
        watch.promise(is_open=is_open(experiment))
        # Before there is a server, which would use some of the CPUs.
        calibration = _calibration(experiment, folder, equipment)
        at_most = any(ends_with_its_work(cell.values) for cell in cell_specs(experiment))
        listen(Began(folder.path, total, ended, planned_load_s(experiment), at_most))
        with (
            equipment.host or contextlib.nullcontext(),
            equipment.open_testbeds(folder.path / "logs", design.servers) as testbeds,
        ):
            schedule, make_runner = _schedule(experiment, folder, design)
            equal = equal_loads(experiment, design, folder, equipment.load, listen)
            runner = make_runner(
                experiment,
                testbeds,
                equipment.load,
                schedule.effort,
                listen,
                calibration,
                equal,
                recordings,
            )
            walk(experiment, folder, schedule, runner, listen, watch)
            compared = experiment.compared
            path = None if compared is None else compared.path
            looked = take_looks(looks, folder, runner, path, listen)
    sessions = _sessions_of(equipment, experiment, folder.meta().facts)
    if sessions is not None:
        sessions.note(experiment, folder, listen)
    return looked


def _schedule(
    experiment: Experiment, folder: RunFolder, design: Design
) -> tuple[RunSchedule, type[Runner]]:
    """Which runs are made, and how each is."""
    if experiment.lines:
        return ScreenSchedule(experiment, folder, design), ScreenRunner
    if experiment.goal is not None:
        return GoalSchedule(experiment, folder, design), GoalRunner
    return Schedule(experiment, folder, design), Runner


def _sessions_of(
    equipment: Equipment, experiment: Experiment, facts: SessionFacts
) -> SessionSeries | None:
    """The earlier runs of the same comparison; a search for a rate compares no levels at one, and a
    screen no level alone."""
    if experiment.goal is not None or experiment.lines:
        return None
    return sessions_of(equipment.history, experiment, facts)


def _calibration(
    experiment: Experiment, folder: RunFolder, equipment: Equipment
) -> Calibration | None:
    if equipment.calibrate is None:
        return None
    ended = {run.run for run in folder.ended()}
    to_come = (run.cell for run in folder.meta().planned if run.run not in ended)
    return equipment.calibrate(cell_spec(experiment, cell) for cell in to_come)


@contextlib.contextmanager
def _resumable(folder: RunFolder, listen: Listener) -> Iterator[None]:
    how = f"`contend run --resume {folder.path}`"
    try:
        yield
    except KeyboardInterrupt as stop:
        if isinstance(error := stop.__cause__, ContendError):
            listen(Notice(error.in_full))
        raise Interrupted(f"interrupted; {_stored(folder)}", hint=f"Resume with {how}.") from None
    except ContendError:
        # An unreadable folder raises its own error, and that one is already on its way.
        with contextlib.suppress(WorkError):
            if _is_past_first_block(folder):
                listen(Notice(f"{_stored(folder)}; resume with {how}"))
        raise


def _stored(folder: RunFolder) -> str:
    ended, total = len(folder.ended()), len(folder.meta().planned)
    return f"{ended} of {total} runs are stored in {folder.path}"


def _is_past_first_block(folder: RunFolder) -> bool:
    first = folder.meta().planned[0].block
    return any(run.block != first for run in folder.ended())


def _require_same_servers(folder: RunFolder, servers: Identities) -> None:
    for kind, before in folder.meta().facts.get("servers", {}).items():
        now: Mapping[str, object] = servers.get(kind) or {}
        if now.get("version") != before.get("version"):
            raise RequestError(
                f"{folder.path} began with {kind} {before.get('version')}, "
                f"but the server is now {kind} {now.get('version')}",
                hint="Name the same server with --server, or start a new run.",
            )


def _same_engine(
    folder: RunFolder, equipment: Equipment, experiment: Experiment, listen: Listener
) -> EngineFacts:
    """The engine of the earlier runs, from the facts of this session."""
    before = kept_engine(folder.meta())
    if before is not None:
        return require_engine(equipment.choose_engine, experiment, before)
    engine = equipment.choose_engine(experiment)
    if engine and folder.ended():
        listen(
            Notice(
                f"{folder.path} does not record the engine of its runs; the remaining runs use "
                f"{engine['engine']}"
            )
        )
    return engine


def _facts(
    equipment: Equipment, scripts: Sequence[Path], engine: EngineFacts, design: Design
) -> SessionFacts:
    facts = host.facts(folder=equipment.data_folder)
    facts["cpu"] = {**facts.get("cpu", {}), "together": equipment.cpus_together()}
    facts["servers"] = dict(equipment.servers)
    facts["content_version"] = CONTENT_VERSION
    facts["load_generator"] = engine
    facts["way"] = design.facts()
    if found := equipment.doctor():
        facts["doctor"] = found
    # Without this fact the measurement is still possible.
    with contextlib.suppress(LoadFailed):
        if nodes := equipment.memory_nodes():
            facts["memory_nodes"] = nodes
    if scripts:
        facts["scripts"] = script_facts(scripts)
    return facts


def doctor_summary(found: Sequence[CheckRecord]) -> str | None:
    """Problems found by doctor, for a line before a run; None if there are none."""
    by_severity = {
        severity: ", ".join(
            one["id"] for one in found if one["severity"] == severity and one["ignored"] is None
        )
        for severity in ("severe", "warning")
    }
    known = [f"{severity}: {names}" for severity, names in by_severity.items() if names]
    if not known:
        return None
    return f"doctor reports {'; '.join(known)} (for costs and fixes, run `contend doctor`)"


def kept(experiment: Experiment, passwords: Collection[str]) -> dict[str, Any]:
    return to_dict(replace(experiment, source=hide_in_comments(experiment.source, passwords)))


def refuse_passwords(
    experiment: Experiment, passwords: Collection[str], script_files: Callable[[], Iterable[Path]]
) -> None:
    """Refuse an experiment that contains a password of a login: its folder would contain it too.

    Args:
        script_files: returns the files that the experiment's scripts load.

    Raises:
        RequestError: with the place.
    """
    data = experiment.base.data
    # These are public, and every run folder has them.
    names = {data.schema, data.database, *data.table_names}
    secrets = [password for password in passwords if password not in names]
    place = (
        place_of_secret(experiment.source, secrets)
        or _in_overrides(experiment, secrets)
        or _in_files(script_files() if secrets else (), secrets)
    )
    if place is not None:
        raise RequestError(
            f"{place} contains the login password and would be stored in the run folder",
            hint="Remove the password from it, or log in with a different one.",
        )


def _in_overrides(experiment: Experiment, secrets: Collection[str]) -> str | None:
    parted = (one.partition("=") for one in experiment.overrides)
    return next((f"--set {path}" for path, _, text in parted if has_word(text, secrets)), None)


def _in_files(paths: Iterable[Path], secrets: Collection[str]) -> str | None:
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
            if has_word(line, secrets):
                return f"{path}:{number}"
    return None


def require_same_experiment(
    folder: RunFolder, stored: Experiment, requested: Experiment | None, passwords: Collection[str]
) -> None:
    """Refuse to continue with a different experiment than the original one.

    Args:
        given: the experiment that the caller expects in the folder; None if not given.

    Raises:
        RequestError: the folder is for a different one, its file was edited since, or the requests
            would differ from the earlier ones.
    """
    file = folder.path / "experiment.toml"
    if file.exists() and read_file(file).decode("utf-8", "replace") != stored.source:
        raise RequestError(
            f"{file} was edited since this run began",
            hint="Undo the edit, or start a new run with the edited file.",
        )
    if requested is not None:
        left_out = folder.meta().facts.get("left_out", [])
        requested = without_lines(requested, [one["line"] for one in left_out])
    if requested is not None and kept(requested, passwords) != kept(stored, passwords):
        raise RequestError(
            f"{folder.path} is a run of a different experiment",
            hint=f"To continue it unchanged, use `contend run --resume {folder.path}`. "
            "To start a new run, remove --resume.",
        )


def _require_same_asked(folder: RunFolder, stored: Experiment) -> None:
    """Check that each cell makes the same requests as in its runs so far."""
    for run, cell, plan in folder.asked():
        before = _as_json(plan["workload"])
        again = plan_of(cell_spec(stored, cell), Address(), seed=0, watch_pid=None)
        now = _as_json(again["workload"])
        # For the tables, the existing ones are decisive.
        for name in sorted(before.keys() - SUPPLIED):
            if before[name] != now.get(name):
                raise RequestError(
                    f"run {run} of {folder.path} used workload.{name} = {shown(before[name])}, "
                    f"but it is now {shown(now.get(name))}",
                    hint="Start a new run.",
                )


def _as_json(workload: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(workload))
    return found
