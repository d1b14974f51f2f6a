"""Work that ends by itself: no slices, limits that are no lengths, statements before each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from closed_run import ENGINES, STATEMENTS, SWEEP
from fake_load import FakeLoad, done_of
from lab_fakes import FakeTestbed, PlaceBench, experiment
from lab_in_slices import IN_SLICES, Bench, made_up

from contend.errors import RequestError, WorkError
from contend.experiment import CellSpec, planned_runs, to_dict
from contend.experiment.settings.load import WARMUP_IN_SLICES_S, Slicing, load_in_slices
from contend.experiment.settings.workload import may_write, writing_share
from contend.lab.design import Design, choose_design
from contend.lab.effort import require_time
from contend.lab.runner import Runner
from contend.lab.walk import Schedule, walk
from contend.metrics import metric_of
from contend.store import RunFolder


class TestWay:
    def test_a_list_that_is_asked_so_often_is_compared_in_turns(self, tmp_path: Path) -> None:
        design = choose_design(experiment(tmp_path, ENGINES), own=True, disk=tmp_path)
        assert design.in_slices and design.servers == 2 and design.why == ""

    def test_statements_that_may_write_are_compared_by_runs(self, tmp_path: Path) -> None:
        text = ENGINES.replace(STATEMENTS[0], "DELETE FROM sbtest WHERE id = 1")
        design = choose_design(experiment(tmp_path, text), own=True, disk=tmp_path)
        assert design.by == "runs" and "these statements may write" in design.why
        text = text.replace("[compare]\n", '[compare]\nby = "slices"\n')
        with pytest.raises(RequestError, match="find the changes of those before"):
            choose_design(experiment(tmp_path, text), own=True, disk=tmp_path)

    def test_a_list_for_a_time_can_be_in_slices(self, tmp_path: Path) -> None:
        text = ENGINES.replace("times = 1\n", "").replace('metric = "seconds"\n', "")
        assert choose_design(experiment(tmp_path, text), own=True, disk=tmp_path).in_slices


class TestTime:
    def test_the_limit_of_a_run_is_not_its_length(self, tmp_path: Path) -> None:
        text = SWEEP.replace("repeats = 5\n", 'repeats = 2\nat_most = "30s"\n')
        require_time(experiment(tmp_path, text), Design("runs"))
        by_the_clock = text.replace("times = 1\n", "").replace('metric = "seconds"\n', "")
        with pytest.raises(RequestError, match="too short"):
            require_time(experiment(tmp_path, by_the_clock), Design("runs"))

    def test_repeats_are_made_until_the_next_would_not_fit(self, tmp_path: Path) -> None:
        text = SWEEP.replace("repeats = 5\n", 'repeats = 2\nat_most = "100s"\n')
        tiny, clock = experiment(tmp_path, text), [0.0]

        def answer(plan: dict[str, Any]) -> Any:
            clock[0] += 10.0
            return done_of(plan, ended="events", measured_s=10.0)

        planned = planned_runs(tiny)
        with RunFolder.create(tmp_path / "run", to_dict(tiny), planned, {}) as folder:
            schedule = Schedule(tiny, folder, Design("runs"), clock=lambda: clock[0])
            runner = Runner(
                tiny,
                [FakeTestbed()],
                FakeLoad(answer),
                schedule.effort,
                lambda _: None,  # type: ignore[list-item]
            )
            walk(tiny, folder, schedule, runner, lambda _: None)
            # A repeat of three cells takes half a minute.
            assert len(folder.records()) == 9
            assert folder.meta().finished == "time is up: 3 repeats"


class TestBeforeRun:
    def test_its_statements_are_sent_before_every_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench = PlaceBench(tmp_path).with_statements(monkeypatch)
        cell = CellSpec().having(server__before_run=["RESET QUERY CACHE"])
        for _ in range(3):
            bench.testbed.set(cell)
        bench.testbed.set(CellSpec())
        assert bench.said == ["RESET QUERY CACHE"] * 3

    def test_one_that_fails_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = PlaceBench(tmp_path).with_statements(monkeypatch)
        bench.refuses = {"BAD"}
        with pytest.raises(WorkError, match=r"before_run, statement 2 of 2: .*'BAD'"):
            bench.testbed.set(CellSpec().having(server__before_run=["GOOD", "BAD"]))


class TestTurns:
    """Work that has an end, at two levels: an arm's slice is all of it."""

    @pytest.fixture
    def bench(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
        text = IN_SLICES.replace("[load]", "[load]\nevents = 100")
        text = text.replace("[server]", '[server]\nbefore_run = ["RESET QUERY CACHE"]')
        bench = made_up(
            monkeypatch, Bench(tmp_path, text, **{'measure = "200ms"': 'measure = "50ms"'})
        )
        bench.changes = {"ended": "events"}
        return bench

    def test_a_turn_has_no_length_but_a_limit_and_statements_before_it(self, bench: Bench) -> None:
        load = bench.play()
        for plan in load.plans:
            slices = plan["load"]["slices"]
            assert (slices["slice_s"], slices["settle_s"]) == (0.05, 0.0)
            assert plan["load"]["events"] == 100 and "measure_s" not in plan["load"]
            assert [arm["enter"] for arm in plan["arms"]] == [["RESET QUERY CACHE"]] * 2
        seconds = {metric_of("seconds").value(record) for record in bench.records()}
        assert list(seconds) == [pytest.approx(0.05)]

    def test_as_many_turns_as_take_the_time_of_slices_once_their_length_is_known(
        self, bench: Bench
    ) -> None:
        bench.play()
        rounds = [each[0].plan["load"]["slices"]["rounds"] for each in bench.blocks().values()]
        # Two contexts a repeat; ten slices take 1 s, twenty turns do.
        assert rounds == [1, 1, 20, 20]

    def test_what_was_not_done_in_time_has_no_seconds(self, bench: Bench) -> None:
        bench.changes = {"ended": "time"}
        bench.play()
        assert {metric_of("seconds").value(record) for record in bench.records()} == {None}


def test_a_warm_up_before_turns_is_as_short_as_it_is_asked_for() -> None:
    for asked_s, had_s in [(0.0, 0.0), (5.0, WARMUP_IN_SLICES_S)]:
        values = CellSpec().having(load__events=10, load__warmup=asked_s).values
        assert load_in_slices(values, Slicing(1.0, 0.0, 1))["warmup_s"] == had_s
    cut = CellSpec().having(load__warmup=0.0).values
    assert load_in_slices(cut, Slicing(0.1, 0.02, 1))["warmup_s"] == WARMUP_IN_SLICES_S


TEXT = """
@read weight 3
SELECT c FROM sbtest WHERE id = {id:uniform(1, 10)};
@move
UPDATE sbtest SET k = 1 WHERE id = 1;
"""


@pytest.mark.parametrize(
    ("parameters", "share"),
    [
        ({"text": TEXT}, 1.0),
        ({"text": TEXT, "shares": {}}, 1.0),
        ({"text": TEXT, "shares": {"read": 50}}, 1.0),
        ({"text": TEXT, "shares": {"move": 20}}, 0.2),
        ({"text": TEXT, "shares": {"move": 0}}, 0.0),
        ({"text": "SELECT 1; SELECT 2;", "shares": {"move": 20}}, 0.0),
        ({"text": "DELETE FROM sbtest;" + TEXT, "shares": {"move": 0}}, 1.0),
    ],
)
def test_what_may_write_is_known_by_its_share(parameters: dict[str, object], share: float) -> None:
    assert writing_share("sql", parameters) == pytest.approx(share)
    assert may_write("sql", parameters) is (share > 0)


def test_other_kinds_write_or_do_not() -> None:
    assert writing_share("update_index", {}) == 1.0
    assert writing_share("point_select", {}) == 0.0
    assert writing_share("list", {"statements": ["INSERT INTO t VALUES (1)"]}) == 1.0
