"""When a warm-up may go on and when it is held back: a decision, made of readings."""

from __future__ import annotations

import math
from dataclasses import dataclass

FULL = 1.0
FIRST, LEAST = 0.05, 0.001
"""Shares of its time that a warm-up may run: at the beginning, and if nothing less will do."""

STEP = 0.02
CALM_S = 0.5
"""After so long without a latency above the bound the share grows by a step. Until the first time
that the bound is passed it doubles instead."""

REST_S = 0.05
"""Rest after a latency above the bound, so that what waits in the server is gone."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server's users are to be left. None: no limit.

    Args:
        pages_per_second: kept by the pauses of the connections between their ranges.
        latency_s: of a probe query.
        threads_running: statements that run, those of the warm-up aside.
    """

    pages_per_second: int | None = None
    latency_s: float | None = None
    threads_running: int | None = None

    def __bool__(self) -> bool:
        return self.pages_per_second is not None or self.are_watched

    @property
    def are_watched(self) -> bool:
        """Whether readings of the server decide."""
        return self.latency_s is not None or self.threads_running is not None


@dataclass(frozen=True, slots=True)
class GateReading:
    """What was seen at one moment.

    Args:
        at_s: when, by a clock that only goes forward.
        latency_s: of the probe query; None if it was not asked.
        threads_running: statements that run, those of the warm-up aside; None if not counted now.
    """

    at_s: float
    latency_s: float | None = None
    threads_running: int | None = None


class DutyCycle:
    """Finds the share of its time that a warm-up may run beside others: a little more of it as long
    as the latency keeps the bound, half of it when it does not.

    So the bound is tried now and then, for a moment: near it the share grows for seconds before it
    is halved again.

    Args:
        bound_s: of the latency.
    """

    def __init__(self, bound_s: float) -> None:
        self._bound_s = bound_s
        self._calm_since_s: float | None = None
        self._halved_s: float | None = None
        self.rest_until_s = 0.0
        self.share = FIRST

    def see(self, at_s: float, latency_s: float) -> None:
        """A reading of the latency."""
        if self._calm_since_s is None:
            self._calm_since_s = at_s
        if latency_s > self._bound_s:
            # What is seen of one crowded moment is one reason, however often it is looked at.
            if self._halved_s is None or at_s >= self._halved_s + CALM_S:
                self.share = max(LEAST, self.share / 2)
                self._halved_s = at_s
            self._calm_since_s = at_s
            self.rest_until_s = at_s + REST_S
        elif at_s >= self._calm_since_s + CALM_S:
            # Of a small share a small part, so that the bound is passed as rarely by that.
            more = self.share if self._halved_s is None else min(STEP, self.share / 10)
            self.share = min(FULL, self.share + more)
            self._calm_since_s = at_s

    def rest_s(self, ran_s: float) -> float:
        """How long it rests after it ran for so long."""
        return ran_s * (1 - self.share) / self.share


class Gate:
    """Whether a warm-up may go on, and the reason if it may not. It runs in pulses: `ran` says that
    one is over."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pace = None if limits.latency_s is None else DutyCycle(limits.latency_s)
        self._rest_until_s = 0.0
        self._too_many = False

    @property
    def share(self) -> float:
        """Of its time that it may run."""
        return FULL if self._pace is None else self._pace.share

    def ran(self, seconds: float, now_s: float) -> None:
        """A pulse of so long is over."""
        if self._pace is not None:
            self._rest_until_s = now_s + self._pace.rest_s(seconds)

    def see(self, reading: GateReading) -> None:
        """What was seen, in a pulse or between two of them."""
        if self._pace is not None and reading.latency_s is not None:
            self._pace.see(reading.at_s, reading.latency_s)
            self._rest_until_s = max(self._rest_until_s, self._pace.rest_until_s)
        limit = self._limits.threads_running
        if limit is not None and reading.threads_running is not None:
            self._too_many = reading.threads_running > limit

    def left_s(self, now_s: float) -> float:
        """How long to rest before the next pulse, or before the next look."""
        return math.inf if self._too_many else max(0.0, self._rest_until_s - now_s)

    @property
    def why(self) -> str | None:
        """What holds it back; None if nothing does."""
        if self._too_many:
            return "threads running"
        return None if self.share == FULL else f"latency, {self.share:.1%} of its speed"
