"""The Lua interface of sysbench: one script a row of the table in docs/reference/sysbench.md.

A script says on its first lines how it is run and what must come of it:

-- run: options and command
-- twice: an option; what the script prints must be the same with it and without it
-- exit: exit code, 0 where nothing is said
-- says: a pattern that a line of the output matches, in this order
-- complains: text on standard error
-- within: seconds that the run may take of its own time, far above what it needs
-- unordered: why lines come in any order
-- alone: why sysbench says something else

Where sysbench 1.0.20 is installed each script runs under it too, and what it prints must be the
same but for times and counts, unless the script says that it is alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sysbench_peer as peer
from sql import Factory

from contend.servers import PrivateServer, ServerBinary

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sysbench"
REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "sysbench.md"
ROWS = sorted(GOLDEN.glob("api/*.lua"))
SYSBENCH = peer.find_peer()


@dataclass
class Row:
    run: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    exit: int = 0
    says: list[str] = field(default_factory=list)
    complains: list[str] = field(default_factory=list)
    within: float | None = None
    unordered: bool = False
    alone: bool = False


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
        elif name in ("unordered", "alone"):
            assert value, f"{path.name}: say why"
            setattr(row, name, True)
        else:
            getattr(row, name).append(value)
    return row


@pytest.fixture(scope="module")
def server(mariadb_binary: ServerBinary, shared_server: Factory) -> Iterator[PrivateServer]:
    server = shared_server(mariadb_binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS sbtest")
    yield server


def run(program: list[str], server: PrivateServer, path: Path, words: list[str]) -> peer.Done:
    entry = [f"--mysql-socket={server.socket}", "--mysql-user=root", f"../api/{path.name}"]
    return peer.run([*program, *entry], words, folder=GOLDEN / "modules")


def masked(done: peer.Done, row: Row) -> list[str]:
    lines = peer.mask(str(done), counts=True).splitlines()
    return sorted(lines) if row.unordered else lines


@pytest.mark.parametrize("path", ROWS, ids=[path.stem for path in ROWS])
def test_row(path: Path, load_program: Path, server: PrivateServer) -> None:
    row = read(path)
    program = [str(load_program), "sysbench"]
    done = run(program, server, path, row.run)
    assert done.code == row.exit, done
    lines = iter(done.out.replace("\t", " ").splitlines())
    for pattern in row.says:
        assert any(re.search(pattern, line) for line in lines), f"no line {pattern!r} in\n{done}"
    for text in row.complains:
        assert text in done.err, done
    if row.within is not None:
        total = re.search(r"total time: +([\d.]+)s", done.out)
        assert total and float(total.group(1)) < row.within, done
    if row.twice:
        again = run(program, server, path, row.run + row.twice)
        assert drawn(again.out) == drawn(done.out) != []
    if SYSBENCH and not row.alone:

        def theirs() -> list[str]:
            return masked(run([SYSBENCH], server, path, row.run), row)

        said = masked(done, row)
        assert said == peer.until(said, theirs), "sysbench says otherwise"


def drawn(output: str) -> list[str]:
    return sorted(line for line in output.splitlines() if line.startswith("drew"))


def test_the_reference_names_every_row_and_no_other() -> None:
    interface = REFERENCE.read_text().split("## The Lua interface")[1]
    named = re.findall(r"^\| (\w+) \| ", interface, re.MULTILINE)
    named = [name for name in named if name != "test"]
    assert sorted(named) == sorted(path.stem for path in ROWS)
