"""Metrics: their names, their figures, their direction, and unknown names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from contend.metrics import (
    ALWAYS_SHOWN,
    FIXED,
    Metric,
    UnknownMetric,
    metric_of,
    names_in,
)


@dataclass
class Run:
    done: dict[str, Any] | None
    probes: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)


TIMES = {"mean": 120.0, "p50": 100.0, "p90": 150.0, "p95": 170.0, "p99": 200.0, "p999": 900.0}
RUN = Run(
    done={
        "ended": "events",
        "measured_s": 2.0,
        "events": 100,
        "events_in_parts": 99.5,
        "queries": 400,
        "qps": 199.0,
        "latency_us": {**TIMES, "max": 1000.0},
        "open": {"service_us": {"p99": 180.0}, "lag_us": {"p99": 20.0}},
        "classes": [
            {"name": "read", "queries": 300, "rows": 900, "errors": 3, "latency_us": {"p95": 50.0}},
            {"name": "move.2", "queries": 0, "rows": 0, "errors": 0, "latency_us": {}},
        ],
        "kinds": [
            {
                "name": "move",
                "events": 30,
                "events_in_parts": 29.0,
                "failed": 10,
                "retries": 6,
                "latency_us": {"p99": 250.0},
            }
        ],
        "errors": [{"count": 100}],
        "server": {
            "cpu_us": 8000.0,
            "voluntary_switches": 700,
            "involuntary_switches": 100,
            "read_bytes": 0,
            "write_bytes": 4096,
        },
        "client": {"cpu_us": 4000.0},
    },
    probes={
        "status": {"Handler_read_key": 1200, "Threads_connected": -3},
        "gauges": {
            "Threads_connected": 9,
            "Innodb_redo_log_uuid": 1075899837,
            "Ssl_verify_mode": 5,
            "Ssl_ctx_verify_depth": 2**64 - 1,
            "Innodb_checkpoint_age": 2**64 - 8,
        },
        "innodb_metrics": {"lock_timeouts": 4},
        "key_caches": [
            {"cache": "hot", "segment": 1, "reads": 30},
            {"cache": "hot", "segment": 2, "reads": 50},
            {"cache": "default", "segment": None, "reads": 7},
        ],
        "host": {
            "elapsed_s": 2.5,
            "cpus": 2,
            "vm": {"pgmajfault": 800},
            "stall_share": {"io.full": 0.1},
            "steal_share": 0.02,
            "iowait_share": 0.0,
            "throttled_s": None,
        },
    },
)

VALUES = {
    "qps": 199.0,
    "events_per_s": 49.75,
    "seconds": 2.0,
    "response_us_mean": 120.0,
    "response_us_p999": 900.0,
    "response_us_max": 1000.0,
    "service_us_p99": 180.0,
    "lag_us_p99": 20.0,
    "server_cpu_us_per_query": 20.0,
    "client_cpu_us_per_query": 10.0,
    "round_trips_per_event": 4.0,
    "server_cpu_us_per_event": 80.0,
    "client_cpu_us_per_event": 40.0,
    "switches_per_query": 2.0,
    "read_bytes_per_query": 0.0,
    "write_bytes_per_query": 10.24,
    "error_share": 0.2,
    "cpus_busy": 0.006,
    "status.Handler_read_key_per_query": 3.0,
    "status.Threads_connected": 9.0,
    "innodb.lock_timeouts_per_query": 0.01,
    "key_cache.hot.reads_per_query": 0.2,
    "server.voluntary_switches_per_query": 1.75,
    "client.cpu_us_per_query": 10.0,
    "host.pgmajfault_per_query": 2.0,
    "host.stall_us.io.full_per_query": 625.0,
    "host.steal_us_per_query": 250.0,
    "statement.read.qps": 150.0,
    "statement.read.rows_per_query": 3.0,
    "statement.read.errors_per_query": 0.01,
    "statement.read.service_us_p95": 50.0,
    "event.move.events_per_s": 14.5,
    "event.move.failed_share": 0.25,
    "event.move.retries_per_event": 0.2,
    "event.move.response_us_p99": 250.0,
}


@pytest.mark.parametrize(("name", "value"), VALUES.items())
def test_a_metric_reads_its_figure(name: str, value: float) -> None:
    metric = metric_of(name)
    assert metric.name == name
    assert metric.value(RUN) == pytest.approx(value)


@pytest.mark.parametrize(
    "name",
    [
        "client_ceiling_share",
        "key_misses_per_query",
        "status.Threads_running",
        "status.Innodb_redo_log_uuid",
        "key_cache.default.reads_per_query",
        "status.Questions_per_query",
        "statement.move.2.rows_per_query",
        "statement.write.qps",
        "event.read.events_per_s",
        "event.move.lag_us_p99",
    ],
)
def test_a_figure_that_is_not_there_is_none(name: str) -> None:
    assert metric_of(name).value(RUN) is None
    assert name not in names_in(RUN)


DAMAGED = Run(
    {
        "qps": "fast",
        "queries": {},
        "latency_us": 3,
        "open": [],
        "server": "x",
        "client": {},
        "classes": None,
        "kinds": [{"name": None}],
        "errors": None,
    }
)


@pytest.mark.parametrize("run", [Run(None), Run({}), Run({"measured_s": 0, "queries": 0}), DAMAGED])
def test_an_empty_run_has_nothing(run: Run) -> None:
    assert names_in(run) == []


@pytest.mark.parametrize(
    "name",
    [
        "status.Threads_connected_per_query",  # a gauge has no query to be divided by
        "status.Handler_read_key",  # a counter since the server started
        "status.option tracker_per_query",
        "host.pgmajfault",
    ],
)
def test_a_counter_is_by_the_query_and_a_gauge_is_not(name: str) -> None:
    with pytest.raises(UnknownMetric):
        metric_of(name)


def test_names_of_the_metrics_of_a_run() -> None:
    assert set(VALUES) <= set(names_in(RUN))
    found = {
        name for name in names_in(RUN) if name.startswith("status.") and "per_query" not in name
    }
    assert found == {"status.Threads_connected"}, "a setting, or a number that lost its sign"


def test_seconds_are_those_of_a_fixed_number_of_events() -> None:
    assert RUN.done is not None
    assert metric_of("seconds").value(Run({**RUN.done, "ended": "time"})) is None


def words(metric: Metric) -> tuple[str, ...]:
    return (metric.verdict("higher"), metric.verdict("lower"), metric.changed("lower"))


def test_a_metric_has_a_better_direction() -> None:
    assert words(metric_of("qps")) == ("faster", "slower", "slower")
    assert words(metric_of("seconds")) == ("slower", "faster", "shorter")
    assert words(metric_of("server_cpu_us_per_query")) == ("higher", "lower", "lower")
    assert [m.name for m in ALWAYS_SHOWN if not m.less_is_better] == ["qps"]
    assert metric_of("event.move.events_per_s").better == "higher"
    assert metric_of("response_us_p99").worse == "higher"


def test_a_sentence_can_be_made_with_it() -> None:
    subjects = {name: metric_of(name).subject for name in (*VALUES, "response_us_p99")}
    assert subjects["qps"] == "this server"
    assert subjects["response_us_p99"] == "the p99 response time"
    assert subjects["server_cpu_us_per_query"] == "the server CPU per query"
    assert subjects["status.Handler_read_key_per_query"] == "the Handler_read_key per query"


def test_percentiles_are_read_from_histograms_where_they_are_kept() -> None:
    for name, metric in FIXED.items():
        percentile = "_us_" in name and name.rpartition("_")[2] in {*TIMES, "max"} - {"mean"}
        assert (metric.histogram is not None) == (metric.quantile is not None) == percentile
    assert metric_of("event.move.response_us_p99").histogram is not None
    assert metric_of("statement.read.service_us_p95").histogram is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("qsp", "qps"),
        ("latency_us_p99", "response_us_p99"),
        ("statement.read.response_us_p99", "statement.read.service_us_p99"),
        ("event.move.qps", "event.move.events_per_s"),
        ("status.Handler_read_key", "status.Handler_read_key_per_query"),
        ("Statement.read.qps", "statement.read.qps"),
        ("statement.read", "qps"),
        ("", "qps"),
        ("status.._per_query", "event.status.qps"),
    ],
)
def test_an_unknown_name_has_suggestions(name: str, meant: str) -> None:
    with pytest.raises(UnknownMetric) as caught:
        metric_of(name)
    assert caught.value.known
    if meant != "event.status.qps":
        assert meant in caught.value.known


def test_throttled_time_is_the_sum_if_all_servers_report_it() -> None:
    held = metric_of("throttled_s").value

    def members(*seconds: float | None) -> Run:
        return Run({}, {"members": [{"throttled_s": one} for one in seconds]}, {})

    assert held(Run({}, {"throttled_s": 0.25}, {})) == 0.25
    assert [held(members(1.0, 0.5)), held(members(1.0, None)), held(RUN)] == [1.5, None, None]


def test_statements_and_bytes_of_backends_per_select_of_the_front() -> None:
    def member(role: str, **status: int) -> dict[str, Any]:
        return {"name": role, "role": role, "throttled_s": None, "status": status}

    members = [
        member("front", Com_select=10, Questions=99),
        member("backend", Questions=50, Bytes_sent=700),
        member("backend", Questions=70, Bytes_sent=300),
    ]
    through_fronts = Run({}, {"members": members}, {"load": {}})
    statements, sent = (
        metric_of(f"backend_{what}_per_select").value for what in ("statements", "bytes")
    )
    assert (statements(through_fronts), sent(through_fronts)) == (12, 100)
    # Of what the client asks backends itself no SELECT of a front knows.
    by_owner = Run({}, {"members": members}, {"load": {"route": {"by": "key"}}})
    nodes = Run({}, {"members": [member("node", Questions=5)]}, {"load": {}})
    assert [statements(run) for run in (by_owner, nodes, RUN)] == [None, None, None]
