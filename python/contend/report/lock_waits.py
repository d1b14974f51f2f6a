"""The locks inside servers, as a section: what a query waits for each, and what counting did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contend.findings.lock_waits import LocksOfCell
from contend.report.lost_looks import lost_words
from contend.report.model import Section, TextTable
from contend.report.words import cell_phrase, estimate_text, figure_json, ratio_text
from contend.stats import Estimate
from contend.store import LookRecord

_LEAD = (
    "As performance_schema counts it, on servers that were started with it for this look alone. It "
    "slows them down: their queries a second stand beside those without it. Taking a lock that is "
    "free counts too."
)


def lock_section(
    groups: Sequence[Sequence[LocksOfCell]], failed: Sequence[LookRecord], compared: str | None
) -> Section | None:
    """The section; None if nobody looked."""
    if not groups and not failed:
        return None
    return Section(
        "What threads of the server wait for inside it",
        " ".join((*((_LEAD,) if groups else ()), *lost_words(failed))),
        tuple(_table(group, compared) for group in groups),
    )


def _table(group: Sequence[LocksOfCell], compared: str | None) -> TextTable:
    context = {path: level for path, level in group[0].cell.items() if path != compared}
    phrase = str(cell_phrase(context))
    names = list(dict.fromkeys(name for one in group for name in one.waits_us))
    heads = ["all" if compared is None else str(one.cell[compared]) for one in group]
    return TextTable(
        "Microseconds of a query"
        + (f" with {phrase}" if phrase else "")
        + ", and how often it takes the lock (intervals after ±)",
        ("lock", *(column for head in heads for column in (head, f"{head}, times"))),
        (
            *(
                (
                    name,
                    *(
                        cell
                        for one in group
                        for cell in (_text(one.waits_us.get(name)), _text(one.counts.get(name)))
                    ),
                )
                for name in names
            ),
            ("queries a second, counting", *_apart(_text(one.qps) for one in group)),
            ("without it", *_apart(_text(one.plain_qps) for one in group)),
            ("gain over the baseline, counting", *_apart(_percent(one.gain) for one in group)),
            ("without it", *_apart(_percent(one.plain_gain) for one in group)),
        ),
    )


def _apart(cells: Any) -> list[str]:
    """Nothing in the second column of each level."""
    return [text for cell in cells for text in (cell, "")]


def _text(one: Estimate | None) -> str:
    return "" if one is None else str(estimate_text(one))


def _percent(ratio: Estimate | None) -> str:
    return "" if ratio is None else ratio_text(ratio)


def locks_json(groups: Sequence[Sequence[LocksOfCell]]) -> list[dict[str, Any]]:
    """Each cell; microseconds and counts a query, ratios as such."""
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
        for group in groups
        for one in group
    ]
