"""Was an arm at its steady state? Each cell's slices in order, over all its repeats.

One block's slices are noisy; the mean of the same round over all blocks is less so. A server that
still warms up, or writes its log now and then, does so in every block at about the same time. Few
slices show no trend by themselves; that the first of them differ, the repeats may show together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from contend.findings import CellFigures, Study
from contend.report.model import Notice
from contend.report.words import cell_phrase, significant
from contend.stats import Steadiness, estimate, look_for_trend
from contend.store import RunRecord

_MESSAGES = {
    "warming": "it still became faster while it was measured",
    "cooling": "it became slower while it was measured",
    "cyclic": "its speed comes and goes in a cycle",
    "none": "its speed changes, and neither settles nor repeats",
}
DRIFT_MATTERS = 0.05
"""A change of speed below this share is not worth a mark: what levels have in common cancels in
their ratio."""

_EVIDENCE = {
    "key_misses_per_query": "key cache misses per query",
    "read_bytes_per_query": "B read from storage per query",
}


def unsteady(study: Study, cells: Sequence[CellFigures]) -> list[Notice]:
    """The cells that were not steady, by what they were instead."""
    if not study.in_slices:
        return []
    half_width = max(study.experiment.compare.until or 0.0, DRIFT_MATTERS)
    gathered: dict[str, list[tuple[CellFigures, Steadiness]]] = defaultdict(list)
    for cell in cells:
        speeds = speeds_of(study.runs_of(cell.cell))
        seen = look_for_trend(speeds, half_width=half_width)
        if seen.state in ("steady", "unknown"):
            doubt = (1 - study.family("steadiness").confidence) / len(cells)
            by_repeat = list(study.repeats_of(cell.cell).values())
            seen = first_slices(by_repeat, half_width, doubt) or seen
        if seen.state in _MESSAGES:
            gathered[seen.state].append((cell, seen))
    return [_notice(study, state, found) for state, found in gathered.items()]


def first_slices(
    repeats: Sequence[Sequence[RunRecord]], half_width: float, doubt: float
) -> Steadiness | None:
    """What the first third of the slices say against the rest, repeat by repeat; None if that is
    nothing certain, or too little to matter.

    Args:
        half_width: relative half-width that the experiment is after.
        doubt: chance of seeing something in a cell that is steady.
    """
    rises = [one for one in map(_rise, repeats) if one is not None]
    if len(rises) < 2:
        return None
    rise = estimate(rises, 1 - doubt)
    change = math.expm1(rise.mean)
    if rise.low <= 0 <= rise.high or abs(change) <= half_width / 2:
        return None
    apart = f"{abs(math.expm1(-rise.mean)) * 100:.0f} % {'slower' if change > 0 else 'faster'}"
    why = f"the first third of the slices was {apart} than the rest, in {rise.n} repeats"
    return Steadiness("warming" if change > 0 else "cooling", None, None, change, why)


def _rise(runs: Sequence[RunRecord]) -> float | None:
    """Of the logarithm of the speed, from the first third of a block to the rest, over the blocks
    of a repeat."""
    rises = []
    for logs in filter(None, map(_logs, runs)):
        head = max(1, len(logs) // 3)
        rises.append(_mean(logs[head:]) - _mean(logs[:head]))
    return _mean(rises) if rises else None


def _logs(run: RunRecord) -> list[float]:
    """Of the speeds in order; empty if there are few, or a slice had no answer."""
    speeds = [one["qps"] for one in sorted(run.intervals, key=lambda one: one["index"])]
    return [math.log(one) for one in speeds] if len(speeds) > 2 and min(speeds) > 0 else []


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def speeds_of(runs: Sequence[RunRecord]) -> list[float]:
    """The speed of each round over the mean of its block, as a mean over blocks; rounds that few
    blocks have are left out."""
    blocks = list(filter(None, map(_logs, runs)))
    rounds = max(map(len, blocks), default=0)
    found = []
    for index in range(rounds):
        own = [logs[index] - _mean(logs) for logs in blocks if index < len(logs)]
        if len(own) * 2 <= len(blocks):
            break
        found.append(math.exp(_mean(own)))
    return found


def _notice(study: Study, state: str, found: Sequence[tuple[CellFigures, Steadiness]]) -> Notice:
    cell, seen = found[0]
    example = f"for example {cell_phrase(cell.cell)}: " if len(found) > 1 else ""
    return Notice(
        code=f"not-steady-{state}" if state != "none" else "not-steady",
        message=f"{_MESSAGES[state]} ({example}{seen.why}{_evidence(cell)})",
        cells=tuple(cell_phrase(one.cell) for one, _ in found),
        runs=sum(len(study.runs_of(one.cell)) for one, _ in found),
        planned_runs=len(study.measured),
    )


def _evidence(cell: CellFigures) -> str:
    """What a cold cache would show in."""
    seen = [
        f"{significant(cell.figures[name].mean, 2)} {called}"
        for name, called in _EVIDENCE.items()
        if name in cell.figures
    ]
    return f"; {', '.join(seen)}" if seen else ""
