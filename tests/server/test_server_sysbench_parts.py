"""Which keys the bundled select_random_* scripts ask for: each thread those of its own part.

Observed through the general log of a server; where sysbench is installed it is observed too.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sql import Factory

from contend.servers import PrivateServer, ServerBinary

ROWS = 1000
THREADS = 4
PARTS = [(0, 250), (250, 500), (500, 750), (750, 1000)]
SO_MANY_EACH = """
local whole, done = event, 0
function event(...)
  whole(...)
  done = done + 1
  return done == 500
end
"""
"""Each thread does as many events, however they would fall to threads of one run."""
SCRIPTS = {
    "select_random_points": ("--random-points=3", r"IN \((\d+),\s*(\d+),\s*(\d+)\)"),
    "select_random_ranges": ("--number-of-ranges=2", r"BETWEEN (\d+) AND \d+ OR k BETWEEN (\d+)"),
}


@pytest.fixture(scope="module")
def server(mariadb_binary: ServerBinary, shared_server: Factory) -> Iterator[PrivateServer]:
    server = shared_server(mariadb_binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE sbtest")
        cursor.execute(
            "CREATE TABLE sbtest.sbtest1"
            " (id INT PRIMARY KEY, k INT, c CHAR(1), pad CHAR(1), KEY(k))"
        )
    yield server


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("whose", ["ours", "sysbench"])
def test_each_thread_asks_for_keys_of_its_own_part(
    script: str,
    whose: str,
    server: PrivateServer,
    load_program: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    option, pattern = SCRIPTS[script]
    if whose == "ours":
        program = [str(load_program), "sysbench"]
    else:
        program = [request.getfixturevalue("sysbench")]
    so_many = tmp_path / "so_many.lua"
    so_many.write_text(f'require("{script}")\n{SO_MANY_EACH}')
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL general_log_file = '{tmp_path / 'general.log'}'")
        cursor.execute("SET GLOBAL general_log = 1")
        subprocess.run(
            [
                *(*program, str(so_many), f"--mysql-socket={server.socket}", "--mysql-user=root"),
                *(f"--threads={THREADS}", f"--table-size={ROWS}", "--time=0"),
                *("--rand-type=uniform", option, "run"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        cursor.execute("SET GLOBAL general_log = 0")
    asked: dict[str, list[int]] = {}
    log = (tmp_path / "general.log").read_text()
    for who, statement in re.findall(r"(\d+) Execute\s(.*?)(?=\n\d{6} |\n\t\t|\Z)", log, re.DOTALL):
        keys = re.search(pattern, statement)
        assert keys, statement
        asked.setdefault(who, []).extend(map(int, keys.groups()))
    for (low, high), keys_of_one in zip(PARTS, sorted(asked.values(), key=min), strict=True):
        assert low <= min(keys_of_one) < low + 25, "draws come from the whole part"
        assert high - 25 < max(keys_of_one) <= high
