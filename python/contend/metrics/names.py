"""Every metric by its name: those with a name of their own, and those that a run names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Literal

from contend.metrics import read
from contend.metrics.counters import counter_metric, counters_in
from contend.metrics.members import MEMBERS
from contend.metrics.model import EVENTS, SECONDS, THROUGHPUT, Histogram, Metric, Read, Run
from contend.metrics.tpcc import TPCC
from contend.outcome import ClassFigures, KindFigures, Percentiles

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
"""Ends of the names of times: what they are called, and the quantile of the histogram."""


def _times(
    prefix: str,
    title: str,
    find: read.Find[read.Document],
    times: Callable[[read.Document], Percentiles | None],
    log: Callable[[read.Document], str] | None = None,
) -> Iterator[Metric]:
    """The mean, the percentiles and the longest of one recording of times.

    times, log: of the document that `find` finds; `log` is their histogram, if it is kept.
    """
    kept = None
    if log is not None:
        text = read.recorded(find, log)
        kept = Histogram(prefix, lambda run: str(text(run) or ""))
    for end, (called, quantile) in _TIMES.items():
        yield Metric(
            f"{prefix}_{end}",
            f"{title}, {called}",
            "µs",
            _time(find, times, end),
            "time",
            None if quantile is None else kept,
            quantile,
        )


def _time(
    find: read.Find[read.Document],
    times: Callable[[read.Document], Percentiles | None],
    end: _End,
) -> Read:
    def figure(document: read.Document) -> float | None:
        recorded = times(document)
        # Of nothing there is no time. An older contend-load did not say of how many it is.
        if recorded is None or ("count" in recorded and recorded["count"] == 0):
            return None
        return recorded[end]

    return read.field(find, figure)


def _per_query(
    name: str,
    title: str,
    unit: str,
    *counters: Read,
    verb: str = "",
    noun: str = "",
    counted: bool = False,
) -> Metric:
    """The sum of some counters for each query of the window."""
    figure = read.over(read.total(*counters), read.queries)
    return Metric(name, title, unit, figure, verb=verb, noun=noun, counted=counted)


FIXED: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            THROUGHPUT,
            "Throughput",
            "queries/s",
            read.field(read.outcome, lambda done: done["qps"]),
            "rate",
        ),
        Metric(
            EVENTS,
            "Event rate",
            "events/s",
            read.over(read.events_in_parts, read.measured_s),
            "rate",
            verb="make",
            noun="events a second",
            counted=True,
        ),
        Metric(SECONDS, "Time for the whole work", "s", read.whole_work_s, "time"),
        Metric(
            "warming_s",
            "Time to warm the buffer pool before the run",
            "s",
            read.field(read.warming, lambda warming: warming["seconds"]),
            "time",
        ),
        Metric(
            "seconds_with_warming",
            "Time for the whole work with its warming",
            "s",
            read.total(
                read.whole_work_s, read.field(read.warming, lambda warming: warming["seconds"])
            ),
            "time",
        ),
        Metric(
            "resident_share",
            "Share of the tables that is in the buffer pool when the run begins",
            "",
            read.field(read.warming, lambda warming: warming["resident_share"]),
        ),
        *_times(
            "response_us",
            "Response time",
            read.outcome,
            lambda done: done["latency_us"],
            lambda done: done["latency_hdr_ns"],
        ),
        *_times(
            "service_us",
            "Service time",
            read.open_loop,
            lambda loop: loop["service_us"],
            lambda loop: loop["service_hdr_ns"],
        ),
        *_times(
            "lag_us",
            "Lag",
            read.open_loop,
            lambda loop: loop["lag_us"],
            lambda loop: loop["lag_hdr_ns"],
        ),
        _per_query(
            "server_cpu_us_per_query",
            "Server CPU per query",
            "µs",
            read.server_cpu_us,
            verb="take",
            noun="server CPU per query",
        ),
        _per_query(
            "client_cpu_us_per_query",
            "Client CPU per query",
            "µs",
            read.client_cpu_us,
            verb="take",
            noun="client CPU per query",
        ),
        Metric(
            "client_cpu_share",
            "Share of the client in the CPU time of client and server",
            "",
            read.over(read.client_cpu_us, read.total(read.client_cpu_us, read.server_cpu_us)),
        ),
        Metric(
            "round_trips_per_event",
            "Round trips per event",
            "",
            read.round_trips_per_event,
            verb="take",
            noun="round trips per event",
            counted=True,
        ),
        Metric(
            "server_cpu_us_per_event",
            "Server CPU per event",
            "µs",
            read.over(read.server_cpu_us, read.events),
            verb="take",
            noun="server CPU per event",
        ),
        Metric(
            "client_cpu_us_per_event",
            "Client CPU per event",
            "µs",
            read.over(read.client_cpu_us, read.events),
            verb="take",
            noun="client CPU per event",
        ),
        Metric(
            "client_ceiling_share",
            "Load-generator utilisation",
            "",
            read.field(read.calibration, lambda kept: kept["share"]),
        ),
        _per_query(
            "switches_per_query",
            "Context switches of the server per query",
            "",
            read.field(read.server, lambda used: used["voluntary_switches"]),
            read.field(read.server, lambda used: used["involuntary_switches"]),
            verb="take",
            noun="context switches per query",
            counted=True,
        ),
        _per_query(
            "read_bytes_per_query",
            "Bytes the server read from storage per query",
            "B",
            read.field(read.server, lambda used: used["read_bytes"]),
            verb="read",
            noun="bytes from storage per query",
            counted=True,
        ),
        _per_query(
            "write_bytes_per_query",
            "Bytes the server wrote to storage per query",
            "B",
            read.field(read.server, lambda used: used["write_bytes"]),
            verb="write",
            noun="bytes to storage per query",
            counted=True,
        ),
        Metric(KEY_REQUESTS, "Key cache requests per point", "", read.key_requests_per_point),
        Metric("key_misses_per_query", "Key cache misses per query", "", read.key_misses_per_query),
        Metric(
            "query_cache_wait_share",
            "Share of running queries that wait for the query cache's lock",
            "",
            read.query_cache_wait_share,
        ),
        Metric(
            "query_cache_miss_share",
            "Share of SELECTs that the query cache did not answer",
            "",
            read.query_cache_miss_share,
        ),
        Metric(
            "lock_wait_share",
            "Share of the visits to the key cache's locks that waited",
            "",
            read.lock_wait_share,
        ),
        Metric("lock_held_ns", "Time that a visit holds a key cache lock", "ns", read.lock_held_ns),
        Metric(
            "lock_held_share",
            "Share of the time in which the busiest key cache lock is held",
            "",
            read.lock_held_share,
        ),
        *_times(
            "line_late_us",
            "Lateness of the delay line",
            read.line,
            lambda line: line["late_us"],
            lambda line: line["late_hdr_ns"],
        ),
        _per_query(
            "line_cpu_us_per_query",
            "CPU of the delay line per query",
            "µs",
            read.field(read.line, lambda line: line["cpu_us"]),
        ),
        Metric("cpus_busy", "CPUs busy, server and client together", "", read.cpus_busy),
        Metric("error_share", "Share of queries that ended in an error", "", read.error_share),
        *TPCC,
        *MEMBERS,
    )
}
"""Metrics with a name of their own, in the order in which a reader wants them."""

COSTS = (
    "server_cpu_us_per_query",
    "client_cpu_us_per_query",
    "client_ceiling_share",
    "switches_per_query",
    "read_bytes_per_query",
    KEY_REQUESTS,
    "key_misses_per_query",
)
"""What a query costs, as tables and exports show it beside its speed."""

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
"""What a report has a table of, whether or not it is compared."""


def _of_statement(prefix: str, name: str) -> Iterator[Metric]:
    """`statement.NAME.FIGURE`: the queries of one class of statements."""
    find = read.named(read.classes, name)
    asked = read.field(find, lambda figures: figures["queries"])
    yield Metric(
        f"{prefix}qps",
        f"Throughput of {name}",
        "queries/s",
        read.over(asked, read.measured_s),
        "rate",
    )
    rows = read.field(find, lambda figures: figures["rows"])
    errors = read.field(find, lambda figures: figures["errors"])
    yield Metric(f"{prefix}rows_per_query", f"Rows per {name}", "", read.over(rows, asked))
    yield Metric(f"{prefix}errors_per_query", f"Errors per {name}", "", read.over(errors, asked))
    service = f"Service time of {name}"
    yield from _times(f"{prefix}service_us", service, find, lambda figures: figures["latency_us"])


def _of_event(prefix: str, name: str) -> Iterator[Metric]:
    """`event.NAME.FIGURE`: the events of one kind."""
    find = read.named(read.kinds, name)
    events = read.field(find, lambda figures: figures["events"])
    failed = read.field(find, lambda figures: figures["failed"])
    yield Metric(
        f"{prefix}events_per_s",
        f"Rate of {name}",
        "events/s",
        read.over(read.field(find, lambda figures: figures["events_in_parts"]), read.measured_s),
        "rate",
    )
    yield Metric(
        f"{prefix}failed_share",
        f"Share of {name} that failed",
        "",
        read.over(failed, read.total(events, failed)),
    )
    yield Metric(
        f"{prefix}retries_per_event",
        f"Retries per {name}",
        "",
        read.over(read.field(find, lambda figures: figures["retries"]), events),
    )
    yield from _times(
        f"{prefix}response_us",
        f"Response time of {name}",
        find,
        lambda figures: figures["latency_us"],
        lambda figures: figures["latency_hdr_ns"],
    )
    service, lag = f"Service time of {name}", f"Lag of {name}"
    yield from _times(
        f"{prefix}service_us", service, find, lambda figures: figures.get("service_us")
    )
    yield from _times(f"{prefix}lag_us", lag, find, lambda figures: figures.get("lag_us"))


_Parts = Callable[[Run], Sequence[ClassFigures] | Sequence[KindFigures]]

_PARTS: dict[str, tuple[_Parts, Callable[[str, str], Iterator[Metric]]]] = {
    "statement": (read.classes, _of_statement),
    "event": (read.kinds, _of_event),
}
"""Parts of an outcome with figures of their own: its list, and the metrics of one of its names."""


def _metrics_of(part: str, name: str) -> dict[str, Metric]:
    prefix = f"{part}.{name}."
    return {metric.name: metric for metric in _PARTS[part][1](prefix, name)}


class UnknownMetric(Exception):
    """A name that no run can have; `known` are those that it may have been meant for."""

    def __init__(self, known: list[str]) -> None:
        super().__init__()
        self.known = known


_ALSO_CALLED = {"latency": "response", "tps": EVENTS, "throughput": THROUGHPUT}
"""What others call some of them, so that a wrong name is answered with the right one."""


@cache
def metric_of(name: str) -> Metric:
    """The metric of a name; raises UnknownMetric."""
    part, _, rest = name.partition(".")
    whose = rest.rpartition(".")[0]
    own = _metrics_of(part, whose) if whose and part in _PARTS else {}
    metric = FIXED.get(name) or own.get(name) or counter_metric(name)
    if metric is not None:
        return metric
    for other, ours in _ALSO_CALLED.items():
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
