"""What is read off a run: one entry a metric, in the order in which a reader wants them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from contend.report.key_depth import REQUESTS, requests_per_point
from contend.store import RunRecord

PERCENTILES = ("p50", "p95", "p99")
"""Latency percentiles that are shown. All of them come from merged histograms."""


@dataclass(frozen=True, slots=True)
class Metric:
    """`value` reads it off a measured run; None where the run does not have it.

    A metric with a `histogram_quantile` is estimated from the merged histograms of the runs, and
    `value` serves for its interval only.
    """

    key: str
    title: str
    unit: str
    value: Callable[[RunRecord], float | None]
    histogram_quantile: float | None = None


def queries(record: RunRecord) -> float:
    return float((record.done or {}).get("queries") or 0)


def _top(key: str) -> Callable[[RunRecord], float | None]:
    return lambda record: _number((record.done or {}).get(key))


def _latency(percentile: str) -> Callable[[RunRecord], float | None]:
    return lambda record: _number(((record.done or {}).get("latency_us") or {}).get(percentile))


def _process(side: str, *keys: str) -> Callable[[RunRecord], float | None]:
    """The sum of counters of one side, the server's or the client's."""

    def read(record: RunRecord) -> float | None:
        counters = (record.done or {}).get(side) or {}
        values = [_number(counters.get(key)) for key in keys]
        return None if any(v is None for v in values) else sum(v for v in values if v is not None)

    return read


def _per_query(read: Callable[[RunRecord], float | None]) -> Callable[[RunRecord], float | None]:
    def per_query(record: RunRecord) -> float | None:
        total, asked = read(record), queries(record)
        return None if total is None or asked <= 0 else total / asked

    return per_query


def _cpus(record: RunRecord) -> float | None:
    """CPUs that server and client kept busy together."""
    server, client = _process("server", "cpu_us")(record), _process("client", "cpu_us")(record)
    measured_s = _number((record.done or {}).get("measured_s"))
    if server is None or client is None or not measured_s:
        return None
    return (server + client) / (measured_s * 1e6)


def _ceiling_share(record: RunRecord) -> float | None:
    """How much of what the client could ask at most it asked."""
    return _number((record.probes.get("calibration") or {}).get("share"))


def _key_misses(record: RunRecord) -> float | None:
    """Index blocks fetched from outside the key cache, per statement the server counted."""
    status = record.probes.get("status") or {}
    reads, asked = _number(status.get("Key_reads")), _number(status.get("Questions"))
    if reads is None or not (status.get("Key_read_requests") or 0):
        return None
    asked = asked or queries(record)
    return reads / asked if asked > 0 else None


def _errors(record: RunRecord) -> float | None:
    if record.done is None:
        return None
    count = sum(float(error.get("count") or 0) for error in record.done.get("errors") or [])
    asked = queries(record) + count
    return count / asked if asked > 0 else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


_SWITCHES = ("voluntary_switches", "involuntary_switches")

METRICS: tuple[Metric, ...] = (
    Metric("qps", "Throughput", "queries/s", _top("qps")),
    Metric("latency_us_p50", "Latency, p50", "µs", _latency("p50"), 0.50),
    Metric("latency_us_p95", "Latency, p95", "µs", _latency("p95"), 0.95),
    Metric("latency_us_p99", "Latency, p99", "µs", _latency("p99"), 0.99),
    Metric(
        "server_cpu_us_per_query",
        "Server CPU per query",
        "µs",
        _per_query(_process("server", "cpu_us")),
    ),
    Metric(
        "client_cpu_us_per_query",
        "Client CPU per query",
        "µs",
        _per_query(_process("client", "cpu_us")),
    ),
    Metric(
        "client_ceiling_share",
        "Share of what the client reaches against a server without work",
        "",
        _ceiling_share,
    ),
    Metric(
        "switches_per_query",
        "Context switches of the server per query",
        "",
        _per_query(_process("server", *_SWITCHES)),
    ),
    Metric(
        "read_bytes_per_query",
        "Bytes the server read from storage per query",
        "B",
        _per_query(_process("server", "read_bytes")),
    ),
    Metric(REQUESTS, "Key cache requests per point", "", requests_per_point),
    Metric("key_misses_per_query", "Key cache misses per query", "", _key_misses),
    Metric("cpus_busy", "CPUs busy, server and client together", "", _cpus),
    Metric("error_share", "Share of queries that ended in an error", "", _errors),
)
