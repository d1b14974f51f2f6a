"""Which event loop costs least? contend-load on epoll and on io_uring, beside bare loops.

    python bench/event_loop.py [--rounds 5] [--seconds 2]

The bare loops send the same bytes and only look for the end of the answer: epoll, io_uring with
one receive armed for good (uring) or one a request (uring-single), and a common async runtime
with a task a connection. They say what each way of waiting costs when nothing else is done; the
two rows of contend-load say what is left of the difference in the program itself.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys

from floor import Floor
from lab import table_server
from peers import Contend, Job, attempt, mean_cells, ratio_cells
from rounds import alternate, markdown_table, publish

CONNECTIONS = (1, 8, 64, 512)
LOOPS = ("epoll", "uring", "uring-single", "runtime")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=("point_select", "random_points"), default="point_select")
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--transports", nargs="+", choices=("socket", "tcp"), default=("socket",))
    arguments = parser.parse_args()

    engines = (Contend(engine="epoll", threads=1), Contend(engine="io_uring", threads=1))
    contestants = {
        peer.name: peer for peer in (*engines, *(Floor(kind, threads=1) for kind in LOOPS))
    }
    rows = []
    with table_server(rows=arguments.rows, connections_max=max(arguments.connections)) as server:
        for transport, connections in itertools.product(
            arguments.transports, arguments.connections
        ):
            target = server.target if transport == "socket" else server.tcp_target
            job = Job(kind=arguments.kind, connections=connections, seconds=arguments.seconds)
            print(f"== {transport} {connections}", file=sys.stderr, flush=True)

            run = functools.partial(attempt, target=target, job=job)
            samples = alternate(contestants, run, rounds=arguments.rounds, seed=connections)
            context = [transport, str(connections)]
            baseline = samples[engines[0].name]
            rows += [
                [*context, name, *mean_cells(runs), *ratio_cells(runs, baseline)]
                for name, runs in samples.items()
            ]
        version = server.version
    publish(
        "event-loop",
        "contend-load on epoll and on io_uring, beside bare loops",
        [f"server: {version}, InnoDB, {arguments.rows:,} rows, same host",
         f"workload: {arguments.kind}, prepared statements; one thread each",
         "client CPU is the whole process from start to exit, by wait4, over its queries",
         "ratios are the row's program over contend-load on epoll, 95 % intervals, by round"],
        markdown_table(
            ["transport", "connections", "program", "q/s", "client CPU µs/query", "p50 µs",
             "q/s over ours on epoll", "CPU over ours on epoll"], rows),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
