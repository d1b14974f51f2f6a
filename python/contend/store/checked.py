"""Opening results.sqlite: is it ours, is it whole, is it of a version that we know."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from contend.errors import WorkError
from contend.store import schema
from contend.store.connection import READ_FAULTS, RESULTS_NAME, raw_connection
from contend.store.errors import DamagedStore, NewerStore, NotARunFolder, StoreFailed
from contend.store.salvage import read_runs

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def connect(folder: Path, *, write: bool) -> sqlite3.Connection:
    """A checked connection.

    Raises:
        NotARunFolder: the file is another program's database.
        NewerStore: a newer contend wrote it.
        DamagedStore: it cannot be read whole; the message says how much can.
        StoreFailed: it is out of reach.
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
    """The error for a file that was not read: damaged, or only out of reach just now."""
    file = folder / RESULTS_NAME
    if getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _DAMAGE:
        return StoreFailed(
            f"cannot read {file}: {cause}",
            hint="Check the permissions and the file system there; the file was not changed.",
        )
    readable = len(read_runs(folder))
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
            hint="Name a folder that `contend run` made.",
        )
    if version > schema.STORE_VERSION:
        raise NewerStore(
            f"{file} has format {version}, and this contend reads formats up to "
            f"{schema.STORE_VERSION}",
            hint="Upgrade contend; the folder was not changed.",
        )
    (verdict, *_) = (row[0] for row in connection.execute("PRAGMA quick_check(1)"))
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict).removeprefix("*** in database main ***\n"))
