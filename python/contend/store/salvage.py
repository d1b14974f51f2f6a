"""Row by row out of a results.sqlite that may be damaged: whatever can still be read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from contend.spec import Planned
from contend.store import schema
from contend.store.connection import READ_FAULTS, raw_connection
from contend.store.model import RunRecord


def read_runs(folder: Path) -> list[RunRecord]:
    """The runs that can be read. How many cannot is not known: their keys may be gone too."""
    records: list[RunRecord] = []
    for row in _rows(folder, "runs", "sequence", schema.RUN_COLUMNS):
        with suppress(ValueError, TypeError):
            records.append(schema.run_from_row(row))
    return records


def read_planned(folder: Path) -> list[Planned]:
    rows = list(_rows(folder, "planned", "run", "run, block, repeat, cell"))
    try:
        return [schema.planned_from_row(row) for row in rows]
    except (ValueError, TypeError):
        return []


def read_sessions(folder: Path) -> list[dict[str, Any]]:
    rows = _rows(folder, "sessions", "session", "facts")
    try:
        return [json.loads(row[0]) for row in rows]
    except (ValueError, TypeError):
        return []


def read_meta(folder: Path, key: str) -> dict[str, Any] | None:
    try:
        connection = raw_connection(folder, write=False)
    except READ_FAULTS:
        return None
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        document = json.loads(row[0]) if row else None
    except (sqlite3.Error, ValueError, TypeError):
        return None
    finally:
        connection.close()
    return document if isinstance(document, dict) else None


def read_spec(folder: Path) -> dict[str, Any] | None:
    try:
        document = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _rows(folder: Path, table: str, key: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Each readable row of a table, in the order of its key."""
    try:
        connection = raw_connection(folder, write=False)
        # Without this, SQLite reads nothing at all of a file that is shorter than it says.
        connection.execute("PRAGMA writable_schema = ON")
    except READ_FAULTS:
        return
    try:
        for number in _keys(connection, table, key):
            with suppress(*READ_FAULTS):
                query = f"SELECT {columns} FROM {table} WHERE {key} = ?"
                yield connection.execute(query, (number,)).fetchone()
    finally:
        connection.close()


def _keys(connection: sqlite3.Connection, table: str, key: str) -> list[int]:
    """The keys from both ends: a bad page in the middle hides neither the first nor the last."""
    found: set[int] = set()
    for order in ("ASC", "DESC"):
        try:
            for (number,) in connection.execute(
                f"SELECT {key} FROM {table} ORDER BY {key} {order}"
            ):
                found.add(number)
        except READ_FAULTS:
            continue
    return sorted(found)
