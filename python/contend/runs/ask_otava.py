"""Run by the Python of Otava's own environment: series come in as JSON, change points go out.

It stands alone: nothing of contend is installed there. In:
`{"series": [[x, …], …], "window_len": 50, "max_pvalue": 0.001, "min_magnitude": 0.0}`; out:
`[[[index, p], …], …]`, the first value after each change and the chance of the two-sided test.
"""

from __future__ import annotations

import json
import sys


def main() -> int:
    from otava.analysis import compute_change_points

    asked = json.load(sys.stdin)
    found = []
    for series in asked["series"]:
        points, _ = compute_change_points(
            series,
            window_len=asked["window_len"],
            max_pvalue=asked["max_pvalue"],
            min_magnitude=asked["min_magnitude"],
        )
        found.append([[int(one.index), float(one.stats.pvalue)] for one in points])
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
