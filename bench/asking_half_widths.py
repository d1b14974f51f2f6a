"""How much narrower are the changes of ways of asking by slices than by separate runs?

    python bench/asking_half_widths.py [--seconds 120] [--repeats 2] [--recipes tpcc batching]
                                       [--keep FILE]

Recipes whose compared factor is a matter of the load (`workload.ask`, `workload.select_by`), by
`contend run RECIPE --quick`, by slices and by runs in turn, each with the same time. The
figure is half of the unadjusted 95 % interval, by t over the units, of each cell and level.
--keep adds the experiments to a file, and the table is of all that are in it.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from rounds import markdown_table, publish
from units import run_experiment

from contend.stats.student import t_quantile

WAYS = ("slices", "runs")


def half_widths(d: np.ndarray) -> list[float]:
    """Half of the 95 % interval of each cell of each level, in log units."""
    halves = []
    for cell in d.reshape(len(d), -1).T:
        known = cell[~np.isnan(cell)]
        if len(known) < 2:
            halves.append(math.inf)
            continue
        error = float(np.std(known, ddof=1)) / math.sqrt(len(known))
        halves.append(t_quantile(len(known) - 1, 0.975) * error)
    return halves


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120, help="of each experiment")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--recipes", nargs="+", default=["tpcc", "batching"])
    parser.add_argument("--keep", type=Path, help="a file for experiments; its earlier ones count")
    asked = parser.parse_args()
    kept = asked.keep.read_text() if asked.keep is not None and asked.keep.exists() else ""
    found: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    for line in kept.splitlines():
        one = json.loads(line)
        found[one["recipe"], one["way"]].append(np.array(one["d"], float))
    for _ in range(asked.repeats):
        for recipe in asked.recipes:
            number = len(found[recipe, "runs"])
            for way in WAYS if number % 2 == 0 else reversed(WAYS):
                sets = [f"compare.at_most={asked.seconds:g}s", f"compare.by={way}"]
                sets.append(f"load.seed={number}")
                d, _finished = run_experiment(recipe, sets, "--quick")
                found[recipe, way].append(d)
                said = ", ".join(f"±{100 * half:.1f} %" for half in half_widths(d))
                print(f"{recipe} {number + 1} {way}: {said}", file=sys.stderr, flush=True)
                if asked.keep is not None:
                    with asked.keep.open("a") as file:
                        one = {"recipe": recipe, "way": way, "d": d.tolist()}
                        file.write(json.dumps(one) + "\n")
    rows = []
    for recipe in asked.recipes:
        of_way = {way: found[recipe, way] for way in WAYS}
        medians = {
            way: statistics.median(half for d in of_way[way] for half in half_widths(d))
            for way in WAYS
        }
        means = {way: np.nanmean(np.concatenate(of_way[way]).reshape(-1), axis=0) for way in WAYS}
        pairs = zip(*(map(half_widths, of_way[way]) for way in WAYS), strict=True)
        each = [statistics.median(a) / statistics.median(b) for a, b in pairs]
        rows.append(
            [
                recipe,
                *(f"±{100 * medians[way]:.1f} %" for way in WAYS),
                *(" ".join(str(len(d)) for d in of_way[way]) for way in WAYS),
                f"**{medians['slices'] / medians['runs']:.2f}**",
                " ".join(f"{one:.2f}" for one in each),
                *(f"{100 * math.expm1(float(means[way])):+.1f} %" for way in WAYS),
            ]
        )
    publish(
        "asking-half-widths",
        "Ways of asking after the same time: slices and separate runs",
        [
            f"{asked.seconds:g} s an experiment, slices and runs in turn",
            "half of the 95 % interval of a change in q/s, median over cells and levels; units are "
            "freshly started servers in slices, rows of runs on one server",
        ],
        markdown_table(
            [
                *("recipe", *WAYS, *(f"units, {way}" for way in WAYS), "slices over runs", "each"),
                *(f"mean change by {way}" for way in WAYS),
            ],
            rows,
        ),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
