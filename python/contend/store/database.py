"""Reading results.sqlite: a connection to it, whether it is ours and whole. From a damaged one, it
reads all rows that are still readable."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from contend.errors import WorkError
from contend.experiment.stored import require
from contend.files import read_file
from contend.store import schema
from contend.store.model import (
    DamagedStore,
    NotARunFolder,
    OtherFormat,
    StoreFailed,
)
from contend.store.schema import RUNS, Record, StoredTable

RESULTS_NAME = "results.sqlite"

READ_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""Errors from reading a damaged file: SQLite quotes the damage in its message, and Python may fail
to decode the message."""


def raw_connection(folder: Path, *, write: bool) -> sqlite3.Connection:
    """An unchecked connection.

    A reader opens the file writable if it may. If a lab was killed in the middle of a commit, the
    first reader must roll the half-written commit back. It writes nothing else.
    """
    file = folder / RESULTS_NAME
    _require_plain(file)
    mode = "rw" if write or os.access(file, os.W_OK) else "ro"
    connection = sqlite3.connect(
        f"file:{quote(str(file.absolute()))}?mode={mode}", uri=True, isolation_level=None
    )
    # contend only stores ASCII, but a damaged file may contain anything.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.set_authorizer(_only_tables)
    connection.execute(f"PRAGMA busy_timeout = {schema.BUSY_TIMEOUT_MS}")
    if not write:
        connection.execute("PRAGMA query_only = ON")
    return connection


_NAMES_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""The end of a journal that names a super-journal, which SQLite removes when it rolls back."""


def _require_plain(file: Path) -> None:
    """Refuse files that SQLite would wait for, follow or remove: the folder may come from others.

    Raises:
        sqlite3.DatabaseError: the file or its journal differs from those that we write.
    """
    if not file.is_file():
        raise sqlite3.DatabaseError("it is not a regular file")
    for ending in ("-journal", "-wal", "-shm"):
        companion = file.with_name(file.name + ending)
        if not os.path.lexists(companion):
            continue
        if ending != "-journal" or not stat.S_ISREG(companion.lstat().st_mode):
            raise sqlite3.DatabaseError(f"{companion.name} was not written by contend")
        with companion.open("rb") as journal:
            journal.seek(max(0, companion.stat().st_size - len(_NAMES_JOURNAL)))
            if journal.read() == _NAMES_JOURNAL:
                raise sqlite3.DatabaseError(f"{companion.name} was not written by contend")
    with file.open("rb") as database:
        # A file with a write-ahead log, which SQLite would create next to it.
        if 2 in database.read(20)[18:]:
            raise sqlite3.DatabaseError("it has a write-ahead log, which contend never uses")


def _only_tables(
    action: int, _first: str | None, _second: str | None, _database: str | None, within: str | None
) -> int:
    """Refuse views and triggers, which may compute for ever; contend writes none."""
    endless = within is not None or action == sqlite3.SQLITE_RECURSIVE
    return sqlite3.SQLITE_DENY if endless else sqlite3.SQLITE_OK


def read_table(folder: Path, table: StoredTable[Record]) -> list[Record]:
    """The records that can be read. The number of others is unknown: their keys may be lost."""
    records: list[Record] = []
    for row in _rows(folder, table.name, table.key, ", ".join(table.columns)):
        with suppress(ValueError, TypeError):
            records.append(table.record(row))
    return records


def read_sessions(folder: Path) -> list[dict[str, Any]]:
    """The facts of all sessions; empty if those of one cannot be read."""
    rows = _rows(folder, "sessions", "session", "facts")
    try:
        return [require(schema.read_json(row[0]), dict[str, Any]) for row in rows]
    except (ValueError, TypeError):
        return []


def read_meta(folder: Path, key: str) -> dict[str, Any] | None:
    try:
        connection = raw_connection(folder, write=False)
    except READ_FAULTS:
        return None
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        document = schema.read_json(row[0]) if row else None
    except (sqlite3.Error, ValueError, TypeError):
        return None
    finally:
        connection.close()
    return document if isinstance(document, dict) else None


def read_spec(folder: Path) -> dict[str, Any] | None:
    try:
        document = schema.read_json(read_file(folder / "spec.json").decode("utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _rows(folder: Path, table: str, key: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Each readable row of a table, in the order of its key."""
    try:
        connection = raw_connection(folder, write=False)
        # Without this, SQLite reads nothing of a file that is shorter than its header says.
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
    pages: set[int] = set()
    for order in ("ASC", "DESC"):
        try:
            for (number,) in connection.execute(
                f"SELECT {key} FROM {table} ORDER BY {key} {order}"
            ):
                pages.add(number)
        except READ_FAULTS:
            continue
    return sorted(pages)


_DAMAGE = frozenset(
    # The last two: a table or a column is missing, or is something else.
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH}
)


def connect(folder: Path, *, write: bool) -> sqlite3.Connection:
    """A checked connection.

    Raises:
        NotARunFolder: the file is the database of a different program.
        OtherFormat: a contend of a different format wrote it.
        DamagedStore: it cannot be read completely; the message has the number of readable runs.
        StoreFailed: it is not accessible.
    """
    try:
        connection = raw_connection(folder, write=write)
    except READ_FAULTS as error:
        raise unreadable(folder, error) from error
    try:
        _check(connection, folder)
        if write:
            schema.settings(connection)
    except READ_FAULTS as error:
        connection.close()
        raise unreadable(folder, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def unreadable(folder: Path, cause: Exception) -> WorkError:
    """The error for a file that was not read: damaged, or only inaccessible at the moment."""
    file = folder / RESULTS_NAME
    if getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _DAMAGE:
        return StoreFailed(
            f"cannot read {file}: {cause}",
            hint="Check the permissions and the file system there; the file was not changed.",
        )
    readable = len(read_table(folder, RUNS))
    if readable:
        kept = f"{readable} run{'s' if readable != 1 else ''} in it can still be read"
        hint = (
            f"Save them with `contend export {folder} --format folder --out NEW`; NEW can be "
            "shown and resumed."
        )
    else:
        kept = "no run in it can be read"
        hint = "Restore the file from a copy, or run the experiment again; spec.json has its spec."
    return DamagedStore(f"{file} is damaged ({cause}); {kept}", hint=hint)


def _check(connection: sqlite3.Connection, folder: Path) -> None:
    file = folder / RESULTS_NAME
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != schema.APPLICATION_ID:
        if file.stat().st_size == 0:
            raise sqlite3.DatabaseError("file is empty")
        raise NotARunFolder(
            f"{file} was not written by contend",
            hint="Name a folder that `contend run` created.",
        )
    if version != schema.STORE_VERSION:
        written = "SELECT value FROM meta WHERE key = 'contend_version'"
        writer = connection.execute(written).fetchone() or ("of that version",)
        raise OtherFormat(file, version, schema.STORE_VERSION, writer[0])
    (verdict, *_) = (row[0] for row in connection.execute("PRAGMA quick_check(1)"))
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict).removeprefix("*** in database main ***\n"))
