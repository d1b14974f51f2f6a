"""Checks of a schema: conditions that its tables hold whatever was done to them.

A condition is one query that gives a row for each thing that breaks it: no rows, and it holds.
They are asked in one consistent snapshot, so that a server that is written to meanwhile is judged
by one state of its tables (as far as its storage engine has such).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

import pymysql
from pymysql.connections import Connection

from contend.datasets import tpcc_conditions
from contend.errors import RequestError, WorkError, did_you_mean

EXAMPLES = 3
"""So many of the rows that break a condition are shown."""


@dataclass(frozen=True, slots=True)
class SchemaConditions:
    """What is known of the tables of a schema.

    Args:
        why_unfit: asked of a connection before the conditions; why the tables cannot be judged,
            in words, or None.
    """

    tables: Sequence[str]
    conditions: Sequence[tpcc_conditions.Condition]
    why_unfit: Callable[[Any], str | None]


SCHEMAS: dict[str, SchemaConditions] = {
    "tpcc": SchemaConditions(
        tpcc_conditions.TABLES, tpcc_conditions.CONDITIONS, tpcc_conditions.why_unfit
    )
}
"""The schemas that have conditions, by the names that `data.schema` gives them."""


class Checked(TypedDict):
    """What became of one condition.

    broken: rows that break it; None if it was not asked.
    examples: some of them, by column.
    """

    name: str
    says: str
    broken: int | None
    examples: list[dict[str, Any]]


class DataInconsistent(WorkError):
    """The tables break a condition of their schema."""


def schema_of(name: str) -> SchemaConditions:
    """The schema of a name; raises RequestError if it has no conditions."""
    if name not in SCHEMAS:
        raise RequestError(
            f"there are no conditions of a schema {name}",
            hint=did_you_mean(name, SCHEMAS) or f"There are those of {', '.join(SCHEMAS)}.",
        )
    return SCHEMAS[name]


def check(connection: Connection[Any], database: str, name: str, *, fresh: bool) -> list[Checked]:
    """Ask every condition of a schema.

    Args:
        connection: to the server; nothing is changed on it.
        fresh: nothing was done to the tables since they were loaded, so the conditions that hold
            only then are asked too.

    Raises:
        RequestError: the tables are not there, or are not what the schema means.
        WorkError: the server refused a query.
    """
    schema = schema_of(name)
    with _words_for(name), connection.cursor() as cursor:
        cursor.execute(
            "SELECT LOWER(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s",
            (database,),
        )
        there = {str(row[0]) for row in cursor.fetchall()}
        # One without a table may not be there either.
        if there:
            connection.select_db(database)
            why = schema.why_unfit(cursor)
            if why is not None:
                raise RequestError(
                    f"the tables of {name} in {database} cannot be judged: {why}",
                    hint="Give the same `contend-load fill` again: it goes on with what is "
                    "missing.",
                )
        missing = [table for table in schema.tables if table not in there]
        if missing:
            raise RequestError(
                f"the database {database} has no table {', '.join(missing)}",
                hint=f"Name the database that holds the tables of {name}, or load them first.",
            )
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        checked = [
            _checked(cursor, condition, asked=fresh or not condition.fresh_only)
            for condition in schema.conditions
        ]
        # Of an error or of Ctrl-C the connection is no more, and a ROLLBACK would hide it.
        cursor.execute("ROLLBACK")
    return checked


def _checked(cursor: Any, condition: tpcc_conditions.Condition, *, asked: bool) -> Checked:
    checked: Checked = {
        "name": condition.name,
        "says": condition.says,
        "broken": None,
        "examples": [],
    }
    if not asked:
        return checked
    cursor.execute(
        f"SELECT breaking.*, COUNT(*) OVER () FROM ({condition.breaking}) AS breaking"
        f" LIMIT {EXAMPLES}"
    )
    rows = cursor.fetchall()
    columns = [column[0] for column in cursor.description][:-1]
    checked["broken"] = int(rows[0][-1]) if rows else 0
    checked["examples"] = [
        {column: _plain(value) for column, value in zip(columns, row, strict=False)} for row in rows
    ]
    return checked


def _plain(value: object) -> object:
    """As JSON takes it; money keeps its digits."""
    return value if value is None or isinstance(value, int) else str(value)


@contextmanager
def _words_for(name: str) -> Iterator[None]:
    try:
        yield
    except pymysql.err.MySQLError as error:
        raise WorkError(
            f"the conditions of {name} could not be checked: {error.args[-1]}",
            hint="The tables may be those of another kit, with other columns.",
        ) from error


def lines_of(checked: Sequence[Checked]) -> Iterator[str]:
    """For people: a line for each condition, and for one that is broken some examples."""
    for condition in checked:
        if condition["broken"] is None:
            verdict = "not asked: it holds only as long as nothing was done to the tables"
        elif condition["broken"] == 0:
            verdict = "holds"
        else:
            verdict = f"BROKEN by {condition['broken']:,}"
        yield f"{condition['name']:>3}  {condition['says']}: {verdict}"
        for example in condition["examples"]:
            told = ", ".join(
                f"{column} = {'NULL' if value is None else value}"
                for column, value in example.items()
            )
            yield f"       {told}"
        if condition["broken"] and condition["broken"] > len(condition["examples"]):
            yield f"       and {condition['broken'] - len(condition['examples']):,} more"
