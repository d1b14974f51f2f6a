"""Engines whose index is loaded into the cache by a statement, and whose files the system caches.

MyISAM keeps only index blocks in the key cache; rows come through the page cache of the system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.host import page_cache
from contend.units import format_size
from contend.warm.model import Table, Warmed
from contend.warm.size import load_index, scan_rows, table_size, variable

if TYPE_CHECKING:
    from pymysql.connections import Connection


@dataclass(frozen=True, slots=True)
class LoadedIndex:
    """LOAD INDEX INTO CACHE, after the files are in the page cache.

    Args:
        counter: see `Warmer`.
        options: see `Warmer`.
        size: the variable with the size of the cache.
        endings: of the table's files.
        holds_rows: the cache holds rows too, so a scan of them is part of warming.
    """

    counter: str
    options: tuple[str, ...]
    size: str
    endings: tuple[str, ...]
    holds_rows: bool

    def warm_files(self, table: Table) -> bool:
        if table.data_folder is None:
            return False
        folder = table.data_folder / table.database
        paths = [folder / f"{table.name}{ending}" for ending in self.endings]
        return sum(map(_missing_bytes, paths)) == 0

    def warm(self, connection: Connection[Any], tables: Sequence[Table]) -> Warmed:
        needed = 0
        for table in tables:
            load_index(connection, table.database, table.name)
            if self.holds_rows:
                scan_rows(connection, table.database, table.name)
            rows, index = table_size(connection, table.database, table.name)
            needed += rows + index if self.holds_rows else index
        room = variable(connection, self.size)
        if needed <= room:
            return Warmed(cache=True)
        return Warmed(
            cache=False,
            why_not=f"{format_size(needed)} do not fit {self.size} = {format_size(room)}",
        )


def _missing_bytes(path: Path) -> int:
    """Bytes of the file that are not in the page cache although it was read."""
    size = path.stat().st_size
    if page_cache.resident_bytes(path) >= size:
        return 0
    return size - page_cache.warm(path)
