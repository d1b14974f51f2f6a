"""Plans of the optimizer, level beside baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from made_up_looks import BY_K, explained, plans

from contend.findings.plans import PLANS
from contend.sections.looks import groups_of
from contend.sections.plans import PlansOfCell, plans_of
from contend.store import LookRecord

BY_ID = "SELECT c FROM sbtest WHERE id = ?"


def found(*looks: LookRecord, baseline: int | None = 0) -> tuple[tuple[PlansOfCell, ...], ...]:
    path = "a" if baseline is not None else None
    return groups_of(looks, PLANS, plans_of, path, baseline)


def of(*tables: dict[str, Any], place: int = 0, block: int = 1) -> LookRecord:
    statement = {"shape": BY_ID, "statement": BY_ID, "tables": list(tables), "why_not": None}
    return plans(place, {"a": place}, block, statements=[statement])


def test_a_statement_that_is_read_another_way_is_told_of_the_level() -> None:
    ((base, level),) = found(plans(0, {"a": 0}), plans(1, {"a": 1}))
    assert base.changed == () and level.changed == (BY_K,)
    assert level.plans[BY_K].rows == 10 and base.plans[BY_K].rows == 99_000
    ((alone,),) = found(plans(1, {"a": 1}), baseline=None)
    assert alone.changed == ()


def test_another_guess_of_rows_is_no_other_plan_and_another_order_of_words_neither() -> None:
    one = explained("range", "k_1", rows=10, extra="Using where; Using index")
    other = explained("range", "k_1", rows=99, extra="Using index; Using where")
    ((_, level),) = found(of(one), of(other, place=1))
    assert level.changed == ()


def test_each_thing_that_makes_another_plan_is_seen() -> None:
    base = explained("range", "k_1")
    others = (
        explained("ref", "k_1"),
        explained("range", "k_2"),
        explained("range", None),
        explained("range", "k_1", extra="Using filesort"),
        explained("range", "k_1", table="other"),
    )
    for other in others:
        ((_, level),) = found(of(base), of(other, place=1))
        assert level.changed == (BY_ID,), other
    joined = explained("eq_ref", "PRIMARY", table="b")
    ((_, level),) = found(of(base, joined), of(joined, base, place=1))
    assert level.changed == (BY_ID,)
    assert level.plans[BY_ID].rows == 100


def test_what_the_server_does_not_say_differs_from_nothing() -> None:
    ((_, level),) = found(of(explained("ALL", None)), of(place=1))
    assert level.changed == ()


def test_the_last_look_at_a_cell_counts_and_a_lost_one_does_not() -> None:
    first, again = of(explained("ALL", None)), of(explained("ref", "k_1"), block=2)
    lost = replace(again, block=3, figures={}, error="the server ended")
    ((cell,),) = found(first, again, lost)
    assert cell.plans[BY_ID].steps[0].key == "k_1"
