"""The plan of a warm-up: the items, their order, and those that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import RequestError
from contend.warm.plan import (
    FILES,
    KEYS,
    PRIMARY,
    ROWS,
    USABLE,
    Cache,
    Column,
    Index,
    Survey,
    WarmTable,
    make_plan,
)

ID, NOTE = Column("id", "int"), Column("note", "varchar")


def innodb(name: str, sizes: Mapping[str, int], *, database: str = "shop") -> WarmTable:
    """A table whose indexes have these sizes; the primary key is a whole number."""
    columns = {PRIMARY: ("id",)}
    indexes = tuple(
        Index(index, columns.get(index, ("note",)), size) for index, size in sizes.items()
    )
    return WarmTable(database, name, "InnoDB", (ID, NOTE), indexes)


def survey(*tables: WarmTable, pool: int = 10_000, **more: Any) -> Survey:
    caches = (
        Cache("innodb", "the pool", pool, 0, 10),
        Cache("myisam", "the key cache", 1000, 0, 10),
    )
    return Survey("mariadb", "11.8", tables, (*caches, *more.pop("caches", ())), **more)


ORDERS = innodb("orders", {PRIMARY: 3000, "note": 500})
CODES = innodb("codes", {PRIMARY: 100})
OLD = WarmTable("shop", "old", "MyISAM", (ID,), (Index("k", ("id",), 300),), rows_size=700)


def names(items: Any) -> list[str]:
    return [str(item) for item in items]


def test_the_smallest_come_first_by_default() -> None:
    plan = make_plan(survey(ORDERS, CODES))
    assert names(plan.items) == ["shop.codes.PRIMARY", "shop.orders.note", "shop.orders.PRIMARY"]
    assert plan.left_out == ()


def test_pages_that_the_server_keeps_free_are_not_filled() -> None:
    seen = survey(ORDERS)
    pool = replace(seen.caches[0], size=4096, kept_free=1024)
    plan = make_plan(replace(seen, caches=(pool,)))
    assert sum(item.take for item in plan.items) == 3072
    (left_out,) = plan.left_out
    assert "(4 KiB, 1 KiB of it" in left_out.why


def test_only_named_items_are_loaded() -> None:
    plan = make_plan(survey(ORDERS, CODES), database="shop", only=["codes", "orders.note"])
    assert names(plan.items) == ["shop.codes.PRIMARY", "shop.orders.note"]
    plan = make_plan(survey(replace(CODES, name="shop")), database="shop", only=["shop.PRIMARY"])
    assert names(plan.items) == ["shop.shop.PRIMARY"]


@pytest.mark.parametrize(
    ("name", "database", "message", "hint"),
    [
        ("ordres", "shop", "no table or index ordres", 'Did you mean "shop.orders"?'),
        ("orders", None, "no table or index orders", "Write database.table"),
        ("seen", "shop", "seen cannot be warmed: a view", None),
    ],
)
def test_a_name_that_is_not_there_is_refused(
    name: str, database: str | None, message: str, hint: str | None
) -> None:
    there = survey(ORDERS, passed_over=(("shop.seen", "a view holds no rows"),))
    with pytest.raises(RequestError, match=message) as refused:
        make_plan(there, database=database, only=[name])
    assert hint is None or hint in (refused.value.hint or "")


def test_an_item_that_does_not_fit_is_taken_in_part_or_left_out() -> None:
    plan = make_plan(survey(CODES, ORDERS, pool=1000), only=["shop.codes", "shop.orders"])
    taken = {str(item): item.take for item in plan.items}
    assert taken == {"shop.codes.PRIMARY": 100, "shop.orders.PRIMARY": 850}
    left = {one.name: (one.size, one.why) for one in plan.left_out}
    assert left["shop.orders.PRIMARY, the lower keys"][0] == 2150
    assert "earlier items fill the pool" in left["shop.orders.note"][1]


def test_myisam_has_its_keys_in_one_cache_and_its_rows_in_the_hosts() -> None:
    plan = make_plan(survey(OLD))
    assert names(plan.items) == ["shop.old.keys"]
    (left,) = plan.left_out
    assert left.name == "shop.old.rows" and "memory is unknown" in left.why
    plan = make_plan(survey(OLD, caches=(Cache(FILES, "the page cache", 5000, None, 4096),)))
    assert {item.part: item.cache for item in plan.items} == {KEYS: "myisam", ROWS: FILES}


@given(
    sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=8),
    pool=st.integers(100, 20_000),
)
def test_a_plan_never_asks_for_more_than_there_is_room_for(sizes: list[int], pool: int) -> None:
    tables = [innodb(f"t{number}", {PRIMARY: size}) for number, size in enumerate(sizes)]
    plan = make_plan(survey(*tables, pool=pool))
    assert plan.size <= pool * USABLE
    left = sum(one.size or 0 for one in plan.left_out)
    assert plan.size + left == sum(sizes)
