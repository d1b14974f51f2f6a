"""Compared run folders: their cells, their units, and undecided or refused comparisons."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_run import CONNECTIONS, FACTS, POINTS, SEGMENTS, study, write_slices

from contend.cli.main import main
from contend.findings import Finding, judged, slowdown_of, smallest_slowdown
from contend.findings.families import Family
from contend.findings.unpaired import Side, run_over_run
from contend.metrics import FIXED
from contend.store import RunFolder

CELLS = (f"{CONNECTIONS}=[8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")
SWEEP = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


_SEEDS = iter(range(100, 1000))


def write(name: str, gains: dict[int, float], sets: tuple[str, ...] = CELLS, **how: Any) -> Path:
    how.setdefault("seed", next(_SEEDS))
    return write_slices(Path(name), study(sets=sets), gain=lambda _, __, at: gains[at], **how)


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["compare", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def sessions_of(folder: str, gain: float, count: int = 3, **how: Any) -> None:
    for number in range(count):
        write(f"{folder}/{number}", {8: gain}, SWEEP, **how)


def test_sessions_are_the_units_and_decide(capsys: pytest.CaptureFixture[str]) -> None:
    sessions_of("old", 1.4)
    sessions_of("new", 1.1)
    code, found = compared(capsys, "old", "new", "--fail-if-slower", "3%")
    (cell,) = found["sides"][0]["cells"]
    assert (cell["n"], cell["units"], cell["verdict"]) == (3, "sessions", "slower")
    assert cell["ratio"] == pytest.approx(1.1 / 1.4, rel=0.03)
    assert (code, found["gate"]["outcome"]) == (3, "slower")


def test_one_session_per_side_decides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write("old", {8: 1.4, 64: 1.4})
    write("new", {8: 1.0, 64: 1.0})
    code, found = compared(capsys, "old", "new", "--fail-if-slower", "3%")
    assert code == 4
    cells = found["sides"][0]["cells"]
    assert [one["verdict"] for one in cells] == [None, None]
    assert all("is not known" in one["without"] for one in cells)


def test_one_session_with_known_spread_of_its_host_decides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def earlier(gain: float) -> dict[str, Any]:
        whole = {"metric": "qps", "level": 32, "log_ratio": gain, "se": 0.01, "df": 7}
        return {"run": "x", "ended_at": "2026-02-28T10:00:00+00:00", "wholes": [whole]}

    facts = {**FACTS, "sessions": {"earlier": [earlier(one) for one in (0.3, 0.31, 0.29, 0.3)]}}
    write("old", {8: 1.4}, SWEEP, facts=facts)
    write("new", {8: 1.1}, SWEEP, facts=facts)
    _, found = compared(capsys, "old", "new")
    assert found["sides"][0]["cells"][0]["verdict"] == "slower"


def test_a_reversed_order_and_the_differences_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    facts = {**FACTS, "cpu": {**FACTS["cpu"], "model": "Other CPU"}}
    write("old", {8: 1.4, 64: 1.1})
    write("new", {8: 1.1, 64: 1.4}, facts=facts)
    assert main(["compare", "old", "new", "--html", "page.html"]) == 0
    output = capsys.readouterr().out
    assert "host cpu.model: Example CPU | Other CPU" in output
    assert "The order of new and old reverses" in output
    assert "their hosts and hours" in output
    page = Path("page.html").read_text()
    assert "Other CPU" in page
    assert "http:" not in page and "https:" not in page


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compare", *arguments]) == 2
    return capsys.readouterr().err


def test_refused_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    """In addition to the golden file."""
    write("old", {8: 1.4, 64: 1.1})
    shutil.copytree("old", "copy")
    assert "are the same run" in refused(capsys, "old", "copy")
    write("apart", {16: 1.4}, (f"{CONNECTIONS}=[16]", *CELLS[1:]))
    assert "have no cell in common" in refused(capsys, "old", "apart")
    with RunFolder.open(Path("copy"), write=True):
        assert "is being written" in refused(capsys, "old", "copy")
    with contextlib.closing(sqlite3.connect("copy/results.sqlite")) as newer, newer:
        newer.execute("PRAGMA user_version = 999")
    assert "has format 999" in refused(capsys, "old", "copy")


def test_runs_of_different_experiments_are_compared_with_a_notice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("old", {8: 1.4}, SWEEP)
    other = replace(study(sets=SWEEP), name="another")
    write_slices(Path("new"), other, gain=lambda *_: 1.1, seed=3)
    _, found = compared(capsys, "old", "new")
    assert len(found["sides"][0]["cells"]) == 1
    (different,) = found["not_compared"]
    assert "common cells" in different and "-key-cache, another" in different


def test_cells_that_a_side_lacks_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    write("old", {8: 1.4, 64: 1.1})
    write("new", {8: 1.4, 16: 1.1}, (f"{CONNECTIONS}=[8, 16]", *CELLS[1:]))
    _, found = compared(capsys, "old", "new")
    assert len(found["sides"][0]["cells"]) == 1
    old, new = found["not_compared"]
    assert "1 of 2 cells of old" in old and "1 of 2 cells of new" in new


@pytest.mark.parametrize("sessions", [3, 6])
def test_a_gate_detects_its_smallest_slowdown_four_times_in_five(sessions: int) -> None:
    """Each comparison has its own scatter, which is taken for that of all."""
    chance, found, times = np.random.default_rng(sessions), 0, 400
    family = Family("runs", 0.95, 0.95)

    def over(ours: np.ndarray, theirs: np.ndarray) -> Finding:
        sides = (Side(str(one), list(one), of_sessions=True) for one in (ours, theirs))
        return run_over_run(FIXED["qps"], {}, *sides, family=family)

    for _ in range(times):
        ours, theirs = chance.normal(0.0, 0.01, (2, sessions))
        loss = smallest_slowdown(over(ours, theirs), 0.03)
        moved = over(ours + np.log1p(-loss), theirs)
        assert slowdown_of(moved).low <= slowdown_of(moved).estimate
        found += judged(moved, 0.03) == "slower"
    assert found / times >= 0.76
