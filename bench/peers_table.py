"""contend-load against sysbench, mariadb-slap and the floor: speed and cost per query.

    python bench/peers_table.py [--rounds 5] [--seconds 3] [--quick]

The floor is two bare loops (epoll and io_uring) that send the same bytes and only look for the
end of the answer; of the two the better counts.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys

from floor import Floor
from lab import table_server
from peers import Contend, Job, PeerFailed, Sample, Slap, Sysbench, version_of
from rounds import alternate, markdown_table, publish, ratio

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

            def run(peer: object, job: Job = job, target: object = target) -> Sample | None:
                try:
                    return peer.run(target, job)  # type: ignore[attr-defined]
                except PeerFailed as failure:
                    print(f"lost: {failure}", file=sys.stderr)
                    return None

            samples = alternate(contestants, run, rounds=arguments.rounds, seed=connections)
            rows += table_rows(transport, kind, connections, samples)
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


def table_rows(
    transport: str, kind: str, connections: int, samples: dict[str, list[Sample | None]]
) -> list[list[str]]:
    """One row a program, with the ratios of contend-load (prepared) over it."""
    ours = samples["contend-load (prepared)"]
    rows = []
    for name, theirs in samples.items():
        both = [(a, b) for a, b in zip(ours, theirs, strict=True) if a and b]
        cells = [transport, kind, str(connections), name]
        good = [sample for sample in theirs if sample]
        if not good:
            rows.append([*cells, "missing: every run failed", "", "", "", ""])
            continue
        p50 = [s.latency_us_p50 for s in good if s.latency_us_p50 is not None]
        cells += [
            f"{statistics.mean(s.qps for s in good):,.0f}",
            f"{statistics.mean(s.client_cpu_us_per_query for s in good):.2f}",
            f"{statistics.mean(p50):.0f}" if p50 else "not given",
        ]
        if theirs is ours or len(both) < 2:
            cells += ["", ""]
        else:
            cells += [
                ratio([a.qps for a, _ in both], [b.qps for _, b in both]),
                ratio(
                    [a.client_cpu_us_per_query for a, _ in both],
                    [b.client_cpu_us_per_query for _, b in both],
                ),
            ]
        rows.append(cells)
    return rows


if __name__ == "__main__":
    sys.exit(main())
