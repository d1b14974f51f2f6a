"""Which event loop costs least? contend-load by its engines, beside bare loops.

    python bench/event_loop.py [--rounds 5] [--seconds 2]
    python bench/event_loop.py --name few-connections --connections 1 2 --threads 2 --loops \
        --kinds point_select random_points --transports socket tcp --rounds 8 --quiet 30

The bare loops send the same bytes and only look for the end of the answer: epoll, io_uring with
one receive armed for good (uring) or one a request (uring-single), and a common async runtime
with a task a connection. They say what each way of waiting costs when nothing else is done; the
rows of contend-load say what is left of the difference in the program itself. Against the null
server, which answers without work, the way there and back is nearly all that there is.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import sys
from collections.abc import Iterator

from floor import Floor
from instructions import null_server
from lab import table_server
from peers import Contend, Job, Target, attempt, mean_cells, ratio_cells
from rounds import alternate, markdown_table, publish, wait_for_quiet

from contend.load import find_program

CONNECTIONS = (1, 8, 64, 512)
ENGINES = ("epoll", "io_uring")
KINDS = ("point_select", "random_points")
LOOPS = ("epoll", "uring", "uring-single", "runtime")


def main() -> int:
    arguments = parsed()
    engines = [Contend(engine=name, threads=arguments.threads) for name in arguments.engines]
    loops = [Floor(kind, threads=arguments.threads) for kind in arguments.loops]
    contestants = {peer.name: peer for peer in (*engines, *loops)}
    rows, versions = [], []
    for kind_of_server in arguments.servers:
        with server(kind_of_server, arguments) as (version, targets):
            versions.append(version)
            for kind, (transport, target), connections in itertools.product(
                arguments.kinds, targets.items(), arguments.connections
            ):
                job = Job(kind=kind, connections=connections, seconds=arguments.seconds)
                context = [kind_of_server, kind, transport, str(connections)]
                print("==", *context, file=sys.stderr, flush=True)
                run = functools.partial(attempt, target=target, job=job)
                quiet = functools.partial(wait_for_quiet, arguments.quiet)
                samples = alternate(
                    contestants,
                    run,
                    rounds=arguments.rounds,
                    seed=connections,
                    before_round=quiet,
                )
                baseline = samples[engines[0].name]
                rows += [
                    [*context, name, *mean_cells(runs), *ratio_cells(runs, baseline)]
                    for name, runs in samples.items()
                ]
    first = arguments.engines[0]
    publish(
        arguments.name,
        "contend-load by its engines" + (", beside bare loops" if loops else ""),
        [*versions,
         f"prepared statements; {arguments.threads} client thread(s)",
         "client CPU is the whole process from start to exit, by wait4, over its queries",
         *arguments.note,
         f"ratios are the row's program over contend-load on {first}, 95 % intervals, by round"],
        markdown_table(
            ["server", "workload", "transport", "connections", "program", "q/s",
             "client CPU µs/query", "p50 µs", f"q/s over ours on {first}",
             f"CPU over ours on {first}"], rows),
    )  # fmt: skip
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS[:1])
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--transports", nargs="+", choices=("socket", "tcp"), default=("socket",))
    parser.add_argument("--servers", nargs="+", choices=("mariadb", "null"), default=("mariadb",))
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--loops", nargs="*", choices=LOOPS, default=LOOPS)
    parser.add_argument(
        "--quiet",
        type=float,
        metavar="SECONDS",
        default=0.0,
        help="before each round wait so long at most until the host has nothing else to do",
    )
    parser.add_argument("--name", default="event-loop", help="of the file of results")
    parser.add_argument("--note", nargs="*", default=[], help="what else the result should say")
    return parser.parse_args()


@contextlib.contextmanager
def server(kind: str, arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Target]]]:
    """A server: what it is in words, and how the wanted transports reach it."""
    if kind == "null":
        with null_server(find_program()) as folder:
            target = Target(socket=folder / "null.sock", rows=arguments.rows)
            yield "null: contend-load null-server, one thread, same host", {"socket": target}
        return
    with table_server(rows=arguments.rows, connections_max=max(arguments.connections)) as found:
        reached = {"socket": found.target, "tcp": found.tcp_target}
        yield (
            f"mariadb: {found.version}, InnoDB, {arguments.rows:,} rows, same host",
            {name: reached[name] for name in arguments.transports},
        )


if __name__ == "__main__":
    sys.exit(main())
