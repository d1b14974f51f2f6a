"""The diagnostic pass over the statements of a recording: for one statement of each template the
plan of every level, and the counters of its session."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pymysql

from contend.errors import WorkError
from contend.lab.looks import BlockToLookAt, LookAtCause
from contend.store import LookRecord

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from contend.lab.testbed import Ready

TWIN_PLANS = "twin_plans"

TEMPLATES_MAX = 250
SLOW_S = 10
"""A statement that takes longer is stopped; its counters are unknown."""

_COUNTED = "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler\\_%' OR Variable_name LIKE " + (
    "'Sort\\_%' OR Variable_name LIKE 'Select\\_%' OR Variable_name LIKE 'Created\\_tmp%' "
    "OR Variable_name IN ('Rows_read', 'Rows_tmp_read')"
)


def look_at_twins(block: BlockToLookAt) -> list[LookRecord]:
    """Explain one statement of each template at every level and, if it only reads, run it.

    Raises:
        WorkError: the run asks no recording.
    """
    if block.recording is None:
        raise WorkError("this run asks no recording")
    examples = block.recording.examples(TEMPLATES_MAX)
    figures = []
    for ready in block.readies:
        with _limited(ready.observed.connection):
            figures.append({"statements": _asked(ready, examples)})
    return block.records(figures)


@contextlib.contextmanager
def _limited(connection: Connection[Any]) -> Iterator[None]:
    """Stop slow statements; afterwards the connection has its usual limit again, since it may still
    undo steps of setup that take long."""
    limits = {"max_statement_time": SLOW_S, "max_execution_time": 1000 * SLOW_S}

    def set_all(value: Callable[[str], object]) -> None:
        with connection.cursor() as cursor:
            # MariaDB's name and MySQL's: a server has one of them.
            for name in limits:
                with contextlib.suppress(pymysql.err.MySQLError):
                    cursor.execute(f"SET SESSION {name} = {value(name)}")

    set_all(limits.__getitem__)
    try:
        yield
    finally:
        set_all(lambda _name: "DEFAULT")


def _asked(ready: Ready, examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from contend.servers.plans import explained, use_database

    connection = ready.observed.connection
    found = []
    for one in examples:
        # Bytes of the log; also those that are not UTF-8.
        text = one["text"].encode("latin-1").decode(errors="surrogateescape")
        database = one["database"] or ready.address.database
        tables: list[Any] = []
        counted: dict[str, int] = {}
        try:
            if database:
                use_database(connection, database)
            plan = explained(connection, text)
            # A message may quote the statement, whose values belong in no run folder.
            tables, why_not = list(plan.tables), plan.why_not and "the server refuses EXPLAIN"
            if why_not is None and one["read"]:
                counted = _counted(connection, text)
        except pymysql.err.MySQLError as error:
            why_not = f"error {error.args[0]}"
        found.append(
            {
                "template": one["template"],
                "number": one["number"],
                "shape": f"template {one['template']}",
                "tables": tables,
                "why_not": why_not,
                "counted": counted,
            }
        )
    return found


def _counted(connection: Connection[Any], text: str) -> dict[str, int]:
    """What the session's counters rise by."""
    before = _status(connection)
    with connection.cursor() as cursor:
        cursor.execute(text.encode(errors="surrogateescape"))
        cursor.fetchall()
    after = _status(connection)
    # The first reading is counted by the second.
    idle = _status(connection)
    own = {name: idle[name] - after[name] for name in after}
    return {name: after[name] - before[name] - own[name] for name in after}


def _status(connection: Connection[Any]) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(_COUNTED)
        return {str(name): int(value) for name, value in cursor.fetchall()}


LOOK = LookAtCause(TWIN_PLANS, look_at_twins)
