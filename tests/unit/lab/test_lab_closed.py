"""Work that ends by itself: no slices, limits that are no lengths, statements before each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from closed_run import ENGINES, SWEEP
from fake_load import FakeLoad, done_of
from lab_fakes import FakeServer, FakeTestbed, NoLoad, dataset, experiment

from contend.errors import RequestError, WorkError
from contend.lab.design import Design, choose_design
from contend.lab.effort import require_time
from contend.lab.private import PrivateProgram, PrivateUnderTest
from contend.lab.schedule import Schedule
from contend.lab.testbed import ServerTestbed
from contend.lab.walk import SingleRunner, walk
from contend.settings.workload import may_write, writing_share
from contend.spec import CellSpec, planned_runs, to_dict
from contend.store import RunFolder


class TestWay:
    def test_a_list_that_is_asked_so_often_is_compared_by_runs_and_says_why(
        self, tmp_path: Path
    ) -> None:
        design = choose_design(experiment(tmp_path, ENGINES), own=True, disk=tmp_path)
        assert design.by == "runs" and "workload.times" in design.why

    def test_who_insists_on_slices_is_told(self, tmp_path: Path) -> None:
        text = ENGINES.replace("[compare]\n", '[compare]\nby = "slices"\n')
        with pytest.raises(RequestError, match="cannot be cut into slices"):
            choose_design(experiment(tmp_path, text), own=True, disk=tmp_path)

    def test_a_list_for_a_time_can_be_in_slices(self, tmp_path: Path) -> None:
        text = ENGINES.replace("times = 1\n", "").replace('metric = "seconds"\n', "")
        assert choose_design(experiment(tmp_path, text), own=True, disk=tmp_path).in_slices


class TestTime:
    def test_the_limit_of_a_run_is_not_its_length(self, tmp_path: Path) -> None:
        text = SWEEP.replace("repeats = 5\n", 'repeats = 2\nat_most = "30s"\n')
        require_time(experiment(tmp_path, text), Design("runs"))
        with pytest.raises(RequestError, match="too short"):
            require_time(experiment(tmp_path, text.replace("times = 1\n", "")), Design("runs"))

    def test_repeats_are_made_until_the_next_would_not_fit(self, tmp_path: Path) -> None:
        text = SWEEP.replace("repeats = 5\n", 'repeats = 2\nat_most = "100s"\n')
        tiny, clock = experiment(tmp_path, text), [0.0]

        def answer(plan: dict[str, Any]) -> Any:
            clock[0] += 10.0
            return done_of(plan, ended="events", measured_s=10.0)

        planned = planned_runs(tiny)
        with RunFolder.create(tmp_path / "run", to_dict(tiny), planned, {}) as folder:
            schedule = Schedule(tiny, folder, Design("runs"), clock=lambda: clock[0])
            runner = SingleRunner(tiny, FakeTestbed(), FakeLoad(answer), lambda _: None)
            walk(tiny, folder, schedule, runner, lambda _: None)
            # A repeat of three cells takes half a minute.
            assert len(folder.records()) == 9
            assert folder.meta().finished == "time is up: 3 repeats"


class Stage:
    """A testbed over a fake server that says what it was told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        program = PrivateProgram(
            FakeServer(folder), {"kind": "mariadb"}, lambda d, _o, to: dataset(d, to)
        )
        place = PrivateUnderTest(lambda _cell: program, lambda _cell, _address: None, NoLoad())
        monkeypatch.setattr(place, "execute", self.execute)
        self.testbed = ServerTestbed(place, lambda _event: None)

    def execute(self, statement: str) -> float:
        if statement == "BAD":
            raise WorkError("the server refused 'BAD'")
        self.said.append(statement)
        return 0.0


class TestBeforeRun:
    def test_its_statements_are_sent_before_every_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench = Stage(tmp_path, monkeypatch)
        cell = CellSpec().having(server__before_run=["RESET QUERY CACHE"])
        for _ in range(3):
            bench.testbed.set(cell)
        bench.testbed.set(CellSpec())
        assert bench.said == ["RESET QUERY CACHE"] * 3

    def test_one_that_fails_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = Stage(tmp_path, monkeypatch)
        with pytest.raises(WorkError, match=r"server\.before_run, statement 2 of 2: .*'BAD'"):
            bench.testbed.set(CellSpec().having(server__before_run=["GOOD", "BAD"]))


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
