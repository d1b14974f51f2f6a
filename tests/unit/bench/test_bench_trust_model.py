"""What is known of a comparison of model servers, and how what the lab said is held against it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from bench_module import bench_module

from contend.spec import cell_specs, load_experiment

trust_model = bench_module("trust_model")

WORK = trust_model.WORK


def run(qps: float, **ns: float) -> dict[str, Any]:
    """A run of 1,000 queries in which each took so many ns longer for each piece of work."""
    pieces = {name: {"times": 1000, "ns": 1000 * ns.get(name, 0)} for name in WORK}
    return {"qps": qps, "model": {"queries": 1000, **pieces}}


def line(**given: Any) -> dict[str, Any]:
    """Two repeats at 1 connection: a query takes 100 µs, and 10 µs longer with the knob."""
    base, level = run(10_000.0), run(9_090.0, delays=10_000)
    usual = {
        "of": "delay_us",
        "path": "server.knobs.delay_us",
        "beside": {},
        "connections": 1,
        "sign": False,
        "runs": [[[base], [base]], [[level], [level]]],
        **{"ratio": 0.91, "low": 0.90, "high": 0.92, "verdict": "lower", "told": False},
    }
    return {**usual, **given}


def test_the_gain_at_one_connection_follows_from_what_was_counted() -> None:
    assert trust_model.predicted(line()) == pytest.approx([math.log(100 / 110)] * 2)
    truth = trust_model.truth_of(line())
    assert truth.is_known and truth.low == pytest.approx(100 / 110)


def test_what_both_levels_do_cancels() -> None:
    base = run(10_000.0, under_lock=5_000)
    level = run(9_090.0, under_lock=5_000, delays=10_000)
    runs = [[[base]], [[level]]]
    assert trust_model.predicted(line(runs=runs)) == pytest.approx([math.log(100 / 110)])


def test_over_more_connections_there_are_bounds() -> None:
    truth = trust_model.truth_of(line(connections=8))
    assert (truth.low, truth.high) == (pytest.approx(100 / 110), 1.0)
    assert trust_model.truth_of(line(connections=8, sign=True)).high == 1.0


def test_who_waits_in_a_queue_can_lose_more_than_was_added() -> None:
    truth = trust_model.truth_of(line(connections=8, path="server.knobs.second_lock_ns"))
    assert (truth.low, truth.high) == (0.0, 1.0)


def test_a_stall_takes_its_share_of_the_time() -> None:
    base, level = run(10_000.0), run(8_500.0)
    base["model"]["stalls"] = {"times": 0, "ns": 0}
    level["model"]["stalls"] = {"times": 4, "ns": 60_400_000}
    knob = "server.knobs.stall_ms"
    of = {"runs": [[[base]], [[level]]], "beside": {"server.knobs.stall_every_s": 0.1}}
    truth = trust_model.truth_of(line(path=knob, **of))
    assert truth.is_known and truth.low == pytest.approx(1 - 0.151)


@pytest.mark.parametrize(
    ("given", "holds", "judged"),
    [
        ({}, True, "right"),
        ({"low": 0.92, "high": 0.93}, False, "right"),
        ({"verdict": "inconclusive", "high": 1.01}, True, "silent"),
        ({"verdict": "higher", "low": 1.01, "high": 1.02}, False, "wrong"),
        ({"verdict": "equivalent", "low": 0.99, "high": 1.01}, False, "wrong"),
        ({"connections": 8, "low": 0.95, "high": 0.99}, True, "right"),
        ({"connections": 8, "low": 0.5, "high": 0.6}, False, "right"),
        ({"connections": 8, "verdict": "equivalent", "low": 0.99, "high": 1.01}, True, "right"),
        ({"sign": True, "verdict": "higher", "low": 1.02, "high": 1.03}, False, "wrong"),
        ({"of": "segments", "verdict": "higher", "low": 1.2, "high": 1.3}, True, "right"),
    ],
)
def test_an_answer_is_held_against_it(given: dict[str, Any], holds: bool, judged: str) -> None:
    assert trust_model.holds(line(**given)) is holds
    assert trust_model.judged(line(**given)) == judged


@pytest.mark.parametrize(
    ("of", "told", "judged"),
    [
        ("delay_us", False, "silent"),
        ("delay_us", True, "wrong"),
        ("segments", True, "right"),
        ("segments", False, "silent"),
    ],
)
def test_a_cause_is_right_if_segments_are_compared(of: str, told: bool, judged: str) -> None:
    assert trust_model.cause_judged(line(of=of, told=told)) == judged


def test_exact_intervals_of_shares() -> None:
    # Clopper and Pearson's own example is of 10 of 20; the ends are from their chart's formula.
    assert trust_model.clopper_pearson(10, 20) == pytest.approx((0.2720, 0.7280), abs=1e-4)
    assert trust_model.clopper_pearson(0, 10)[0] == 0.0
    assert trust_model.clopper_pearson(10, 10) == pytest.approx((0.6915, 1.0), abs=1e-4)


def test_a_promise_is_broken_only_beyond_chance() -> None:
    good, bad = line(), line(low=0.95, high=0.96)
    assert trust_model.broken([good] * 96 + [bad] * 4) == []
    assert trust_model.broken([good] * 80 + [bad] * 20) == [
        "at 1 connections 80 of 100 intervals agree"
    ]
    assert trust_model.broken([line(told=True)]) == ["1 causes are wrong"]


def test_the_table_has_a_row_for_each_knob_and_load() -> None:
    lines = [line(), line(connections=8, of="lock", sign=True)]
    rows = trust_model.table(lines).splitlines()[2:]
    assert [row.split(" | ")[:2] for row in rows] == [
        *(["| delay_us", "1"], ["| lock", "8"], ["| all", "1"], ["| all", "8"], ["| all", "both"])
    ]
    assert "1 of 1 (3 to 100 %)" in rows[0]


def test_every_comparison_is_another_one_and_can_be_read() -> None:
    wanted = list(itertools.islice(trust_model.comparisons(), trust_model.COUNT))
    assert len({one.key for one in wanted}) == trust_model.COUNT >= 200
    for one in {one.of: one for one in wanted}.values():
        experiment = load_experiment(str(trust_model.EXPERIMENTS / "model.toml"), sets=one.sets)
        assert experiment.compared is not None and experiment.compared.path == one.path
        assert experiment.compared.levels == one.levels
        assert len(list(cell_specs(experiment))) == 2
