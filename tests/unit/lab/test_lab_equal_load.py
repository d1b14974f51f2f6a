"""Both sides at the same load: the rate that is found, what is measured at it, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from fake_connection import FakeConnection, Rows
from fake_load import done_of, percentiles
from lab_fakes import experiment
from lab_in_slices import IN_SLICES

from contend.errors import RequestError
from contend.experiment import Experiment, Planned, cell_spec, cells
from contend.experiment.settings.load import Slicing
from contend.experiment.settings.one_kind import OLTP
from contend.lab.design import Design
from contend.lab.equal_load import EqualLoads, why_not_equal_load, with_equal_load
from contend.lab.events import Event, Notice
from contend.lab.probes import Observed
from contend.load import Address, ArmSpec, LoadFailed
from contend.metrics import metric_of
from contend.metrics.outcome import Done
from contend.store import RunRecord

MIX = (
    'kind = "sql"\ntext = "@read weight 9\\nSELECT 1;\\n@insert\\nINSERT INTO sbtest () VALUES ();"'
)
EQUAL = 'warmup = "100ms"\nconnections = 8\nrate = "equal"'
SLICES = Slicing(0.1, 0.02, 3)
CAPACITY = {"0": 500.0, "32": 2000.0}

Change = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


def mixed(tmp_path: Path, **changes: str) -> Experiment:
    usual = {
        'kind = "point_select"': MIX,
        'warmup = "100ms"': EQUAL,
        '"load.connections" = [1, 8]': "",
        **changes,
    }
    return experiment(tmp_path, IN_SLICES, **usual)


class Server:
    """Answers plans for two levels of different capacity.

    Args:
        change: the figures of an arm in place of the usual ones.
    """

    def __init__(self, change: Change = lambda _arm, figures: figures) -> None:
        self.plans: list[dict[str, Any]] = []
        self._change = change

    def run(self, plan: dict[str, Any], **_more: Any) -> Done:
        self.plans.append(plan)
        whole = done_of(plan)
        for arm, one in zip(plan["arms"], whole["arms"], strict=True):
            load = {**plan["load"], **arm}
            name = str(arm["name"]).rpartition(" ")[2]
            stages = load.get("arrival", {}).get("stages")
            rate = stages[0]["rate"] if stages else CAPACITY[name]
            events = rate * one["done"]["measured_s"]
            only = {**plan["workload"], **arm.get("workload", {})}.get("shares", {})
            figures: dict[str, Any] = {
                "arrival": "open-loop" if stages else "closed-loop",
                "events": round(events),
                "events_in_parts": events,
                "open": {"due": round(events), "overloaded": False} if stages else None,
                "kinds": [
                    {"name": kind, "events": count, "latency_us": percentiles(count)}
                    for kind in ("read", "insert")
                    for count in [10 if not only or kind in only else 0]
                ],
            }
            one["done"] = cast(Done, {**one["done"], **self._change(plan, figures)})
        return whole


def arms_of(tiny: Experiment) -> tuple[list[Planned], list[ArmSpec]]:
    runs = [Planned(n, 1, 1, cell) for n, cell in enumerate(cells(tiny), start=1)]
    arms = [
        ArmSpec(f"segments = {level}", cell_spec(tiny, run.cell), Address(socket="/s"))
        for run in runs
        for level in run.cell.values()
    ]
    return runs, arms


def found(
    tiny: Experiment, server: Server, records: Any = ()
) -> tuple[EqualLoads, list[Event], list[RunRecord]]:
    """What a block's records have, and what was told."""
    heard: list[Event] = []
    equal = EqualLoads(tiny, server, heard.append, records)  # type: ignore[arg-type]
    runs, arms = arms_of(tiny)
    equal.find(runs, arms, SLICES, seed=1, env={})
    before = [
        RunRecord(one.run, 1, 1, one.cell, "ok", "", "", plan={}, done=None)  # type: ignore[typeddict-item]
        for one in runs
    ]
    done = equal.measure(runs, arms, SLICES, seed=1, env={})
    if not done:
        return equal, heard, before
    both = zip(before, done, strict=True)
    return equal, heard, [with_equal_load(record, "", one) for record, one in both]


def rates_of(plan: dict[str, Any]) -> set[float]:
    loads = [{**plan["load"], **arm} for arm in plan["arms"]]
    return {load["arrival"]["stages"][0]["rate"] for load in loads if "arrival" in load}


def test_all_levels_get_a_share_of_what_the_slower_one_holds(tmp_path: Path) -> None:
    server = Server()
    _, heard, records = found(mixed(tmp_path), server)
    search, trial, *alone, at_rate = server.plans
    assert rates_of(search) == set()
    assert rates_of(trial) == rates_of(at_rate) == {350.0}
    assert [plan["load"]["connections"] for plan in (search, trial, at_rate)] == [8, 8, 8]
    for plan, kind in zip(alone, ("read", "insert"), strict=True):
        assert plan["load"]["connections"] == 1 and not rates_of(plan)
        assert plan["workload"]["shares"] == {kind: 100}
    (notice,) = [one.text for one in heard if isinstance(one, Notice)]
    assert "350 events" in notice and "70%" in notice and "segments = 0" in notice
    for record, capacity in zip(records, (500.0, 2000.0), strict=True):
        equal = record.probes["equal_load"]
        assert (equal["rate"], equal["share"], equal["least"]) == (350.0, 0.7, 500.0)
        assert equal["capacity"] == capacity
        assert metric_of("event.insert.response_us_mean").value(record) == 200.0
        assert metric_of("event.insert.service_us_p50").value(record) == 300.0


ALONE = 'rate = "closed"\nalone = true'
READ_WRITE = 'kind = "read_write"'


def test_alone_needs_no_rate(tmp_path: Path) -> None:
    server = Server()
    _, heard, records = found(mixed(tmp_path, **{'rate = "equal"': ALONE}), server)
    search, *alone = server.plans
    assert not heard and len(alone) == 2 and not any(map(rates_of, server.plans))
    assert search["load"]["connections"] == 8
    assert [plan["workload"]["shares"] for plan in alone] == [{"read": 100}, {"insert": 100}]
    for record in records:
        assert "equal_load" not in record.probes and set(record.probes["alone"]) == {
            "read", "insert"
        }  # fmt: skip
    # A resumed run knows the kinds.
    again = Server()
    found(mixed(tmp_path, **{'rate = "equal"': ALONE}), again, records)
    assert len(again.plans) == 2


def test_the_rate_needs_no_alone(tmp_path: Path) -> None:
    server = Server()
    tiny = mixed(tmp_path, **{'rate = "equal"': 'rate = "equal"\nalone = false'})
    _, _, records = found(tiny, server)
    assert len(server.plans) == 3
    assert all(set(one.probes) >= {"equal_load"} - {"alone"} for one in records)
    assert not any("alone" in one.probes for one in records)


def test_an_open_loop_is_closed_for_a_kind_alone(tmp_path: Path) -> None:
    server = Server()
    open_loop = 'arrival = { kind = "open", rate = 5 }\nalone = true'
    found(mixed(tmp_path, **{'rate = "equal"': open_loop}), server)
    search, *alone = server.plans
    assert rates_of(search) == {5.0} and alone
    assert not any(map(rates_of, alone))


def of_parts(_plan: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    classes = [
        {"name": name, "queries": 10, "latency_us": percentiles(10)}
        for name in ("begin", "point_select", "delete", "insert", "commit")
    ]
    return {**usual, "classes": classes}


def test_parts_of_a_transaction_are_kinds(tmp_path: Path) -> None:
    server = Server(of_parts)
    found(mixed(tmp_path, **{MIX: READ_WRITE, 'rate = "equal"': ALONE}), server)
    _, points, pairs = (plan["workload"] for plan in server.plans)
    counts = {name: points[f"{name}s"] for name in OLTP["read_write"]}
    assert {name for name, count in counts.items() if count} == {"point_select"}
    assert (pairs["delete_inserts"], pairs["point_selects"]) == (1, 0)
    assert not points["transaction"] and not pairs["transaction"]


def test_a_single_kind_is_asked_alone_too(tmp_path: Path) -> None:
    def of_one(_plan: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
        classes = [
            {"name": f"move.{n}", "queries": 9, "latency_us": percentiles(9)} for n in (1, 2)
        ]
        return {**usual, "kinds": [], "classes": classes}

    server = Server(of_one)
    text = 'kind = "sql"\ntext = "@move\\nSELECT 1; SELECT 2;"'
    found(mixed(tmp_path, **{MIX: text, 'rate = "equal"': "alone = true"}), server)
    _, alone = server.plans
    assert alone["workload"]["shares"] == {"move": 100}


def of_tpcc(_plan: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    kinds = [{"name": "payment", "events": 10, "latency_us": percentiles(10)}]
    return {**usual, "kinds": [*kinds, {**kinds[0], "name": "delivery", "events": 0}]}


def test_transactions_of_tpcc_are_kinds(tmp_path: Path) -> None:
    server = Server(of_tpcc)
    tables = 'schema = "tpcc"\nengine = "InnoDB"\nwarehouses = 1'
    changes = {MIX: 'kind = "tpcc"', 'rate = "equal"': ALONE, 'engine = "MyISAM"': tables}
    changes["rows = 1000"] = ""
    found(mixed(tmp_path, **changes), server)
    _, payment = (plan["workload"] for plan in server.plans)
    assert payment["mix"] == "weights"
    assert {name for name, weight in payment["mix_weights"].items() if weight} == {"payment"}


def test_counters_of_each_level_are_read_around_it(tmp_path: Path) -> None:
    class Counted(Server):
        def run(self, plan: dict[str, Any], **more: Any) -> Done:
            more["on_event"]({"type": "hello"})
            for level, connection in enumerate(connections, start=1):
                connection.answers["SHOW GLOBAL STATUS"] = [("Questions", str(100 * level))]
            return super().run(plan, **more)

    class Counting(FakeConnection):
        def answer(self, statement: str) -> Rows:
            return [("Questions", "7")] if not self.answers else super().answer(statement)

    connections = [Counting(), Counting()]
    tiny = mixed(tmp_path, **{'rate = "equal"': ALONE})
    equal = EqualLoads(tiny, Counted(), lambda _event: None)  # type: ignore[arg-type]
    runs, arms = arms_of(tiny)
    observed = [Observed(one, "mariadb") for one in connections]  # type: ignore[arg-type]
    equal.find(runs, arms, SLICES, seed=1, env={})
    for one in connections:
        one.answers.clear()
    found_alone = equal.measure(runs, arms, SLICES, seed=1, env={}, observed=observed)
    first = [one["alone"]["read"]["status"] for one in found_alone]
    assert first == [{"Questions": 93}, {"Questions": 193}]


def test_the_share_is_the_files(tmp_path: Path) -> None:
    server = Server()
    found(mixed(tmp_path, **{'rate = "equal"': 'rate = "equal"\nrate_share = 0.2'}), server)
    assert rates_of(server.plans[1]) == {100.0}


def test_a_resumed_run_goes_on_with_its_rate(tmp_path: Path) -> None:
    tiny = mixed(tmp_path)
    _, _, records = found(tiny, Server())
    server = Server()
    _, heard, again = found(tiny, server, records)
    assert not heard and [rates_of(plan) for plan in server.plans] == [set(), set(), {350.0}]
    assert [one.probes["equal_load"]["capacity"] for one in again] == [500.0, 2000.0]


def at_the_rate(**figures: Any) -> Change:
    def change(plan: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
        return {**usual, **figures} if usual["open"] and rates_of(plan) else usual

    return change


def dies(plan: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    if rates_of(plan):
        raise LoadFailed("the server has gone away", code=2013)
    return usual


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda _plan, usual: {**usual, "events_in_parts": 0.0}, "segments = 0 ended no event"),
        (at_the_rate(events=0), "segments = 0 does not hold"),
        (dies, "gone away"),
    ],
    ids=["answers nothing", "falls behind", "dies"],
)
def test_a_level_that_cannot_is_refused(tmp_path: Path, change: Change, named: str) -> None:
    with pytest.raises(RequestError) as error:
        found(mixed(tmp_path), Server(change))
    assert named in error.value.message and error.value.exit_code == 2
    assert 'load.rate = "closed"' in str(error.value.hint)


def test_a_level_that_falls_behind_once_lowers_the_rate(tmp_path: Path) -> None:
    def change(plan: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
        return {**usual, "events": 200} if rates_of(plan) == {350.0} else usual

    server = Server(change)
    _, _, (one, _) = found(mixed(tmp_path), server)
    equal = one.probes["equal_load"]
    # 200 events in the second of the trial.
    assert equal["rate"] == pytest.approx(0.7 * equal["least"])
    assert equal["least"] == pytest.approx(200)


def test_without_the_files_word_it_is_left_out(tmp_path: Path) -> None:
    server = Server(at_the_rate(events=0))
    _, heard, records = found(mixed(tmp_path, **{'rate = "equal"': ""}), server)
    (notice,) = [one.text for one in heard if isinstance(one, Notice)]
    assert "segments = 0 does not hold" in notice
    assert all("equal_load" not in one.probes for one in records)


def test_a_rate_beyond_the_client_is_said(tmp_path: Path) -> None:
    busy = {"client_busiest_thread_share": 0.95}
    _, heard, records = found(mixed(tmp_path), Server(lambda _plan, usual: {**usual, **busy}))
    assert any("client is at its limit" in one.text for one in heard if isinstance(one, Notice))
    marks = [warning["code"] for record in records for warning in record.warnings]
    assert marks == ["client-limited", "client-limited"]


def test_statements_that_are_refused_are_left_to_the_next_block(tmp_path: Path) -> None:
    def refused(_plan: dict[str, Any], _usual: dict[str, Any]) -> dict[str, Any]:
        raise LoadFailed("no such table", code=1146)

    tiny = mixed(tmp_path)
    equal = EqualLoads(tiny, Server(refused), lambda _event: None)  # type: ignore[arg-type]
    runs, arms = arms_of(tiny)
    equal.find(runs, arms, SLICES, seed=1, env={})
    assert equal.measure(runs, arms, SLICES, seed=1, env={}) == []


SLICED, RUNS = Design("slices", servers=2), Design("runs", "the disk is full")


def test_levels_that_do_not_take_turns_have_no_same_load(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as error:
        why_not_equal_load(mixed(tmp_path), RUNS)
    assert "the disk is full" in error.value.message and error.value.exit_code == 2
    unsaid = mixed(tmp_path, **{'rate = "equal"': ""})
    assert why_not_equal_load(unsaid, RUNS) == "the disk is full"
    with pytest.raises(RequestError, match=r"load.alone = true needs .* the disk is full"):
        why_not_equal_load(mixed(tmp_path, **{'rate = "equal"': "alone = true"}), RUNS)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, True),
        ({'rate = "equal"': ""}, True),
        ({'rate = "equal"': 'rate = "closed"'}, False),
        ({'rate = "equal"': "", MIX: 'kind = "sql"\ntext = "SELECT 1;"'}, False),
        ({'rate = "equal"': 'arrival = { kind = "open", rate = 5 }'}, False),
        ({'rate = "equal"': "", MIX: 'kind = "point_select"'}, False),
        ({MIX: 'kind = "point_select"'}, True),
    ],
)
def test_several_kinds_have_it_unless_the_file_says_otherwise(
    tmp_path: Path, changes: dict[str, str], wanted: bool
) -> None:
    assert (why_not_equal_load(mixed(tmp_path, **changes), SLICED) is None) == wanted


def test_each_context_has_its_own(tmp_path: Path) -> None:
    tiny = mixed(
        tmp_path,
        **{'rate = "equal"': "", "[compare]": '"load.rate" = ["equal", "closed"]\n[compare]'},
    )
    assert why_not_equal_load(tiny, SLICED) is None
    server = Server()
    equal = EqualLoads(tiny, server, lambda _event: None)  # type: ignore[arg-type]
    for rate, plans in (("closed", 0), ("equal", 5)):
        runs = [
            Planned(number, 1, 1, cell)
            for number, cell in enumerate(cells(tiny), start=1)
            if cell["load.rate"] == rate
        ]
        arms = [
            ArmSpec(f"segments = {level}", cell_spec(tiny, run.cell), Address(socket="/s"))
            for run, level in zip(runs, CAPACITY, strict=True)
        ]
        equal.find(runs, arms, SLICES, seed=1, env={})
        done = equal.measure(runs, arms, SLICES, seed=1, env={})
        assert len(server.plans) == plans and bool(done) == bool(plans)


def test_a_workload_that_cannot_be_divided_has_the_rate_alone(tmp_path: Path) -> None:
    server = Server()
    _, _, records = found(mixed(tmp_path, **{MIX: 'kind = "point_select"'}), server)
    assert len(server.plans) == 3
    assert all("alone" not in one.probes for one in records)
    assert replace(records[0]).probes["equal_load"]["rate"] == 350.0
