"""All runs of a plan, one after another, each stored the moment it ends.

What fails is recorded and the walk goes on, because one bad cell must not cost a night's work.
It ends where going on is of no use: nothing was measured yet and the first cell cannot be set up;
the first block, which holds every compared level, has a level that is refused; the data cannot be
had; or one run after another fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pymysql

from contend.calibration import Calibration
from contend.datasets import DiskFull, LoadingDeclined, LoadingFailed
from contend.errors import ContendError, RequestError, WorkError
from contend.lab.errors import TooManyFailures
from contend.lab.events import Listener, RunBegan, RunEnded
from contend.lab.measure import measure, now, without_result
from contend.lab.stage import Ready, Stage
from contend.load import Load
from contend.metrics import metric_of
from contend.servers.errors import ServerDied
from contend.spec import CellSpec, Experiment, cell_spec, without_metric
from contend.store import Planned, RunFolder, RunRecord

NO_DATA = (DiskFull, LoadingDeclined, LoadingFailed)
"""To try again for the next run would load for minutes to fail again."""

_Drive = Callable[[Planned, CellSpec, Ready], RunRecord]

FAILURES_MAX = 5
"""Runs in a row without a result after which the walk ends."""


def walk(
    experiment: Experiment,
    folder: RunFolder,
    *,
    stage: Stage,
    load: Load,
    listen: Listener,
    calibration: Calibration | None = None,
) -> None:
    """Make every planned run that the folder does not hold yet, also those planned meanwhile.

    Args:
        experiment: what is planned.
        folder: where the runs are stored.
        stage: where they are played.
        load: drives load.
        listen: is told what happens.
        calibration: ceilings that each run is compared with, where it has one of its shape.

    Raises:
        TooManyFailures: several runs in a row gave no result.
        ContendError: the server or its data cannot be had as the experiment wants them. Nothing
            is recorded of that run, so that it is made when the cause is gone.
    """
    before = folder.ended()
    ended = {one.run for one in before}
    measured = any(one.status == "ok" for one in before)
    in_a_row: list[RunRecord] = []
    first_runs: list[RunRecord] = []

    def drive(planned: Planned, cell: CellSpec, ready: Ready) -> RunRecord:
        return measure(planned, cell, ready, load, listen, calibration)

    # The plan may grow while its runs are made.
    while True:
        planned = folder.meta().planned
        one = next((each for each in planned if each.run not in ended), None)
        if one is None:
            return
        ended.add(one.run)
        listen(RunBegan(one.run, one.block, max(each.block for each in planned), one.cell))
        first_block = one.block == planned[0].block
        patience = _Patience(refusals=not first_block, failures=measured)
        record = _attempt(experiment, one, stage, drive, patience)
        folder.append(record)
        listen(RunEnded(record))
        if first_block and record.status == "ok":
            first_runs.append(record)
            _must_have_metrics(experiment, first_runs, planned)
        if record.status == "ok":
            measured = True
            in_a_row = []
        else:
            in_a_row.append(record)
        if len(in_a_row) >= FAILURES_MAX:
            raise _too_many(in_a_row, folder)


def _must_have_metrics(
    experiment: Experiment, first: list[RunRecord], planned: Sequence[Planned]
) -> None:
    """What is to be compared and is not recorded is better told after one run than after all.

    A counter that did not change is not recorded, so it may be missing at some of the levels: one
    that no run of the first block has is taken for a wrong name.
    """
    whole = len(first) == sum(one.block == planned[0].block for one in planned)
    for name in experiment.compare.metric:
        if metric_of(name).value(first[-1]) is not None:
            continue
        is_counter = name.startswith("status.")
        if not is_counter or (whole and all(metric_of(name).value(one) is None for one in first)):
            raise without_metric(name, first[-1])


@dataclass(frozen=True, slots=True)
class _Patience:
    """Which troubles in setting the stage cost one run alone: a refused request, a failure."""

    refusals: bool
    failures: bool


def _attempt(
    experiment: Experiment,
    planned: Planned,
    stage: Stage,
    drive: _Drive,
    patience: _Patience,
) -> RunRecord:
    started_at = now()
    cell = cell_spec(experiment, planned.cell)
    ready: Ready | None = None
    try:
        ready = stage.set(cell)
        return drive(planned, cell, ready)
    except NO_DATA:
        raise
    except RequestError as error:
        if ready is None and not (patience.refusals and patience.failures):
            raise
        return without_result(planned, started_at, error, _death(stage, error))
    except WorkError as error:
        if ready is None and not patience.failures:
            raise
        return without_result(planned, started_at, error, _death(stage, error))
    except pymysql.err.MySQLError as error:
        return without_result(planned, started_at, _in_words(error), stage.death())


def _death(stage: Stage, error: ContendError) -> ContendError | None:
    """How the server ended, where it did. Whoever met its death first may have told already."""
    return error if isinstance(error, ServerDied) else stage.death()


def _in_words(error: pymysql.err.MySQLError) -> ContendError:
    said = str(error.args[-1]) if error.args else str(error)
    return WorkError(f"the control connection failed: {said}")


def _too_many(records: list[RunRecord], folder: RunFolder) -> TooManyFailures:
    last = records[-1].error or {}
    return TooManyFailures(
        f"{len(records)} runs in a row gave no result; the last: {last.get('message')}",
        hint=last.get("hint") or f"Every run's error is in {folder.path}: `contend show` it.",
        detail=last.get("detail"),
    )
