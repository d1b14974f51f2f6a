"""What the figures of each way to warm say in sentences: what was asked, the two questions that the
study of warming left open, how much of "warm" was the page cache's, and whether warming pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from contend.report.words import estimate_text
from contend.spec import Level
from contend.stats import Estimate

if TYPE_CHECKING:
    from contend.report.warmth import Way
    from contend.store import RunRecord

COLD, REPEATED, TOOL, BOTH = "cold", "repeated", "queries", "queries-repeated"
"""A cold server; the steps 2, 5 and 6 of the study."""

Ways = Mapping[Level | None, "Way"]

PAGE = 16_384
"""Bytes of a page of InnoDB unless the server is told otherwise."""

_ROWS = {
    "random": "rows drawn at random",
    "first_rows": "the first rows of the table, as they were inserted",
    "index": "the first rows of the index, in its order",
}


def asked(runs: Sequence[RunRecord]) -> str | None:
    """Which rows the lookups of the study's table asked for, which is not published of the study;
    None of other workloads."""
    found: dict[str, None] = {}
    lengths: dict[int, None] = {}
    for run in runs:
        workload = run.plan.get("workload")
        if workload is not None and workload["kind"] == "string_lookup":
            rows = _ROWS[workload["order"]]
            drawn = workload["distribution"]["kind"]
            found[rows if drawn == "uniform" else f"{rows} ({drawn})"] = None
            lengths[workload["string_length"]] = None
    if not found:
        return None
    characters = " or ".join(map(str, sorted(lengths)))
    return (
        f"The lookups asked for {'; or '.join(found)} (workload.order), by strings of {characters} "
        "characters (data.string_length). The study says neither of its own."
    )


def open_questions(where: str, ways: Ways) -> list[str]:
    """The study's two open questions, from these figures."""
    repeated, tool, both = (ways.get(level) for level in (REPEATED, TOOL, BOTH))
    texts = []
    if repeated is not None and tool is not None and repeated.seconds and tool.seconds:
        texts.append(
            "Why are the same queries again faster than queries after the counts of rows"
            f"{where}? " + _why(repeated, tool, "the same queries", "the counts of rows")
        )
    if (
        repeated is not None
        and tool is not None
        and both is not None
        and tool.seconds
        and both.seconds
        and repeated.seconds
    ):
        between = repeated.seconds.high < both.seconds.low and both.seconds.high < tool.seconds.low
        lies = "lies between the two" if between else "does not surely lie between the two here"
        texts.append(
            f"And why does the second run after the counts lie between them{where}? It took "
            f"{estimate_text(both.seconds)} s and {lies}. "
            + _why(both, tool, "counts and queries", "the counts alone")
            + " "
            + _why(repeated, both, "the same queries alone", "counts and queries")
        )
    return texts


def _why(fast: Way, slow: Way, fast_name: str, slow_name: str) -> str:
    """Which of two ways reads more, and whether that goes with the time."""
    assert fast.seconds is not None
    assert slow.seconds is not None
    times = (
        f"After {fast_name} the run took {estimate_text(fast.seconds)} s, after {slow_name} "
        f"{estimate_text(slow.seconds)} s."
    )
    if fast.seconds.high >= slow.seconds.low and slow.seconds.high >= fast.seconds.low:
        times += " The intervals overlap: a difference is not certain here."
    elif fast.seconds.mean > slow.seconds.mean:
        return f"{times} Here it is the other way round."
    if fast.reads is None or slow.reads is None:
        return times
    reads = (
        f" A query missed {estimate_text(fast.reads)} pages in the buffer pool there, and "
        f"{estimate_text(slow.reads)} here"
    )
    if slow.reads.mean > fast.reads.mean * 1.1 + 0.001:
        return (
            f"{times}{reads}: {slow_name} left pages in the pool that the queries do not ask for, "
            "and not all that they ask for."
        )
    if fast.reads.mean > slow.reads.mean * 1.1 + 0.001:
        return f"{times}{reads}: reads do not explain a difference that goes the other way."
    # More of what the pool missed came from the disk; with O_DIRECT all of it does.
    if (
        fast.disk is None
        or slow.disk is None
        or slow.disk.low - fast.disk.high < PAGE / 100
        or slow.disk.mean * fast.reads.mean <= 1.1 * (fast.disk.mean + 1) * slow.reads.mean
    ):
        return f"{times}{reads}: reads do not tell them apart."
    return (
        f"{times}{reads}. But of the disk a query read {estimate_text(fast.disk)} bytes there and "
        f"{estimate_text(slow.disk)} here: the rest was in the page cache of the system, which "
        f"{slow_name} had not filled with what the queries ask for."
    )


def page_cache_share(where: str, ways: Ways, name: Callable[[Level], str]) -> str | None:
    """Of the pages that were not in the pool, those that did not come from the disk."""
    parts, most = [], 0.0
    for level, way in ways.items():
        if level is None or way.reads is None or way.disk is None or way.reads.mean < 0.01:
            continue
        share = max(0.0, 1 - way.disk.mean / (way.reads.mean * PAGE))
        most = max(most, share)
        parts.append(f"{share:.0%} after {name(level)}" if level != COLD else f"{share:.0%} cold")
    # With O_DIRECT nothing goes through it.
    if most < 0.01:
        return None
    return (
        f'Was part of "warm" the page cache\'s{where}? Of the pages that the queries missed in the '
        f"buffer pool, so many came from the page cache of the system and not from the disk: "
        f"{'; '.join(parts)}."
    )


def payoff(places: Sequence[tuple[str, Ways]], name: Callable[[Level], str]) -> str | None:
    """Where the same queries were done sooner than on a cold server, the warming counted."""
    told: dict[str, list[str]] = {SOONER: [], LATER: []}
    unsure: list[str] = []
    for place, ways in places:
        for level, way in ways.items():
            if level in (None, COLD) or way.gained_s is None:
                continue
            at = f"{place}, " if place else ""
            said = f"{name(level)} ({at}{_gained(way.gained_s)})"
            told.get(_verdict(way.gained_s), unsure).append(said)
    parts = [
        f"The queries were done {word} with {'; '.join(names)}."
        for word, names in told.items()
        if names
    ]
    if unsure:
        more = len(unsure) - _UNSURE_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        parts.append(f"It is not certain of {'; '.join(unsure[:_UNSURE_SHOWN])}{rest}.")
    if not parts:
        return None
    return " ".join(["Does warming pay, its own time counted, against a cold server?", *parts])


SOONER, LATER, UNSURE = "sooner", "later", "neither"

_UNSURE_SHOWN = 4
"""Ways of which nothing is certain; a table has all of them."""


def _verdict(gained_s: Estimate) -> str:
    if gained_s.low > 0:
        return SOONER
    return LATER if gained_s.high < 0 else UNSURE


def _gained(figure: Estimate) -> str:
    text = estimate_text(figure)
    return f"{text.removeprefix('-')} s {'more' if text.startswith('-') else 'less'}"
