"""The locks inside servers, as their performance_schema counts them: the wait per query for each
lock, how often a query takes it, and the effect of counting on the speed.

Counting slows a server down. So the same load is put on servers started with it only for this
diagnostic pass, and no measured run includes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contend.errors import WorkError
from contend.experiment import CellKey, Level, cell_key
from contend.lab.looks import BlockToLookAt, LookAtCause
from contend.sections.budget import BUDGET
from contend.sections.looks import (
    LooksFound,
    context_of,
    each_in_words,
    failed_sentences,
    head_of,
    looked,
    with_cell,
)
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import estimate_text, figure_json, known_text, ratio_text
from contend.stats import Estimate, estimate
from contend.store import LookRecord

if TYPE_CHECKING:
    from contend.lab.testbed import Ready
    from contend.metrics.outcome import Outcome
    from contend.servers.variables import LockWaits

LOCKS = "locks"

INSTRUMENTS: Mapping[str, Level] = {
    "server.options.performance_schema": True,
    "server.options.performance_schema_instrument": "wait/synch/%=ON",
}
"""Options with which a private server counts and times all its mutexes, locks and conditions."""

PARTS, ROUNDS, SLICE_S = 4, 3, 0.4
"""The locks are read before and after `ROUNDS` rounds, `PARTS` times."""

_KEPT = 12
"""Number of locks that are kept: those with most waiting."""


def look_at_locks(block: BlockToLookAt) -> list[LookRecord]:
    """Read the locks of these cells' servers before and after rounds of slices, several times.

    Raises:
        WorkError: a server counts no locks, or one server has several levels in turn.
        LoadFailed: contend-load gave no result.
    """
    if not block.has_own_servers:
        raise WorkError("one server runs all levels in turn and counts their locks together")
    cut = block.cut(ROUNDS, SLICE_S, 0.02)
    parts: list[list[dict[str, Any]]] = [[] for _ in block.arms]
    for _ in range(PARTS):
        before = [_read(ready) for ready in block.readies]
        rates: list[list[float]] = [[] for _ in block.arms]

        def on_event(event: Outcome, into: list[list[float]] = rates) -> None:
            if event["type"] == "slice":
                into[event["arm_index"]].append(event["qps"])

        block.drive(cut, on_event)
        for place, ready in enumerate(block.readies):
            parts[place].append(_part(before[place], _read(ready), rates[place]))
    return block.records([{"parts": one} for one in parts])


def _read(ready: Ready) -> LockWaits:
    from contend.servers.variables import lock_waits

    found = lock_waits(ready.observed.connection)
    if found is None:
        raise WorkError("its performance_schema is off or does not count locks")
    return found


def _part(before: LockWaits, after: LockWaits, rates: Sequence[float]) -> dict[str, Any]:
    """Per query of that server, from any client: the locks with most waiting."""
    queries = max(1, after.queries - before.queries)
    waits = _risen(before.waits_us, after.waits_us)
    counts = _risen(before.counts, after.counts)
    most = sorted(waits, key=lambda name: -waits[name])[:_KEPT]
    return {
        "qps": sum(rates) / len(rates) if rates else 0.0,
        "locks": [
            {
                "lock": name.removeprefix("wait/synch/"),
                "wait_us": waits[name] / queries,
                "count": counts.get(name, 0.0) / queries,
            }
            for name in most
        ],
    }


def _risen(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {name: value - before.get(name, 0) for name, value in after.items()}


_LISTED = 8
"""Maximum number of locks per cell, and the minimum wait per query, in microseconds."""
_LEAST_US = 0.1


@dataclass(frozen=True, slots=True)
class LocksOfCell:
    """One cell; n counts parts of the look, or rounds of the look at the time.

    Args:
        waits_us: by lock, a query's time to take it, including that for a free one.
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


def _found(inputs: Inputs) -> LooksFound[LocksOfCell] | None:
    plain = {
        cell_key(one.cell): [each["qps"] for each in one.figures["rounds"] if not each.get("look")]
        for one in inputs.looks
        if one.look == BUDGET and one.error is None and one.figures.get("rounds")
    }
    return looked(inputs, LOCKS, lambda record, base: _of(record, base, plain))


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
    first = sorted(waits, key=lambda name: -waits[name].mean)[:_LISTED]
    listed = [name for name in first if waits[name].mean >= _LEAST_US]
    rates = [part["qps"] for part in parts]
    own = plain.get(cell_key(record.cell), ())
    theirs = [] if base is None else [part["qps"] for part in base.figures["parts"]]
    plain_theirs = () if base is None else plain.get(cell_key(base.cell), ())
    return LocksOfCell(
        cell=record.cell,
        waits_us={name: waits[name] for name in listed},
        counts={name: estimate([count for _, count in whole[name]]) for name in listed},
        qps=estimate(rates),
        gain=_gain(rates, theirs),
        plain_qps=estimate(own) if own else None,
        plain_gain=_gain(own, plain_theirs),
    )


def _gain(rates: Sequence[float], base: Sequence[float]) -> Estimate | None:
    """The ratio of neighbours."""
    pairs = [(one, other) for one, other in zip(rates, base, strict=False) if one > 0 and other > 0]
    return estimate([one / other for one, other in pairs], log_scale=True) if pairs else None


_TITLE = "Waits for locks inside the server"
_LEAD = (
    "Counted by performance_schema, on servers started with it for this diagnostic pass only. It "
    "slows them down: the table compares their queries per second with those without it. Taking a "
    "free lock counts too."
)


def _longest(one: LocksOfCell) -> str:
    if not one.waits_us:
        return ""
    name, wait = max(one.waits_us.items(), key=lambda each: each[1].mean)
    return f"{name}, {known_text(wait)} us"


def _show(found: LooksFound[LocksOfCell], inputs: Inputs) -> Shown:
    longest = [
        each_in_words("Longest waits per query", group, inputs.compared_path, _longest)
        for group in found.groups
    ]
    about = (_LEAD,) if found.groups else ()
    lead = (*failed_sentences(found.failed), *filter(None, longest), *about)
    tables = (_table(group, inputs.compared_path) for group in found.groups)
    return Shown(_TITLE, " ".join(lead), tuple(tables), is_short=True)


def _table(group: Sequence[LocksOfCell], compared: str | None) -> TextTable:
    where = with_cell(context_of(group[0], compared))
    names = list(dict.fromkeys(name for one in group for name in one.waits_us))
    heads = [head_of(one, compared) for one in group]
    by_lock = [figures for one in group for figures in (one.waits_us, one.counts)]
    rows = [
        (name, *(known_text(figures.get(name), unknown="") for figures in by_lock))
        for name in names
    ]
    # The second column of each level is empty.
    rows += [
        (label, *(text for one in group for text in (known_text(getattr(one, name), how, ""), "")))
        for label, name, how in (
            ("queries/s, counting", "qps", estimate_text),
            ("queries/s, not counting", "plain_qps", estimate_text),
            ("gain, counting", "gain", ratio_text),
            ("gain, not counting", "plain_gain", ratio_text),
        )
    ]
    return TextTable(
        f"Microseconds per query{where}, and how often a query takes the lock (intervals after ±; "
        "gains over the baseline)",
        ("lock", *(column for head in heads for column in (head, f"{head}, times"))),
        tuple(rows),
    )


def _json(found: LooksFound[LocksOfCell], _inputs: Inputs) -> list[dict[str, Any]]:
    """Each cell; microseconds and counts per query, ratios unchanged."""
    return [
        {
            "factors": dict(one.cell),
            "waits_us": {name: figure_json(wait) for name, wait in one.waits_us.items()},
            "counts": {name: figure_json(count) for name, count in one.counts.items()},
            "qps": figure_json(one.qps),
            "plain_qps": figure_json(one.plain_qps),
            "gain_ratio": figure_json(one.gain),
            "plain_gain_ratio": figure_json(one.plain_gain),
        }
        for one in found.cells
    ]


SECTION = Section(
    "locks",
    _TITLE,
    _found,
    _show,
    _json,
    look=LookAtCause(LOCKS, look_at_locks, INSTRUMENTS),
)
