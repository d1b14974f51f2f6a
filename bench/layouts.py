"""How much do two servers differ that are alike in everything? By part of what differs anyway.

    python bench/layouts.py [--pairs 10] [--rounds 30]

Each pair is two freshly started servers of one program, options, rows and files, loaded in turn
in slices. What pairs differ by beyond the noise of their slices is theirs for life: it comes from
how the process lies in memory. Each row takes one cause away, or adds one.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import replace

from pairs import FIXED, MATCHED, SYSTEM, Arm, Estimate, Layout, copies, percent, spread
from rounds import markdown_table, publish

HUGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
LAYOUTS = {
    "system": (SYSTEM, "as the system starts them"),
    "fixed": (Layout("fixed", wrap=FIXED), "without address space randomisation"),
    "matched": (MATCHED, "without it, the same padding of the environment in both, drawn a pair"),
    "huge": (Layout("huge", wrap=FIXED, environment=HUGE), "without it, malloc on huge pages"),
    "placed": (
        Layout("placed", wrap=FIXED, server_cpus="0", client_cpus="1"),
        "without it, servers on one CPU, contend-load on the other",
    ),
    "system-placed": (
        replace(SYSTEM, name="system-placed", server_cpus="0", client_cpus="1"),
        "randomised, servers on one CPU, contend-load on the other",
    ),
}
ARMS = (Arm("first", 0), Arm("second", 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=30, help="of slices of 0.1 s, for each pair")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=tuple(LAYOUTS))
    arguments = parser.parse_args()

    order = random.Random(303)
    found: dict[str, list[Estimate]] = {name: [] for name in arguments.layouts}
    with copies(rows=arguments.rows) as data:
        for number in range(arguments.pairs):
            names = list(arguments.layouts)
            order.shuffle(names)
            for name in names:
                layout, _ = LAYOUTS[name]
                with data.pair(layout, padding=order.random(), segments=(0, 0)) as pair:
                    seen = pair.slices(
                        ARMS,
                        connections=arguments.connections,
                        points=arguments.points,
                        rounds=arguments.rounds,
                        seed=number,
                    )
                found[name].append(seen)
                said = f"{number + 1}/{arguments.pairs} {name}: {percent(seen.log_ratio)} %"
                print(f"{said} ±{196 * seen.error:.1f}", file=sys.stderr, flush=True)
        version = data.version

    rows = []
    for name, estimates in found.items():
        both = spread(estimates)
        rows.append(
            [
                LAYOUTS[name][1],
                " ".join(percent(each.log_ratio) for each in estimates),
                f"{100 * both.sd:.1f}",
                f"{100 * both.noise:.1f}",
                f"{100 * both.beyond:.1f}",
            ]
        )
    publish(
        "layouts",
        "What two servers differ by that are alike in everything",
        [
            f"server: {version}, MyISAM, {arguments.rows:,} rows of the study's table, Unix socket",
            f"{arguments.connections} connections, {arguments.points} points, key_cache_segments "
            f"= 0 in both; {arguments.rounds} rounds of slices of 0.1 s a pair",
            "differences of the second server from the first in percent; sd: between the pairs; "
            "noise: what the slices of a pair would make of it; beyond: what is left",
        ],
        markdown_table(["started", "pairs, %", "sd, %", "noise, %", "beyond, %"], rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
