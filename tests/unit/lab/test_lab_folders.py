"""Which copy of the data a level is asked on: none stays a level's own for a whole run."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from fake_connection import FakeConnection
from fake_load import FakeLoad
from lab_fakes import ANSWERS, experiment
from lab_in_slices import IN_SLICES, Bench, made_up

from contend.experiment import CellSpec, planned_runs
from contend.lab.design import Design
from contend.lab.effort import Effort
from contend.lab.probes import Expected, Observed
from contend.lab.runner import Runner
from contend.lab.testbed import Ready
from contend.load import Address

ENGINES = {
    '"server.options.key_cache_segments" = [0, 32]': '"data.engine" = ["MyISAM", "Aria", "InnoDB"]',
    '{ "server.options.key_cache_segments" = 0 }': '{ "data.engine" = "MyISAM" }',
    "repeats = 2": "repeats = 6",
}
BY_ENGINE = "data.engine"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return made_up(monkeypatch, Bench(tmp_path, IN_SLICES, **ENGINES))


def places(bench: Bench, plan: dict[str, Any]) -> dict[str, int]:
    """The folder in which each level of a block is asked."""
    return {arm["name"].partition(" = ")[2]: bench.place_of(arm) for arm in plan["arms"]}


def test_levels_with_data_of_their_own_take_each_folder(bench: Bench) -> None:
    """A folder or a copy that is slower would be taken for the level otherwise."""
    asked: list[dict[str, int]] = []
    bench.each_plan = lambda plan: asked.append(places(bench, plan))
    bench.play()
    folders = defaultdict(list)
    for of_block in asked:
        assert sorted(of_block.values()) == [0, 1, 2]
        for engine, place in of_block.items():
            folders[engine].append(place)
    # Six repeats of two contexts, over three folders.
    assert {engine: Counter(places) for engine, places in folders.items()} == {
        engine: {0: 4, 1: 4, 2: 4} for engine in ("MyISAM", "Aria", "InnoDB")
    }


def test_the_copy_is_made_anew_each_repeat_and_not_within_one(bench: Bench) -> None:
    seen: list[list[int]] = []
    bench.each_plan = lambda _plan: seen.append([*bench.copies])
    bench.play()
    assert seen == [[repeat] * 3 for repeat in range(1, 7) for _context in range(2)]


def test_the_record_says_which(bench: Bench) -> None:
    asked: list[dict[str, int]] = []
    bench.each_plan = lambda plan: asked.append(places(bench, plan))
    bench.play()
    for records, of_block in zip(bench.blocks().values(), asked, strict=True):
        assert {str(one.cell[BY_ENGINE]): one.probes["place"] for one in records} == of_block


class _OfSomebodyElse:
    """A server that is a level by itself."""

    own = False

    def __init__(self) -> None:
        self.cells: list[CellSpec] = []

    def start_anew(self, _shape: object) -> None:
        pass

    def set(self, cell: CellSpec, _seed: int = 0) -> Ready:
        self.cells.append(cell)
        observed = Observed(FakeConnection(ANSWERS), "mariadb", None)  # type: ignore[arg-type]
        return Ready(Address(socket="s", user="root", database="x"), observed, Expected())


def test_servers_that_are_levels_themselves_change_nothing(tmp_path: Path) -> None:
    use = {
        '"server.options.key_cache_segments" = [0, 32]': '"server.use" = ["h1", "h2"]',
        '{ "server.options.key_cache_segments" = 0 }': '{ "server.use" = "h1" }',
    }
    tiny = experiment(tmp_path, IN_SLICES, **use)
    design = Design("slices", servers=2, own=False)
    testbeds = [_OfSomebodyElse(), _OfSomebodyElse()]
    effort = Effort(tiny, design, lambda: 0.0)
    runner = Runner(tiny, testbeds, FakeLoad(), effort, lambda _event: None)  # type: ignore[arg-type]
    planned = planned_runs(tiny, in_slices=True)
    for block in {one.block: one.repeat for one in planned}:
        runner.set([one for one in planned if one.block == block])
    asked = [{str(cell["server.use"]) for cell in testbed.cells} for testbed in testbeds]
    assert asked == [{"h1"}, {"h2"}]
