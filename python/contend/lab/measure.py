"""One run on a prepared testbed, or one of several in slices: probe, drive load, probe again,
choose the marks; how a server ended, if it did meanwhile."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from contend.errors import ContendError
from contend.experiment import CellSpec
from contend.experiment.settings.load import Slicing
from contend.experiment.settings.server import PROFILER_HZ
from contend.experiment.settings.values import level_word
from contend.host.placement import Placed, look
from contend.lab import probes
from contend.lab.client import script_facts
from contend.lab.events import Listener, Pace
from contend.lab.testbed import Ready
from contend.load import ArmSpec, LoadDriver, LoadFailed, plan_in_slices, plan_of, plan_of_arm
from contend.load.ceilings import Calibration, shape_of
from contend.metrics.outcome import Done, Hello, Interval, Outcome, Slice
from contend.metrics.plan import Plan
from contend.metrics.probed import Generator, Probes, RunWarning
from contend.servers.errors import ServerDied
from contend.store import Planned, RunRecord
from contend.units import format_duration


def measure(
    block: Sequence[Planned],
    cells: Sequence[CellSpec],
    readies: Sequence[Ready],
    load: LoadDriver,
    listen: Listener,
    calibration: Calibration | None = None,
    *,
    slices: Slicing | None = None,
    enter: Sequence[tuple[str, ...]] = (),
) -> list[RunRecord]:
    """Make one run, or run the load of all levels of a block in turn, a slice at a time; returns a
    record of each, with the client's ceiling from `calibration`, if known.

    Args:
        slices: how the block is cut; None for a separate run.
        enter: for each level the statements that switch its server to it. If all levels share one
            server, its counters cannot be assigned to a level.

    Raises:
        LoadFailed: contend-load gave no result, or a level did not answer a single query.
    """
    seed = seed_of(block[0], cells[0])
    if slices is None:
        ready = readies[0]
        plan = plan_of(
            cells[0], ready.address, seed=seed, watch_pid=ready.watch_pid, members=ready.members
        )
    else:
        plan = plan_in_slices(arms_of(block, cells, readies, enter), slices, seed=seed)
    figures: list[list[Interval]] = [[] for _ in block]
    noted: Probes = {}

    def on_event(event: Outcome) -> None:
        if event["type"] == "hello":
            noted["load_generator"] = _generator(event)
        elif event["type"] == "interval":
            figures[0].append(event)
            listen(Pace(block[0].run, float(event["qps"])))
        elif event["type"] == "slice":
            index = event["arm_index"]
            figures[index].append(_interval(event))
            listen(Pace(block[index].run, float(event["qps"])))

    # All levels have the same value: one process serves them.
    placed = Placed(readies[0].client) if readies[0].client else None
    shared = len({id(ready.observed.connection) for ready in readies}) < len(readies)
    started_at = now()
    before = [probes.look(ready.observed, begins=True) for ready in readies]
    env = {name: value for ready in readies for name, value in ready.env.items()}
    with contextlib.ExitStack() as stack:
        # A switched server has one control connection, and no level of its own to watch.
        watched = [] if shared else [ready.observed for ready in readies]
        watches = [stack.enter_context(probes.QueryCacheWatch(observed)) for observed in watched]
        profiles = [
            stack.enter_context(
                probes.ProfileWatch(ready.observed, cell[PROFILER_HZ.path], shared=shared)
            )
            for ready, cell in zip(readies, cells, strict=True)
        ]
        whole = load.run(plan, env=env, on_event=on_event, placed=placed)
    after = [probes.look(ready.observed) for ready in readies]
    dones = [whole]
    if slices is not None:
        connect_us = whole["setup_connect_us"]
        dones = [{**arm["done"], "setup_connect_us": connect_us} for arm in whole.get("arms", ())]
    for done in dones:
        _require_answers(done)
    return [
        _record(
            planned,
            _with_client(ready, placed),
            plan if slices is None else plan_of_arm(plan, index),
            done,
            started_at,
            figures[index],
            _of_level(probes.changes(before[index], after[index]), shared=shared)
            | (watches[index].seen() if watches else {})
            | profiles[index].seen()
            | noted
            | _loaded(whole),
            calibration,
        )
        for index, (planned, ready, done) in enumerate(zip(block, readies, dones, strict=True))
    ]


def arms_of(
    block: Sequence[Planned],
    cells: Sequence[CellSpec],
    readies: Sequence[Ready],
    enter: Sequence[tuple[str, ...]],
) -> list[ArmSpec]:
    names = [_level_of(block, run) for run in block]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, start=1)]
    return [
        ArmSpec(name, cell, ready.address, ready.watch_pid, statements, ready.members)
        for name, cell, ready, statements in zip(names, cells, readies, enter, strict=True)
    ]


def _with_client(ready: Ready, placed: Placed | None) -> Ready:
    """Add the placement of contend-load, and a mark if it differs from the request."""
    if placed is None:
        return ready
    got: dict[str, dict[str, str]] = {**ready.probes.get("placement", {}), "client": placed.seen}
    marks: list[RunWarning] = [
        {"code": "placement-differs", "message": difference}
        for difference in look.differences(placed.placement, placed.seen, "place.client")
    ]
    probed: Probes = {**ready.probes, "placement": got}
    return replace(ready, probes=probed, warnings=(*ready.warnings, *marks))


def seed_of(planned: Planned, cell: CellSpec) -> int:
    """The queries differ between blocks, and are the same for all levels of one block."""
    return random.Random(f"queries {cell['load.seed']} {planned.block}").getrandbits(53)


def _level_of(block: Sequence[Planned], run: Planned) -> str:
    first = block[0].cell
    differs = [path for path in first if any(other.cell[path] != first[path] for other in block)]
    return ", ".join(f"{path} = {level_word(run.cell[path])}" for path in differs)


def _of_level(seen: Probes, *, shared: bool) -> Probes:
    """The facts known for one level by itself, if all levels may share one server."""
    if shared:
        seen.pop("status", None)
        seen.pop("gauges", None)
        seen.pop("innodb_metrics", None)
        seen.pop("key_caches", None)
        seen.pop("model", None)
        seen.pop("members", None)
        seen.pop("memory_bytes", None)
    return seen


def _loaded(done: Done) -> Probes:
    files = done.get("files", ())
    return {"loaded": script_facts(map(Path, files))} if files else {}


def _generator(event: Hello) -> Generator:
    return {"version": event["program_version"], "engine": event["engine"]}


def _interval(event: Slice) -> Interval:
    """The stored part of a slice, by the number of its round; its histogram is in the sum."""
    return {
        "index": event["round"],
        "start_s": event["start_s"],
        "duration_s": event["duration_s"],
        "queries": event["queries"],
        "rows": event["rows"],
        "bytes_sent": event["bytes_sent"],
        "bytes_received": event["bytes_received"],
        "errors": sum(error["count"] for error in event["errors"]),
        "qps": event["qps"],
        "events_in_parts": event["events_in_parts"],
        "latency_us": event["latency_us"],
        "type": "interval",
    }


def _record(
    planned: Planned,
    ready: Ready,
    plan: Plan,
    done: Done,
    started_at: str,
    intervals: list[Interval],
    seen: Probes,
    calibration: Calibration | None,
) -> RunRecord:
    if plan["load"].get("hosts", 1) > 1:
        calibration = None
    ceiling = calibration.of(shape_of(plan)) if calibration is not None else None
    if calibration is not None and ceiling is not None:
        seen["calibration"] = probes.against_ceiling(calibration.record(ceiling), done)
    seen = {**ready.probes, **seen}
    return RunRecord(
        run=planned.run,
        block=planned.block,
        repeat=planned.repeat,
        cell=planned.cell,
        status="ok",
        started_at=started_at,
        ended_at=now(),
        plan=plan,
        done=done,
        intervals=intervals,
        probes=seen,
        warnings=[*ready.warnings, *probes.warnings_of(done, seen, ready.expected, intervals)],
    )


def without_result(
    planned: Planned, started_at: str, error: ContendError, exit_error: ContendError | None
) -> RunRecord:
    cause = exit_error if exit_error is not None else error
    return RunRecord(
        run=planned.run,
        block=planned.block,
        repeat=planned.repeat,
        cell=planned.cell,
        status="failed" if exit_error is None else "lost",
        started_at=started_at,
        ended_at=now(),
        error={
            "message": cause.message,
            "hint": cause.hint,
            "detail": cause.detail,
            "code": getattr(error, "code", None),
            "sqlstate": getattr(error, "sqlstate", None),
            "statement": getattr(error, "statement", None),
        },
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _require_answers(done: Done) -> None:
    """A run with nothing but errors has no speed, nor has one without any awaited answer."""
    errors = done["errors"]
    # Ignored errors are answers too, but not successes.
    only_failed = bool(errors and done.get("failed")) and done.get("events") == 0
    if (done["queries"] and not only_failed) or (
        not errors and (done["qps"] or done.get("events"))
    ):
        return
    if not errors:
        raise LoadFailed(
            f"no query was answered in the measured {format_duration(done['measured_s'])}",
            hint="Make load.measure or load.slice longer than a query takes.",
        )
    first = errors[0]
    raise LoadFailed(
        f"no query was answered; the server reports: {first['message']}",
        code=first["code"],
        sqlstate=first["sqlstate"],
        statement=first["statement"],
    )


EXIT_S = 2.0
"""Time in which a dying server may still exist after its connections broke: they go first."""


class ServerOwner(Protocol):
    """An owner of servers."""

    def exit_error(self) -> ContendError | None:
        """How a server ended, if one did without a request; reported once."""
        ...


def exit_behind(runner: ServerOwner, error: ContendError) -> ContendError | None:
    """How the server ended, if that caused an error. Code that noticed its end first may have
    reported it already."""
    if isinstance(error, ServerDied):
        return error
    exit_error, limit_s = runner.exit_error(), time.monotonic() + EXIT_S
    while exit_error is None and _is_broken(error) and time.monotonic() < limit_s:
        time.sleep(0.02)
        exit_error = runner.exit_error()
    return exit_error


def _is_broken(error: ContendError) -> bool:
    code = getattr(error, "code", None)
    return isinstance(code, int) and 2000 <= code < 3000
