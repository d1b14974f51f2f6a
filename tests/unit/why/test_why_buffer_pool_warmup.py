"""The text on each way to warm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contend.experiment import Factor, Level, Roles, Words
from contend.findings import Contrast, Family, Figure
from contend.metrics import metric_of
from contend.sections.naming import Naming
from contend.stats import Estimate, estimate
from contend.store import RunRecord
from contend.why.studies.buffer_pool_warmup import (
    PAGE,
    Way,
    WaysInPlace,
    page_cache_share,
    payoff,
    searched_rows,
    until_warm_s,
    why_between,
    why_repeated,
)

WARM, FLUSH = "server.warm", "server.options.innodb_flush_method"
WAYS = ("cold", "repeated", "queries", "queries-repeated", "scan", "list-100")
ROLES = Roles(Factor(WARM, WAYS), "cold", Factor(FLUSH, ("fsync",)), (), (WARM, FLUSH))
WRITER = Naming(ROLES, Words())


def run(rates: list[float], warming: dict[str, Any] | None) -> RunRecord:
    intervals: Any = [
        {"start_s": number * 0.5, "duration_s": 0.5, "qps": rate, "queries": 1}
        for number, rate in enumerate(rates)
    ]
    probes: Any = {} if warming is None else {"warming": warming}
    return RunRecord(
        run=1, block=1, repeat=1, cell={}, status="ok", started_at="", ended_at="",
        intervals=intervals, probes=probes,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rates", "seconds"),
    [
        ([100, 100, 100], 4.0),
        ([10, 50, 96, 97, 98], 5.0),
        ([10, 100, 10, 100, 100, 100], 5.5),
        ([10, 20, 30], float("inf")),
        ([10, 20, 30, 100], float("inf")),
        ([100], 4.0),
    ],
)
def test_a_server_is_warm_when_it_stays_fast(rates: list[float], seconds: float) -> None:
    assert until_warm_s(run(rates, {"seconds": 4.0}), 100) == seconds


def test_without_a_record_of_the_warming_the_time_is_unknown() -> None:
    assert until_warm_s(run([100], None), 100) is None
    assert until_warm_s(run([], {"seconds": 1.0}), 100) is None


def figure(value: float, level: Level = "cold", *, estimated: Estimate | None = None) -> Figure:
    family = Family("described", 0.95, 0.95, decides=False)
    contrast = Contrast("figure", metric_of("seconds"), {}, level, None, family)
    known = estimate([value * 0.99, value, value * 1.01])
    return Figure(contrast, known if estimated is None else estimated)


def way(level: str, seconds: float, reads: float, disk: float = 1000.0) -> Way:
    return Way(level, figure(seconds), figure(reads), figure(disk), None, figure(1.0))


def place(*ways: Way, unsure: tuple[tuple[str, str], ...] = ()) -> WaysInPlace:
    """Ways that are apart by as much as their times are, for certain but for some of them."""
    known = {str(one.level): one for one in ways}
    apart = {}
    for fast, slow in (("repeated", "queries"), ("queries-repeated", "queries"),
                       ("repeated", "queries-repeated")):  # fmt: skip
        if fast in known and slow in known:
            one, other = known[fast].seconds, known[slow].seconds
            assert one is not None and other is not None
            less = other.mean - one.mean
            wide = 9.0 if (fast, slow) in unsure else 0.01
            apart[fast, slow] = figure(0, estimated=estimate([less - wide, less, less + wide]))
    return WaysInPlace(figure(1.0), known, apart)


def test_both_questions_of_the_study_are_answered() -> None:
    of_study = (
        way("repeated", 1.74, 0.01),
        way("queries", 2.13, 0.9),
        way("queries-repeated", 1.89, 0.2),
    )
    first, second = (
        str(why_repeated(WRITER, place(*of_study))),
        str(why_between(WRITER, place(*of_study))),
    )
    assert "row counts left pages" in first
    assert "took 1.74 ±0.04 s" in first
    assert "is between the two." in second
    unsure = place(*of_study, unsure=(("queries-repeated", "queries"),))
    assert "not certainly between" in str(why_between(WRITER, unsure))


def test_reads_that_do_not_explain_a_difference() -> None:
    fast, slow = way("repeated", 1.74, 0.5), way("queries", 2.13, 0.5)
    assert "reads do not distinguish them" in str(why_repeated(WRITER, place(fast, slow)))
    of_disk = way("queries", 2.13, 0.5, disk=4000.0)
    text = str(why_repeated(WRITER, place(fast, of_disk)))
    assert "the rest was in the system's page cache" in text
    nothing = way("repeated", 1.74, 0.5, disk=0.0)
    for reading in (figure(30.0), figure(0, estimated=estimate([0.0, 3000.0, 9000.0]))):
        text = str(why_repeated(WRITER, place(nothing, replace(slow, disk=reading))))
        assert "reads do not distinguish them" in text
    unsure = place(fast, slow, unsure=(("repeated", "queries"),))
    assert "No difference is certain" in str(why_repeated(WRITER, unsure))


def test_a_difference_the_other_way_is_not_explained() -> None:
    text = str(why_repeated(WRITER, place(way("repeated", 2.13, 0.5), way("queries", 1.74, 0.9))))
    assert text.endswith("reversed.")


def test_without_a_page_cache_it_is_no_reason() -> None:
    """With O_DIRECT what the pool misses comes from the disk."""
    direct = place(
        way("repeated", 1.74, 1.60, disk=1.60 * PAGE), way("queries", 2.13, 1.75, disk=1.75 * PAGE)
    )
    text = str(why_repeated(WRITER, direct))
    assert "page cache" not in text and "reads do not distinguish them" in text


def test_what_the_page_cache_had_did_not_come_from_the_disk() -> None:
    scan = way("scan", 1.7, 0.0, disk=0.0)
    ways = (way("cold", 7.0, 2.0, disk=2.0 * PAGE), way("repeated", 1.7, 0.5, disk=0.25 * PAGE))
    text = str(page_cache_share(WRITER, place(*ways, scan)))
    assert text.endswith(": 0 % cold; 50 % after repeated.")
    assert page_cache_share(WRITER, place(scan)) is None


def test_warming_that_takes_longer_than_it_saves_does_not_pay() -> None:
    ways = [
        replace(way(level, 2.0, 0.0), gained_s=figure(gained))
        for level, gained in (("scan", 3.0), ("queries", -20.0))
    ]
    open_ = figure(0, estimated=estimate([-1.0, 2.0]))
    unsure = replace(way("list-100", 2.0, 0.0), gained_s=open_)
    text = str(payoff(WRITER, [place(*ways, unsure, way("cold", 7.0, 2.0))]))
    assert "sooner with scan (3.00 ±0.07 s less)" in text
    assert "later with queries (20.0 ±0.5 s more)" in text
    assert "Inconclusive: list-100 (" in text
    assert str(payoff(WRITER, [place(unsure)] * 6)).endswith("; and 2 more.")


def test_which_rows_were_searched() -> None:
    one = run([1.0], None)
    workload = {"kind": "string_lookup", "order": "index", "string_length": 50}
    plan: Any = {"workload": {**workload, "distribution": {"kind": "uniform"}}}

    text = searched_rows(WRITER, [replace(one, plan=plan)])
    assert text is not None
    assert "first rows of the index, in its order" in text and "50 characters" in text
    assert searched_rows(WRITER, [one]) is None
