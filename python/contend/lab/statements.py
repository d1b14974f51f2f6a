"""Checks the user's own statements, and counters that are metrics, on a server that has nearly
empty tables, or the user's own: the server prepares each statement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pymysql.connections import Connection

from contend.errors import RequestError, did_you_mean
from contend.experiment import CellSpec, Experiment, cell_specs
from contend.experiment.settings.own_statements import OwnStatement, own_statements
from contend.metrics.counters import PER_QUERY
from contend.servers import trial

_CHANGES_SCHEMA = re.compile(r"\b(ALTER|CREATE|DROP|RENAME|USE)\b", re.IGNORECASE)
_QUOTED = re.compile(r"""[`'"](?:[^`'"]*\.)?([^`'".]+)[`'"]""")
_FUNCTION = re.compile(r"\b(?:FUNCTION|PROCEDURE) (?:\S+\.)?(\w+)")


class Unprepared(RequestError):
    """The experiment names something that the server does not have."""


def refuse_unprepared(
    connection: Connection[Any],
    cell: CellSpec,
    *,
    changed_by: Iterable[str] = (),
    skip: Sequence[str] = (),
) -> None:
    """Refuse a statement of the cell that the server cannot prepare.

    Args:
        connection: in the database of the tables, with the session that a run would have.
        changed_by: statements that run before the load, and have not run yet.
        skip: tables that do not exist yet; statements that name one are not checked.

    Raises:
        Unprepared: a statement is wrong, or names something that does not exist.
    """
    statements = own_statements(cell["workload"])
    texts = [*changed_by, *(one.text for one in statements)]
    # Tables that the statements make themselves are not there yet.
    is_changed = any(map(_CHANGES_SCHEMA.search, texts))
    counted = trial.NO_FORM if is_changed else trial.NO_FORM | trial.NO_NAME
    for one in statements:
        if _words(one).isdisjoint(name.lower() for name in skip):
            refusal = trial.refusal_of(connection, one.text)
            if refusal is not None and refusal[0] in counted:
                raise _unprepared(connection, one, *refusal)


def _words(one: OwnStatement) -> set[str]:
    return set(re.findall(r"\w+", one.text.lower()))


def _unprepared(
    connection: Connection[Any], one: OwnStatement, code: int, message: str
) -> Unprepared:
    found = _FUNCTION.search(message) or _QUOTED.search(message)
    hint = found and did_you_mean(found[1], _known(connection, one, code))
    return Unprepared(
        f'{one.place}: the server refuses the statement "{one.name}": {message} ({code})',
        hint=hint or "Correct the statement. No data was loaded.",
        detail=one.text,
    )


def _known(connection: Connection[Any], one: OwnStatement, code: int) -> list[str]:
    """The names that may have been meant: columns of tables that the statement names, tables, or
    routines."""
    if code in trial.NO_ROUTINE:
        return trial.routines(connection)
    if code in trial.NO_COLUMN:
        words = _words(one)
        named = [name for table, name in trial.columns(connection) if table.lower() in words]
        return list(dict.fromkeys(named))
    if code in trial.NO_TABLE:
        return list(dict.fromkeys(table for table, _ in trial.columns(connection)))
    return []


def refuse_unknown_counters(connection: Connection[Any], experiment: Experiment) -> None:
    """Refuse a metric of a status variable that the server does not have.

    Raises:
        Unprepared: with the nearest name.
    """
    if not (wanted := counters_of(experiment)):
        return
    there = {name.lower(): name for name in trial.status_variables(connection)}
    for metric, counter in wanted.items():
        if counter.lower() not in there:
            raise Unprepared(
                f'compare.metric names "{metric}", but the server has no status variable {counter}',
                hint=did_you_mean(counter, there.values()),
            )


def counters_of(experiment: Experiment) -> dict[str, str]:
    """The metrics that are status variables -> the name of the variable. With several servers none
    of them must have all."""
    if len({(cell["server.use"], cell["server.kind"]) for cell in cell_specs(experiment)}) > 1:
        return {}
    metrics = (metric for metric in experiment.compare.metric if metric.startswith("status."))
    return {one: one.removeprefix("status.").removesuffix(PER_QUERY) for one in metrics}
