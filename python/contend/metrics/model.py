"""What a metric is: a figure of a run, its unit, and which way is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from contend.outcome import Done
from contend.plan import Plan
from contend.probed import Probes


class Run(Protocol):
    """A measured run, as the store keeps it: contend-load's plan and outcome, what was probed."""

    @property
    def plan(self) -> Plan: ...
    @property
    def done(self) -> Done | None: ...
    @property
    def probes(self) -> Probes: ...


Read = Callable[[Run], float | None]

THROUGHPUT = "qps"
EVENTS = "events_per_s"
"""Events that ended well, whole transactions among them: no query of one that was begun again
counts."""

SECONDS = "seconds"
"""Of work that ends by itself."""

_VERDICTS: dict[str, dict[str, str]] = {
    "rate": {"higher": "faster", "lower": "slower"},
    "time": {"higher": "slower", "lower": "faster"},
    "amount": {},
}


@dataclass(frozen=True, slots=True)
class Histogram:
    """Where a run keeps the times that a percentile is read from: a HdrHistogram in nanoseconds.

    Histograms of one `key` are the same recording of different runs, and can be added.
    """

    key: str
    read: Callable[[Run], str]


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run.

    value: reads it off a run; None if the run does not have it. Never negative.
    said: what a server does more or less of, if that can be said, as a verb and a noun: "make new
        orders a minute". `counted` if the noun is plural: fewer of them, and not less of it.
    histogram, quantile: set for a percentile whose histogram is kept. The figure of several runs
        is then read from the sum of their histograms, and `value` serves for its interval alone.
    """

    name: str
    title: str
    unit: str
    value: Read
    kind: Literal["rate", "time", "amount"] = "amount"
    histogram: Histogram | None = None
    quantile: float | None = None
    said: str = ""
    counted: bool = False

    @property
    def verb(self) -> str:
        return self.said.partition(" ")[0]

    @property
    def noun(self) -> str:
        return self.said.partition(" ")[2]

    @property
    def less_is_better(self) -> bool:
        return self.kind != "rate"

    @property
    def heading(self) -> str:
        """`Response time, p99, µs`."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def subject(self) -> str:
        """What changes, in a sentence. The throughput of a server is how fast it is."""
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
        """A verdict as it is shown: `lower` of a time is faster, of a cost it is lower."""
        return _VERDICTS[self.kind].get(verdict, verdict)

    def amount(self, verdict: str) -> str:
        """`more new orders a minute`, `less server CPU per query`; only with a noun."""
        less = "fewer" if self.counted else "less"
        return f"{'more' if verdict == 'higher' else less} {self.noun}"

    def changed(self, verdict: str) -> str:
        """What the subject of a sentence became: faster, shorter, lower and their contraries."""
        words = {"higher": "longer", "lower": "shorter"} if self.kind == "time" else {}
        return words.get(verdict) or self.verdict(verdict)

    @property
    def better(self) -> str:
        """The verdict that is an improvement."""
        return "lower" if self.less_is_better else "higher"

    @property
    def worse(self) -> str:
        return "higher" if self.less_is_better else "lower"
