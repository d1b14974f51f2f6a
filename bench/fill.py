"""How long does filling a table take, beside `sysbench prepare` and `LOAD DATA` of a ready file?

All contestants make the same table of sysbench's schema on the same server, one after the other
in random order, and drop it again outside the measured time. The file holds the very rows that
contend-load makes and lies in the page cache. Beside the wall time stand the CPU seconds that
server and client used: they say the same on a machine that has other things to do.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fill_costs import SERVER_OPTIONS, Cost, cost_of, table_of, tell
from lab import DATABASE, private_server
from rounds import alternate, publish

from contend.load import find_program
from contend.servers import PrivateServer

TABLE = "sbtest1"
COLUMNS = (
    "id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, "
    "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, "
    "PRIMARY KEY (id), KEY k_1 (k)"
)
LIMITS = {"MyISAM": {"sysbench": 0.65}, "InnoDB": {"sysbench": 0.60}}
FILE_LIMIT = 1.1


@dataclass(frozen=True)
class Bench:
    """One server, and every way to fill a table on it."""

    server: PrivateServer
    rows: int
    file: Path

    def contend(self, engine: str, *more: str) -> None:
        """contend-load's own fill, random k as sysbench has it."""
        _run(
            *(str(find_program()), "fill", f"--socket={self.server.socket}"),
            *(f"--database={DATABASE}", f"--table={TABLE}", "--schema=sbtest-1.0"),
            *(f"--engine={engine}", f"--rows={self.rows}", "--k=random", *more),
        )

    def sysbench(self, engine: str) -> None:
        """`sysbench oltp_read_write prepare`."""
        _run(
            *("sysbench", "oltp_read_write", f"--mysql-socket={self.server.socket}"),
            *("--mysql-user=root", f"--mysql-db={DATABASE}", "--tables=1"),
            *(f"--mysql-storage-engine={engine}", f"--table-size={self.rows}", "prepare"),
        )

    def load_file(self, engine: str, where: str) -> None:
        """`LOAD DATA` of the ready file, as one who knows the bulk path would do it."""
        statements = (
            f"CREATE TABLE {TABLE} ({COLUMNS}) ENGINE={engine};"
            "SET unique_checks = 0, foreign_key_checks = 0;"
            f"LOAD DATA {where} INFILE '{self.file}' INTO TABLE {TABLE}"
        )
        tell(self.server, DATABASE, statements)

    def run(self, way: Callable[[], None]) -> Cost:
        """Run one way to its end, then drop what it made."""
        cost = cost_of(way, self.server)
        self.drop()
        return cost

    def drop(self) -> None:
        """The table goes, outside the measured time."""
        with self.server.connect(DATABASE) as connection, connection.cursor() as cursor:
            rows = self.rows
            cursor.execute(f"SELECT COUNT(*) FROM {TABLE}")
            found = cursor.fetchone()
            assert found == (rows,), f"{found} rows instead of {rows}"
            cursor.execute(f"DROP TABLE {TABLE}")

    def write_file(self) -> None:
        """The rows of contend-load as a file, which the first reader leaves in the page cache."""
        self.contend("MyISAM")
        with self.server.connect(DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {TABLE} INTO OUTFILE '{self.file}'")
        self.drop()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def contestants(bench: Bench, engine: str) -> dict[str, Callable[[], None]]:
    """Every way to fill a table, by the name that the result gives it."""
    pipe = f"--pipe-dir={bench.server.socket.parent}"
    return {
        "contend (pipe)": lambda: bench.contend(engine, pipe),
        "contend (connection)": lambda: bench.contend(engine),
        "sysbench prepare": lambda: bench.sysbench(engine),
        "LOAD DATA INFILE": lambda: bench.load_file(engine, ""),
        "LOAD DATA LOCAL INFILE": lambda: bench.load_file(engine, "LOCAL"),
    }


AGAINST = {
    "sysbench": "sysbench prepare",
    "file": "LOAD DATA INFILE",
    "local file": "LOAD DATA LOCAL INFILE",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--engines", nargs="+", default=["MyISAM", "InnoDB"])
    options = parser.parse_args()
    if shutil.which("sysbench") is None:
        raise SystemExit("sysbench is missing: make test-needs")
    parts = []
    with private_server(SERVER_OPTIONS) as server:
        version = server.variables()["version"]
        bench = Bench(server, options.rows, server.socket.parent / "rows.tsv")
        bench.write_file()
        for engine in options.engines:
            ways = contestants(bench, engine)
            costs = alternate(ways, bench.run, rounds=options.rounds, seed=303)
            limits = ", ".join(f"{n} {limit}" for n, limit in LIMITS.get(engine, {}).items())
            parts += [
                f"## {engine}",
                "",
                *([f"Aims: at most {limits}, file {FILE_LIMIT}.", ""] if limits else []),
                table_of(costs, AGAINST),
                "",
            ]
    publish(
        "fill",
        f"Filling a table of {options.rows:,} rows",
        [
            f"server {version}",
            "sysbench: `oltp_read_write prepare`, one table, one thread",
            "file: a ready file of the same rows in the page cache, unique_checks=0",
            "medians of the rounds; ratios are means over the rounds' pairs with 95 % intervals",
        ],
        "\n".join(parts),
    )


if __name__ == "__main__":
    main()
