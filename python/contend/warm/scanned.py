"""Engines that keep rows and indexes in a cache of their own, which a scan of each fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contend.units import format_size
from contend.warm.model import Table, Warmed
from contend.warm.size import scan_rows_and_indexes, table_size, variable

if TYPE_CHECKING:
    from pymysql.connections import Connection


@dataclass(frozen=True, slots=True)
class Scanned:
    """One pass over the rows, one over each other index. See `Warmer` for counter and options."""

    counter: str
    options: tuple[str, ...]
    size: str

    def warm_files(self, table: Table) -> bool:  # noqa: ARG002
        return False

    def warm(self, connection: Connection[Any], tables: Sequence[Table]) -> Warmed:
        needed = sum(sum(table_size(connection, one.database, one.name)) for one in tables)
        room = variable(connection, self.size)
        if needed > room:
            # A scan of more than fits would leave its end in the cache and not what is asked for.
            return Warmed(
                cache=False,
                why_not=f"{format_size(needed)} do not fit {self.size} = {format_size(room)}",
            )
        for table in tables:
            scan_rows_and_indexes(connection, table.database, table.name)
        return Warmed(cache=True)
