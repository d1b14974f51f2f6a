"""The walk: every run once, stored at once, failures recorded and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_load import FakeLoad, done_of
from lab_fakes import (
    IDENTITY,
    FakeServer,
    FakeTestbed,
    NoLoad,
    dataset,
    experiment,
    numbers,
    play_alone,
)

from contend.data import Dataset, NoRoomForDataset
from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import CellSpec, DataSpec, Experiment, planned_runs, to_dict
from contend.lab.events import Event, Pace, RunBegan, RunEnded
from contend.lab.private import PrivateProgram, PrivateTestbed
from contend.lab.walk import FAILURES_MAX
from contend.load import LoadFailed
from contend.servers.deployment import alone
from contend.servers.errors import ConnectionLost, ServerDied, ServerFailed
from contend.store import RunFolder


@pytest.fixture
def tiny(tmp_path: Path) -> Experiment:
    return experiment(tmp_path)


@pytest.fixture
def folder(tmp_path: Path, tiny: Experiment) -> Iterator[RunFolder]:
    with RunFolder.create(tmp_path / "run", to_dict(tiny), planned_runs(tiny), {}) as made:
        yield made


class Nth:
    """Answers each plan; the runs named in `errors` raise instead."""

    def __init__(self, errors: dict[int, BaseException]) -> None:
        self.errors = errors
        self.count = 0

    def __call__(self, plan: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        if self.count in self.errors:
            raise self.errors[self.count]
        return done_of(plan)


def go(
    tiny: Experiment,
    folder: RunFolder,
    *,
    testbed: FakeTestbed | None = None,
    load: FakeLoad | None = None,
) -> list[Event]:
    heard: list[Event] = []
    play_alone(tiny, folder, testbed or FakeTestbed(), load or FakeLoad(), heard.append)
    return heard


def test_every_planned_run_is_made_once_in_order(tiny: Experiment, folder: RunFolder) -> None:
    load, testbed = FakeLoad(), FakeTestbed()
    heard = go(tiny, folder, load=load, testbed=testbed)
    records = folder.records()
    assert [r.run for r in records] == [p.run for p in planned_runs(tiny)]
    assert [dict(r.cell) for r in records] == [dict(p.cell) for p in planned_runs(tiny)]
    assert {r.status for r in records} == {"ok"}
    assert [c["load.connections"] for c in testbed.cells] == [
        plan["load"]["connections"] for plan in load.plans
    ]
    assert sum(isinstance(e, RunBegan) for e in heard) == 8
    assert sum(isinstance(e, RunEnded) for e in heard) == 8
    assert any(isinstance(e, Pace) and e.qps == 8000.0 for e in heard)


def test_a_record_holds_all_that_made_its_figures(tiny: Experiment, folder: RunFolder) -> None:
    go(tiny, folder)
    record = folder.records()[0]
    assert record.plan["server"] == {"socket": "/s", "user": "root", "database": "sbtest"}
    assert record.plan["watch"] == {"pid": 1}
    assert record.done == done_of(record.plan)
    assert record.intervals and record.probes["dataset"] == {"rows": 1000}
    assert record.probes["key_caches"][0]["read_requests"] == 0
    # The host that the tests run on may add a mark of its own.
    assert {"code": "from-stage", "message": "a mark"} in record.warnings


def test_runs_that_ended_are_not_repeated(tiny: Experiment, folder: RunFolder) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(tiny, folder, load=FakeLoad(Nth({4: KeyboardInterrupt()})))
    assert [r.run for r in folder.records()] == [1, 2, 3]
    load = FakeLoad()
    go(tiny, folder, load=load)
    assert [r.run for r in folder.records()] == list(range(1, 9))
    assert len(load.plans) == 5


@pytest.mark.parametrize(
    ("metric", "runs", "hint"),
    [
        ("statement.read.qps", 1, "This run has qps, "),
        ("status.Key_read_per_query", 2, 'Did you mean "status.Key_reads_per_query"'),
    ],
)
def test_a_metric_that_no_run_has_ends_it_at_once(
    tmp_path: Path, metric: str, runs: int, hint: str
) -> None:
    tiny = experiment(tmp_path, **{"repeats = 2": f'repeats = 2\nmetric = ["qps", "{metric}"]'})
    with RunFolder.create(tmp_path / "run", to_dict(tiny), planned_runs(tiny), {}) as folder:
        with pytest.raises(RequestError, match=f"no {metric} was recorded") as caught:
            go(tiny, folder)
        assert hint in str(caught.value.hint)
        assert len(folder.records()) == runs, "what was measured is kept"


def test_a_counter_may_rest_at_some_levels(tmp_path: Path) -> None:
    tiny = experiment(
        tmp_path, **{"repeats = 2": 'repeats = 2\nmetric = "status.Key_reads_per_query"'}
    )
    with RunFolder.create(tmp_path / "run", to_dict(tiny), planned_runs(tiny), {}) as folder:
        go(tiny, folder)
        assert len(folder.records()) == 8


def test_a_failed_run_is_recorded_and_the_walk_goes_on(tiny: Experiment, folder: RunFolder) -> None:
    error = LoadFailed("no", code=1146, sqlstate="42S02", statement="SELECT 1", hint="load it")
    go(tiny, folder, load=FakeLoad(Nth({3: error})))
    records = folder.records()
    assert [r.status for r in records] == ["ok"] * 2 + ["failed"] + ["ok"] * 5
    assert records[2].done is None
    assert records[2].error is not None
    assert records[2].error["code"] == 1146
    assert records[2].error["statement"] == "SELECT 1"


def test_a_run_whose_server_died_is_lost_with_the_end_of_the_log(
    tiny: Experiment, folder: RunFolder
) -> None:
    testbed = FakeTestbed()

    def die(plan: dict[str, Any]) -> dict[str, Any]:
        if len(testbed.cells) == 2:
            testbed.died = ServerDied("the server was killed", detail="got signal 11")
            raise LoadFailed("connection lost")
        return done_of(plan)

    go(tiny, folder, testbed=testbed, load=FakeLoad(die))
    records = folder.records()
    assert [r.status for r in records].count("lost") == 1
    assert records[1].error is not None
    assert records[1].error["message"] == "the server was killed"
    assert records[1].error["detail"] == "got signal 11"


def test_a_server_whose_connections_break_before_it_ends_is_waited_for(
    tiny: Experiment, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel closes its sockets first, and takes its memory apart after that."""
    testbed = FakeTestbed()
    times = numbers()

    def later() -> ServerDied | None:
        return ServerDied("the server was killed") if next(times) == 3 else None

    monkeypatch.setattr(testbed, "exit_error", later)
    go(tiny, folder, testbed=testbed, load=FakeLoad(Nth({2: LoadFailed("lost", code=2013)})))
    assert [r.status for r in folder.records()] == ["ok", "lost", *["ok"] * 6]


def test_one_that_stays_is_not_waited_for_long(
    tiny: Experiment, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contend.lab.measure.EXIT_S", 0.05)
    errors: dict[int, BaseException] = {
        2: LoadFailed("lost", code=2013),
        4: LoadFailed("refused", code=1146),
    }
    go(tiny, folder, load=FakeLoad(Nth(errors)))
    statuses = [r.status for r in folder.records()]
    assert statuses == ["ok", "failed", "ok", "failed", *["ok"] * 4]


def test_data_that_cannot_be_made_anew_are_told_as_such(
    tiny: Experiment, folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server that loads failed, and the one under test was ended before: it is not an exit."""
    server = FakeServer(tmp_path)
    times = numbers()

    def provide(data: DataSpec, _options: object, into: Path) -> Dataset:
        if next(times) == 2:
            raise ServerFailed("no data folder", detail="[ERROR] …")
        return dataset(data, into)

    def die_once(plan: dict[str, Any]) -> dict[str, Any]:
        if len(load.plans) == 2:
            server.dead = True
            raise LoadFailed("connection lost")
        return done_of(plan)

    load = FakeLoad(die_once)
    program = PrivateProgram(alone(server), IDENTITY, provide)
    testbed = PrivateTestbed(lambda _cell: program, NoLoad(), lambda _event: None)
    play_alone(tiny, folder, testbed, load, lambda _event: None)
    records = folder.records()
    assert [r.status for r in records] == ["ok", "lost", "failed", *["ok"] * 5]
    lost, failed = records[1].error or {}, records[2].error or {}
    assert lost["message"] == "the server ended by itself"
    assert failed["message"] == "no data folder"
    assert failed["detail"] == "[ERROR] …"


def test_a_death_that_the_stage_meets_is_told_in_its_own_words(
    tiny: Experiment, folder: RunFolder
) -> None:
    testbed = FakeTestbed()

    def meet(_cell: CellSpec) -> None:
        if len(testbed.cells) == 3:
            raise ServerDied("the server was killed", detail="got signal 11")

    testbed._on_set = meet
    go(tiny, folder, testbed=testbed)
    record = folder.records()[2]
    assert record.status == "lost"
    assert (record.error or {})["message"] == "the server was killed"


def test_a_control_connection_that_breaks_fails_the_run(
    tiny: Experiment, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contend.lab.measure.EXIT_S", 0.05)
    calls: list[CellSpec] = []

    def breaks(cell: CellSpec) -> None:
        calls.append(cell)
        if len(calls) == 2:
            raise ConnectionLost("Lost connection", "SELECT 1")

    go(tiny, folder, testbed=FakeTestbed(breaks))
    error = folder.records()[1].error
    assert error is not None and "Lost connection" in error["message"]


def test_failures_in_a_row_end_the_walk_with_the_reason(
    tiny: Experiment, folder: RunFolder
) -> None:
    def refuse(_plan: dict[str, Any]) -> dict[str, Any]:
        raise LoadFailed("Table 'sbtest.sbtest' doesn't exist", hint="Load it.")

    with pytest.raises(WorkError, match="doesn't exist") as caught:
        go(tiny, folder, load=FakeLoad(refuse))
    assert caught.value.exit_code == 1
    assert caught.value.hint == "Load it."
    assert len(folder.records()) == FAILURES_MAX


def test_a_statement_with_a_slip_ends_it_after_the_first_block(tmp_path: Path) -> None:
    written = 'kind = "sql"\ntext = "SELECT 1 FROM sbtst"'
    asked = experiment(tmp_path, **{'kind = "point_select"': written})

    def refuse(_plan: dict[str, Any]) -> dict[str, Any]:
        raise LoadFailed(
            "Table 'sbtest.sbtst' doesn't exist",
            hint="Name the right one.",
            code=1146,
            statement="SELECT 1 FROM sbtst",
        )

    with RunFolder.create(tmp_path / "slip", to_dict(asked), planned_runs(asked), {}) as folder:
        with pytest.raises(RequestError, match="doesn't exist") as caught:
            go(asked, folder, load=FakeLoad(refuse))
        assert len(folder.records()) == 1
    assert (caught.value.hint, caught.value.detail) == (
        "Name the right one.",
        "SELECT 1 FROM sbtst",
    )


def test_failures_apart_do_not(tiny: Experiment, folder: RunFolder) -> None:
    errors: dict[int, BaseException] = {n: LoadFailed("no") for n in (1, 2, 3, 4, 6, 7, 8)}
    go(tiny, folder, load=FakeLoad(Nth(errors)))
    assert len(folder.records()) == 8


REFUSED = "the server refused SET GLOBAL"


@pytest.mark.parametrize("kind", [RequestError, WorkError])
def test_treatments_that_are_refused_cost_no_other_one(
    tmp_path: Path, kind: type[ContendError]
) -> None:
    """As of a login that may set no variable: six of seven treatments, before and after what is
    untreated. In the second repeat six in a row are as many as anywhere."""
    tables = "".join(f'"a.{n}" = {{ "load.connections" = {n} }}\n' for n in range(2, 9))
    names = ", ".join(f'"a.{n}"' for n in range(2, 9))
    asked = experiment(
        tmp_path,
        **{
            "[compare]": f"[treatments]\n{tables}\n[compare]",
            '"load.connections" = [1, 8]': f'"treatment" = ["none", {names}]',
            'by = "runs"': 'at_most = "20m"',
        },
    )

    def refuse(cell: CellSpec) -> None:
        if cell["load.connections"] > 2:
            raise kind(REFUSED)

    testbed = FakeTestbed(refuse)
    with RunFolder.create(tmp_path / "treated", to_dict(asked), planned_runs(asked), {}) as folder:
        with pytest.raises(WorkError, match=REFUSED):
            go(asked, folder, testbed=testbed)
        first = [one for one in folder.records() if one.repeat == 1]
    made = {one.cell["treatment"] for one in first}
    ok = {one.cell["treatment"] for one in first if one.status == "ok"}
    assert (len(made), ok) == (8, {"none", "a.2"})


def test_nothing_but_errors_is_a_failed_run(tiny: Experiment, folder: RunFolder) -> None:
    def all_refused(plan: dict[str, Any]) -> dict[str, Any]:
        error = {
            "code": 1205,
            "sqlstate": "HY000",
            "count": 9,
            "message": "Lock wait timeout exceeded",
            "statement": "SELECT x",
        }
        if plan["load"]["connections"] == 8:
            return done_of(plan, queries=0, errors=[error])
        return done_of(plan)

    go(tiny, folder, load=FakeLoad(all_refused))
    by_status = {r.status for r in folder.records() if r.cell["load.connections"] == 8}
    assert by_status == {"failed"}


def test_what_can_never_be_met_ends_it_before_anything_is_measured(
    tiny: Experiment, folder: RunFolder
) -> None:
    def refuse(_cell: CellSpec) -> None:
        raise RequestError("unknown variable 'key_cache_segmnts'")

    with pytest.raises(RequestError, match="key_cache_segmnts"):
        go(tiny, folder, testbed=FakeTestbed(refuse))
    assert folder.records() == []


def test_a_level_that_is_refused_in_the_first_block_ends_it(
    tiny: Experiment, folder: RunFolder
) -> None:
    testbed = FakeTestbed()

    def refuse(_cell: CellSpec) -> None:
        if len(testbed.cells) == 2:
            raise RequestError("the server refuses the value 'lots'")

    testbed._on_set = refuse
    with pytest.raises(RequestError, match="lots"):
        go(tiny, folder, testbed=testbed)


@pytest.mark.parametrize("at", [1, 4])
def test_data_that_cannot_be_had_end_it_and_leave_the_run_to_be_made(
    tiny: Experiment, folder: RunFolder, at: int
) -> None:
    testbed = FakeTestbed()

    def fail(_cell: CellSpec) -> None:
        if len(testbed.cells) == at:
            raise NoRoomForDataset("the disk ran full while 1k rows were loaded")

    testbed._on_set = fail
    with pytest.raises(NoRoomForDataset):
        go(tiny, folder, testbed=testbed)
    assert [r.run for r in folder.records()] == list(range(1, at))
    go(tiny, folder)
    assert len(folder.records()) == 8


def test_a_server_that_does_not_start_ends_it_at_first_and_costs_a_run_later(
    tiny: Experiment, folder: RunFolder
) -> None:
    testbed = FakeTestbed()

    def fail(_cell: CellSpec) -> None:
        if len(testbed.cells) in (1, 4):
            raise WorkError("the server did not start")

    testbed._on_set = fail
    with pytest.raises(WorkError, match="did not start"):
        go(tiny, folder, testbed=testbed)
    assert folder.records() == []
    go(tiny, folder, testbed=testbed)
    assert [r.status for r in folder.records()].count("failed") == 1
    assert len(folder.records()) == 8


def test_a_level_that_is_refused_later_costs_only_its_runs(
    tiny: Experiment, folder: RunFolder
) -> None:
    testbed = FakeTestbed()

    def refuse(cell: CellSpec) -> None:
        if len(testbed.cells) > 2 and cell["load.connections"] == 8:
            raise RequestError("too many connections")

    testbed._on_set = refuse
    go(tiny, folder, testbed=testbed)
    assert {r.status for r in folder.records()} == {"ok", "failed"}


def test_a_full_disk_under_the_results_stops_the_walk(
    tiny: Experiment, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_records: object) -> None:
        raise WorkError("cannot store run 1: database or disk is full")

    monkeypatch.setattr(folder, "append", full)
    with pytest.raises(WorkError, match="disk is full"):
        go(tiny, folder)
