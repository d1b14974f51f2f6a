"""The plan as statements that read ranges of keys, for contend-load to hand out.

A range is the pages that are read in one statement. Between two of them the load can be held
back, so ranges are short; and all of them are asked for in the order of the plan, each by whichever
connection is free, so a slow connection leaves no hole.

A key whose first column is a whole number is cut evenly from its lowest to its highest value. An
index of another type is cut at the values that rows at even steps of such a primary key have. What
is left is read in one piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pymysql

from contend.servers.client import qualified, quoted
from contend.warm.model import KEYS, PRIMARY, ROWS, Cache, Column, Index, Item, WarmPlan, WarmTable
from contend.warm.plan import WHOLE_NUMBERS
from contend.warm.survey import survey

if TYPE_CHECKING:
    from pymysql.connections import Connection


PAGES_OF_A_RANGE = 256
"""4 MiB of InnoDB: long enough for its read-ahead, short enough to be held back after."""

CUTS_MAX = 128
"""Values that are looked up to cut an index; each is a row that must be found by its key."""

_INT64_MAX = 2**63 - 1

_LONG = frozenset(
    {"tinyblob", "blob", "mediumblob", "longblob", "tinytext", "text", "mediumtext", "longtext"}
    | {"json", "geometry", "point", "vector"}
)
_VARYING = frozenset({"varchar", "varbinary", "char"})

_ROW_MAX = 4000
"""Bytes that a row surely keeps in its page, of which at least two fit in one of 8 KiB."""

_TEXT = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"})
_SORTABLE = frozenset({"date", "datetime", "timestamp", "time", "year", "decimal"})


@dataclass(frozen=True, slots=True)
class Piece:
    """Statements that read one item, or a piece of it.

    Args:
        name: the item.
        statement: reads all of the part; with `keys` it ends where the lowest key goes:
            `… WHERE id BETWEEN`.
        keys: lowest and highest key, and how many ranges they are cut into.
    """

    name: str
    statement: str
    keys: tuple[int, int, int] | None = None

    @property
    def ranges(self) -> int:
        return 1 if self.keys is None else self.keys[2]

    def as_plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = {"name": self.name, "statement": self.statement}
        if self.keys is not None:
            first, last, ranges = self.keys
            plan["keys"] = {"first": first, "last": last, "ranges": ranges}
        return plan


def parts_of(
    connection: Connection[Any], plan: WarmPlan, *, mark: str, pages: int = PAGES_OF_A_RANGE
) -> tuple[list[Piece], dict[str, str]]:
    """The statements of a plan, in its order, and the items that the server refuses with the
    reason. Indexes that are loaded by a statement of their own (`KEYS`) have none.

    Args:
        connection: asked for the ends of keys, and for the values at which to cut.
        mark: a comment in every statement, by which they are found in the process list.
        pages: of a range.
    """
    caches = {cache.engine: cache for cache in plan.caches}
    parts: list[Piece] = []
    refused = {}
    for item in plan.items:
        if item.part == KEYS:
            continue
        try:
            parts += _parts(connection, item, caches[item.cache], mark, pages)
        except pymysql.err.MySQLError as error:
            refused[str(item)] = f"{error.args[-1]} ({error.args[0]})"
    return parts, refused


def _parts(
    connection: Connection[Any], item: Item, cache: Cache, mark: str, pages: int
) -> Iterable[Piece]:
    table = item.table
    select = f"SELECT /* {mark} */"
    name = qualified(table.database, table.name)
    if item.part == ROWS:
        # In file order, whatever indexes there are: all long values of a row come with it.
        sums = _lengths(table.columns)
        return [Piece(str(item), f"{select} {sums} FROM {name} USE INDEX ()")]
    index = table.index(item.part)
    if index is None:
        return []
    ranges = max(1, -(-item.take // (pages * cache.page)))
    scan = _Scan(connection, item, index, select, name)
    even = scan.even(ranges)
    if even is not None:
        return even
    cut = scan.cut(min(ranges, CUTS_MAX)) if ranges > 1 else None
    return cut or [Piece(str(item), scan.whole())]


@dataclass(frozen=True, slots=True)
class _Scan:
    """One index, and how it is read."""

    connection: Connection[Any]
    item: Item
    index: Index
    select: str
    name: str

    @property
    def _holds_rows(self) -> bool:
        return self.index.name == PRIMARY

    @property
    def _from(self) -> str:
        if self._holds_rows and not self.item.table.has_primary:
            return f"FROM {self.name} USE INDEX ()"
        return f"FROM {self.name} FORCE INDEX ({quoted(self.index.name)})"

    def _first(self) -> Column | None:
        """The first column, if the index holds it whole."""
        name = next(iter(self.index.columns), None)
        return None if name is None else self.item.table.column(name)

    def _what(self) -> str:
        """Reads the index and nothing else, but with the rows their long values too."""
        if not self._holds_rows:
            return "COUNT(*)"
        return _lengths(_long(self.item.table.columns))

    def whole(self) -> str:
        if self._holds_rows:
            return f"{self.select} {_lengths(self.item.table.columns)} {self._from}"
        # Without a condition MySQL counts the rows by the primary key, whichever index is named.
        key = self.item.table.index(PRIMARY)
        held = [*self.index.columns, *(key.columns if key is not None else ())]
        column = next((name for name in held if name is not None), None)
        what = "COUNT(*)" if column is None else f"SUM(LENGTH({quoted(column)}))"
        return f"{self.select} {what} {self._from}"

    def even(self, ranges: int) -> list[Piece] | None:
        """Cut evenly between the lowest and the highest key; None if that cannot be done."""
        column = self._first()
        if column is None or column.type not in WHOLE_NUMBERS:
            return None
        whole = self.item.take == self.item.size
        if not self._holds_rows and whole and ranges > 1 and self._key() is not None:
            return None  # Its values may lie anywhere: it is cut where the rows are.
        name = quoted(column.name)
        low, high = self._row(f"{self.select} MIN({name}), MAX({name}) {self._from}")
        if low is None:
            return [Piece(str(self.item), self.whole())]
        low, high = int(low), int(high)
        if high > _INT64_MAX:
            return None
        if self.item.take < self.item.size:
            # The newest rows, if the keys are given in turn.
            low = high - (high - low) * self.item.take // self.item.size
        ranges = min(ranges, high - low + 1)
        statement = f"{self.select} {self._what()} {self._from} WHERE {name} BETWEEN"
        pieces = [Piece(str(self.item), statement, (low, high, ranges))]
        if column.is_nullable:
            where = f"WHERE {name} IS NULL"
            pieces.append(
                Piece(str(self.item), f"{self.select} {self._what()} {self._from} {where}")
            )
        return pieces

    def _key(self) -> Column | None:
        """The first column of the primary key, if it is a whole number."""
        key = self.item.table.index(PRIMARY)
        name = next(iter(key.columns), None) if key is not None else None
        column = None if name is None else self.item.table.column(name)
        return column if column is not None and column.type in WHOLE_NUMBERS else None

    def cut(self, ranges: int) -> list[Piece] | None:
        """Cut at the values of rows that are evenly spread over the primary key."""
        column, key = self._first(), self._key()
        if column is None or key is None or self._holds_rows:
            return None
        literal = _literal(column)
        if literal is None:
            return None
        value, written = literal
        values = self._cuts(column.name, key.name, value, ranges - 1)
        name = quoted(column.name)
        ends = [written.format(value) for value in values]
        wheres = [
            *([f"{name} < {ends[0]}"] if ends else [f"{name} IS NOT NULL"]),
            *(f"{name} >= {low} AND {name} < {high}" for low, high in pairwise(ends)),
            *([f"{name} >= {ends[-1]}"] if ends else []),
            *([f"{name} IS NULL"] if column.is_nullable else []),
        ]
        what = f"{self.select} COUNT(*) {self._from} WHERE"
        return [Piece(str(self.item), f"{what} {where}") for where in wheres]

    def _cuts(self, column: str, key: str, value: str, cuts: int) -> list[str]:
        """Values of the column, in its own order, none of them twice."""
        name, of = quoted(column), f"{self.select} %s FROM {self.name} FORCE INDEX (PRIMARY)"
        low, high = self._row(of % f"MIN({quoted(key)}), MAX({quoted(key)})")
        if low is None or cuts < 1:
            return []
        low, high = int(low), int(high)
        steps = sorted({low + (high - low) * step // (cuts + 1) for step in range(1, cuts + 1)})
        ids = ", ".join(map(str, steps))
        with self.connection.cursor() as cursor:
            cursor.execute(
                f"{self.select} {value.format(name)} FROM {self.name} FORCE INDEX (PRIMARY)"
                f" WHERE {quoted(key)} IN ({ids}) AND {name} IS NOT NULL"
                f" GROUP BY {name} ORDER BY {name}"
            )
            return [str(row[0]) for row in cursor.fetchall()]

    def _row(self, statement: str) -> Sequence[Any]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchone() or (None, None)


def _literal(column: Column) -> tuple[str, str] | None:
    """How a value is asked for and how it is written, so that no character in it can end it; None
    if values of the type cannot be told in text."""
    if column.type in WHOLE_NUMBERS:
        return "MIN({})", "{}"
    if column.type in _SORTABLE:
        return "MIN({})", "'{}'"
    if column.type in _TEXT - {"enum", "set"}:
        return "MIN(HEX(CONVERT({} USING utf8mb4)))", "_utf8mb4 X'{}'"
    if column.type in ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"):
        return "MIN(HEX({}))", "X'{}'"
    return None


def _long(columns: Iterable[Column]) -> list[Column]:
    """Columns whose values may lie outside of the row's page: they are only read if they are asked
    for."""
    columns = list(columns)
    varying = [column for column in columns if column.type in _VARYING]
    too_wide = sum(column.octets for column in varying) > _ROW_MAX
    return [
        column for column in columns if column.type in _LONG or (too_wide and column in varying)
    ]


def _lengths(columns: Iterable[Column]) -> str:
    """Reads every value that is stored."""
    stored = [column for column in columns if not column.is_virtual]
    return ", ".join(f"SUM(LENGTH({quoted(column.name)}))" for column in stored) or "COUNT(*)"


def count_keyed_columns(connection: Connection[Any], database: str) -> None:
    """Count the rows of every table, once for each column that leads a key."""
    for table in survey(connection, database).tables:
        for statement in statements_of(table):
            with connection.cursor() as cursor:
                cursor.execute(statement)
                cursor.fetchall()


def statements_of(table: WarmTable) -> list[str]:
    """The counts of a table: the primary key by a column without a key, which takes reading the
    rows; other keys by a pattern, in the hope that the server walks their index for it."""
    name = qualified(table.database, table.name)
    keyed = {index.columns[0] for index in table.indexes if index.columns}
    plain = [column.name for column in table.columns if column.name not in keyed]
    statements = []
    for index in table.indexes:
        column = index.columns[0] if index.columns else None
        if index.name == PRIMARY:
            where = f" WHERE {quoted(plain[0])} = 0 OR {quoted(plain[0])} = '0'" if plain else ""
            statements.append(f"SELECT COUNT(*) FROM {name}{where}")
        elif column is not None:
            statements.append(f"SELECT COUNT(*) FROM {name} WHERE {quoted(column)} LIKE '%0%'")
    return statements
