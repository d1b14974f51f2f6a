"""Switches between threads as a section: a table for the cells beside one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contend.findings import Said
from contend.findings.switches import HELD_SHARE, SEEN, SwitchesOfCell
from contend.report.lost_looks import lost_words
from contend.report.model import Section, TextTable
from contend.report.words import cell_phrase, estimate_text, figure_json, ratio_text
from contend.stats import Estimate
from contend.store import LookRecord

_LEAD = (
    "As the kernel traces each switch (sched_switch, sched_waking), in every other round of a "
    "block of its own. Preempted: taken off its CPU though it could run on. A thread sleeps for a "
    "preempted one if that one woke it, and was off its CPU meanwhile; it may have taken the lock "
    "only after that, so this is an upper bound."
)


def switch_section(
    groups: Sequence[Sequence[SwitchesOfCell]], failed: Sequence[LookRecord], compared: str | None
) -> Section | None:
    """The section; None if nobody looked."""
    if not groups and not failed:
        return None
    said = [words for group in groups for one in group if (words := _said(one))]
    lead = (*((_LEAD,) if groups else ()), *said, *lost_words(failed))
    tables = tuple(_table(group, compared) for group in groups)
    return Section("Threads that were taken off their CPUs", " ".join(lead), tables)


def _said(one: SwitchesOfCell) -> str:
    phrase = str(cell_phrase(one.cell))
    at = f" with {phrase}" if phrase else ""
    said = []
    if one.held_share >= HELD_SHARE:
        said.append(
            f"Holders are preempted{at}: for up to {one.held_share * 100:.0f} % of the response "
            "time a query sleeps for a thread that is itself off its CPU."
        )
    if one.lost:
        said.append(
            f"The kernel had no room for {one.lost} events{at}, so the last rounds have too few."
        )
    return " ".join(str(Said.written(words)) for words in said)


def _table(group: Sequence[SwitchesOfCell], compared: str | None) -> TextTable:
    context = {path: level for path, level in group[0].cell.items() if path != compared}
    phrase = str(cell_phrase(context))
    heads = ["all" if compared is None else str(one.cell[compared]) for one in group]
    return TextTable(
        f"Of a query{f' with {phrase}' if phrase else ''} (intervals after ±; n counts rounds)",
        ("", *heads),
        (
            *(
                (words, *(_text(one.of_query.get(name)) for one in group))
                for name, words in SEEN.items()
            ),
            ("queries a second, traced over not", *(ratio_text(one.speed) for one in group)),
            (
                "gain over the baseline, likewise",
                *("" if one.effect is None else ratio_text(one.effect) for one in group),
            ),
        ),
    )


def _text(one: Estimate | None) -> str:
    return "not known" if one is None else str(estimate_text(one))


def switches_json(groups: Sequence[Sequence[SwitchesOfCell]]) -> list[dict[str, Any]]:
    """Each cell; times and microseconds a query, ratios as such."""
    return [
        {
            "factors": dict(one.cell),
            "of_query": {name: figure_json(figure) for name, figure in one.of_query.items()},
            "held_share": one.held_share,
            "look": {
                "speed_ratio": figure_json(one.speed),
                "effect_ratio": figure_json(one.effect),
            },
            "lost": one.lost,
        }
        for group in groups
        for one in group
    ]
