"""How much narrower is an interval by slices than by separate runs, after the same time?

    python bench/half_widths.py [--seconds 40] [--repeats 3]

The same two cells (32 key cache segments over off, at 8 and 64 connections) by `contend run`, with
`compare.by` slices and runs in turn, each with the same time. The figure is half of the unadjusted
95 % interval, Student's t over the units, of each cell.
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

CONNECTIONS = (8, 64)
WAYS = ("slices", "runs")


def half_widths(d: np.ndarray) -> list[float]:
    """Half of the 95 % interval of each cell of one level, in log units."""
    halves = []
    for cell in d[:, :, 0].T:
        known = cell[~np.isnan(cell)]
        if len(known) < 2:
            halves.append(math.inf)
            continue
        error = float(np.std(known, ddof=1)) / math.sqrt(len(known))
        halves.append(t_quantile(len(known) - 1, 0.975) * error)
    return halves


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=40, help="of each experiment")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warmup-ms", type=float, default=150, help="of separate runs")
    parser.add_argument("--measure-ms", type=float, default=500, help="of separate runs")
    asked = parser.parse_args()
    runs = [f"load.warmup={asked.warmup_ms:g}ms", f"load.measure={asked.measure_ms:g}ms"]
    found: dict[str, list[np.ndarray]] = {way: [] for way in WAYS}
    for number in range(asked.repeats):
        for way in WAYS if number % 2 == 0 else reversed(WAYS):
            sets = [f"compare.at_most={asked.seconds:g}s", f"compare.by={way}"]
            sets += [f"load.seed={number}", *(runs if way == "runs" else [])]
            d, finished = run_experiment("widths", sets)
            found[way].append(d)
            said = ", ".join(f"±{100 * half:.1f} %" for half in half_widths(d))
            print(f"{number + 1} {way}: {said}; {finished}", file=sys.stderr, flush=True)
    rows, all_logs = [], []
    for place, connections in enumerate(CONNECTIONS):
        halves = {way: [half_widths(d)[place] for d in found[way]] for way in WAYS}
        logs = [math.log(s / r) for s, r in zip(halves["slices"], halves["runs"], strict=True)]
        all_logs += logs
        rows.append(
            [
                str(connections),
                *(" ".join(f"±{100 * half:.1f} %" for half in halves[way]) for way in WAYS),
                *(" ".join(str(len(d)) for d in found[way]) for way in WAYS),
                f"{math.exp(statistics.mean(logs)):.2f}",
            ]
        )
    rows.append(["both", "", "", "", "", f"**{math.exp(statistics.mean(all_logs)):.2f}**"])
    means = {
        way: ", ".join(
            f"{100 * math.expm1(float(np.nanmean(np.concatenate(found[way])[:, place, 0]))):+.1f} %"
            for place in range(len(CONNECTIONS))
        )
        for way in WAYS
    }
    publish(
        "half-widths",
        "Half-widths after the same time: slices and separate runs",
        [
            "32 key cache segments over off, MariaDB, 100,000 rows of the study's table, 10 points",
            f"{asked.repeats} experiments of {asked.seconds:g} s each way, in turn; separate runs "
            f"of {asked.measure_ms:g} ms after {asked.warmup_ms:g} ms; slices as the lab plans",
            "half of the 95 % interval of a cell, over units: freshly started servers in slices, "
            "rows of runs on one server",
            f"the means of all units, at {' and '.join(map(str, CONNECTIONS))} connections: "
            + "; ".join(f"by {way} {means[way]}" for way in WAYS),
        ],
        markdown_table(
            ["connections", *WAYS, *(f"units, {way}" for way in WAYS), "slices over runs"],
            rows,
        ),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
