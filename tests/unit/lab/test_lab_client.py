"""One engine in all cells: chosen once, kept, the same after a resume; or a factor."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from calibration_fakes import scripted_program
from fake_load import FakeLoad
from lab_fakes import EXPERIMENT, SessionBench, experiment, stop_at
from rich.console import Console

from contend import report
from contend.errors import RequestError
from contend.lab.client import choose_engine
from contend.lab.events import Interrupted
from contend.report import terminal
from contend.store import RunFolder

FACTOR = '"load.engine" = ["epoll", "io_uring"]\n"load.connections" = [1, 8]'
CONNECTIONS = '"load.connections" = [1, 8]'


class Bench(SessionBench):
    def __init__(self, tmp_path: Path) -> None:
        self.program = scripted_program(tmp_path)
        super().__init__(tmp_path, choose_engine=partial(choose_engine, self.program))
        self.load = FakeLoad()

    def begin_with_load(self, **changes: str) -> None:
        self.tiny = experiment(self.data_folder, EXPERIMENT, **changes)
        self.begin(self.load)

    def kept(self) -> list[Any]:
        with RunFolder.open(self.path) as folder:
            return [session.facts["load_generator"] for session in folder.meta().sessions]

    def planned(self) -> set[str]:
        return {plan["load"]["engine"] for plan in self.load.plans}

    def now(self, choice: str) -> None:
        """From here on contend-load answers otherwise."""
        words = f"print('{choice}')" if choice.startswith("{") else choice
        self.program.write_text("#!/usr/bin/env python3\nimport sys\n" + words + "\n")

    def interrupted(self) -> None:
        with pytest.raises(Interrupted):
            self.begin(stop_at(4, KeyboardInterrupt()))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_sweep_over_connections_has_one_engine(bench: Bench) -> None:
    bench.begin_with_load()
    assert {plan["load"]["connections"] for plan in bench.load.plans} == {1, 8}
    assert bench.planned() == {"io_uring"}
    assert bench.kept() == [{"engine": "io_uring"}]
    assert {record.probes["load_generator"]["engine"] for record in bench.records()} == {"io_uring"}


def test_it_is_in_the_report(bench: Bench) -> None:
    bench.begin_with_load()
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
    assert ("Load", "driven over io_uring") in built.summary
    (group,) = (one for one in built.facts if one.title == "Load generator")
    assert group.facts == (("version", "fake"), ("engine", "io_uring"))
    assert not any("load generator" in one.title for one in built.facts if one is not group)
    shown = io.StringIO()
    terminal.render(built, Console(file=shown, width=200), full=True)
    assert "driven over io_uring" in " ".join(shown.getvalue().split())


def test_the_file_may_name_it(bench: Bench) -> None:
    bench.begin_with_load(**{'warmup = "100ms"': 'warmup = "100ms"\nengine = "epoll"'})
    assert bench.planned() == {"epoll"}
    assert bench.kept() == [{"engine": "epoll"}]


def test_a_factor_gives_each_cell_its_own(bench: Bench) -> None:
    bench.begin_with_load(**{CONNECTIONS: FACTOR})
    for record in bench.records():
        wanted = record.cell["load.engine"]
        assert record.plan["load"]["engine"] == wanted
        assert record.probes["load_generator"]["engine"] == wanted
    assert bench.kept() == [{}]
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
    assert ("Load", "driven over epoll and io_uring") in built.summary


def test_resuming_keeps_it_whatever_would_be_chosen_now(bench: Bench) -> None:
    bench.interrupted()
    bench.now(
        "import json; wanted = json.load(sys.stdin)['load']['engine']\n"
        "chosen = 'epoll' if wanted == 'auto' else wanted\n"
        "print(json.dumps({'type': 'engine', 'engine': chosen}))"
    )
    bench.resume(load=bench.load)
    assert bench.planned() == {"io_uring"}
    assert {record.probes["load_generator"]["engine"] for record in bench.records()} == {"io_uring"}
    assert len(bench.records()) == 8
    assert bench.kept() == [{"engine": "io_uring"}] * 2


def test_resuming_where_it_is_refused_runs_nothing(bench: Bench) -> None:
    bench.interrupted()
    why = {"type": "error", "message": "the kernel refuses io_uring: Operation not permitted"}
    bench.now(f"print({json.dumps(why)!r}); sys.exit(1)")
    with pytest.raises(RequestError, match=r"engine io_uring .* refuses io_uring"):
        bench.resume(load=bench.load)
    assert bench.load.plans == []
    assert len(bench.kept()) == 1


def test_a_folder_of_before_is_gone_on_with_and_told_of(bench: Bench) -> None:
    bench.interrupted()
    with contextlib.closing(sqlite3.connect(bench.path / "results.sqlite")) as database:
        database.execute("UPDATE sessions SET facts = json_remove(facts, ?)", ("$.load_generator",))
        database.commit()
    bench.heard.clear()
    bench.resume()
    assert any("use io_uring" in text for text in bench.notices())


def test_an_engine_that_the_kernel_refuses_is_refused_before_anything_is_made(
    bench: Bench,
) -> None:
    hint = 'set engine = "auto"'
    why = {"type": "error", "message": "the kernel refuses io_uring: no", "hint": hint}
    bench.now(f"print({json.dumps(why)!r}); sys.exit(1)")
    with pytest.raises(RequestError, match=r"^load\.engine: .* refuses io_uring") as caught:
        bench.begin_with_load(**{CONNECTIONS: FACTOR})
    assert caught.value.hint == hint
    assert not bench.path.exists()


def test_why_it_is_not_io_uring_is_kept_and_shown(bench: Bench) -> None:
    bench.now('{"type": "engine", "engine": "epoll", "refused": "Operation not permitted"}')
    bench.begin_with_load()
    assert bench.kept() == [{"engine": "epoll", "io_uring_refused": "Operation not permitted"}]
    with RunFolder.open(bench.path) as folder:
        built = report.build(folder)
    (group,) = (one for one in built.facts if one.title == "Load generator")
    assert ("io_uring is refused", "Operation not permitted") in group.facts
