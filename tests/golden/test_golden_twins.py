"""What `contend show` and `contend why --template` print of a recording's statements."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic_run import write_run
from transcripts import check
from twins_run import write_twins

from contend.cli.main import main


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = main(arguments)
    captured = capsys.readouterr()
    return f"$ contend {' '.join(arguments)}\n{captured.out}{captured.err}exit {code}\n"


def test_the_statements_of_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    write_twins(Path(), {1: 40.0, 4: 0.8})
    check("twins-show", output(capsys, "show", "run"))


def test_one_template_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    write_twins(Path(), {1: 40.0})
    write_run(Path("other"))
    asked = [
        ("why", "run", "--template", "1"),
        ("why", "run", "--template", "77"),
        ("why", "run", "--template", "one"),
        ("why", "run"),
        ("why", "other", "--template", "1"),
    ]
    check("twins-why", "\n".join(output(capsys, *one) for one in asked))
