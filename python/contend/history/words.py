"""A history in words: what series are called, what changed at a break, whose change that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from contend.findings import Given, Origin, Said
from contend.history.model import RUNS_A_SIDE, Break, ChangePoint, History, Series
from contend.metrics import THROUGHPUT
from contend.sections.naming import Naming
from contend.sections.provenance import naming_in
from contend.sections.words import cell_phrase, estimate_text, gain_text, significant, size_text
from contend.stats import Change, Estimate, estimate

_NAMES: dict[Origin, str] = {
    "server": "the server",
    "experiment": "the experiment",
    "contend": "contend",
    "host": "the host",
}

HOST_ONLY = (
    "The host changed and, as far as was seen, the server did not: take it for a change of the "
    "host."
)
BOTH = "The host changed too, so that it is not known which of them it was."
NOT_THE_HOST = "The host did not change as far as was seen, nor how far its CPUs are apart."
NOT_LOOKED = (
    "The host's facts did not change; how far its CPUs were apart was not looked at on both sides."
)
NOTHING = (
    "Nothing that contend records changed there: look at what it does not see (another tenant of "
    "the host, its firmware, what else ran)."
)


def naming(history: History) -> Naming:
    return naming_in(history.runs[-1].study)


def series_name(history: History, one: Series) -> Said:
    """`gain of 32 over off, 8 connections`, `q/s, key_cache_segments = 32, 8 connections`."""
    at = cell_phrase(one.cell)
    if one.kind == "figure":
        unit = "q/s" if one.metric.name == THROUGHPUT else one.metric.title
        return Said.joined(", ", filter(None, (Said.written(unit), at)))
    names = naming(history)
    assert one.level is not None and one.over is not None
    what = "gain" if not one.metric.less_is_better else "change"
    of = "" if one.metric.name == THROUGHPUT else f" in {one.metric.title}"
    head = Said.written(f"{what} of {names.level(one.level)} over {names.level(one.over)}{of}")
    whole = any(other.kind == "gain" and other.cell for other in history.series)
    return Said.joined(", ", filter(None, (head, at or Said("all cells" if whole else ""))))


def value_text(one: Series, logs: Sequence[float]) -> Said:
    """The mean of some runs with its interval: `3210 ±40`, `+34 ±2 %`."""
    found = estimate([math.exp(log) for log in logs], log_scale=True)
    if one.kind == "figure":
        return estimate_text(_finite(found))
    return Said.written(f"{_gain(found.mean, found)} %")


def latest_text(one: Series) -> Said:
    """What the last run says, with its own interval."""
    last = one.points[-1]
    bounds = (last.log, last.log - last.half, last.log + last.half)
    mean, low, high = (math.exp(bound) if bound < _LARGE else math.inf for bound in bounds)
    found = Estimate(mean, low, high, last.n, 0.95)
    return estimate_text(_finite(found)) if one.kind == "figure" else _percent(found)


_LARGE = 700.0


def _percent(found: Estimate) -> Said:
    return Said.written(f"{_gain(found.mean, found)} %")


def _gain(mean: float, found: Estimate) -> str:
    half = (found.high - found.low) / 2 * 100
    gain = (mean - 1) * 100
    places = 0 if abs(gain) >= 10 else 1
    error = f"±{half:.{0 if half >= 1 and not places else 1}f}" if math.isfinite(half) else "±?"
    return f"{gain:+.{places}f} {error}"


def _finite(found: Estimate) -> Estimate:
    """With few repeats an interval says nothing."""
    if math.isfinite(found.high):
        return found
    return Estimate(found.mean, -math.inf, math.inf, found.n, found.confidence)


def change_text(point: ChangePoint, one: Series) -> Said:
    """`5.0 % (±1.2) slower`; of a gain, `the ratio 5.0 % (±1.2) lower`."""
    assert point.finding is not None
    change: Change = point.finding.change
    if one.kind == "gain":
        return Said("the ratio {} {}", size_text(change), change.verdict or "")
    return Said("{} {}", size_text(change), point.finding.word)


def point_text(history: History, point: ChangePoint) -> Said:
    """A change that is told: the series, both sides, and the change with its interval."""
    one = history.series[point.series]
    logs = [each.log for each in one.points]
    before, after = logs[point.first : point.at], logs[point.at : point.last]
    return Said(
        "{}: {} → {}, {} (n = {} and {} runs)",
        series_name(history, one),
        value_text(one, before),
        value_text(one, after),
        change_text(point, one),
        *map(Given, point.runs_a_side),
    )


def open_text(history: History, point: ChangePoint) -> Said:
    """One that is not told, and why."""
    one = history.series[point.series]
    run = history.runs[one.points[point.at].run]
    head = Said("{}, from {} on", series_name(history, one), Said.written(run.name))
    before, after = map(Given, point.runs_a_side)
    if point.finding is None:
        return Said("{}: too few ({} runs before, {} after)", head, before, after)
    return Said(
        "{}: {} %, not certain (n = {} and {} runs)",
        head,
        gain_text(point.finding.change),
        before,
        after,
    )


def head_text(history: History, one: Break) -> Said:
    """`From RUN on (2026-02-01 10:00 UTC)`."""
    run = history.runs[one.run]
    return Said.written(f"From {run.name} on ({when(run.began)})")


def when(began: str) -> str:
    return began[:16].replace("T", " ") + " UTC"


def altered_lines(one: Break) -> list[str]:
    """What else changed, a line each: `the server: version 10.11.14 → 11.4.2`."""
    lines = [
        f"{_NAMES[each.origin]}: {each.name} {each.before} → {each.after}" for each in one.altered
    ]
    if one.moved is not None:
        before, after = (significant(ns, 3) for ns in one.moved)
        lines.append(f"the host: a line of cache goes over and comes back in {before} → {after} ns")
    return lines


def blame_text(one: Break) -> str:
    """Whose change it is, as far as that can be told."""
    if one.of_host:
        return BOTH if one.of_other else HOST_ONLY
    if not one.of_other:
        return NOTHING
    return NOT_THE_HOST if one.known else NOT_LOOKED


def lead_text(history: History) -> Said:
    """The first sentence."""
    if not history.asked:
        return Said("Change points were not looked for.")
    if not history.can_tell:
        return Said(
            "Too few runs: a change is told with {} runs on each side of it or more, and no series "
            "has twice as many.",
            Given(RUNS_A_SIDE),
        )
    if not history.breaks:
        return Said("No change is certain in any series.")
    count = len(history.breaks)
    return Said(
        "{} certain change{}: from {} on.",
        Given(count),
        "" if count == 1 else "s",
        Said.written(" and from ".join(history.runs[one.run].name for one in history.breaks)),
    )


def basis_text(history: History) -> Said:
    """What the changes rest on."""
    if not history.asked or not history.can_tell:
        return Said("")
    places = sum(one.places for one in history.series)
    return Said(
        "Change points are proposed by {}. One is told if Welch's interval across it, with the "
        "runs as units, is certain; the intervals hold together for all {} places of all {} series "
        "at {} %.",
        Said.written(history.asked),
        Given(places),
        Given(len(history.series)),
        Given(round(history.confidence * 100)),
    )


def hosts_text(history: History) -> str:
    """That the runs are of several hosts; empty if of one."""
    told = [run.conditions.get("host:machine.id") for run in history.runs]
    hosts = Counter("not known" if one is None else one.text for one in told)
    if len(hosts) < 2:
        return ""
    listed = ", ".join(f"{host} ({n})" for host, n in hosts.items())
    return f"The runs are of {len(hosts)} hosts: {listed}. A difference of hosts is no change."
