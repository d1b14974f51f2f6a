"""The locks inside servers, as performance_schema counted them in a look of its own: how long a
query waited for each, and what counting did to the speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contend.findings.budget import BUDGET
from contend.findings.looks import baseline_of, last_looks
from contend.spec import CellKey, Level, cell_key
from contend.stats import Estimate, estimate
from contend.store import LookRecord

LOCKS = "locks"

_TOLD = 8
"""Locks that are told of a cell, and how long a query waits for one at least, in microseconds."""
_LEAST_US = 0.1


@dataclass(frozen=True, slots=True)
class LocksOfCell:
    """One cell; n counts parts of the look, or rounds of the look at the time.

    Args:
        waits_us: by lock, a query's time to take it, that of taking a free one included.
        counts: by lock, how often a query takes it.
        qps, gain: with the counting; the gain is over the baseline, None for the baseline.
        plain_qps, plain_gain: without it, in the rounds of the look at the time that were without
            any look; None if there are none.
    """

    cell: Mapping[str, Level]
    waits_us: Mapping[str, Estimate]
    counts: Mapping[str, Estimate]
    qps: Estimate
    gain: Estimate | None
    plain_qps: Estimate | None
    plain_gain: Estimate | None


def locks_of(
    looks: Sequence[LookRecord], compared: str | None, baseline: Level | None
) -> list[list[LocksOfCell]]:
    """The last look at the locks of each cell, those side by side together."""
    plain = {
        cell_key(one.cell): [each["qps"] for each in one.figures["rounds"] if not each.get("look")]
        for one in looks
        if one.look == BUDGET and one.error is None and one.figures.get("rounds")
    }
    found = []
    for records in last_looks(looks, LOCKS):
        base = baseline_of(records, compared, baseline)
        found.append([_of(one, None if one is base else base, plain) for one in records])
    return found


def _of(
    record: LookRecord, base: LookRecord | None, plain: Mapping[CellKey, Sequence[float]]
) -> LocksOfCell:
    parts = record.figures["parts"]
    by_lock: dict[str, list[tuple[float, float]]] = {}
    for part in parts:
        for lock in part["locks"]:
            by_lock.setdefault(lock["lock"], []).append((lock["wait_us"], lock["count"]))
    # A lock that is not among the first of every part is not among the first.
    whole = {name: seen for name, seen in by_lock.items() if len(seen) == len(parts)}
    waits = {name: estimate([wait for wait, _ in seen]) for name, seen in whole.items()}
    first = sorted(waits, key=lambda name: -waits[name].mean)[:_TOLD]
    told = [name for name in first if waits[name].mean >= _LEAST_US]
    rates = [part["qps"] for part in parts]
    own = plain.get(cell_key(record.cell), ())
    theirs = [] if base is None else [part["qps"] for part in base.figures["parts"]]
    plain_theirs = () if base is None else plain.get(cell_key(base.cell), ())
    return LocksOfCell(
        cell=record.cell,
        waits_us={name: waits[name] for name in told},
        counts={name: estimate([count for _, count in whole[name]]) for name in told},
        qps=estimate(rates),
        gain=_gain(rates, theirs),
        plain_qps=estimate(own) if own else None,
        plain_gain=_gain(own, plain_theirs),
    )


def _gain(rates: Sequence[float], base: Sequence[float]) -> Estimate | None:
    """The ratio of neighbours."""
    pairs = [(one, other) for one, other in zip(rates, base, strict=False) if one > 0 and other > 0]
    return estimate([one / other for one, other in pairs], log_scale=True) if pairs else None
