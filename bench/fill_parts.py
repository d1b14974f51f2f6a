"""Is one InnoDB table loaded faster by two sessions than by one?

The order lines of TPC-C go from ready files into an empty table, undivided or in two partitions by
warehouse: all of them by one session, or by two sessions that have half of the warehouses each, of
a divided table a partition each. Files lie in the page cache; alternating, in random order.
"""

from __future__ import annotations

import argparse
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fill_costs import SERVER_OPTIONS, Cost, cost_of, table_of, tell
from lab import private_server
from rounds import alternate, publish

from contend.load import find_program
from contend.servers import PrivateServer

TABLE = "order_line"
ORDER = "ORDER BY ol_w_id, ol_d_id, ol_o_id, ol_number"
ONE = "undivided, one session"
# As contend-load fills: see load/src/fill/recipe.rs.
OPTIONS = "ENGINE=InnoDB STATS_AUTO_RECALC=0"
SETTINGS = "SET unique_checks = 0, foreign_key_checks = 0, innodb_lock_wait_timeout = 600"


@dataclass(frozen=True)
class Way:
    """The table, and what each session loads into which part of it."""

    create: str
    jobs: tuple[tuple[Path, str], ...]


def ways(server: PrivateServer, warehouses: int, shrink: int) -> dict[str, Way]:
    """All ways; what they load lies in files, and the database is empty."""
    folder = server.socket.parent / "parts"
    folder.mkdir()
    folder.chmod(0o777)
    command = [find_program(), "fill", f"--socket={server.socket}", "--schema=tpcc"]
    command += ["--create-database", f"--with=warehouses={warehouses}", f"--with=shrink={shrink}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    half = warehouses // 2
    conditions = {
        "all": "TRUE",
        "low": f"ol_w_id <= {half}",
        "high": f"ol_w_id > {half}",
    }
    with server.connect("tpcc") as connection, connection.cursor() as cursor:
        cursor.execute(f"SHOW CREATE TABLE {TABLE}")
        create = str((cursor.fetchone() or ("", ""))[1]).replace("ENGINE=InnoDB", OPTIONS)
        for name, condition in conditions.items():
            where = f"WHERE {condition} {ORDER} INTO OUTFILE '{folder / name}'"
            cursor.execute(f"SELECT * FROM {TABLE} {where}")
        for statement in ("DROP DATABASE tpcc", "CREATE DATABASE tpcc"):
            cursor.execute(statement)
    divided = (
        f"{create} PARTITION BY RANGE (ol_w_id) (PARTITION low VALUES LESS THAN ({half + 1}), \
        PARTITION high VALUES LESS THAN MAXVALUE)"
    )
    one = ((folder / "all", ""),)
    return {
        ONE: Way(create, one),
        "undivided, two sessions": Way(create, ((folder / "low", ""), (folder / "high", ""))),
        "divided, one session": Way(divided, one),
        "divided, two sessions": Way(
            divided,
            ((folder / "low", "PARTITION (low)"), (folder / "high", "PARTITION (high)")),
        ),
    }


def load(server: PrivateServer, way: Way) -> Callable[[], None]:
    def all_sessions() -> None:
        tell(server, "tpcc", way.create)
        sessions = [
            threading.Thread(
                target=tell,
                args=(
                    server,
                    "tpcc",
                    f"{SETTINGS}; LOAD DATA INFILE '{file}' INTO TABLE {TABLE} {part}",
                ),
            )
            for file, part in way.jobs
        ]
        for session in sessions:
            session.start()
        for session in sessions:
            session.join()

    return all_sessions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warehouses", type=int, default=4)
    parser.add_argument("--shrink", type=int, default=1, help="a trial: one row in so many")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with private_server(SERVER_OPTIONS) as server:
        version = server.variables()["version"]
        counts = set()

        def run(way: Way) -> Cost:
            cost = cost_of(load(server, way), server)
            with server.connect("tpcc") as connection, connection.cursor() as cursor:
                cursor.execute(f"SELECT COUNT(*) FROM {TABLE}")
                counts.add(cursor.fetchone())
                cursor.execute(f"DROP TABLE {TABLE}")
            assert len(counts) == 1, f"rows are missing: {counts}"
            return cost

        found = ways(server, options.warehouses, options.shrink)
        costs = alternate(found, run, rounds=options.rounds, seed=303)
    publish(
        "fill-parts",
        f"One table, one session or two: order lines of {options.warehouses} warehouses",
        [f"server {version}, InnoDB", "medians of the rounds; ratios with 95 % intervals"],
        table_of(costs, {"one session": ONE}),
    )


if __name__ == "__main__":
    main()
