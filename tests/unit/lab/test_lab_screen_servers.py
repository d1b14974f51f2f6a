"""On which servers pairs of a screen are made, and which designs a screen can have."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_load import FakeLoad, done_of
from lab_fakes import FakeTestbed, SessionBench, experiment
from made_up_screen import (
    CACHE,
    FLUSH,
    POOL,
    ROWS,
    by_effects,
    new_lines,
    screen_experiment,
    screen_of_lines,
)

from contend import host
from contend.errors import RequestError, WorkError
from contend.experiment import (
    OF_LINES,
    Cell,
    Experiment,
    Planned,
    all_new,
    all_old,
    cell_spec,
    cells,
)
from contend.experiment.screen import mirror, rows_of
from contend.findings import screen_found
from contend.lab import design as of_design
from contend.lab.design import Design, choose_design
from contend.lab.events import Interrupted
from contend.lab.screen import (
    starting_lines,
)
from contend.servers.errors import ServerDied
from contend.store import RunFolder

LINES, OPTIONS = "screen.lines", "server.options"
Rate = Callable[[set[str]], float]
TWO = by_effects({FLUSH: 1.4, POOL: 0.7})


# --- servers of a pair ---


class Testbed(FakeTestbed):
    """Counts how often its server is started again, and notes the statements that it ran."""

    __test__ = False

    def __init__(self, *, own: bool = True) -> None:
        super().__init__()
        self.own = own  # type: ignore[misc]
        self.starts = 0
        self.kept = 0
        self.said: list[str] = []

    def start_anew(self, _shape: Callable[[Any], None]) -> None:
        self.starts += 1

    def keep_data(self) -> None:
        self.kept += 1

    def spoil_data(self) -> None:
        """Writes of made-up servers change no rows."""

    def execute(self, statement: str) -> float:
        self.said.append(statement)
        return 0.0


class Session(SessionBench):
    """The made-up screen on made-up testbeds: as many as the lab asks for."""

    def __init__(
        self, tmp_path: Path, text: str | None = None, *, own: bool = True, **more: Any
    ) -> None:
        super().__init__(tmp_path, own=own, **more)
        arguments = () if text is None else (text,)
        self.tiny = screen_experiment(tmp_path, *arguments, compare__repeats="2")
        self.measured = self.tiny
        self.testbeds: list[Testbed] = []
        self._own = own

    @contextlib.contextmanager
    def open_testbeds(self, logs: Path, count: int) -> Iterator[list[Any]]:
        self.testbeds = [Testbed(own=self._own) for _ in range(count)]
        yield self.testbeds

    def load(
        self, rate: Rate = TWO, before: Callable[[int, Mapping[str, Any]], None] | None = None
    ) -> FakeLoad:
        """`before` is called with the number of the plan, and may raise."""
        numbers = itertools.count(1)

        def answer(plan: dict[str, Any]) -> Any:
            if before is not None:
                before(next(numbers), plan)
            return done_of(plan, rates=self._rates(rate))

        return FakeLoad(answer, self._rates(rate))

    def _rates(self, rate: Rate) -> Callable[[str, int], float]:
        def of(arm: str, _round: int) -> float:
            digits = next(word for word in arm.replace(",", " ").split() if set(word) <= {*"01"})
            return rate(new_lines(self.measured, digits))

        return of

    def planned(self) -> list[Planned]:
        with RunFolder.open(self.path) as folder:
            return list(folder.meta().planned)


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with room for everything, whatever this one has."""
    monkeypatch.setattr(host, "memory_available_bytes", lambda: 64 << 30)
    monkeypatch.setattr(of_design, "free_bytes", lambda _path: 1 << 40)


def options_of(bench: Session, runs: Sequence[Planned]) -> list[object]:
    return [cell_spec(bench.tiny, run.cell)[OPTIONS] for run in runs]


def test_both_servers_of_a_pair_are_started_for_it(tmp_path: Path) -> None:
    bench = Session(tmp_path)
    bench.begin(bench.load())
    planned = bench.planned()
    first, second = bench.testbeds
    # The first run of each pair is at the first server.
    assert [cell[OPTIONS] for cell in first.cells] == options_of(bench, planned[::2])
    assert [cell[OPTIONS] for cell in second.cells] == options_of(bench, planned[1::2])
    assert first.starts == second.starts == len(planned) // 2
    assert bench.runs() == [run.run for run in planned]
    assert [record.probes["place"] for record in bench.records()][:4] == [0, 1, 0, 1]
    with RunFolder.open(bench.path) as folder:
        assert folder.meta().facts["way"]["servers"] == 2
        found = screen_found(bench.tiny, folder.records())
        assert "left_out" not in folder.meta().facts
    assert found is not None and found.matter == (0, 1)


SWITCHED = """
[screen.old]
thread_cache_size = 1
table_open_cache = 400
wait_timeout = 10

[screen.new]
thread_cache_size = 2
table_open_cache = 2000
wait_timeout = 20
"""


def test_a_running_server_is_switched_between_the_cells_of_a_pair(tmp_path: Path) -> None:
    asked: list[str] = []

    def agree(question: str) -> bool:
        asked.append(question)
        return True

    bench = Session(tmp_path, SWITCHED, own=False, confirm=agree)
    bench.begin(bench.load(by_effects({"thread_cache_size": 1.3})))
    (question,) = asked
    names = "thread_cache_size, table_open_cache, wait_timeout"
    assert question.startswith(f"Switch {names} on that server ")
    (server,) = bench.testbeds
    planned = bench.planned()
    assert [cell[OPTIONS] for cell in server.cells] == options_of(bench, planned)
    assert "SET GLOBAL thread_cache_size = 2" in server.said
    assert {record.probes["place"] for record in bench.records()} == {0}
    with RunFolder.open(bench.path) as folder:
        found = screen_found(bench.tiny, folder.records())
    assert found is not None and found.matter == (0,)


def test_a_running_server_is_not_switched_without_consent(tmp_path: Path) -> None:
    bench = Session(tmp_path, SWITCHED, own=False, confirm=lambda _question: False)
    with pytest.raises(RequestError) as refused:
        bench.begin(bench.load())
    assert refused.value.message.endswith(": that needs your consent")
    assert "--yes" in (refused.value.hint or "")
    assert not bench.path.exists() and bench.testbeds == []


def test_a_server_that_dies_in_one_cell_costs_its_pairs(tmp_path: Path) -> None:
    bench = Session(tmp_path)
    dies = rows_of(7)[2]

    def kill(_number: int, plan: Mapping[str, Any]) -> None:
        at = next((n for n, arm in enumerate(plan["arms"]) if dies in arm["name"]), None)
        if at is not None:
            bench.testbeds[at].died = ServerDied("the server ended by itself")

    bench.begin(bench.load(before=kill))
    records = bench.records()
    lost = [record for record in records if record.status != "ok"]
    blocks = {record.block for record in lost}
    assert len(lost) == 2 * len(blocks) == 2 * 2
    assert {record.cell[LINES] for record in lost} == {dies, mirror(dies)}
    found = screen_found(bench.tiny, records)
    assert found is not None and found.pairs[OF_LINES] == 2 * (ROWS - 1)
    assert found.matter == (0, 1)


def test_an_interrupted_screen_is_resumed(tmp_path: Path) -> None:
    def stop(number: int, _plan: Mapping[str, Any]) -> None:
        if number == 20:
            raise KeyboardInterrupt

    bench = Session(tmp_path)
    with pytest.raises(Interrupted):
        bench.begin(bench.load(before=stop))
    before = len(bench.records())
    assert 0 < before < 2 * 20
    bench.resume(load=bench.load())
    (tmp_path / "whole").mkdir()
    whole = Session(tmp_path / "whole")
    whole.begin(whole.load())
    assert [one.cell for one in bench.records()] == [one.cell for one in whole.records()]


LEFT_OUT: Any = {
    "line": CACHE,
    "value": "400",
    "together_with": [],
    "needs_others": False,
    "message": "the server ended while starting",
}


def test_a_screen_without_a_line_is_resumed_with_its_file(tmp_path: Path) -> None:
    """The file still has the line that was left out."""

    def without(experiment: Experiment) -> tuple[Experiment, list[Any]]:
        def start(one: Experiment, cell: Cell | None) -> None:
            for spec in [cell_spec(one, each) for each in ([cell] if cell else cells(one))]:
                if spec[OPTIONS][CACHE] == 400:
                    raise WorkError(LEFT_OUT["message"])

        return starting_lines(experiment, start, bench.heard.append)

    def stop(number: int, _plan: Mapping[str, Any]) -> None:
        if number == 5:
            raise KeyboardInterrupt

    bench = Session(tmp_path, starting_lines=without)
    given = bench.tiny
    bench.measured = without(given)[0]
    with pytest.raises(Interrupted):
        bench.begin(bench.load(before=stop))
    with RunFolder.open(bench.path) as folder:
        assert folder.meta().facts["left_out"] == [LEFT_OUT]
        assert len(str(folder.meta().planned[0].cell[LINES])) == 6
    others = [replace(given, name="another"), screen_experiment(tmp_path, SWITCHED)]
    for other in (*others, screen_of_lines(tmp_path, 2), experiment(tmp_path)):
        with pytest.raises(RequestError, match="different experiment"):
            bench.resume(given=other)
    bench.resume(given=given, load=bench.load())
    assert bench.runs() == [run.run for run in bench.planned()]


# --- the design ---


def test_a_screen_has_two_servers_side_by_side(tmp_path: Path) -> None:
    it = screen_experiment(tmp_path)
    assert choose_design(it, own=True, disk=tmp_path) == Design("slices", servers=2)
    many = screen_of_lines(tmp_path, 31)
    assert choose_design(many, own=True, disk=tmp_path) == Design("slices", servers=2)


def test_a_screen_needs_room_for_two_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = screen_experiment(tmp_path)
    monkeypatch.setattr(host, "memory_available_bytes", lambda: 300 << 20)
    with pytest.raises(RequestError) as refused:
        choose_design(it, own=True, disk=tmp_path)
    assert refused.value.message.startswith(
        "a screen needs 2 servers side by side: 2 servers with their data need about "
    )
    assert "300 MiB is available" in refused.value.message and refused.value.hint
    monkeypatch.setattr(host, "memory_available_bytes", lambda: 64 << 30)
    monkeypatch.setattr(of_design, "free_bytes", lambda _path: 1000)
    with pytest.raises(RequestError, match="2 copies of the data need about"):
        choose_design(it, own=True, disk=tmp_path)
    # A running server has its data.
    running = screen_experiment(tmp_path, SWITCHED)
    assert choose_design(running, own=False, disk=tmp_path) == Design("slices", own=False)


def test_a_screen_is_only_made_in_slices(tmp_path: Path) -> None:
    it = screen_experiment(tmp_path)
    with pytest.raises(RequestError) as refused:
        choose_design(it, own=True, disk=tmp_path, blocking="mine.lua")
    assert refused.value.message.startswith("a screen compares in slices")
    assert "the script mine.lua needs" in refused.value.message
    cold = screen_experiment(tmp_path, server__warm="cold", load__warmup="0s")
    with pytest.raises(RequestError, match=r"that is not possible: server\.warm"):
        choose_design(cold, own=True, disk=tmp_path)


def test_a_running_server_is_switched_between_two_values(tmp_path: Path) -> None:
    one_sided = screen_experiment(tmp_path, f"{SWITCHED}flush_time = 5\n")
    with pytest.raises(RequestError) as refused:
        choose_design(one_sided, own=False, disk=tmp_path)
    assert "only one set has a value of flush_time" in refused.value.message
    assert refused.value.hint == "Give it both values: flush_time=OLD,NEW."
    assert choose_design(one_sided, own=True, disk=tmp_path).servers == 2


def test_a_running_server_is_not_switched_by_what_empties_a_cache(tmp_path: Path) -> None:
    pool = SWITCHED.replace("wait_timeout = 10", 'innodb_buffer_pool_size = "64M"').replace(
        "wait_timeout = 20", 'innodb_buffer_pool_size = "128M"'
    )
    with pytest.raises(RequestError) as refused:
        choose_design(screen_experiment(tmp_path, pool), own=False, disk=tmp_path)
    assert "switched by innodb_buffer_pool_size" in refused.value.message
    assert "private servers" in (refused.value.hint or "")
    assert choose_design(screen_experiment(tmp_path, SWITCHED), own=False, disk=tmp_path)


def test_sets_of_a_screen_are_its_first_cells(tmp_path: Path) -> None:
    digits = screen_experiment(tmp_path).factors[0].levels[:2]
    assert digits == (all_new(7), all_old(7))
