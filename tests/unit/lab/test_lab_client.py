"""One engine in all cells: chosen once, kept, the same after a resume; or a factor."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from calibration_fakes import scripted_program
from fake_load import FakeLoad, done_of
from lab_fakes import EXPERIMENT, FakeTestbed, experiment
from rich.console import Console

from contend import report
from contend.errors import RequestError
from contend.lab.client import choose_engine
from contend.lab.events import Event, Interrupted, Notice, OtherEngine
from contend.lab.session import Equipment, begin, resume
from contend.report import terminal
from contend.spec import Experiment
from contend.store import RunFolder, RunRecord

FACTOR = '"load.engine" = ["epoll", "io_uring"]\n"load.connections" = [1, 8]'
CONNECTIONS = '"load.connections" = [1, 8]'


class Bench:
    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.path = tmp_path / "run"
        self.program = scripted_program(tmp_path)
        self.heard: list[Event] = []
        self.load = FakeLoad()

    def tiny(self, **changes: str) -> Experiment:
        return experiment(self.folder, EXPERIMENT, **changes)

    def equipment(self) -> Equipment:
        @contextlib.contextmanager
        def open_testbeds(_logs: Path, _count: int) -> Iterator[list[FakeTestbed]]:
            yield [FakeTestbed()]

        choose = partial(choose_engine, self.program)
        return Equipment({}, open_testbeds, self.load, self.folder, choose_engine=choose)

    def begin(self, tiny: Experiment) -> None:
        begin(tiny, self.path, self.equipment(), self.heard.append)

    def resume(self) -> None:
        resume(self.path, self.equipment(), self.heard.append)

    def records(self) -> list[RunRecord]:
        with RunFolder.open(self.path) as folder:
            return folder.records()

    def kept(self) -> list[Any]:
        with RunFolder.open(self.path) as folder:
            return [session.facts["load_generator"] for session in folder.meta().sessions]

    def planned(self) -> set[str]:
        return {plan["load"]["engine"] for plan in self.load.plans}

    def now(self, choice: str) -> None:
        """From here on contend-load answers otherwise."""
        words = f"print('{choice}')" if choice.startswith("{") else choice
        self.program.write_text("#!/usr/bin/env python3\nimport sys\n" + words + "\n")

    def interrupted(self, tiny: Experiment) -> None:
        made: list[object] = []

        def answer(plan: dict[str, Any]) -> dict[str, Any]:
            made.append(plan)
            if len(made) == 4:
                raise KeyboardInterrupt
            return done_of(plan)

        self.load = FakeLoad(answer)
        with pytest.raises(Interrupted):
            self.begin(tiny)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_sweep_over_connections_has_one_engine(bench: Bench) -> None:
    bench.begin(bench.tiny())
    assert {plan["load"]["connections"] for plan in bench.load.plans} == {1, 8}
    assert bench.planned() == {"io_uring"}
    assert bench.kept() == [{"engine": "io_uring"}]
    assert {record.probes["load_generator"]["engine"] for record in bench.records()} == {"io_uring"}


def test_it_is_in_the_report(bench: Bench) -> None:
    bench.begin(bench.tiny())
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
    assert ("Load", "driven over io_uring") in built.summary
    (group,) = (one for one in built.facts if one.title == "Load generator")
    assert group.facts == (("version", "fake"), ("engine", "io_uring"))
    assert not any("load generator" in one.title for one in built.facts if one is not group)
    shown = io.StringIO()
    terminal.render(built, Console(file=shown, width=200))
    assert "driven over io_uring" in " ".join(shown.getvalue().split())


def test_the_file_may_name_it(bench: Bench) -> None:
    bench.begin(bench.tiny(**{'warmup = "100ms"': 'warmup = "100ms"\nengine = "epoll"'}))
    assert bench.planned() == {"epoll"}
    assert bench.kept() == [{"engine": "epoll"}]


def test_a_factor_gives_each_cell_its_own(bench: Bench) -> None:
    bench.begin(bench.tiny(**{CONNECTIONS: FACTOR}))
    for record in bench.records():
        wanted = record.cell["load.engine"]
        assert record.plan["load"]["engine"] == wanted
        assert record.probes["load_generator"]["engine"] == wanted
    assert bench.kept() == [{}]
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
    assert ("Load", "driven over epoll and io_uring") in built.summary


def test_resuming_keeps_it_whatever_would_be_chosen_now(bench: Bench) -> None:
    bench.interrupted(bench.tiny())
    bench.now(
        "import json; wanted = json.load(sys.stdin)['load']['engine']\n"
        "chosen = 'epoll' if wanted == 'auto' else wanted\n"
        "print(json.dumps({'type': 'engine', 'engine': chosen}))"
    )
    bench.load = FakeLoad()
    bench.resume()
    assert bench.planned() == {"io_uring"}
    assert {record.probes["load_generator"]["engine"] for record in bench.records()} == {"io_uring"}
    assert len(bench.records()) == 8
    assert bench.kept() == [{"engine": "io_uring"}] * 2


def test_resuming_where_it_is_refused_runs_nothing(bench: Bench) -> None:
    bench.interrupted(bench.tiny())
    why = {"type": "error", "message": "the kernel refuses io_uring: Operation not permitted"}
    bench.now(f"print({json.dumps(why)!r}); sys.exit(1)")
    bench.load = FakeLoad()
    with pytest.raises(OtherEngine, match=r"begun with the engine io_uring .* refuses io_uring"):
        bench.resume()
    assert bench.load.plans == []
    assert len(bench.kept()) == 1


def test_a_folder_of_before_is_gone_on_with_and_told_of(bench: Bench) -> None:
    bench.interrupted(bench.tiny())
    with contextlib.closing(sqlite3.connect(bench.path / "results.sqlite")) as database:
        database.execute("UPDATE sessions SET facts = json_remove(facts, ?)", ("$.load_generator",))
        database.commit()
    bench.heard.clear()
    bench.resume()
    told = [event.text for event in bench.heard if isinstance(event, Notice)]
    assert any("the runs to come use io_uring" in text for text in told), told


def test_an_engine_that_the_kernel_refuses_is_refused_before_anything_is_made(
    bench: Bench,
) -> None:
    hint = 'let the engine be chosen: engine = "auto"'
    why = {"type": "error", "message": "the kernel refuses io_uring: no", "hint": hint}
    bench.now(f"print({json.dumps(why)!r}); sys.exit(1)")
    with pytest.raises(RequestError, match=r"^load\.engine: the kernel refuses io_uring") as caught:
        bench.begin(bench.tiny(**{CONNECTIONS: FACTOR}))
    assert caught.value.hint == hint
    assert not bench.path.exists()


def test_why_it_is_not_io_uring_is_kept_and_shown(bench: Bench) -> None:
    bench.now('{"type": "engine", "engine": "epoll", "refused": "Operation not permitted"}')
    bench.begin(bench.tiny())
    assert bench.kept() == [{"engine": "epoll", "io_uring_refused": "Operation not permitted"}]
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
    (group,) = (one for one in built.facts if one.title == "Load generator")
    assert ("io_uring is refused", "Operation not permitted") in group.facts
