"""A private MariaDB with the table of the warm-up study, which can be made cold again and again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from contend.get import find_server
from contend.lab.caches import drop_files
from contend.servers import PrivateServer

DATABASE, TABLE = "study", "test_data"
BATCH = 100_000


@dataclass(frozen=True)
class ColdServer:
    """The server, and the options that it is started with."""

    server: PrivateServer
    options: dict[str, str | int]

    @property
    def file(self) -> Path:
        return self.server.data_folder / DATABASE / f"{TABLE}.ibd"

    @property
    def dsn(self) -> str:
        return f"mysql://root@/{DATABASE}?socket={self.server.socket}"

    def ask(self, *statements: str) -> list[tuple[object, ...]]:
        """Ask them in turn; the rows of the last."""
        rows: list[tuple[object, ...]] = []
        with self.server.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    def fill(self, rows: int) -> None:
        """The study's table; `random_str` may be NULL, as published. The longest strings that
        SHA2 gives in hex make 10 million rows some 2 GB with their index."""
        self.ask(
            f"CREATE DATABASE {DATABASE}",
            f"CREATE TABLE {DATABASE}.{TABLE} (id INT AUTO_INCREMENT PRIMARY KEY,"
            " random_str VARCHAR(255) NULL, random_str2 VARCHAR(255) NULL) ENGINE=InnoDB",
        )
        for first in range(1, rows + 1, BATCH):
            last = min(first + BATCH - 1, rows)
            self.ask(
                f"INSERT INTO {DATABASE}.{TABLE} (random_str, random_str2)"
                f" SELECT SHA2(seq, 256), SHA1(-seq) FROM {DATABASE}.seq_{first}_to_{last}"
            )
        self.ask(
            f"ALTER TABLE {DATABASE}.{TABLE} ADD KEY random_str (random_str)",
            f"ANALYZE TABLE {DATABASE}.{TABLE}",
        )

    def cold(self) -> None:
        """Restarted without a load; none of its files is in the page cache, and that is seen."""
        self.server.stop()
        drop_files(self.server.data_folder)
        self.server.start(self.options)

    def pages(self) -> int:
        """Pages in the buffer pool."""
        return int(str(self.ask("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'")[0][1]))

    def contend_warm(self, *words: str) -> float:
        """The command as it is typed; seconds of it, Python's start included."""
        began_s = time.monotonic()
        environment = os.environ | {"XDG_STATE_HOME": str(self.server.folder.root / "state")}
        subprocess.run(
            [sys.executable, "-m", "contend", "warm", self.dsn, *words],
            check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return time.monotonic() - began_s


@contextmanager
def cold_server(
    name: str, pool: str, flush_method: str, folder: str | None
) -> Iterator[ColdServer]:
    """A server in a temporary folder, which is gone afterwards."""
    options: dict[str, str | int] = {
        "innodb_buffer_pool_size": pool,
        "innodb_flush_method": flush_method,
        "innodb_buffer_pool_dump_at_shutdown": 0,
        "innodb_buffer_pool_load_at_startup": 0,
        "innodb_log_file_size": "256M",
        "innodb_flush_log_at_trx_commit": 2,
    }
    binary = find_server("mariadb", wanted=name)
    with (
        tempfile.TemporaryDirectory(prefix="contend-bench-", dir=folder) as place,
        PrivateServer(binary, Path(place) / "server") as server,
    ):
        server.initialise()
        server.start(options)
        yield ColdServer(server, options)
