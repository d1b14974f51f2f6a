"""Do three ways to compare two levels agree? Two servers, one server switched, separate runs.

    python bench/designs.py [--pairs 8] [--rounds 20] [--run-s 1.5]

The same cells (8 connections, 10 and 100 points, key_cache_segments 32 over off) by:

- two servers in slices, each level on its own process;
- the same, crossed: the levels swap their processes, and the two halves are averaged;
- one server, switched in place between slices, while nothing is asked;
- separate runs on one server, one a level, in random order.

Each also against itself (off over off). Every pair of processes is started fresh, once as the
system starts them and once with matched layouts (bench/layouts.py).
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
from collections.abc import Callable

from pairs import MATCHED, SYSTEM, Arm, Estimate, Pair, copies, percent, segments, spread
from rounds import markdown_table, publish

POINTS = (10, 100)
CONNECTIONS = 8
ON = 32
LAYOUTS = {layout.name: layout for layout in (SYSTEM, MATCHED)}
Design = Callable[[Pair, int, int, argparse.Namespace, random.Random], Estimate]
"""A pair, the second level, points, the arguments, and what draws: the estimate."""


def two_servers(
    pair: Pair, level: int, points: int, asked: argparse.Namespace, draw: random.Random
) -> Estimate:
    pair.set_segments(0, level)
    return in_slices(pair, (Arm("off", 0), Arm("on", 1)), points, asked.rounds, draw)


def crossed(
    pair: Pair, level: int, points: int, asked: argparse.Namespace, draw: random.Random
) -> Estimate:
    half = max(2, asked.rounds // 2)
    pair.set_segments(0, level)
    straight = in_slices(pair, (Arm("off", 0), Arm("on", 1)), points, half, draw)
    pair.set_segments(level, 0)
    swapped = in_slices(pair, (Arm("off", 1), Arm("on", 0)), points, half, draw)
    return Estimate(
        (straight.log_ratio + swapped.log_ratio) / 2,
        math.hypot(straight.error, swapped.error) / 2,
        straight.rounds + swapped.rounds,
    )


def switched(
    pair: Pair, level: int, points: int, asked: argparse.Namespace, draw: random.Random
) -> Estimate:
    arms = (Arm("off", 0, segments(0)), Arm("on", 0, segments(level)))
    return in_slices(pair, arms, points, asked.rounds, draw)


def separate(
    pair: Pair, level: int, points: int, asked: argparse.Namespace, draw: random.Random
) -> Estimate:
    levels = [(0, 0), (1, level)]
    draw.shuffle(levels)
    qps = {}
    seed = draw.randrange(1 << 32)
    for place, number in levels:
        pair.set_segments(number, number)
        done = pair.one_run(
            0, connections=CONNECTIONS, points=points, seconds=asked.run_s, seed=seed
        )
        qps[place] = done["qps"]
    return Estimate(math.log(qps[1] / qps[0]), math.nan, 1)


def in_slices(
    pair: Pair, arms: tuple[Arm, Arm], points: int, rounds: int, draw: random.Random
) -> Estimate:
    seed = draw.randrange(1 << 32)
    return pair.slices(arms, connections=CONNECTIONS, points=points, rounds=rounds, seed=seed)


DESIGNS: dict[str, Design] = {
    "two servers in slices": two_servers,
    "two servers in slices, crossed": crossed,
    "one server switched in slices": switched,
    "separate runs": separate,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=20, help="of slices of 0.1 s")
    parser.add_argument("--run-s", type=float, default=1.5, help="length of a separate run")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=tuple(LAYOUTS))
    arguments = parser.parse_args()

    draw = random.Random(303)
    found: dict[tuple[str, str, int, int], list[Estimate]] = {}
    with copies(rows=arguments.rows) as data:
        for number in range(arguments.pairs):
            layouts = list(arguments.layouts)
            draw.shuffle(layouts)
            for name in layouts:
                with data.pair(LAYOUTS[name], padding=draw.random(), segments=(0, 0)) as pair:
                    cells = list(itertools.product(DESIGNS, (0, ON), POINTS))
                    draw.shuffle(cells)
                    for design, level, points in cells:
                        seen = DESIGNS[design](pair, level, points, arguments, draw)
                        found.setdefault((name, design, level, points), []).append(seen)
                        said = (
                            f"{number + 1}/{arguments.pairs} {name}, {design}, {level=}, {points=}"
                        )
                        print(f"{said}: {percent(seen.log_ratio)} %", file=sys.stderr, flush=True)
        version = data.version

    rows = []
    for name, design, points in itertools.product(arguments.layouts, DESIGNS, POINTS):
        cells = [name, design, str(points)]
        for level in (ON, 0):
            both = spread(found[name, design, level, points])
            low, high = percent(both.mean - both.half), percent(both.mean + both.half)
            cells += [f"{percent(both.mean)} [{low}, {high}]", f"{100 * both.sd:.1f}"]
        rows.append(cells)
    publish(
        "designs",
        "32 key cache segments over off, by four designs, and each design against itself",
        [
            f"server: {version}, MyISAM, {arguments.rows:,} rows of the study's table, Unix socket",
            f"{CONNECTIONS} connections; {arguments.pairs} freshly started pairs of processes for "
            f"each layout, n = {arguments.pairs}; {arguments.rounds} rounds of slices of 0.1 s a "
            f"pair, runs of {arguments.run_s} s",
            "percent, with 95 % intervals over pairs; sd between pairs",
        ],
        markdown_table(
            ["layout", "design", "points", "32 over off", "sd", "off over off", "sd"], rows
        ),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
