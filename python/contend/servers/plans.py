"""The statements that a server runs, from its process list, and its plan for each (EXPLAIN)."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pymysql
from pymysql.connections import Connection

from contend.servers.client import fetch, quoted
from contend.servers.errors import ConnectionLost

PERIOD_S = 0.01
STATEMENT_MAX = 2_000
"""Limit in bytes of a statement to explain; a longer one would be cut off at an arbitrary place."""

_ASKED = (
    "SELECT INFO FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') "
    "AND DB = %s AND ID <> CONNECTION_ID() AND INFO IS NOT NULL"
)
_EXPLAINED = re.compile(r"\s*(SELECT|UPDATE|DELETE|INSERT|REPLACE|WITH)\b", re.IGNORECASE)
_LITERAL = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|\b0x[0-9a-f]+\b"
    r"|\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"\(\s*\?(?:\s*,\s*\?)+\s*\)")


def shape_of(statement: str) -> str:
    """A statement without its varying parts: numbers, texts, lengths of lists."""
    plain = " ".join(_LITERAL.sub("?", statement).split())
    return _LIST.sub("(?, ...)", plain)


def can_be_explained(statement: str) -> bool:
    return bool(_EXPLAINED.match(statement)) and len(statement.encode()) <= STATEMENT_MAX


class StatementWatch:
    """Samples the process list between entry and exit, with exclusive use of the connection.
    Statements of other databases, which may belong to others, are skipped."""

    def __init__(self, connection: Connection[Any], database: str) -> None:
        self._connection = connection
        self._database = database
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def seen(self) -> list[tuple[str, str, int]]:
        """For each shape: the shape, its first statement, and how often it was seen; the most
        frequent first."""
        return [(shape, self._first[shape], n) for shape, n in self._counts.most_common()]

    def _watch(self) -> None:
        while not self._over.wait(PERIOD_S):
            try:
                rows = fetch(self._connection, _ASKED, (self._database,))
            except (ConnectionLost, OSError, pymysql.err.MySQLError):
                return  # Other code reports the death of the server.
            self.see(str(text) for (text,) in rows)

    def see(self, statements: Any) -> None:
        for text in statements:
            if can_be_explained(text):
                shape = shape_of(text)
                self._first.setdefault(shape, text)
                self._counts[shape] += 1


@dataclass(frozen=True, slots=True)
class Explained:
    """A server's plan for one statement.

    Args:
        tables: one row of EXPLAIN each, by lower-case name of its column; empty if `why_not`.
        why_not: the server's message in place of a plan.
    """

    tables: Sequence[Mapping[str, Any]]
    why_not: str | None = None


_COLUMNS = ("select_type", "table", "type", "possible_keys", "key", "key_len", "ref", "rows")


def explained(connection: Connection[Any], statement: str) -> Explained:
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN FORMAT=TRADITIONAL {statement}")
            names = [str(column[0]).lower() for column in cursor.description or ()]
            rows = list(cursor.fetchall())
    except pymysql.err.MySQLError as error:
        return Explained((), str(error.args[-1]) if error.args else str(error))
    found = []
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        kept = {name: cells.get(name) for name in _COLUMNS}
        # MariaDB may return it as text.
        rows_read = None if kept["rows"] is None else int(kept["rows"])
        found.append({**kept, "rows": rows_read, "extra": cells.get("extra") or ""})
    return Explained(found)


def use_database(connection: Connection[Any], database: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"USE {quoted(database)}")


def indexes(connection: Connection[Any], database: str) -> dict[str, dict[str, list[str]]]:
    """By table and name: the columns of each index, as a definition names them."""
    rows = fetch(
        connection,
        "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS "
        "WHERE TABLE_SCHEMA = %s ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX",
        (database,),
    )
    found: dict[str, dict[str, list[str]]] = {}
    for table, index, column, part in rows:
        # An index of an expression has no columns.
        if column is not None:
            name = quoted(str(column)) + ("" if part is None else f"({part})")
            found.setdefault(str(table), {}).setdefault(str(index), []).append(name)
    return found
