"""Run folders of which one thing is not as contend writes it: a value of another shape, a key that
is gone, a column, a table, a file.

Seeded: mutant `n` of a folder is always the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

VALUES: tuple[tuple[str, Any], ...] = (
    ("null", None),
    ("true", True),
    ("0", 0),
    ("-1", -1),
    ("-1.5", -1.5),
    ("a huge number", 10**400),
    ("a large number", 1e300),
    ("NaN", float("nan")),
    ("infinity", float("inf")),
    ("text", "x"),
    ("no text", ""),
    ("a control", "\x1b[2J\n"),
    ("half a character", "\udc80"),
    ("[]", []),
    ("[null]", [None]),
    ("a list", ["x", 1, {}]),
    ("{}", {}),
    ("an object", {"x": {"y": []}}),
    ("deep", [[[[[[[[{}]]]]]]]]),
)

DOCUMENTS = {
    "meta": ("value",),
    "planned": ("cell",),
    "sessions": ("facts",),
    "runs": ("cell", "plan", "done", "intervals", "probes", "warnings", "error"),
    "looks": ("cell", "figures"),
}
PLAIN = {
    "meta": ("key", "value"),
    "planned": ("run", "block", "repeat"),
    "sessions": ("started_at",),
    "runs": ("run", "block", "repeat", "status", "started_at", "ended_at"),
    "looks": ("look", "block", "started_at", "ended_at", "error"),
}
RAW = ("", "{", "null", "[]", "{}", "0", '"x"', b"\xff\xfe{}", b"", None, -1, 1e300, 2**62, "x")

FILES = (
    *("results.sqlite", "results.sqlite-journal", "experiment.toml", "spec.json", "lab.lock"),
    *("report.html", "logs", "charts", "server-options-before.json", "why", "profile"),
)


def mutate(folder: Path, number: int) -> str:
    """Break one thing in a run folder; what."""
    chance = random.Random(number)
    inner = [one for one in (folder, folder / "why", folder / "profile") if _database(one).exists()]
    # Mostly the folder itself.
    where = chance.choice([folder, *inner])
    return f"{where.name}: {chance.choice(_WAYS)(where, chance)}"


def _document(folder: Path, chance: random.Random) -> str:
    """One place in one document."""
    with _opened(folder) as connection:
        table = chance.choice([one for one in _tables(connection) if one in DOCUMENTS])
        column = chance.choice(DOCUMENTS[table])
        rows = connection.execute(f"SELECT rowid_, {column} FROM {_rows_of(table)}").fetchall()
        rows = [(key, text) for key, text in rows if isinstance(text, str) and text[:1] in "[{"]
        if not rows:
            return "nothing"
        key, text = chance.choice(rows)
        document = json.loads(text)
        changed, what = _somewhere(document, chance)
        put = json.dumps(changed)
        # Of what many rows have alike, it is everywhere as often.
        everywhere = chance.random() < 0.5
        chosen, arguments = ("1", [put]) if everywhere else ("rowid_ = ?", [put, key])
        if table == "meta":
            chosen, arguments = "key = ?", [put, key]
        _update(connection, table, column, chosen, arguments)
        return f"{table}.{column} of {'all' if everywhere else key}: {what}"


def _somewhere(document: Any, chance: random.Random) -> tuple[Any, str]:
    """The document with one change at a random place."""
    places = list(_places(document))
    path = chance.choice(places)
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    at = "/".join(map(str, path))
    how = chance.random()
    if not path:
        name, value = chance.choice(VALUES)
        return value, f"whole -> {name}"
    old = holder[path[-1]]
    if how < 0.25:
        del holder[path[-1]]
        return document, f"{at} is gone"
    if how < 0.4 and isinstance(old, (list, dict)):
        old.clear()
        return document, f"{at} is empty"
    if how < 0.5:
        holder[path[-1]] = [old] if chance.random() < 0.5 else {"x": old}
        return document, f"{at} is wrapped"
    if how < 0.6 and isinstance(holder, dict):
        holder["unknown"] = holder.pop(path[-1])
        return document, f"{at} has another name"
    name, value = chance.choice(VALUES)
    holder[path[-1]] = value
    return document, f"{at} -> {name}"


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _places(value, (*path, key))
    elif isinstance(document, list):
        # Not a thousand intervals.
        for index, value in enumerate(document[:3]):
            yield from _places(value, (*path, index))


def _raw_text(folder: Path, chance: random.Random) -> str:
    """A document that is none."""
    with _opened(folder) as connection:
        table = chance.choice([one for one in _tables(connection) if one in DOCUMENTS])
        column, value = chance.choice(DOCUMENTS[table]), chance.choice(RAW)
        with contextlib.suppress(sqlite3.IntegrityError):
            _update(connection, table, column, "1", [value])
        return f"{table}.{column} -> {value!r}"


def _column_value(folder: Path, chance: random.Random) -> str:
    with _opened(folder) as connection:
        table = chance.choice([one for one in _tables(connection) if one in PLAIN])
        column, value = chance.choice(PLAIN[table]), chance.choice(RAW)
        keys = [key for (key,) in connection.execute(f"SELECT rowid_ FROM {_rows_of(table)}")]
        if not keys:
            return "nothing"
        key = chance.choice(keys)
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA ignore_check_constraints = ON")
            _update(connection, table, column, "rowid_ = ?", [value, key])
        return f"{table}.{column} of {key} -> {value!r}"


def _schema(folder: Path, chance: random.Random) -> str:
    """A table or a column that is gone, has another name, or is something else."""
    with _opened(folder) as connection:
        table = chance.choice(_tables(connection))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = chance.choice(columns)
        endless = (
            f"CREATE VIEW {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            f"FROM n) SELECT {', '.join(f'i AS {one}' for one in columns)} FROM n"
        )
        statements = chance.choice(
            [
                [f"DROP TABLE {table}"],
                [f"DELETE FROM {table}"],
                [f"ALTER TABLE {table} RENAME TO other"],
                [f"ALTER TABLE {table} RENAME COLUMN {column} TO other"],
                [f"ALTER TABLE {table} DROP COLUMN {column}"],
                [f"DROP TABLE {table}", endless],
                ["PRAGMA user_version = 99"],
                ["PRAGMA user_version = -1"],
                ["PRAGMA application_id = 1"],
                ["PRAGMA journal_mode = WAL"],
            ]
        )
        for statement in statements:
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute(statement)
        return "; ".join(statements)[:80]


def _bytes(folder: Path, chance: random.Random) -> str:
    """A database that is cut off, or has other bytes in it."""
    file = _database(folder)
    data = bytearray(file.read_bytes())
    if chance.random() < 0.5:
        size = chance.randrange(len(data))
        file.write_bytes(data[:size])
        return f"cut off at {size}"
    for _ in range(chance.choice((1, 20, 400))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    file.write_bytes(data)
    return "other bytes"


def _file(folder: Path, chance: random.Random) -> str:
    """A file that is something else."""
    file = folder / chance.choice(FILES)
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)
    kinds: dict[str, Callable[[], object]] = {
        "a pipe": lambda: os.mkfifo(file),
        "a folder": file.mkdir,
        "a link to itself": lambda: file.symlink_to(file),
        "a link to nothing": lambda: file.symlink_to("gone"),
        "a link to /dev/zero": lambda: file.symlink_to("/dev/zero"),
        "a link to the terminal": lambda: file.symlink_to("/dev/tty"),
        "not UTF-8": lambda: file.write_bytes(b"\xff\xfe\x00" * 100),
        "empty": lambda: file.write_bytes(b""),
        "not to be read": lambda: (file.write_bytes(b"x"), file.chmod(0)),
    }
    name = chance.choice(list(kinds))
    kinds[name]()
    return f"{file.name} is {name}"


_WAYS = (
    *(_document,) * 14,
    *(_column_value,) * 3,
    *(_raw_text,) * 2,
    *(_schema,) * 2,
    _bytes,
    *(_file,) * 2,
)


def _database(folder: Path) -> Path:
    return folder / "results.sqlite"


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(_database(folder), isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def _tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [name for (name,) in names]


def _rows_of(table: str) -> str:
    key = {"meta": "key", "planned": "run", "sessions": "session"}.get(table, "sequence")
    return f"(SELECT {key} AS rowid_, * FROM {table})"


def _update(
    connection: sqlite3.Connection, table: str, column: str, chosen: str, arguments: list[Any]
) -> None:
    key = {"meta": "key", "planned": "run", "sessions": "session"}.get(table, "sequence")
    chosen = chosen.replace("rowid_", key)
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {chosen}", arguments)
