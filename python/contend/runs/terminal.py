"""A history in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from contend.runs.model import History, Series
from contend.runs.words import (
    altered_lines,
    basis_text,
    blame_text,
    head_text,
    hosts_text,
    latest_text,
    lead_text,
    open_text,
    point_text,
    series_name,
    value_text,
    when,
)

_WIDTH = 88
_POINTS_SHOWN = 6
_SPARKS = "▁▂▃▄▅▆▇█"
_SPARKS_MAX = 32


def lines_of(history: History, width: int = _WIDTH, *, full: bool = False) -> Iterator[str]:
    """The answer, each break with what else changed, what is not certain, and the series."""
    width = min(width, _WIDTH)
    first, last = history.runs[0], history.runs[-1]
    head = f"{len(history.runs)} runs, {when(first.began)} to {when(last.began)}"
    yield from _wrapped(f"{history.experiment}: {head}", width)
    yield ""
    yield from _wrapped(lead_text(history), width)
    yield from _wrapped(basis_text(history), width)
    yield from _wrapped(hosts_text(history), width)
    for one in history.breaks:
        yield ""
        yield from _wrapped(head_text(history, one), width)
        shown = one.points if full else one.points[:_POINTS_SHOWN]
        for point in shown:
            yield from _wrapped(point_text(history, point), width, 2)
        if len(one.points) > len(shown):
            yield from _wrapped(f"and {len(one.points) - len(shown)} more series", width, 2)
        yield from _wrapped("What else changed there:", width)
        for line in altered_lines(one) or ["nothing that contend records"]:
            yield from _wrapped(line, width, 2)
        yield from _wrapped(blame_text(one), width)
    for title, points in (("Not certain", history.uncertain), ("Too few", history.too_few)):
        if points:
            yield ""
            yield f"{title}:"
            shown = points if full else points[:_POINTS_SHOWN]
            for point in shown:
                yield from _wrapped(open_text(history, point), width, 2)
            if len(points) > len(shown):
                yield from _wrapped(f"and {len(points) - len(shown)} more", width, 2)
    yield ""
    yield from _table(history, width, full=full)
    if history.notices:
        yield ""
        for notice in history.notices:
            yield from _wrapped(notice, width)
    if not full:
        yield ""
        yield "Every series and run: `contend history --full`."


def _table(history: History, width: int, *, full: bool) -> Iterator[str]:
    """The series: name, mean of all runs, the last one, and its course."""
    gains = [one for one in history.series if one.kind == "gain"]
    shown = list(history.series) if full or not gains else gains
    rows = [
        (
            str(series_name(history, one)),
            str(value_text(one, [point.log for point in one.points])),
            str(latest_text(one)),
            sparkline(one),
        )
        for one in shown
    ]
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    heads = ("mean of all runs", "last run")
    means, lasts = (max(size, len(head)) for size, head in zip(sizes[1:3], heads, strict=True))
    names = min(sizes[0], max(20, width - means - lasts - sizes[3] - 6))
    yield f"{'':{names}}  {heads[0]:>{means}}  {heads[1]:>{lasts}}"
    for name, mean, last, course in rows:
        *before, own = textwrap.wrap(name, names, subsequent_indent="  ") or [""]
        yield from before
        yield f"{own:{names}}  {mean:>{means}}  {last:>{lasts}}  {course}".rstrip()
    if len(shown) < len(history.series):
        yield f"and {len(history.series) - len(shown)} series of the figures themselves"
    if full:
        yield ""
        for number, run in enumerate(history.runs):
            state = f"  CPUs {run.state}" if run.state else ""
            yield f"{number + 1:>4}  {when(run.began)}  {run.name}{state}"


def sparkline(one: Series) -> str:
    """The course of the last runs, from its lowest to its highest."""
    logs = [point.log for point in one.points][-_SPARKS_MAX:]
    low, high = min(logs), max(logs)
    if high <= low:
        return _SPARKS[0] * len(logs)
    return "".join(_SPARKS[round((log - low) / (high - low) * (len(_SPARKS) - 1))] for log in logs)


def _wrapped(text: str, width: int, indent: int = 0) -> Iterator[str]:
    if text:
        space = " " * indent
        yield from textwrap.wrap(
            text,
            width,
            initial_indent=space,
            subsequent_indent=space + ("  " if indent else ""),
            break_on_hyphens=False,
        )
