"""Log-ratios slice by slice: where the noise of a comparison in slices lies."""

from __future__ import annotations

import math
from collections import defaultdict

from contend.report.study import Study
from contend.spec import CellKey, Level, cell_key, same_level
from contend.stats import Components, estimate_components
from contend.store import RunRecord


def noise_of(study: Study) -> Components | None:
    """Of throughput, by slices, sets of connections and repeats; None if nothing was in slices."""
    roles = study.roles
    if not study.in_slices or roles.compared is None:
        return None
    path = roles.compared.path
    blocks: dict[int, list[RunRecord]] = defaultdict(list)
    for run in study.measured:
        blocks[run.block].append(run)
    ratios: list[float] = []
    units: list[int] = []
    of_blocks: list[int] = []
    contexts: list[CellKey] = []
    levels: list[Level] = []
    for block, runs in blocks.items():
        baseline = next((run for run in runs if same_level(run.cell[path], roles.baseline)), None)
        if baseline is None:
            continue
        usual = {one["index"]: one["qps"] for one in baseline.intervals if one["qps"] > 0}
        context = cell_key({name: one for name, one in baseline.cell.items() if name != path})
        for run in runs:
            if run is baseline:
                continue
            own = [
                math.log(one["qps"] / usual[one["index"]])
                for one in run.intervals
                if one["qps"] > 0 and one["index"] in usual
            ]
            ratios += own
            units += [run.repeat] * len(own)
            of_blocks += [block] * len(own)
            contexts += [context] * len(own)
            levels += [run.cell[path]] * len(own)
    if not ratios:
        return None
    return estimate_components(
        ratios, {"unit": units, "block": of_blocks}, contexts=contexts, levels=levels
    )
