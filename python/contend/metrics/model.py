"""A metric: a figure of a run, its unit, and its better direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from contend.metrics.outcome import Done
from contend.metrics.plan import Plan
from contend.metrics.probed import Probes


class Run(Protocol):
    """A measured run, as stored: contend-load's plan and outcome, and the probes' data."""

    @property
    def plan(self) -> Plan: ...
    @property
    def done(self) -> Done | None: ...
    @property
    def probes(self) -> Probes: ...


Read = Callable[[Run], float | None]

THROUGHPUT = "qps"
EVENTS = "events_per_s"
"""Successful events, including whole transactions: queries of a restarted transaction do not
count."""

SECONDS = "seconds"
"""For a fixed amount of work."""

_VERDICTS: dict[str, dict[str, str]] = {
    "rate": {"higher": "faster", "lower": "slower"},
    "time": {"higher": "slower", "lower": "faster"},
    "amount": {},
}


@dataclass(frozen=True, slots=True)
class Histogram:
    """The HdrHistogram, in nanoseconds, in which a run stores the times for its percentiles.

    Histograms with one `key` are the same recording in different runs, and can be added.
    """

    key: str
    read: Callable[[Run], str]


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run.

    value: reads it from a run; None if the run does not have it. Never negative.
    phrase: what a server does more or less of, if applicable, as a verb and a noun: "make new
    orders per minute". `counted` if the noun is plural, for fewer instead of less.
    histogram, quantile: set for a percentile whose histogram is kept. The figure of several runs is
    then read from the sum of their histograms, and `value` serves only for its interval.
    """

    name: str
    title: str
    unit: str
    value: Read
    kind: Literal["rate", "time", "amount"] = "amount"
    histogram: Histogram | None = None
    quantile: float | None = None
    phrase: str = ""
    counted: bool = False

    @property
    def verb(self) -> str:
        return self.phrase.partition(" ")[0]

    @property
    def noun(self) -> str:
        return self.phrase.partition(" ")[2]

    @property
    def less_is_better(self) -> bool:
        return self.kind != "rate"

    @property
    def heading(self) -> str:
        """`Response time, p99, µs`."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def subject(self) -> str:
        """The subject of a sentence about a change. For the throughput it is the server."""
        if self.name == THROUGHPUT:
            return "this server"
        title, _, which = (
            self.title.partition(", ") if self.kind == "time" else (self.title, "", "")
        )
        first = title.partition(" ")[0]
        if first[1:].islower() and first.isalpha():
            title = title[0].lower() + title[1:]
        return f"the {which} {title}" if which else f"the {title}"

    def verdict(self, verdict: str) -> str:
        """A verdict for display: `lower` for a time is faster, for a cost it stays lower."""
        return _VERDICTS[self.kind].get(verdict, verdict)

    def amount(self, verdict: str) -> str:
        """`more new orders per minute`, `less server CPU per query`; only with a noun."""
        less = "fewer" if self.counted else "less"
        return f"{'more' if verdict == 'higher' else less} {self.noun}"

    def changed(self, verdict: str) -> str:
        """Adjective for the changed subject: faster, shorter, lower and their opposites."""
        words = {"higher": "longer", "lower": "shorter"} if self.kind == "time" else {}
        return words.get(verdict) or self.verdict(verdict)

    @property
    def better(self) -> str:
        """The verdict that is an improvement."""
        return "lower" if self.less_is_better else "higher"

    @property
    def worse(self) -> str:
        return "higher" if self.less_is_better else "lower"
