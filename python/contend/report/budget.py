"""Where the time of a query goes, as a section: a table for the cells beside one another, from the
response time through its parts to the remainder, bars and waterfalls of them, and what the look
itself did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contend.findings import Said
from contend.findings.budget import Budget, SlowBudget
from contend.findings.budget_parts import RESPONSE, SLOW_PARTS
from contend.findings.server_says import ServerCount
from contend.report.budget_charts import (
    bars_chart,
    context_of,
    head_of,
    parts_of,
    slow_chart,
    waterfalls,
)
from contend.report.lost_looks import lost_words
from contend.report.model import Section, TextTable
from contend.report.words import cell_phrase, estimate_text, figure_json, ratio_text, significant
from contend.spec import Level
from contend.stats import Estimate
from contend.store import LookRecord


def budget_section(
    groups: Sequence[Sequence[Budget]],
    says: Sequence[Sequence[ServerCount]],
    failed: Sequence[LookRecord],
    compared: str | None,
) -> Section | None:
    """The section; None if nobody looked. `says` has what the server counted, group by group."""
    if not groups and not failed:
        return None
    said = [said for group in groups for one in group for said in _said(one)]
    said += lost_words(failed)
    lead = " ".join(said)
    tables = [
        table
        for group, counts in zip(groups, says, strict=True)
        for table in _tables(group, counts, compared)
    ]
    charts = [bars_chart(group, compared) for group in groups]
    charts += [chart for group in groups if (chart := slow_chart(group, compared)) is not None]
    charts += [fall for group in groups for fall in waterfalls(group, compared)]
    return Section(
        "Where the time of a query goes",
        lead or "Blocks of their own after the measured ones; none of their figures is above.",
        tuple(tables),
        tuple(charts),
    )


def _said(one: Budget) -> list[str]:
    """What stands out in a cell: a hot lock, and what could not be seen."""
    at = _at(one.cell)
    said = []
    if one.hot_lock is not None:
        lock = one.hot_lock
        said.append(
            Said.written(
                f"One lock is hot{at}: {lock.share * 100:.0f} % of the {lock.reads} waits for "
                f"memory that were seen are for one address ({lock.address}), and such waits take "
                f"{lock.of_response * 100:.0f} % of the response time."
            )
        )
    said += [Said.written(f"Not known{at}: {what}.") for what in one.unknown]
    return [str(words) for words in said]


def _at(cell: Mapping[str, Level]) -> str:
    phrase = str(cell_phrase(cell))
    return f" with {phrase}" if phrase else ""


def _tables(
    group: Sequence[Budget], counts: Sequence[ServerCount], compared: str | None
) -> list[TextTable]:
    """The parts of the cells side by side, what differs, what the server itself says, and what the
    look cost."""
    where = _at(context_of(group[0], compared))
    heads = [head_of(one, compared) for one in group]
    names = [RESPONSE, *parts_of(group)]
    levels = [one for one in group if one.changes]
    base = next((head_of(one, compared) for one in group if not one.changes), "")
    return [
        TextTable(
            f"Mean microseconds of an event{where} (intervals after ±; n counts rounds)",
            ("part", *heads, *(f"{head_of(one, compared)} less {base}" for one in levels)),
            tuple(
                (
                    name,
                    *(
                        _text(one.response_us if name == RESPONSE else one.parts.get(name))
                        for one in group
                    ),
                    *(_signed(one.changes.get(name)) for one in levels),
                )
                for name in names
            ),
        ),
        *_slow_table(group, where, compared),
        *(
            [
                TextTable(
                    f"What the server says of a query{where} (of the measured runs; n counts "
                    "repeats)",
                    ("counter", *heads),
                    tuple((one.name, *map(_text, one.figures)) for one in counts),
                )
            ]
            if counts
            else ()
        ),
        TextTable(
            f"What the look itself did{where}",
            ("", *heads),
            (
                (
                    "queries a second, with it over without",
                    *(ratio_text(one.speed) for one in group),
                ),
                (
                    "gain over the baseline, likewise",
                    *("" if one.effect is None else ratio_text(one.effect) for one in group),
                ),
                ("looks at threads", *(str(one.reads) for one in group)),
                *_left_out(group),
                (
                    "CPU time of the look, of one CPU",
                    *(f"{one.look_cpu_share * 100:.2f} %" for one in group),
                ),
            ),
        ),
    ]


def _left_out(group: Sequence[Budget]) -> list[tuple[str, ...]]:
    """How many rounds are in no part; nothing if all are."""
    if not any(one.left_out for one in group):
        return []
    name = "rounds left out (no CPU for a thread)"
    return [(name, *(str(one.left_out) for one in group))]


def _slow_table(group: Sequence[Budget], where: str, compared: str | None) -> list[TextTable]:
    """The slowest hundredth of events, by looks at their threads."""
    known = [(head_of(one, compared), one.slow) for one in group if one.slow is not None]
    if not known:
        return []
    names = [name for name in SLOW_PARTS if any(name in slow.parts for _, slow in known)]
    return [
        TextTable(
            f"The slowest hundredth of events{where}: mean microseconds (intervals after ±; n "
            "counts rounds)",
            ("part", *(head for head, _ in known)),
            (
                (RESPONSE, *(_text(slow.response_us) for _, slow in known)),
                *(
                    # A place where nobody was seen to wait.
                    (
                        name,
                        *(
                            _text(slow.parts[name]) if name in slow.parts else "0"
                            for _, slow in known
                        ),
                    )
                    for name in names
                ),
                ("slow from, us", *(significant(slow.over_us, 3) for _, slow in known)),
                ("looks at their threads", *(str(slow.reads) for _, slow in known)),
            ),
        )
    ]


def _text(one: Estimate | None) -> str:
    return "not known" if one is None else str(estimate_text(one))


def _signed(change: Estimate | None) -> str:
    if change is None:
        return "not known"
    text = str(estimate_text(change))
    return text if text.startswith("-") else f"+{text}"


def budget_json(groups: Sequence[Sequence[Budget]]) -> list[dict[str, Any]]:
    """Each cell that was looked at; microseconds an event, ratios as such."""
    return [
        {
            "factors": dict(one.cell),
            "response_us": figure_json(one.response_us),
            "parts_us": {name: figure_json(part) for name, part in one.parts.items()},
            "changes_us": {name: figure_json(part) for name, part in one.changes.items()},
            "unknown": list(one.unknown),
            "hot_lock": None
            if one.hot_lock is None
            else {
                "address": one.hot_lock.address,
                "share_of_waits": one.hot_lock.share,
                "share_of_response": one.hot_lock.of_response,
                "reads": one.hot_lock.reads,
            },
            "slow": None if one.slow is None else _slow(one.slow),
            "look": {
                "speed_ratio": figure_json(one.speed),
                "effect_ratio": None if one.effect is None else figure_json(one.effect),
                "rounds_left_out": one.left_out,
                "reads": one.reads,
                "cpu_share": one.look_cpu_share,
            },
        }
        for group in groups
        for one in group
    ]


def _slow(slow: SlowBudget) -> dict[str, Any]:
    return {
        "over_us": slow.over_us,
        "response_us": figure_json(slow.response_us),
        "parts_us": {name: figure_json(part) for name, part in slow.parts.items()},
        "events": slow.events,
        "reads": slow.reads,
    }
