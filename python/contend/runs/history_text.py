"""A history as text: in the terminal, and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from contend.findings import Origin
from contend.metrics import THROUGHPUT
from contend.runs.changes import FAMILY, Break, ChangePoint
from contend.runs.history import History
from contend.runs.series import RUNS_A_SIDE, Series
from contend.sections.provenance import naming_in
from contend.sections.words import (
    cell_phrase,
    change_text,
    changed_text,
    estimate_text,
    significant,
)
from contend.stats import Estimate, estimate, finite

FOUND_BY = "least squares"

HOST_ONLY = "Only the host has a recorded change: treat this as a change of the host."
BOTH = "The host changed too, so the cause is unknown."
NOT_THE_HOST = "No change of the host was recorded, nor of the round trip between its CPUs."
NOT_LOOKED = "The host's facts did not change; not both sides measured its CPUs' round trip."
NOTHING = (
    "Nothing that contend records changed there: check what it does not record (a different tenant "
    "of the host, its firmware, other programs)."
)

_NAMES: dict[Origin, str] = {
    "server": "the server",
    "experiment": "the experiment",
    "contend": "contend",
    "host": "the host",
}
_WIDTH = 88
_SHOWN = 6
_SPARKS = "▁▂▃▄▅▆▇█"
_SPARKS_MAX = 32
_LARGE = 700.0


def series_name(history: History, one: Series) -> str:
    """`gain of 32 over off, 8 connections`, `q/s, key_cache_segments = 32, 8 connections`."""
    at = cell_phrase(one.cell)
    is_throughput = one.metric.name == THROUGHPUT
    if one.kind == "figure":
        head = "q/s" if is_throughput else one.metric.title
    else:
        names = naming_in(history.runs[-1].study)
        assert one.level is not None and one.over is not None
        noun = "change" if one.metric.less_is_better else "gain"
        of = "" if is_throughput else f" in {one.metric.title}"
        head = f"{noun} of {names.level(one.level)} over {names.level(one.over)}{of}"
        if not at and any(other.kind == "gain" and other.cell for other in history.series):
            return f"{head}, all cells"
    return f"{head}, {at}" if at else head


def value_text(one: Series, logs: Sequence[float]) -> str:
    """The mean of some runs with its interval: `3210 ±40`, `+34 ±2 %`."""
    return _value(one, estimate([math.exp(log) for log in logs], log_scale=True))


def latest_text(one: Series) -> str:
    """The value of the last run, with its own interval."""
    last = one.points[-1]
    bounds = (last.log, last.log - last.half, last.log + last.half)
    mean, low, high = (math.exp(bound) if bound < _LARGE else math.inf for bound in bounds)
    return _value(one, Estimate(mean, low, high, last.n, 0.95))


def _value(one: Series, found: Estimate) -> str:
    if one.kind == "figure":
        return estimate_text(found)
    half, gain = (found.high - found.low) / 2 * 100, (found.mean - 1) * 100
    places = 0 if abs(gain) >= 10 else 1
    error = f"±{half:.{0 if half >= 1 and not places else 1}f}" if math.isfinite(half) else "±?"
    return f"{gain:+.{places}f} {error} %"


def point_text(history: History, point: ChangePoint) -> str:
    """A reported change: the series, both sides, and the change with its interval."""
    one = history.series[point.series]
    assert point.finding is not None
    change = point.finding.change
    size = str(changed_text(change, point.finding.word))
    if one.kind == "gain":
        size = f"the ratio {changed_text(change, change.verdict or '')}"
    logs = [each.log for each in one.points]
    before, after = logs[point.first : point.at], logs[point.at : point.last]
    return (
        f"{series_name(history, one)}: {value_text(one, before)} → {value_text(one, after)}, "
        f"{size} (n = {len(before)} and {len(after)} runs)"
    )


def open_text(history: History, point: ChangePoint) -> str:
    """A change that is not reported, and why."""
    one = history.series[point.series]
    head = f"{series_name(history, one)}, from {history.runs[one.points[point.at].run].name} on"
    before, after = point.runs_a_side
    if point.finding is None:
        return f"{head}: too few runs ({before} before, {after} after)"
    gain = change_text(point.finding.change)
    return f"{head}: {gain}, inconclusive (n = {before} and {after} runs)"


def head_text(history: History, one: Break) -> str:
    """`From RUN on (2026-02-01 10:00 UTC)`."""
    run = history.runs[one.run]
    return f"From {run.name} on ({when(run.began)})"


def when(began: str) -> str:
    return began[:16].replace("T", " ") + " UTC"


def altered_lines(one: Break) -> list[str]:
    """The other changes, one per line: `the server: version 10.11.14 → 11.4.2`."""
    lines = [
        f"{_NAMES[each.origin]}: {each.name} {each.before} → {each.after}" for each in one.altered
    ]
    if one.moved is not None:
        before, after = (significant(ns, 3) for ns in one.moved)
        lines.append(f"the host: cache-line round trip between CPUs {before} → {after} ns")
    return lines


def blame_text(one: Break) -> str:
    """The cause of the change, host or other, if it is known."""
    if one.of_host:
        return BOTH if one.of_other else HOST_ONLY
    if not one.of_other:
        return NOTHING
    return NOT_THE_HOST if one.known else NOT_LOOKED


def lead_text(history: History) -> str:
    """The first sentence."""
    if not history.can_report:
        return (
            f"Too few runs: a change needs at least {RUNS_A_SIDE} runs on each side, and no series "
            f"has {2 * RUNS_A_SIDE}."
        )
    if not history.breaks:
        return "No change is certain in any series."
    plural = "" if len(history.breaks) == 1 else "s"
    places = " and from ".join(history.runs[one.run].name for one in history.breaks)
    return f"{len(history.breaks)} certain change{plural}: from {places} on."


def basis_text(history: History) -> str:
    """The basis of the changes; empty if none could be reported."""
    if not history.can_report:
        return ""
    places = sum(one.places for one in history.series)
    return (
        f"Change points are proposed by {FOUND_BY}. One is reported only if Welch's interval "
        "across it, with the runs as units, is certain. The intervals hold together for all "
        f"{places} places of all {len(history.series)} series at {FAMILY.promises * 100:.0f} %."
    )


def hosts_text(history: History) -> str:
    """That the runs are of several hosts; empty if of one."""
    machines = [run.conditions.get("host:machine.id") for run in history.runs]
    hosts = Counter("unknown" if one is None else one.text for one in machines)
    if len(hosts) < 2:
        return ""
    listed = ", ".join(f"{host} ({n})" for host, n in hosts.items())
    return (
        f"The runs are of {len(hosts)} hosts: {listed}. A difference between hosts is not a change."
    )


def lines_of(history: History, width: int = _WIDTH, *, full: bool = False) -> Iterator[str]:
    """For a terminal: the answer, each break with the other changes there, the inconclusive
    changes, and the series."""
    width = min(width, _WIDTH)
    shown = None if full else _SHOWN
    head = f"{when(history.runs[0].began)} to {when(history.runs[-1].began)}"
    yield from _wrapped(f"{history.experiment}: {len(history.runs)} runs, {head}", width)
    yield ""
    for text in (lead_text(history), basis_text(history), hosts_text(history)):
        yield from _wrapped(text, width)
    for one in history.breaks:
        yield from ("", *_wrapped(head_text(history, one), width))
        yield from _some([point_text(history, each) for each in one.points], shown, width, "series")
        yield "What else changed there:"
        for line in altered_lines(one) or ["nothing that contend records"]:
            yield from _wrapped(line, width, 2)
        yield from _wrapped(blame_text(one), width)
    for title, points in (("Inconclusive", history.uncertain), ("Too few", history.too_few)):
        if points:
            yield from ("", f"{title}:")
            yield from _some([open_text(history, each) for each in points], shown, width)
    yield ""
    yield from _table(history, width, full=full)
    if history.notices:
        yield ""
        for notice in history.notices:
            yield from _wrapped(notice, width)
    if not full:
        yield from ("", "Every series and run: `contend history --full`.")


def _some(texts: Sequence[str], shown: int | None, width: int, of: str = "") -> Iterator[str]:
    """The first of them, and how many more there are."""
    for text in texts[:shown]:
        yield from _wrapped(text, width, 2)
    if shown is not None and len(texts) > shown:
        yield f"  and {len(texts) - shown} more {of}".rstrip()


def _table(history: History, width: int, *, full: bool) -> Iterator[str]:
    """The series: name, mean of all runs, the last one, and its course."""
    gains = [one for one in history.series if one.kind == "gain"]
    shown = list(history.series) if full or not gains else gains
    heads = ("", "mean of all runs", "last run", "")
    rows = [
        (
            series_name(history, one),
            value_text(one, [point.log for point in one.points]),
            latest_text(one),
            sparkline(one),
        )
        for one in shown
    ]
    names, means, lasts, courses = (
        max(map(len, column)) for column in zip(heads, *rows, strict=True)
    )
    names = min(names, max(20, width - means - lasts - courses - 6))
    for name, mean, last, course in (heads, *rows):
        *before, own = textwrap.wrap(name, names, subsequent_indent="  ") or [""]
        yield from before
        yield f"{own:{names}}  {mean:>{means}}  {last:>{lasts}}  {course}".rstrip()
    if len(shown) < len(history.series):
        yield f"and {len(history.series) - len(shown)} series of absolute figures"
    if full:
        yield ""
        for number, run in enumerate(history.runs, 1):
            state = f"  CPUs {run.state}" if run.state else ""
            yield f"{number:>4}  {when(run.began)}  {run.name}{state}"


def sparkline(one: Series) -> str:
    """The course of the last runs, from its lowest to its highest."""
    logs = [point.log for point in one.points][-_SPARKS_MAX:]
    low, high = min(logs), max(logs)
    if high <= low:
        return _SPARKS[0] * len(logs)
    return "".join(_SPARKS[round((log - low) / (high - low) * (len(_SPARKS) - 1))] for log in logs)


def _wrapped(text: str, width: int, indent: int = 0) -> Iterator[str]:
    first, then = " " * indent, " " * 2 * indent
    yield from textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False
    )


def as_json(history: History) -> dict[str, Any]:
    """Plain JSON values. Logarithms are natural; a bound that is infinite is null."""
    return {
        "experiment": history.experiment,
        "answer": lead_text(history),
        "confidence": FAMILY.promises,
        "found_by": FOUND_BY,
        "runs": [
            {
                "run": run.name,
                "path": str(run.path),
                "began": run.began,
                "finished": run.study.finished,
                "state": run.state or None,
                "ln_distance_ns": run.distance,
                "facts": {name: one.value for name, one in run.conditions.items()},
            }
            for run in history.runs
        ],
        "series": [
            {
                "name": series_name(history, one),
                "kind": one.kind,
                "metric": one.metric.name,
                "cell": dict(one.cell),
                "level": one.level,
                "over": one.over,
                "points": [{**asdict(each), "half": finite(each.half)} for each in one.points],
            }
            for one in history.series
        ],
        "breaks": [
            {
                "run": one.run,
                "points": [_point(history, each) for each in one.points],
                "altered": [asdict(each) for each in one.altered],
                "distance_ns": None if one.moved is None else list(one.moved),
                "of_host": one.of_host,
                "of_other": one.of_other,
                "says": blame_text(one),
            }
            for one in history.breaks
        ],
        "uncertain": [_point(history, one) for one in history.uncertain],
        "too_few": [_point(history, one) for one in history.too_few],
        "notices": list(history.notices),
    }


def _point(history: History, one: ChangePoint) -> dict[str, Any]:
    before, after = one.runs_a_side
    found = None if one.finding is None else one.finding.change
    return {
        "series": one.series,
        "run": history.series[one.series].points[one.at].run,
        "runs_before": before,
        "runs_after": after,
        "ratio": None if found is None else found.ratio,
        "low": None if found is None else finite(found.low),
        "high": None if found is None else finite(found.high),
        "verdict": None if one.finding is None else one.finding.word,
    }
