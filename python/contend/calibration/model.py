"""Rounds, the ceilings that they give, and all ceilings of one host and one program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from contend.calibration.identity import Host, Program
from contend.calibration.shape import Shape
from contend.stats import Estimate, estimate, finite


@dataclass(frozen=True, slots=True)
class Round:
    """One run against the null server.

    Args:
        qps: queries a second.
        cpu_us_per_query: of the client's process.
        p50_us: median latency.
        p99_us: and its tail.
        busiest_thread_share: CPU of the busiest thread of the client, 0 to 1. Near 1 the ceiling
            is the thread's; far below it is the way to the server and back.
    """

    qps: float
    cpu_us_per_query: float
    p50_us: float
    p99_us: float
    busiest_thread_share: float


FIGURES = tuple(one.name for one in fields(Round))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the client reaches in one shape, from several rounds.

    Args:
        shape: what was driven.
        rounds: what each round gave.
        seconds: how long a round measured.
        workers: threads that the client used.
        measured_at: when, ISO 8601 in UTC.
    """

    shape: Shape
    rounds: tuple[Round, ...]
    seconds: float
    workers: int
    measured_at: str

    def figure(self, name: str) -> Estimate:
        """One of FIGURES over the rounds, with its interval."""
        return estimate([getattr(one, name) for one in self.rounds])


@dataclass(frozen=True, slots=True)
class Calibration:
    """The ceilings of one program on one host."""

    host: Host
    program: Program
    ceilings: Mapping[Shape, Ceiling] = field(default_factory=dict)

    def of(self, shape: Shape) -> Ceiling | None:
        """The ceiling of exactly this shape: one of other connections says nothing of these."""
        return self.ceilings.get(shape)

    def with_more(self, ceilings: Iterable[Ceiling]) -> Calibration:
        """The same with `ceilings` in place of older ones of their shapes."""
        more = {one.shape: one for one in ceilings}
        return Calibration(self.host, self.program, {**self.ceilings, **more})

    def record(self, ceiling: Ceiling) -> dict[str, Any]:
        """What a run keeps of the ceiling that it was compared with."""
        qps = ceiling.figure("qps")
        return {
            "host": self.host.id,
            "program": self.program.sha256[:12],
            "measured_at": ceiling.measured_at,
            "n": qps.n,
            "workers": ceiling.workers,
            "qps": qps.mean,
            "qps_low": finite(qps.low),
            "qps_high": finite(qps.high),
            "cpu_us_per_query": ceiling.figure("cpu_us_per_query").mean,
            "p50_us": ceiling.figure("p50_us").mean,
            "p99_us": ceiling.figure("p99_us").mean,
        }
