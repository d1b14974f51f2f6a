"""Quantities of a host: their meaning, units and text, and the differences of two hosts. Doctor
measures them; every run records some of them too.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contend.metrics.model import Run


class Measure(NamedTuple):
    """A measured value, and the minimum and maximum of its parts."""

    value: float
    low: float
    high: float


UNITS: Mapping[str, tuple[float, str, str]] = {
    "fsync_us": (1, "µs", "writing and flushing a page (fdatasync)"),
    "handover_ns": (1, "ns", "cache-line round trip between CPUs"),
    "wake_us": (1, "µs", "waking a thread on a different CPU"),
    "memory_ns": (1, "ns", "one load from memory"),
    "far_memory_ns": (1, "ns", "one load from memory of a different node"),
    "timer_late_us": (1, "µs", "lateness of a sleep of 100 µs"),
    "clock_ns": (1, "ns", "reading the clock"),
    "system_call_ns": (1, "ns", "a system call"),
    "fault_us_per_mib": (1, "µs", "touching a MiB of fresh memory"),
    "steal_share": (100, "%", "CPU time that the hypervisor gave to other guests"),
    "busy_share": (100, "%", "CPU time of other processes"),
    "throttled_share": (100, "%", "time that the CPU quota throttled processes"),
    "swapped_pages": (1, "pages", "memory swapped in or out per second"),
    "refault_pages": (1, "pages", "file pages read again per second after eviction"),
}
"""Factor and unit to show a measure in, and its meaning. More is worse for all of them."""

Measured = Mapping[str, Measure]


class Cost(NamedTuple):
    """One cost measured on two hosts, as text; the ratio of the second to the first, 1 if their
    ranges overlap."""

    said: str
    ratio: float

    @property
    def size(self) -> float:
        """Sort key of costs; 0 without a difference."""
        return math.inf if self.ratio in (0.0, math.inf) else abs(math.log(self.ratio))


def cost_between(name: str | None, first: Measured, second: Measured) -> Cost | None:
    """None unless it was measured on both."""
    if name is None or name not in UNITS or name not in first or name not in second:
        return None
    one, other = first[name], second[name]
    text = f"{UNITS[name][2]}: {in_words(name, one)} and {in_words(name, other)}"
    if one.low <= other.high and other.low <= one.high:
        return Cost(f"{text} (ranges overlap)", 1.0)
    if min(one.value, other.value) <= 0:
        return Cost(text, math.inf if other.value > one.value else 0.0)
    return Cost(text, other.value / one.value)


def in_words(name: str, found: Measure) -> str:
    """`412 µs (380 to 450)`."""
    factor, unit, _ = UNITS[name]
    value, low, high = (_short(part * factor) for part in found)
    spread = "" if low == high else f" ({low} to {high})"
    return f"{value} {unit}{spread}"


def _short(value: float) -> str:
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"


def quarters(values: Sequence[float]) -> Measure:
    """The median, with the quartiles as low and high."""
    ordered = sorted(values)
    if len(ordered) < 4:
        return Measure(statistics.median(ordered), ordered[0], ordered[-1])
    low, middle, high = statistics.quantiles(ordered, n=4)
    return Measure(middle, low, high)


LOOKS_MIN = 4
"""Fewer samples have no quartiles and do not show the spread."""


def measured_beside(runs: Iterable[Run]) -> dict[str, Measure]:
    """The host's quantities recorded around the runs, if there are `LOOKS_MIN` samples or more."""
    found: dict[str, list[float]] = {}

    def add(name: str, value: float | None) -> None:
        if value is not None:
            found.setdefault(name, []).append(value)

    for run in runs:
        state, use = run.probes.get("state"), run.probes.get("host")
        if state is not None:
            pairs = [pair for when in (state["before"], state["after"]) for pair in when["pairs"]]
            for pair in pairs:
                add("handover_ns", pair["handover_ns"])
                add("wake_us", pair["wake_us"])
            add("memory_ns", state["memory_ns"])
        if use is not None and use["elapsed_s"] > 0:
            add("steal_share", use["steal_share"])
            held = use["throttled_s"]
            add("throttled_share", None if held is None else held / use["elapsed_s"])
    return {name: quarters(values) for name, values in found.items() if len(values) >= LOOKS_MIN}
