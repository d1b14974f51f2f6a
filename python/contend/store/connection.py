"""A plain connection to results.sqlite, read or write."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from contend.store import schema

RESULTS_NAME = "results.sqlite"

READ_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file may raise: SQLite quotes the damage in its complaint, and Python
may fail to decode the complaint."""


def raw_connection(folder: Path, *, write: bool) -> sqlite3.Connection:
    """An unchecked connection.

    A reader opens the file writable where it may: after a lab was killed in the middle of a
    commit, the first who comes must roll the half-written commit back. It writes nothing else.
    """
    file = folder / RESULTS_NAME
    mode = "rw" if write or os.access(file, os.W_OK) else "ro"
    connection = sqlite3.connect(
        f"file:{quote(str(file.absolute()))}?mode={mode}", uri=True, isolation_level=None
    )
    # All that we store is ASCII, but a damaged file may hold anything.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute(f"PRAGMA busy_timeout = {schema.BUSY_TIMEOUT_MS}")
    if not write:
        connection.execute("PRAGMA query_only = ON")
    return connection
