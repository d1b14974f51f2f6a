"""A model server's counts for the locks of its key cache: visits of each segment, the number that
waited, how long the lock was held.

It appears if a model server was measured: servers of other kinds do not report as much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from contend.experiment import Level
from contend.findings import ReportText, Study, cell_figures, over_repeats
from contend.metrics import Run, metric_of
from contend.metrics.probed import SegmentLock
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import UNKNOWN, cell_phrase, estimate_text, known_text, share_text
from contend.stats import Estimate

_LISTED = 6
_METRICS = ("lock_wait_share", "lock_held_ns", "lock_held_share")

Cell = Mapping[str, Level]
Figures = Mapping[str, Estimate]


def _read(inputs: Inputs) -> Shown | None:
    """None if no server was a model."""
    study, cells = inputs.study, inputs.cells
    measured = [one.cell for one in cells if any(map(_segments, study.runs_of(one.cell)))]
    if not measured:
        return None
    wanted = replace(study, shown=tuple(map(metric_of, _METRICS)))
    found = [(cell, cell_figures(wanted, cell)) for cell in measured]
    figures = [(cell, one.figures) for cell, one in found if one is not None]
    # The most segments, and of those cells the last: under the most load.
    split = max(reversed(measured), key=lambda cell: max(map(_count, study.runs_of(cell))))
    segments = _most_visited(study, split)
    return Shown(
        "The locks of the key cache, as the server counted them",
        " ".join(filter(None, (_lead(figures), _hottest(segments)))),
        (_cells(figures), *segments),
    )


def _hottest(segments: Sequence[TextTable]) -> str:
    """The first row in words; its figures already include their intervals."""
    for table in segments:
        number, visits, waited, held = table.rows[0]
        return (
            f"The most visited segment is number {number}: it has {visits} of all visits; {waited} "
            f"of its visits waited, and each held the lock for {held} ns."
        )
    return ""


def _lead(figures: Sequence[tuple[Cell, Figures]]) -> str:
    waited = [(cell, one) for cell, one in figures if "lock_wait_share" in one]
    if not waited:
        return "No lock was taken."
    most = max(waited, key=lambda one: one[1]["lock_wait_share"].mean)
    least = min(waited, key=lambda one: one[1]["lock_wait_share"].mean)
    ends = [_waits("most", *most)] + ([_waits("least", *least)] if least is not most else [])
    return " ".join(ends)


def _waits(which: str, cell: Cell, figures: Figures) -> ReportText:
    phrase = cell_phrase(cell)
    at = ReportText(" with {}", phrase) if phrase else ReportText("")
    return ReportText(
        "Visits waited {} often{}: {} of them. A visit held its lock for {} ns, and the busiest "
        "lock was held {} of the time.",
        which,
        at,
        share_text(figures["lock_wait_share"]),
        estimate_text(figures["lock_held_ns"]),
        share_text(figures["lock_held_share"]),
    )


def _cells(figures: Sequence[tuple[Cell, Figures]]) -> TextTable:
    return TextTable(
        caption="Visits to the locks of all segments together (two per page request), in each "
        "cell (intervals after ±)",
        columns=("cell", "visits that waited", "held per visit, ns", "busiest lock held"),
        rows=tuple(
            (
                cell_phrase(cell) or "all",
                known_text(one.get("lock_wait_share"), share_text, UNKNOWN),
                known_text(one.get("lock_held_ns"), estimate_text, UNKNOWN),
                known_text(one.get("lock_held_share"), share_text, UNKNOWN),
            )
            for cell, one in figures
        ),
    )


_Counter = Literal["visits", "waits", "sampled", "held_ns"]


def _most_visited(study: Study, cell: Cell) -> list[TextTable]:
    """The segments of one cell, the most visited first; empty if the cache is not split."""
    runs = study.runs_of(cell)
    count = max(map(_count, runs))
    if count < 2:
        return []
    rows = []
    for index in range(count):
        shares = over_repeats(study, runs, _share_of(index))
        waits = over_repeats(study, runs, _per(index, "waits", "visits"))
        held = over_repeats(study, runs, _per(index, "held_ns", "sampled"))
        if shares is not None:
            row = (
                str(index + 1),
                share_text(shares),
                known_text(waits, share_text, UNKNOWN),
                known_text(held, estimate_text, UNKNOWN),
            )
            rows.append((shares.mean, row))
    rows.sort(key=lambda one: -one[0])
    return [
        TextTable(
            caption=f"The most visited of {count} segments, {cell_phrase(cell)} (intervals after "
            "±)",
            columns=("segment", "of all visits", "of its visits waited", "held per visit, ns"),
            rows=tuple(row for _, row in rows[:_LISTED]),
        )
    ]


def _share_of(index: int) -> Callable[[Run], float | None]:
    def read(run: Run) -> float | None:
        locks = _segments(run)
        visits = sum(lock["visits"] for lock in locks)
        return locks[index]["visits"] / visits if index < len(locks) and visits else None

    return read


def _per(index: int, counter: _Counter, over: _Counter) -> Callable[[Run], float | None]:
    """One counter of a segment over another."""

    def read(run: Run) -> float | None:
        locks = _segments(run)
        lock = locks[index] if index < len(locks) else None
        return lock[counter] / lock[over] if lock is not None and lock[over] else None

    return read


def _segments(run: Run) -> Sequence[SegmentLock]:
    return (run.probes.get("model") or {}).get("segments", ())


def _count(run: Run) -> int:
    return len(_segments(run))


SECTION = Section("model_locks", "Locks of the servers", _read, lambda shown, _inputs: shown)
