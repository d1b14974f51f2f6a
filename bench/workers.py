"""How many workers? contend-load with one and with one a CPU, beside sysbench.

    python bench/workers.py [--rounds 5] [--seconds 2]

Client and server share the host, as they usually do: what one worker leaves idle the server could
use, and what several use they take from it.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys

from lab import table_server
from peers import Contend, Job, Sysbench, attempt, mean_cells, ratio_cells, version_of
from rounds import alternate, markdown_table, publish

CONNECTIONS = (1, 2, 4, 8, 16, 64, 512)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    arguments = parser.parse_args()

    contestants = {
        "sysbench (prepared)": Sysbench(),
        "contend-load, one worker": Contend(threads=1),
        "contend-load, a worker a CPU": Contend(),
    }
    rows = []
    with table_server(rows=arguments.rows, connections_max=max(arguments.connections)) as server:
        for connections in arguments.connections:
            job = Job(kind="point_select", connections=connections, seconds=arguments.seconds)
            print(f"== {connections}", file=sys.stderr, flush=True)
            run = functools.partial(attempt, target=server.target, job=job)
            samples = alternate(contestants, run, rounds=arguments.rounds, seed=connections)
            baseline = samples["sysbench (prepared)"]
            rows += [
                [str(connections), name, *mean_cells(runs), *ratio_cells(runs, baseline)]
                for name, runs in samples.items()
            ]
        version = server.version
    publish(
        "workers",
        "contend-load with one worker and with one a CPU, beside sysbench",
        [f"server: {version}, InnoDB, {arguments.rows:,} rows, same host, Unix socket, "
         f"{os.cpu_count()} CPUs",
         f"workload: point_select, prepared statements; {version_of('sysbench')}",
         "client CPU is the whole process from start to exit, by wait4, over its queries",
         "ratios are the row's program over sysbench, 95 % intervals, by round"],
        markdown_table(
            ["connections", "program", "q/s", "client CPU µs/query", "p50 µs",
             "q/s over sysbench", "CPU over sysbench"], rows),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
