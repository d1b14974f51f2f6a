"""Warming: which statements an engine gets, and what may be expected afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql
import pytest

from contend.warm import WARMERS, Table, disturbs, warmer_of

Indexes = Mapping[str, Sequence[tuple[str | None, int | None]]]
"""Of each index its columns, each with the length of its prefix; an expression has no name."""

SBTEST: tuple[Sequence[str], Indexes] = (
    ("id", "k", "c", "pad"),
    {"PRIMARY": [("id", None)], "k": [("k", None)]},
)


class Connection:
    """A server with one table: it refuses a statement that names what the table does not have."""

    def __init__(
        self,
        size: tuple[int, int],
        room: int,
        table: tuple[Sequence[str], Indexes] = SBTEST,
        *,
        invisible: frozenset[str] = frozenset(),
    ) -> None:
        self.size, self.room, self.invisible = size, room, invisible
        self.columns, self.indexes = table
        self.statements: list[str] = []

    @property
    def scans(self) -> list[str]:
        return [statement for statement in self.statements if "LENGTH(" in statement]

    def cursor(self) -> Connection:
        return self

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str, _parameters: object = None) -> None:
        self.statements.append(statement)
        for index in re.findall(r"FORCE INDEX \(`?(\w+)`?\)", statement):
            if index not in self.indexes or index in self.invisible:
                raise pymysql.err.OperationalError(1176, f"Key '{index}' doesn't exist")
        for column in re.findall(r"LENGTH\(`?(\w+)`?\)|SUM\(`?(\w+)`?\)", statement):
            assert "".join(column) in self.columns, statement

    def fetchall(self) -> list[tuple[Any, ...]]:
        if "information_schema.COLUMNS" in self.statements[-1]:
            return [(name,) for name in self.columns]
        if "information_schema.STATISTICS" in self.statements[-1]:
            return [(name, *part) for name, parts in self.indexes.items() for part in parts]
        return []

    def fetchone(self) -> tuple[int, ...]:
        return self.size if "TABLES" in self.statements[-1] else (self.room,)


TABLE = Table("sbtest", "sb`test", None)


def connection(size: tuple[int, int], room: int, *table: Any, **more: Any) -> Any:
    return Connection(size, room, *table, **more)


@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "InnoDB", "RocksDB"])
def test_every_engine_has_a_warmer(engine: str) -> None:
    assert warmer_of(engine) is WARMERS[engine.lower()]


def test_an_engine_without_caches_has_none() -> None:
    assert warmer_of("MEMORY") is None


def test_myisam_loads_the_index_and_needs_room_for_it_alone() -> None:
    talk = connection((10**9, 100), 1000)
    assert WARMERS["myisam"].warm(talk, [TABLE]).cache
    assert talk.statements[0] == "LOAD INDEX INTO CACHE `sbtest`.`sb``test`"
    assert not talk.scans


def test_innodb_needs_room_for_all_and_scans_only_what_fits() -> None:
    talk = connection((800, 100), 1000)
    assert WARMERS["innodb"].warm(talk, [TABLE]).cache
    assert len(talk.scans) == 2
    talk = connection((800, 300), 1000)
    warmed = WARMERS["innodb"].warm(talk, [TABLE])
    assert not warmed.cache
    assert "1.07 KiB do not fit in innodb_buffer_pool_size" in (warmed.why_not or "")
    assert not talk.scans


NOT_SBTEST: tuple[Sequence[str], Indexes] = (
    ("order", "line", "item", "note", "shipped"),
    {
        "PRIMARY": [("order", None), ("line", None)],
        "by_item": [("item", None), ("shipped", None)],
        "by_note": [("note", 20)],
        "by_month": [(None, None)],
        "gone": [("shipped", None)],
    },
)


def test_a_table_of_any_columns_is_scanned_whole_and_by_each_of_its_indexes() -> None:
    talk = connection((800, 100), 1000, NOT_SBTEST, invisible=frozenset({"gone"}))
    assert WARMERS["innodb"].warm(talk, [TABLE]).cache
    rows, *indexes = talk.scans
    assert rows == (
        "SELECT SUM(LENGTH(`order`)), SUM(LENGTH(`line`)), SUM(LENGTH(`item`)), "
        "SUM(LENGTH(`note`)), SUM(LENGTH(`shipped`)) "
        "FROM `sbtest`.`sb``test` FORCE INDEX (`PRIMARY`)"
    )
    # A prefix and an expression give no whole column, so each is walked by the key it ends with.
    table = "FROM `sbtest`.`sb``test` FORCE INDEX"
    assert indexes == [
        f"SELECT SUM(LENGTH(`item`)) {table} (`by_item`)",
        f"SELECT SUM(LENGTH(`order`)) {table} (`by_note`)",
        f"SELECT SUM(LENGTH(`order`)) {table} (`by_month`)",
        f"SELECT SUM(LENGTH(`shipped`)) {table} (`gone`)",
    ]


def test_a_table_without_a_key_is_scanned_without_naming_one() -> None:
    talk = connection((800, 100), 1000, (("a",), {"by_a": [("a", 5)]}))
    assert WARMERS["innodb"].warm(talk, [TABLE]).cache
    assert talk.scans == ["SELECT SUM(LENGTH(`a`)) FROM `sbtest`.`sb``test`"]


def test_aria_which_caches_rows_scans_those_of_any_table() -> None:
    talk = connection((800, 100), 1000, NOT_SBTEST)
    assert WARMERS["aria"].warm(talk, [TABLE]).cache
    (rows,) = talk.scans
    # Walking an index would read the rows in its order, over and over the same pages.
    assert "FORCE INDEX" not in rows and "`note`" in rows


@pytest.mark.parametrize(
    ("engine", "option", "empties"),
    [
        ("myisam", "key_cache_segments", True),
        ("myisam", "key_buffer_size", True),
        ("myisam", "max_connections", False),
        ("innodb", "innodb_buffer_pool_size", True),
        ("innodb", "key_buffer_size", False),
    ],
)
def test_which_options_empty_the_cache(engine: str, option: str, empties: bool) -> None:
    assert disturbs(WARMERS[engine], ["other", option]) is empties


class TestFiles:
    def test_files_elsewhere_cannot_be_warmed(self) -> None:
        assert not WARMERS["myisam"].warm_files(TABLE)

    def test_files_of_the_table_are_read_into_the_page_cache(self, tmp_path: Path) -> None:
        (tmp_path / "sbtest").mkdir()
        for ending in (".MYD", ".MYI"):
            (tmp_path / "sbtest" / f"t{ending}").write_bytes(b"x" * 10_000)
        assert WARMERS["myisam"].warm_files(Table("sbtest", "t", tmp_path))
