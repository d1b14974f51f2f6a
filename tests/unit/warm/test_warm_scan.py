"""A plan as statements: the cuts, and that nothing is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql
import pytest
from fake_connection import FakeConnection, Rows

from contend.servers.errors import ConnectionLost
from contend.warm.plan import PRIMARY, Cache, Column, Index, Item, WarmPlan, WarmTable
from contend.warm.scan import Part, parts_of, statements_of

PAGE = 10
POOL = Cache("innodb", "the pool", 10**6, 0, PAGE)


class Connection(FakeConnection):
    """Answers with the lowest and highest key, and with values to cut at."""

    def __init__(
        self, ends: tuple[int | None, int | None] = (1, 100), values: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.ends, self.values = ends, values

    def answer(self, statement: str) -> Rows:
        if "`gone`" in statement:
            raise pymysql.err.ProgrammingError(1146, "Table 'shop.gone' doesn't exist")
        return [self.ends] if "MAX(" in statement else [(value,) for value in self.values]


def table(name: str = "t", **more: Any) -> WarmTable:
    columns = (
        Column("id", "int"),
        Column("k", "int", is_nullable=True),
        Column("s", "varchar", octets=255),
        Column("long", "text"),
        Column("made", "text", is_virtual=True),
    )
    indexes = more.pop("indexes", None) or (
        Index(PRIMARY, ("id",), 1000),
        Index("k", ("k",), 100),
        Index("s", ("s", "id"), 100),
        Index("prefix", (None,), 100),
    )
    return WarmTable("shop", name, "InnoDB", columns, indexes, **more)


def parts(
    one: WarmTable, part: str, connection: Any = None, *, take: int | None = None
) -> list[Part]:
    index = one.index(part)
    assert index is not None
    item = Item(one, part, index.size, index.size if take is None else take)
    connection = connection or Connection()
    found, refused = parts_of(connection, WarmPlan((item,), (POOL,)), mark="m", pages=2)
    assert not refused
    return found


def test_a_key_of_whole_numbers_is_cut_evenly() -> None:
    (part,) = parts(table(), PRIMARY)
    # 1000 bytes are 100 pages, two of them a range. Long values are read too, unless computed.
    assert part == {
        "name": "shop.t.PRIMARY",
        "statement": "SELECT /* m */ SUM(LENGTH(`long`)) FROM `shop`.`t` FORCE INDEX (`PRIMARY`)"
        " WHERE `id` BETWEEN",
        "keys": {"first": 1, "last": 100, "ranges": 50},
    }


def test_there_are_no_more_ranges_than_keys() -> None:
    (part,) = parts(table(), PRIMARY, Connection((-1, 1)))
    assert part["keys"] == {"first": -1, "last": 1, "ranges": 3}


def test_a_partial_index_loads_its_highest_keys() -> None:
    (part,) = parts(table(), PRIMARY, Connection((0, 1000)), take=200)
    assert part["keys"] == {"first": 800, "last": 1000, "ranges": 10}


def test_an_empty_table_is_read_in_one_piece() -> None:
    (part,) = parts(table(), PRIMARY, Connection((None, None)))
    assert "keys" not in part


def test_keys_beyond_63_bits_are_not_cut() -> None:
    (part,) = parts(table(), PRIMARY, Connection((0, 2**64 - 1)))
    assert "keys" not in part
    assert "SUM(LENGTH(`id`))" in part["statement"] and "`made`" not in part["statement"]


def test_an_index_is_cut_at_the_values_of_rows_and_nothing_is_left_out() -> None:
    talk = Connection(values=["10", "20"])
    found = parts(table(), "k", talk)
    wheres = [part["statement"].partition(" WHERE ")[2] for part in found]
    assert wheres == ["`k` < 10", "`k` >= 10 AND `k` < 20", "`k` >= 20", "`k` IS NULL"]
    assert all(" FROM `shop`.`t` FORCE INDEX (`k`)" in part["statement"] for part in found)
    (lookup,) = [one for one in talk.statements if " IN (" in one]
    assert "PRIMARY) WHERE `id` IN (20, 40, 60, 80)" in lookup and "`k` IS NOT NULL" in lookup


def test_text_is_written_so_that_nothing_in_it_can_end_it() -> None:
    found = parts(table(), "s", Connection(values=["", "274F27"]))
    wheres = [part["statement"].partition(" WHERE ")[2] for part in found]
    low, high = "_utf8mb4 X''", "_utf8mb4 X'274F27'"
    assert wheres == [f"`s` < {low}", f"`s` >= {low} AND `s` < {high}", f"`s` >= {high}"]


def test_an_index_that_cannot_be_cut_is_read_in_one_piece() -> None:
    (part,) = parts(table(), "prefix")
    assert part["statement"] == (
        "SELECT /* m */ SUM(LENGTH(`id`)) FROM `shop`.`t` FORCE INDEX (`prefix`)"
    )
    text = table(indexes=(Index(PRIMARY, ("s",), 1000), Index("k", ("k",), 100)))
    (part,) = parts(text, PRIMARY)
    assert "keys" not in part
    # Its values may lie anywhere, but there is no key to look them up by: cut evenly.
    even, nulls = parts(text, "k")
    assert even["keys"] == {"first": 1, "last": 100, "ranges": 5}
    assert nulls["statement"].endswith("WHERE `k` IS NULL")


def test_a_table_without_a_primary_key_is_read_without_an_index() -> None:
    bare = table(indexes=(Index(PRIMARY, (), 1000),), has_primary=False)
    (part,) = parts(bare, PRIMARY)
    assert part["statement"].endswith("FROM `shop`.`t` USE INDEX ()")


def test_rows_that_may_be_wider_than_a_page_have_their_text_read() -> None:
    wide = WarmTable(
        "shop", "t", "InnoDB",
        (Column("id", "int"), Column("a", "varchar", octets=4000), Column("b", "char", octets=40)),
        (Index(PRIMARY, ("id",), 1000),),
    )  # fmt: skip
    (part,) = parts(wide, PRIMARY)
    assert "SUM(LENGTH(`a`)), SUM(LENGTH(`b`))" in part["statement"]


def test_a_dropped_table_is_named_and_the_others_are_read() -> None:
    items = tuple(Item(table(name), PRIMARY, 100, 100) for name in ("gone", "t"))
    talk: Any = Connection()
    found, refused = parts_of(talk, WarmPlan(items, (POOL,)), mark="m")
    assert [part["name"] for part in found] == ["shop.t.PRIMARY"]
    assert refused == {"shop.gone.PRIMARY": "Table 'shop.gone' doesn't exist (1146)"}


def test_a_lost_server_does_not_count_as_a_dropped_table() -> None:
    class Lost(Connection):
        def answer(self, statement: str) -> Rows:
            raise ConnectionLost("the server is gone.", statement)

    talk: Any = Lost()
    with pytest.raises(ConnectionLost):
        parts_of(talk, WarmPlan((Item(table(), PRIMARY, 100, 100),), (POOL,)), mark="m")


def test_simple_tools_count_rows_once_per_keyed_column() -> None:
    columns = (Column("id", "int"), Column("k", "int"), Column("pad", "varchar"))
    keyed = (Index(PRIMARY, ("id",), 40), Index("k", ("k",), 10))
    assert statements_of(WarmTable("shop", "a", "InnoDB", columns, keyed)) == [
        "SELECT COUNT(*) FROM `shop`.`a` WHERE `pad` = 0 OR `pad` = '0'",
        "SELECT COUNT(*) FROM `shop`.`a` WHERE `k` LIKE '%0%'",
    ]
    bare = WarmTable("shop", "b", "InnoDB", columns[:1], keyed[:1])
    assert statements_of(bare) == ["SELECT COUNT(*) FROM `shop`.`b`"]
