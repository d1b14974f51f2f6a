"""The local pages: access and content; once as a process, in a real browser.

Their errors are in the golden file of `contend serve`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import needs
import pytest
from asked_pages import TOKEN, ask
from browser import Browser, missing_browser
from many_runs import write_runs

from contend.runs import glance as glance_module
from contend.runs.glance import Glance, Kept, glance, glances
from contend.store import RunFolder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("served") / "runs"
    write_runs(found, 3)
    (found / "not-a-run").mkdir()
    (found.parent / "secret.txt").write_text("do not show")
    return found


@pytest.mark.parametrize("path", ["/", "/live.json", "/run/run-01", "/?token=wrong", "/nowhere"])
@pytest.mark.parametrize("token", [None, "", "wrong", "\u00e4"])
def test_without_the_token_nothing_is_shown(folder: Path, path: str, token: str | None) -> None:
    answer = ask(folder, path, token=token)
    assert (answer.status, answer.text) == (403, "forbidden\n")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1"])
@pytest.mark.parametrize("path", ["/", f"/?token={TOKEN}"])
def test_a_name_that_points_here_is_refused_even_with_the_token(
    folder: Path, host: str, path: str
) -> None:
    assert ask(folder, path, host=host)[:2] == (403, "forbidden\n")


def test_the_token_leaves_the_address(folder: Path) -> None:
    answer = ask(folder, f"/run/run-01?token={TOKEN}&x=1", token=None)
    assert answer.status == 303 and answer.headers["location"] == "/run/run-01?x=1"
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=Strict" in answer.headers["set-cookie"]
    answer = ask(folder, f"//evil.example/?token={TOKEN}")
    assert not answer.headers["location"].startswith("//")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_is_written(folder: Path, method: str) -> None:
    assert ask(folder, "/", method=method).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/run/..",
        "/run/../../secret.txt",
        "/run/%2e%2e",
        "/run/..%2f..%2fsecret.txt",
        "/run/not-a-run",
        "/../secret.txt",
        "/compare?run=..&run=run-01",
    ],
)
def test_a_path_leads_only_to_runs(folder: Path, path: str) -> None:
    answer = ask(folder, path)
    assert answer.status == 404
    assert "do not show" not in answer.text and str(folder) not in answer.text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/", ["run-01", "run-02", "run-03"]),
        ("/run/run-02", ['id="answer"']),
        (
            "/compare?run=run-01&run=run-03",
            ["not interleaved", "the gain of run-03", "Each run by itself"],
        ),
        ("/history?experiment=segmented-key-cache", ["3 runs", "Too few runs"]),
    ],
)
def test_pages_of_runs(folder: Path, path: str, shown: list[str]) -> None:
    answer = ask(folder, path)
    assert answer.status == 200 and all(one in answer.text for one in shown)
    assert "not-a-run" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_incomparable_runs_are_shown_side_by_side(tmp_path: Path) -> None:
    (path,) = write_runs(tmp_path, 1)
    shutil.copytree(path, tmp_path / "copy")
    answer = ask(tmp_path, "/compare?run=run-01&run=copy")
    assert answer.status == 200 and "run-01 and copy are the same run" in answer.text
    assert "Each run by itself" in answer.text


def test_a_list_reads_only_changed_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_runs(tmp_path, 3)
    kept: Kept = {}
    first = glances(tmp_path, kept)
    read: list[str] = []
    before = glance_module._read

    def reading(path: Path) -> Glance:
        read.append(path.name)
        return before(path)

    monkeypatch.setattr(glance_module, "_read", reading)
    assert glances(tmp_path, kept) == first and read == []
    with contextlib.closing(sqlite3.connect(paths[1] / "results.sqlite")) as one, one:
        one.execute("DELETE FROM runs WHERE run = 1")
    shutil.rmtree(paths[2])
    with RunFolder.open(paths[0], write=True):
        again = {one.name: one for one in glances(tmp_path, kept)}
    assert read == ["run-02"]
    assert again["run-02"].measured == 7 and "run-03" not in again
    assert again["run-01"].state == "under way"


def test_a_run_in_progress_is_shown_and_not_disturbed(folder: Path) -> None:
    with RunFolder.open(folder / "run-02", write=True):
        assert json.loads(ask(folder, "/live.json").text)["run-02"]["state"] == "under way"
    assert json.loads(ask(folder, "/live.json").text)["run-02"]["state"] == "complete"


def test_unreadable_runs_are_listed_with_the_reason(tmp_path: Path) -> None:
    paths = write_runs(tmp_path, 3)
    (paths[0] / "results.sqlite").write_bytes(b"nonsense" * 200)
    with contextlib.closing(sqlite3.connect(paths[1] / "results.sqlite")) as one, one:
        one.execute("PRAGMA user_version = 99")
    found = {one.name: one for one in glances(tmp_path)}
    assert found["run-01"].state == found["run-02"].state == "unreadable"
    assert "format 99" in found["run-02"].why
    one = glance(paths[2])
    assert (one.state, one.measured, one.planned) == ("complete", 8, 8)


def test_in_a_browser(folder: Path) -> None:
    if reason := missing_browser():
        needs.missing(reason)
    command = [sys.executable, "-m", "contend", "serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            look_at(process.stdout.readline().strip())
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def look_at(address: str) -> None:
    with Browser() as browser:
        browser.requests()  # of its own first page
        browser.console()
        browser.visit(address)
        assert browser.run("return location.search") == ""
        browser.run("words.value = 'run-03'; words.dispatchEvent(new Event('input')); return true")
        browser.wait_for("return rows.filter((row) => !row.hidden).length === 1")
        browser.run("words.value = ''; words.dispatchEvent(new Event('input')); return true")
        assert browser.run("return go.disabled")
        browser.run(
            "for (const b of [...document.querySelectorAll('[name=run]')].slice(0, 2))"
            " b.click(); return true"
        )
        assert not browser.run("return go.disabled")
        browser.run("go.click(); return true")
        browser.wait_for("return document.querySelectorAll('.sides section').length === 2")
        own = [one for one in browser.requests() if not one.startswith("chrome:")]
        here = f"http://{urlsplit(address).netloc}/"
        assert own and all(one.startswith((here, "data:")) for one in own)
        assert browser.console() == []
