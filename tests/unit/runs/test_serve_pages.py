"""The local pages: as a process on loopback, asked by hand and in a real browser."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import needs
import pytest
from browser import Browser, missing_browser
from many_runs import write_runs

from contend.cli.main import main
from contend.runs import glance as glance_module
from contend.runs.glance import Glance, Kept, glance, glances
from contend.store import RunFolder

try:
    import starlette
    import uvicorn
except ImportError:
    starlette = uvicorn = None


@dataclass
class Page:
    address: str
    folder: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.address).query)["token"][0]

    def ask(
        self,
        path: str,
        *,
        token: str | None = None,
        host: str | None = None,
        method: str = "GET",
    ) -> tuple[int, str, dict[str, str]]:
        """Ask with a cookie of this token, at exactly this path."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        if token is not None:
            connection.putheader("Cookie", f"contend_token_{self.port}={token}")
        connection.endheaders()
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(), dict(answer.getheaders())
        connection.close()
        return found

    def read(self, path: str) -> tuple[int, str]:
        status, text, _ = self.ask(path, token=self.token)
        return status, text


@contextmanager
def serving(folder: Path) -> Iterator[Page]:
    if starlette is None or uvicorn is None:
        needs.missing("starlette or uvicorn is missing: pip install 'contend[serve]'")
    command = [sys.executable, "-m", "contend", "serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Page(process.stdout.readline().strip(), folder)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("served") / "runs"
    write_runs(folder, 3)
    (folder / "not-a-run").mkdir()
    (folder.parent / "secret.txt").write_text("do not show")
    with serving(folder) as found:
        yield found


def test_the_list_has_every_run_and_only_runs(page: Page) -> None:
    status, text = page.read("/")
    assert status == 200
    assert all(f"run-{number:02}" in text for number in (1, 2, 3))
    assert "not-a-run" not in text


@pytest.mark.parametrize("path", ["/", "/live.json", "/run/run-01", "/?token=wrong", "/nowhere"])
@pytest.mark.parametrize("token", [None, "", "wrong", "\u00e4"])
def test_without_the_token_nothing_is_told(page: Page, path: str, token: str | None) -> None:
    status, text, headers = page.ask(path, token=token)
    assert (status, text) == (403, "forbidden\n")
    assert "set-cookie" not in {name.lower() for name in headers}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1"])
def test_a_name_that_points_here_is_refused_even_with_the_token(page: Page, host: str) -> None:
    for path in ("/", f"/?token={page.token}"):
        status, text, _ = page.ask(path, token=page.token, host=host)
        assert (status, text) == (403, "forbidden\n")


def test_the_token_leaves_the_address(page: Page) -> None:
    status, _, headers = page.ask(f"/run/run-01?token={page.token}")
    assert status == 303 and headers["location"] == "/run/run-01"
    assert "HttpOnly" in headers["set-cookie"] and "SameSite=Strict" in headers["set-cookie"]
    _, _, headers = page.ask(f"//evil.example/?token={page.token}")
    assert not headers["location"].startswith("//")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_is_written(page: Page, method: str) -> None:
    assert page.ask("/", token=page.token, method=method)[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "/run/..",
        "/run/../../secret.txt",
        "/run/%2e%2e",
        "/run/..%2f..%2fsecret.txt",
        "/run/%2e%2e%2fsecret.txt",
        "/run/not-a-run",
        "/../secret.txt",
        "/compare?run=..&run=run-01",
    ],
)
def test_a_path_leads_nowhere_but_to_a_run(page: Page, path: str) -> None:
    status, text = page.read(path)
    assert status == 404
    assert "do not show" not in text and str(page.folder) not in text


def test_pages_of_runs(page: Page) -> None:
    status, text = page.read("/run/run-02")
    assert status == 200 and 'id="answer"' in text
    status, text = page.read("/compare?run=run-01&run=run-03")
    assert status == 200 and "not measured in turn" in text
    assert "nothing is decided of the gain of run-03" in text
    assert "What each says for itself" in text
    assert page.read("/compare?run=run-01")[0] == 400
    status, text = page.read("/history?experiment=segmented-key-cache")
    assert status == 200 and "3 runs" in text
    assert page.read("/history?experiment=nothing")[0] == 404


def test_two_that_cannot_be_compared_are_shown_side_by_side(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    (path,) = write_runs(folder, 1)
    shutil.copytree(path, folder / "copy")
    with serving(folder) as found:
        status, text = found.read("/compare?run=run-01&run=copy")
    assert status == 200 and "run-01 and copy are the same run" in text
    assert "What each says for itself" in text


def test_a_list_reads_again_only_what_has_changed(
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


def test_a_run_under_way_is_seen_and_not_disturbed(page: Page) -> None:
    with RunFolder.open(page.folder / "run-02", write=True):
        status, text = page.read("/live.json")
        assert status == 200
        assert json.loads(text)["run-02"]["state"] == "under way"
    assert json.loads(page.read("/live.json")[1])["run-02"]["state"] == "complete"


def test_a_folder_that_vanishes_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    write_runs(folder, 2)
    with serving(folder) as found:
        shutil.rmtree(folder / "run-01")
        status, text = found.read("/run/run-01")
        assert status == 404 and "There is no such run" in text
        shutil.rmtree(folder)
        for path in ("/", "/live.json", "/history?experiment=x"):
            status, text = found.read(path)
            assert status == 404 and "cannot be read" in text


def test_a_port_in_use_and_a_folder_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if starlette is None or uvicorn is None:
        needs.missing("starlette or uvicorn is missing: pip install 'contend[serve]'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", str(tmp_path), "--port", str(port)]) == 2
        assert f"port {port} of 127.0.0.1 is in use" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--port", "99999"]) == 2
    assert main(["serve", str(tmp_path / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_what_cannot_be_read_is_listed_with_the_reason(tmp_path: Path) -> None:
    paths = write_runs(tmp_path, 3)
    (paths[0] / "results.sqlite").write_bytes(b"nonsense" * 200)
    with sqlite3.connect(paths[1] / "results.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    found = {one.name: one for one in glances(tmp_path)}
    assert found["run-01"].state == found["run-02"].state == "unreadable"
    assert "format 99" in found["run-02"].why
    one = glance(paths[2])
    assert (one.state, one.measured, one.planned) == ("complete", 8, 8)


def test_in_a_browser(page: Page) -> None:
    if reason := missing_browser():
        needs.missing(reason)
    with Browser() as browser:
        browser.requests()  # of its own first page
        browser.console()
        browser.visit(page.address)
        assert browser.run("return location.search") == ""
        browser.run("words.value = 'run-03'; words.dispatchEvent(new Event('input')); return true")
        assert browser.run("return rows.filter((row) => !row.hidden).length") == 1
        browser.run("words.value = ''; words.dispatchEvent(new Event('input')); return true")
        assert browser.run("return go.disabled")
        browser.run(
            "for (const b of [...document.querySelectorAll('[name=run]')].slice(0, 2))"
            " b.click(); return true"
        )
        assert not browser.run("return go.disabled")
        browser.run("go.click(); return true")
        browser.wait_for("return document.querySelectorAll('.sides section').length === 2")
        asked = browser.requests()
        own = [one for one in asked if not one.startswith("chrome:")]
        assert own and all(
            one.startswith((f"http://127.0.0.1:{page.port}/", "data:")) for one in own
        )
        assert browser.console() == []
