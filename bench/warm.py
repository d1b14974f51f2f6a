"""How long does it take to warm a cold buffer pool, by `contend warm` and by everything else?

    python bench/warm.py                    # the whole: 10 million rows, 2 GB
    python bench/warm.py --rows 200000 --pool 256M --rounds 2

Each way begins at a server that was restarted without a load, with nothing of its files in the page
cache. `contend warm` is the command as it is typed, Python's start included; on the server's own
host it has the server load a list of pages, with `--scan` it reads ranges of keys. The study's tool
asks one count(*) a keyed column, on one connection. The server's own dump/load has the list of a
pool that held everything. The floor is the table's file, read with O_DIRECT in order, a MiB at a
time: nothing gets warm by it. What is resident afterwards is counted index by index from the
server's list, as `contend warm --status` does.
"""

from __future__ import annotations

import argparse
import mmap
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from cold_server import DATABASE, TABLE, ColdServer, cold_server
from rounds import alternate, markdown_table, publish, ratio

from contend.undo import Journal, put_back
from contend.warm import page_list, pool, server_list
from contend.warm.pool import taken
from contend.warm.segments import Tablespace
from contend.warm.server_list import ServerHost
from contend.warm.tablespaces import read_catalogue

NAIVE = (
    f"SELECT COUNT(*) FROM {DATABASE}.{TABLE} WHERE random_str2 = 0 OR random_str2 = '0'",
    f"SELECT COUNT(*) FROM {DATABASE}.{TABLE} WHERE random_str LIKE '%0%'",
)
OURS = "contend warm"


@dataclass(frozen=True)
class Cost:
    wall_s: float
    resident: dict[str, float]

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {share:.1%}" for name, share in self.resident.items())
        return f"{self.wall_s:.2f} s, resident: {shares}"


@dataclass(frozen=True)
class Bench:
    """One server, and every way to warm it."""

    cold: ColdServer
    journal: Journal

    @property
    def host(self) -> ServerHost:
        return ServerHost(self.cold.server.data_folder)

    def run(self, way: Callable[[], object]) -> Cost:
        self.cold.cold()
        began_s = time.monotonic()
        way()
        wall_s = time.monotonic() - began_s
        pages = self.held()
        with self.cold.server.connect() as connection:
            catalogue = read_catalogue(connection, "mariadb")
        parts = pool.by_index(pages, catalogue, self.host, 16384, [f"{DATABASE}.{TABLE}"])
        return Cost(wall_s, {str(part.index): part.share or 0.0 for part in parts})

    def held(self) -> page_list.Pages:
        """The list of what is in the buffer pool."""
        with self.cold.server.connect() as connection:
            pages = taken(connection, self.journal, self.host)
        put_back(self.journal, self.cold.server)
        return pages

    def load(self, pages: page_list.Pages) -> None:
        with self.cold.server.connect() as connection:
            server_list.load(connection, self.host, self.journal, pages)

    def whole_file(self) -> None:
        with Tablespace(self.cold.file) as file:
            self.load(page_list.of_tablespace(file.space, file.used()))

    def naive(self) -> None:
        self.cold.ask(*NAIVE)

    def floor(self) -> None:
        buffer = mmap.mmap(-1, 1 << 20)
        descriptor = os.open(self.cold.file, os.O_RDONLY | os.O_DIRECT)
        try:
            at = 0
            while (got := os.preadv(descriptor, [buffer], at)) > 0:
                at += got
        finally:
            os.close(descriptor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pool", default="3G", help="innodb_buffer_pool_size")
    parser.add_argument("--flush-method", default="O_DIRECT", choices=["O_DIRECT", "fsync"])
    parser.add_argument("--server", default="mariadb", help="a MariaDB, as contend names it")
    parser.add_argument("--folder", help="on the disk to ask; default: that of temporary files")
    asked = parser.parse_args()
    with cold_server(asked.server, asked.pool, asked.flush_method, asked.folder) as cold:
        cold.fill(asked.rows)
        bench = Bench(cold, Journal.open(cold.server.folder.root / "journal", "bench"))
        cold.cold()
        cold.contend_warm("--scan")
        everything = bench.held()
        ways: dict[str, Callable[[], object]] = {
            OURS: cold.contend_warm,
            f"{OURS} --scan": lambda: cold.contend_warm("--scan"),
            "a list of the file alone": bench.whole_file,
            "dump/load at 100 %": lambda: bench.load(everything),
            "the study's tool": bench.naive,
            "floor (O_DIRECT, 1 MiB)": bench.floor,
        }
        size = cold.file.stat().st_size
        costs = alternate(ways, bench.run, rounds=asked.rounds, seed=131)
        server = cold.server.binary.name
    walls = {name: [cost.wall_s for cost in runs] for name, runs in costs.items()}
    publish(
        f"warm-{asked.flush_method.lower()}",
        f"Warming {size / 1e9:.2f} GB of InnoDB from cold",
        [
            f"{server}; {asked.rows:,} rows of the study's table and its index; "
            f"innodb_buffer_pool_size = {asked.pool}, innodb_flush_method = {asked.flush_method}",
            "resident: the least of the rounds and of both indexes",
            f"`{OURS}` is the command as it is typed, the start of Python included; a list of the "
            "file alone is what it has the server load, without that start",
            "medians of the rounds; ratios are means over the rounds' pairs with 95 % intervals",
        ],
        markdown_table(
            ["way", "s", "MB/s", "resident", f"{OURS} / this"],
            [
                [
                    name,
                    f"{statistics.median(walls[name]):.2f}",
                    f"{size / 1e6 / statistics.median(walls[name]):,.0f}",
                    f"{min(min(cost.resident.values()) for cost in runs):.1%}",
                    "" if name == OURS or asked.rounds < 2 else ratio(walls[OURS], walls[name]),
                ]
                for name, runs in costs.items()
            ],
        ),
    )


if __name__ == "__main__":
    main()
