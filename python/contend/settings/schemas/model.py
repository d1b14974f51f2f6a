"""What a schema says of itself. Its keys are settings like all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contend.settings.model import Need, Setting, Values
from contend.settings.values import Key

COMMON_KEYS = ("schema", "engine", "seed", "table_options")
"""Keys of `[data]` that every schema has whose tables contend makes."""


@dataclass(frozen=True)
class DataKey(Setting):
    """A key of `[data]`; a value that cannot stand beside all others has a `test`."""

    test: Callable[[Values], None] = lambda _cell: None

    def check(self, cell: Values) -> None:
        self.test(cell)


def of_data(key: Key, test: Callable[[Values], None] = lambda _cell: None) -> DataKey:
    """A key on which the content of the tables depends. `test` raises Refused."""
    return DataKey("data", key, need=Need.DATA, lasts=Need.DATA, test=test)


@dataclass(frozen=True)
class Schema:
    """Tables that belong together.

    Args:
        name: in an experiment file, and for contend-load.
        database: where the tables are, on a server of ours.
        tables: their names; empty if they are numbered, or a script makes them.
        own: keys of `[data]` that are no other schema's; contend-load gets them by name.
        more: keys that some others have as well.
        common: keys that all have.
        supplied: those keys that the plan of a workload has too, and gets from the data.
        size_key: the key that says how much there is.
        rows: what `rows` is if nothing is said; None for the default of the key.
        rows_least: the fewest rows that it can have.
        rows_each: rows of all tables for each one that the size counts.
        row_bytes: about what a row takes on disk.
        kind: of the workload that asks its tables; None: those that ask the tables of sbtest do,
            or none.
        scripts: a script of the user's own may ask its tables.
        in_dumps: a dump may have its tables, so its kind of workload may ask an import.
        owned_by: the column that says which of several servers has a row, by the table's name;
            tables without one are whole on each. The keys are those of `size_key`, from 1 on.
    """

    name: str
    database: str = "sbtest"
    tables: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    own: tuple[Setting, ...] = ()
    more: tuple[str, ...] = ("rows", "tables", "k")
    common: tuple[str, ...] = COMMON_KEYS
    supplied: tuple[str, ...] = ()
    size_key: str = "rows"
    rows: int | None = None
    rows_least: int = 1
    rows_each: float = 1.0
    row_bytes: int | None = None
    kind: str | None = None
    scripts: bool = False
    in_dumps: bool = False
    owned_by: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of `[data]` that mean something to it, besides the common ones."""
        return (*self.more, *(setting.key.name for setting in self.own))

    @property
    def journal(self) -> tuple[str, ...]:
        """The table in which contend-load tells how far it is, if the schema has one."""
        return (f"contend_{self.name}",) if self.tables else ()

    def rows_in_all(self, size: int, own: Mapping[str, Any]) -> int:
        """About how many rows its tables have together, by its size and its own keys."""
        del own
        return round(size * self.rows_each)

    def smallest(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Its own keys for tables with hardly a row that take the same statements."""
        return dict(own)
