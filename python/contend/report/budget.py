"""Where the time of a query goes, as a section: a table for the cells beside one another, from the
response time through its parts to the remainder, and what the look itself did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contend.findings import Said
from contend.findings.budget import BLOCKED, PARTS, REMAINDER, Budget
from contend.report.model import Section, TextTable
from contend.report.words import cell_phrase, estimate_text, half_of, significant
from contend.spec import Level
from contend.stats import Estimate, finite

_BAR = 24
"""Characters of the longest bar."""


def budget_section(groups: Sequence[Sequence[Budget]], compared: str | None) -> Section | None:
    """The section; None if nobody looked."""
    if not groups:
        return None
    lead = " ".join(said for group in groups for one in group for said in _said(one))
    tables = [table for group in groups for table in _tables(group, compared)]
    return Section(
        "Where the time of a query goes",
        lead or "Blocks of their own after the measured ones; none of their figures is above.",
        tuple(tables),
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


def _tables(group: Sequence[Budget], compared: str | None) -> list[TextTable]:
    """The parts of the cells side by side, a bar for each, and what the look cost."""
    context = {path: level for path, level in group[0].cell.items() if path != compared}
    heads = [_head(one, compared) for one in group]
    names = [name for name in PARTS if any(name in one.parts for one in group)]
    names = [name for name in names if not _is_nothing(name, group)]
    differs = len(group) == 2
    rows = [_row("response time", [one.response_us for one in group], differs)]
    rows += [_row(name, [one.parts.get(name) for one in group], differs) for name in names]
    longest = max(one.response_us.mean for one in group)
    bars = [
        (name, *(_bar(one.parts.get(name), longest) for one in group))
        for name in names
        if name != REMAINDER
    ]
    where = _at(context)
    beside = (*heads, *(("difference",) if differs else ()))
    return [
        TextTable(
            f"Mean microseconds of an event{where} (intervals after ±; n counts rounds)",
            ("part", *beside),
            tuple(rows),
        ),
        TextTable(f"The same as bars{where}", ("part", *heads), tuple(bars)),
        TextTable(
            f"What the look itself did{where}",
            ("", *heads),
            (
                ("queries a second, with it over without", *(_times(one.speed) for one in group)),
                (
                    "gain over the baseline, likewise",
                    *("" if one.effect is None else _times(one.effect) for one in group),
                ),
                ("looks at threads", *(str(one.reads) for one in group)),
                ("of one CPU", *(f"{one.look_cpu_share * 100:.2f} %" for one in group)),
            ),
        ),
    ]


def _head(one: Budget, compared: str | None) -> str:
    return "all" if compared is None else str(one.cell[compared])


def _is_nothing(name: str, group: Sequence[Budget]) -> bool:
    """A place where nobody waited needs no row."""
    known = [one.parts[name].mean for one in group if name in one.parts]
    return name in BLOCKED.values() and not any(known)


def _row(name: str, values: Sequence[Estimate | None], differs: bool) -> tuple[str, ...]:
    cells = ["not known" if one is None else str(estimate_text(one)) for one in values]
    if differs:
        first, second = values
        known = first is not None and second is not None
        cells.append(_difference(first, second) if known and first and second else "")
    return (name, *cells)


def _difference(first: Estimate, second: Estimate) -> str:
    """With an interval as if both varied by themselves: that of neighbours is no wider."""
    half = (half_of(first) ** 2 + half_of(second) ** 2) ** 0.5
    mean = second.mean - first.mean
    text = str(estimate_text(Estimate(mean, mean - half, mean + half, first.n, first.confidence)))
    return text if text.startswith("-") else f"+{text}"


def _bar(part: Estimate | None, longest: float) -> str:
    share = 0.0 if part is None or longest <= 0 else max(0.0, part.mean) / longest
    return "█" * round(share * _BAR) or "·"


def _times(ratio: Estimate) -> str:
    if finite(ratio.mean) is None:
        return "not known"
    change, half = (ratio.mean - 1) * 100, half_of(ratio) * 100
    if finite(half) is None:
        return f"{change:+.1f} %"
    return f"{change:+.1f} % ±{significant(half, 2)}"


def budget_json(groups: Sequence[Sequence[Budget]]) -> list[dict[str, Any]]:
    """Each cell that was looked at; microseconds an event, ratios as such."""
    return [
        {
            "factors": dict(one.cell),
            "response_us": _figure(one.response_us),
            "parts_us": {name: _figure(part) for name, part in one.parts.items()},
            "unknown": list(one.unknown),
            "hot_lock": None
            if one.hot_lock is None
            else {
                "address": one.hot_lock.address,
                "share_of_waits": one.hot_lock.share,
                "share_of_response": one.hot_lock.of_response,
                "reads": one.hot_lock.reads,
            },
            "look": {
                "speed_ratio": _figure(one.speed),
                "effect_ratio": None if one.effect is None else _figure(one.effect),
                "reads": one.reads,
                "cpu_share": one.look_cpu_share,
            },
        }
        for group in groups
        for one in group
    ]


def _figure(one: Estimate) -> dict[str, Any]:
    return {"mean": finite(one.mean), "low": finite(one.low), "high": finite(one.high), "n": one.n}
