"""How much of the scatter of a gain does the state of the host explain?

    python bench/state_scatter.py RUN [RUN ...]

Reads run folders of comparisons in slices: each is a session. For each tier (slices of a block,
blocks of a repeat, repeats of a session, sessions) it says how far the gain of a level, and the
pace of the baseline, lie apart, and which part of that variance goes with how far apart the CPUs
were. A slice has the distance between the two looks at its block, on a straight line from one to
the other. Parts are adjusted for the slope that was fitted, so that none is 0 in the mean, and may
be below it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contend.metrics.read import distance_ns
from contend.spec import Roles, cell_key, from_dict, roles_of, same_level
from contend.stats.student import t_quantile
from contend.store import RunFolder, RunRecord

TIERS = ("slices", "blocks", "repeats", "sessions")
FIGURES = ("gain", "pace")


@dataclass(frozen=True, slots=True)
class Slice:
    """One round of slices of a level and of the baseline.

    where: what it lies in, from the session down: session, repeat, block, each by its number; the
        context and the level tell tables apart.
    gain, pace: ln of the level's q/s over the baseline's, and of the baseline's.
    x: ln of the distance of the CPUs in ns.
    """

    table: Hashable
    where: tuple[int, int, int]
    gain: float
    pace: float
    x: float


@dataclass(frozen=True, slots=True)
class Explained:
    """What the distance explains of one tier.

    n: values, of so many groups.
    sd: standard deviation within groups, of logarithms.
    part: of its variance; NaN if the distance never varied.
    slope, half: change of the figure from one doubling of the distance, with half its 95 %
        interval.
    """

    tier: str
    figure: str
    n: int
    groups: int
    sd: float
    part: float
    slope: float
    half: float


def slices_of(folders: Sequence[Path]) -> list[Slice]:
    """All slices of the folders whose blocks know their state."""
    found: list[Slice] = []
    for session, path in enumerate(folders):
        with RunFolder.open(path) as folder:
            roles = roles_of(from_dict(folder.meta().experiment))
            blocks: dict[int, list[RunRecord]] = defaultdict(list)
            for run in folder.records(intervals=True):
                if run.status == "ok" and "state" in run.probes:
                    blocks[run.block].append(run)
        for block in blocks.values():
            found += _of_block(session, block, roles)
    return found


def _of_block(session: int, block: Sequence[RunRecord], roles: Roles) -> Iterator[Slice]:
    compared = roles.compared
    if compared is None:
        return
    path = compared.path
    usual = next((one for one in block if same_level(one.cell[path], roles.baseline)), None)
    state = block[0].probes["state"]
    ends = [distance_ns([state[when]]) for when in ("before", "after")]
    if usual is None or None in ends:
        return
    first, last = (math.log(ns) for ns in ends if ns is not None)
    pace = {one["index"]: one["qps"] for one in usual.intervals if one["qps"] > 0}
    for run in block:
        if run is usual:
            continue
        context = cell_key({name: level for name, level in run.cell.items() if name != path})
        rounds = [one for one in run.intervals if one["qps"] > 0 and one["index"] in pace]
        for one in rounds:
            at = one["index"]
            yield Slice(
                (context, str(run.cell[path])),
                (session, run.repeat, run.block),
                math.log(one["qps"] / pace[at]),
                math.log(pace[at]),
                first + (last - first) * (at + 0.5) / (max(pace) + 1),
            )


def explained(slices: Sequence[Slice], tier: str, figure: str) -> Explained:
    """What the distance explains of a figure at a tier: of the means of what lies below, within
    what lies above."""
    depth = {"slices": 3, "blocks": 3, "repeats": 2, "sessions": 1}[tier]
    values: dict[Hashable, list[tuple[float, float]]] = defaultdict(list)
    for number, one in enumerate(slices):
        key = (one.table, one.where[:depth], number if tier == "slices" else None)
        values[key].append((getattr(one, figure), one.x))
    above = depth if tier == "slices" else depth - 1
    groups: dict[Hashable, list[np.ndarray]] = defaultdict(list)
    for (table, where, _), own in values.items():  # type: ignore[misc]
        groups[table, where[:above]].append(np.mean(own, axis=0))
    deviations = np.concatenate(
        [np.array(own) - np.mean(own, axis=0) for own in groups.values()] or [np.zeros((0, 2))]
    )
    freedom = len(deviations) - len(groups)
    y, x = deviations[:, 0], deviations[:, 1]
    total, spread = float(y @ y), float(x @ x)
    sd = math.sqrt(total / freedom) if freedom > 0 else math.nan
    part = slope = half = math.nan
    if freedom > 1 and spread > 1e-9 and total > 0:
        b = float(x @ y) / spread
        left = float((y - b * x) @ (y - b * x)) / (freedom - 1)
        part = 1 - left / (total / freedom)
        error = float(t_quantile(freedom - 1, 0.975)) * math.sqrt(left / spread)
        slope, half = b * math.log(2), error * math.log(2)
    return Explained(tier, figure, len(deviations), len(groups), sd, part, slope, half)


def table_of(found: Sequence[Explained]) -> str:
    """As Markdown."""
    lines = [
        "| tier | figure | n (groups) | sd, % | explained by distance | by a doubling, % |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        slope = (
            "not known" if math.isnan(one.half) else f"{100 * one.slope:+.1f} ±{100 * one.half:.1f}"
        )
        lines.append(
            f"| {one.tier} | {one.figure} | {one.n} ({one.groups}) | {_percent(one.sd)} | "
            f"{_percent(one.part)}{'' if math.isnan(one.part) else ' %'} | {slope} |"
        )
    return "\n".join(lines)


def _percent(value: float) -> str:
    return "not known" if math.isnan(value) else f"{100 * value:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run folder")
    slices = slices_of(parser.parse_args().runs)
    if not slices:
        print("none of these folders has blocks in slices whose state is known", file=sys.stderr)
        return 1
    print(table_of([explained(slices, tier, figure) for figure in FIGURES for tier in TIERS]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
