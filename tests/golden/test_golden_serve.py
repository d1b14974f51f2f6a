"""The errors of `contend serve`, as a command and as pages."""

from __future__ import annotations

import html
import re
import shutil
import socket
from pathlib import Path

import needs
import pytest
from asked_pages import TOKEN, ask
from many_runs import write_runs
from transcripts import check

from contend.cli.main import main


@pytest.fixture(autouse=True)
def with_the_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needs.module("starlette")
    needs.module("uvicorn")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


def test_what_cannot_be_served(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("x")
    Path("runs").mkdir()
    outputs = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments in (
            ["nowhere"],
            ["file"],
            ["runs", "--port", port],
            ["runs", "--port", "99999"],
            ["runs", "--port", "-1"],
        ):
            code = main(["serve", *arguments])
            captured = capsys.readouterr()
            command = f"$ contend serve {' '.join(arguments)}"
            text = f"{command}\n{captured.out}{captured.err}exit {code}\n"
            outputs.append(text.replace(port, "PORT"))
    check("serve-refused", "\n".join(outputs))


def page_text(folder: Path, path: str, *, token: str = TOKEN, method: str = "GET") -> str:
    """Status and words of an answer, without its markup."""
    answer = ask(folder, path, token=token, method=method)
    text = re.sub(r"<(style|script)>.*?</\1>|<title>.*?</title>", "", answer.text, flags=re.S)
    lines = (line.strip() for line in re.sub(r"<[^>]*>", "\n", text).splitlines())
    text = html.unescape("\n".join(filter(None, lines)))
    return f"{method} {path}\n{answer.status}\n{text}\n"


def test_pages_that_cannot_be_shown(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    first, _ = write_runs(folder, 2)
    (folder / "damaged").mkdir()
    (folder / "damaged" / "results.sqlite").write_bytes(b"nonsense" * 200)
    shutil.copytree(first, folder / "copy")
    outputs = [
        page_text(folder, "/", token="another"),
        page_text(folder, "/", method="POST"),
        page_text(folder, "/nowhere"),
        page_text(folder, "/run/none"),
        page_text(folder, "/run/.."),
        page_text(folder, "/run/damaged"),
        page_text(folder, "/compare?run=run-01"),
        page_text(folder, "/compare?run=run-01&run=none"),
        page_text(folder, "/history?experiment=nothing"),
    ]
    shutil.rmtree(folder)
    outputs += [
        page_text(folder, "/"),
        page_text(folder, "/live.json"),
        page_text(folder, "/run/run-01"),
    ]
    check("serve-trouble", "\n".join(outputs).replace(str(tmp_path), "FOLDER"))
