"""What does a delay line cost against none, and how late is it?

    python bench/far.py [--rounds 5] [--seconds 2] [--connections 1 8 64] [--real]

Point selects of a null server (of a real MariaDB with `--real`): without a line, and through one at
each distance. A round has all of them in random order. What a line adds beyond its distance is its
cost: the response time less the round trip, beside the one without a line. How late bytes left the
line is what the line says of itself.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import DATABASE, TABLE, fill, private_server
from null_servers import NullServer
from rounds import alternate, markdown_table, publish

from contend.load import Address, Lines, find_program
from contend.probed import DelayLine

ROUND_TRIPS_US = (0, 100, 200, 500)
ROWS = 100_000


@dataclass(frozen=True)
class Contestant:
    """Which connections at which distance; None is no line."""

    connections: int
    round_trip_us: int | None


@dataclass(frozen=True)
class Result:
    mean_us: float
    p50_us: float
    qps: float
    line: DelayLine | None

    def __str__(self) -> str:
        late = "" if self.line is None else f", late p50 {self.line['late_us']['p50']:.1f} µs"
        return f"{self.qps:,.0f} q/s, p50 {self.p50_us:.1f} µs{late}"


@contextlib.contextmanager
def server(*, real: bool) -> Iterator[tuple[Path, str]]:
    """A socket, and what listens there."""
    if not real:
        with NullServer("--threads=1") as null:
            yield null.socket, "a null server of one thread"
        return
    with private_server({"max_connections": 300, "innodb_buffer_pool_size": "256M"}) as own:
        fill(own, engine="InnoDB", rows=ROWS)
        yield own.socket, f"{own.variables()['version']}, InnoDB, {ROWS:,} rows"


def asked(address: Address, connections: int, seconds: float) -> dict[str, Any]:
    """The outcome of one run."""
    plan = {
        "version": 1,
        "server": address.as_plan(),
        "workload": {"kind": "point_select", "table": TABLE, "rows": ROWS},
        "load": {
            "connections": connections,
            "warmup_s": 0.3,
            "measure_s": seconds,
            "interval_s": 0,
        },
    }
    ran = subprocess.run(
        [str(find_program()), "run", "-"],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=True,
    )
    done: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--real", action="store_true", help="a MariaDB server with its tables")
    arguments = parser.parse_args()
    distances: tuple[int | None, ...] = (None, *ROUND_TRIPS_US)
    contestants = {
        f"{connections} at {'no line' if far is None else f'{far} µs'}": Contestant(
            connections, far
        )
        for connections, far in itertools.product(arguments.connections, distances)
    }
    with (
        server(real=arguments.real) as (socket, what),
        contextlib.closing(Lines(find_program())) as lines,
    ):
        target = Address(socket=str(socket), database=DATABASE)

        def run(one: Contestant) -> Result:
            line = None
            if one.round_trip_us is not None:
                line = lines.before(target, one.round_trip_us / 1e6)
                line.report()
            address = target if line is None else line.address
            done = asked(address, one.connections, arguments.seconds)
            latency = done["latency_us"]
            passed = None if line is None else line.report()
            return Result(latency["mean"], latency["p50"], done["qps"], passed)

        results = alternate(contestants, run, rounds=arguments.rounds, seed=14)
    rows = []
    for connections in arguments.connections:
        of = {
            far: next(
                results[name]
                for name, one in contestants.items()
                if one == Contestant(connections, far)
            )
            for far in distances
        }
        rows += [row(connections, far, of[far], of[None]) for far in distances]
    publish(
        "far",
        "The delay line: its cost, and how late it is",
        [
            f"server: {what}, Unix sockets; client, line and server share the CPUs",
            f"point selects, prepared, closed loop; {arguments.rounds} rounds of "
            f"{arguments.seconds:g} s in random order, medians of the rounds",
            "beyond: the p50 less the round trip and less the p50 without a line of the same round",
        ],
        markdown_table(
            [
                *("connections", "round trip", "q/s", "p50, µs", "beyond, µs"),
                *("late p50, µs", "late p99, µs", "line's CPU, µs a query"),
            ],
            rows,
        ),
    )
    return 0


def row(connections: int, far: int | None, own: list[Result], without: list[Result]) -> list[str]:
    cells = [
        str(connections),
        "no line" if far is None else f"{far} µs",
        f"{statistics.median(one.qps for one in own):,.0f}",
        f"{statistics.median(one.p50_us for one in own):.1f}",
    ]
    if far is None:
        return [*cells, "", "", "", ""]
    beyond = [one.p50_us - far - other.p50_us for one, other in zip(own, without, strict=True)]
    lines = [one.line for one in own if one.line is not None]
    # Two chunks a query, the first few of each connection aside.
    queries = [line["late_us"]["count"] / 2 for line in lines]
    cpu = [line["cpu_us"] / count for line, count in zip(lines, queries, strict=True) if count]
    return [
        *cells,
        f"{statistics.median(beyond):+.1f}",
        f"{statistics.median(line['late_us']['p50'] for line in lines):.1f}",
        f"{statistics.median(line['late_us']['p99'] for line in lines):.1f}",
        f"{statistics.median(cpu):.2f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
