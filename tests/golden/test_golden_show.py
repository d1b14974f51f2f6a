"""What `contend show` prints, to the letter.

A transcript that changed on purpose is written anew with CONTEND_UPDATE_GOLDEN=1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_looks import add_looks
from synthetic_model import of_model
from synthetic_run import (
    CONNECTIONS,
    POINTS,
    SEGMENTS,
    as_failed,
    study,
    with_gate,
    with_warning,
    write_run,
    write_slices,
)
from synthetic_tpcc import of_tpcc
from transcripts import check

from contend.cli.main import main
from contend.experiment import load_experiment, planned_runs
from contend.store import RunRecord


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """80 columns, no colour, in a folder of its own, whatever the tests run in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "LINES"):
        monkeypatch.delenv(name, raising=False)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = main(["show", *arguments])
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert all(len(line) <= 80 for line in captured.out.splitlines()), "wider than 80 columns"
    return f"{printed}exit {code}\n"


def in_full(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    """All sections, without the facts of this machine and the experiment file below them."""
    assert main(["show", str(path), "--full"]) in (0, 1)
    return capsys.readouterr().out.partition("\nHow it was measured")[0]


def test_the_study(capsys: pytest.CaptureFixture[str], study_run: Callable[[Path], Path]) -> None:
    check("show-study", shown(capsys, str(study_run(Path("run")))))


@pytest.mark.parametrize(
    ("name", "gain"), [("slower", 0.9), ("passed", 1.02), ("uncertain", 0.975)]
)
def test_a_run_with_a_gate(capsys: pytest.CaptureFixture[str], name: str, gain: float) -> None:
    sets = (f"{CONNECTIONS}=[8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")
    path = write_slices(Path("run"), study(sets=sets), gain=lambda *_: gain)
    with_gate(path, 0.03)
    check(f"show-gate-{name}", shown(capsys, str(path)))


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("slower", {"server_cpu_us_per_query": 0.05}),
        ("passed", {"server_cpu_us_per_query": 0.5}),
        ("uncertain", {"statement.insert.service_us_p50": 0.1}),
    ],
)
def test_a_run_with_a_gate_of_several_metrics(
    capsys: pytest.CaptureFixture[str], name: str, more: dict[str, float]
) -> None:
    sets = (f"{CONNECTIONS}=[8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")
    path = write_slices(Path("run"), study(sets=sets), gain=lambda *_: 1.0)
    with_gate(path, 0.03, response_us_p99=0.1, **more)
    check(f"show-gate-several-{name}", shown(capsys, str(path)))


def test_a_partial_run_with_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    def trouble(record: RunRecord) -> RunRecord:
        if record.run % 13 == 0:
            return as_failed(record, "error 2006 (HY000): the server has gone away")
        if record.cell[SEGMENTS] == 32 and record.cell[CONNECTIONS] == 1:
            return with_warning(record, "cache-cold", "the key cache was meant to be warm")
        return record

    path = write_run(Path("run"), study("quick"), runs=41, change=trouble)
    check("show-partial", shown(capsys, str(path)))
    # One metric stands for all.
    tables = r"(?s)\nResponse time, p50.*(?=\nWarnings)"
    check("show-partial-full", re.sub(tables, "\n[…]\n", in_full(capsys, path)))


@pytest.mark.parametrize(
    ("name", "by_load", "how"),
    [
        ("certain", (1.2, 1.3, 1.45), {}),
        ("crossing", (0.93, 1.3, 1.45), {}),
        ("equivalent", (1.0, 1.001, 1.0), {"server_sd": 0.002}),
        ("inconclusive", (1.01, 1.01, 1.01), {"server_sd": 0.04}),
        ("unfinished", (0.93, 1.3, 1.45), {"blocks": 20}),
        ("warming", (1.2, 1.2, 1.2), {"speed": lambda at: 0.8 if at < 4 else 1.0}),
    ],
)
def test_answers_of_slices(
    capsys: pytest.CaptureFixture[str], name: str, by_load: tuple[float, ...], how: dict[str, Any]
) -> None:
    gains = dict(zip((1, 8, 64), by_load, strict=True))
    path = write_slices(Path("run"), study("quick"), gain=lambda _, __, at: gains[at], **how)
    answer = shown(capsys, str(path)).partition("\nWhy: ")[0]
    _, title, notices = in_full(capsys, path).partition("\nWarnings and failures\n")
    notices = notices.partition("\n\n")[0]
    check(f"show-{name}", f"{answer}\n[…]\n{title}{notices}\n")


def test_a_script_beside_the_native_workload(capsys: pytest.CaptureFixture[str]) -> None:
    experiment = load_experiment("segmented-key-cache-sysbench", variant="quick")
    check("show-beside", shown(capsys, str(write_run(Path("run"), experiment))))


@pytest.mark.parametrize(("name", "waits_percent"), [("tpcc", 0), ("tpcc-waits", 100)])
def test_tpcc(capsys: pytest.CaptureFixture[str], name: str, waits_percent: int) -> None:
    sets = ("workload.points=10", "load.connections=[64]")
    experiment = load_experiment("segmented-key-cache", variant="quick", sets=sets)
    write_run(Path("run"), experiment, change=lambda record: of_tpcc(record, waits_percent))
    assert main(["show", "run", "--full"]) == 0
    section = capsys.readouterr().out.partition("\nTPC-C: ")[2].partition("\nThroughput, ")[0]
    assert all(len(line) <= 80 for line in section.splitlines())
    check(f"show-{name}", section)


def test_a_model_server(capsys: pytest.CaptureFixture[str]) -> None:
    path = write_slices(Path("run"), study("quick"), gain=lambda *_: 1.3, change=of_model)
    assert main(["show", str(path), "--full"]) == 0
    head, _, rest = capsys.readouterr().out.partition("\n\n")
    why = rest.partition("\nThe locks of the key cache")[2].partition("\nThroughput, ")[0]
    check("show-model", f"{head}\n[…]\nThe locks of the key cache{why}")


def test_the_time_of_a_query(capsys: pytest.CaptureFixture[str]) -> None:
    experiment = study("quick", ("workload.points=[10]", "load.connections=[8, 64]"))
    path = write_slices(Path("run"), experiment, gain=lambda *_: 1.3)
    add_looks(path, planned_runs(experiment, in_slices=True), SEGMENTS)
    assert main(["show", str(path), "--full"]) == 0
    text = capsys.readouterr().out
    section = text.partition("Where the time of a query goes")[2].partition("\nThroughput, ")[0]
    check("show-budget", f"Where the time of a query goes{section}")


def test_nothing_yet(capsys: pytest.CaptureFixture[str]) -> None:
    check("show-nothing", shown(capsys, str(write_run(Path("run"), study("quick"), runs=0))))


def test_what_is_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("contend-runs", "segmented-1"), study("quick"), runs=0)
    Path("elsewhere").mkdir()
    printed = [shown(capsys, path) for path in ("segmented-2", "elsewhere", "segmented-1")]
    check("show-no-run", "".join(printed))
