"""Logs of real servers, read into recordings: what was sent is what is found."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import real_logs
from real_logs import RealLogs, Sent
from sql import Factory

from contend.servers import ServerBinary
from contend.servers.find import find_server

FILES = ("slow", "general", "slow_log_tsv", "general_log_tsv")


@dataclass(frozen=True)
class Recording:
    """The statements of one log, as they can be sent again."""

    done: dict[str, Any]
    statements: list[dict[str, Any]]
    file: bytes

    def of_thread(self, thread: int) -> list[dict[str, Any]]:
        marked = {one["session"] for one in self.statements if _text(one) == _mark(thread)}
        return [one for one in self.statements if one["session"] in marked]


def _mark(thread: int) -> bytes:
    return f"SELECT 'session {thread}'".encode()


def _text(one: dict[str, Any]) -> bytes:
    return str(one["text"]).encode("latin-1")


def _bare(text: bytes) -> bytes:
    """Without what the servers themselves take off before they log."""
    return text.strip().rstrip(b";").strip()


@pytest.fixture(scope="module", params=["mariadb", "mariadb_new", "mysql", "mysql_extra"])
def logs(request: pytest.FixtureRequest, shared_server: Factory) -> Iterator[tuple[str, RealLogs]]:
    name = str(request.param)
    binary: ServerBinary = request.getfixturevalue(f"{name.removesuffix('_extra')}_binary")
    options = real_logs.options(binary.kind, extra=name.endswith("_extra"))
    yield name, real_logs.make(shared_server(binary, options))


def _read(program: Path, log: Path, folder: Path) -> Recording:
    target = folder / f"{log.stem}.rec"
    command = [str(program), "recording"]
    done = subprocess.run(
        [*command, "import", str(log), "--to", str(target)], capture_output=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    texts = []
    for number in range(found["statements"]):
        one = subprocess.run(
            [*command, "statement", str(target), "--number", str(number)],
            capture_output=True,
            check=True,
        )
        texts.append(json.loads(one.stdout))
    return Recording(found, texts, target.read_bytes())


NOT_LOGGED = {
    # MySQL's logs leave out what it cannot parse.
    "mysql": {b"SELEKT 9"},
}

LEFT_OUT = {
    # The text of SQL's own PREPARE and EXECUTE is that of another statement.
    b"PREPARE p FROM 'SELECT name FROM item WHERE id = ?'",
    b"EXECUTE p USING @id",
    b"DEALLOCATE PREPARE p",
}


@pytest.mark.parametrize("file", FILES)
def test_what_was_sent_is_found(
    logs: tuple[str, RealLogs], file: str, load_program: Path, tmp_path: Path
) -> None:
    name, made = logs
    found = _read(load_program, made.files[file], tmp_path)
    absent = set(NOT_LOGGED.get(name.removesuffix("_extra"), ())) | LEFT_OUT
    for thread in {one.thread for one in made.sent}:
        sent = [one for one in made.sent if one.thread == thread]
        texts = [_bare(_text(one)) for one in found.of_thread(thread)]
        allowed = Counter(_bare(one.text) for one in sent)
        allowed += Counter([b"SET NAMES utf8mb4", b"SELECT name FROM item WHERE id = 2"])
        # Nothing is sent again that was not sent.
        assert Counter(texts) - allowed == Counter()
        wanted = [_bare(one.text) for one in sent if _is_wanted(one, absent)]
        missing = Counter(wanted) - Counter(texts)
        assert not missing or _is_ambiguous(missing, found), missing
        # In their order.
        both = [text for text in texts if text in wanted]
        assert both == [text for text in wanted if text in both]
    assert real_logs.SECRET.encode() not in found.file


def _is_wanted(one: Sent, absent: set[bytes]) -> bool:
    return not one.secret and _bare(one.text) not in absent


def _is_ambiguous(missing: Counter[bytes], found: Recording) -> bool:
    """Statements that hold a header of the log may be left out, if they are counted."""
    traps = [text for text in missing if b"# Time:" in text or b"Query\t" in text]
    counted = found.done["left_out"].get("ambiguous", 0)
    return len(traps) == len(missing) and counted >= len(traps)
