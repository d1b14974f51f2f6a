"""Shapes, rounds and what is kept, against a program that plays contend-load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from calibration_fakes import ceiling, disturbed_by, shape

from contend import host
from contend.experiment import CellSpec
from contend.experiment.settings.plan_keys import WORKLOAD
from contend.load import Address, LoadFailed, plan_of
from contend.load.calibration import (
    Extent,
    calibrate,
    ensure,
    path_of,
    stored,
    this_host,
    this_program,
    watched,
    write,
)
from contend.load.ceilings import Calibration, RunShape, has_ceiling, shape_of

SHORT = Extent(rounds=3, warmup_s=0.0, measure_s=0.01)


class Heard:
    def __init__(self) -> None:
        self.notices: list[str] = []
        self.steps: list[tuple[int, int]] = []

    def tell(self, done: int, total: int) -> None:
        self.steps.append((done, total))


def ensured(shapes: list[RunShape], program: Path, cache: Path) -> tuple[Calibration, Heard]:
    heard = Heard()
    return ensure(shapes, program, cache, SHORT, heard.tell, heard.notices.append), heard


@pytest.mark.parametrize(
    ("workload", "has"),
    [
        ({"kind": "point_select"}, True),
        ({"kind": "read_only", "range_size": 100}, True),
        ({"kind": "read_write", "range_size": 10}, False),
        ({"kind": "bulk_insert", "batch": 9, "bulk_execute": True}, False),
        ({"kind": "sql", "text": "SELECT 1"}, False),
        ({"kind": "lua", "script": "oltp_read_only", "options": {}}, True),
        ({"kind": "lua", "script": "oltp_read_only", "options": {"range_size": 9}}, False),
        ({"kind": "lua", "script": "./mine.lua", "options": {}}, False),
    ],
)
def test_only_what_the_null_server_answers_like_a_server_has_a_ceiling(
    workload: dict[str, Any], has: bool
) -> None:
    assert has_ceiling(workload) == has


class TestShape:
    def cell(self, **load: Any) -> CellSpec:
        workload = {"kind": "random_points", "points": 10, "distribution": {"kind": "pareto"}}
        given = {f"load.{name}": value for name, value in load.items()}
        return CellSpec({"data.rows": 77, "workload": workload, **given})

    def of(self, address: Address | None = None, **load: Any) -> RunShape:
        where = address or Address(socket="/s")
        return shape_of(plan_of(self.cell(**load), where, seed=4, watch_pid=1))

    def test_data_time_and_seed_are_no_part_of_it(self) -> None:
        one = self.of(connections=8, measure_s=1.0)
        assert one == self.of(connections=8, measure_s=60.0)
        assert hash(one) == hash(self.of(connections=8))
        assert "rows" not in one.workload

    def test_what_costs_the_client_is(self) -> None:
        different = {
            self.of(connections=8),
            self.of(connections=9),
            self.of(connections=8, threads=2),
            self.of(connections=8, protocol="text"),
            self.of(connections=8, engine="epoll"),
            self.of(Address(host="h"), connections=8),
        }
        assert len(different) == 6

    def test_its_plan_has_its_shape(self) -> None:
        for address in (Address(socket="/other"), Address(host="::1", port=5)):
            one = self.of(address, connections=64, threads=3, protocol="text", engine="epoll")
            assert shape_of(one.plan(address, warmup_s=0.1, measure_s=0.2)) == one

    def test_it_is_told_in_words(self) -> None:
        title = "random_points (points 10, distribution pareto), prepared, Unix socket, epoll"
        assert self.of(engine="epoll").title == title
        transaction = {"kind": "read_only", **WORKLOAD.complete("read_only", {"sum_ranges": 0})}
        assert shape(workload=transaction).title.startswith("read_only (sum_ranges 0), prepared")
        title = "point_select, prepared, TCP, io_uring, threads 2"
        assert shape(transport="tcp", threads=2).title == title
        special = {"kind": "special", "iter": 12, "pct": 5, "res": 75}
        hot = shape(workload={"kind": "point_select", "distribution": special}, protocol="text")
        assert "(distribution special pct 5), text, " in hot.title


def test_each_round_goes_through_all_shapes(program: Path) -> None:
    heard = Heard()
    shapes = [shape(4), shape(1), shape(4), shape(1, transport="tcp")]
    found = calibrate(shapes, program, SHORT, heard.tell)
    assert [one.shape for one in found] == [shape(4), shape(1), shape(1, transport="tcp")]
    assert heard.steps == [(number, 9) for number in range(1, 10)]
    first = found[0]
    assert (len(first.rounds), first.workers, first.seconds) == (3, 2, 0.01)
    qps = first.figure("qps")
    assert (qps.mean, qps.low, qps.high, qps.n) == (40_000.0, 40_000.0, 40_000.0, 3)
    assert first.figure("cpu_us_per_query").mean == 4.0
    assert first.figure("p99_us").mean == 120.0


def test_only_what_is_missing_is_measured_and_then_kept(program: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first, heard = ensured([shape(1), shape(8)], program, cache)
    assert len(heard.steps) == 6
    (notice,) = heard.notices
    assert " 2 kinds of load" in notice and "about 360 ms" in notice
    second, heard = ensured([shape(8), shape(64)], program, cache)
    assert len(heard.steps) == 3
    third, heard = ensured([shape(1), shape(8), shape(64)], program, cache)
    assert (heard.steps, heard.notices) == ([], [])
    assert third == stored(program, cache) == second
    assert third.of(shape(1)) == first.of(shape(1))


def test_what_was_starved_is_told_and_tried_again(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARVED", "8")
    found, heard = ensured([shape(1), shape(8)], program, tmp_path)
    assert found.of(shape(8)) is None
    assert "1 of 2 kinds of load had no answers" in heard.notices[-1]
    monkeypatch.delenv("STARVED")
    found, heard = ensured([shape(1), shape(8)], program, tmp_path)
    assert found.of(shape(8)) is not None
    assert len(heard.steps) == 3


def test_what_a_disturbed_host_gave_is_used_and_not_kept(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contend.load.calibration.watched", lambda: disturbed_by("a neighbour"))
    found, heard = ensured([shape(1)], program, tmp_path)
    assert found.of(shape(1)) is not None
    assert heard.notices[-1].startswith("a neighbour: ")
    assert stored(program, tmp_path).ceilings == {}


def test_watching_sees_no_disturbance_in_our_own_work(monkeypatch: pytest.MonkeyPatch) -> None:
    at = iter([0.0, 10.0])
    cpu = iter([{"user": 0.0, "idle": 0.0}, {"user": 18.0, "idle": 2.0}])
    own = iter([0.0, 17.9])

    def pressure() -> host.Pressure:
        return host.Pressure(next(at), 2, next(cpu), {}, None, {}, None, None)

    monkeypatch.setattr("contend.load.calibration.host.pressure", pressure)
    monkeypatch.setattr("contend.load.calibration.host.own_cpu_s", lambda: next(own))
    with watched() as found:
        pass
    assert found == []


def test_another_program_has_ceilings_of_its_own(program: Path, tmp_path: Path) -> None:
    ensured([shape(1)], program, tmp_path)
    program.write_text(program.read_text() + "\n# changed\n")
    assert stored(program, tmp_path).ceilings == {}


def test_a_damaged_file_is_told_of_and_replaced(program: Path, tmp_path: Path) -> None:
    path = path_of(tmp_path, this_host(), this_program(program))
    path.parent.mkdir(parents=True)
    path.write_text("{")
    found, heard = ensured([shape(1)], program, tmp_path)
    assert "is damaged" in heard.notices[0]
    assert heard.notices[0].endswith("measures it again")
    assert stored(program, tmp_path) == found


def test_a_cache_that_cannot_be_written_costs_no_calibration(program: Path, tmp_path: Path) -> None:
    (tmp_path / "calibrations").write_text("a file where a folder should be")
    with pytest.raises(NotADirectoryError):
        stored(program, tmp_path)
    cache = tmp_path / "other"
    cache.mkdir()
    heard = Heard()
    (cache / "calibrations").symlink_to(tmp_path / "nowhere" / "at" / "all")
    found = ensure([shape(1)], program, cache, SHORT, heard.tell, heard.notices.append)
    assert found.of(shape(1)) is not None
    assert "could not be stored" in heard.notices[-1]


def test_others_ceilings_are_kept_beside_ours(program: Path, tmp_path: Path) -> None:
    """Two labs at once: the second to write adds to what the first has written."""
    host, program_is = this_host(), this_program(program)
    path = path_of(tmp_path, host, program_is)
    heard = Heard()

    def meanwhile(done: int, total: int) -> None:
        heard.tell(done, total)
        write(path, Calibration(host, program_is).with_more([ceiling(512)]))

    ensure([shape(1)], program, tmp_path, SHORT, meanwhile, heard.notices.append)
    kept = stored(program, tmp_path)
    assert {one.connections for one in kept.ceilings} == {1, 512}


def test_a_null_server_that_does_not_start_says_why(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NULL_SERVER_REFUSES", "1")
    with pytest.raises(LoadFailed, match="did not start") as caught:
        calibrate([shape(1)], program, SHORT, lambda _done, _total: None)
    assert "no room for a socket" in (caught.value.detail or "")


def test_a_workload_without_answers_has_no_ceiling(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSED", "1")
    with pytest.raises(LoadFailed, match="this workload: no such table"):
        calibrate([shape(1)], program, SHORT, lambda _done, _total: None)


def test_a_starved_shape_has_no_ceiling_and_the_others_have(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARVED", "8")
    found = calibrate([shape(1), shape(8), shape(64)], program, SHORT, lambda _done, _total: None)
    assert [one.shape.connections for one in found] == [1, 64]
    with pytest.raises(LoadFailed, match="no CPU time for contend-load"):
        calibrate([shape(8)], program, SHORT, lambda _done, _total: None)


class TestHost:
    FACTS: dict[str, Any] = {  # noqa: RUF012
        "machine": {"id": "m", "cpu_quota": None},
        "cpu": {"model": "Example CPU", "count": 2, "allowed": "0-1", "mhz_now": 2000.0},
        "kernel": {"release": "6.1.0", "mitigations": {"meltdown": "Not affected"}},
    }

    def test_what_wavers_is_no_part_of_it(self) -> None:
        cpu = {**self.FACTS["cpu"], "mhz_now": 3000.0}
        assert this_host(self.FACTS) == this_host({**self.FACTS, "cpu": cpu})

    def test_what_changes_the_cost_of_a_call_is(self) -> None:
        hosts = {this_host(self.FACTS).id}
        for group, change in (
            ("machine", {"cpu_quota": 1.5}),
            ("cpu", {"allowed": "0"}),
            ("kernel", {"release": "6.1.1"}),
            ("kernel", {"mitigations": {"meltdown": "Mitigation: PTI"}}),
        ):
            hosts.add(this_host({**self.FACTS, group: {**self.FACTS[group], **change}}).id)
        assert len(hosts) == 5

    def test_a_host_without_facts_is_a_host(self) -> None:
        assert this_host({}).cpu == "unknown CPU"
