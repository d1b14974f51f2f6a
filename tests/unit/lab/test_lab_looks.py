"""Looks at causes: which cells, how their blocks are cut, what is kept, what is told if one
fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_connection import Rows
from fake_load import FakeLoad
from lab_in_slices import IN_SLICES, Bench, level_of, made_up

from contend.errors import WorkError
from contend.experiment import Planned
from contend.lab.design import Design
from contend.lab.looks import LookAtCause
from contend.lab.runner import Runner, blocks_to_look_at, take_looks
from contend.lab.walk import Schedule
from contend.sections import budget, plans
from contend.sections.budget import READS_PER_S, ROUNDS, SLICE_MOST_S, SLICE_S
from contend.servers.errors import ConnectionLost
from contend.servers.plans import PERIOD_S
from contend.store import LookRecord

assert budget.SECTION.look and plans.SECTION.look
BUDGET, PLANS = budget.SECTION.look, plans.SECTION.look


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return made_up(monkeypatch, Bench(tmp_path))


def looks(
    bench: Bench, load: FakeLoad | None = None, *, by: str = "slices", look: LookAtCause = BUDGET
) -> tuple[FakeLoad, list[LookRecord]]:
    """Those of a session that measured nothing."""
    load = load or FakeLoad()
    compared = bench.tiny.compared
    assert compared is not None
    testbeds = [bench.testbed(place) for place in range(len(bench.servers))]
    design = Design("slices" if by == "slices" else "runs")
    with bench.folder(in_slices=design.in_slices) as folder:
        effort = Schedule(bench.tiny, folder, design, bench.clock).effort
        runner = Runner(bench.tiny, testbeds, load, effort, bench.heard.append)
        any_found = take_looks([look], folder, runner, compared.path, bench.heard.append)
        found = folder.looks()
        assert any_found is any(record.error is None for record in found)
        return load, found


def test_all_levels_of_a_cell_are_looked_at_side_by_side(bench: Bench) -> None:
    load, found = looks(bench)
    contexts = len({record.block for record in found})
    assert len(load.plans) == contexts == 2
    for plan in load.plans:
        assert sorted(level_of(arm["name"]) for arm in plan["arms"]) == [0, 32]
        slices = plan["load"]["slices"]
        assert (slices["rounds"], slices["look_reads_per_s"]) == (ROUNDS, READS_PER_S)
    assert {record.error for record in found} == {None}
    assert {tuple(one["round"] for one in record.figures["rounds"]) for record in found} == {
        tuple(range(1, ROUNDS))
    }
    assert all(record.figures["is_here"] for record in found)


@pytest.mark.parametrize(
    ("connections", "slice_s", "reads_per_s"),
    [(8, SLICE_S, READS_PER_S), (128, 128 * 0.0078, 100), (10_000, SLICE_MOST_S, 50)],
)
def test_slices_are_longer_with_many_threads(
    tmp_path: Path, connections: int, slice_s: float, reads_per_s: int
) -> None:
    """Each thread's time is read at both ends of a slice, of both levels."""
    text = IN_SLICES.replace("[1, 8]", f"[{connections}]")
    load, _ = looks(Bench(tmp_path, text))
    (plan,) = load.plans
    slices = plan["load"]["slices"]
    assert slices["slice_s"] == pytest.approx(slice_s)
    assert slices["look_reads_per_s"] == reads_per_s


def test_by_runs_each_cell_is_looked_at_by_itself(bench: Bench) -> None:
    load, found = looks(bench, by="runs")
    assert [len(plan["arms"]) for plan in load.plans] == [1] * len(found)
    assert len(found) == 4


def test_no_measured_run_is_looked_at(bench: Bench) -> None:
    load = bench.play()
    assert all("look_reads_per_s" not in plan["load"]["slices"] for plan in load.plans)
    before = bench.records()
    looks(bench)
    assert bench.records() == before


class Fails(FakeLoad):
    """Its first run does this before it answers."""

    def __init__(self, first: Callable[[], object]) -> None:
        super().__init__()
        self._first = first

    def run(self, plan: dict[str, Any], **more: Any) -> Any:
        if not self.plans:
            self.plans.append(plan)
            self._first()
        return super().run(plan, **more)


def raising(error: Exception) -> Callable[[], object]:
    def do() -> object:
        raise error

    return do


BROKEN = ConnectionLost("Lost connection to server during query", "SELECT 1")


def told(bench: Bench) -> list[str]:
    """Notices about failed diagnostic passes."""
    texts = [getattr(event, "text", "") for event in bench.heard]
    return [text for text in texts if "pass failed" in text]


def test_a_look_that_fails_is_stored_with_its_reason_and_the_others_go_on(bench: Bench) -> None:
    _, found = looks(bench, Fails(raising(WorkError("no figures"))))
    assert [record.error for record in found] == ["no figures"] * 2 + [None] * 2
    (notice,) = told(bench)
    assert notice.startswith("budget: ") and "failed: no figures." in notice


def test_of_runs_one_by_one_the_one_that_failed_is_lost_alone(bench: Bench) -> None:
    _, found = looks(bench, Fails(raising(WorkError("no figures"))), by="runs")
    assert [record.error for record in found] == ["no figures"] + [None] * 3


@pytest.mark.parametrize("told_by", ["nobody", "contend-load", "control connection"])
def test_a_server_that_dies_in_a_look_loses_that_look_and_the_next_has_a_new_one(
    bench: Bench, told_by: str
) -> None:
    """Even if contend-load ends in order, with what it has of the other server."""

    def dies() -> None:
        error = bench.kills(1)
        if told_by != "nobody":
            raise error if told_by == "contend-load" else BROKEN

    _, found = looks(bench, Fails(dies))
    died = "the server ended by itself"
    assert [record.error for record in found] == [died] * 2 + [None] * 2
    assert [bool(record.figures) for record in found] == [False] * 2 + [True] * 2
    assert f"failed: {died}." in "".join(told(bench))
    assert bench.starts() == [1, 2]


def test_a_control_connection_that_breaks_is_told_in_words(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contend.lab.measure.EXIT_S", 0.05)
    looks(bench, Fails(raising(BROKEN)))
    (said,) = told(bench)
    assert "Lost connection to server during query." in said


def test_if_each_look_is_lost_none_found_something(bench: Bench) -> None:
    def refuses(_plan: dict[str, Any]) -> Any:
        raise WorkError("no figures")

    _, found = looks(bench, FakeLoad(refuses))
    assert {record.error for record in found} == {"no figures"}


def test_later_looks_are_numbered_on(bench: Bench) -> None:
    looks(bench)
    _, found = looks(bench)
    assert [record.block for record in found] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_one_block_of_each_context_is_looked_at() -> None:
    cell: Callable[[int, int], dict[str, Any]] = lambda a, load: {"a": a, "load": load}  # noqa: E731
    planned = [
        Planned(number, block, repeat, cell(a, load))
        for number, (repeat, block, a, load) in enumerate(
            (repeat, block, a, load)
            for repeat in (1, 2)
            for block, load in ((1, 8), (2, 64), (3, 8))
            for a in (0, 1)
        )
    ]
    blocks = blocks_to_look_at(planned, "a")
    assert [[run.cell for run in block] for block in blocks] == [
        [cell(0, 8), cell(1, 8)],
        [cell(0, 64), cell(1, 64)],
    ]
    assert {run.repeat for block in blocks for run in block} == {2}
    assert len(blocks_to_look_at(planned, None)) == 4


_INDEXES: Rows = [("sbtest", "k", "k", None)]


class Sees(FakeLoad):
    """While it asks, these statements are met in the process list of each server; those `before`
    are met until all are connected."""

    def __init__(self, bench: Bench, statements: list[str], before: str = "COMMIT") -> None:
        super().__init__()
        self._statements, self._before = statements, before
        self._servers = bench.servers

    def run(self, plan: dict[str, Any], *, on_event: Callable[[Any], None], **more: Any) -> Any:
        for server in self._servers:
            server.connection.statements.clear()
        self._are_asked([self._before])
        time.sleep(5 * PERIOD_S)

        def heard(event: Any) -> None:
            on_event(event)
            if event["type"] == "hello":
                self._are_asked(self._statements)
                asked = [server.connection.statements for server in self._servers]
                wait_until(lambda: all(any("PROCESSLIST" in one for one in each) for each in asked))

        return super().run(plan, on_event=heard, **more)

    def _are_asked(self, statements: list[str]) -> None:
        rows: Rows = [(one,) for one in statements]
        for server in self._servers:
            # The first words that a statement holds decide.
            now: dict[str, Rows] = {"PROCESSLIST": rows, "SUB_PART FROM": _INDEXES}
            server.connection.answers = {**now, **server.connection.answers, **now}


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to be")


def test_what_is_asked_is_explained_on_the_server_of_each_level(bench: Bench) -> None:
    asked = ["SELECT c FROM sbtest WHERE id = 5", "SELECT c FROM sbtest WHERE id = 6"]
    load = Sees(bench, asked, before="SELECT @@max_connections")
    _, found = looks(bench, load, look=PLANS)
    assert [record.error for record in found] == [None] * 4
    # A prepared statement is listed without its values.
    assert {plan["load"]["protocol"] for plan in load.plans} == {"text"}
    for record in found:
        (one,) = record.figures["statements"]
        assert one["shape"] == "SELECT c FROM sbtest WHERE id = ?"
        assert record.figures["indexes"] == {"sbtest": {"k": ["`k`"]}}
    for server in bench.servers:
        # Of the last look.
        explained = [one for one in server.connection.statements if "EXPLAIN" in one]
        assert explained == [f"EXPLAIN FORMAT=TRADITIONAL {asked[0]}"]


def test_a_look_at_plans_that_meets_no_statement_is_lost_with_that_reason(bench: Bench) -> None:
    _, found = looks(bench, Sees(bench, ["COMMIT"]), look=PLANS)
    (error,) = {one.error for one in found}
    assert "no statement with a plan was seen" in (error or "")
