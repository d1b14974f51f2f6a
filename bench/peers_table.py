"""contend-load against sysbench, mariadb-slap and the floor: speed and cost per query.

    python bench/peers_table.py [--rounds 5] [--seconds 3]

The floor is two bare loops (epoll and io_uring) on as many threads, that send the same bytes and
only look for the end of the answer; of the two the better counts.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys

from floor import Floor
from lab import table_server
from peers import Contend, Job, Slap, Sysbench, attempt, mean_cells, ratio_cells, version_of
from rounds import alternate, markdown_table, publish

CONNECTIONS = (1, 2, 8, 64, 512)
KINDS = ("point_select", "random_points")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--transports", nargs="+", default=("socket", "tcp"))
    arguments = parser.parse_args()

    contestants = {
        peer.name: peer
        for peer in (
            *(Contend("prepared"), Contend("text"), Sysbench("auto"), Sysbench("disable")),
            *(Slap(), Floor("epoll"), Floor("uring")),
        )
    }
    rows = []
    with table_server(rows=arguments.rows, connections_max=max(arguments.connections)) as server:
        for transport, kind, connections in itertools.product(
            arguments.transports, arguments.kinds, arguments.connections
        ):
            target = server.target if transport == "socket" else server.tcp_target
            job = Job(kind=kind, connections=connections, seconds=arguments.seconds)
            print(f"== {transport} {kind} {connections}", file=sys.stderr, flush=True)

            run = functools.partial(attempt, target=target, job=job)
            samples = alternate(contestants, run, rounds=arguments.rounds, seed=connections)
            context = [transport, kind, str(connections)]
            ours = samples["contend-load (prepared)"]
            rows += [
                [*context, name, *mean_cells(runs), *ratio_cells(ours, runs)]
                for name, runs in samples.items()
            ]
        version = server.version
    publish(
        "peers",
        "contend-load, its peers and the floor",
        [f"server: {version}, InnoDB, {arguments.rows:,} rows, same host",
         version_of("sysbench") + ", random_points by bench/random_points.lua",
         version_of("mariadb-slap"),
         "client CPU is the whole process from start to exit, by wait4, over its queries",
         "ratios are contend-load (prepared) over the row's program, 95 % intervals, by round"],
        markdown_table(
            ["transport", "workload", "connections", "program", "q/s", "client CPU µs/query",
             "p50 µs", "contend q/s over it", "contend CPU over it"], rows),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
