"""One run on a prepared stage: look, drive load, look again, say what to mark."""

from __future__ import annotations

from datetime import UTC, datetime

from contend import probes
from contend.calibration import Calibration, shape_of
from contend.errors import ContendError
from contend.lab.events import Listener, Pace
from contend.lab.stage import Ready
from contend.load import Load, LoadFailed, plan_of
from contend.outcome import Done, Interval, Outcome
from contend.probed import Probes
from contend.spec import CellSpec
from contend.store import Planned, RunRecord


def measure(
    planned: Planned,
    cell: CellSpec,
    ready: Ready,
    load: Load,
    listen: Listener,
    calibration: Calibration | None = None,
) -> RunRecord:
    """Make one run and return its record, with the client's ceiling where `calibration` has it.

    Raises:
        LoadFailed: contend-load gave no result, or not one query was answered.
    """
    plan = plan_of(cell, ready.address, seed=cell["load.seed"], watch_pid=ready.watch_pid)
    intervals: list[Interval] = []
    noted: Probes = {}

    def on_event(event: Outcome) -> None:
        if event["type"] == "hello":
            noted["load_generator"] = {
                "version": event["program_version"],
                "engine": event["engine"],
            }
        if event["type"] == "interval":
            intervals.append(event)
            listen(Pace(planned.run, float(event["qps"])))

    started_at = now()
    before = probes.look(ready.sight)
    done = load.run(plan, env=ready.env, on_event=on_event)
    seen = probes.changes(before, probes.look(ready.sight))
    _require_answers(done)
    ceiling = calibration.of(shape_of(plan)) if calibration is not None else None
    if calibration is not None and ceiling is not None:
        seen["calibration"] = probes.against_ceiling(calibration.record(ceiling), done)
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
        probes={**ready.probes, **noted, **seen},
        warnings=[*ready.warnings, *probes.warnings_of(done, seen, ready.expected)],
    )


def without_result(
    planned: Planned, started_at: str, error: ContendError, death: ContendError | None
) -> RunRecord:
    """The record of a run that gave no figures: lost with its server, or failed by itself."""
    cause = death if death is not None else error
    return RunRecord(
        run=planned.run,
        block=planned.block,
        repeat=planned.repeat,
        cell=planned.cell,
        status="failed" if death is None else "lost",
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
    """A run of nothing but errors has no speed."""
    errors = done["errors"]
    if done["queries"] or not errors:
        return
    first = errors[0]
    raise LoadFailed(
        f"not one query was answered; the server says: {first['message']}",
        code=first["code"],
        sqlstate=first["sqlstate"],
        statement=first["statement"],
    )
