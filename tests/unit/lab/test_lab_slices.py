"""Levels in slices: which server has which, in what layout, on which data, and what is recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_load import percentiles
from lab_fakes import experiment
from lab_in_slices import IN_SLICES, SEGMENTS, Bench, level_of, made_up

from contend.experiment import cell_spec, planned_runs
from contend.lab.design import PADDING_MAX_BYTES, PADDING_VARIABLE
from contend.lab.effort import REST_S
from contend.lab.events import RunBegan, RunEnded
from contend.lab.measure import seed_of
from contend.load import LoadFailed

MakeBench = Callable[..., Bench]

WRITES = {'kind = "point_select"': 'kind = "update_index"'}
MATCHED = {"repeats = 2": 'repeats = 2\nlayout = "matched"'}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeBench:
    return lambda text=IN_SLICES, **changes: made_up(monkeypatch, Bench(tmp_path, text, **changes))


@pytest.fixture
def bench(make: MakeBench) -> Bench:
    return make()


def test_a_block_is_one_run_of_the_load_generator(bench: Bench) -> None:
    load = bench.play()
    records = bench.records()
    assert [r.run for r in records] == list(range(1, 9))
    assert {r.status for r in records} == {"ok"}
    assert len(load.plans) == 4
    for plan in load.plans:
        assert sorted(level_of(arm["name"]) for arm in plan["arms"]) == [0, 32]
        assert {bench.place_of(arm) for arm in plan["arms"]} == {0, 1}
        assert [arm["watch"]["pid"] - 4711 for arm in plan["arms"]] == [
            bench.place_of(arm) for arm in plan["arms"]
        ]
    assert sum(isinstance(event, RunBegan) for event in bench.heard) == 8
    assert sum(isinstance(event, RunEnded) for event in bench.heard) == 8


def test_servers_are_started_for_each_repeat_and_not_within_one(bench: Bench) -> None:
    seen: list[list[int]] = []
    bench.each_plan = lambda _plan: seen.append(bench.starts())
    bench.play()
    assert seen == [[1, 1], [1, 1], [2, 2], [2, 2]]
    assert bench.copies == [1, 1], "on the data that they have"


def test_a_server_is_at_the_level_that_it_is_asked_at(bench: Bench) -> None:
    """Levels take turns on the servers, so that what these differ by cancels."""
    turns: list[int] = []

    def look(plan: dict[str, Any]) -> None:
        for arm in plan["arms"]:
            server = bench.servers[bench.place_of(arm)]
            assert server.options["key_cache_segments"] == level_of(arm["name"])
        turns.append(next(bench.place_of(a) for a in plan["arms"] if level_of(a["name"]) == 0))

    bench.each_plan = look
    bench.play()
    assert sorted(turns[:2]) == sorted(turns[2:]) == [0, 1], "each server once a repeat"
    by_context: dict[object, list[int]] = {}
    for (first, *_), turn in zip(bench.blocks().values(), turns, strict=True):
        by_context.setdefault(first.cell["load.connections"], []).append(turn)
    assert all(sorted(of_context) == [0, 1] for of_context in by_context.values())


def test_the_blocks_of_a_context_in_one_repeat_have_their_levels_on_other_servers(
    make: MakeBench,
) -> None:
    bench = make(**{"repeats = 2": 'repeats = 2\nat_most = "20s"'})
    seen: dict[tuple[int, int], list[int]] = {}

    def look(plan: dict[str, Any]) -> None:
        key = (bench.starts()[0], plan["load"]["connections"])
        place = next(bench.place_of(a) for a in plan["arms"] if level_of(a["name"]) == 0)
        seen.setdefault(key, []).append(place)

    bench.each_plan = look
    bench.play()
    pilot = [places for (start, _), places in seen.items() if start <= 2]
    assert len(pilot) == 4
    assert all(sorted(places) == [0, 1] for places in pilot)


def test_levels_that_take_a_restart_change_servers_from_repeat_to_repeat(make: MakeBench) -> None:
    bench = make(**{'change = "in_place"': 'change = "restart"'})
    turns: list[dict[int, int]] = []
    bench.each_plan = lambda plan: turns.append(
        {level_of(arm["name"]): bench.place_of(arm) for arm in plan["arms"]}
    )
    bench.play()
    assert turns[0] == turns[1] != turns[2] == turns[3]
    assert bench.starts() == [2, 2], "nor does it cost a start more"


class TestLayout:
    def test_matched_is_alike_in_all_servers_of_a_repeat_and_new_in_the_next(
        self, make: MakeBench
    ) -> None:
        bench = make(**MATCHED)
        bench.play()
        of_one, of_other = (server.launches for server in bench.servers)
        assert of_one == of_other
        assert len(of_one) == 2
        first, second = (len(environment[PADDING_VARIABLE]) for _, environment in of_one)
        assert first != second
        assert all(1 <= length <= PADDING_MAX_BYTES for length in (first, second))
        for record in bench.records():
            length = (first, second)[record.repeat - 1]
            told = record.probes["layout"]
            assert told["padding_bytes"] == length - 1
            assert f"--stack={told['stack_limit_bytes']}:" in of_one[record.repeat - 1][0]

    def test_system_leaves_it_to_the_system(self, make: MakeBench) -> None:
        bench = make(**{"repeats = 2": 'repeats = 2\nlayout = "system"'})
        bench.play()
        assert [server.launches for server in bench.servers] == [[((), {})] * 2] * 2
        for record in bench.records():
            assert record.probes["layout"] == {"padding_bytes": None, "stack_limit_bytes": None}


class TestDrift:
    """Tables of 1000 rows, of which a block of ten slices of 0.1 s writes one in so many."""

    def test_who_reads_alone_keeps_the_tables(self, bench: Bench) -> None:
        bench.play(lambda _arm, _round: 100_000.0)
        assert bench.copies == [1, 1]

    def test_tables_that_changed_too_much_are_made_anew_for_all(self, make: MakeBench) -> None:
        bench = make(**WRITES)
        bench.play(lambda _arm, _round: 1000.0)
        assert bench.copies == [4, 4]

    def test_little_by_little_too(self, make: MakeBench) -> None:
        """4 % a block: after the second, 8 %."""
        bench = make(**WRITES)
        seen: list[list[int]] = []
        bench.each_plan = lambda _plan: seen.append([*bench.copies])
        bench.play(lambda _arm, _round: 40.0)
        assert seen == [[1, 1], [1, 1], [2, 2], [2, 2]]

    def test_the_level_that_wrote_most_counts(self, make: MakeBench) -> None:
        bench = make(**WRITES)
        bench.play(lambda arm, _round: 60.0 if level_of(arm) == 32 else 1.0)
        assert bench.copies == [4, 4]

    def test_what_only_read_between_counts_for_nothing(self, make: MakeBench) -> None:
        kinds = '"workload.kind" = ["point_select", "update_index"]'
        bench = make(**{'"load.connections" = [1, 8]': kinds, "repeats = 2": "repeats = 6"})
        asked: list[str] = []

        def look(plan: dict[str, Any]) -> None:
            written = asked.count("update_index")
            assert bench.copies == [1 + written // 2] * 2, "each second block that writes"
            asked.append(plan["workload"]["kind"])

        bench.each_plan = look
        bench.play(lambda _arm, _round: 1000.0 if asked[-1] == "point_select" else 40.0)
        assert Counter(asked) == {"point_select": 6, "update_index": 6}

    def test_a_block_that_failed_leaves_tables_that_nobody_knows(self, make: MakeBench) -> None:
        bench = make(**WRITES)
        plans: list[object] = []

        def fail(plan: dict[str, Any]) -> None:
            plans.append(plan)
            if len(plans) == 2:
                raise LoadFailed("too many connections")

        bench.each_plan = fail
        bench.play(lambda _arm, _round: 1.0)
        assert bench.copies == [2, 2]


def test_queries_are_others_in_each_block_and_the_same_for_all_levels(bench: Bench) -> None:
    load = bench.play()
    assert len({plan["seed"] for plan in load.plans}) == 4
    for records, plan in zip(bench.blocks().values(), load.plans, strict=True):
        assert {record.plan["seed"] for record in records} == {plan["seed"]}


def test_runs_of_their_own_ask_alike_within_a_block_too(tmp_path: Path) -> None:
    tiny = experiment(tmp_path)
    seeds: dict[int, set[int]] = {}
    for one in planned_runs(tiny):
        seeds.setdefault(one.block, set()).add(seed_of(one, cell_spec(tiny, one.cell)))
    assert all(len(of_block) == 1 for of_block in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) == 4


def test_a_server_that_dies_costs_its_block_alone(make: MakeBench) -> None:
    bench = make(**MATCHED)
    seen: list[list[int]] = []

    def die(_plan: dict[str, Any]) -> None:
        seen.append(bench.starts())
        if len(seen) == 1:
            raise bench.kills(1)

    bench.each_plan = die
    bench.play()
    first, *rest = bench.blocks().values()
    assert [record.status for record in first] == ["lost", "lost"]
    for record in first:
        assert record.error is not None
        assert record.error["message"] == "the server ended by itself"
        assert "signal 11" in record.error["detail"]
    assert {record.status for records in rest for record in records} == {"ok"}
    # It alone is started anew, on data of its own, in the layout of its repeat.
    assert seen == [[1, 1], [1, 2], [2, 3], [2, 3]]
    assert bench.copies == [1, 2]
    launches = bench.servers[1].launches
    assert launches[0] == launches[1] != launches[2]


def test_a_block_that_failed_with_all_servers_alive_is_told_as_that(bench: Bench) -> None:
    plans: list[object] = []

    def fail(plan: dict[str, Any]) -> None:
        plans.append(plan)
        if len(plans) == 3:
            raise LoadFailed("too many connections", code=1040, hint="Allow more.")

    bench.each_plan = fail
    bench.play()
    statuses = [{record.status for record in records} for records in bench.blocks().values()]
    assert statuses == [{"ok"}, {"ok"}, {"failed"}, {"ok"}]
    error = bench.blocks()[3][0].error
    assert error is not None
    assert (error["message"], error["code"]) == ("too many connections", 1040)
    assert bench.starts() == [2, 2]


def test_a_record_has_the_slices_of_its_level_and_their_sum(bench: Bench) -> None:
    bench.play(lambda arm, round_: 1000.0 + 10 * level_of(arm) + round_)
    for record in bench.records():
        level = int(str(record.cell[SEGMENTS]))
        rates = [1000.0 + 10 * level + round_ for round_ in range(10)]
        assert [one["index"] for one in record.intervals] == list(range(10))
        assert [one["qps"] for one in record.intervals] == rates
        assert record.done is not None
        assert record.done["qps"] == pytest.approx(sum(rates) / 10)
        assert record.done["measured_s"] == pytest.approx(1.0)
        assert record.done["server"] is not None
        assert record.done["setup_connect_us"]["count"] > 0
        assert "arms" not in record.done
        assert record.probes["load_generator"]["version"] == "fake"
        assert record.probes["dataset"]["rows"] == 1000
    starts = [one["start_s"] for record in bench.blocks()[1] for one in record.intervals]
    assert len(set(starts)) == 20, "one after the other"


def test_a_level_that_answered_nothing_fails_the_block(bench: Bench) -> None:
    error = {
        "code": 1146,
        "sqlstate": "42S02",
        "count": 9,
        "message": "no such table",
        "statement": "SELECT c",
    }
    bench.changes = {"queries": 0, "errors": [error]}
    bench.play()
    assert {record.status for record in bench.records()} == {"failed"}
    assert "no such table" in (bench.records()[0].error or {})["message"]


class TestLength:
    """Of slices, in the plans of blocks."""

    def lengths(self, bench: Bench) -> dict[int, list[tuple[float, float]]]:
        """By connections, repeat by repeat."""
        found: dict[int, list[tuple[float, float]]] = {}
        bench.each_plan = lambda plan: found.setdefault(plan["load"]["connections"], []).append(
            (plan["load"]["slices"]["slice_s"], plan["load"]["slices"]["settle_s"])
        )
        bench.play()
        return found

    def test_answers_that_come_soon_leave_it_short(self, bench: Bench) -> None:
        assert self.lengths(bench) == {1: [(0.1, 0.02)] * 2, 8: [(0.1, 0.02)] * 2}

    def test_it_follows_the_response_time(self, bench: Bench) -> None:
        bench.changes = {"latency_us": {**percentiles(100), "p50": 80_000.0}}
        expected = [(0.1, 0.02), (pytest.approx(0.4), pytest.approx(0.08))]
        assert self.lengths(bench) == {1: expected, 8: expected}

    def test_what_the_experiment_says_stays(self, make: MakeBench) -> None:
        bench = make(**{'warmup = "100ms"': 'slice = "50ms"\nsettle = "10ms"'})
        bench.changes = {"latency_us": {**percentiles(100), "p50": 80_000.0}}
        assert self.lengths(bench) == {1: [(0.05, 0.01)] * 2, 8: [(0.05, 0.01)] * 2}

    def test_slices_that_were_too_short_are_followed_by_longer_ones(self, make: MakeBench) -> None:
        bench = make(**{"repeats = 2": "repeats = 4"})
        lengths: dict[int, list[float]] = {1: [], 8: []}

        def too_short(plan: dict[str, Any]) -> None:
            slice_s = plan["load"]["slices"]["slice_s"]
            lengths[plan["load"]["connections"]].append(slice_s)
            slow = plan["load"]["connections"] == 8
            bench.changes = {"latency_us": {**percentiles(100), "p50": 300_000.0 if slow else 1.0}}
            if slow and slice_s < 1.5:
                raise LoadFailed(f"slices of {slice_s} s are too short")

        bench.each_plan = too_short
        bench.play()
        assert lengths[1] == [0.1] * 4, "whose answers came in time"
        assert lengths[8] == pytest.approx([0.1, 0.4, 1.6, 1.5])
        by_connections = Counter(
            (record.cell["load.connections"], record.status) for record in bench.records()
        )
        assert by_connections == {(1, "ok"): 8, (8, "failed"): 4, (8, "ok"): 4}

    def test_a_server_that_died_says_nothing_of_it(self, bench: Bench) -> None:
        plans: list[dict[str, Any]] = []

        def die(plan: dict[str, Any]) -> None:
            plans.append(plan)
            if len(plans) == 1:
                raise bench.kills(0)

        bench.each_plan = die
        bench.play()
        assert {plan["load"]["slices"]["slice_s"] for plan in plans} == {0.1}


ASKED = {
    f'"{SEGMENTS}" = [0, 32]\n': '"workload.kind" = ["point_select", "random_points"]\n',
    f'baseline = {{ "{SEGMENTS}" = 0 }}': 'baseline = { "workload.kind" = "point_select" }',
}


def test_each_level_is_asked_what_is_its_own(make: MakeBench) -> None:
    bench = make(**ASKED)
    load = bench.play()
    kinds = {"point_select", "random_points"}
    for plan in load.plans:
        asked = {(arm.get("workload") or plan["workload"])["kind"] for arm in plan["arms"]}
        assert asked == kinds
    for record in bench.records():
        assert record.plan["workload"]["kind"] == record.cell["workload.kind"]


def test_the_level_that_writes_most_says_when_tables_are_made_anew(make: MakeBench) -> None:
    writes = {old: new.replace("random_points", "update_index") for old, new in ASKED.items()}
    bench = make(**writes)
    bench.changes = {"begun": 10_000}
    bench.play()
    assert bench.copies == [4, 4], "after each block"


def test_levels_that_write_on_one_server_share_its_tables(make: MakeBench) -> None:
    protocols = {
        f'"{SEGMENTS}" = [0, 32]\n': '"load.protocol" = ["prepared", "text"]\n',
        f'baseline = {{ "{SEGMENTS}" = 0 }}': 'baseline = { "load.protocol" = "text" }',
        **WRITES,
    }
    bench = make(**protocols)
    bench.servers = bench.servers[:1]
    made: list[int] = []
    bench.each_plan = lambda _plan: made.append(bench.copies[0])
    bench.play()
    assert {record.status for record in bench.records()} == {"ok"}
    # The second level's would take the server away from the first.
    assert made[0] == 1 and max(made) <= len(made)


def test_servers_that_are_written_to_are_given_time_to_rest(make: MakeBench) -> None:
    writes = {old: new.replace("random_points", "update_index") for old, new in ASKED.items()}
    for plan in make(**writes).play().plans:
        assert plan["load"]["slices"]["rest_s"] == REST_S


@pytest.mark.parametrize(("kind", "longer_s"), [("update_index", 0.3), ("random_points", 0.1)])
def test_slices_are_as_long_as_the_rest_before_them_makes_worth_while(
    make: MakeBench, kind: str, longer_s: float
) -> None:
    """Each comes 0.06 s after the one before, 0.02 s of it settling."""
    asked = {old: new.replace("random_points", kind) for old, new in ASKED.items()}
    bench = make(**asked, **{"repeats = 2": 'repeats = 2\nat_most = "20s"'})
    bench.rest_s = 0.04
    slices_s = [plan["load"]["slices"]["slice_s"] for plan in bench.play().plans]
    assert slices_s[0] == 0.1
    assert slices_s[-1] == pytest.approx(longer_s, rel=0.1)


def test_a_failure_names_what_is_varied_and_its_level(bench: Bench) -> None:
    names: set[str] = set()
    bench.each_plan = lambda plan: names.update(arm["name"] for arm in plan["arms"])
    bench.play()
    assert names == {
        "server.options.key_cache_segments = 0",
        "server.options.key_cache_segments = 32",
    }


def test_a_run_whose_events_all_failed_has_no_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_up(monkeypatch, Bench(tmp_path))
    error = {"code": 1146, "count": 3, "message": "no table", "sqlstate": "42S02", "statement": ""}
    made.changes = {"events": 0, "failed": 3, "queries": 3, "errors": [error]}
    made.play()
    assert {record.status for record in made.records()} == {"failed"}
