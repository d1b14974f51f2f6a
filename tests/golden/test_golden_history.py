"""The output of `contend history`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from many_runs import write_runs
from transcripts import check

from contend.cli.main import main


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = main(["history", *arguments])
    captured = capsys.readouterr()
    assert all(len(line) <= 80 for line in captured.out.splitlines()), "wider than 80 columns"
    return f"{captured.out}{captured.err}exit {code}\n"


def newer_server(run: int, probes: dict[str, Any]) -> None:
    if run >= 10:
        probes["server"]["version"] = "11.4.2-MariaDB"
        probes["variables_that_differ"]["sort_buffer_size"] = {"value": "1M", "default": "2M"}


def test_a_slower_server(capsys: pytest.CaptureFixture[str]) -> None:
    write_runs(
        Path("runs"), 20, speed=lambda run, _: 0.9 if run >= 10 else 1.0, probes=newer_server
    )
    check("history-slower", shown(capsys, "runs"))
    check("history-full", shown(capsys, "runs", "--full"))


def test_too_few(capsys: pytest.CaptureFixture[str]) -> None:
    write_runs(Path("runs"), 3)
    check("history-few", shown(capsys, "runs"))


def test_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    write_runs(Path("runs"), 1)
    outputs = [shown(capsys, *arguments) for arguments in ([], ["runs"], ["nowhere"])]
    check("history-trouble", "".join(outputs))
