"""The format of results.sqlite: secrets that are never stored, tables, rows to
records and back.

The rollback journal is used, not the write-ahead log: between two commits a run folder is one
complete file that can be copied, read from a read-only medium, or sit on a network file system.
A run takes seconds and its commit milliseconds, so nothing is lost by it.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from contend.experiment import HIDDEN, Planned, without_dsn_passwords
from contend.experiment.stored import FLOAT_MAX, INT_MAX
from contend.store.model import LookRecord, RunRecord
from contend.store.shapes import check_look, check_planned, check_run

Record = TypeVar("Record")

_SECRET_KEYS = frozenset({"password", "passwd", "pwd", "secret"})
_CONNECTION = "server"
"""The table of a plan with a server's connection settings."""


def storable(document: Any, *, within: str = "") -> Any:
    """A copy fit to be stored: null for numbers that JSON lacks, and no secret of a
    connection. The rest is unchanged: a resume needs it.

    Args:
        within: the key whose value this is.
    """
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    if isinstance(document, Mapping):
        secret = _SECRET_KEYS if within == _CONNECTION else frozenset()
        return {
            str(key): HIDDEN
            if str(key).lower() in secret and isinstance(value, str) and value
            else storable(value, within=str(key))
            for key, value in document.items()
        }
    if isinstance(document, (list, tuple)):
        return [storable(item) for item in document]
    return document


def _reported(document: Any) -> Any:
    """Messages and observations, without the passwords of addresses in them."""
    if isinstance(document, str):
        return without_dsn_passwords(document)
    if isinstance(document, Mapping):
        return {key: _reported(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_reported(item) for item in document]
    return document


STORE_VERSION = 1
"""The version of a run folder. Any change that this contend would misread raises it; a folder of a
different version is refused."""

APPLICATION_ID = 0x636E7464
"""`cntd`: distinguishes a results.sqlite from any other SQLite file."""

BUSY_TIMEOUT_MS = 10_000

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE planned (
  run INTEGER PRIMARY KEY, block INTEGER NOT NULL, repeat INTEGER NOT NULL, cell TEXT NOT NULL
);
CREATE TABLE sessions (
  session INTEGER PRIMARY KEY, started_at TEXT NOT NULL, facts TEXT NOT NULL
);
CREATE TABLE runs (
  sequence INTEGER PRIMARY KEY,
  run INTEGER NOT NULL, block INTEGER NOT NULL, repeat INTEGER NOT NULL, cell TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'lost')),
  started_at TEXT NOT NULL, ended_at TEXT NOT NULL,
  plan TEXT NOT NULL, done TEXT, intervals TEXT NOT NULL, probes TEXT NOT NULL,
  warnings TEXT NOT NULL, error TEXT
);
-- A run may fail and be tried again, but it is measured once.
CREATE UNIQUE INDEX runs_measured_once ON runs (run) WHERE status = 'ok';
"""

LOOKS_TABLE = """
CREATE TABLE IF NOT EXISTS looks (
  sequence INTEGER PRIMARY KEY, look TEXT NOT NULL, block INTEGER NOT NULL, cell TEXT NOT NULL,
  started_at TEXT NOT NULL, ended_at TEXT NOT NULL, figures TEXT NOT NULL, error TEXT
)
"""
"""Made with the first look: a folder without looks does not have it."""

SYNCHRONOUS = "EXTRA"


def settings(connection: sqlite3.Connection) -> None:
    """Pragmas of every writer: a commit has reached the disk when it returns."""
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")


def dump(document: Any) -> str:
    """A document as text. ASCII, because a path of the host may be invalid in UTF-8."""
    return json.dumps(storable(document), allow_nan=False, separators=(",", ":"))


def dump_report(document: Any) -> str:
    """The same for messages and observations: errors, warnings, facts and probes."""
    return dump(_reported(document))


def read_json(text: Any) -> Any:
    """A stored document.

    Raises:
        ValueError: it is not JSON, or has a number that we never store.
    """
    if not isinstance(text, str):
        raise ValueError("a document is missing")
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("a document is too deep") from None


def _whole(text: str) -> int:
    if len(text) > _DIGITS_MAX or abs(number := int(text)) > INT_MAX:
        raise ValueError(f"{text[:_DIGITS_MAX]} is not a number that contend writes")
    return number


def _decimal(text: str) -> float:
    number = float(text)
    if abs(number) > FLOAT_MAX:
        raise ValueError(f"{text[:_DIGITS_MAX]} is not a number that contend writes")
    return number


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


_DIGITS_MAX = 24
_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_decimal, parse_constant=_no_number)


@dataclass(frozen=True, slots=True)
class StoredTable(Generic[Record]):
    """A table whose rows are records of one type; columns are fields.

    documents: columns that hold JSON. `check`: raises WrongShape for wrong values.
    """

    name: str
    key: str
    columns: tuple[str, ...]
    documents: frozenset[str]
    make: type[Record]
    check: Callable[[Mapping[str, Any]], None]

    @property
    def insert(self) -> str:
        marks = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})"

    def select(self, *without: str) -> str:
        """A query for all rows, with an empty list in the columns that are not wanted."""
        columns = ("'[]'" if name in without else name for name in self.columns)
        return f"SELECT {', '.join(columns)} FROM {self.name}"

    def row(self, record: Record) -> tuple[Any, ...]:
        return tuple(self._written(name, getattr(record, name)) for name in self.columns)

    def _written(self, name: str, value: Any) -> Any:
        if name not in self.documents or value is None:
            return value
        return (dump_report if name in _REPORTED else dump)(value)

    def record(self, row: tuple[Any, ...], shared: Callable[[str], Any] | None = None) -> Record:
        """The record of a row; `shared` reads the parts that many rows have in common, and may give
        all of them the same document.

        Raises:
            ValueError: the row differs from the form that `row` makes.
        """
        values: dict[str, Any] = dict(zip(self.columns, row, strict=True))
        for name in self.documents:
            if values[name] is not None or name not in _NULLED:
                read = shared if shared and name in _ALIKE else read_json
                values[name] = read(values[name])
        self.check(values)
        return self.make(**values)


_REPORTED = frozenset({"probes", "warnings", "error"})
_NULLED = frozenset({"done", "error"})
_ALIKE = frozenset({"cell", "plan", "warnings", "error"})

PLANNED = StoredTable(
    "planned",
    "run",
    ("run", "block", "repeat", "cell"),
    frozenset({"cell"}),
    Planned,
    check_planned,
)
LOOKS = StoredTable(
    "looks",
    "sequence",
    ("look", "block", "cell", "started_at", "ended_at", "figures", "error"),
    frozenset({"cell", "figures"}),
    LookRecord,
    check_look,
)
_DOCUMENTS = ("cell", "plan", "done", "intervals", "probes", "warnings", "error")
RUNS = StoredTable(
    "runs",
    "sequence",
    ("run", "block", "repeat", "status", "started_at", "ended_at", *_DOCUMENTS),
    frozenset(_DOCUMENTS),
    RunRecord,
    check_run,
)
