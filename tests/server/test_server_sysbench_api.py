"""The Lua interface of sysbench: one script a row of the table in docs/reference/sysbench.md.

A script says on its first lines how it is run and what must come of it:

-- run: options and command
-- twice: an option; what the script prints must be the same with it and without it
-- exit: exit code, 0 where nothing is said
-- says: a pattern that a line of the output matches, in this order
-- complains: text on standard error
-- within: seconds that the run may take of its own time, far above what it needs
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from contend.servers import PrivateServer, ServerBinary

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sysbench"
REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "sysbench.md"
ROWS = sorted(GOLDEN.glob("api/*.lua"))

Factory = Callable[..., PrivateServer]


@dataclass
class Row:
    run: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    exit: int = 0
    says: list[str] = field(default_factory=list)
    complains: list[str] = field(default_factory=list)
    within: float | None = None


def read(path: Path) -> Row:
    row = Row()
    for line in path.read_text().splitlines():
        match = re.match(r"-- (\w+): (.*)", line)
        if not match:
            break
        name, value = match.groups()
        if name in ("run", "twice"):
            setattr(row, name, shlex.split(value))
        elif name == "exit":
            row.exit = int(value)
        elif name == "within":
            row.within = float(value)
        else:
            getattr(row, name).append(value)
    return row


@pytest.fixture(scope="module")
def server(mariadb_binary: ServerBinary, shared_server: Factory) -> Iterator[PrivateServer]:
    server = shared_server(mariadb_binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS sbtest")
    yield server


def run(
    program: Path, server: PrivateServer, path: Path, words: list[str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            str(program),
            "sysbench",
            f"--mysql-socket={server.socket}",
            "--mysql-user=root",
            str(path),
            *words,
        ],
        cwd=GOLDEN / "modules",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("path", ROWS, ids=[path.stem for path in ROWS])
def test_row(path: Path, load_program: Path, server: PrivateServer) -> None:
    row = read(path)
    done = run(load_program, server, path, row.run)
    output = f"{done.stdout}\n--- standard error\n{done.stderr}"
    assert done.returncode == row.exit, output
    lines = iter(done.stdout.replace("\t", " ").splitlines())
    for pattern in row.says:
        assert any(re.search(pattern, line) for line in lines), f"no line {pattern!r} in\n{output}"
    for text in row.complains:
        assert text in done.stderr, output
    if row.within is not None:
        total = re.search(r"total time: +([\d.]+)s", done.stdout)
        assert total and float(total.group(1)) < row.within, output
    if row.twice:
        again = run(load_program, server, path, row.run + row.twice)
        assert drawn(again.stdout) == drawn(done.stdout) != []


def drawn(output: str) -> list[str]:
    return sorted(line for line in output.splitlines() if line.startswith("drew"))


def test_the_reference_names_every_row_and_no_other() -> None:
    interface = REFERENCE.read_text().split("## The Lua interface")[1]
    named = re.findall(r"^\| (\w+) \| ", interface, re.MULTILINE)
    named = [name for name in named if name != "test"]
    assert sorted(named) == sorted(path.stem for path in ROWS)
