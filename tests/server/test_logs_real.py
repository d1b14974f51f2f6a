"""Logs of real servers, read into recordings: what was sent is what is found."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
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
    statements: list[dict[str, Any]] = field(repr=False)
    file: bytes = field(repr=False)

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
def logs(request: pytest.FixtureRequest, shared_server: Factory) -> tuple[str, RealLogs]:
    name = str(request.param)
    binary: ServerBinary = request.getfixturevalue(f"{name.removesuffix('_extra')}_binary")
    options = real_logs.options(binary.kind, extra=name.endswith("_extra"))
    return name, real_logs.make(shared_server(binary, options))


def test_the_audit_log_is_read(private_server: Factory, load_program: Path, tmp_path: Path) -> None:
    binary = find_server("mariadb", wanted="mariadb+handlersocket")
    audit = {
        "plugin_load_add": "server_audit",
        "server_audit_logging": True,
        "server_audit_file_path": "audit.log",
    }
    made = real_logs.make(private_server(binary, real_logs.options("mariadb") | audit))
    compare("mariadb", made, "audit", _read(load_program, made.files["audit"], tmp_path))


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

PRELUDE = b"SET NAMES utf8mb4"
"""PyMySQL's own first statement."""

EXECUTED = b"SELECT name FROM item WHERE id = 2"
"""What SQL's EXECUTE ran."""

LEFT_OUT = {
    PRELUDE,
    # The text of SQL's own PREPARE and EXECUTE is that of another statement.
    b"PREPARE p FROM 'SELECT name FROM item WHERE id = ?'",
    b"EXECUTE p USING @id",
    b"DEALLOCATE PREPARE p",
    # Kept as the database of the statements after it.
    b"USE shop",
}


@pytest.mark.parametrize("file", FILES)
def test_what_was_sent_is_found(
    logs: tuple[str, RealLogs], file: str, load_program: Path, tmp_path: Path
) -> None:
    name, made = logs
    found = _read(load_program, made.files[file], tmp_path)
    compare(name.removesuffix("_extra"), made, file, found)


def compare(server: str, made: RealLogs, file: str, found: Recording) -> None:
    """Nothing is found that was not sent, and all that can be sent again is found, in order."""
    absent = NOT_LOGGED.get(server, set()) | LEFT_OUT
    for thread in {one.thread for one in made.sent}:
        sent = [one for one in made.sent if one.thread == thread]
        texts = [_bare(_text(one)) for one in found.of_thread(thread)]
        if file.endswith("tsv") and server != "mysql":
            # These tables have a character set, and replace what is not of it.
            sent = [one for one in sent if one.text.isascii()]
            texts = [text for text in texts if b"caf" not in text and b"_binary" not in text]
        allowed = Counter([PRELUDE, EXECUTED, *(_bare(one.text) for one in sent)])
        assert Counter(texts) - allowed == Counter()
        wanted = [_bare(one.text) for one in sent if _is_wanted(one, absent)]
        missing = Counter(wanted) - Counter(texts)
        assert not missing or _is_counted(missing, found), [*missing][:5]
        assert [text for text in texts if text in wanted] == [
            text for text in wanted if text in texts
        ]
    assert real_logs.SECRET.encode() not in found.file


def _is_wanted(one: Sent, absent: set[bytes]) -> bool:
    return not one.secret and _bare(one.text) not in absent


def _is_counted(missing: Counter[bytes], found: Recording) -> bool:
    """Statements that hold a header of the log, or were cut, are left out and counted."""
    left_out = found.done["left_out"]
    traps = [text for text in missing if b"# Time:" in text or b"Query\t" in text]
    cut = [text for text in missing if len(text) > CUT_BYTES]
    return (
        len(traps) + len(cut) == len(missing)
        and left_out.get("ambiguous", 0) >= len(traps)
        and left_out.get("truncated", 0) >= len(cut)
    )


CUT_BYTES = 1000
"""The audit log cuts longer statements."""
