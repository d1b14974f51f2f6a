"""`contend-load fill` against real servers: what it says it wrote is what can be read back."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from row_checksum import row_checksum
from sql import Factory, query

from contend.errors import ContendError
from contend.servers import PrivateServer, ServerBinary

Fill = Callable[..., subprocess.CompletedProcess[str]]

ROWS = 3_000


@pytest.fixture
def fill(load_program: Path) -> Fill:
    """`fill(server, *words, rows=…)`: the program run to its end."""

    def run(
        server: PrivateServer, *words: str, rows: int = ROWS
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *(str(load_program), "fill", "--socket", str(server.socket)),
                *("--create-database", "--rows", str(rows), *words),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return run


def last_line(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return line


def checksum_of(server: PrivateServer, table: str) -> str:
    rows = query(server, f"SELECT id, k, c, pad FROM {table} ORDER BY id")
    lines = ("\t".join(str(value) for value in row) + "\n" for row in rows)
    return f"{sum(row_checksum(line.encode()) for line in lines) % 2**64:016x}"


@pytest.fixture
def server(any_binary: ServerBinary, shared_server: Factory) -> PrivateServer:
    return shared_server(any_binary)


@pytest.fixture
def mariadb(mariadb_binary: ServerBinary, shared_server: Factory) -> Iterator[PrivateServer]:
    server = shared_server(mariadb_binary)
    yield server
    query(server, "DROP DATABASE IF EXISTS sbtest")


@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "InnoDB"])
@pytest.mark.parametrize("way", ["local", "pipe"])
def test_what_was_sent_is_what_is_there(
    server: PrivateServer, fill: Fill, engine: str, way: str
) -> None:
    if engine == "Aria" and server.binary.kind == "mysql":
        pytest.skip("MySQL has no Aria")
    words = ["--engine", engine, "--k", "random", "--seed", "5"]
    if way == "pipe":
        words += ["--pipe-dir", str(server.socket.parent)]
    query(server, "DROP DATABASE IF EXISTS sbtest")
    run = fill(server, *words)
    assert run.returncode == 0, run.stderr
    done = last_line(run)
    assert done["rows"] == ROWS
    assert done["warnings"] == []
    assert done["checksum"] == checksum_of(server, "sbtest.sbtest")
    table = done["tables"][0]
    # MySQL reads no file where secure_file_priv is NULL, and then the connection does.
    assert table["transport"] == (way if server.binary.kind == "mariadb" else "local")
    if engine != "InnoDB" and server.binary.kind == "mariadb":
        assert table["keys_by_sort"] is True
    assert query(server, "SELECT COUNT(*) FROM sbtest.sbtest FORCE INDEX (k) WHERE k > 0") == [
        (ROWS,)
    ]
    created = str(query(server, "SHOW CREATE TABLE sbtest.sbtest")[0][1])
    assert "STATS_AUTO_RECALC" not in created
    assert f"ENGINE={engine}" in created
    assert "latin1" in created
    left = [path.name for path in server.socket.parent.iterdir() if path.is_fifo()]
    assert left == []


STUDY_COLUMNS = [
    ("id", "int unsigned", "NO", None, "auto_increment"),
    ("k", "int unsigned", "NO", "0", ""),
    ("c", "char(120)", "NO", "", ""),
    ("pad", "char(60)", "NO", "", ""),
]


def test_the_study_s_table_is_the_study_s(server: PrivateServer, fill: Fill) -> None:
    query(server, "DROP DATABASE IF EXISTS sbtest")
    # 11,811 rows are the most that a key with 4 bytes of row pointer holds in two levels; with 6
    # bytes, or with one more for a k that may be NULL, it has three.
    run = fill(server, "--engine", "MyISAM", rows=11_811)
    assert run.returncode == 0, run.stderr
    columns = [
        (name, kind.replace("int(10)", "int"), null, text and text.strip("'"), extra)
        for name, kind, null, text, extra in query(
            server,
            "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA"
            " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'sbtest'"
            " ORDER BY ORDINAL_POSITION",
        )
    ]
    assert columns == STUDY_COLUMNS
    created = str(query(server, "SHOW CREATE TABLE sbtest.sbtest")[0][1])
    assert "PRIMARY KEY (`id`),\n  KEY `k` (`k`)\n) " in created and "ENGINE=MyISAM" in created
    assert "DEFAULT CHARSET=latin1" in created
    assert created.endswith("MAX_ROWS=50000000")
    row_bytes, bytes_max = query(
        server,
        "SELECT AVG_ROW_LENGTH, MAX_DATA_LENGTH FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = 'sbtest'",
    )[0]
    assert row_bytes == 189
    # As many rows as 4 bytes can point to.
    assert bytes_max // row_bytes == 2**32 - 1
    assert key_requests_of_a_point(server) == pytest.approx(6, abs=0.2)


def key_requests_of_a_point(server: PrivateServer) -> float:
    """Pages asked of the key cache for each of 100 points, two a query."""
    counter = "SHOW GLOBAL STATUS LIKE 'Key_read_requests'"
    points = "SELECT id, k, c, pad FROM sbtest.sbtest WHERE k IN ({}, {})"
    query(server, points.format(1, 2))
    before = int(query(server, counter)[0][1])
    for first in range(100, 10_100, 200):
        assert len(query(server, points.format(first, first + 77))) == 2
    return (int(query(server, counter)[0][1]) - before) / 100


def test_the_sysbench_schema_is_sysbench_s_own(
    mariadb: PrivateServer, fill: Fill, sysbench: str
) -> None:
    words = ["--schema", "sbtest-1.0", "--tables", "2", "--sessions", "2", "--k", "random"]
    run = fill(mariadb, *words)
    assert run.returncode == 0, run.stderr
    ours = {n: query(mariadb, f"SHOW CREATE TABLE sbtest.sbtest{n}")[0][1] for n in (1, 2)}
    query(mariadb, "DROP DATABASE sbtest")
    query(mariadb, "CREATE DATABASE sbtest")
    subprocess.run(
        [
            *(sysbench, "oltp_read_write", f"--mysql-socket={mariadb.socket}"),
            *("--mysql-user=root", "--tables=2", f"--table-size={ROWS}", "prepare"),
        ],
        check=True,
        capture_output=True,
    )
    theirs = {n: query(mariadb, f"SHOW CREATE TABLE sbtest.sbtest{n}")[0][1] for n in (1, 2)}
    assert ours == theirs


def test_a_table_that_exists_is_not_touched(mariadb: PrivateServer, fill: Fill) -> None:
    query(mariadb, "CREATE DATABASE sbtest")
    query(mariadb, "CREATE TABLE sbtest.sbtest (a INT) ENGINE=MyISAM SELECT 7 AS a")
    run = fill(mariadb)
    assert run.returncode == 2
    assert "exists already; nothing was changed" in run.stderr
    assert last_line(run)["code"] == 1050
    assert query(mariadb, "SELECT a FROM sbtest.sbtest") == [(7,)]


def test_a_signal_leaves_no_table(mariadb: PrivateServer, load_program: Path) -> None:
    words = ["--create-database", "--rows", "50000000", "--progress", "json"]
    child = subprocess.Popen(
        [str(load_program), "fill", "--socket", str(mariadb.socket), *words, "--engine", "MyISAM"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    for line in child.stdout:
        if json.loads(line)["rows"] > 0:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 1
    assert "stopped by a signal" in err
    assert json.loads(out.splitlines()[-1])["type"] == "error"
    assert query(mariadb, "SHOW TABLES FROM sbtest") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "Falcon"], "Unknown storage engine"),
        (["--table-options", "NO_SUCH_OPTION"], "SQL syntax"),
        (["--user", "nobody", "--connect-timeout-s", "5"], "refused the connection"),
    ],
    ids=["engine", "options", "user"],
)
def test_what_the_server_refuses_is_said(
    mariadb: PrivateServer, fill: Fill, words: list[str], said: str
) -> None:
    run = fill(mariadb, *words)
    assert run.returncode == 1
    assert said in run.stderr
    assert last_line(run)["type"] == "error"


def test_a_server_that_takes_no_local_file_says_what_to_set(
    mariadb: PrivateServer, fill: Fill
) -> None:
    query(mariadb, "SET GLOBAL local_infile = 0")
    try:
        run = fill(mariadb)
    finally:
        query(mariadb, "SET GLOBAL local_infile = 1")
    assert run.returncode == 1
    assert "local_infile" in run.stderr
    assert query(mariadb, "SHOW TABLES FROM sbtest") == []


def test_more_rows_than_the_disk_holds_are_refused_before_they_are_sent(
    mariadb: PrivateServer, fill: Fill
) -> None:
    run = fill(mariadb, "--engine", "MyISAM", rows=4_000_000_000)
    assert run.returncode == 1
    assert "needs about 840000 MB" in run.stderr
    assert query(mariadb, "SHOW TABLES FROM sbtest") == []


@pytest.mark.parametrize(
    ("engine", "wide"),
    [("MyISAM", "CHARSET=utf8mb4 ROW_FORMAT=FIXED"), ("InnoDB", "CHARSET=ucs2")],
)
@pytest.mark.timeout(400)
def test_a_full_disk_is_called_by_its_name(
    small_disk: Callable[[int], Path],
    mariadb_binary: ServerBinary,
    fill: Fill,
    tmp_path: Path,
    engine: str,
    wide: str,
) -> None:
    # The server's own files leave little room on it.
    server = PrivateServer(mariadb_binary, small_disk(160) / "server", tmp_path / "logs")
    try:
        server.initialise()
        server.start({"innodb_log_file_size": "8M", "innodb_buffer_pool_size": "16M"})
        # More bytes a character take more room than can be known beforehand.
        run = fill(server, "--engine", engine, "--table-options", wide, rows=300_000)
        assert run.returncode == 1, run.stdout
        assert "full" in run.stderr
        assert last_line(run)["code"] in (1021, 1114)
        # A server that waits for room keeps its table, and must survive all this.
        left = query(server, "SHOW TABLES FROM sbtest")
        assert ("half filled" in run.stderr) == (left != [])
    finally:
        with contextlib.suppress(ContendError):
            server.kill()
