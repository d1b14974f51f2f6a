"""Checks the user's own statements, and counters that are metrics, on a server whose tables are
empty or as they were found: the server prepares each statement, and nothing is executed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from contend.errors import RequestError, did_you_mean, nearest
from contend.experiment import CellSpec, Experiment, cell_specs
from contend.experiment.settings.own_statements import OwnStatement, own_statements
from contend.metrics.counters import PER_QUERY
from contend.servers.client import fetch

_NO_COLUMN = frozenset({ER.BAD_FIELD_ERROR, ER.KEY_COLUMN_DOES_NOT_EXITS})
_NO_TABLE = frozenset({ER.NO_SUCH_TABLE, ER.UNKNOWN_TABLE, ER.BAD_DB_ERROR})
_NO_ROUTINE = frozenset({ER.SP_DOES_NOT_EXIST})
_NAMES = _NO_COLUMN | _NO_TABLE | _NO_ROUTINE
_WRONG_ARGUMENTS = 1582
_FORMS = frozenset(
    {ER.PARSE_ERROR, ER.WRONG_VALUE_COUNT_ON_ROW, ER.NON_UNIQ_ERROR, _WRONG_ARGUMENTS}
)
"""Errors that no content of the tables would prevent. A server cannot prepare every statement, and
lacks of a privilege or a lock depend on the connection."""

_CHANGES_SCHEMA = re.compile(r"\b(ALTER|CREATE|DROP|RENAME|USE)\b", re.IGNORECASE)
_NAME = re.compile(r"""[`'"](?:[^`'"]*\.)?([^`'".]+)[`'"]""")
_TRIAL = "contend_trial"


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
    refused = _FORMS if any(map(_CHANGES_SCHEMA.search, texts)) else _FORMS | _NAMES
    for one in statements:
        words = set(re.findall(r"\w+", one.text.lower()))
        if not words.isdisjoint(name.lower() for name in skip):
            continue
        with connection.cursor() as cursor:
            try:
                cursor.execute(f"PREPARE {_TRIAL} FROM {connection.literal(one.text)}")
            except pymysql.err.MySQLError as error:
                if len(error.args) > 1 and error.args[0] in refused:
                    raise _refusal(connection, one, *error.args[:2]) from error
    with contextlib.suppress(pymysql.err.MySQLError), connection.cursor() as cursor:
        cursor.execute(f"DEALLOCATE PREPARE {_TRIAL}")


def _refusal(connection: Connection[Any], one: OwnStatement, code: int, message: str) -> Unprepared:
    found = _NAME.search(message)
    known = list(_known(connection, one, code)) if found is not None else []
    hint = None
    if found is not None and (close := nearest(found[1], known)) is not None:
        hint = f'Did you mean "{close}"?'
    elif known and code in _NO_COLUMN:
        hint = f"The tables of this statement have {', '.join(known)}."
    return Unprepared(
        f'{one.place}: the server refuses the statement "{one.name}": {message} ({code})',
        hint=hint or "Correct the statement. No data was loaded.",
    )


def _known(connection: Connection[Any], one: OwnStatement, code: int) -> Iterator[str]:
    """The names that may have been meant: columns of tables that the statement names, tables, or
    routines."""
    if code in _NO_ROUTINE:
        for (name,) in fetch(
            connection,
            "SELECT routine_name FROM information_schema.routines "
            "WHERE routine_schema = DATABASE()",
        ):
            yield str(name)
        return
    words = set(re.findall(r"\w+", one.text.lower()))
    seen = dict.fromkeys(
        (str(table), str(column))
        for table, column in fetch(
            connection,
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position",
        )
    )
    if code in _NO_TABLE:
        yield from dict.fromkeys(table for table, _ in seen)
    else:
        yield from dict.fromkeys(column for table, column in seen if table.lower() in words)


def refuse_unknown_counters(connection: Connection[Any], experiment: Experiment) -> None:
    """Refuse a metric of a status variable that the server does not have.

    Raises:
        Unprepared: with the nearest name.
    """
    wanted = counters_of(experiment)
    if not wanted:
        return
    there = {str(name).lower(): str(name) for name, _ in fetch(connection, "SHOW GLOBAL STATUS")}
    for metric, counter in wanted.items():
        if counter.lower() not in there:
            raise Unprepared(
                f'compare.metric names "{metric}", but the server has no status variable {counter}',
                hint=did_you_mean(counter, there.values()),
            )


def counters_of(experiment: Experiment) -> dict[str, str]:
    """The metrics that are status variables -> the name of the variable. None of several servers
    must have all."""
    if len({(cell["server.use"], cell["server.kind"]) for cell in cell_specs(experiment)}) > 1:
        return {}
    metrics = (metric for metric in experiment.compare.metric if metric.startswith("status."))
    return {one: one.removeprefix("status.").removesuffix(PER_QUERY) for one in metrics}
