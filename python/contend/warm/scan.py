"""A plan as statements that read ranges of keys; contend-load runs them.

One statement reads the pages of one range. The load can only be throttled between ranges, so ranges
are short. They are requested in the order of the plan, each by the next free connection, so a slow
connection leaves no gap.

A key whose first column is a whole number is cut evenly from its lowest to its highest value. An
index of a different type is cut at the values of rows at even steps of such a primary key. Other
indexes are read in one piece.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Self, cast

import pymysql
from pymysql.connections import Connection

from contend.errors import WorkError
from contend.load.plan import PLAN_VERSION
from contend.load.process import LoadDriver, LoadFailed
from contend.metrics.outcome import Outcome, Scanned
from contend.metrics.plan import Plan, Server
from contend.servers.client import ANSWER_S, fetch, qualified, quoted
from contend.servers.kinds import KINDS
from contend.servers.undo import Journal, JournalBroken
from contend.warm.plan import (
    KEYS,
    PRIMARY,
    ROWS,
    WHOLE_NUMBERS,
    Cache,
    Column,
    Index,
    Item,
    WarmPlan,
    WarmTable,
)
from contend.warm.survey import survey
from contend.warm.throttle import NO_PROBE, Limits, Throttle

PAGES_OF_A_RANGE = 256
"""4 MiB of InnoDB: long enough for its read-ahead, short enough to be throttled afterwards."""

CUTS_MAX = 128
"""Values that are looked up to cut an index; each lookup reads a row by its key."""

READ_ONLY = "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ ONLY"
"""The server itself then refuses any write, and keeps no old row versions for contend."""

_SLOWEST = 1 << 20
"""Minimum bytes per second of the slowest disk."""

_INT64_MAX = 2**63 - 1

_LONG = frozenset(
    {"tinyblob", "blob", "mediumblob", "longblob", "tinytext", "text", "mediumtext", "longtext"}
    | {"json", "geometry", "point", "vector"}
)
_VARYING = frozenset({"varchar", "varbinary", "char"})

_ROW_MAX = 4000
"""Bytes that a row certainly keeps in its page; a page of 8 KiB holds at least two such rows."""

_TEXT = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
_BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_SORTABLE = WHOLE_NUMBERS | {"date", "datetime", "timestamp", "time", "year", "decimal"}

Part = dict[str, Any]
"""Statements for contend-load that read one item or a piece of it: `name` of the item; `statement`,
which reads all of it, or with `keys` ends where the lowest key goes: `… WHERE id BETWEEN`; `keys`:
the `first`, the `last`, and the number of `ranges` between them."""


def within_s(size: int) -> float:
    """Seconds after which a statement that reads `size` bytes counts as hanging."""
    return ANSWER_S + size / _SLOWEST


def parts_of(
    connection: Connection[Any], plan: WarmPlan, *, mark: str, pages: int = PAGES_OF_A_RANGE
) -> tuple[list[Part], dict[str, str]]:
    """The statements of a plan, in its order, and the items that the server refuses, with the
    reason. Indexes that have their own load statement (`KEYS`) are left out.

    Args:
        connection: used to query the ends of keys and the values at which to cut.
        mark: a comment in every statement, which identifies it in the process list.
    """
    caches = {cache.engine: cache for cache in plan.caches}
    parts: list[Part] = []
    refused = {}
    for item in plan.items:
        if item.part == KEYS:
            continue
        try:
            found = _parts(connection, item, caches[item.cache], f"SELECT /* {mark} */", pages)
            parts += [{"name": str(item)} | part for part in found]
        except pymysql.err.MySQLError as error:
            refused[str(item)] = f"{error.args[-1]} ({error.args[0]})"
    return parts, refused


def _parts(
    connection: Connection[Any], item: Item, cache: Cache, select: str, pages: int
) -> list[Part]:
    table = item.table
    name = qualified(table.database, table.name)
    if item.part == ROWS:
        # In file order, without an index: this reads all long values of each row too.
        return [{"statement": f"{select} {_lengths(table.columns)} FROM {name} USE INDEX ()"}]
    index = table.index(item.part)
    if index is None:
        return []
    ranges = max(1, -(-item.take // (pages * cache.page)))
    scan = _Scan(connection, item, index, select, name)
    return scan.even(ranges) or scan.cut(min(ranges, CUTS_MAX)) or [{"statement": scan.whole()}]


@dataclass(frozen=True, slots=True)
class _Scan:
    """The scan of one index."""

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

    def _reading(self, where: str) -> str:
        """SELECT that reads only the index, but for the rows also their long values."""
        expression = _lengths(_long(self.item.table.columns)) if self._holds_rows else "COUNT(*)"
        return f"{self.select} {expression} {self._from} WHERE {where}"

    def whole(self) -> str:
        columns = self.item.table.columns
        if self._holds_rows:
            return f"{self.select} {_lengths(columns)} {self._from}"
        # Without a condition MySQL counts the rows by the primary key, even if an index is named.
        key = self.item.table.index(PRIMARY)
        held = [*self.index.columns, *(key.columns if key is not None else ())]
        column = next((name for name in held if name is not None), None)
        expression = "COUNT(*)" if column is None else f"SUM(LENGTH({quoted(column)}))"
        return f"{self.select} {expression} {self._from}"

    def even(self, ranges: int) -> list[Part] | None:
        """Cut evenly between the lowest and the highest key; None if that is impossible."""
        item, column = self.item, self.item.table.leads(self.index)
        if column is None or column.type not in WHOLE_NUMBERS:
            return None
        whole = item.take == item.size
        if not self._holds_rows and whole and ranges > 1 and self._key() is not None:
            return None  # Its values may be unevenly spread: use `cut`.
        name = quoted(column.name)
        ends = self._ends(name, self._from)
        if ends is None:
            return [{"statement": self.whole()}]
        low, high = ends
        if high > _INT64_MAX:
            return None
        if not whole:
            # The newest rows, if keys are assigned in ascending order.
            low = high - (high - low) * item.take // item.size
        keys = {"first": low, "last": high, "ranges": min(ranges, high - low + 1)}
        parts: list[Part] = [{"statement": self._reading(f"{name} BETWEEN"), "keys": keys}]
        if column.is_nullable:
            parts.append({"statement": self._reading(f"{name} IS NULL")})
        return parts

    def cut(self, ranges: int) -> list[Part] | None:
        """Cut at the values of rows that are evenly spaced in the primary key; None if that is
        impossible."""
        column, key = self.item.table.leads(self.index), self._key()
        if column is None or key is None or self._holds_rows or ranges < 2:
            return None
        literal = _literal(column)
        if literal is None:
            return None
        value, written = literal
        ends = [written.format(value) for value in self._cuts(column.name, key.name, value, ranges)]
        name = quoted(column.name)
        wheres = [
            f"{name} < {ends[0]}" if ends else f"{name} IS NOT NULL",
            *(f"{name} >= {low} AND {name} < {high}" for low, high in pairwise(ends)),
            *(f"{name} >= {end}" for end in ends[-1:]),
            *([f"{name} IS NULL"] if column.is_nullable else []),
        ]
        return [{"statement": self._reading(where)} for where in wheres]

    def _key(self) -> Column | None:
        """The first column of the primary key, if it is a whole number."""
        column = self.item.table.leads(self.item.table.index(PRIMARY))
        return column if column is not None and column.type in WHOLE_NUMBERS else None

    def _cuts(self, column: str, key: str, value: str, ranges: int) -> list[str]:
        """Distinct values of the column, in its own order."""
        name, rows = quoted(column), f"FROM {self.name} FORCE INDEX (PRIMARY)"
        ends = self._ends(quoted(key), rows)
        if ends is None:
            return []
        low, high = ends
        steps = sorted({low + (high - low) * step // ranges for step in range(1, ranges)})
        found = fetch(
            self.connection,
            f"{self.select} {value.format(name)} {rows}"
            f" WHERE {quoted(key)} IN ({', '.join(map(str, steps))}) AND {name} IS NOT NULL"
            f" GROUP BY {name} ORDER BY {name}",
        )
        return [str(row[0]) for row in found]

    def _ends(self, name: str, source: str) -> tuple[int, int] | None:
        """The lowest and the highest value; None if there is no row."""
        rows = fetch(self.connection, f"{self.select} MIN({name}), MAX({name}) {source}")
        ((low, high),) = rows
        return None if low is None else (int(low), int(high))


def _literal(column: Column) -> tuple[str, str] | None:
    """SQL to query a value and to write it, safe for any character in it; None if values of the
    type cannot be written as text."""
    if column.type in _SORTABLE:
        return "MIN({})", "{}" if column.type in WHOLE_NUMBERS else "'{}'"
    if column.type in _TEXT:
        return "MIN(HEX(CONVERT({} USING utf8mb4)))", "_utf8mb4 X'{}'"
    return ("MIN(HEX({}))", "X'{}'") if column.type in _BYTES else None


def _long(columns: Iterable[Column]) -> list[Column]:
    """Columns whose values may lie outside the row's page; the server reads them only on
    request."""
    columns = list(columns)
    octets = sum(column.octets for column in columns if column.type in _VARYING)
    types = _LONG | _VARYING if octets > _ROW_MAX else _LONG
    return [column for column in columns if column.type in types]


def _lengths(columns: Iterable[Column]) -> str:
    """SQL that reads every stored value."""
    stored = [column for column in columns if not column.is_virtual]
    return ", ".join(f"SUM(LENGTH({quoted(column.name)}))" for column in stored) or "COUNT(*)"


def count_keyed_columns(connection: Connection[Any], database: str) -> None:
    """Count the rows of every table, once for each column that leads a key."""
    for table in survey(connection, database).tables:
        for statement in statements_of(table):
            fetch(connection, statement)


def statements_of(table: WarmTable) -> list[str]:
    """The counts of a table: the primary key by a column without a key, which reads the rows; other
    keys by a pattern, so that the server may walk their index."""
    count = f"SELECT COUNT(*) FROM {qualified(table.database, table.name)}"
    keyed = {index.columns[0] for index in table.indexes if index.columns}
    plain = [quoted(column.name) for column in table.columns if column.name not in keyed]
    statements = []
    for index in table.indexes:
        column = index.columns[0] if index.columns else None
        if index.name == PRIMARY:
            where = f" WHERE {plain[0]} = 0 OR {plain[0]} = '0'" if plain else ""
            statements.append(f"{count}{where}")
        elif column is not None:
            statements.append(f"{count} WHERE {quoted(column)} LIKE '%0%'")
    return statements


class WarmingBroke(WorkError):
    """The server or the load stopped before everything was loaded."""


@dataclass(frozen=True, slots=True)
class WarmProgress:
    """Progress of a warm-up.

    Args:
        done: name of each item -> bytes read, in the order of the plan.
        sizes: name of each item -> bytes to read.
        held: the reason if the warm-up is throttled now.
    """

    done: Mapping[str, float]
    sizes: Mapping[str, int]
    elapsed_s: float
    held: str | None = None


@dataclass(slots=True)
class Work:
    """The scans and their progress. The server's journal keeps it, so that an interrupted warm-up
    can be continued.

    Args:
        sizes: name of each item -> its bytes.
        pages: per range.
        mark: in every statement.
        kind: of the server.
        innodb: whether some items are InnoDB's.
        life: identifies this life of the server (`warm_up.life_of`): if it was restarted since,
            its caches are empty.
        upto: number of leading ranges that are done.
    """

    parts: list[Part]
    sizes: dict[str, int]
    pages: int
    mark: str
    kind: str
    innodb: bool
    life: list[int | None]
    upto: int = 0

    @classmethod
    def noted(cls, journal: Journal) -> Self | None:
        """The rest of an earlier warm-up; None if there is none. Raises JournalBroken."""
        if journal.work is None:
            return None
        try:
            return cls(**journal.work)
        except TypeError as error:
            raise JournalBroken(
                f"the warm-up recorded in the journal {journal.path} cannot be read: {error}.",
                hint="Start again without --resume.",
            ) from error

    def note(self, journal: Journal) -> None:
        """Write the progress to disk."""
        journal.work = asdict(self)
        journal.write()

    def ranges(self) -> dict[str, int]:
        """Ranges of each item, by name."""
        ranges: dict[str, int] = {}
        for part in self.parts:
            count = part["keys"]["ranges"] if "keys" in part else 1
            ranges[part["name"]] = ranges.get(part["name"], 0) + count
        return ranges


LONGEST_S = 30 * 24 * 3600.0
INTERVAL_S = 0.1
NOTED_EVERY_S = 1.0


def scan(
    load: LoadDriver,
    server: Server,
    work: Work,
    journal: Journal,
    *,
    connect: Callable[[], Connection[Any]],
    env: Mapping[str, str],
    limits: Limits,
    connections: int,
    listen: Callable[[WarmProgress], None],
) -> tuple[float, float, dict[str, str]]:
    """Have contend-load read all parts that are not done.

    Args:
        connect: to the server, for the latency probe.
        env: contains the password.

    Returns:
        Bytes read; seconds throttled; item -> reason why it was not read.

    Raises:
        WarmingBroke: it did not finish.
    """
    ranges = work.ranges()
    started_s = noted_s = time.monotonic()
    skipped, left = {}, work.upto
    for name, count in ranges.items():
        skipped[name] = min(left, count)
        left -= skipped[name]
    last: Scanned | None = None

    def in_bytes(done: Mapping[str, int]) -> dict[str, float]:
        return {
            name: work.sizes.get(name, 0) * done.get(name, 0) / count
            for name, count in ranges.items()
        }

    def on_event(outcome: Outcome) -> None:
        nonlocal noted_s, last
        if outcome["type"] == "hello":
            throttle.hold(outcome["pid"])
        if outcome["type"] != "interval" and outcome["type"] != "done":
            return
        scanned = outcome.get("scanned")
        if scanned is None:
            return
        last = scanned
        work.upto = scanned["upto"]
        now_s = time.monotonic()
        if now_s >= noted_s + NOTED_EVERY_S:
            work.note(journal)
            noted_s = now_s
        done = in_bytes({part["name"]: part["ranges"] for part in scanned["parts"]})
        listen(WarmProgress(done, work.sizes, now_s - started_s, throttle.held))

    with Throttle(connect, limits.latency_s, _probe(work.parts)) as throttle:
        try:
            ended = load.run(_plan(server, work, limits, connections), env=env, on_event=on_event)
        except LoadFailed as error:
            raise WarmingBroke(
                f"the warm-up stopped early: {throttle.broken or error.message}",
                hint="Progress is recorded: continue with `contend warm --resume`.",
                detail=error.detail,
            ) from error
        finally:
            work.note(journal)
    found = last["parts"] if last is not None else []
    done = in_bytes({part["name"]: part["ranges"] for part in found})
    # Errors are counted by code, each with one example statement.
    why = "; or ".join(f"{error['message']} ({error['code']})" for error in ended["errors"])
    refused = [part["name"] for part in found if part["refused"]]
    size = sum(done.values()) - sum(in_bytes(skipped).values())
    return size, throttle.held_s, dict.fromkeys(refused, why or "the server refused it")


def _plan(server: Server, work: Work, limits: Limits, connections: int) -> Plan:
    # Each connection pauses between two ranges, so the limit on pages is never exceeded.
    rate = limits.pages_per_second
    pause_s = work.pages * connections / rate if rate is not None else 0.0
    load: dict[str, Any] = {
        "connections": connections,
        "measure_s": LONGEST_S,
        "interval_s": INTERVAL_S,
        "protocol": "text",
        "arrival": {"kind": "closed", "think_s": pause_s},
        # A dropped table does not stop the load; a lost server does.
        "errors": {"ignore_all": True, "reconnect": False},
    }
    # A load that was throttled for long would not have checked for answers.
    if limits.latency_s is None:
        load["answer_timeout_s"] = within_s(max(work.sizes.values(), default=0))
    plan = {
        "version": PLAN_VERSION,
        "server": {**server, "init_sql": [KINDS[work.kind].patience, READ_ONLY]},
        "workload": {"kind": "scan", "parts": work.parts, "skip": work.upto},
        "load": load,
        "seed": 0,
    }
    return cast("Plan", plan)


def _probe(parts: Sequence[Part]) -> Callable[[], str]:
    """A statement that reads one row by its key, a different row each time; if no table has a whole
    number as its key, one that reads nothing."""
    draw = random.Random(0)
    for part in parts:
        keys, statement = part.get("keys"), str(part["statement"])
        if keys is not None and "FORCE INDEX (`PRIMARY`)" in statement:
            where = statement.partition(" FROM ")[2].removesuffix(" BETWEEN")
            return lambda: (
                f"SELECT 1 FROM {where} = {draw.randint(keys['first'], keys['last'])} LIMIT 1"
            )
    return lambda: NO_PROBE
