"""Plans of shares of indexes, and the counts of rows that simple tools warm with."""

from __future__ import annotations

import pytest

from contend.warm.model import Cache, Column, Index, Survey, WarmTable
from contend.warm.parts import statements_of
from contend.warm.plan import plan_of_shares
from contend.warm.tablespaces import CLUSTERED_WITHOUT_KEY
from contend.warm.transfer import Share

MB = 1 << 20
COLUMNS = (Column("id", "int"), Column("k", "int"), Column("pad", "varchar"))
TABLE = WarmTable(
    "shop",
    "a",
    "InnoDB",
    COLUMNS,
    (Index("PRIMARY", ("id",), 40 * MB), Index("k", ("k",), 10 * MB)),
)


def survey(pool: int) -> Survey:
    return Survey("mariadb", "10.11", (TABLE,), (Cache("innodb", "the pool", pool, 0, 16384),))


def test_as_much_of_each_index_is_planned_as_the_list_had() -> None:
    plan = plan_of_shares(
        survey(100 * MB),
        [Share("shop.a", CLUSTERED_WITHOUT_KEY, 0.5), Share("shop.a", "k", 1.0),
         Share("shop.b", "PRIMARY", 1.0)],
    )  # fmt: skip
    assert {str(item): item.take for item in plan.items} == {
        "shop.a.PRIMARY": 20 * MB,
        "shop.a.k": 10 * MB,
    }
    assert plan.notices == ()


def test_a_smaller_pool_gets_less_of_each() -> None:
    plan = plan_of_shares(
        survey(20 * MB), [Share("shop.a", "PRIMARY", 1.0), Share("shop.a", "k", 1.0)]
    )
    large, small = (item.take for item in plan.items)
    assert large + small <= 0.95 * 20 * MB
    assert large / small == pytest.approx(4, rel=1e-3)
    assert "fit here" in plan.notices[0]


def test_simple_tools_count_rows_once_a_keyed_column() -> None:
    assert statements_of(TABLE) == [
        "SELECT COUNT(*) FROM `shop`.`a` WHERE `pad` = 0 OR `pad` = '0'",
        "SELECT COUNT(*) FROM `shop`.`a` WHERE `k` LIKE '%0%'",
    ]
    bare = WarmTable("shop", "b", "InnoDB", COLUMNS[:1], (Index("PRIMARY", ("id",), 1),))
    assert statements_of(bare) == ["SELECT COUNT(*) FROM `shop`.`b`"]
