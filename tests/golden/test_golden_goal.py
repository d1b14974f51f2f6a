"""What `contend show` prints of searches for the rate of a goal, to the letter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_up_goal import SETTING, goal_experiment, write_goal
from transcripts import check

from contend.cli.main import main
from contend.experiment import RATE
from contend.report import html
from contend.report.build import build
from contend.store import RunFolder, RunRecord


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (("COLUMNS", "80"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "LINES"):
        monkeypatch.delenv(name, raising=False)


def limited(record: RunRecord) -> RunRecord:
    if float(record.cell[RATE]) < 600:
        return record
    mark: Any = {"code": "client-limited", "message": "the busiest thread of contend-load was busy"}
    return replace(record, warnings=[mark])


def dead(record: RunRecord) -> RunRecord:
    if float(record.cell[RATE]) < 500:
        return record
    error = {"message": "the server ended by itself", "hint": None, "detail": None}
    return replace(record, status="lost", done=None, error=error)


ONE = {"compare__baseline": "{}", SETTING.replace(".", "__"): '"4M"'}


@pytest.mark.parametrize(
    ("title", "sets", "how"),
    [
        ("two levels", {}, {}),
        ("one cell", ONE, {"capacity": lambda _: 2500.0}),
        ("every rate holds", {**ONE, "goal__highest": "2000"}, {"capacity": lambda _: 2500.0}),
        ("no rate holds", {**ONE, "goal__hold": "p99<1ms"}, {"capacity": lambda _: 2500.0}),
        ("a knee", {"goal__hold": "knee"}, {}),
        ("the client's limit", ONE, {"capacity": lambda _: 850.0, "change": limited}),
        ("a server that dies", ONE, {"capacity": lambda _: 2500.0, "change": dead}),
        ("an interrupted search", {}, {"runs": 9}),
        ("several places", {"load__connections": "[4, 8]", "compare__repeats": "3"}, {}),
    ],
)
def test_show(
    capsys: pytest.CaptureFixture[str], title: str, sets: dict[str, str], how: dict[str, Any]
) -> None:
    write_goal(Path("run"), goal_experiment(Path(), **sets), **how)
    code = main(["show", "run"])
    printed = capsys.readouterr()
    assert all(len(line) <= 80 for line in printed.out.splitlines())
    name = title.replace(" ", "-").replace("'", "")
    check(f"goal-{name}", f"{printed.out}{printed.err}exit {code}\n")


def test_the_json_the_page_and_the_full_form(capsys: pytest.CaptureFixture[str]) -> None:
    path = write_goal(Path("run"), goal_experiment(Path()))
    assert main(["show", "run", "--json"]) == 0
    goal = json.loads(capsys.readouterr().out)["goal"]
    first, other = goal["levels"]
    assert (goal["metric"], goal["limit"], goal["unit"]) == (
        "response_us_p99",
        20_000,
        "queries/s",
    )
    assert first["result"] == other["result"] == "found"
    assert first["rate"]["low"] < first["rate"]["mean"] < first["rate"]["high"]
    assert other["times"]["low"] > 1 and first["times"] is None
    with RunFolder.open(path) as folder:
        records = folder.records()
        report = build(folder)
    assert len(records) == len(first["runs"]) + len(other["runs"])
    assert set(first["by_repeat"]) == {"2", "3", "4", "5"}
    assert main(["export", "run", "--format", "csv"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert RATE in head.split(",") and len(rows) == len(records)
    assert main(["show", "run", "--full"]) == 0
    assert "The highest rate that holds the goal" in capsys.readouterr().out
    assert report.picture is not None and report.picture.id == "goal-1"
    values = report.picture.spec["data"]["values"]
    assert {one["percentile"] for one in values} == {"p50", "p99"}
    assert any(layer["mark"]["type"] == "rule" for layer in report.picture.spec["layer"])
    page, *_ = html.write(report, Path("page.html"))
    assert "holds" in page.read_text()
