"""How often does a history tell a change where there is none, and does it find one that is there?
Bare Otava at its defaults beside ours, on the same series.

    python bench/change_points.py [--series 100] [--steps 50] [--patterns]

Ours is what `contend history` tells of a page with this one series: Otava proposes, the unpaired
finding across it decides, 8 runs a side. The patterns are those of `otava_test_data.web.main`; the
package is read if it can be imported (`pip install otava-test-data`).
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Sequence

import numpy as np

from contend.metrics import metric_of
from contend.runs import otava
from contend.runs.model import Series, SeriesPoint
from contend.runs.points import change_points

SD = 0.01
"""Of a run, as a logarithm: 1 %."""

NEAR = 3
"""Runs by which a change point may be off and still be that of the step."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=100, help="A/A series of each length")
    parser.add_argument("--steps", type=int, default=50, help="series of each kind of step")
    parser.add_argument("--patterns", action="store_true", help="the 17 patterns too")
    args = parser.parse_args()
    chance = np.random.default_rng(2026)
    print("| series | n | Otava alone | told | too few or not certain |")
    print("|---|---|---|---|---|")
    for length in (16, 30, 60, 120):
        rows = [chance.normal(0, SD, length) for _ in range(args.series)]
        report(f"nothing changes, {length} runs", rows, None)
    for side in (3, 5, 8, 12, 20):
        rows = [stepped(chance, side, side, 5 * SD) for _ in range(args.steps)]
        report(f"step of 5 sigma, {side} runs a side", rows, side)
    rows = [stepped(chance, 30, 30, 2 * SD) for _ in range(args.steps)]
    report("step of 2 sigma, 30 runs a side", rows, 30)
    if args.patterns:
        patterns()
    return 0


def stepped(chance: np.random.Generator, before: int, after: int, size: float) -> np.ndarray:
    x = chance.normal(0, SD, before + after)
    x[before:] += size
    return x


def report(name: str, rows: Sequence[np.ndarray], at: int | None) -> None:
    """A row of the table: in how many series there is a change point, near the step if there is
    one."""
    proposed = otava.ask(otava.default_environment(), [list(row) for row in rows])
    bare = told = open_ = 0
    for row, of_it in zip(rows, proposed, strict=True):
        found = change_points([series_of(row)], [of_it], 0.002)
        bare += any(is_near(one.at, at) for one in of_it)
        certain = any(one.told and is_near(one.at, at) for one in found)
        told += certain
        open_ += bool(found) and not certain
    print(f"| {name} | {len(rows)} | {bare} | {told} | {open_} |", flush=True)


def is_near(found: int, at: int | None) -> bool:
    return at is None or abs(found - at) <= NEAR


def series_of(logs: Sequence[float] | np.ndarray) -> Series:
    points = [SeriesPoint(at, float(log), math.inf, 1) for at, log in enumerate(logs)]
    return Series("figure", metric_of("qps"), {}, None, None, points)


def patterns() -> None:
    """Of each pattern the change points that it has, those of Otava alone, and those told."""
    try:
        generators = importlib.import_module("otava_test_data.web.main").GENERATORS
    except ImportError as error:
        print(f"\nthe patterns are missing: {error}", file=sys.stderr)
        return
    print("\n| pattern | runs | changes | Otava alone | told |\n|---|---|---|---|---|")
    for pattern in generators.values():
        usual = {name: one["default"] for name, one in pattern["params"].items()}
        made = pattern["func"](**{"length": 200, "seed": 42, **usual})
        values = np.asarray(made.data, dtype=float)
        if np.any(values <= 0):
            values = values - values.min() + 1
        (of_it,) = otava.ask(otava.default_environment(), [list(values)])
        found = change_points([series_of(np.log(values))], [of_it], 0.002)
        told = sum(one.told for one in found)
        name, changes = pattern["name"], len(made.change_points)
        print(f"| {name} | {len(values)} | {changes} | {len(of_it)} | {told} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
