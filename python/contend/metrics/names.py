"""Every metric by its name: those with fixed names, and those named after parts of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Literal

from contend.metrics import read
from contend.metrics.counters import (
    PAGES_WRITTEN,
    REDO,
    ROW_LOCK_MS,
    ROWS_READ,
    counter_metric,
    counters_in,
)
from contend.metrics.members import MEMBERS
from contend.metrics.model import EVENTS, SECONDS, THROUGHPUT, Histogram, Metric, Read, Run
from contend.metrics.outcome import ClassFigures, Done, KindFigures, Percentiles
from contend.metrics.tpcc import TPCC

KEY_REQUESTS = "key_requests_per_point"

PERCENTILES = ("p50", "p95", "p99")
"""Percentiles of the response time that every report shows."""

_End = Literal["mean", "p50", "p90", "p95", "p99", "p999", "max"]

_TIMES: dict[_End, tuple[str, float | None]] = {
    "mean": ("mean", None),
    "p50": ("p50", 0.5),
    "p90": ("p90", 0.9),
    "p95": ("p95", 0.95),
    "p99": ("p99", 0.99),
    "p999": ("p99.9", 0.999),
    "max": ("longest", 1.0),
}
"""Ends of the names of times -> their title, and the quantile of the histogram."""


def _times(
    prefix: str,
    title: str,
    find: read.Find[read.Document],
    times: Callable[[read.Document], Percentiles | None],
    log: Callable[[read.Document], str] | None = None,
) -> Iterator[Metric]:
    """The mean, the percentiles and the maximum of one recording of times.

    times, log: of the document that `find` returns; `log` is their histogram, if it is kept.
    """
    kept = None
    if log is not None:
        text = read.recorded(find, log)
        kept = Histogram(prefix, lambda run: str(text(run) or ""))

    def time(end: _End) -> Read:
        def figure(document: read.Document) -> float | None:
            recorded = times(document)
            # Without events there is no time.
            if recorded is None or ("count" in recorded and recorded["count"] == 0):
                return None
            return recorded[end]

        return read.field(find, figure)

    for end, (called, quantile) in _TIMES.items():
        log_of_end = None if quantile is None else kept
        name, full_title = f"{prefix}_{end}", f"{title}, {called}"
        yield Metric(name, full_title, "µs", time(end), "time", log_of_end, quantile)


_warming_s = read.field(read.warming, lambda warming: warming["seconds"])
_cpu_us = read.total(read.client_cpu_us, read.server_cpu_us)
_qps = read.field(read.load, lambda done: done["qps"])
_resident = read.field(read.warming, lambda warming: warming["resident_share"])
_ceiling = read.field(read.calibration, lambda kept: kept["share"])
_switches = read.total(
    read.field(read.server, lambda used: used["voluntary_switches"]),
    read.field(read.server, lambda used: used["involuntary_switches"]),
)
_read_bytes = read.field(read.server, lambda used: used["read_bytes"])
_write_bytes = read.field(read.server, lambda used: used["write_bytes"])
_line_cpu_us = read.field(read.line, lambda line: line["cpu_us"])

# fmt: off
FIXED: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(THROUGHPUT, "Throughput", "queries/s", _qps, "rate"),
        Metric(EVENTS, "Event rate", "events/s", read.over(read.events_in_parts, read.measured_s),
               "rate", phrase="make events per second", counted=True),
        Metric(SECONDS, "Time for the whole work", "s", read.whole_work_s, "time"),
        Metric("warming_s", "Time to warm the buffer pool before the run", "s", _warming_s, "time"),
        Metric("seconds_with_warming", "Time for the whole work with its warming", "s",
               read.total(read.whole_work_s, _warming_s), "time"),
        Metric("resident_share",
               "Share of the tables in the buffer pool when the run begins", "", _resident),
        *_times("response_us", "Response time", read.load,
                lambda done: done["latency_us"], lambda done: done["latency_hdr_ns"]),
        *_times("service_us", "Service time", read.open_loop,
                lambda loop: loop["service_us"], lambda loop: loop["service_hdr_ns"]),
        *_times("lag_us", "Lag", read.open_loop,
                lambda loop: loop["lag_us"], lambda loop: loop["lag_hdr_ns"]),
        Metric("server_cpu_us_per_query", "Server CPU per query", "µs",
               read.over(read.server_cpu_us, read.queries), phrase="take server CPU per query"),
        Metric("client_cpu_us_per_query", "Client CPU per query", "µs",
               read.over(read.client_cpu_us, read.queries), phrase="take client CPU per query"),
        Metric("client_cpu_share", "Client share of the CPU time of client and server", "",
               read.over(read.client_cpu_us, _cpu_us)),
        Metric("round_trips_per_event", "Round trips per event", "", read.round_trips_per_event,
               phrase="take round trips per event", counted=True),
        Metric("server_cpu_us_per_event", "Server CPU per event", "µs",
               read.over(read.server_cpu_us, read.events), phrase="take server CPU per event"),
        Metric("client_cpu_us_per_event", "Client CPU per event", "µs",
               read.over(read.client_cpu_us, read.events), phrase="take client CPU per event"),
        Metric("client_ceiling_share", "Load-generator utilisation", "", _ceiling),
        Metric("switches_per_query", "Context switches of the server per query", "",
               read.over(_switches, read.queries),
               phrase="take context switches per query", counted=True),
        Metric("read_bytes_per_query", "Bytes the server read from storage per query", "B",
               read.over(_read_bytes, read.queries),
               phrase="read bytes from storage per query", counted=True),
        Metric("write_bytes_per_query", "Bytes the server wrote to storage per query", "B",
               read.over(_write_bytes, read.queries),
               phrase="write bytes to storage per query", counted=True),
        Metric("server_memory_bytes", "Memory of the server", "B",
               read.field(lambda run: run.probes, lambda seen: seen["memory_bytes"]),
               phrase="use memory"),
        Metric(KEY_REQUESTS, "Key cache requests per point", "", read.key_requests_per_point),
        Metric("key_misses_per_query", "Key cache misses per query", "", read.key_misses_per_query),
        Metric("query_cache_wait_share",
               "Share of running queries that wait for the query cache's lock", "",
               read.query_cache_wait_share),
        Metric("query_cache_miss_share", "Share of SELECTs that the query cache did not answer", "",
               read.query_cache_miss_share),
        Metric("lock_wait_share", "Share of the visits to the key cache's locks that waited", "",
               read.lock_wait_share),
        Metric("lock_held_ns", "Time that a visit holds a key cache lock", "ns", read.lock_held_ns),
        Metric("lock_held_share",
               "Share of the time that the busiest key cache lock is held", "",
               read.lock_held_share),
        *_times("line_late_us", "Lateness of the delay line", read.line,
                lambda line: line["late_us"], lambda line: line["late_hdr_ns"]),
        Metric("line_cpu_us_per_query", "CPU of the delay line per query", "µs",
               read.over(_line_cpu_us, read.queries)),
        Metric("cpus_busy", "CPUs busy, server and client together", "", read.cpus_busy),
        Metric("error_share", "Share of queries that ended in an error", "", read.error_share),
        Metric("recorded_statement_us", "Time of a recorded statement", "µs", read.twins_us,
               "time", phrase="take time"),
        *TPCC,
        *MEMBERS,
    )
}
# fmt: on
"""Metrics with fixed names, in an order useful to readers."""

COSTS = (
    "server_cpu_us_per_query",
    "client_cpu_us_per_query",
    "client_ceiling_share",
    "switches_per_query",
    "read_bytes_per_query",
    KEY_REQUESTS,
    "key_misses_per_query",
)
"""The cost of a query, which tables and exports show next to its speed."""

ALWAYS_SHOWN: tuple[Metric, ...] = tuple(
    FIXED[name]
    for name in (
        THROUGHPUT,
        *(f"response_us_{percentile}" for percentile in PERCENTILES),
        *COSTS,
        "cpus_busy",
        "error_share",
    )
)
"""Metrics for which a report has a table, whether or not they are compared."""


# fmt: off
def _of_statement(prefix: str, name: str) -> Iterator[Metric]:
    """`statement.NAME.FIGURE`: the queries of one class of statements."""
    find = read.named(read.classes, name)
    queries = read.field(find, lambda figures: figures["queries"])
    rows = read.field(find, lambda figures: figures["rows"])
    errors = read.field(find, lambda figures: figures["errors"])
    yield Metric(f"{prefix}qps", f"Throughput of {name}", "queries/s",
                 read.over(queries, read.measured_s), "rate")
    yield Metric(f"{prefix}rows_per_query", f"Rows per {name}", "", read.over(rows, queries))
    yield Metric(f"{prefix}errors_per_query", f"Errors per {name}", "", read.over(errors, queries))
    yield from _times(f"{prefix}service_us", f"Service time of {name}",
                      read.named(read.classes_alone, name),
                      lambda figures: figures["latency_us"])


def _of_alone(prefix: str, name: str) -> Iterator[Metric]:
    """What one event of a kind costs, measured by itself on one connection."""

    def done(run: Run) -> Done | None:
        return read.alone(run).get(name)

    used = read.recorded(done, lambda one: one.get("server"))
    cpu_us = read.field(used, lambda server: server["cpu_us"])
    events = read.field(done, lambda one: one["events_in_parts"])

    def redo(run: Run) -> float | None:
        found = (read.counted_alone(run, name, counter) for counter in REDO)
        return next((one for one in found if one is not None), None)

    def lock_us(run: Run) -> float | None:
        lock_ms = read.counted_alone(run, name, ROW_LOCK_MS)
        return None if lock_ms is None else 1000 * lock_ms

    counted = {
        "redo_bytes": ("Redo", "B", redo),
        "pages_written": (
            "Pages written", "", lambda run: read.counted_alone(run, name, PAGES_WRITTEN)
        ),
        "rows_examined": (
            "Rows examined", "", lambda run: read.counted_alone(run, name, *ROWS_READ)
        ),
        "row_lock_us": ("Wait for row locks", "µs", lock_us),
    }  # fmt: skip
    title = f"Server CPU of {name} by itself"
    yield Metric(f"{prefix}server_cpu_us", title, "µs", read.over(cpu_us, events))
    for end, (what, unit, figure) in counted.items():
        yield Metric(f"{prefix}{end}", f"{what} of {name} by itself", unit, figure)


def _of_event(prefix: str, name: str) -> Iterator[Metric]:
    """`event.NAME.FIGURE`: the events of one kind."""
    find = read.named(read.kinds, name)
    events = read.field(find, lambda figures: figures["events"])
    in_parts = read.field(find, lambda figures: figures["events_in_parts"])
    failed = read.field(find, lambda figures: figures["failed"])
    retries = read.field(find, lambda figures: figures["retries"])
    yield Metric(f"{prefix}events_per_s", f"Rate of {name}", "events/s",
                 read.over(in_parts, read.measured_s), "rate")
    yield Metric(f"{prefix}failed_share", f"Share of {name} that failed", "",
                 read.over(failed, read.total(events, failed)))
    yield Metric(f"{prefix}retries_per_event", f"Retries per {name}", "",
                 read.over(retries, events))
    yield from _times(f"{prefix}response_us", f"Response time of {name}",
                      read.named(read.kinds_at_rate, name),
                      lambda figures: figures["latency_us"],
                      lambda figures: figures["latency_hdr_ns"])
    yield from _times(f"{prefix}service_us", f"Service time of {name}",
                      read.named(read.kinds_alone, name),
                      lambda figures: figures.get("service_us"))
    yield from _times(f"{prefix}lag_us", f"Lag of {name}", find,
                      lambda figures: figures.get("lag_us"))
    yield from _of_alone(prefix, name)
# fmt: on


_Parts = Callable[[Run], Sequence[ClassFigures] | Sequence[KindFigures]]

_PARTS: dict[str, tuple[_Parts, Callable[[str, str], Iterator[Metric]]]] = {
    "statement": (read.classes, _of_statement),
    "event": (read.kinds, _of_event),
}
"""Parts of an outcome with their own figures: its list, and the metrics of one of its names."""

PARTS_WITH_TIMES: dict[str, _Parts] = {part: parts for part, (parts, _) in _PARTS.items()}
"""The beginning of a metric's name -> the parts of an outcome that have such a metric each."""


def _metrics_of(part: str, name: str) -> dict[str, Metric]:
    prefix = f"{part}.{name}."
    return {metric.name: metric for metric in _PARTS[part][1](prefix, name)}


class UnknownMetric(Exception):
    """A name that is not a metric of any run; `known` are the names that it may have meant."""

    def __init__(self, known: list[str]) -> None:
        super().__init__()
        self.known = known


_NAMES_ELSEWHERE = {"latency": "response", "tps": EVENTS, "throughput": THROUGHPUT}
"""Names from other tools, to suggest the right one for a wrong name."""


@cache
def metric_of(name: str) -> Metric:
    """The metric of a name; raises UnknownMetric."""
    part, _, rest = name.partition(".")
    whose = rest.rpartition(".")[0]
    own = _metrics_of(part, whose) if whose and part in _PARTS else {}
    metric = FIXED.get(name) or own.get(name) or counter_metric(name)
    if metric is not None:
        return metric
    for other, ours in _NAMES_ELSEWHERE.items():
        if name.startswith(other):
            raise UnknownMetric([name.replace(other, ours, 1)])
    if whose:
        raise UnknownMetric([each for known in _PARTS for each in _metrics_of(known, whose)])
    if rest:
        raise UnknownMetric([f"status.{rest.removesuffix('_per_query')}_per_query", *FIXED])
    raise UnknownMetric(list(FIXED))


def names_in(run: Run) -> list[str]:
    """Every metric that a run has."""
    metrics = list(FIXED.values())
    for part, (parts, _) in _PARTS.items():
        for figures in parts(run):
            metrics += _metrics_of(part, str(figures["name"])).values()
    metrics += [source.metric(counter) for source, counter in counters_in(run)]
    return [metric.name for metric in metrics if metric.value(run) is not None]
