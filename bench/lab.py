"""Private servers with one table in them, for the benchmarks: started, filled, and gone after."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from peers import Target

from contend.load import find_program
from contend.servers import PrivateServer
from contend.servers.find import find_server

DATABASE = "contend"
TABLE = "sbtest1"

STUDY_OPTIONS: Mapping[str, str | int] = {
    "key_buffer_size": "512M",
    "query_cache_type": 0,
    "query_cache_size": 0,
    "max_connections": 256,
    "table_open_cache": 512,
    "thread_cache_size": 512,
}


@dataclass(frozen=True)
class BenchServer:
    """A running server and how the peers reach it."""

    server: PrivateServer
    version: str
    rows: int

    @property
    def target(self) -> Target:
        """By its Unix socket."""
        return Target(socket=self.server.socket, database=DATABASE, table=TABLE, rows=self.rows)

    @property
    def tcp_target(self) -> Target:
        """By its port on the loopback address."""
        return Target(port=self.server.port, database=DATABASE, table=TABLE, rows=self.rows)

    def set_segments(self, segments: int) -> None:
        """Split the key cache so, and load the whole index into it."""
        with self.server.connect(DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL key_cache_segments = {segments:d}")
            cursor.execute(f"LOAD INDEX INTO CACHE {TABLE}")
            cursor.fetchall()


@contextlib.contextmanager
def private_server(
    options: Mapping[str, str | int],
    *,
    wanted: str | None = None,
    tcp: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Iterator[PrivateServer]:
    """A private MariaDB with the given options and an empty database: that of the machine's own
    release unless another is wanted."""
    folder = Path(tempfile.mkdtemp(prefix="contend-bench-"))
    binary = find_server("mariadb", wanted=wanted)
    try:
        with PrivateServer(binary, folder / "server") as server:
            server.environment = environment or {}
            server.initialise()
            server.start(options, tcp=tcp)
            with server.connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE DATABASE {DATABASE}")
                # sysbench on TCP cannot come in by the socket's account.
                cursor.execute("CREATE USER IF NOT EXISTS root@'127.0.0.1'")
                cursor.execute("GRANT ALL ON *.* TO root@'127.0.0.1'")
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fill(server: PrivateServer, *, engine: str, rows: int, table: str = TABLE) -> None:
    """Fill one table with contend's own loader."""
    subprocess.run(
        [
            *(str(find_program()), "fill", f"--socket={server.socket}", "--user=root"),
            *(f"--database={DATABASE}", f"--table={table}", f"--engine={engine}"),
            *("--schema=sbtest", f"--rows={rows}", "--seed=1"),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def key_cache_server(*, rows: int) -> Iterator[BenchServer]:
    """The study's server and table: MyISAM, no column NULL, MAX_ROWS=50000000, the index in the
    key cache."""
    with private_server(STUDY_OPTIONS) as server:
        fill(server, engine="MyISAM", rows=rows)
        yield BenchServer(server, server.variables()["version"], rows)


@contextlib.contextmanager
def table_server(*, rows: int, connections_max: int) -> Iterator[BenchServer]:
    """An InnoDB table that fits its buffer pool, reached by socket and by loopback."""
    options: dict[str, str | int] = {
        "innodb_buffer_pool_size": "1G",
        "max_connections": connections_max + 64,
        "thread_cache_size": connections_max + 64,
        "max_prepared_stmt_count": 1_000_000,
        "back_log": 4096,
    }
    with private_server(options, tcp=True) as server:
        fill(server, engine="InnoDB", rows=rows)
        yield BenchServer(server, server.variables()["version"], rows)
