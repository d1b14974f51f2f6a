"""TPC-C's requirements for a run in addition to speed: limits of response times, the mix, the
rollbacks. Also the cost of each transaction in round trips.

It appears if runs executed the transactions of TPC-C. The limits and the minima are those of the
specification, clauses 5.2.5.3 and 5.2.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from contend.experiment import Level, cell_spec
from contend.findings import Study, cell_figures
from contend.metrics import metric_of
from contend.metrics.read import kinds
from contend.metrics.tpcc import is_tpcc, waits_percent
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import cell_phrase, known_text, share_text, significant
from contend.stats import Estimate
from contend.store import RunRecord

DEFERRED = "deferred_delivery"

LIMITS_S = {
    "new_order": 5.0,
    "payment": 5.0,
    "order_status": 5.0,
    "delivery": 5.0,
    "stock_level": 20.0,
    DEFERRED: 80.0,
}
"""Seconds within which 90 of 100 transactions of a kind must have ended."""

MIX_MINIMA_PERCENT = {"payment": 43.0, "order_status": 4.0, "delivery": 4.0, "stock_level": 4.0}

OVER = " !"
"""Next to a figure that the specification does not allow."""

_FIGURES = (
    "new_orders_per_minute",
    "round_trips_per_event",
    "statements_per_transaction",
    "tpcc_efficiency",
)

_PERCENTILES = ("p50", "p90", "p99")

Found = Mapping[str, tuple[Mapping[str, Level], Mapping[str, Estimate]]]
"""Each cell and its figures, by the cell's label."""


def _read(inputs: Inputs) -> Shown | None:
    """None if no run executed these transactions."""
    study, cells = inputs.study, inputs.cells
    measured = [cell.cell for cell in cells if any(map(is_tpcc, study.runs_of(cell.cell)))]
    if not measured:
        return None
    runs = [run for cell in measured for run in study.runs_of(cell)]
    waits = {waits_percent(run) for run in runs}
    shrinks = {cell_spec(study.experiment, cell)["data.shrink"] for cell in measured}
    names = [name for name in LIMITS_S if any(_events(run).get(name) is not None for run in runs)]
    times = (_time(name, end) for name in names for end in _PERCENTILES)
    wanted = tuple(metric_of(name) for name in (*_FIGURES, *times))
    found = {}
    for cell in measured:
        figures = cell_figures(replace(study, shown=wanted), cell)
        found[cell_phrase(cell) or "all"] = (cell, {} if figures is None else figures.figures)
    return Shown(
        title="TPC-C: new orders per minute, response times, mix",
        lead=_lead(waits, is_shrunk=bool(shrinks - {None, 1})),
        tables=(
            _costs(study, found, has_waits=waits == {100}),
            _limits(names, found),
            _mix(study, found),
        ),
    )


def _lead(waits: set[int], *, is_shrunk: bool) -> str:
    """The permitted names for the figures."""
    audited = "This is not an audited result and cannot be compared with one."
    if is_shrunk:
        audited += " The tables are smaller than the specification requires (data.shrink)."
    if waits == {100}:
        return f"{audited} Users key in and think as specified, so new orders per minute are tpmC."
    return (
        f"{audited} Users do not key in and think as specified, so new orders per minute are not "
        "tpmC: they show how fast the server is under this many connections that never wait."
    )


def _costs(study: Study, found: Found, *, has_waits: bool) -> TextTable:
    rows = []
    for phrase, (cell, figures) in found.items():
        runs = study.runs_of(cell)
        begun = sum(_all(run) for run in runs)
        row = [phrase, known_text(figures.get(_FIGURES[0]))]
        if has_waits:
            row.append(known_text(figures.get("tpcc_efficiency"), share_text))
        row += [
            *(known_text(figures.get(name)) for name in _FIGURES[1:3]),
            _percent(_sum(runs, "rolled_back"), _count(runs, "new_order")),
            _percent(_sum(runs, "retries"), begun),
            _percent(_sum(runs, "failed"), begun),
        ]
        rows.append(tuple(row))
    return TextTable(
        caption="New orders that ended, and the percentage of them that rolled back as intended; "
        "round trips and statements per transaction, as the mean over all kinds; retries and "
        "transactions given up, in percent of all",
        columns=(
            "cell",
            *(("tpmC", "of 12.86 per warehouse") if has_waits else ("new orders/min",)),
            "round trips",
            "statements",
            "rolled back",
            "retries",
            "given up",
        ),
        rows=tuple(rows),
    )


def _limits(names: Sequence[str], found: Found) -> TextTable:
    return TextTable(
        caption="Response times in ms from the intended start: 50th / 90th / 99th percentile. The "
        f"90th must be within the limit above it;{OVER} marks a violation",
        columns=("cell", *(f"{name} ≤{LIMITS_S[name]:g} s" for name in names)),
        rows=tuple(
            (phrase, *(_times(name, figures) for name in names))
            for phrase, (_, figures) in found.items()
        ),
    )


def _times(name: str, figures: Mapping[str, Estimate]) -> str:
    found = [figures.get(_time(name, end)) for end in _PERCENTILES]
    if None in found:
        return "none ended"
    p90 = figures[_time(name, "p90")].mean
    text = " / ".join(significant(one.mean / 1000, 2) for one in found if one is not None)
    return f"{text}{OVER if p90 > LIMITS_S[name] * 1e6 else ''}"


def _mix(study: Study, found: Found) -> TextTable:
    least = {name: f" ≥{percent:g}" for name, percent in MIX_MINIMA_PERCENT.items()}
    names = [name for name in LIMITS_S if name != DEFERRED]
    return TextTable(
        caption="The mix: percent of all transactions, and the minimum for each kind;"
        f"{OVER} marks a kind below its minimum",
        columns=("cell", *(f"{name}{least.get(name, '')}" for name in names)),
        rows=tuple(
            (phrase, *mix_texts({name: _count(study.runs_of(cell), name) for name in names}))
            for phrase, (cell, _) in found.items()
        ),
    )


def mix_texts(events: Mapping[str, int]) -> list[str]:
    """The share of each transaction, in percent.

    A deck that is not used up may lack a card: up to one event of a hundred is ignored.
    """
    total = sum(events.values())
    if not total:
        return ["none" for _ in events]
    shares = {name: 100 * count / total for name, count in events.items()}
    return [
        f"{share:.1f}{OVER if share < MIX_MINIMA_PERCENT.get(name, 0) * 0.99 else ''}"
        for name, share in shares.items()
    ]


def _time(name: str, end: str) -> str:
    return f"event.{name}.response_us_{end}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else "not known"


def _events(run: RunRecord) -> dict[str, int]:
    return {kind["name"]: kind["events"] for kind in kinds(run)}


def _count(runs: Sequence[RunRecord], name: str) -> int:
    return sum(_events(run).get(name, 0) for run in runs)


def _all(run: RunRecord) -> int:
    return sum(_events(run).values())


def _sum(runs: Sequence[RunRecord], count: Literal["rolled_back", "retries", "failed"]) -> int:
    return sum(kind[count] for run in runs for kind in kinds(run))


SECTION = Section("tpcc", "TPC-C", _read, lambda shown, _inputs: shown)
