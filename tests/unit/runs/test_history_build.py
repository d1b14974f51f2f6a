"""A history from run folders: the changes, the other changes, and their cause."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from many_runs import small, write_runs
from synthetic_run import FACTS, SEGMENTS

from contend.cli.main import main
from contend.errors import RequestError
from contend.runs.history import build
from contend.runs.history_text import BOTH, HOST_ONLY, NOT_LOOKED, NOT_THE_HOST, NOTHING, blame_text
from contend.store import RunFolder

STEP = 10
RUNS = 20


def look(handover_ns: float) -> dict[str, Any]:
    pair = {"cpus": [0, 1], "handover_ns": handover_ns, "wake_us": 4.0}
    return {"cpus": 2, "pairs": [pair], "of_pairs": 1, "memory_ns": None}


def state(handover_ns: float) -> dict[str, Any]:
    before, after = look(handover_ns), look(handover_ns * 1.01)
    return {"before": before, "after": after, "memory_ns": None, "refaults": None}


def slower(run: int, _segments: int) -> float:
    return 0.9 if run >= STEP else 1.0


def newer_server(run: int, probes: dict[str, Any]) -> None:
    probes["state"] = state(100 + run % 3)
    if run >= STEP:
        probes["server"]["version"] = "11.4.2-MariaDB"


def farther(run: int, probes: dict[str, Any]) -> None:
    probes["state"] = state((600 if run >= STEP else 100) + run % 3)


def both(run: int, probes: dict[str, Any]) -> None:
    newer_server(run, probes)
    farther(run, probes)


def near(run: int, probes: dict[str, Any]) -> None:
    probes["state"] = state(100 + run % 3)


def only_version(run: int, probes: dict[str, Any]) -> None:
    newer_server(run, probes)
    del probes["state"]


@pytest.mark.parametrize(
    ("probes", "says"),
    [
        (newer_server, NOT_THE_HOST),
        (farther, HOST_ONLY),
        (both, BOTH),
        (near, NOTHING),
        (only_version, NOT_LOOKED),
    ],
)
def test_a_change_of_the_host_is_not_attributed_to_the_server(
    tmp_path: Path, probes: Any, says: str
) -> None:
    write_runs(tmp_path, RUNS, speed=slower, probes=probes)
    history = build([str(tmp_path)])
    (found,) = history.breaks
    assert found.run == STEP
    assert {history.series[one.series].kind for one in found.points} == {"figure"}
    assert all(one.finding and one.finding.word == "slower" for one in found.points)
    assert blame_text(found) == says


def test_a_different_kernel_is_a_change_of_the_host(tmp_path: Path) -> None:

    def facts(run: int) -> dict[str, Any]:
        found = copy.deepcopy(FACTS)
        if run >= STEP:
            found["kernel"]["release"] = "6.12.0-example"
        return found

    write_runs(tmp_path, RUNS, speed=slower, facts=facts)
    (found,) = build([str(tmp_path)]).breaks
    assert [(one.origin, one.name) for one in found.altered] == [("host", "kernel.release")]
    assert blame_text(found) == HOST_ONLY


def test_a_changed_gain_is_reported(tmp_path: Path) -> None:
    write_runs(tmp_path, RUNS, sd=0.002, speed=lambda run, s: 1.1 if run >= STEP and s else 1.0)
    history = build([str(tmp_path)])
    (found,) = history.breaks
    changed = [history.series[point.series] for point in found.points]
    assert 32 in {one.level for one in changed if one.kind == "gain"}
    assert {one.cell.get(SEGMENTS) for one in changed if one.kind == "figure"} == {32}


def test_with_too_few_runs_nothing_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_runs(tmp_path, 5, speed=lambda run, _: 0.5 if run > 2 else 1.0)
    assert main(["history", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["breaks"] == [] and found["answer"].startswith("Too few runs")


def test_a_copy_of_a_run_does_not_count(tmp_path: Path) -> None:
    (path,) = write_runs(tmp_path, 1)
    shutil.copytree(path, tmp_path / "copy")
    with pytest.raises(RequestError, match="the only one") as caught:
        build([str(tmp_path)])
    assert "is a copy of" in (caught.value.detail or "")


def test_runs_of_different_experiments_are_refused_by_name(tmp_path: Path) -> None:
    write_runs(tmp_path / "a", 2)
    write_runs(tmp_path / "b", 3, experiment=small(name="another"))
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    with pytest.raises(RequestError, match=r"another \(3\), segmented-key-cache \(2\)"):
        build(folders)
    assert len(build(folders, experiment="another").runs) == 3
    with pytest.raises(RequestError, match="no run of anothr") as caught:
        build(folders, experiment="anothr")
    assert "another" in (caught.value.hint or "")


def test_a_run_in_progress_is_left_out_with_a_notice(tmp_path: Path) -> None:
    paths = write_runs(tmp_path, 3)
    with RunFolder.open(paths[1], write=True):
        history = build([str(tmp_path)])
    assert [run.name for run in history.runs] == ["run-01", "run-03"]
    assert re.search(rf"run-02 .*\(pid {os.getpid()}\)", history.notices[0])


def test_a_newer_folder_is_refused_if_named_and_else_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_runs(tmp_path, 3)
    with sqlite3.connect(paths[0] / "results.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(RequestError, match="has format 99"):
        build([str(path) for path in paths])
    monkeypatch.chdir(paths[0])
    with pytest.raises(RequestError, match="has format 99"):
        build([".", *map(str, paths[1:])])
    history = build([str(tmp_path)])
    assert len(history.runs) == 2
    assert "has format 99" in history.notices[0]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="is not a run folder"):
        build([str(tmp_path)])


def test_the_page_is_self_contained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_runs(tmp_path / "runs", 4)
    page = tmp_path / "out" / "history.html"
    assert main(["history", str(tmp_path / "runs"), "--html", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text and "<svg" in text
    assert "gain of 32 over off" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert str(page) in capsys.readouterr().err
