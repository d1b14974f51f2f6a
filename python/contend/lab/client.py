"""What the lab asks contend-load itself before its runs: the engine of all cells, and how much it
can do on this host.

Left alone, contend-load takes what the kernel allows it for the sockets of a run, which may be one
thing for few and another for many, or for the host that a run is resumed on. The lab asks it once,
for the largest cell, and names the answer in the plans of all cells. If `load.engine` is a factor
each level names its own. Its ceilings for the cells of a run are looked up, and measured if they
are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from contend.calibration import QUICK, Calibration, ensure, has_ceiling, shape_of
from contend.calibration.model import Transport
from contend.errors import ContendError, RequestError
from contend.lab.errors import OtherEngine
from contend.lab.events import Listener, Notice, StepProgress
from contend.load import Address, ask_engine, plan_of
from contend.probed import EngineFacts
from contend.spec import CellSpec, Experiment, cell_specs
from contend.store import Meta

PATH = "load.engine"
_NOWHERE = Address(socket="/", database="sbtest")

ChooseEngine = Callable[[Experiment], EngineFacts]
"""What a session keeps of the engine of all cells: its name; nothing if it is a factor."""


def choosing_engine(program: Path) -> ChooseEngine:
    """Let contend-load at `program` choose."""

    def choose(experiment: Experiment) -> EngineFacts:
        """Raises RequestError if the kernel refuses an engine that the experiment names."""
        in_order = sorted(cell_specs(experiment), key=lambda cell: cell["load.connections"])
        # The largest of each engine: one for all of them, unless it is a factor.
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

    return choose


def with_engine(experiment: Experiment, engine: str | None) -> Experiment:
    """The experiment with this engine in all of its cells; as it is if it is a factor."""
    if engine is None or any(factor.path == PATH for factor in experiment.factors):
        return experiment
    return replace(experiment, base=CellSpec({**experiment.base.values, PATH: engine}))


def kept_engine(meta: Meta) -> str | None:
    """The engine that a run folder's cells have had so far; None if none was kept."""
    for session in meta.sessions:
        engine = session.facts.get("load_generator", {}).get("engine")
        if engine is not None:
            return engine
    return None


def require_engine(choose: ChooseEngine, experiment: Experiment, engine: str) -> EngineFacts:
    """What a session keeps that goes on with `engine`.

    Raises:
        OtherEngine: it cannot be had any more.
    """
    try:
        return choose(with_engine(experiment, engine))
    except RequestError as error:
        raise OtherEngine(
            f"this run was begun with the engine {engine} of contend-load, which cannot be had "
            f"now: {error.message}",
            hint="Go on where it can be had, or start a new run.",
        ) from error


Calibrate = Callable[[Iterable[CellSpec]], Calibration | None]
"""The calibration for some cells; None if there can be none, which is told."""

ADDRESSES = {"socket": Address(socket="s"), "tcp": Address(host="127.0.0.1")}
"""What plans of each transport look like; nobody connects there."""


def calibrating(program: Path, *, cache: Path, transport: Transport, listen: Listener) -> Calibrate:
    """Calibrate contend-load at `program` as far as the cells need it, and keep that in `cache`.

    A run goes on without: the figures are the same, only nobody vouches for the client. What the
    user wrote has no ceiling: it may be edited, and need not work with canned answers.
    """

    def calibrate(cells: Iterable[CellSpec]) -> Calibration | None:
        address = ADDRESSES[transport]
        plans = (plan_of(cell, address, seed=0, watch_pid=None) for cell in cells)
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
                    f"this host is not calibrated ({error}), so no run is compared with what "
                    "contend-load itself can do; `contend calibrate` measures that"
                )
            )
            return None

    return calibrate
