"""A run folder from its first session to its last: begun, interrupted, resumed, refused."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_load import FakeLoad
from lab_fakes import EXPERIMENT, SERVERS, FakeTestbed, SessionBench, experiment, stop_at
from lab_in_slices import IN_SLICES, made_up
from lab_in_slices import Bench as SlicesBench

from contend import host
from contend.data import CONTENT_VERSION, LoadingDeclined, NoRoomForDataset
from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import CellSpec, DataSpec, Experiment
from contend.lab.events import (
    Began,
    Event,
    Interrupted,
    Notice,
    RunBegan,
)
from contend.lab.session import (
    Equipment,
    begin,
    doctor_summary,
    require_same_tables,
    resume,
    stored_experiment,
    stored_servers,
)
from contend.load import LoadFailed
from contend.metrics.probed import NodeMatrix
from contend.sections.registry import LOOKS
from contend.servers.dsn import Password
from contend.store import FolderLocked, RunFolder


@pytest.fixture
def bench(tmp_path: Path) -> SessionBench:
    return SessionBench(tmp_path)


def test_a_whole_run_is_stored_and_its_stage_closed(bench: SessionBench) -> None:
    bench.begin()
    assert bench.runs() == list(range(1, 9))
    assert bench.testbed.closed
    assert stored_experiment(bench.path) == bench.tiny
    assert stored_servers(bench.path) == SERVERS
    assert bench.heard[0] == Began(bench.path, 8, 0, pytest.approx(2.4))


def test_runs_of_a_cell_share_one_spec(bench: SessionBench) -> None:
    bench.begin()
    assert len(bench.testbed.cells) == 8
    assert len(set(map(id, bench.testbed.cells))) == 4


def test_ctrl_c_keeps_what_ended_and_says_how_to_resume(bench: SessionBench) -> None:
    with pytest.raises(Interrupted, match="3 of 8 runs are stored") as caught:
        bench.begin(stop_at(4, KeyboardInterrupt()))
    assert caught.value.exit_code == 1
    assert f"contend run --resume {bench.path}" in (caught.value.hint or "")
    assert bench.testbed.closed
    load = bench.resume()
    assert len(load.plans) == 5
    assert bench.runs() == list(range(1, 9))


def test_resuming_a_complete_run_does_nothing(bench: SessionBench) -> None:
    bench.begin()
    assert bench.resume().plans == []
    assert isinstance(bench.heard[-1], Notice)


def test_looks_alone_fail_if_all_of_them_are_lost(bench: SessionBench) -> None:
    def refuses(_plan: dict[str, Any]) -> Any:
        raise WorkError("no figures")

    bench.begin()
    before = bench.runs()
    with pytest.raises(WorkError, match="every diagnostic pass failed") as caught:
        bench.resume(load=FakeLoad(refuses), looks=LOOKS[:1])
    assert caught.value.exit_code == 1
    # One that found something is enough.
    load = bench.resume(looks=LOOKS[:1])
    assert load.plans and bench.runs() == before


def test_what_is_resumed_is_counted_without_parsing_a_histogram(
    bench: SessionBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted):
        bench.begin(stop_at(5, KeyboardInterrupt()))
    parsed: list[str] = []
    loads = json.loads

    def noted(text: str) -> object:
        parsed.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", noted)
    bench.resume()
    bench.resume()  # nothing is left to run
    assert not [text for text in parsed if "latency_hdr_ns" in text]


def test_hosts_that_are_not_there_cost_no_run_of_a_resume(bench: SessionBench) -> None:
    def refuse(_experiment: Experiment) -> None:
        raise RequestError("no Dask scheduler answers at tcp://10.0.0.1:8786")

    with pytest.raises(Interrupted):
        bench.begin(stop_at(3, KeyboardInterrupt()))
    equipment = replace(bench.equipment(), check_hosts=refuse)
    before = bench.runs()
    with pytest.raises(RequestError, match="no Dask scheduler"):
        resume(bench.path, equipment, bench.heard.append)
    assert bench.runs() == before
    bench.path = bench.path.with_name("another")
    with pytest.raises(RequestError, match="no Dask scheduler"):
        bench.begin_with(equipment)
    assert not bench.path.exists()


def test_a_password_in_a_comment_is_not_kept_and_does_not_hinder_a_resume(tmp_path: Path) -> None:
    bench = SessionBench(tmp_path, passwords=frozenset({Password("s3cret")}))
    bench.tiny = experiment(tmp_path, "# The server wants s3cret.\n" + EXPERIMENT)
    with pytest.raises(Interrupted):
        bench.begin(stop_at(4, KeyboardInterrupt()))
    kept = (bench.path / "experiment.toml").read_text()
    assert kept.startswith("# The server wants ***.\n")
    bench.resume(given=bench.tiny)
    assert bench.runs() == list(range(1, 9))
    for file in bench.path.rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes()


def test_each_session_leaves_its_facts(bench: SessionBench) -> None:
    with pytest.raises(Interrupted):
        bench.begin(stop_at(2, KeyboardInterrupt()))
    bench.resume()
    with RunFolder.open(bench.path) as folder:
        assert len(folder.meta().sessions) == 2


def test_the_memory_nodes_are_kept_with_the_facts(bench: SessionBench) -> None:
    nodes: NodeMatrix = {"bytes": 1, "caches_bytes": 0, "nodes": [], "pairs": []}
    bench.begin_with(replace(bench.equipment(), memory_nodes=lambda: nodes))
    with RunFolder.open(bench.path) as folder:
        assert folder.meta().facts["memory_nodes"] == nodes


def test_memory_nodes_that_cannot_be_measured_stop_no_run(bench: SessionBench) -> None:
    def fail() -> NodeMatrix:
        raise LoadFailed("contend-load was ended by signal 9")

    bench.begin_with(replace(bench.equipment(), memory_nodes=fail))
    with RunFolder.open(bench.path) as folder:
        assert folder.meta().finished and "memory_nodes" not in folder.meta().facts


class TestRefused:
    @pytest.fixture(autouse=True)
    def begun(self, bench: SessionBench) -> None:
        with pytest.raises(Interrupted):
            bench.begin(stop_at(2, KeyboardInterrupt()))

    def test_an_edited_experiment_file(self, bench: SessionBench) -> None:
        file = bench.path / "experiment.toml"
        file.write_text(file.read_text().replace("[0, 32]", "[0, 64]"))
        with pytest.raises(RequestError, match="was edited"):
            bench.resume()
        assert bench.runs() == [1]

    def test_another_experiment(self, bench: SessionBench, tmp_path: Path) -> None:
        other = experiment(tmp_path, EXPERIMENT.replace("[0, 32]", "[0, 64]"))
        with pytest.raises(RequestError, match="different experiment"):
            bench.resume(given=other)
        assert bench.resume(given=bench.tiny).plans

    def test_another_version_of_the_server(self, bench: SessionBench) -> None:
        with pytest.raises(RequestError, match=r"began with mariadb 10\.11\.19.* 11\.8\.1"):
            bench.resume(version="11.8.1")

    def test_tables_that_this_contend_makes_otherwise(
        self, bench: SessionBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("contend.lab.session.CONTENT_VERSION", 10_000)
        with pytest.raises(RequestError, match="began with different tables"):
            bench.resume()
        assert bench.runs() == [1]

    def test_a_folder_another_lab_works_in(self, bench: SessionBench) -> None:
        with RunFolder.open(bench.path, write=True), pytest.raises(FolderLocked):
            bench.resume()


def test_tables_that_a_folder_does_not_say_are_different_ones() -> None:
    begun = {"servers": SERVERS}
    with pytest.raises(RequestError):
        require_same_tables(Path("run"), begun, DataSpec())
    require_same_tables(Path("run"), begun, DataSpec(schema="script"))
    require_same_tables(Path("run"), {"content_version": CONTENT_VERSION}, DataSpec())


def test_a_request_that_cannot_be_met_leaves_no_folder(bench: SessionBench) -> None:
    def refuse(_cell: CellSpec) -> None:
        raise RequestError("mariadb rejects the option key_cache_segmnts")

    bench.testbed = FakeTestbed(refuse)
    with pytest.raises(RequestError):
        bench.begin()
    assert not bench.path.exists()
    assert [type(event) for event in bench.heard] == [Began, RunBegan]


@pytest.mark.parametrize("error", [LoadingDeclined("left as it is"), NoRoomForDataset("no room")])
def test_what_was_measured_is_kept_whatever_ends_it(
    bench: SessionBench, error: ContendError
) -> None:
    """Later data that nobody wants loaded, or that do not fit, take nothing with them."""

    def fail(_cell: CellSpec) -> None:
        if len(bench.testbed.cells) == 6:
            raise error

    bench.testbed = FakeTestbed(fail)
    with pytest.raises(type(error)):
        bench.begin()
    assert bench.runs() == [1, 2, 3, 4, 5]
    last = bench.heard[-1]
    assert isinstance(last, Notice)
    assert last.text == (
        f"5 of 8 runs are stored in {bench.path}; resume with `contend run --resume {bench.path}`"
    )
    bench.resume()
    assert bench.runs() == list(range(1, 9))


# --- in slices ---


@pytest.fixture
def in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlicesBench:
    monkeypatch.setattr(host, "memory_available_bytes", lambda: 64 << 30)
    return made_up(monkeypatch, SlicesBench(tmp_path))


def begin_in_slices(bench: SlicesBench, *, count: int = 99) -> FakeLoad:
    """Begin its experiment and stop at the block of that number."""
    load = stop_at(count, KeyboardInterrupt())
    with pytest.raises(Interrupted) if count < 99 else contextlib.nullcontext():
        begin(bench.tiny, bench.path, equipment_of(bench, load), bench.heard.append)
    return load


def equipment_of(bench: SlicesBench, load: FakeLoad) -> Equipment:
    @contextlib.contextmanager
    def open_testbeds(_logs: Path, count: int) -> Iterator[list[Any]]:
        assert count == len(bench.servers), "a server for each level"
        yield [bench.testbed(place) for place in range(count)]

    return Equipment(SERVERS, open_testbeds, load, bench.path.parent)


def notices(heard: list[Event]) -> list[str]:
    return [event.text for event in heard if isinstance(event, Notice)]


def test_an_experiment_in_slices_is_stored_as_one(in_slices: SlicesBench) -> None:
    load = begin_in_slices(in_slices)
    assert len(load.plans) == 4 and all("arms" in plan for plan in load.plans)
    with RunFolder.open(in_slices.path) as folder:
        assert folder.meta().facts["way"]["by"] == "slices"
        assert folder.meta().finished == "all planned runs are done"
    assert notices(in_slices.heard) == []


def test_it_goes_on_as_it_began_whatever_there_is_room_for_now(
    in_slices: SlicesBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs would be other figures than slices."""
    begin_in_slices(in_slices, count=3)
    monkeypatch.setattr(host, "memory_available_bytes", lambda: 0)
    load = FakeLoad()
    resume(in_slices.path, equipment_of(in_slices, load), in_slices.heard.append)
    assert len(load.plans) == 2 and all("arms" in plan for plan in load.plans)
    assert [record.run for record in in_slices.records()] == list(range(1, 9))


def test_what_goes_on_by_runs_went_by_runs(bench: SessionBench) -> None:
    """Folders of a time before there were slices say nothing of it."""
    with pytest.raises(Interrupted):
        bench.begin(stop_at(4, KeyboardInterrupt()))
    with sqlite3.connect(bench.path / "results.sqlite") as results:
        results.execute("UPDATE sessions SET facts = json_remove(facts, '$.way')")
    results.close()
    assert all("arms" not in plan for plan in bench.resume().plans)
    assert bench.runs() == list(range(1, 9))


def test_why_levels_are_not_in_slices_is_said(
    bench: SessionBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrap = EXPERIMENT.replace('by = "runs"\n', "").replace(
        '"server.options.key_cache_segments" = [0, 32]', '"server.wrap" = ["", "env"]'
    )
    text = wrap.replace(
        'baseline = { "server.options.key_cache_segments" = 0 }',
        'baseline = { "server.wrap" = "" }',
    )
    bench.tiny = experiment(tmp_path, text)
    monkeypatch.setattr(host, "memory_available_bytes", lambda: 1 << 20)
    bench.begin()
    (said,) = notices(bench.heard)
    assert "by runs, not in slices: 2 servers" in said
    with RunFolder.open(bench.path) as folder:
        design = folder.meta().facts["way"]
    assert design["by"] == "runs" and design["why"] in said


def test_a_time_too_short_for_one_look_makes_nothing(
    in_slices: SlicesBench, tmp_path: Path
) -> None:
    text = IN_SLICES.replace("repeats = 2", 'repeats = 2\nat_most = "300ms"')
    in_slices.tiny = experiment(tmp_path, text)
    with pytest.raises(RequestError, match="is too short: one repeat"):
        begin(in_slices.tiny, in_slices.path, equipment_of(in_slices, FakeLoad()), lambda _: None)
    assert not in_slices.path.exists()


def test_what_is_finished_is_not_gone_on_with(bench: SessionBench, tmp_path: Path) -> None:
    """Its time was up; that runs are planned which were not made is no reason to make them."""
    text = EXPERIMENT.replace("repeats = 2", 'repeats = 2\nat_most = "10s"')
    bench.tiny = experiment(tmp_path, text)
    with pytest.raises(Interrupted):
        bench.begin(stop_at(3, KeyboardInterrupt()))
    with RunFolder.open(bench.path, write=True) as folder:
        folder.finish("time is up: no interval after 0 repeats")
    assert bench.resume().plans == []
    assert notices(bench.heard)[-1].startswith(f"{bench.path} is complete")
    assert bench.runs() == [1, 2]


def finding(name: str, severity: str, ignored: str | None = None) -> Any:
    return {"id": name, "severity": severity, "ignored": ignored}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], None),
        ([finding("smt", "note")], None),
        ([finding("governor", "warning", "it stays")], None),
        (
            [
                finding("barriers", "severe"),
                finding("governor", "warning"),
                finding("thp", "warning"),
            ],
            "severe: barriers; warning: governor, thp",
        ),
    ],
)
def test_a_line_if_there_is_something_to_say(found: list[Any], words: str | None) -> None:
    line = doctor_summary(found)
    assert line is None if words is None else words in (line or "")
