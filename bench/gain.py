"""The gain of 32 key cache segments over none: by contend-load and by sysbench, side by side.

    python bench/gain.py [--rounds 8] [--seconds 4]

Both drive the same server and the same table in one run. A round visits both levels and both
generators in random order, so that every ratio compares neighbours.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys

from lab import key_cache_server
from peers import Contend, Job, Sample, Sysbench, version_of
from rounds import markdown_table, publish, ratio

CONNECTIONS = (8, 64)
POINTS = (10, 100)
LEVELS = (0, 32)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()

    peers = {peer.name: peer for peer in (Contend(), Sysbench())}
    order = random.Random(303)
    samples: dict[tuple[str, int, int, int], list[Sample]] = {}
    with key_cache_server(rows=arguments.rows) as server:
        for number in range(arguments.rounds):
            contexts = list(itertools.product(CONNECTIONS, POINTS))
            order.shuffle(contexts)
            for connections, points in contexts:
                runs = list(itertools.product(LEVELS, peers))
                order.shuffle(runs)
                for level, name in runs:
                    server.set_segments(level)
                    job = Job(
                        kind="random_points",
                        connections=connections,
                        seconds=arguments.seconds,
                        points=points,
                        distribution="special",
                        seed=303 + number,
                    )
                    sample = peers[name].run(server.target, job)
                    samples.setdefault((name, connections, points, level), []).append(sample)
                    what = f"{name} {connections=} {points=} {level=}: {sample.qps:.0f} q/s"
                    print(f"{number + 1}/{arguments.rounds} {what}", file=sys.stderr, flush=True)
        version = server.version

    rows = []
    for connections, points in itertools.product(CONNECTIONS, POINTS):
        cells = [str(connections), str(points)]
        for name in peers:
            off = samples[name, connections, points, 0]
            on = samples[name, connections, points, 32]
            cells.append(ratio([s.qps for s in on], [s.qps for s in off]))
            cells.append(f"{sum(s.qps for s in off) / len(off):,.0f}")
        rows.append(cells)
    head = ["connections", "points"]
    for name in peers:
        head += [f"{name}: 32 over off", "off, q/s"]
    publish(
        "gain",
        "Gain of 32 key cache segments, by contend-load and by sysbench",
        [f"server: {version}, Unix socket",
         f"the study's table: MyISAM, {arguments.rows:,} rows, no column NULL, MAX_ROWS=50000000",
         version_of("sysbench") + ", by bench/random_points.lua: the keys of the whole table",
         "ratios with 95 % intervals, paired by round"],
        markdown_table(head, rows),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
