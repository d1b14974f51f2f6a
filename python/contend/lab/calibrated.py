"""The client's ceilings for the cells of a run: looked up, and measured where they are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from contend.calibration import QUICK, Calibration, ensure, has_ceiling, shape_of
from contend.calibration.model import Transport
from contend.errors import ContendError
from contend.lab.events import Listener, Notice, StepProgress
from contend.load import Address, plan_of
from contend.spec import CellSpec

Calibrate = Callable[[Iterable[CellSpec]], Calibration | None]
"""The calibration for some cells; None where there can be none, which is told."""

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
