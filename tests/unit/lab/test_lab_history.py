"""The file in which runs leave what they said: whole lines, however they end; by key."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from contend.lab import sessions
from contend.lab.events import Event, Notice
from contend.probed import EarlierSession

KEY = {"host": "a", "kernel": "6.1", "servers": ["mariadb: mariadb 10.11.19"], "measured": "1"}


def said(run: str) -> EarlierSession:
    whole: Any = {"metric": "qps", "level": 32, "log_ratio": 0.1, "se": 0.01, "df": 7}
    return {"run": run, "ended_at": "2026-03-01T10:00:00+00:00", "wholes": [whole]}


def runs(path: Path, key: dict[str, Any] | None = None) -> tuple[list[str], list[str]]:
    """Names of the runs that are read, and what is told."""
    heard: list[Event] = []
    found = [one["run"] for one in sessions.earlier(path, key or KEY, heard.append)]
    return found, [one.text for one in heard if isinstance(one, Notice)]


def test_what_is_noted_is_read_in_order_and_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.jsonl"
    assert runs(path) == ([], [])
    for name, key in (("one", KEY), ("other", {**KEY, "kernel": "6.2"}), ("two", KEY)):
        sessions.append(path, key, said(name))
    assert runs(path) == (["one", "two"], [])
    assert sessions.earlier(path, KEY, lambda _event: None)[0] == said("one")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        b'{"format": 1, "key": {"host"',
        b"\xff\xfe\x00",
        b"[]",
        b"7",
        b'{"format": 1}',
        json.dumps({"format": 2, "key": KEY, "said": said("later")}).encode(),
        json.dumps({"format": 1, "key": KEY, "said": {**said("x"), "wholes": [{}]}}).encode(),
        json.dumps({"format": 1, "key": KEY, "said": {**said("x"), "wholes": 3}}).encode(),
        json.dumps({"format": 1, "key": KEY, "said": 3}).encode(),
    ],
)
def test_a_damaged_line_is_left_out_and_told(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "sessions.jsonl"
    sessions.append(path, KEY, said("one"))
    with path.open("ab") as file:
        file.write(line)  # without its end, as it is when a machine goes down
    sessions.append(path, KEY, said("two"))
    found, (notice,) = runs(path)
    assert found == ["one", "two"]
    assert notice.startswith(f"1 line is left out of {path}")


def test_many_writers_at_once_leave_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    writers = [
        multiprocessing.get_context("fork").Process(
            target=lambda: [sessions.append(path, KEY, said(str(os.getpid()))) for _ in range(20)]
        )
        for _ in range(4)
    ]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    found, notices = runs(path)
    assert (len(found), notices) == (80, [])


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    found, (notice,) = runs(tmp_path)
    assert found == []
    assert "what earlier sessions said is not known" in notice


def test_it_lies_beside_the_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/lib")
    assert sessions.default_history() == Path("/var/lib/contend/sessions.jsonl")
