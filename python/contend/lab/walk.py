"""All runs of a plan, one after another, each stored the moment it ends.

What fails is recorded and the walk goes on, because one bad cell must not cost a night's work.
Two things end it: a request that can never be met, found before anything was measured, and one
failure after another, which says that the rest would fail too.
"""

from __future__ import annotations

import pymysql

from contend.errors import ContendError, RequestError, WorkError
from contend.lab.errors import TooManyFailures
from contend.lab.events import Listener, RunBegan, RunEnded
from contend.lab.measure import measure, now, without_result
from contend.lab.stage import Stage
from contend.load import Load
from contend.spec import Experiment, cell_spec
from contend.store import PlannedLike, RunFolder, RunRecord

FAILURES_MAX = 5
"""Runs in a row without a result after which the walk ends."""


def walk(
    experiment: Experiment, folder: RunFolder, *, stage: Stage, load: Load, listen: Listener
) -> None:
    """Make every planned run that the folder does not hold yet.

    Raises:
        TooManyFailures: several runs in a row gave no result.
        RequestError: an option or a table was refused before anything was measured.
    """
    planned = folder.meta().planned
    records = folder.records()
    ended = {record.run for record in records}
    measured = any(record.status == "ok" for record in records)
    blocks = max((one.block for one in planned), default=0)
    in_a_row: list[RunRecord] = []
    for one in planned:
        if one.run in ended:
            continue
        listen(RunBegan(one.run, one.block, blocks, one.cell))
        record = _attempt(experiment, one, stage, load, listen, must_be_possible=not measured)
        folder.append(record)
        listen(RunEnded(record))
        if record.status == "ok":
            measured = True
            in_a_row = []
        else:
            in_a_row.append(record)
        if len(in_a_row) >= FAILURES_MAX:
            raise _too_many(in_a_row, folder)


def _attempt(
    experiment: Experiment,
    planned: PlannedLike,
    stage: Stage,
    load: Load,
    listen: Listener,
    *,
    must_be_possible: bool,
) -> RunRecord:
    started_at = now()
    cell = cell_spec(experiment, planned.cell)
    try:
        return measure(planned, cell, stage.set(cell), load, listen)
    except RequestError as error:
        if must_be_possible:
            raise
        return without_result(planned, started_at, error, stage.death())
    except WorkError as error:
        return without_result(planned, started_at, error, stage.death())
    except pymysql.err.MySQLError as error:
        return without_result(planned, started_at, _in_words(error), stage.death())


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
