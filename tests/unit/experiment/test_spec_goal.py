"""Goals in experiment files: how they are written, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from contend.experiment import (
    RATE,
    Experiment,
    GoalSpec,
    SpecError,
    cell_spec,
    from_dict,
    is_open,
    planned_runs,
    to_dict,
)

Load = Callable[..., Experiment]


@pytest.mark.parametrize(
    ("typed", "metric", "limit", "shown"),
    [
        ("p99<20ms", "response_us_p99", 20_000, "p99 < 20 ms"),
        ("  p99 <= 20 ms ", "response_us_p99", 20_000, "p99 < 20 ms"),
        ("p99.9<0.15s", "response_us_p999", 150_000, "p99.9 < 150 ms"),
        ("median<50us", "response_us_p50", 50, "median < 50 µs"),
        ("response_us_p95<5ms", "response_us_p95", 5_000, "p95 < 5 ms"),
        ("new_order.p95<5ms", "event.new_order.response_us_p95", 5_000, "new_order.p95 < 5 ms"),
        (
            "statement.select.service_us_p99<5ms",
            "statement.select.service_us_p99",
            5_000,
            "statement.select.service_us_p99 < 5 ms",
        ),
        ("error_share<0.1%", "error_share", 0.001, "error_share < 0.1 %"),
        ("cpus_busy<1.5", "cpus_busy", 1.5, "cpus_busy < 1.5"),
    ],
)
def test_any_metric_with_an_upper_limit(
    load: Load, typed: str, metric: str, limit: float, shown: str
) -> None:
    goal = load(sets=[f"goal.hold={typed}"]).goal
    assert goal == GoalSpec(metric, limit, shown)


@pytest.mark.parametrize(
    ("typed", "message", "hint"),
    [
        ("p98<20ms", 'names "p98", which is not a metric', '"p99"'),
        ("respons_us_p99<1ms", "which is not a metric", '"response_us_p99"'),
        ("p99<20", "has no unit", "20ms"),
        ("p99<20parsec", "is not a limit of response_us_p99", "µs"),
        ("p99", "must be a metric, <, and its limit with a unit", "p99<20ms"),
        ("p99>20ms", "has no upper limit", "p99<20ms"),
        ("p99<0ms", "must be above 0", ""),
        ("p99<1.2.3ms", "is not a limit", ""),
        ("qps<100", "limits a rate, which the search itself sets", "p99<20ms"),
        ("seconds<3s", "only a closed loop has", "p99<20ms"),
    ],
)
def test_goals_that_are_refused(load: Load, typed: str, message: str, hint: str) -> None:
    with pytest.raises(SpecError, match="--goal: ") as refused:
        load(sets=[f"goal.hold={typed}"])
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("load.arrival.kind=closed", 'needs an open loop, but load.arrival.kind is "closed"'),
        ("load.arrival.think=1ms", "load.arrival.think cannot be combined with the goal"),
        ("load.arrival.rate=5", "load.arrival.rate cannot be combined with the goal"),
        ("load.arrival.rate=[1, 2]", "load.arrival.rate cannot be combined with the goal"),
        ("load.events=100", "needs a load without end, not load.events"),
        ("load.slice=1s", "needs a load without end, not load.slice"),
        ("compare.by=slices", "compare.by cannot be combined with the goal"),
        ("compare.fail_if_slower=3%", "compare.fail_if_slower cannot be combined"),
        ("experiment.why=true", "experiment.why cannot be combined"),
        ("load.measure=150ms", "load.measure of 150 ms is too short for the goal p99 < 20 ms"),
        ("load.measure=[1, 0.15]", "load.measure of 150 ms is too short for the goal p99 < 20 ms"),
        ("goal.lowest=2000000", "no rate is between them"),
    ],
)
def test_what_cannot_be_combined_with_a_goal(load: Load, setting: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(sets=["goal.hold=p99<20ms", setting])
    assert message in refused.value.message
    assert setting.partition("=")[0] in refused.value.message


def test_a_table_without_a_goal_is_refused(load: Load, small_text: str) -> None:
    with pytest.raises(SpecError, match="has no goal to search for"):
        load(f"{small_text}\n[goal]\nhighest = 500\n")


def test_the_load_is_an_open_loop_at_the_rate_of_the_run(load: Load, small_text: str) -> None:
    arrival = 'arrival = { kind = "open", process = "even" }'
    text = small_text.replace('measure = "2s"', f'measure = "2s"\n{arrival}')
    it = load(f'{text}\n[goal]\nhold = "p99<20ms"\nlowest = 200\n')
    assert it.goal == GoalSpec("response_us_p99", 20_000, "p99 < 20 ms", lowest=200)
    assert it.compare.metric[0] == "response_us_p99"
    assert is_open(it)
    first = planned_runs(it)
    # A block for each number of connections, with both levels.
    assert [(run.block, run.repeat) for run in first] == [(1, 1), (1, 1), (2, 1), (2, 1)]
    assert {run.cell[RATE] for run in first} == {200}
    arrival_of_cell = cell_spec(it, {**first[0].cell, RATE: 750})["load.arrival"]
    assert (arrival_of_cell["rate"], arrival_of_cell["process"]) == (750, "even")


def test_it_is_stored_with_its_goal(load: Load) -> None:
    it = load(sets=["goal.hold=p99<20ms", "goal.highest=12000"])
    assert from_dict(json.loads(json.dumps(to_dict(it)))) == it
    older = to_dict(load())
    del older["goal"]
    assert from_dict(older).goal is None
