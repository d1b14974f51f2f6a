"""The rate of the client against a server without work: the types of a run's record."""

from __future__ import annotations

from typing import TypedDict


class CeilingRecord(TypedDict):
    """The client's rate against a server without work.

    n: rounds of the calibration.
    qps: mean of the rounds, with its interval; None if there was one round.
    cpu_us_per_query, p50_us, p99_us: means of the rounds.
    """

    host: str
    program: str
    measured_at: str
    n: int
    workers: int
    qps: float
    qps_low: float | None
    qps_high: float | None
    cpu_us_per_query: float
    p50_us: float
    p99_us: float


class CalibrationRecord(CeilingRecord):
    """The ceiling, and how near the run came to it.

    cpu_ratio: the run's CPU per query over the calibration's.
    qps_here: the ceiling at that cost.
    share: of `qps_here` that was requested.
    """

    cpu_ratio: float
    qps_here: float
    share: float
