"""How much narrower are the changes of ways of asking by slices than by separate runs?

    python bench/asking_half_widths.py [--seconds 120] [--repeats 2] [--recipes tpcc batching]

Recipes whose compared factor is a matter of the load (`workload.ask`, `workload.select_by`), by
`contend run RECIPE --quick`, by slices and by runs in turn, each with the same time. The
figure is half of the unadjusted 95 % interval, by t over the units, of each cell and level.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys

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
    asked = parser.parse_args()
    rows = []
    for recipe in asked.recipes:
        found: dict[str, list[np.ndarray]] = {way: [] for way in WAYS}
        for number in range(asked.repeats):
            for way in WAYS if number % 2 == 0 else reversed(WAYS):
                sets = [f"compare.at_most={asked.seconds:g}s", f"compare.by={way}"]
                sets.append(f"load.seed={number}")
                d, _finished = run_experiment(recipe, sets, "--quick")
                found[way].append(d)
                said = ", ".join(f"±{100 * half:.1f} %" for half in half_widths(d))
                print(f"{recipe} {number + 1} {way}: {said}", file=sys.stderr, flush=True)
        medians = {
            way: statistics.median(half for d in found[way] for half in half_widths(d))
            for way in WAYS
        }
        means = {way: np.nanmean(np.concatenate(found[way]).reshape(-1), axis=0) for way in WAYS}
        rows.append(
            [
                recipe,
                *(f"±{100 * medians[way]:.1f} %" for way in WAYS),
                *(" ".join(str(len(d)) for d in found[way]) for way in WAYS),
                f"**{medians['slices'] / medians['runs']:.2f}**",
                *(f"{100 * math.expm1(float(means[way])):+.1f} %" for way in WAYS),
            ]
        )
    publish(
        "asking-half-widths",
        "Ways of asking after the same time: slices and separate runs",
        [
            f"{asked.repeats} experiments of {asked.seconds:g} s each way, in turn",
            "half of the 95 % interval of a change in q/s, median over cells and levels; units are "
            "freshly started servers in slices, rows of runs on one server",
        ],
        markdown_table(
            [
                *("recipe", *WAYS, *(f"units, {way}" for way in WAYS), "slices over runs"),
                *(f"mean change by {way}" for way in WAYS),
            ],
            rows,
        ),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
