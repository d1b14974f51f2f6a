"""The gain of 32 key cache segments on the same two servers: by slices, and by sysbench in ABBA.

    python bench/gain_both.py [--pairs 8] [--rounds 12] [--seconds 1] [--threads-as-sysbench]

A pair is two freshly started servers, one without segments (A) and one with 32 (B), which is the
first in every other pair. In each cell contend-load asks them in slices of 0.1 s, and sysbench in
four runs, ABBA; which of the two generators begins is drawn. Of each pair the ratio of the two
gains is taken, and its 90 % interval is Student's t over the pairs.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import statistics
import sys
from dataclasses import dataclass

from lab import DATABASE, TABLE
from pairs import SYSTEM, Arm, Pair, copies, percent
from peers import Job, Sample, Sysbench, Target, version_of
from rounds import markdown_table, publish

from contend.stats.student import t_quantile

CONNECTIONS = (8, 64)
POINTS = (10, 100)
LEVELS = (0, 32)


@dataclass(frozen=True)
class Seen:
    """What one generator says of a cell: ln(B / A), and its share of the CPUs' time."""

    log_gain: float
    client_share: float


def by_slices(
    pair: Pair, order: tuple[int, int], job: Job, rounds: int, threads: int | None
) -> Seen:
    arms = tuple(Arm(str(LEVELS[place]), server) for place, server in enumerate(order))
    by_round = pair.rounds(
        arms,
        connections=job.connections,
        points=job.points,
        rounds=rounds,
        seed=job.seed,
        threads=threads,
    )
    slices = [one for both in by_round for one in both.values()]
    client_us = sum(one["client_cpu_us"] for one in slices)
    wall_us = 1e6 * sum(one["duration_s"] for one in slices)
    logs = [math.log(both[1]["qps"] / both[0]["qps"]) for both in by_round]
    return Seen(statistics.mean(logs), client_us / wall_us / (os.cpu_count() or 1))


def by_sysbench(pair: Pair, order: tuple[int, int], job: Job) -> Seen:
    a, b = (
        Target(socket=pair.servers[server].socket, database=DATABASE, table=TABLE, rows=pair.rows)
        for server in order
    )
    samples: list[Sample] = [Sysbench().run(target, job) for target in (a, b, b, a)]
    logs = [math.log(sample.qps) for sample in samples]
    cpu_us = sum(one.client_cpu_us_per_query * one.queries for one in samples)
    share = cpu_us / (4e6 * job.seconds) / (os.cpu_count() or 1)
    return Seen((logs[1] + logs[2] - logs[0] - logs[3]) / 2, share)


def interval(logs: list[float], confidence: float) -> str:
    """`+1.2 % [-0.4, +2.8]`"""
    mean = statistics.mean(logs)
    half = t_quantile(len(logs) - 1, 0.5 + confidence / 2)
    half *= statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{percent(mean)} % [{percent(mean - half)}, {percent(mean + half)}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12, help="of slices of 0.1 s")
    parser.add_argument("--seconds", type=int, default=1, help="of each run of sysbench")
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--points", type=int, nargs="+", default=POINTS)
    parser.add_argument(
        "--threads-as-sysbench",
        action="store_true",
        help="a thread of contend-load for each connection, in place of one for each CPU",
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    draw = random.Random(303)
    found: dict[tuple[str, int, int], list[Seen]] = {}
    with copies(rows=asked.rows) as data:
        for number in range(asked.pairs):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            segments = [LEVELS[order.index(server)] for server in (0, 1)]
            cells = list(itertools.product(asked.connections, asked.points))
            draw.shuffle(cells)
            with data.pair(SYSTEM, padding=0.0, segments=segments) as pair:
                for connections, points in cells:
                    job = Job(
                        kind="random_points",
                        connections=connections,
                        seconds=asked.seconds,
                        points=points,
                        distribution="special",
                        seed=draw.randrange(1, 1 << 31),
                    )
                    threads = connections if asked.threads_as_sysbench else None
                    ways = ["contend", "sysbench"]
                    draw.shuffle(ways)
                    for way in ways:
                        seen = (
                            by_slices(pair, order, job, asked.rounds, threads)
                            if way == "contend"
                            else by_sysbench(pair, order, job)
                        )
                        found.setdefault((way, connections, points), []).append(seen)
                        said = f"{way} {connections=} {points=}: {percent(seen.log_gain)} %"
                        print(f"{number + 1}/{asked.pairs} {said}", file=sys.stderr, flush=True)
        version = data.version
    rows = []
    all_logs: list[list[float]] = []
    for connections, points in itertools.product(asked.connections, asked.points):
        ours = found["contend", connections, points]
        theirs = found["sysbench", connections, points]
        logs = [a.log_gain - b.log_gain for a, b in zip(ours, theirs, strict=True)]
        all_logs.append(logs)
        cells_of = [str(connections), str(points)]
        for seen in (ours, theirs):
            cells_of.append(interval([one.log_gain for one in seen], 0.95))
            cells_of.append(f"{100 * statistics.mean(one.client_share for one in seen):.0f} %")
        rows.append([*cells_of, interval(logs, 0.90)])
    together = [statistics.mean(of_pair) for of_pair in zip(*all_logs, strict=True)]
    rows.append(["all", "", "", "", "", "", interval(together, 0.90)])
    publish(
        "gain-both",
        "The gain of 32 key cache segments, by slices and by sysbench in ABBA on the same servers",
        [
            f"server: {version}, MyISAM, {asked.rows:,} rows of the study's table, Unix socket",
            f"{asked.pairs} freshly started pairs of servers, n = {asked.pairs}; {asked.rounds} "
            f"rounds of slices of 0.1 s; four runs of {asked.seconds} s by sysbench",
            "a thread of contend-load for each "
            + ("connection, as of sysbench" if asked.threads_as_sysbench else "CPU"),
            version_of("sysbench") + ", by bench/random_points.lua: the keys of the whole table",
            "gains with 95 % intervals over pairs; ratio of the two gains with its 90 % interval; "
            "client: its share of the time of all CPUs",
        ],
        markdown_table(
            [
                *("connections", "points", "contend-load", "client", "sysbench", "client"),
                "contend-load over sysbench",
            ],
            rows,
        ),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
