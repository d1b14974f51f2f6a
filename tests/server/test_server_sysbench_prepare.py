"""`prepare` of the bundled scripts: sysbench's tables, filled the fast way or by statements."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sql import Factory, query

from contend.servers import PrivateServer, ServerBinary

ROWS = 3_000
C = r"^(\d{11}-){9}\d{11}$"
PAD = r"^(\d{11}-){4}\d{11}$"
STEPS = re.compile(r"(?:Creating|Inserting) [^'\n]*'\w+'(?:\.\.\.)?")
"""What is said of each step: threads of sysbench end their lines where they get to."""


def prepare(
    program: list[str], server: PrivateServer, *words: str, script: str = "oltp_read_write"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(*program, script, f"--mysql-socket={server.socket}", "--mysql-user=root"),
            *(f"--table-size={ROWS}", *words, "prepare"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def start_anew(server: PrivateServer) -> None:
    query(server, "DROP DATABASE IF EXISTS sbtest")
    query(server, "CREATE DATABASE sbtest")


def tables(server: PrivateServer) -> dict[str, str]:
    """The statements that make the tables, by name."""
    names = [str(name) for (name,) in query(server, "SHOW TABLES FROM sbtest")]
    return {name: str(query(server, f"SHOW CREATE TABLE sbtest.{name}")[0][1]) for name in names}


@pytest.fixture
def ours(load_program: Path) -> list[str]:
    return [str(load_program), "sysbench"]


@pytest.fixture(params=[1, 0], ids=["load", "insert"])
def server(
    any_binary: ServerBinary, shared_server: Factory, request: pytest.FixtureRequest
) -> Iterator[PrivateServer]:
    server = shared_server(any_binary, {"local_infile": request.param})
    start_anew(server)
    yield server
    query(server, "DROP DATABASE sbtest")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--auto-inc=off"],
        ["--secondary=on"],
        ["--create-secondary=off"],
        ["--auto-inc=off", "--secondary=on", "--create-secondary=off"],
        ["--tables=3", "--threads=2"],
        ["--mysql-storage-engine=MyISAM"],
        ["--mysql-storage-engine=Aria"],
        ["--table-size=0"],
    ],
    ids=lambda words: " ".join(words) or "plain",
)
def test_the_tables_are_sysbench_s(
    mariadb_binary: ServerBinary,
    shared_server: Factory,
    ours: list[str],
    sysbench: str,
    words: list[str],
) -> None:
    server = shared_server(mariadb_binary)
    made = []
    for program in (ours, [sysbench]):
        start_anew(server)
        run = prepare(program, server, *words)
        assert run.returncode == 0, run.stdout + run.stderr
        made.append((tables(server), sorted(STEPS.findall(run.stdout))))
    assert made[0] == made[1]


def test_the_rows_are_those_of_the_schema(server: PrivateServer, ours: list[str]) -> None:
    run = prepare(ours, server, "--tables=2", "--threads=6", "--rand-type=uniform")
    assert run.returncode == 0, run.stdout + run.stderr
    contents = []
    for table in ("sbtest1", "sbtest2"):
        rows = query(server, f"SELECT id, k, c, pad FROM sbtest.{table} ORDER BY id")
        assert [row[0] for row in rows] == list(range(1, ROWS + 1))
        assert all(1 <= row[1] <= ROWS for row in rows)
        assert len({row[1] for row in rows}) > ROWS // 2
        assert all(re.match(C, row[2]) and re.match(PAD, row[3]) for row in rows)
        by_key = query(server, f"SELECT COUNT(*) FROM sbtest.{table} WHERE k > 0")
        assert by_key == [(ROWS,)]
        contents.append(rows)
    assert contents[0] != contents[1]
    created = tables(server)
    assert all("STATS_AUTO_RECALC" not in statement for statement in created.values())
    assert all(f"AUTO_INCREMENT={ROWS + 1} " in statement for statement in created.values())


def test_a_seed_makes_the_same_rows_whatever_the_way(
    server: PrivateServer, ours: list[str]
) -> None:
    contents = []
    for threads in (1, 3):
        start_anew(server)
        run = prepare(ours, server, "--rand-seed=7", f"--threads={threads}")
        assert run.returncode == 0, run.stdout + run.stderr
        contents.append(query(server, "SELECT * FROM sbtest.sbtest1 ORDER BY id"))
    assert contents[0] == contents[1]


def test_sessions_that_are_in_each_other_s_way_fill_the_table_all_the_same(
    server: PrivateServer, ours: list[str]
) -> None:
    for _ in range(3):
        start_anew(server)
        run = prepare(ours, server, "--threads=16")
        assert run.returncode == 0, run.stdout + run.stderr
        assert query(server, "SELECT COUNT(*), MAX(id) FROM sbtest.sbtest1") == [(ROWS, ROWS)]


def test_keys_are_drawn_as_the_options_say(server: PrivateServer, ours: list[str]) -> None:
    run = prepare(ours, server, "--rand-type=special", "--rand-spec-pct=1", "--rand-spec-res=90")
    assert run.returncode == 0, run.stdout + run.stderr
    hot = query(
        server,
        "SELECT COUNT(*) FROM sbtest.sbtest1 "
        f"WHERE k BETWEEN {ROWS // 2 - ROWS // 100} AND {ROWS // 2 + ROWS // 100}",
    )
    assert hot[0][0] > ROWS * 0.8


def test_a_table_that_exists_is_not_touched(server: PrivateServer, ours: list[str]) -> None:
    query(server, "CREATE TABLE sbtest.sbtest1 (a INT)")
    run = prepare(ours, server)
    assert run.returncode == 1
    assert "1050" in run.stdout
    assert query(server, "SELECT COUNT(*) FROM sbtest.sbtest1") == [(0,)]


def test_a_script_of_the_user_s_makes_its_rows_itself(
    server: PrivateServer, ours: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "mine.lua"
    script.write_text('require("oltp_common")\nfunction get_c_value() return "mine" end\n')
    run = prepare(ours, server, "--table-size=20", script=str(script))
    assert run.returncode == 0, run.stdout + run.stderr
    assert query(server, "SELECT DISTINCT c FROM sbtest.sbtest1") == [("mine",)]
