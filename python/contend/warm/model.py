"""What warming is told, and what it achieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pymysql.connections import Connection


@dataclass(frozen=True, slots=True)
class Table:
    """The table to warm. `data_folder` is None where the server's files cannot be reached."""

    database: str
    name: str
    data_folder: Path | None


@dataclass(frozen=True, slots=True)
class Warmed:
    """What is warm now.

    Args:
        cache: all that the queries touch fits the server's cache and is in it.
        why_not: where it is not, why.
    """

    cache: bool
    why_not: str | None = None


class Warmer(Protocol):
    """How one engine's cache is filled."""

    @property
    def counter(self) -> str:
        """The status counter of reads that missed the cache."""
        ...

    @property
    def options(self) -> tuple[str, ...]:
        """How the names of the options begin whose change empties the cache."""
        ...

    def warm_files(self, table: Table) -> bool:
        """Read the table's files into the page cache where the engine relies on it; True where
        all of them are there now."""
        ...

    def warm(self, connection: Connection[Any], tables: Sequence[Table]) -> Warmed:
        """Fill the server's cache with all of the tables."""
        ...
