"""The lab searches for the rate of a goal: run by run, in blocks, resumable, to an honest end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab_fakes import FakeTestbed, SessionBench
from made_up_goal import (
    CAPACITIES,
    SETTING,
    by_level,
    exact,
    goal_experiment,
    served,
    write_goal,
)

from contend.experiment import RATE, from_dict
from contend.findings import GoalFound, goal_found
from contend.lab.design import choose_design
from contend.lab.events import Interrupted
from contend.servers.errors import ServerDied
from contend.store import RunFolder, RunRecord


class Testbed(FakeTestbed):
    """Counts how often its server is started again."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__()
        self.starts = 0

    def start_anew(self, _shape: Callable[[Any], None]) -> None:
        self.starts += 1


class Load:
    """contend-load against the servers of `CAPACITIES`; `before` may raise."""

    def __init__(self, testbed: Testbed, before: Callable[[int], None] = lambda _n: None) -> None:
        self._testbed, self._before, self.runs = testbed, before, 0

    def run(self, plan: Any, *, env: Any, on_event: Any, placed: Any = None) -> Any:
        self.runs += 1
        self._before(self.runs)
        level = self._testbed.cells[-1]["server.options"]["sort_buffer_size"]
        return served(plan, CAPACITIES[level])


class Bench(SessionBench):
    def __init__(self, tmp_path: Path, **sets: str) -> None:
        super().__init__(tmp_path)
        self.tiny = goal_experiment(tmp_path, **sets)
        self.testbed: Testbed = Testbed()  # type: ignore[assignment]

    def found(self) -> GoalFound:
        return found_in(self.path)


def found_in(path: Path) -> GoalFound:
    with RunFolder.open(path) as folder:
        found = goal_found(from_dict(folder.meta().experiment), folder.records())
    assert found is not None
    return found


def test_each_level_gets_its_rate_and_the_ratio(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.begin(Load(bench.testbed))  # type: ignore[arg-type]
    first, other = bench.found().levels
    for one in (first, other):
        assert one.answer.kind == "found"
        wanted = exact(CAPACITIES[str(one.level)])
        assert one.answer.rate.mean == pytest.approx(wanted, rel=0.03)
        assert one.answer.rate.n == 4
    assert other.over is not None and first.over is None
    assert other.over.mean == pytest.approx(exact(2500) / exact(1000), rel=0.04)
    records = bench.records()
    with RunFolder.open(bench.path) as folder:
        assert folder.meta().finished == "4 repeats after the search"
        assert [one.run for one in folder.meta().planned] == bench.runs()
    # Blocks of the later repeats have both levels; each repeat has new servers.
    for _, block in itertools.groupby(records, key=lambda record: record.block):
        levels = [record.cell[SETTING] for record in block]
        assert len(set(levels)) == len(levels)
    later = [record for record in records if record.repeat > 1]
    assert len(later) == 4 * 2 * 2
    assert bench.testbed.starts == 5
    assert all(record.plan["load"].get("slices") is None for record in records)


def test_a_search_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def stop(run: int) -> None:
        if run == 13:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="12 of"):
        bench.begin(Load(bench.testbed, stop))  # type: ignore[arg-type]
    assert len(bench.records()) == 12
    bench.resume(load=Load(bench.testbed))  # type: ignore[arg-type]
    (tmp_path / "whole").mkdir()
    whole = Bench(tmp_path / "whole")
    whole.begin(Load(whole.testbed))  # type: ignore[arg-type]
    assert [one.cell for one in bench.records()] == [one.cell for one in whole.records()]
    assert any("is complete" in text for text in _resumed_again(bench))


def _resumed_again(bench: Bench) -> list[str]:
    bench.heard.clear()
    bench.resume()
    return bench.notices()


def test_a_server_that_dies_at_a_rate_holds_less(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    class Dies(Load):
        def run(self, plan: Any, **more: Any) -> Any:
            if plan["load"]["arrival"]["stages"][0]["rate"] > 500:
                bench.testbed.died = ServerDied("the server ended by itself")
            return super().run(plan, **more)

    bench.begin(Dies(bench.testbed))  # type: ignore[arg-type]
    for one in bench.found().levels:
        assert one.answer.rate.mean == pytest.approx(500, rel=0.15)
    lost = [record for record in bench.records() if record.status == "lost"]
    assert lost and all(float(record.cell[RATE]) > 500 for record in lost)


def test_the_ends_of_a_search(tmp_path: Path) -> None:
    high = write_goal(tmp_path / "a", goal_experiment(tmp_path, goal__highest="300"))
    assert [(one.answer.kind, one.answer.rate.mean) for one in found_in(high).levels] == [
        ("all", 300),
        ("all", 300),
    ]
    low = write_goal(tmp_path / "b", goal_experiment(tmp_path, goal__hold="p99<1ms"))
    lowest = found_in(low).levels[0].answer
    assert (lowest.kind, lowest.is_certain) == ("none", True)

    def limited(record: RunRecord) -> RunRecord:
        if float(record.cell[RATE]) < 600:
            return record
        mark: Any = {"code": "client-limited", "message": "a thread was busy"}
        return replace(record, warnings=[mark])

    slow = write_goal(
        tmp_path / "c", goal_experiment(tmp_path), capacity=lambda _: 700.0, change=limited
    )
    for one in found_in(slow).levels:
        assert one.answer.kind in ("client", "found")
        assert one.answer.rate.mean < 700


@pytest.mark.parametrize("baseline", ["", "one"])
def test_without_a_comparison_there_is_one_answer(tmp_path: Path, baseline: str) -> None:
    """A single cell; or two levels of a factor that is not compared."""
    sets = {"compare__baseline": "{}"}
    if not baseline:
        sets[SETTING.replace(".", "__")] = '"4M"'
    path = write_goal(tmp_path / "run", goal_experiment(tmp_path, **sets), capacity=_either)
    levels = found_in(path).levels
    assert len(levels) == (1 if not baseline else 2)
    assert all(one.over is None and one.level is None for one in levels)
    assert levels[-1].answer.rate.mean == pytest.approx(exact(2500), rel=0.04)


def _either(cell: Any) -> float:
    return by_level(cell) if SETTING in cell else CAPACITIES["4M"]


def test_the_answer_by_a_mean_needs_no_histogram(tmp_path: Path) -> None:
    path = write_goal(tmp_path / "run", goal_experiment(tmp_path, goal__hold="mean<4ms"))
    first, other = found_in(path).levels
    assert first.answer.rate.mean == pytest.approx(1000 - 250, rel=0.05)
    assert other.answer.rate.mean == pytest.approx(2500 - 250, rel=0.05)


def test_private_servers_of_a_search_stand_side_by_side(tmp_path: Path) -> None:
    experiment = goal_experiment(tmp_path)
    design = choose_design(experiment, own=True, disk=tmp_path)
    assert (design.by, design.servers, design.why) == ("runs", 2, "")
    assert choose_design(experiment, own=False, disk=tmp_path).servers == 1


def test_until_and_at_most_end_a_search(tmp_path: Path) -> None:
    experiment = goal_experiment(tmp_path, compare__until="50%", compare__repeats="2")
    path = write_goal(tmp_path / "run", experiment)
    with RunFolder.open(path) as folder:
        why = folder.meta().finished
    assert why is not None and why.startswith("the intervals are narrow enough: ")
    assert all(math.isfinite(one.answer.rate.high) for one in found_in(path).levels)


def test_a_knee_has_a_limit_for_each_level(tmp_path: Path) -> None:
    """The response time of one exponential server is three times as long at two thirds of its
    rate."""
    bench = Bench(tmp_path, goal__hold="knee")

    def stop(run: int) -> None:
        if run == 9:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        bench.begin(Load(bench.testbed, stop))  # type: ignore[arg-type]
    bench.resume(load=Load(bench.testbed))  # type: ignore[arg-type]
    for one in bench.found().levels:
        capacity = CAPACITIES[str(one.level)]
        assert one.limit == pytest.approx(3e6 * math.log(20) / capacity, rel=0.12)
        assert one.answer.rate.mean == pytest.approx(2 / 3 * capacity, rel=0.06)
