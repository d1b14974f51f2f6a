"""What `contend serve` says when something is wrong, as a command and as a page, to the letter.

A transcript that changed on purpose is written anew with CONTEND_UPDATE_GOLDEN=1.
"""

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
    said = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for words in (
            ["nowhere"],
            ["file"],
            ["runs", "--port", port],
            ["runs", "--port", "99999"],
            ["runs", "--port", "-1"],
        ):
            code = main(["serve", *words])
            captured = capsys.readouterr()
            command = f"$ contend serve {' '.join(words)}"
            text = f"{command}\n{captured.out}{captured.err}exit {code}\n"
            said.append(text.replace(port, "PORT"))
    check("serve-refused", "\n".join(said))


def asked(folder: Path, path: str, *, token: str = TOKEN, method: str = "GET") -> str:
    """Status and words of an answer, without its markup."""
    answer = ask(folder, path, token=token, method=method)
    words = re.sub(r"<(style|script)>.*?</\1>|<title>.*?</title>", "", answer.text, flags=re.S)
    lines = (line.strip() for line in re.sub(r"<[^>]*>", "\n", words).splitlines())
    text = html.unescape("\n".join(filter(None, lines)))
    return f"{method} {path}\n{answer.status}\n{text}\n"


def test_pages_that_cannot_be_shown(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    first, _ = write_runs(folder, 2)
    (folder / "damaged").mkdir()
    (folder / "damaged" / "results.sqlite").write_bytes(b"nonsense" * 200)
    shutil.copytree(first, folder / "copy")
    said = [
        asked(folder, "/", token="another"),
        asked(folder, "/", method="POST"),
        asked(folder, "/nowhere"),
        asked(folder, "/run/none"),
        asked(folder, "/run/.."),
        asked(folder, "/run/damaged"),
        asked(folder, "/compare?run=run-01"),
        asked(folder, "/compare?run=run-01&run=none"),
        asked(folder, "/history?experiment=nothing"),
    ]
    shutil.rmtree(folder)
    said += [asked(folder, "/"), asked(folder, "/live.json"), asked(folder, "/run/run-01")]
    check("serve-trouble", "\n".join(said).replace(str(tmp_path), "FOLDER"))
