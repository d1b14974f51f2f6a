"""The caches of MyISAM and Aria: filling them with statements, and the share of their files in the
page cache of the server's host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.host import page_cache
from contend.servers.client import fetch, qualified, quoted
from contend.warm.plan import KEYS, ROWS, Item
from contend.warm.server_list import ServerHost
from contend.warm.tablespaces import is_system, plain_names


def load_index(connection: Connection[Any], item: Item) -> str | None:
    """Load all indexes of a table; return the reason if some could not be loaded."""
    name = qualified(item.table.database, item.table.name)
    refused = _refusal(connection, f"LOAD INDEX INTO CACHE {name}")
    if refused is None:
        return None
    # Leaves of different block sizes cannot be loaded together; the pages above them can.
    without = _refusal(connection, f"LOAD INDEX INTO CACHE {name} IGNORE LEAVES")
    return refused if without is not None else f"loaded without its leaves: {refused}"


def reloading(engine: str, tables: Sequence[str]) -> tuple[str, ...] | None:
    """Statements that restore these tables to an emptied cache within moments, from files in the
    page cache; None if the engine has none."""
    if engine.lower() != "myisam":
        return None
    return tuple(f"LOAD INDEX INTO CACHE {quoted(table)}" for table in tables)


def _refusal(connection: Connection[Any], statement: str) -> str | None:
    """Such statements report errors in the rows of their result."""
    try:
        rows = [[str(word) for word in row] for row in fetch(connection, statement)]
    except pymysql.err.MySQLError as error:
        return f"{error.args[-1]} ({error.args[0]})"
    wrong = [row[-1] for row in rows if row[-2].lower() == "error" or row[-1] != "OK"]
    return wrong[0] if wrong else None


ENDINGS = {
    ".MYD": ("MyISAM", ROWS),
    ".MYI": ("MyISAM", KEYS),
    ".MAD": ("Aria", ROWS),
    ".MAI": ("Aria", KEYS),
}


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a table, summed over its partitions.

    Args:
        table: `database.table`.
        engine: `MyISAM` or `Aria`.
        part: `ROWS` or `KEYS`.
        resident: bytes in the page cache.
    """

    table: str
    engine: str
    part: str
    resident: int
    size: int

    @property
    def share(self) -> float | None:
        """The cached share; None for an empty file."""
        return self.resident / self.size if self.size else None


def files_held(
    connection: Connection[Any], host: ServerHost, database: str | None = None
) -> list[FilePart]:
    """Every MyISAM and Aria table except the server's own, or only those of a database, by name.
    Reads no file."""
    files = _files(connection, host)
    wanted = [key for key in files if key[0].startswith(f"{database}." if database else "")]
    return _cached_parts(files, wanted, page_cache.resident_bytes)


def read_through(
    connection: Connection[Any], host: ServerHost, wanted: Collection[tuple[str, str]]
) -> list[FilePart]:
    """Read files whole and in order, unless they are in the page cache; return the cached part.
    Tables whose files are missing or not readable are left out.

    Args:
        wanted: table and part, as in `FilePart`.
    """
    files = _files(connection, host)
    return _cached_parts(files, [key for key in files if key in wanted], page_cache.fill)


_Files = Mapping[tuple[str, str], list[Path]]
"""Table and part -> its files, one per partition."""


def _files(connection: Connection[Any], host: ServerHost) -> _Files:
    paths = [
        path for path in sorted(host.data_folder.glob("*/*")) if path.suffix.upper() in ENDINGS
    ]
    names = {path: f"{path.parent.name}/{path.stem}" for path in paths}
    plain = plain_names(connection, set(names.values()))
    files: dict[tuple[str, str], list[Path]] = {}
    for path in paths:
        table = plain[names[path]]
        if not is_system(table):
            files.setdefault((table, ENDINGS[path.suffix.upper()][1]), []).append(path)
    return files


def _cached_parts(
    files: _Files, wanted: Iterable[tuple[str, str]], look: Callable[[Path], int]
) -> list[FilePart]:
    """`look` returns the bytes of a file in the page cache."""
    parts = []
    for table, part in wanted:
        paths = files[table, part]
        try:
            resident = sum(map(look, paths))
            size = sum(path.stat().st_size for path in paths)
        except (FileNotFoundError, page_cache.PageCacheError):
            continue  # It was dropped meanwhile, or is not readable.
        parts.append(FilePart(table, ENDINGS[paths[0].suffix.upper()][0], part, resident, size))
    return parts
