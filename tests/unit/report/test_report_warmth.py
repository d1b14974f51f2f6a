"""What the report says of each way to warm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from contend.report.warmth import Way, until_warm_s
from contend.report.warmth_words import asked, open_questions, page_cache_share, payoff

from contend.stats import Estimate, estimate
from contend.store import RunRecord


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


def test_without_a_record_of_the_warming_nothing_is_said() -> None:
    assert until_warm_s(run([100], None), 100) is None
    assert until_warm_s(run([], {"seconds": 1.0}), 100) is None


def figure(value: float) -> Estimate:
    return estimate([value * 0.99, value, value * 1.01])


def way(level: str, seconds: float, reads: float, disk: float = 1000.0) -> Way:
    return Way(level, figure(seconds), figure(reads), figure(disk), None, figure(1.0), None)


def test_both_questions_of_the_study_are_answered() -> None:
    ways: Any = {
        "repeated": way("repeated", 1.74, 0.01),
        "queries": way("queries", 2.13, 0.9),
        "queries-repeated": way("queries-repeated", 1.89, 0.2),
    }
    first, second = open_questions("", ways)
    assert "the counts of rows left pages in the pool that the queries do not ask for" in first
    assert "lies between the two." in second


def test_a_difference_that_reads_do_not_explain_is_said_to_be_none() -> None:
    ways: Any = {"repeated": way("repeated", 1.74, 0.5), "queries": way("queries", 2.13, 0.5)}
    (first,) = open_questions("", ways)
    assert "reads do not tell them apart" in first
    ways["queries"] = way("queries", 2.13, 0.5, disk=4000.0)
    (first,) = open_questions("", ways)
    assert "the rest was in the page cache of the system" in first
    for reading in (way("", 0, 0, disk=30.0).disk, estimate([0.0, 3000.0, 9000.0])):
        ways["repeated"] = way("repeated", 1.74, 0.5, disk=0.0)
        ways["queries"] = replace(way("queries", 2.13, 0.5), disk=reading)
        (first,) = open_questions("", ways)
        assert "reads do not tell them apart" in first
    ways["repeated"] = way("repeated", 1.74, 0.5)
    ways["queries"] = way("queries", 1.745, 0.5)
    (first,) = open_questions("", ways)
    assert "a difference is not certain here" in first


def test_a_difference_the_other_way_is_not_explained() -> None:
    ways: Any = {"repeated": way("repeated", 2.13, 0.5), "queries": way("queries", 1.74, 0.9)}
    (first,) = open_questions("", ways)
    assert first.endswith("Here it is the other way round.")


def test_without_a_page_cache_it_is_no_reason() -> None:
    """With O_DIRECT what the pool misses comes from the disk."""
    ways: Any = {
        "repeated": way("repeated", 1.74, 1.60, disk=1.60 * 16384),
        "queries": way("queries", 2.13, 1.75, disk=1.75 * 16384),
    }
    (first,) = open_questions("", ways)
    assert "page cache" not in first and "reads do not tell them apart" in first


def test_a_run_that_may_lie_between_is_not_said_to() -> None:
    ways: Any = {
        "repeated": way("repeated", 1.74, 0.01),
        "queries": way("queries", 2.13, 0.9),
        "queries-repeated": replace(
            way("queries-repeated", 1.89, 0.2), seconds=estimate([1.0, 1.9, 2.8])
        ),
    }
    assert "does not surely lie between the two" in open_questions("", ways)[1]


def test_what_the_page_cache_had_did_not_come_from_the_disk() -> None:
    ways: Any = {
        "cold": way("cold", 7.0, 2.0, disk=2 * 16384.0),
        "repeated": way("repeated", 1.7, 0.5, disk=0.25 * 16384),
        "scan": way("scan", 1.7, 0.0, disk=0.0),
    }
    said = page_cache_share(" (fsync)", ways, str) or ""
    assert said.endswith(": 0% cold; 50% after repeated.")
    assert page_cache_share("", {"scan": ways["scan"]}, str) is None


def test_warming_that_takes_longer_than_it_saves_does_not_pay() -> None:
    ways: Any = {
        level: replace(way(level, 2.0, 0.0), gained_s=figure(gained))
        for level, gained in (("scan", 3.0), ("queries", -20.0))
    }
    ways["list-100"] = replace(way("list-100", 2.0, 0.0), gained_s=estimate([-1.0, 2.0]))
    ways["cold"] = way("cold", 7.0, 2.0)
    said = payoff([("8M", ways)], str) or ""
    assert "sooner with scan (8M, 3.00 ±0.07 s less)" in said
    assert "later with queries (8M, 20.0 ±0.5 s more)" in said
    assert "It is not certain of list-100 (8M, " in said
    del ways["scan"], ways["queries"]
    said = payoff([(f"{size}M", ways) for size in range(6)], str) or ""
    assert said.endswith("; and 2 more.")


def test_which_rows_were_asked_is_said() -> None:
    one = run([1.0], None)
    workload = {"kind": "string_lookup", "order": "index", "string_length": 50}
    plan: Any = {"workload": {**workload, "distribution": {"kind": "uniform"}}}
    said = asked([replace(one, plan=plan)]) or ""
    assert "the first rows of the index, in its order" in said and "50 characters" in said
    assert asked([one]) is None
