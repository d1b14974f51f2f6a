"""What a thousand threads of a script cost to start and to hold, and what `prepare` takes.

    python bench/script_start.py [--parts threads prepare] [--rounds 5]

Threads are run against the null server of contend-load, which answers at once: what is measured
is the client alone. `prepare` fills tables of a private MariaDB server.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lab import DATABASE, private_server
from null_servers import NullServer
from peers import PeerFailed, spent, version_of
from rounds import alternate, markdown_table, publish, ratio

from contend.load import find_program
from contend.servers import PrivateServer

OURS, THEIRS = "contend", "sysbench"
HEAD = ["what", "contend", "sysbench", "ratio", "aim"]


@dataclass(frozen=True)
class Cost:
    """One run of a program, from its start to its exit."""

    wall_s: float
    cpu_s: float
    rss_max_mb: float


Program = list[str]
Programs = Mapping[str, Program]


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end."""
    began = time.monotonic()
    _, cpu_s, rss_kb = spent(list(command))
    return Cost(time.monotonic() - began, cpu_s, rss_kb / 1024)


def compared(
    programs: Programs, way: Callable[[Program], Cost], rounds: int
) -> tuple[list[Cost], list[Cost]]:
    """Both programs in turn: the costs of ours, and of sysbench, by round."""
    costs = alternate(programs, way, rounds=rounds, seed=303)
    return costs[OURS], costs[THEIRS]


def row(
    what: str, unit: str, aim: float, ours: Sequence[float], theirs: Sequence[float]
) -> list[str]:
    """One line of the table: medians, and the ratio of neighbours."""
    shown = [f"{statistics.median(side):.2f} {unit}" for side in (ours, theirs)]
    return [what, *shown, ratio(ours, theirs), f"at most {aim}"]


def threads_rows(programs: Programs, threads: int, seconds: int, rounds: int) -> list[list[str]]:
    """Start, and memory under load."""
    with NullServer() as server:
        where = [f"--mysql-socket={server.socket}", "--mysql-user=root", "--mysql-db=contend"]
        common = ["oltp_point_select", *where, f"--threads={threads}", "--table-size=1000000"]
        # An event for each thread, so that the run ends as soon as all have begun.
        start = [*common, f"--events={threads}", "--time=0", "run"]
        held = [*common, "--events=0", f"--time={seconds}", "run"]
        started = compared(programs, lambda program: run([*program, *start]), rounds)
        loaded = compared(programs, lambda program: run([*program, *held]), max(2, rounds // 2))
    name = f"{threads:,} threads"
    return [
        row(f"{name}, start and one event each", "s", 0.5, *walls(started)),
        row(f"{name}, CPU of that", "CPU s", 0.5, *cpus(started)),
        row(f"{name}, peak memory of {seconds} s of load", "MB", 0.5, *memories(loaded)),
    ]


def prepare_rows(programs: Programs, one: int, eight: int, rounds: int) -> list[list[str]]:
    """Filling tables."""
    options: dict[str, str | int] = {
        "innodb_buffer_pool_size": "1G",
        "innodb_log_file_size": "1G",
        "local_infile": 1,
    }
    with private_server(options) as server:
        where = [f"--mysql-socket={server.socket}", "--mysql-user=root", f"--mysql-db={DATABASE}"]

        def prepared(*words: str) -> tuple[list[Cost], list[Cost]]:
            def way(program: Program) -> Cost:
                cost = run([*program, "oltp_read_write", *where, *words, "prepare"])
                drop_tables(server)
                return cost

            return compared(programs, way, rounds)

        single = prepared(f"--table-size={one}")
        several = prepared("--tables=8", "--threads=2", f"--table-size={eight}")
    return [
        row(f"prepare, 1 table of {one:,} rows", "s", 0.6, *walls(single)),
        row(f"prepare, 8 tables of {eight:,} rows, 2 threads", "s", 0.7, *walls(several)),
    ]


def drop_tables(server: PrivateServer) -> None:
    """What was prepared goes, outside the measured time; it must be there."""
    with server.connect(DATABASE) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        names = [name for (name,) in cursor.fetchall()]
        if not names:
            raise PeerFailed("prepare made no table")
        for name in names:
            cursor.execute(f"DROP TABLE {name}")


def walls(costs: tuple[list[Cost], list[Cost]]) -> tuple[list[float], list[float]]:
    """The wall times of both."""
    ours, theirs = costs
    return [cost.wall_s for cost in ours], [cost.wall_s for cost in theirs]


def cpus(costs: tuple[list[Cost], list[Cost]]) -> tuple[list[float], list[float]]:
    """The CPU times of both."""
    ours, theirs = costs
    return [cost.cpu_s for cost in ours], [cost.cpu_s for cost in theirs]


def memories(costs: tuple[list[Cost], list[Cost]]) -> tuple[list[float], list[float]]:
    """The peak memory of both."""
    ours, theirs = costs
    return [cost.rss_max_mb for cost in ours], [cost.rss_max_mb for cost in theirs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=("threads", "prepare"),
                        default=("threads", "prepare"))  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the one table")
    parser.add_argument("--rows-of-eight", type=int, default=100_000, help="of each of eight")
    arguments = parser.parse_args()
    if shutil.which("sysbench") is None:
        raise SystemExit("sysbench is missing: make test-needs")
    programs = {OURS: [str(find_program()), "sysbench"], THEIRS: ["sysbench"]}
    rows: list[list[str]] = []
    if "threads" in arguments.parts:
        rows += threads_rows(programs, arguments.threads, arguments.seconds, arguments.rounds)
    if "prepare" in arguments.parts:
        rows += prepare_rows(programs, arguments.rows, arguments.rows_of_eight, arguments.rounds)
    publish(
        "script-start",
        "A thousand threads of a script, and prepare",
        [
            version_of("sysbench"),
            "threads: oltp_point_select against the null server of contend-load",
            "prepare: oltp_read_write on a private MariaDB server, InnoDB",
            "medians of the rounds; ratios are contend over sysbench by round, 95 % intervals",
        ],
        markdown_table(HEAD, rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
